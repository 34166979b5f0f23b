"""``python -m bayou`` is the command line."""

from bayou.cli import app

if __name__ == "__main__":
    app(prog_name="bayou")
