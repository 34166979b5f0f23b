"""``bayou models``: the models that `bayou fit` takes."""

from __future__ import annotations

import textwrap
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Annotated

import typer

from bayou.cli import catalogue, options, output, settings
from bayou.cli.terminal import echo

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator

_INDENT = " " * 4


def models(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Also print the parameters of this model.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """List the models, each with a description and its paper.

    With a name, also print the parameters that `bayou fit --set` takes.

    Example: bayou models lda
    """
    families = catalogue.families()
    full = catalogue.full_name(name or "")
    chosen = () if name is None else families.get(full, (full,))
    for key in chosen:
        catalogue.class_name(key)
    for key in chosen or catalogue.classes():
        about = catalogue.about(key)
        # parameters need an import of the model: only where they are printed
        parameters = parameters_of(catalogue.find(key)) if as_json or name is not None else {}
        if as_json:
            output.print_json({"name": key, **about._asdict(), "parameters": parameters})
            continue
        echo(key)
        for text in about:
            echo(textwrap.fill(text, 78, initial_indent=_INDENT, subsequent_indent=_INDENT))
        for parameter, default in parameters.items():
            echo(f"{_INDENT}--set {parameter}={settings.as_word(default)}")
    if name is None and not as_json:
        for root, (classifier, regressor) in families.items():
            echo(root)
            echo(f"{_INDENT}{classifier} with --label,\n{_INDENT}{regressor} with --target")


def parameters_of(kind: type[Estimator]) -> dict[str, object]:
    """The parameters that ``--set`` takes, with their defaults."""
    return {
        f.name: None if f.default is MISSING else f.default
        for f in fields(kind)
        if settings.is_settable(f.name)
    }
