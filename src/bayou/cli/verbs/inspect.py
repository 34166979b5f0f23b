"""``bayou inspect``: the manifest of a model file."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bayou.cli import options, output
from bayou.cli.terminal import echo
from bayou.data.errors import ModelFileError, reason_of
from bayou.data.token_pattern import TOKEN_PATTERN


def inspect(model: options.Model, as_json: options.AsJson = False) -> None:
    """Print the manifest of a model file or a checkpoint, and verify the file.

    Example: bayou inspect reviews.bayou
    """
    from bayou.data import container

    try:
        manifest = container.peek(model, verify=True)
        size = model.stat().st_size
    except OSError as error:
        raise ModelFileError(f"{model}: {reason_of(error)}; check the path") from None
    if as_json:
        output.print_json({"bytes": size, **manifest})
        return
    echo(f"{model}: {size:,} bytes, the digest is correct")
    lines = [*_lines(manifest), *_classes(model), *_number(model, manifest)]
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        echo(f"{name:<{width}}  {value}")


def _number(model: Path, manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The number of topics with its interval, where the model learns it."""
    if manifest.get("kind") == "checkpoint" or "HDP" not in str(manifest.get("estimator")):
        return  # reading the whole model takes seconds
    from bayou.cli import listing, model_file

    loaded = model_file.load(model)
    if number := listing.number_of_topics(getattr(loaded, "estimator_", loaded)):
        yield "topics", number


def _classes(model: Path) -> Iterator[tuple[str, str]]:
    """Kind of prediction and classes of a supervised model; empty for other files."""
    from bayou.data import container
    from bayou.data.label_forms import unpack_classes

    arrays, _ = container.load(model)
    mine = {name.removeprefix("estimator/"): array for name, array in arrays.items()}
    if "response.kind" not in mine:
        return
    from bayou.results.response import KINDS

    kind = KINDS[int(mine["response.kind"][0])]
    yield "predicts", kind
    if kind != "regression":
        names = ", ".join(str(name) for name in unpack_classes(mine)[0])
        yield "classes", textwrap.shorten(names, 100, placeholder=" …")


def _lines(value: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, item in value.items():
        if isinstance(item, dict):
            yield from _lines(item, f"{prefix}{name}.")
        else:
            shown = "as in bayou.data.tokenize" if item == TOKEN_PATTERN else f"{item!s:.100}"
            yield f"{prefix}{name}", shown
