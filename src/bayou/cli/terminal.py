"""Text on the terminal. Everything the command line prints, except JSON rows, goes through `echo`."""

from __future__ import annotations

import typer

from bayou.data.untrusted import for_terminal


def echo(text: str = "", err: bool = False) -> None:
    """Print a line. Control characters of labels, words, names and paths are written as escapes."""
    typer.echo(for_terminal(text), err=err)
