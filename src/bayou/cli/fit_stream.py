"""``bayou fit`` where documents never end: words come from the first, the rest is learned as it comes."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import advice, answers, documents, stream
from bayou.cli.catalogue import name_of
from bayou.cli.shell import INTERRUPTED
from bayou.cli.voice import Voice
from bayou.data.errors import DataError
from bayou.data.lines import STDIN

if TYPE_CHECKING:
    from bayou.text_model import TextModel

FIRST = 10_000
FLAG = "--first"


def wanted(kind: Any, file: str, first: int | None) -> int | None:
    """From how many documents words are chosen, if the model is to be fitted as they come; else None."""
    able = hasattr(kind, "partial_fit")
    if first is not None and not able:
        raise typer.BadParameter(
            f"{name_of(kind)} learns from a whole corpus at once; leave {FLAG} out, or give a model "
            "of a stream such as --model online-lda",
            param_hint=FLAG,
        )
    return FIRST if first is None and able and file == STDIN else first


def check_unused(report: Path | None) -> None:
    """Refuse what needs all documents at once."""
    if report is not None:
        raise typer.BadParameter(
            f"with {FLAG}, or from {STDIN}, documents are forgotten when they are learned; leave "
            "--report out and write one with `bayou report` on some documents",
            param_hint="--report",
        )


def fit(
    model: TextModel, source: documents.Source, first: int, out: Path, dry_run: bool, voice: Voice
) -> None:
    """Fit in one pass and in memory that does not grow; save."""
    size = stream.size_of(model)
    blanks = advice.Blanks()
    batches = blanks.counted(documents.batches(source, size, first=first))
    head = next(batches)
    pieces = cut(head, size)
    advice.on_labels(_names(head), source.label_separator, voice)
    if dry_run:
        n_docs = len(head.texts)
        typer.echo(f"would fit {model.estimator!r} from {n_docs:,} documents on and write {out}")
        return
    limit = model.estimator.max_time
    model.estimator.set_params(max_time=None)  # which would hold for each piece
    begin(model, head, next(pieces))
    rest = in_time(chain(pieces, batches), limit)
    n_docs, stopped = stream.learn_all(model, rest, None, False, voice)
    n_docs += size if len(head.texts) > size else len(head.texts)
    model.save(out)
    voice.say(
        f"Learned from {n_docs:,} documents, words from the first {len(head.texts):,}; saved to {out}"
    )
    blanks.tell(voice)
    if stopped:
        skip = [] if source.path == STDIN else ["--skip", str(n_docs)]
        again = ["bayou", "update", str(out), source.path, *documents.flags(source), *skip]
        voice.say(f"Stopped. Go on with:\n  {shlex.join(again)}")
        raise typer.Exit(INTERRUPTED)


def cut(batch: documents.Batch, size: int) -> Iterator[documents.Batch]:
    """The documents of a batch, so many at a time."""
    for lo in range(0, len(batch.texts), size):
        at = slice(lo, lo + size)
        labels = None if batch.labels is None else batch.labels[at]
        targets = None if batch.targets is None else batch.targets[at]
        yield documents.Batch(batch.ids[at], batch.texts[at], labels, targets)


def in_time(batches: Iterator[documents.Batch], seconds: float | None) -> Iterator[documents.Batch]:
    """Batches until the time is over."""
    begun = time.monotonic()
    for batch in batches:
        yield batch
        if seconds is not None and time.monotonic() - begun >= seconds:
            return


def begin(model: TextModel, head: documents.Batch, piece: documents.Batch) -> None:
    """Choose words and classes from the first documents, and learn some of them."""
    from sklearn.base import clone

    from bayou.data.corpus import Corpus

    words = clone(model.vectorizer).fit(head.texts)
    if not len(words.vocabulary_):
        raise DataError(
            f"no term is left; documents: {len(head.texts)}; lower --min-df, raise --max-df, give "
            "--stop-words none or more documents"
        )
    counts = words.transform(piece.texts)
    corpus = Corpus.from_matrix(counts, vocabulary=words.vocabulary_)
    inner = model.estimator
    if not answers.are_learned(inner):
        model.partial_fit(corpus)
    elif answers.is_regression(inner):
        model.partial_fit(corpus, piece.targets or [float("nan")] * len(piece.texts))
    else:
        y, classes = _labels(head, len(piece.texts))
        model.partial_fit(corpus, y, classes=classes)


def _names(head: documents.Batch) -> tuple[str, ...] | None:
    """The names of the labels that the first documents have."""
    from bayou.data.fields import as_labels

    return None if head.labels is None else as_labels(head.labels, len(head.texts))[1]


def _labels(head: documents.Batch, n: int) -> tuple[list[Any], list[str]]:
    """Labels of the first n documents, and the names of all: lists where a document has several."""
    from bayou.data.fields import as_labels

    if head.labels is None:
        raise DataError(f"none of the first {len(head.texts)} documents has a label; check --label")
    matrix, names = as_labels(head.labels, len(head.texts))
    ends = pairwise(matrix.indptr.tolist())
    rows = [[(names or [])[i] for i in matrix.indices[a:b]] for a, b in ends]
    classes = sorted({name for row in rows for name in row})
    if any(len(row) > 1 for row in rows):
        return [row or None for row in rows[:n]], classes
    return [row[0] if row else None for row in rows[:n]], classes
