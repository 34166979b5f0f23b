"""Topics that are born and die along a stream: spare columns for a mini-batch, and which of them stay.

A topic without tokens has an independent weight of variance sigma^2, so a precision gains 1 / sigma^2 on the
diagonal and zeros beside it. Its mean is that of an average topic: zbar sums to one, so the weights of every
topic hold the common level of the scores (most documents lack the label). A topic without that level would
attract the documents that lack the label. A topic that is dropped is integrated out: the covariance loses its
row and column. Dropping them from the precision instead would fix its weight at zero.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I64, U16
from bayou.inference.margin import growth
from bayou.inference.margin.batch import MarginBatch, TopicPosterior
from bayou.inference.margin.growth import LiveDocuments, TopicGrowth
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState

PRUNE_EVERY = 1024  # documents between two checks for small topics
N_COURSE = 100  # mini-batches whose number of topics is kept

Mask = NDArray[np.bool_]


def add_spare_topics(
    state: OnlineMarginState, p: OnlineMarginSettings, by: TopicGrowth
) -> OnlineMarginState:
    """The state with columns for topics to be born; ``raw`` stays as it is."""
    n_topics = len(state.topic)
    n = growth.columns(n_topics, by) - n_topics
    precision = np.pad(state.precision, ((0, 0), (0, n), (0, n)))
    at = np.arange(n_topics, n_topics + n)
    precision[:, at, at] = 1.0 / p.variance
    none = np.full(n, -1, np.int64)
    mean = np.pad(state.mean, ((0, 0), (0, n)))
    mean[:, n_topics:] = newborn_mean(state, by)[:, None]
    linear = np.pad(state.linear, ((0, 0), (0, n)))
    if len(linear):
        linear[:, n_topics:] = mean[:, n_topics:] / p.variance
    return state._replace(
        topic=np.pad(state.topic, (0, n)), mean=mean, linear=linear, precision=precision,
        tables=np.pad(state.tables, (0, n)), ids=np.concatenate([state.ids, none]),
    )  # fmt: skip


def newborn_mean(state: OnlineMarginState, by: TopicGrowth) -> F64:
    """Weights of an average topic: the common level of the scores; or zero, the mean of their prior."""
    if not by.level:
        return np.zeros(len(state.mean))
    stick = growth.expected_sticks(state.tables, by.gamma)
    return np.asarray(state.mean @ (stick / stick.sum()), np.float64)


def start_live(
    known: TopicPosterior, state: OnlineMarginState, batch: MarginBatch, z: U16, rho: F32, by: TopicGrowth
) -> LiveDocuments:  # fmt: skip
    """The tokens of the batch with their first topics, counted on top of the counts before it."""
    counts = (known.raw[batch.terms] * np.float32(known.scale)).astype(np.float32)
    roots = growth.open_roots(state.tables[: len(known.topic)], z, by)
    return growth.make_live(batch.tokens, batch.ids, rho, z, (counts, known.topic), roots)


def reset_new_topics(
    mean: F64, spread: F64, before: OnlineMarginState, n_topics: int, variance: float
) -> None:
    """While a batch is sampled, its new topics keep their prior weights: mu and sigma^2, independent."""
    mean[:, n_topics:] = before.mean[:, n_topics:]
    spread[:, n_topics:, :] = 0.0
    spread[:, :, n_topics:] = 0.0
    at = np.arange(n_topics, mean.shape[1])
    if len(spread):
        spread[:, at, at] = variance


def clear_new_topics(live: LiveDocuments | None, sums: tuple[F64, ...]) -> I64:
    """Set the sums of topics that were born in the last sweep to zero; gives their columns."""
    if live is None:
        return np.empty(0, np.int64)
    columns = np.flatnonzero(live.roots.born)
    _clear(sums, columns)
    live.roots.born[:] = False
    return columns


def clear_unused_topics(live: LiveDocuments | None, sums: tuple[F64, ...]) -> None:
    """Set the sums of topics that are no longer in use to zero."""
    if live is not None:
        _clear(sums, np.flatnonzero(~live.roots.in_use))
        live.roots.born[:] = False


def _clear(sums: tuple[F64, ...], columns: I64) -> None:
    for array in sums:
        array[..., columns] = 0.0


def drop_small_topics(
    state: OnlineMarginState, added: F64, n_docs: int, p: OnlineMarginSettings
) -> tuple[OnlineMarginState, F64]:
    """Topics with enough tokens stay; the others are integrated out.

    Of new topics those with a token stay. The full limit applies every `PRUNE_EVERY` documents only: a new
    topic has a few tokens of one batch, and one of the start may not have had its documents yet.
    """
    by = p.growth
    if by is None:
        return state, added
    n_old, mass = state.raw.shape[1], state.topic + added.sum(axis=0)
    due = state.n_seen // PRUNE_EVERY < (state.n_seen + n_docs) // PRUNE_EVERY
    keep = (state.tables > 0.0) & (mass >= min(by.least, 1.0))
    keep[:n_old] = mass[:n_old] >= by.least if due else True
    if due and not keep.any():
        keep[int(np.argmax(mass))] = True
    new = np.flatnonzero(keep & (state.ids < 0))
    ids = state.ids.copy()
    ids[new] = state.n_born + np.arange(len(new))
    raw = state.raw
    if len(new) or not keep[:n_old].all():
        raw = np.zeros((len(raw), int(keep.sum())), raw.dtype)
        stay = keep[:n_old]
        raw[:, : int(stay.sum())] = state.raw[:, stay]
    precision, linear = marginal(state.precision, state.linear, keep)
    gram, refitted = move_second_stage(state, keep, by)
    course = np.append(state.course, int(keep.sum()))[-N_COURSE:]
    state = state._replace(
        raw=raw, topic=state.topic[keep], precision=precision,
        mean=np.ascontiguousarray(state.mean[:, keep]),
        linear=linear, tables=state.tables[keep], ids=ids[keep], n_born=state.n_born + len(new),
        course=course, gram=gram, refitted=refitted,
    )  # fmt: skip
    return state, np.ascontiguousarray(added[:, keep])


def move_second_stage(state: OnlineMarginState, keep: Mask, by: TopicGrowth) -> tuple[F64, F64]:
    """Sums and weights of the second stage (`online_refit`) for the topics that stay.

    No document in the sums had a topic that is born now. The share of a dropped topic goes to the others by
    their sticks, so that rows of zbar still sum to one. Weights of labels are not sums: a new topic starts at
    the score of an average document, and the other weights stay.
    """
    n_old = state.gram.shape[1]
    if not len(state.bend) or (keep[:n_old].all() and not keep[n_old:].any()):
        return state.gram, state.refitted
    stick = growth.expected_sticks(state.tables[keep], by.gamma)
    moves = np.eye(len(keep))[keep][:, :n_old]  # topics that stay x topics there were
    moves[:, ~keep[:n_old]] = (stick / stick.sum())[:, None]
    gram = np.ascontiguousarray(moves @ state.gram @ moves.T)
    if state.moments.size:
        return gram, np.ascontiguousarray(state.refitted @ moves.T)
    topics = state.gram[0].sum(axis=0)
    level = state.refitted @ (topics / max(float(topics.sum()), 1e-300))
    new = np.repeat(level[:, None], int(keep[n_old:].sum()), axis=1)
    return gram, np.concatenate([state.refitted[:, keep[:n_old]], new], axis=1)


def marginal(precision: F64, linear: F64, keep: Mask) -> tuple[F64, F64]:
    """Precisions and P mu of some of the weights, the others integrated out.

    The marginal of N(P^-1 b, P^-1) has precision P_cc - P_cr P_rr^-1 P_rc, and b_c - P_cr P_rr^-1 b_r.
    """
    if keep.all() or not len(precision):
        same = precision[:, keep][:, :, keep]
        return np.ascontiguousarray(same), np.ascontiguousarray(linear[:, keep])
    rest = ~keep
    cross = precision[:, keep][:, :, rest]
    lifted = np.linalg.solve(precision[:, rest][:, :, rest], cross.transpose(0, 2, 1))
    inner = precision[:, keep][:, :, keep] - cross @ lifted
    inner = 0.5 * (inner + inner.transpose(0, 2, 1))
    shared = np.broadcast_to(lifted, (len(linear), *lifted.shape[1:]))
    left = linear[:, keep] - np.einsum("irk,ir->ik", shared, linear[:, rest])
    return np.ascontiguousarray(inner), np.ascontiguousarray(left)
