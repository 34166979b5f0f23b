"""``python -m bayou`` is the command line."""

from bayou.cli import app

app(prog_name="bayou")
