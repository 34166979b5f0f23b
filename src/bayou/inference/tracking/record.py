"""Documents of a slice in the columns of the model, and the history after it: alerts, courses, terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayou.data.array_order import in_c_order
from bayou.data.calendar import slice_name
from bayou.data.corpus import Corpus
from bayou.data.intake import DueSlice
from bayou.data.stream_terms import Terms
from bayou.inference.lda import documents
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import alerts as alerting
from bayou.inference.tracking import state as slots
from bayou.inference.tracking.calendar_words import calendar_words
from bayou.inference.tracking.history import Alert, Trail
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.slice import SliceResult
from bayou.inference.tracking.state import TrackerState


def add_terms(terms: Terms, corpus: Corpus, step: int, p: TrackerSettings) -> int:
    """Give columns to new terms that are in enough documents. Returns the number of new columns."""
    topics = (topic for topic in p.fixed.values() if isinstance(topic, Mapping))
    named = [term for topic in topics for term in topic]
    return terms.meet(corpus, step, p.min_docs, named, p.max_terms)


def pairs_of(corpus: Corpus, terms: Terms) -> tuple[Pairs, int]:
    """The documents of a slice in the columns of the model, and the number of columns."""
    counts = terms.counts(corpus)
    if counts is not corpus.counts:
        corpus = Corpus.from_matrix(counts)
    corpus.whole_counts()  # warns about fractional counts, refuses counts that are too large
    return documents.pairs_of(corpus.counts), corpus.n_terms


def drop_terms(state: TrackerState, terms: Terms, p: TrackerSettings) -> tuple[TrackerState, int]:
    """The state without terms that are too old, then without the least frequent ones over the limit.

    Its arrays are in C order, as after a file. Returns the number of dropped terms, too.
    """
    unmet = state.step - 1 - state.last
    keep = terms.outlive(state.usual, unmet, p.forget_after, p.max_terms)
    if keep is None:
        return in_c_order(state), 0
    return in_c_order(slots.take_terms(state, keep)), len(state.usual) - len(keep)


def record_slice(
    done: SliceResult, due: DueSlice, pairs: Pairs, terms: Terms, trail: Trail, p: TrackerSettings
) -> list[Alert]:
    """Add a slice to the history. Returns its alerts."""
    at = done.state.step - 1
    known = None if terms.names is None else terms.names.terms

    def term(v: int) -> str:
        return f"x{v}" if known is None else known[v]

    def numbers(columns: Sequence[int]) -> list[int]:
        return trail.numbers([term(v) for v in columns])

    date = slice_name(due.start, due.end, p.width, at)
    own = calendar_words(due.start, due.end)
    here = alerting.SliceContext(at, date, pairs, due.corpus.ids or (), term, own)
    alerts = [
        alert._replace(before=trail.last_share(alert.topic)) if alert.kind == "revived" else alert
        for alert in alerting.alerts_of(done, here, at >= p.warm_up)
    ]
    trail.add(_slice_row(done, due, pairs), alerting.course_rows(done, at, numbers), alerts)
    trail.extend_span(due.corpus.times)
    return alerts


def _slice_row(done: SliceResult, due: DueSlice, pairs: Pairs) -> dict[str, Any]:
    """The entry of a slice in `history.Slices`; terms are counted later."""
    scores = done.judged.surprise if done.judged is not None else np.full(1, np.nan)
    scores = scores[np.isfinite(scores)]
    kept = len(done.before.ids) if done.judged is not None else len(done.seen.share)
    spare = [j for j in range(kept, len(done.seen.share)) if j not in done.born]
    return {
        "start": due.start, "end": due.end, "n_docs": pairs.n_docs, "n_tokens": pairs.n_tokens,
        "n_late": due.n_late, "n_new_terms": 0, "n_lost_terms": 0,
        "strength": done.before.strength, "burst": np.nan if done.judged is None else done.judged.burst,
        "unplaced": done.seen.share[spare].sum(),
        "surprise": scores.mean() if len(scores) else np.nan,
    }  # fmt: skip
