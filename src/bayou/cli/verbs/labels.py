"""``bayou labels``: print the labels of a model; change the labels of a streaming model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from bayou.cli import model_file, options, output
from bayou.cli.catalogue import name_of
from bayou.cli.terminal import echo

_WIDEST = 40  # of a label's name, before its terms


# fmt: off
@dataclass(frozen=True)
class Changes:
    """Changes of labels, in the order of execution."""

    add: Annotated[list[str] | None, typer.Option(
        "--add", metavar="LABEL", help="Add a label.")] = None
    remove: Annotated[list[str] | None, typer.Option(
        "--remove", metavar="LABEL", help="Remove a label.")] = None
    merge: Annotated[list[str] | None, typer.Option(
        "--merge", metavar="LABEL", help="Merge these labels; give --into.")] = None
    split: Annotated[str | None, typer.Option(
        "--split", metavar="LABEL", help="Split this label; give --into.")] = None
    into: Annotated[list[str] | None, typer.Option(
        "--into", metavar="LABEL", help="The result of --merge or --split.")] = None
# fmt: on


@options.with_groups
def labels(
    model: options.Model,
    changes: Changes,
    out: options.ModelOutput = None,
    n_terms: Annotated[
        int, typer.Option("--terms", "-n", min=0, metavar="N", help="Number of terms per label.")
    ] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Print the labels of a model; add, remove, merge and split labels of a streaming model.

    Each line has the label's number, its tokens, its name and its first terms. A
    classifier over topics, such as med-lda, has no tokens and terms per label:
    only numbers and names are printed.

    Options may be repeated, and are applied in the order of this list. The
    number of a label is never given to another one.

    Example: bayou labels mail.bayou --merge bill --merge invoice --into bill
    """
    found = model_file.load(model)
    inner = getattr(found, "estimator_", found)
    _check(inner, model, changes)
    if changes.add or changes.remove or changes.merge or changes.split:
        out = model if out is None else out
        output.check_model(out)
        _change(inner, model, changes)
        found.save(out)
    _print(inner, n_terms, as_json)


def _check(inner: Any, path: Path, changes: Changes) -> None:
    merge, split, into = changes.merge, changes.split, changes.into
    if not hasattr(inner, "classes_"):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(inner))}, which has no labels", param_hint="MODEL"
        )
    if merge and split:
        raise typer.BadParameter("give either --merge or --split", param_hint="--split")
    if bool(into) != bool(merge or split):
        raise typer.BadParameter(
            "--into is the result of --merge or --split; give both", param_hint="--into"
        )
    if merge and into and len(into) != 1:
        raise typer.BadParameter(
            "labels are merged into one; give --into once", param_hint="--into"
        )


def _change(inner: Any, path: Path, changes: Changes) -> None:
    if not hasattr(inner, "merge_labels"):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(inner))}, whose labels cannot change; give a streaming model "
            "of labels, such as online-labeled-lda",
            param_hint="MODEL",
        )

    def spell(names: list[str]) -> list[Any]:
        """Names as the model spells them."""
        known = {str(label): label for label in inner.classes_.tolist()}
        return [known.get(name, name) for name in names]

    into = changes.into or []
    if changes.add:
        inner.add_labels(spell(changes.add))
    if changes.remove:
        inner.remove_labels(spell(changes.remove))
    if changes.merge:
        inner.merge_labels(spell(changes.merge), spell(into)[0])
    if changes.split is not None:
        inner.split_label(spell([changes.split])[0], spell(into))


def _print(inner: Any, n_terms: int, as_json: bool) -> None:
    """One line per label; without tokens and terms where the model has none per label."""
    names = inner.classes_.tolist()
    ids = getattr(inner, "label_ids_", range(len(names)))
    known = hasattr(inner, "labels_")
    sizes = inner.labels_.totals if known else [None] * len(names)
    terms: list[list[str]] = inner.label_terms(n_terms) if known else [[]] * len(names)
    width = min(max((len(str(name)) for name in names), default=0), _WIDEST) if known else 0
    for number, name, size, words in zip(ids, names, sizes, terms, strict=False):
        if as_json:
            row: dict[str, Any] = {"number": int(number), "label": name}
            if size is not None:
                row |= {"tokens": output.finite_or_none(round(float(size), 1)), "terms": words}
            output.print_json(row)
        else:
            tokens = "" if size is None else f"{size:>12,.0f}  "
            echo(f"{int(number):>7}  {tokens}{name!s:<{width}}  {' '.join(words)}".rstrip())
