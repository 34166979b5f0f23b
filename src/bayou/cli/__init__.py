"""The command line, ``bayou``: one file a verb; a verb parses, calls and prints.

Results go to standard output; progress and errors go to standard error. Exit codes: 0 done, 1 the
data is at fault, 2 the command line is, 3 the model file is, 130 interrupted.
"""

from typing import Annotated

import typer

import bayou
from bayou.cli.demo import demo

__all__ = ["app"]

app = typer.Typer(
    name="bayou",
    help="Topic models that learn from labels and from streams.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayou {bayou.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and leave."
        ),
    ] = False,
) -> None:
    """Topic models that learn from labels and from streams."""


app.command("demo")(demo)
