"""Models that learn from a stream, batch after batch, with what stands beside the texts."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import answers, documents, interrupt, remembered
from bayou.cli.catalogue import name_of
from bayou.cli.voice import Voice
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.table import Columns
    from bayou.text_model import TextModel

_SECONDS = 30.0  # between two checkpoints
TRACKED = 256  # documents a block of a tracker, whose slices are cut by their own rule
_BATCHES = 16  # mini-batches that are read at a time


def size_of(model: TextModel) -> int:
    """Documents to read at a time: whole mini-batches, and no more than are learned at one go.

    Learning stops between two goes, so that Ctrl-C is not waited for long.
    """
    from bayou.api.online_margin import OnlineMargin
    from bayou.run.batches import CHUNK

    inner = getattr(model, "estimator_", model.estimator)
    if is_tracker(inner):
        return TRACKED
    size = mini_batch(inner)
    if not isinstance(inner, OnlineMargin):
        return _BATCHES * size
    return min(_BATCHES, max(CHUNK // size, 1)) * size


def mini_batch(estimator: Any) -> int:
    """Documents in a mini-batch of a stream: as many as were asked for, or as the model takes by itself."""
    from bayou.api.online_margin import OnlineMargin
    from bayou.inference.lda.stream import batch_size

    if isinstance(estimator, OnlineMargin):
        return int(estimator.resolve().batch_size)
    p = estimator._checked_parameters()
    return int(p.batch_size or batch_size(p.n_docs))


def is_tracker(estimator: Any) -> bool:
    """Whether a model learns slices of time."""
    return hasattr(type(estimator), "slices_")


def seen(model: TextModel) -> int:
    """Documents so far, with those that wait for their mini-batch to be full."""
    inner = model.estimator_
    waiting = inner.pending_.n_docs if hasattr(inner, "pending_") else 0
    return int(inner.state_.n_seen + waiting)


def check_able(model: TextModel, path: Any) -> None:
    """Refuse a model that cannot go on learning."""
    if hasattr(model, "partial_fit"):
        if not is_tracker(model.estimator_):
            return
        raise typer.BadParameter(
            f"{path} learns slices of time; go on with `bayou track FILE --from {path}`",
            param_hint="MODEL",
        )
    other = "online-med-lda" if answers.are_learned(model.estimator_) else "online-lda"
    raise typer.BadParameter(
        f"{path} is a {name_of(type(model.estimator_))}, which learns from a whole corpus "
        f"at once; fit one with --model {other} to update it",
        param_hint="MODEL",
    )


def columns_of(
    model: TextModel, text: str | None, label: str | None, target: str | None
) -> Columns:
    """The columns to learn from: those named, else the remembered, `labels` or `label`, or `target`."""
    columns = answers.columns(model, text, label, target)
    n_targets = model.estimator_.response_.n_tasks if columns.target != "" else 1
    if n_targets > 1:
        raise DataError(
            f"the model predicts {n_targets} numbers of a document, and --target is one; go on with "
            "partial_fit in Python"
        )
    if columns.target is None:  # a guess would take a field that is missing for no field at all
        return columns._replace(target=remembered.names(model).get("target", "target"))
    return columns


def check_labelled(batch: documents.Batch, source: documents.Source) -> None:
    """Refuse a stream whose first documents have no field of labels: it was not named."""
    if source.columns.label is None and batch.labels is None:
        name = (source.usual or {}).get("label", "label")
        raise DataError(
            f"no field `{name}` to learn from; name it with --label, or give --label '' to learn "
            "from the words alone"
        )


def learn(model: TextModel, batch: documents.Batch) -> None:
    """Learn from a batch; labels that the model has not met become its own."""
    inner = model.estimator_
    if not answers.are_learned(inner):
        model.partial_fit(batch.texts)
    elif answers.is_regression(inner):
        missing = [float("nan")] * len(batch.texts)
        model.partial_fit(batch.texts, batch.targets or missing)
    else:
        rows = label_rows(inner, batch)
        y = [row or None for row in rows]
        one = y if inner.multi_label_ else [row[0] if row else None for row in rows]
        model.partial_fit(batch.texts, one, classes=strange(inner.classes_, rows) or None)


def learn_all(
    learner: TextModel,
    batches: Iterator[documents.Batch],
    kept: Path | None,
    dry_run: bool,
    voice: Voice,
) -> tuple[int, bool]:
    """Learn batch after batch; gives the documents that were learned, and whether Ctrl-C ended it."""
    n_docs, brake, saved = 0, interrupt.Brake(voice), time.monotonic()
    try:
        for batch in batches:
            if dry_run:
                n_docs += len(batch.texts)
                continue
            with brake:
                learner.estimator_.set_params(callbacks=[brake])
                before = seen(learner)
                learn(learner, batch)
                n_docs += seen(learner) - before
                learner.estimator_.set_params(callbacks=None)
            voice.detail(f"{n_docs:,} documents")
            if brake.pressed:
                return n_docs, True
            if kept is not None and time.monotonic() - saved > _SECONDS:
                learner.save(kept)
                saved = time.monotonic()
    except KeyboardInterrupt:
        if brake.pressed:  # for the second time, in the middle of a mini-batch
            raise
        interrupt.heard()
        return n_docs, True  # nothing is half done while the next documents are awaited
    return n_docs, False


def label_rows(classifier: Any, batch: documents.Batch) -> list[list[Any]]:
    """The labels of every document as the model spells them; none where nothing is known."""
    from bayou.data.fields import as_labels

    if batch.labels is None:
        return [[] for _ in batch.texts]
    matrix, found = as_labels(batch.labels, len(batch.texts))
    own = {str(label): label for label in classifier.classes_.tolist()}
    names = [own.get(name, name) for name in found or ()]
    ends = pairwise(matrix.indptr.tolist())
    rows = [[names[i] for i in matrix.indices[a:b]] for a, b in ends]
    for id_, row in zip(batch.ids, rows, strict=True):
        if len(row) > 1 and not classifier.multi_label_:
            raise DataError(
                f"document {id_} has {len(row)} labels; the model has learned one class a document"
            )
    return rows


def strange(classes: Any, rows: Sequence[Sequence[Any]]) -> list[Any]:
    """Labels that the model does not know, sorted."""
    return sorted({label for row in rows for label in row} - set(classes.tolist()), key=str)
