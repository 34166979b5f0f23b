"""A tracker at work on a stream: documents with their times in, alerts out as slices end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayou.cli.predict import rows
from bayou.cli.streaming import given_id, live_topics, strangers
from bayou.cli.telling import about_dates, n_late
from bayou.data.corpus import Corpus
from bayou.data.counting import count_tokens
from bayou.data.errors import DataError
from bayou.data.records import LocatedRecord
from bayou.data.text import TokenizedTexts
from bayou.run.ingest import IngestWork, Row

if TYPE_CHECKING:
    from bayou.cli.remembered import Names
    from bayou.text_model import TextModel


class Document(NamedTuple):
    """What is kept of a record until its block is learned."""

    id: Any
    tokens: list[str]
    time: Any


class Watch:
    """A tracker, which finds its own words; ``tell`` is called with every alert."""

    def __init__(
        self,
        model: TextModel,
        names: Names,
        top: int | None,
        tell: Callable[[Any], None],
        begun: bool = False,  # whether documents of this stream have been learned before
    ) -> None:
        self.model, self._names, self._top, self._tell = model, names, top, tell
        self._begun = begun
        self._tokens = self._n_undated = 0
        self._unknown = np.nan
        self._late = n_late(model.estimator_)
        self._left_out = model.estimator_.dropped_.n_tokens

    def work(self, answered: bool) -> IngestWork:
        """The functions that the loop is given."""
        answer = self.answer if answered else None
        return IngestWork(self.read, answer, self.learn, self.model._contents, self.figures)

    def read(self, record: dict[str, Any]) -> tuple[Any, Document]:
        """The id (None without any) and the document of a record, or an error that says why it is none."""
        table = self._names.table()
        with about_dates(isinstance(self.model.estimator_.slice_by, str)):
            text = next(table.texts([LocatedRecord("the record", record)]))
        fields = table.fields()
        id_ = given_id(fields.get("ids", [None])[0])
        tokens = next(self.model.vectorizer_.tokens([text]))
        return id_, Document(id_, tokens, fields.get("times", [None])[0])

    def answer(self, documents: Sequence[Document]) -> list[dict[str, Any]]:
        """Topics of documents before they are learned, by their permanent numbers."""
        return rows(self.model, TokenizedTexts(d.tokens for d in documents), self._top, False)

    def learn(self, documents: Sequence[Document]) -> list[Row]:
        """One block; gives the alerts of the slices that have ended with it."""
        tracker = self.model.estimator_
        told: list[Any] = []
        counts, terms = count_tokens((d.tokens for d in documents), vocabulary=None)
        first = tracker.state_.n_seen + tracker.n_waiting_ + 1
        names = [str(i if d.id is None else d.id) for i, d in enumerate(documents, first)]
        corpus = Corpus.from_matrix(
            counts, vocabulary=terms, ids=names, times=self._times(documents)
        )
        before = len(tracker.alerts())
        try:
            tracker.set_params(on_alert=told.append).partial_fit(corpus)
        finally:
            tracker.set_params(on_alert=None)
        self.model.vectorizer_.vocabulary_ = tracker.vocabulary_
        self._tokens += int(counts.sum())
        for alert in told:
            self._tell(alert)
        return [
            {"n": n, "id": f"{a.date} {a.kind} {a.topic}"} | json.loads(a.to_json())
            for n, a in enumerate(told, before + 1)
        ]

    def _times(self, documents: Sequence[Document]) -> list[Any] | None:
        """The dates of a block; none at all is a mistake only where there has never been one."""
        times = [d.time for d in documents]
        if isinstance(self.model.estimator_.slice_by, str):
            self._n_undated += sum(time is None or bool(np.isnat(time)) for time in times)
        if any(time is not None for time in times):
            self._begun = True
            return times
        if not isinstance(self.model.estimator_.slice_by, str):
            return None
        if self._begun:
            return times
        name = self._names.columns.time or self._names.usual.get("time", "date")
        raise DataError(
            f"no field `{name}` in the first {len(times):,} documents, and this tracker's slices are those "
            "of the calendar; name the field of dates with --time"
        )

    def figures(self, waiting: Sequence[Document]) -> Mapping[str, float]:
        """Live topics, terms, and the share of new and waiting tokens without a column."""
        tracker = self.model.estimator_
        left_out = tracker.dropped_.n_tokens
        n_strange, n_waiting = strangers(self.model, (d.tokens for d in waiting))
        if n := self._tokens + n_waiting:  # or else as it was
            unknown = (left_out - self._left_out + n_strange) / n
            self._unknown = float(np.clip(unknown, 0.0, 1.0))
        self._tokens, self._left_out = 0, left_out
        return {
            "live_topics": live_topics(tracker.posterior_.topic_tokens),
            "vocabulary_terms": float(len(self.model.vocabulary_)),
            "unknown_share": self._unknown,
            "undated_total": float(self._n_undated),
            "late_total": float(n_late(tracker) - self._late),
        }
