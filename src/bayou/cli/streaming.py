"""What a stream does with documents: read, answer, learn, and say how it is doing."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.cli import answers, stream
from bayou.cli.predict import rows
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.records import LocatedRecord
from bayou.data.text import TokenizedTexts
from bayou.run.ingest import IngestWork

if TYPE_CHECKING:
    from bayou.cli.remembered import Names
    from bayou.text_model import TextModel

_LARGEST_TARGET = 1e30  # models refuse larger ones
_LIVE = 0.1  # of an even share of the tokens


class Document(NamedTuple):
    """What is kept of a record until its block is learned."""

    tokens: list[str]
    labels: list[str]
    target: float


class Task:
    """A model at work on a stream."""

    def __init__(
        self, model: TextModel, names: Names, top: int | None, tell: Callable[[str], None]
    ) -> None:
        self.model, self._names, self._top, self._tell = model, names, top, tell
        self._begun = False
        self._numbers = answers.is_regression(model.estimator_)
        self._classes = answers.are_learned(model.estimator_) and not self._numbers
        self._met = (model.n_known_, model.n_unknown_)
        self._unknown = math.nan

    def work(self, answered: bool) -> IngestWork:
        """The functions that the loop is given."""
        answer = self.answer if answered else None
        return IngestWork(self.read, answer, self.learn, self.model._contents, self.figures)

    def read(self, record: dict[str, Any]) -> tuple[Any, Document]:
        """The id (None without any) and the document of a record, or an error that says why it is none."""
        columns = self._names.columns
        text = record.get(columns.text)
        if isinstance(text, str) and columns.label == "" and columns.target == "":
            usual = self._names.usual.get("id", "id")
            guess = usual if usual in record else "id"
            name = guess if columns.id is None else columns.id
            # As a table would have it, in a third of the time.
            if name in record or columns.id is None:
                tokens = next(self.model.vectorizer_.tokens([text]))
                return given_id(record.get(name)), Document(tokens, [], math.nan)
        if columns.label and columns.label not in record:
            columns = columns._replace(label="")  # nothing is known of it
        if columns.target and columns.target not in record:
            columns = columns._replace(target="")
        table = self._names._replace(columns=columns).table()
        text = next(table.texts([LocatedRecord("the record", record)]))
        fields = table.fields()
        tokens = next(self.model.vectorizer_.tokens([text]))
        labels = self._labels(fields["labels"][0]) if "labels" in fields else []
        target = self._target(fields["targets"][0]) if "targets" in fields else math.nan
        return given_id(fields.get("ids", [None])[0]), Document(tokens, labels, target)

    def _labels(self, value: Any) -> list[str]:
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return []
        given = value if isinstance(value, list | tuple) else [value]
        names = list(dict.fromkeys(str(label) for label in given if label not in (None, "")))
        if len(names) > 1 and self._classes and not self.model.estimator_.multi_label_:
            raise DataError(f"{len(names)} labels, but the model has learned one class a document")
        return names

    def _target(self, value: float) -> float:
        if math.isinf(value) or abs(value) > _LARGEST_TARGET:
            raise DataError(f"the target {value} is out of range")
        return float(value)

    def answer(self, documents: Sequence[Document]) -> list[dict[str, Any]]:
        """What the model says of documents before it has learned them."""
        texts = TokenizedTexts(document.tokens for document in documents)
        return rows(self.model, texts, self._top, False)

    def learn(self, documents: Sequence[Document]) -> None:
        """One block; labels that are new become the model's own."""
        if not self._begun:
            self._remark(documents)
            self._begun = True
        texts = TokenizedTexts(document.tokens for document in documents)
        if self._numbers:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MissingTargetsWarning)  # a stream may lack any
                self.model.partial_fit(texts, [document.target for document in documents])
        elif self._classes:
            inner = self.model.estimator_
            own = {str(label): label for label in inner.classes_.tolist()}
            given = [[own.get(name, name) for name in d.labels] for d in documents]
            several = inner.multi_label_
            y = [row or None if several else row[0] if row else None for row in given]
            new = stream.strange(inner.classes_, given) or None
            self.model.partial_fit(texts, y, classes=new)
        else:
            self.model.partial_fit(texts)

    def _remark(self, documents: Sequence[Document]) -> None:
        """Say so where the first documents have nothing to learn answers from: the name may be wrong."""
        what = "target" if self._numbers else "label"
        name = getattr(self._names.columns, what)
        if name == "" or any(d.labels or not math.isnan(d.target) for d in documents):
            return
        name = name or self._names.usual.get(what, what)
        self._tell(
            f"No field `{name}` in the first {len(documents):,} documents: learned from their words alone; "
            f"name it with --{what}, or give --{what} '' if there is none"
        )

    def figures(self, waiting: Sequence[Document]) -> Mapping[str, float]:
        """Live topics, terms, and how many words are unknown since the last time or wait to be learned."""
        model = self.model
        tokens = model.estimator_.posterior_.topic_tokens
        known, unknown = model.n_known_ - self._met[0], model.n_unknown_ - self._met[1]
        self._met = (model.n_known_, model.n_unknown_)
        n_strange, n_waiting = strangers(model, (document.tokens for document in waiting))
        if n := known + unknown + n_waiting:  # or else as it was
            self._unknown = (unknown + n_strange) / n
        return {
            "live_topics": live_topics(tokens),
            "vocabulary_terms": float(len(model.vocabulary_)),
            "unknown_share": self._unknown,
        }


def strangers(model: TextModel, documents: Iterable[Sequence[str]]) -> tuple[int, int]:
    """How many tokens of documents have no column, and how many there are."""
    known = model.vocabulary_.numbers
    n_strange = n_tokens = 0
    for tokens in documents:
        n_tokens += len(tokens)
        n_strange += sum(token not in known for token in tokens)
    return n_strange, n_tokens


def live_topics(tokens: NDArray[np.float64]) -> float:
    """Topics with at least a tenth of an even share of the tokens."""
    return float(np.count_nonzero(tokens > _LIVE * tokens.sum() / max(len(tokens), 1)))


def given_id(id_: Any) -> Any:
    """An id, or None for an empty field: documents without one are not the same document."""
    return None if id_ == "" else id_


def digest_of(path: Path) -> str:
    """What a file is known by."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
