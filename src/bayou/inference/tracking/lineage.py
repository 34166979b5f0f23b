"""Topics that are born, split, merge, fall asleep, wake up and die; every id is given once.

A spare topic that knows nothing takes part in every slice. Where it holds enough tokens that the known topics
do not explain, it becomes a topic. One that is asleep keeps its column and its memory, so that it is found
again; one that is dead leaves its column and waits in the archive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.tracking.state import TrackerState

ASLEEP, AWAKE = (
    0.15,
    0.4,
)  # shares of its usual share under which a topic is dormant, over which revived
SAME = 0.25  # Hellinger distance under which two topics of a slice are one, in two slices in a row
KNOWN = 0.6  # Hellinger distance under which a new topic is one that was there before
TAKEN = 0.15  # how much nearer another topic has come to one that it has taken over
KIN = 0.7  # Hellinger distance under which a new topic has split from its nearest


class Event(NamedTuple):
    """One entry of the lineage."""

    kind: str
    id: int
    column: int  # where the slice has counted the topic
    before: float  # usual share
    after: float
    other: int  # id of parent or heir, -1
    evidence: float  # Hellinger distance that decided, NaN where a share did


class TopicMeasures(NamedTuple):
    """What a slice says about every topic: the K of the state, then spares."""

    counts: F32  # n_vk, terms of the slice x (K + spares)
    terms: I64  # their columns in the model
    n_terms: int  # of the model
    tokens: F64  # n_k
    share: F64
    low: F64
    high: F64

    def of(self, topics: int | I64) -> F32:
        """n_vk of one topic or of several over all terms of the model."""
        rows = self.counts[:, topics]
        out = np.zeros((self.n_terms, *rows.shape[1:]), np.float32)
        out[self.terms] = rows
        return out


def hellinger(one: F32, many: F32) -> F64:
    """Distances of counts, as a distribution, to the columns of a matrix, as distributions."""
    mass = one.sum(dtype=np.float64) * many.sum(axis=0, dtype=np.float64)
    affinity = (np.sqrt(one) @ np.sqrt(many)) / np.sqrt(np.maximum(mass, 1e-300))
    return np.asarray(np.sqrt(np.maximum(1.0 - affinity, 0.0)), np.float64)


def usual_share(logit: F64) -> F64:
    """The share whose log-odds these are."""
    return np.asarray(1.0 / (1.0 + np.exp(-logit)), np.float64)


def asleep(usual: F64, share: F64, high: F64) -> NDArray[np.bool_]:
    """Topics that have next to nothing of their usual shares."""
    return np.asarray((share < ASLEEP * usual) & (high < 2 * ASLEEP * usual))


def sleepers(
    state: TrackerState, seen: TopicMeasures, dead_after: int | None, min_tokens: float
) -> tuple[I64, list[Event], list[int]]:
    """Topics that fall asleep, wake up or die: how long each has slept, events, columns to give up.

    Only a slice in which a topic would usually have ``min_tokens`` can say that it sleeps.
    """
    events, gone, silent = [], [], state.silent.copy()
    usual, n_tokens, n = usual_share(state.logit), seen.tokens.sum(), len(state.ids)
    faint = asleep(usual, seen.share[:n], seen.high[:n])
    for k in range(state.n_fixed, len(state.ids)):
        before, now = float(usual[k]), float(seen.share[k])
        about = (int(state.ids[k]), k, before, now, -1, np.nan)
        if before * n_tokens < min_tokens:
            continue
        if silent[k] == 0 and faint[k]:
            silent[k] = 1
            events.append(Event("dormant", *about))
        elif silent[k] > 0 and now > AWAKE * before:
            silent[k] = 0
            events.append(Event("revived", *about))
        elif silent[k] > 0:
            silent[k] += 1
            if dead_after is not None and silent[k] > dead_after:
                events.append(Event("dead", *about))
                gone.append(k)
    return silent, events, gone


def find_absorptions(
    state: TrackerState, seen: TopicMeasures, events: list[Event], min_tokens: float
) -> tuple[list[Event], list[int]]:
    """Events in which topics whose words another one has taken over are merged into it; their columns.

    A topic that falls asleep has its words nowhere. Where another topic of the slice is the same as its
    memory, or has come as near to it as something known and was well apart before, they live on there.
    """
    if not any(event.kind == "dormant" for event in events):
        return events, []
    memory, out, gone = state.memory, [], []
    totals = seen.tokens[: len(state.ids)]
    heirs = np.flatnonzero((totals >= min_tokens) & (np.arange(len(totals)) >= state.n_fixed))
    now = seen.of(heirs)
    for event in events:
        k = event.column
        others = np.flatnonzero(heirs != k)
        if event.kind == "dormant" and len(others):
            gap = hellinger(memory[:, k], now[:, others])
            j = int(gap.argmin())
            before = hellinger(memory[:, k], memory[:, heirs[others[j]]][:, None])[0]
            if gap[j] < SAME or (gap[j] < KNOWN and before - gap[j] > TAKEN):
                heir = int(state.ids[heirs[others[j]]])
                out.append(event._replace(kind="merged", other=heir, evidence=float(gap[j])))
                gone.append(k)
                continue
        out.append(event)
    return out, gone


def mergers(
    state: TrackerState, seen: TopicMeasures, min_tokens: float
) -> tuple[I64, list[Event], list[int]]:
    """Topics equal in two slices in a row, the larger keeping its id: whom each is near, events, columns."""
    totals = seen.tokens[: len(state.ids)]
    large = np.flatnonzero((totals >= min_tokens) & (np.arange(len(totals)) >= state.n_fixed))
    usual = usual_share(state.logit)
    roots = np.sqrt(
        seen.counts[:, large] * (1.0 / np.maximum(totals[large], 1e-30)).astype(np.float32)
    )
    gaps = np.sqrt(np.maximum(1.0 - roots.T @ roots, 0.0))
    np.fill_diagonal(gaps, 1.0)
    near, events, gone = np.full(len(state.ids), -1, np.int64), [], []
    for i, gap in zip(large, gaps, strict=True):
        if gap.min() >= SAME:
            continue
        j = large[gap.argmin()]
        near[i] = state.ids[j]
        smaller = (seen.share[i], -i) < (seen.share[j], -j)
        if state.near[i] == state.ids[j] and smaller and j not in gone:
            gone.append(int(i))
            shares = float(usual[i]), float(seen.share[i])
            heir = int(state.ids[j])
            events.append(
                Event("merged", int(state.ids[i]), int(i), *shares, heir, float(gap.min()))
            )
    return near, events, gone


def origin(state: TrackerState, now: F32) -> tuple[str, int, float]:
    """What a new topic is: revived (which of the archive), split (from which column) or born; distance."""
    if state.archive.shape[1]:
        gap = hellinger(now, state.archive)
        if gap.min() < KNOWN:
            return "revived", int(gap.argmin()), float(gap.min())
    gap = hellinger(now, state.memory)
    return ("split" if gap.min() < KIN else "born"), int(gap.argmin()), float(gap.min())
