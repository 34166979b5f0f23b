"""Work of ``bayou stream`` with documents: read, predict, learn and measure."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.cli import predictions
from bayou.cli.verbs.predict import predict_rows
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.records import LocatedRecord
from bayou.data.text import TokenizedTexts
from bayou.run.ingest import IngestWork

if TYPE_CHECKING:
    from bayou.cli.columns import FieldNames
    from bayou.cli.streams.learner import Learner
    from bayou.text_model import TextModel

_LARGEST_TARGET = 1e30  # models refuse larger ones
_LIVE = 0.1  # of an even share of the tokens


class StreamDocument(NamedTuple):
    """Parts of a record that are kept until its block is learned."""

    tokens: list[str]
    labels: list[str]
    target: float


class StreamTask:
    """A streaming model at work; ``warn`` is called with remarks."""

    def __init__(
        self, learner: Learner, names: FieldNames, top: int | None, warn: Callable[[str], None]
    ) -> None:
        model = learner.model
        self._learner, self._model, self._names, self._top = learner, model, names, top
        self._warn = warn
        self._has_begun = False
        self._is_regression = predictions.is_regression(model.estimator_)
        self._is_classifier = predictions.is_classifier(model.estimator_)
        self._counts = (model.n_known_, model.n_unknown_)
        self._unknown = math.nan

    def work(self, predicts: bool) -> IngestWork:
        """The functions that the loop calls."""
        answer = self.answer if predicts else None
        return IngestWork(self.read, answer, self.learn, self._model._contents, self.figures)

    def read(self, record: dict[str, Any]) -> tuple[Any, StreamDocument]:
        """The id (None without any) and the document of a record; raises `DataError` if it is unusable."""
        columns = self._names.columns
        text = record.get(columns.text)
        if isinstance(text, str) and columns.label == "" and columns.target == "":
            usual = self._names.usual.get("id", "id")
            guess = usual if usual in record else "id"
            name = guess if columns.id is None else columns.id
            # The same as a table gives, in a third of the time.
            if name in record or columns.id is None:
                tokens = next(self._model.vectorizer_.tokens([text]))
                return read_id(record.get(name)), StreamDocument(tokens, [], math.nan)
        if columns.label and columns.label not in record:
            columns = columns._replace(label="")  # this document has none
        if columns.target and columns.target not in record:
            columns = columns._replace(target="")
        table = self._names._replace(columns=columns).table()
        text = next(table.texts([LocatedRecord("the record", record)]))
        fields = table.fields()
        tokens = next(self._model.vectorizer_.tokens([text]))
        labels = self._labels(fields["labels"][0]) if "labels" in fields else []
        target = _target(fields["targets"][0]) if "targets" in fields else math.nan
        return read_id(fields.get("ids", [None])[0]), StreamDocument(tokens, labels, target)

    def _labels(self, value: Any) -> list[str]:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return []
        given = value if isinstance(value, list | tuple) else [value]
        names = list(dict.fromkeys(str(label) for label in given if label not in (None, "")))
        if len(names) > 1 and self._is_classifier and not self._model.estimator_.multi_label_:
            raise DataError(f"{len(names)} labels; the model learns one class per document")
        return names

    def answer(self, documents: Sequence[StreamDocument]) -> list[dict[str, Any]]:
        """Predictions for documents before they are learned."""
        texts = TokenizedTexts(document.tokens for document in documents)
        return predict_rows(self._model, texts, self._top, False)

    def learn(self, documents: Sequence[StreamDocument]) -> None:
        """Learn one block."""
        if not self._has_begun:
            self._check_supervised(documents)
            self._has_begun = True
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MissingTargetsWarning)  # usual on a stream
            self._learner.learn(
                TokenizedTexts(document.tokens for document in documents),
                [document.labels for document in documents],
                [document.target for document in documents],
            )

    def _check_supervised(self, documents: Sequence[StreamDocument]) -> None:
        """Warn if the first documents have no label or target: the column name may be wrong."""
        what = "target" if self._is_regression else "label"
        name = getattr(self._names.columns, what)
        if name == "" or any(d.labels or not math.isnan(d.target) for d in documents):
            return
        name = name or self._names.usual.get(what, what)
        self._warn(
            f"No field `{name}` in the first {len(documents):,} documents: only their words were learned; "
            f"name the field with --{what}, or give --{what} '' if there is none"
        )

    def figures(self, waiting: Sequence[StreamDocument]) -> Mapping[str, float]:
        """Live topics, terms, and the share of unknown words since the last call and in ``waiting``."""
        model = self._model
        known, unknown = model.n_known_ - self._counts[0], model.n_unknown_ - self._counts[1]
        self._counts = (model.n_known_, model.n_unknown_)
        n_unknown, n_waiting = count_unknown(model, (document.tokens for document in waiting))
        if n := known + unknown + n_waiting:  # without new words the share stays as it was
            self._unknown = (unknown + n_unknown) / n
        return {
            "live_topics": live_topics(model.estimator_.posterior_.topic_tokens),
            "vocabulary_terms": float(len(model.vocabulary_)),
            "unknown_share": self._unknown,
        }


def _target(value: float) -> float:
    if math.isinf(value) or abs(value) > _LARGEST_TARGET:
        raise DataError(f"the target {value} is out of range")
    return float(value)


def count_unknown(model: TextModel, documents: Iterable[Sequence[str]]) -> tuple[int, int]:
    """Number of tokens that are not in the vocabulary, and number of all tokens."""
    known = model.vocabulary_.numbers
    n_unknown = n_tokens = 0
    for tokens in documents:
        n_tokens += len(tokens)
        n_unknown += sum(token not in known for token in tokens)
    return n_unknown, n_tokens


def live_topics(tokens: NDArray[np.float64]) -> float:
    """Topics with at least a tenth of an even share of the tokens."""
    return float(np.count_nonzero(tokens > _LIVE * tokens.sum() / max(len(tokens), 1)))


def read_id(value: Any) -> Any:
    """An id, or None for an empty field: two documents without an id are not the same document.

    A number that is not finite is not an id either.
    """
    is_infinite = isinstance(value, float) and not math.isfinite(value)
    return None if value == "" or is_infinite else value
