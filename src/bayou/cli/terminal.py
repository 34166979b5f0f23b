"""Text on the terminal. Everything the command line prints, except JSON rows, goes through `echo`."""

from __future__ import annotations

from typing import TextIO

import typer

from bayou.data.untrusted import for_terminal


def echo(text: str = "", err: bool = False) -> None:
    """Print a line. Control characters of labels, words, names and paths are written as escapes."""
    typer.echo(for_terminal(text), err=err)


def show_warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int,
    file: TextIO | None = None, line: str | None = None,
) -> None:  # fmt: skip
    """Print a warning of Python as one line on standard error, without the place in the code."""
    echo(f"bayou: warning: {message}", err=True)
