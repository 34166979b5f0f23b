"""Learner for streaming models, used by `bayou fit --first`, `bayou update` and `bayou stream`."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli import documents, interrupt, predictions
from bayou.cli.catalogue import name_of
from bayou.cli.columns import names_in
from bayou.cli.messages import Messages
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.data.table import Columns
    from bayou.data.text import Vectorizer
    from bayou.text_model import TextModel

_CHECKPOINT_SECONDS = 30.0
_TRACKER_BLOCK = 256  # documents per block of a tracker, which cuts its slices itself
_BATCHES = 16  # mini-batches per block, at most
_MINI_BATCH = 256  # documents read at a time by models that learn without mini-batches
NO_TERMS = "lower --min-df, raise --max-df, give --stop-words none or more documents"


class Learner:
    """Feeds documents to a streaming model, with their labels or numbers."""

    def __init__(self, model: TextModel) -> None:
        self.model = model

    @property
    def estimator(self) -> Any:
        """The fitted estimator, or the one to fit."""
        return getattr(self.model, "estimator_", self.model.estimator)

    @property
    def is_tracker(self) -> bool:
        """Whether the model learns slices of time."""
        return is_tracker(self.estimator)

    @property
    def n_seen(self) -> int:
        """Documents so far, with those that wait for their mini-batch to be full."""
        inner = self.model.estimator_
        return int(inner.state_.n_seen if self.is_tracker else inner.n_seen_)

    @property
    def mini_batch(self) -> int:
        """Documents per mini-batch; for models without mini-batches a size that reads well."""
        from bayou.api.online_margin import OnlineMargin
        from bayou.inference.lda.stream import batch_size

        inner = self.estimator
        if isinstance(inner, OnlineMargin):
            return int(inner.resolve().batch_size)
        if not hasattr(inner, "batch_size"):
            return _MINI_BATCH
        return int(inner.batch_size or batch_size(getattr(inner, "n_docs", None)))

    @property
    def block_size(self) -> int:
        """Documents to read at a time: whole mini-batches, few enough that Ctrl-C takes effect soon."""
        from bayou.api.online_margin import OnlineMargin
        from bayou.run.batches import CHUNK

        if self.is_tracker:
            return _TRACKER_BLOCK
        size = self.mini_batch
        if not isinstance(self.estimator, OnlineMargin):
            return _BATCHES * size
        return min(_BATCHES, max(CHUNK // size, 1)) * size

    def begin(self, head: documents.Batch, n_docs: int) -> Vectorizer:
        """Choose words and classes from the first documents, and learn the first ``n_docs`` of them.

        Returns the vectorizer, fitted to the first documents.
        """
        from sklearn.base import clone

        from bayou.data.corpus import Corpus

        words: Vectorizer = clone(self.model.vectorizer).fit(head.texts)
        if not len(words.vocabulary_):
            raise DataError(f"no term is left; documents: {len(head.texts)}; {NO_TERMS}")
        counts = words.transform(head.texts[:n_docs])
        corpus = Corpus.from_matrix(counts, vocabulary=words.vocabulary_)
        if not predictions.is_supervised(self.estimator):
            self.model.partial_fit(corpus)
        elif predictions.is_regression(self.estimator):
            targets = head.targets or [float("nan")] * len(head.texts)
            self.model.partial_fit(corpus, targets[: corpus.n_docs])
        else:
            y, classes = _first_labels(head, corpus.n_docs)
            self.model.partial_fit(corpus, y, classes=classes)
        return words

    def learn(
        self,
        texts: Sequence[str],
        labels: Sequence[Sequence[Any]] | None = None,
        targets: Sequence[float] | None = None,
    ) -> None:
        """Learn from documents; labels that the model does not know become its own."""
        inner = self.estimator
        if not predictions.is_supervised(inner):
            self.model.partial_fit(texts)
        elif predictions.is_regression(inner):
            self.model.partial_fit(texts, targets or [float("nan")] * len(texts))
        else:
            rows = self.spell_labels(labels or [[]] * len(texts))
            several = inner.multi_label_
            y = [(row or None) if several else (row[0] if row else None) for row in rows]
            self.model.partial_fit(texts, y, classes=self.new_labels(rows) or None)

    def learn_batch(self, batch: documents.Batch) -> None:
        """Learn from documents of a file."""
        labels = self.labels_of(batch) if predictions.is_classifier(self.estimator) else None
        self.learn(batch.texts, labels, batch.targets)

    def learn_all(
        self, batches: Iterator[documents.Batch], checkpoint: Path | None, messages: Messages
    ) -> tuple[int, bool]:
        """Learn batch after batch; gives the number of documents, and whether Ctrl-C ended it."""
        n_docs, brake, saved = 0, interrupt.Brake(messages), time.monotonic()
        try:
            for batch in batches:
                with brake:
                    self.estimator.set_params(callbacks=[brake])
                    before = self.n_seen
                    self.learn_batch(batch)
                    n_docs += self.n_seen - before
                    self.estimator.set_params(callbacks=None)
                messages.detail(f"{n_docs:,} documents")
                if brake.pressed:
                    return n_docs, True
                if checkpoint is not None and time.monotonic() - saved > _CHECKPOINT_SECONDS:
                    self.model.save(checkpoint)
                    saved = time.monotonic()
        except KeyboardInterrupt:
            if brake.pressed:  # for the second time, in the middle of a mini-batch
                raise
            interrupt.acknowledge()
            return n_docs, True  # it came between batches: nothing is half done
        return n_docs, False

    def labels_of(self, batch: documents.Batch) -> list[list[Any]]:
        """The labels of every document as the model spells them; none where nothing is known."""
        from bayou.data.fields import as_labels

        if batch.labels is None:
            return [[] for _ in batch.texts]
        matrix, found = as_labels(batch.labels, len(batch.texts))
        names = self.spell_labels([found or ()])[0]
        ends = pairwise(matrix.indptr.tolist())
        rows = [[names[i] for i in matrix.indices[a:b]] for a, b in ends]
        for id_, row in zip(batch.ids, rows, strict=True):
            if len(row) > 1 and not self.estimator.multi_label_:
                raise DataError(
                    f"document {id_} has {len(row)} labels; the model learns one class per document"
                )
        return rows

    def spell_labels(self, rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Labels as the model spells them: a class ``1`` is not the text "1"."""
        own = {str(label): label for label in self.estimator.classes_.tolist()}
        return [[own.get(str(name), name) for name in row] for row in rows]

    def new_labels(self, rows: Sequence[Sequence[Any]]) -> list[Any]:
        """Labels that the model does not know, sorted."""
        known = set(self.estimator.classes_.tolist())
        return sorted({label for row in rows for label in row} - known, key=str)

    def check_updatable(self, path: Path) -> None:
        """Refuse a model that cannot be updated."""
        if self.is_tracker:
            raise typer.BadParameter(
                f"{path} is a tracker, which learns slices of time; continue it with `bayou track FILE "
                f"--from {path}`",
                param_hint="MODEL",
            )
        if hasattr(self.model, "partial_fit"):
            return
        other = "online-med-lda" if predictions.is_supervised(self.estimator) else "online-lda"
        raise typer.BadParameter(
            f"{path} is a {name_of(type(self.estimator))}, which learns from a whole corpus at once; to "
            f"update a model, fit one with --model {other}",
            param_hint="MODEL",
        )

    def columns(self, text: str | None, label: str | None, target: str | None) -> Columns:
        """The columns to learn from: by option, else as in the model, else `labels`, `label` or `target`."""
        columns = predictions.columns(self.model, text, label, target)
        n_targets = self.estimator.response_.n_tasks if columns.target != "" else 1
        if n_targets > 1:
            raise DataError(
                f"the model predicts {n_targets} numbers per document, and --target is one column; use "
                "partial_fit in Python"
            )
        if columns.target is None:  # a guess would not notice that the field is missing
            return columns._replace(target=names_in(self.model).get("target", "target"))
        return columns


def is_tracker(estimator: Any) -> bool:
    """Whether an estimator learns slices of time."""
    return hasattr(type(estimator), "slices_")


def check_labelled(
    batches: Iterator[documents.Batch], source: documents.Source
) -> Iterator[documents.Batch]:
    """The batches; refuses a stream whose first documents have no field of labels."""
    for i, batch in enumerate(batches):
        if i == 0 and source.columns.label is None and batch.labels is None:
            name = (source.usual or {}).get("label", "label")
            raise DataError(
                f"no field `{name}` to learn from; name it with --label, or give --label '' to learn "
                "from the words alone"
            )
        yield batch


def label_names(batch: documents.Batch) -> tuple[str, ...] | None:
    """The names of all labels in a batch."""
    from bayou.data.fields import as_labels

    return None if batch.labels is None else as_labels(batch.labels, len(batch.texts))[1]


def _first_labels(head: documents.Batch, n: int) -> tuple[list[Any], list[str]]:
    """Labels of the first n documents, and the names of all; lists if a document has several."""
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
