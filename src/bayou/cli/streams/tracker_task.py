"""Work of ``bayou stream`` with a tracker: read dated documents, learn, and send alerts when slices end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayou.cli.alerts import count_late, require_dates
from bayou.cli.streams.stream_task import count_unknown, live_topics, read_id
from bayou.cli.verbs.predict import predict_rows
from bayou.data.corpus import Corpus
from bayou.data.counting import count_tokens
from bayou.data.errors import DataError
from bayou.data.records import LocatedRecord
from bayou.data.text import TokenizedTexts
from bayou.run.ingest import IngestWork, Row

if TYPE_CHECKING:
    from bayou.cli.columns import FieldNames
    from bayou.text_model import TextModel


class TrackedDocument(NamedTuple):
    """Parts of a record that are kept until its block is learned."""

    id: Any
    tokens: list[str]
    time: Any


class TrackerTask:
    """A tracker at work, which manages its own vocabulary; ``send`` is called with every alert."""

    def __init__(
        self,
        model: TextModel,
        names: FieldNames,
        top: int | None,
        send: Callable[[Any], None],
        has_begun: bool = False,  # whether documents of this stream were learned before
    ) -> None:
        self.model, self._names, self._top, self._send = model, names, top, send
        self._has_begun = has_begun
        self._tokens = self._n_undated = 0
        self._unknown = np.nan
        self._late = count_late(model.estimator_)
        self._left_out = model.estimator_.dropped_.n_tokens

    def work(self, predicts: bool) -> IngestWork:
        """The functions that the loop calls."""
        answer = self.answer if predicts else None
        return IngestWork(self.read, answer, self.learn, self.model._contents, self.figures)

    def read(self, record: dict[str, Any]) -> tuple[Any, TrackedDocument]:
        """The id (None without any) and the document of a record; raises `DataError` if it is unusable."""
        table = self._names.table()
        with require_dates(isinstance(self.model.estimator_.slice_by, str)):
            text = next(table.texts([LocatedRecord("the record", record)]))
        fields = table.fields()
        id_ = read_id(fields.get("ids", [None])[0])
        tokens = next(self.model.vectorizer_.tokens([text]))
        return id_, TrackedDocument(id_, tokens, fields.get("times", [None])[0])

    def answer(self, documents: Sequence[TrackedDocument]) -> list[dict[str, Any]]:
        """Topics of documents before they are learned, under their stable ids."""
        return predict_rows(
            self.model, TokenizedTexts(d.tokens for d in documents), self._top, False
        )

    def learn(self, documents: Sequence[TrackedDocument]) -> list[Row]:
        """Learn one block; gives the alerts of the slices that ended with it."""
        tracker = self.model.estimator_
        found: list[Any] = []
        counts, terms = count_tokens((d.tokens for d in documents), vocabulary=None)
        first = tracker.state_.n_seen + tracker.n_waiting_ + 1
        names = [str(i if d.id is None else d.id) for i, d in enumerate(documents, first)]
        corpus = Corpus.from_matrix(
            counts, vocabulary=terms, ids=names, times=self._times(documents)
        )
        before = len(tracker.alerts())
        try:
            tracker.set_params(on_alert=found.append).partial_fit(corpus)
        finally:
            tracker.set_params(on_alert=None)
        self.model.vectorizer_.vocabulary_ = tracker.vocabulary_
        self._tokens += int(counts.sum())
        for alert in found:
            self._send(alert)
        return [
            {"n": n, "id": f"{a.date} {a.kind} {a.topic}"} | json.loads(a.to_json())
            for n, a in enumerate(found, before + 1)
        ]

    def _times(self, documents: Sequence[TrackedDocument]) -> list[Any] | None:
        """The dates of a block; refuses a stream that has no dates at all."""
        times = [d.time for d in documents]
        if isinstance(self.model.estimator_.slice_by, str):
            self._n_undated += sum(time is None or bool(np.isnat(time)) for time in times)
        if any(time is not None for time in times):
            self._has_begun = True
            return times
        if not isinstance(self.model.estimator_.slice_by, str):
            return None
        if self._has_begun:
            return times
        name = self._names.columns.time or self._names.usual.get("time", "date")
        raise DataError(
            f"no field `{name}` in the first {len(times):,} documents, and the slices of this tracker need "
            "dates; name the field of dates with --time"
        )

    def figures(self, waiting: Sequence[TrackedDocument]) -> Mapping[str, float]:
        """Live topics, terms, and the share of new and waiting tokens that are not in the vocabulary."""
        tracker = self.model.estimator_
        left_out = tracker.dropped_.n_tokens
        n_unknown, n_waiting = count_unknown(self.model, (d.tokens for d in waiting))
        if n := self._tokens + n_waiting:  # without new words the share stays as it was
            unknown = (left_out - self._left_out + n_unknown) / n
            self._unknown = float(np.clip(unknown, 0.0, 1.0))
        self._tokens, self._left_out = 0, left_out
        return {
            "live_topics": live_topics(tracker.posterior_.topic_tokens),
            "vocabulary_terms": float(len(self.model.vocabulary_)),
            "unknown_share": self._unknown,
            "undated_total": float(self._n_undated),
            "late_total": float(count_late(tracker) - self._late),
        }
