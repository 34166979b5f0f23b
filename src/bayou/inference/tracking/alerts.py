"""Alerts and history entries from the results of a slice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import change, lineage, state
from bayou.inference.tracking.evidence import SliceEvidence
from bayou.inference.tracking.history import N_TERMS, Alert
from bayou.inference.tracking.lineage import Event
from bayou.inference.tracking.slice import SliceResult
from bayou.inference.tracking.surprise import usual_share_over_limit
from bayou.kernels.tracking import slices

N_WORDS = 8
N_DOCS = 3
_NEWBORN = 0.2  # least part of a term's excess that makes it a word of a new topic
_RARE = 0.01  # p-value below which a slice has too many surprising documents


class SliceContext(NamedTuple):
    """The documents of a slice, and names of documents and terms."""

    number: int
    date: str
    pairs: Pairs
    doc_names: Sequence[str]
    term: Callable[[int], str]
    own: Collection[str] = ()  # words for the time of the slice, which never count as new


def alerts_of(step: SliceResult, here: SliceContext, settled: bool) -> list[Alert]:
    """All changes in a slice, events of the lineage first.

    If the stream has not ``settled``, only events of the lineage are reported.
    """
    events = [_event_alert(step, here, event) for event in step.events]
    if step.judged is None or not settled:
        return events
    reported = {alert.topic for alert in events}
    words = _emerging_terms(step, step.judged, here)
    drifts = [
        _drift_alert(step, step.judged, here, k, words.pop(k, []))
        for k in _drift_columns(step, step.judged, reported)
    ]
    found = [_words_alert(step, step.judged, here, k, terms) for k, terms in words.items() if terms]
    found = [alert for alert in found if alert.topic not in reported]
    columns = _swing_columns(step, step.judged, reported)
    swings = [_swing_alert(step, step.judged, here, k) for k in columns]
    out = [*events, *drifts, *found, *swings]
    if step.judged.p_surprise < _RARE and not step.born:
        out.append(_surprise_alert(step, step.judged, here))
    return out


def _drift_columns(step: SliceResult, judged: SliceEvidence, reported: set[int]) -> list[int]:
    """Columns of topics that have drifted and are not reported yet."""
    return _columns_without_alert(step, np.flatnonzero(judged.is_new), reported)


def _swing_columns(step: SliceResult, judged: SliceEvidence, reported: set[int]) -> list[int]:
    """Columns of topics whose share has begun to change, and that are not reported yet.

    While the words of a topic change, other topics hold some of its tokens. So its fall is not reported.
    """
    before = step.before
    fresh = (judged.swung != 0) & (judged.swung != before.leaning)
    changing = judged.is_new | ((judged.drifted | (before.alarmed > 0)) & (judged.swung < 0))
    return _columns_without_alert(step, np.flatnonzero(fresh & ~changing), reported)


def _columns_without_alert(step: SliceResult, columns: I64, reported: set[int]) -> list[int]:
    return [k for k in columns.tolist() if int(step.before.ids[k]) not in reported]


def _id_of(step: SliceResult, column: int) -> int:
    """The permanent id of a column of the slice; -1 for a spare topic that was not kept."""
    if column < len(step.before.ids):
        return int(step.before.ids[column])
    return step.born.get(column, -1)


def _emerging_terms(
    step: SliceResult, judged: SliceEvidence, here: SliceContext
) -> dict[int, list[int]]:
    """Terms that have begun to emerge, least probable first, by the column with their largest excess."""
    fresh = np.flatnonzero(judged.emerged & (step.before.hot == 0))
    fresh = fresh[np.argsort(judged.p_terms[fresh], kind="stable")]
    fresh = np.array([v for v in fresh if here.term(int(v)) not in here.own], np.int64)
    if not len(fresh):
        return {}
    rows, totals = np.searchsorted(step.seen.terms, fresh), step.seen.tokens
    counts = step.seen.counts[rows].astype(np.float64)
    memory, n_known = step.before.memory, len(step.before.ids)
    scale = totals[:n_known] * change.inverse_sums(memory)
    counts[:, :n_known] -= memory[fresh] * scale
    out: dict[int, list[int]] = {}
    for v, excess in zip(fresh, np.maximum(counts, 0.0), strict=True):
        born = [k for k in step.born if excess[k] > _NEWBORN * excess.sum()]
        out.setdefault(born[0] if born else int(excess.argmax()), []).append(int(v))
    return out


def _words(step: SliceResult, here: SliceContext, column: int, n: int = N_WORDS) -> tuple[str, ...]:
    """The leading terms of a column in the slice, or in its memory if it has almost no tokens."""
    counts = step.seen.of(column)
    if step.seen.tokens[column] < 20 and column < len(step.before.ids):
        counts = step.before.memory[:, column]
    (best,), (values,) = _largest(np.ascontiguousarray(counts)[:, None], n)
    return tuple(here.term(int(v)) for v in best[values > 0])


def _docs(step: SliceResult, here: SliceContext, column: int) -> tuple[str, ...]:
    """Names of the documents with most tokens in a column, of which the column has at least a fifth."""
    mine = step.doc_topic[:, column]
    lengths = np.maximum(step.doc_topic.sum(axis=1), 1e-12)
    best = np.argsort(-mine, kind="stable")[:N_DOCS]
    return tuple(here.doc_names[d] for d in best if mine[d] / lengths[d] >= 0.2)


def _event_alert(step: SliceResult, here: SliceContext, event: Event) -> Alert:
    k = event.column
    return Alert(
        here.number, here.date, event.kind, event.id, _words(step, here, k), (), event.before,
        event.after, float(step.seen.low[k]), float(step.seen.high[k]), float("nan"),
        _docs(step, here, k), event.other,
    )  # fmt: skip


def _drift_alert(
    step: SliceResult, judged: SliceEvidence, here: SliceContext, k: int, fresh: list[int]
) -> Alert:
    nan = float("nan")
    memory = state.normalise_columns(step.before.memory[:, k])
    gained, lost = change.divergence_terms(step.seen.of(k).astype(np.float64), memory, N_WORDS)
    first = list(dict.fromkeys([*fresh, *gained.tolist()]))[:N_WORDS]
    return Alert(
        here.number, here.date, "drift", int(step.before.ids[k]),
        tuple(here.term(v) for v in first), tuple(here.term(int(v)) for v in lost),
        float(judged.expected[k]), float(judged.drift.value[k]), nan, nan,
        float(judged.p_drift[k]), _docs(step, here, k),
    )  # fmt: skip


def _words_alert(
    step: SliceResult, judged: SliceEvidence, here: SliceContext, k: int, terms: list[int]
) -> Alert:
    pairs = here.pairs
    chosen, lead = np.zeros(len(step.before.usual), bool), terms[0]
    chosen[terms] = True
    mine = np.flatnonzero(chosen[pairs.terms])
    rows = np.searchsorted(pairs.indptr, mine, side="right") - 1
    hits = np.bincount(rows, weights=pairs.counts[mine], minlength=pairs.n_docs)
    best = [d for d in np.argsort(-hits, kind="stable")[:N_DOCS] if hits[d] > 0]
    n_docs = np.count_nonzero(pairs.terms[mine] == lead)
    return Alert(
        here.number, here.date, "words", _id_of(step, k),
        tuple(here.term(v) for v in terms[:N_WORDS]), (), float(step.before.spread[lead]),
        n_docs / pairs.n_docs, float("nan"), float("nan"), float(judged.p_terms[lead]),
        tuple(here.doc_names[d] for d in best),
    )  # fmt: skip


def _swing_alert(step: SliceResult, judged: SliceEvidence, here: SliceContext, k: int) -> Alert:
    before = float(lineage.usual_share(step.before.logit[k]))
    return Alert(
        here.number, here.date, "rise" if judged.swung[k] > 0 else "fall", int(step.before.ids[k]),
        _words(step, here, k), (), before, float(step.seen.share[k]), float(step.seen.low[k]),
        float(step.seen.high[k]), float(judged.p_share[k]), _docs(step, here, k),
    )  # fmt: skip


def _surprise_alert(step: SliceResult, judged: SliceEvidence, here: SliceContext) -> Alert:
    """The documents that no topic explains, and the terms that they have in common."""
    limit = float(step.before.surprise[1])
    odd = np.flatnonzero(np.nan_to_num(judged.surprise, nan=-np.inf) > limit)
    worst = odd[np.argsort(-judged.surprise[odd], kind="stable")]
    rows = np.repeat(np.arange(here.pairs.n_docs), np.diff(here.pairs.indptr))
    n_terms = len(step.before.usual)
    docs = np.bincount(here.pairs.terms[np.isin(rows, worst)], minlength=n_terms)
    usual = step.before.spread * len(worst)
    lift = np.where(docs >= 2, docs * np.log((docs + 0.5) / (usual + 0.5)), 0.0)
    best = np.argsort(-lift, kind="stable")[:N_WORDS]
    share = len(odd) / max(int(np.isfinite(judged.surprise).sum()), 1)
    return Alert(
        here.number, here.date, "surprise", -1,
        tuple(here.term(int(v)) for v in best if lift[v] > 0), (),
        usual_share_over_limit(step.before), share, float("nan"), float("nan"), judged.p_surprise,
        tuple(here.doc_names[d] for d in worst[:N_DOCS]),
    )  # fmt: skip


def _largest(rows: F32, n: int) -> tuple[I64, F32]:
    """Places and values of the ``n`` largest entries of each column; among equals the first."""
    shape = rows.shape[1], min(n, len(rows))
    places, values = np.empty(shape, np.int64), np.empty(shape, np.float32)
    slices.largest_into(places, values, rows)
    return places, values


def course_rows(
    step: SliceResult, number: int, numbers_of: Callable[[Sequence[int]], list[int]]
) -> dict[str, Any]:
    """One entry for `history.Courses` per topic that has a column after the slice.

    ``numbers_of`` gives the numbers of terms in the history.
    """
    ids = step.state.ids
    column = {i: k for k, i in enumerate(step.before.ids.tolist())}
    column |= {i: k for k, i in step.born.items()}
    at = np.array([column[i] for i in ids.tolist()], np.int64)
    tested = (at < len(step.before.ids)) & (step.judged is not None)

    def values_at(values: F64) -> F64:
        out = np.full(len(at), np.nan)
        out[tested] = values[at[tested]]
        return out

    best, values = _largest(step.state.rows, N_TERMS)
    n = best.shape[1]
    terms = np.full((len(ids), N_TERMS), -1, np.int64)
    weights = np.zeros((len(ids), N_TERMS), np.float32)
    terms[:, :n] = np.reshape(numbers_of(best.ravel().tolist()), best.shape)
    weights[:, :n] = values
    judged, nothing = step.judged, np.full(len(step.before.ids), np.nan)
    drift, expected, p = nothing, nothing, nothing
    if judged is not None:
        drift, expected, p = judged.drift.value, judged.expected, judged.p_drift
    return {
        "slice": np.full(len(ids), number), "topic": ids, "terms": terms, "weights": weights,
        "tokens": step.seen.tokens[at], "share": step.seen.share[at],
        "low": step.seen.low[at], "high": step.seen.high[at], "drift": values_at(drift),
        "expected": values_at(expected), "p": values_at(p),
    }  # fmt: skip
