"""``bayou models``: what there is to fit."""

from __future__ import annotations

import textwrap
from dataclasses import MISSING, fields
from typing import Annotated

import typer

from bayou.cli import catalogue, options, output, settings
from bayou.estimator import Estimator

_INDENT = " " * 4


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Show the parameters of this one.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the models with one line and the paper of each.

    With a name, also the parameters that `bayou fit --set` takes.

    Example: bayou models lda
    """
    known = catalogue.kinds() if name is None else {name: catalogue.find(name)}
    for key, kind in known.items():
        parameters = parameters_of(kind)
        if as_json:
            about = {"line": catalogue.one_line(kind), "paper": catalogue.paper(kind)}
            output.print_json({"name": key, **about, "parameters": parameters})
            continue
        typer.echo(key)
        for text in (catalogue.one_line(kind), catalogue.paper(kind)):
            typer.echo(textwrap.fill(text, 78, initial_indent=_INDENT, subsequent_indent=_INDENT))
        for parameter, default in parameters.items() if name is not None else ():
            typer.echo(f"{_INDENT}--set {parameter}={settings.spelled(default)}")


def parameters_of(kind: type[Estimator]) -> dict[str, object]:
    """What ``--set`` takes, with the defaults."""
    return {
        f.name: None if f.default is MISSING else f.default
        for f in fields(kind)
        if settings.settable(f.name)
    }
