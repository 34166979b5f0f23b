"""``bayou labels``: the labels of a model, and of one of a stream how they change."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bayou.cli import model_file, options, output
from bayou.cli.catalogue import name_of

_WIDEST = 40  # of a label's name, before its terms


def labels(
    model: options.Model,
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="LABEL", help="A label to come.")
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="LABEL", help="Forget a label.")
    ] = None,
    merge: Annotated[
        list[str] | None,
        typer.Option("--merge", metavar="LABEL", help="Labels to make one of; give --into."),
    ] = None,
    split: Annotated[
        str | None,
        typer.Option("--split", metavar="LABEL", help="A label to make several of; give --into."),
    ] = None,
    into: Annotated[
        list[str] | None, typer.Option("--into", metavar="LABEL", help="What comes of it.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to save it; else over the old one."
        ),
    ] = None,
    n_terms: Annotated[
        int, typer.Option("--terms", "-n", min=0, metavar="N", help="Terms of each label.")
    ] = 10,
    as_json: options.AsJson = False,
) -> None:
    """Print the labels of a model; add, remove, merge and split those of a stream.

    A label has its number, the tokens that speak of it and its first terms; a
    classifier over topics, such as med-lda, has neither tokens nor terms of a
    label, and names alone are printed.

    Options may be given several times, and are done in the order of this list.
    Every label has a number that is never given to another.

    Example: bayou labels mail.bayou --merge bill --merge invoice --into bill
    """
    learned = model_file.load(model)
    inner = getattr(learned, "estimator_", learned)
    _check(inner, model, merge, split, into)
    if add or remove or merge or split:
        out = model if out is None else out
        output.check_model(out)
        _change(inner, model, add or [], remove or [], merge or [], split, into or [])
        learned.save(out)
    _print(inner, n_terms, as_json)


def _check(
    inner: Any, path: Path, merge: list[str] | None, split: str | None, into: list[str] | None
) -> None:
    if not hasattr(inner, "classes_"):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(inner))}, which has no labels", param_hint="MODEL"
        )
    if merge and split:
        raise typer.BadParameter("give --merge or --split, one at a time", param_hint="--split")
    if bool(into) != bool(merge or split):
        raise typer.BadParameter(
            "--into says what --merge or --split makes; give both", param_hint="--into"
        )
    if merge and into and len(into) != 1:
        raise typer.BadParameter(
            "labels are merged into one; give --into once", param_hint="--into"
        )


def _change(
    inner: Any, path: Path, add: list[str], remove: list[str], merge: list[str], split: str | None,
    into: list[str],
) -> None:  # fmt: skip
    if not hasattr(inner, "merge_labels"):
        raise typer.BadParameter(
            f"{path} is a {name_of(type(inner))}, whose labels are settled; those of a stream change, "
            "such as online-labeled-lda",
            param_hint="MODEL",
        )

    def own(names: list[str]) -> list[Any]:
        """Names as the model spells them."""
        known = {str(label): label for label in inner.classes_.tolist()}
        return [known.get(name, name) for name in names]

    if add:
        inner.add_labels(own(add))
    if remove:
        inner.remove_labels(own(remove))
    if merge:
        inner.merge_labels(own(merge), own(into)[0])
    if split is not None:
        inner.split_label(own([split])[0], own(into))


def _print(inner: Any, n_terms: int, as_json: bool) -> None:
    """A line a label; what a model does not know of its labels by themselves is left out."""
    names = inner.classes_.tolist()
    ids = getattr(inner, "label_ids_", range(len(names)))
    known = hasattr(inner, "labels_")
    sizes = inner.labels_.totals if known else [None] * len(names)
    terms: list[list[str]] = inner.label_terms(n_terms) if known else [[]] * len(names)
    room = min(max((len(str(name)) for name in names), default=0), _WIDEST) if known else 0
    for number, name, size, words in zip(ids, names, sizes, terms, strict=False):
        if as_json:
            row: dict[str, Any] = {"number": int(number), "label": name}
            if size is not None:
                row |= {"tokens": output.finite(round(float(size), 1)), "terms": words}
            output.print_json(row)
        else:
            tokens = "" if size is None else f"{size:>12,.0f}  "
            typer.echo(f"{int(number):>7}  {tokens}{name!s:<{room}}  {' '.join(words)}".rstrip())
