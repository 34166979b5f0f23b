"""``bayou fit --first N``: words come from the first documents; all are learned in one pass."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import advice, documents, listing
from bayou.cli.catalogue import name_of
from bayou.cli.messages import Messages
from bayou.cli.shell import INTERRUPTED
from bayou.cli.streams.learner import Learner, label_names
from bayou.cli.terminal import echo
from bayou.data.lines import STDIN

if TYPE_CHECKING:
    from bayou.text_model import TextModel

_FIRST = 10_000
_FLAG = "--first"


def first_documents(kind: Any, file: str, first: int | None, report: Path | None) -> int | None:
    """Number of documents that words are chosen from; None to fit the whole corpus at once."""
    is_streaming = hasattr(kind, "partial_fit")
    if first is not None and not is_streaming:
        raise typer.BadParameter(
            f"{name_of(kind)} learns from a whole corpus at once; leave out {_FLAG}, or give a streaming "
            "model such as --model online-lda",
            param_hint=_FLAG,
        )
    first = _FIRST if first is None and is_streaming and file == STDIN else first
    if first is not None and report is not None:
        raise typer.BadParameter(
            f"documents are not kept with {_FLAG} or from {STDIN}; leave out --report and run `bayou report` "
            "on some documents",
            param_hint="--report",
        )
    return first


def fit(
    model: TextModel,
    source: documents.Source,
    first: int,
    out: Path,
    dry_run: bool,
    messages: Messages,
) -> None:
    """Fit in one pass and in constant memory; save."""
    learner, blanks = Learner(model), advice.Blanks()
    size = learner.block_size
    batches = blanks.count(documents.batches(source, size, first=first))
    head = next(batches)
    advice.on_labels(label_names(head), source.label_separator, messages)
    if dry_run:
        n_docs = len(head.texts)
        echo(f"would fit {model.estimator!r} from {n_docs:,} documents on and write {out}")
        return
    limit = model.estimator.max_time
    model.estimator.set_params(max_time=None)  # it would hold for each call of partial_fit
    advice.on_words(learner.begin(head, size), messages)
    rest = _until(limit, chain(cut(head, size), batches))
    n_docs, is_stopped = learner.learn_all(rest, None, messages)
    n_docs += min(size, len(head.texts))
    model.save(out)
    messages.info(
        f"Learned from {n_docs:,} documents, words from the first {len(head.texts):,}; saved to {out}"
    )
    blanks.report(messages)
    if is_stopped:
        skip = [] if source.path == STDIN else ["--skip", str(n_docs)]
        again = ["bayou", "update", str(out), source.path, *documents.flags(source), *skip]
        messages.info(f"Stopped. Continue with:\n  {shlex.join(again)}")
        raise typer.Exit(INTERRUPTED)
    listing.print_model(model.estimator_, 10, out)


def cut(batch: documents.Batch, size: int) -> Iterator[documents.Batch]:
    """The documents after the first ``size``, ``size`` at a time."""
    for lo in range(size, len(batch.texts), size):
        at = slice(lo, lo + size)
        labels = None if batch.labels is None else batch.labels[at]
        targets = None if batch.targets is None else batch.targets[at]
        yield documents.Batch(batch.ids[at], batch.texts[at], labels, targets)


def _until(seconds: float | None, batches: Iterator[documents.Batch]) -> Iterator[documents.Batch]:
    """The batches, until the time is over."""
    begun = time.monotonic()
    for batch in batches:
        yield batch
        if seconds is not None and time.monotonic() - begun >= seconds:
            return
