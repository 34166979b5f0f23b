"""Births, splits, mergers, dormancy and deaths of topics. Every id is given once.

Every slice has spare topics with a flat prior. A spare topic becomes a topic if it holds enough tokens that
known topics do not explain. A dormant topic keeps its column and its memory, so that it can be recognised. A
dead topic loses its column; its memory stays in the archive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.tracking import state as slots
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.state import TrackerState

LEAST_SHARE = 1e-4  # the log-odds of 0 are not defined
DORMANT, REVIVED = 0.15, 0.4  # fractions of its usual share: dormant below, revived above
SAME = 0.25  # Hellinger distance of two topics that are one, if it is so in two slices in a row
KNOWN = 0.6  # Hellinger distance below which a new topic is one of the archive
TAKEN = 0.15  # decrease of the distance to a topic that another topic has absorbed
KIN = 0.7  # Hellinger distance below which a new topic has split from its nearest topic
BIRTH = 0.5  # of an average topic's share: the least share of a spare topic that becomes a topic


class Event(NamedTuple):
    """One entry of the lineage."""

    kind: str
    id: int
    column: int  # of the topic in the counts of the slice
    before: float  # usual share
    after: float
    other: int  # id of parent or heir, -1
    evidence: float  # Hellinger distance that decided; NaN if a share decided


class TopicMeasures(NamedTuple):
    """Counts and shares of every topic in a slice: the K topics of the state, then spare topics."""

    counts: F32  # n_vk, terms of the slice x (K + spares)
    terms: I64  # columns of these terms in the model
    n_terms: int  # of the model
    tokens: F64  # n_k
    share: F64
    low: F64
    high: F64

    def of(self, topics: int | I64) -> F32:
        """n_vk of one or several topics, over all terms of the model."""
        rows = self.counts[:, topics]
        out = np.zeros((self.n_terms, *rows.shape[1:]), np.float32)
        out[self.terms] = rows
        return out


def hellinger(one: F32, many: F32) -> F64:
    """Hellinger distances of counts to the columns of a matrix, all normalised."""
    mass = one.sum(dtype=np.float64) * many.sum(axis=0, dtype=np.float64)
    affinity = (np.sqrt(one) @ np.sqrt(many)) / np.sqrt(np.maximum(mass, 1e-300))
    return np.asarray(np.sqrt(np.maximum(1.0 - affinity, 0.0)), np.float64)


def usual_share(logit: F64) -> F64:
    """The share of given log-odds."""
    return np.asarray(1.0 / (1.0 + np.exp(-logit)), np.float64)


def is_dormant(usual: F64, share: F64, high: F64) -> NDArray[np.bool_]:
    """Whether topics have almost nothing of their usual shares."""
    return np.asarray((share < DORMANT * usual) & (high < 2 * DORMANT * usual))


def update_topics(
    before: TrackerState, after: TrackerState, seen: TopicMeasures, p: TrackerSettings
) -> tuple[TrackerState, list[Event], dict[int, int]]:
    """The state with topics added and dropped, the events, and the ids of spare topics that are kept."""
    silent, events, dead = find_dormant(before, seen, p.dead_after, p.min_tokens)
    if len(dead) == len(before.ids):  # one topic must stay
        last = max(dead, key=lambda k: before.logit[k])
        dead = [k for k in dead if k != last]
        events = [e for e in events if e.column != last]
    events, absorbed = find_absorptions(before, seen, events, p.min_tokens)
    near, mergers, merged = find_mergers(before, seen, p.min_tokens)
    for k in dead:
        after = slots.archive_topic(after, k)
    dormant = silent > 0  # usual shares are shares of topics that are not dormant
    after = after._replace(
        silent=silent, near=near, logit=np.where(dormant, before.logit, after.logit),
        logit_doubt=np.where(dormant, before.logit_doubt, after.logit_doubt),
    )  # fmt: skip
    events += [e for e in mergers if e.column not in (*dead, *absorbed)]
    gone = {*dead, *absorbed, *merged}
    keep = np.array([k for k in range(len(before.ids)) if k not in gone], np.int64)
    if len(keep) < len(before.ids):
        after = slots.take_topics(after, keep)
    born = {}
    n_free = max(len(before.ids) - before.n_fixed, 1)  # all free topics may have died
    for j in range(len(before.ids), len(seen.share)):
        if seen.tokens[j] >= p.min_tokens and seen.low[j] >= BIRTH / n_free:
            after, event = _add_spare_topic(after, seen, j, p)
            events.append(event)
            born[j] = event.id
    return after, events, born


def _add_spare_topic(
    state: TrackerState, seen: TopicMeasures, j: int, p: TrackerSettings
) -> tuple[TrackerState, Event]:
    """The state with a spare topic as a topic: a new one, or one of the archive."""
    counts, total = seen.of(j), float(seen.tokens[j])
    kind, at, gap = origin(state, counts)
    share = float(seen.share[j])
    parent, before, id_ = -1, 0.0, state.n_ids
    if kind == "revived":
        id_ = int(state.archive_ids[at])
        before = float(usual_share(state.archive_logit[at]))
        state = slots.drop_archive_entry(state, at)
    elif kind == "split":
        parent = int(state.ids[at])
    logit = float(np.log(max(share, LEAST_SHARE) / max(1.0 - share, LEAST_SHARE)))
    rows = (counts + state.beta) / (total + len(counts) * state.beta)
    memory = (
        slots.normalise_columns(counts) if p.scale == "strength" else counts * np.float32(p.rho)
    )
    state = slots.add_topic(
        state, memory=memory, rows=rows, ids=id_, doubt=1.0 / max(total, 1.0),
        tokens=total, logit=logit, logit_doubt=0.25, alpha=state.alpha.mean(),
    )  # fmt: skip
    state = state._replace(n_ids=max(state.n_ids, id_ + 1))
    return state, Event(kind, id_, j, before, share, parent, gap)


def find_dormant(
    state: TrackerState, seen: TopicMeasures, dead_after: int | None, min_tokens: float
) -> tuple[I64, list[Event], list[int]]:
    """Topics that become dormant, are revived or die: slices of dormancy, events, columns of dead topics.

    A topic is tested only in slices in which it would usually have ``min_tokens``.
    """
    events, dead, silent = [], [], state.silent.copy()
    usual, n_tokens, n = usual_share(state.logit), seen.tokens.sum(), len(state.ids)
    faint = is_dormant(usual, seen.share[:n], seen.high[:n])
    for k in range(state.n_fixed, len(state.ids)):
        before, now = float(usual[k]), float(seen.share[k])
        about = (int(state.ids[k]), k, before, now, -1, np.nan)
        if before * n_tokens < min_tokens:
            continue
        if silent[k] == 0 and faint[k]:
            silent[k] = 1
            events.append(Event("dormant", *about))
        elif silent[k] > 0 and now > REVIVED * before:
            silent[k] = 0
            events.append(Event("revived", *about))
        elif silent[k] > 0:
            silent[k] += 1
            if dead_after is not None and silent[k] > dead_after:
                events.append(Event("dead", *about))
                dead.append(k)
    return silent, events, dead


def find_absorptions(
    state: TrackerState, seen: TopicMeasures, events: list[Event], min_tokens: float
) -> tuple[list[Event], list[int]]:
    """The events, in which absorbed topics are merged instead of dormant, and columns of absorbed topics.

    The words of a dormant topic are absent. If another topic of the slice equals its memory, or has come as
    near to it as a known topic and was well apart before, that topic has absorbed it.
    """
    if not any(event.kind == "dormant" for event in events):
        return events, []
    memory, out, absorbed = state.memory, [], []
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
                absorbed.append(k)
                continue
        out.append(event)
    return out, absorbed


def find_mergers(
    state: TrackerState, seen: TopicMeasures, min_tokens: float
) -> tuple[I64, list[Event], list[int]]:
    """Topics that are equal in two slices in a row: the nearest id of each, events, columns of smaller ones.

    The larger topic keeps its id.
    """
    totals = seen.tokens[: len(state.ids)]
    large = np.flatnonzero((totals >= min_tokens) & (np.arange(len(totals)) >= state.n_fixed))
    usual = usual_share(state.logit)
    roots = np.sqrt(
        seen.counts[:, large] * (1.0 / np.maximum(totals[large], 1e-30)).astype(np.float32)
    )
    gaps = np.sqrt(np.maximum(1.0 - roots.T @ roots, 0.0))
    np.fill_diagonal(gaps, 1.0)
    near, events, merged = np.full(len(state.ids), -1, np.int64), [], []
    for i, gap in zip(large, gaps, strict=True):
        if gap.min() >= SAME:
            continue
        j = large[gap.argmin()]
        near[i] = state.ids[j]
        smaller = (seen.share[i], -i) < (seen.share[j], -j)
        if state.near[i] == state.ids[j] and smaller and j not in merged:
            merged.append(int(i))
            shares = float(usual[i]), float(seen.share[i])
            heir = int(state.ids[j])
            events.append(
                Event("merged", int(state.ids[i]), int(i), *shares, heir, float(gap.min()))
            )
    return near, events, merged


def origin(state: TrackerState, now: F32) -> tuple[str, int, float]:
    """Whether a new topic is revived, split or born; its archive entry or parent column; the distance."""
    if state.archive.shape[1]:
        gap = hellinger(now, state.archive)
        if gap.min() < KNOWN:
            return "revived", int(gap.argmin()), float(gap.min())
    gap = hellinger(now, state.memory)
    return ("split" if gap.min() < KIN else "born"), int(gap.argmin()), float(gap.min())
