"""From what was judged in a slice to the alerts and rows that are kept of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import change, evidence, lineage, state
from bayou.inference.tracking.history import N_TERMS, Alert
from bayou.inference.tracking.lineage import Event
from bayou.inference.tracking.slice import SliceResult
from bayou.kernels.tracking import slices

N_WORDS = 8
N_DOCS = 3
_NEWBORN = 0.2  # of a term's excess: what makes it a word of a topic that is just born
_RARE = 0.01  # p under which a slice has too many surprising documents


class SliceContext(NamedTuple):
    """The documents of a slice and what things are called."""

    number: int
    date: str
    pairs: Pairs
    doc_names: Sequence[str]
    term: Callable[[int], str]
    own: Collection[str] = ()  # words for its own time: that they are said is no news


def alerts_of(step: SliceResult, here: SliceContext, settled: bool) -> list[Alert]:
    """Everything that changed in a slice, what concerns its topics' lives first.

    Of a stream that has not ``settled`` nothing else is told.
    """
    events = [_of_event(step, here, event) for event in step.events]
    if step.judged is None or not settled:
        return events
    told = {alert.topic for alert in events}
    words = _emerging(step, here)
    drifts = [_of_drift(step, here, int(k), words.pop(int(k), [])) for k in _new(step, told)]
    found = [_of_words(step, here, k, terms) for k, terms in words.items() if terms]
    for alert in found[:]:
        if alert.topic in told:  # said by the event already
            found.remove(alert)
    swings = [_of_swing(step, here, int(k)) for k in _swing_columns(step, told)]
    out = [*events, *drifts, *found, *swings]
    if step.judged.p_surprise < _RARE and not step.born:
        out += _of_surprise(step, here)
    return out


def _new(step: SliceResult, told: set[int]) -> I64:
    """Columns of topics that have drifted and of which nothing was said yet."""
    judged = step.judged
    if judged is None:
        return np.zeros(0, np.int64)
    columns = np.flatnonzero(judged.is_new)
    return np.array([k for k in columns if int(step.before.ids[k]) not in told], np.int64)


def _swing_columns(step: SliceResult, told: set[int]) -> I64:
    """Columns of topics whose share has begun to move, and of which nothing else is told.

    While the words of a topic change, others have some of its tokens: that it falls is no further news.
    """
    judged, before = step.judged, step.before
    if judged is None:
        return np.zeros(0, np.int64)
    fresh = (judged.swung != 0) & (judged.swung != before.leaning)
    changing = judged.is_new | ((judged.drifted | (before.alarmed > 0)) & (judged.swung < 0))
    columns = np.flatnonzero(fresh & ~changing)
    return np.array([k for k in columns if int(before.ids[k]) not in told], np.int64)


def _id_of(step: SliceResult, column: int) -> int:
    """The permanent id of a column of the slice; -1 for a spare topic that was not kept."""
    if column < len(step.before.ids):
        return int(step.before.ids[column])
    return step.born.get(column, -1)


def _emerging(step: SliceResult, here: SliceContext) -> dict[int, list[int]]:
    """Terms that have begun to emerge, most improbable first, by the column that has most of them."""
    judged = step.judged
    if judged is None:
        return {}
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
    """The leading terms of a column, in the slice or, where it has next to none, in its memory."""
    counts = step.seen.of(column)
    if step.seen.tokens[column] < 20 and column < len(step.before.ids):
        counts = step.before.memory[:, column]
    (best,), (values,) = _leading(np.ascontiguousarray(counts)[:, None], n)
    return tuple(here.term(int(v)) for v in best[values > 0])


def _docs(step: SliceResult, here: SliceContext, column: int) -> tuple[str, ...]:
    """Names of the documents with most tokens in a column, among those that it has a fifth of."""
    mine = step.doc_topic[:, column]
    lengths = np.maximum(step.doc_topic.sum(axis=1), 1e-12)
    best = np.argsort(-mine, kind="stable")[:N_DOCS]
    return tuple(here.doc_names[d] for d in best if mine[d] / lengths[d] >= 0.2)


def _of_event(step: SliceResult, here: SliceContext, event: Event) -> Alert:
    k = event.column
    return Alert(
        here.number, here.date, event.kind, event.id, _words(step, here, k), (), event.before,
        event.after, float(step.seen.low[k]), float(step.seen.high[k]), float("nan"),
        _docs(step, here, k), event.other,
    )  # fmt: skip


def _of_drift(step: SliceResult, here: SliceContext, k: int, fresh: list[int]) -> Alert:
    judged, nan = step.judged, float("nan")
    assert judged is not None
    memory = state.normalise_columns(step.before.memory[:, k])
    gained, lost = change.divergence_terms(step.seen.of(k).astype(np.float64), memory, N_WORDS)
    first = list(dict.fromkeys([*fresh, *gained.tolist()]))[:N_WORDS]
    return Alert(
        here.number, here.date, "drift", int(step.before.ids[k]),
        tuple(here.term(v) for v in first), tuple(here.term(int(v)) for v in lost),
        float(judged.expected[k]), float(judged.drift.value[k]), nan, nan,
        float(judged.p_drift[k]), _docs(step, here, k),
    )  # fmt: skip


def _of_words(step: SliceResult, here: SliceContext, k: int, terms: list[int]) -> Alert:
    judged, pairs = step.judged, here.pairs
    assert judged is not None
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


def _of_swing(step: SliceResult, here: SliceContext, k: int) -> Alert:
    judged = step.judged
    assert judged is not None
    before = float(lineage.usual_share(step.before.logit[k]))
    return Alert(
        here.number, here.date, "rise" if judged.swung[k] > 0 else "fall", int(step.before.ids[k]),
        _words(step, here, k), (), before, float(step.seen.share[k]), float(step.seen.low[k]),
        float(step.seen.high[k]), float(judged.p_share[k]), _docs(step, here, k),
    )  # fmt: skip


def _of_surprise(step: SliceResult, here: SliceContext) -> list[Alert]:
    """The documents that fit nowhere, and the terms that they have in common."""
    judged = step.judged
    assert judged is not None
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
    return [
        Alert(
            here.number, here.date, "surprise", -1,
            tuple(here.term(int(v)) for v in best if lift[v] > 0), (), evidence.surprising(step.before),
            share, float("nan"), float("nan"), judged.p_surprise,
            tuple(here.doc_names[d] for d in worst[:N_DOCS]),
        )
    ]  # fmt: skip


def _leading(rows: F32, n: int) -> tuple[I64, F32]:
    """Places and values of the ``n`` largest entries of each column; among equals the first."""
    n = min(n, len(rows))
    places, values = (
        np.empty((rows.shape[1], n), np.int64),
        np.empty((rows.shape[1], n), np.float32),
    )
    slices.leading(places, values, rows)
    return places, values


def rows_of(
    step: SliceResult, number: int, intern: Callable[[Sequence[int]], list[int]]
) -> dict[str, Any]:
    """One row for every topic that has a column after the slice, for `history.Courses`.

    ``intern`` gives the numbers by which terms are kept.
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

    best, values = _leading(step.state.rows, N_TERMS)
    n = best.shape[1]
    terms = np.full((len(ids), N_TERMS), -1, np.int64)
    weights = np.zeros((len(ids), N_TERMS), np.float32)
    terms[:, :n] = np.reshape(intern(best.ravel().tolist()), best.shape)
    weights[:, :n] = values
    judged, nothing = step.judged, np.full(len(step.before.ids), np.nan)
    drift = nothing if judged is None else judged.drift.value
    expected = nothing if judged is None else judged.expected
    return {
        "slice": np.full(len(ids), number), "topic": ids, "terms": terms, "weights": weights,
        "tokens": step.seen.tokens[at], "share": step.seen.share[at],
        "low": step.seen.low[at], "high": step.seen.high[at], "drift": values_at(drift),
        "expected": values_at(expected), "p": values_at(nothing if judged is None else judged.p_drift),
    }  # fmt: skip
