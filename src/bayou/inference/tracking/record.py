"""A slice from its documents to what is known afterwards: columns for its terms, the state, what is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from bayou.data.calendar import parse_width, slice_name
from bayou.data.corpus import Corpus
from bayou.data.intake import DueSlice
from bayou.data.stream_terms import Terms
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, Each
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.tracking import alerts as alerting
from bayou.inference.tracking import slice
from bayou.inference.tracking import state as slots
from bayou.inference.tracking.calendar_words import own_words
from bayou.inference.tracking.history import Alert, Trail
from bayou.inference.tracking.state import TrackerState, fixed_topics


def learn_slice(
    state: TrackerState | None,
    due: DueSlice,
    terms: Terms,
    trail: Trail,
    p: SimpleNamespace,
    seed: int,
    each: Each,
) -> tuple[TrackerState, list[Alert]] | None:
    """Find columns for the terms, learn, tell, and let go of terms that have died out.

    ``terms`` and ``trail`` follow. Gives the state and what is told, or None where no term has a column.
    """
    step = 0 if state is None else state.step
    given = (topic for topic in (p.fixed or {}).values() if isinstance(topic, Mapping))
    told = [term for topic in given for term in topic]
    n_new = terms.meet(due.corpus, step, p.min_docs, told, p.max_terms)
    if terms.named and not terms.names:
        return None
    counts = terms.counts(due.corpus)
    corpus = due.corpus if counts is due.corpus.counts else Corpus.from_matrix(counts)
    corpus.whole_counts()  # warns, or refuses what no tokens can be made of
    pairs = documents.pairs_of(corpus.counts)
    if state is None or not state.usual.any():
        fixed = fixed_topics(p.fixed or {}, terms.names, corpus.n_terms)
        done = _first(state, pairs, fixed, p, seed, each)
    else:
        done = slice.following(slots.grow_terms(state, n_new), pairs, p, seed, each)
    alerts = _record_slice(done, due, pairs, terms, trail, p)
    after, n_lost = _forget_terms(done.state, terms, p)
    trail.slices.n_new_terms[-1], trail.slices.n_lost_terms[-1] = n_new, n_lost
    return after, alerts


def _first(
    state: TrackerState | None,
    pairs: documents.Pairs,
    fixed: F32,
    p: SimpleNamespace,
    seed: int,
    each: Each,
) -> slice.SliceResult:
    """The first slice that has words, after ``state`` of others that had none."""
    alpha = resolve_alpha(p.alpha, p.n_topics + len(p.fixed or ()))
    before = 0 if state is None else state.step
    done = slice.first(pairs, alpha, fixed, p, seed, each, before)
    n_seen = pairs.n_docs + (0 if state is None else state.n_seen)
    return done._replace(state=done.state._replace(n_seen=n_seen))


def _record_slice(
    done: slice.SliceResult,
    due: DueSlice,
    pairs: documents.Pairs,
    terms: Terms,
    trail: Trail,
    p: SimpleNamespace,
) -> list[Alert]:
    """Keep what is to be known of the slice; gives its alerts."""
    at = done.state.step - 1
    known = None if terms.names is None else terms.names.terms

    def term(v: int) -> str:
        return f"x{v}" if known is None else known[v]

    def numbers(columns: Sequence[int]) -> list[int]:
        names = [f"x{v}" for v in columns] if known is None else [known[v] for v in columns]
        return trail.numbers(names)

    date = slice_name(due.start, due.end, parse_width(p.slice_by), at)
    own = own_words(due.start, due.end)
    here = alerting.SliceContext(at, date, pairs, due.corpus.ids or (), term, own)
    told = [
        alert._replace(before=trail.last_share(alert.topic)) if alert.kind == "revived" else alert
        for alert in alerting.alerts_of(done, here, at >= p.warm_up)
    ]
    courses = alerting.rows_of(done, at, numbers)
    trail.add(_row(done, due, pairs), courses, told)
    trail.reach(due.corpus.times)
    return told


def _row(done: slice.SliceResult, due: DueSlice, pairs: documents.Pairs) -> dict[str, Any]:
    """The entry of a slice in `history.Slices`; terms are counted later."""
    spoken = done.judged.surprise if done.judged is not None else np.full(1, np.nan)
    spoken = spoken[np.isfinite(spoken)]
    kept = len(done.before.ids) if done.judged is not None else len(done.seen.share)
    spare = [j for j in range(kept, len(done.seen.share)) if j not in done.born]
    return {
        "start": due.start, "end": due.end, "n_docs": pairs.n_docs, "n_tokens": pairs.n_tokens,
        "n_late": due.n_late, "n_new_terms": 0, "n_lost_terms": 0,
        "strength": done.before.strength, "burst": np.nan if done.judged is None else done.judged.burst,
        "unplaced": done.seen.share[spare].sum(),
        "surprise": spoken.mean() if len(spoken) else np.nan,
    }  # fmt: skip


def _forget_terms(
    state: TrackerState, terms: Terms, p: SimpleNamespace
) -> tuple[TrackerState, int]:
    """Without terms that were not met for too long, then the least frequent over the cap; how many."""
    unmet = state.step - 1 - state.last
    keep = terms.outlive(state.usual, unmet, p.forget_after, p.max_terms)
    if keep is None:
        return state, 0
    return slots.take_terms(state, keep), len(state.usual) - len(keep)
