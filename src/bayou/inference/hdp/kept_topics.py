"""Sums over the kept sweeps of a chain. They belong to topics, which may move to other slots or die."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.hdp import franchise
from bayou.inference.hdp.franchise import FranchiseCounts, FranchisePrior
from bayou.inference.lda.arrays import F32, F64, I64

ANSWER = ("answer", "answer_mass", "answer_ids", "answer_both")  # fields of a state


class KeptTopics(NamedTuple):
    """Sums of the topic that now lives in each slot, over the kept sweeps in which it lived."""

    counts: F32  # n_vk
    mass: F64  # alpha E[g_k]
    times: I64  # number of these sweeps
    n_kept: int  # number of kept sweeps


class MeanTopics(NamedTuple):
    """Topics averaged over kept sweeps, the most used first."""

    counts: F32  # n_vk
    mass: F64  # alpha E[g_k]
    ids: I64
    both: F64  # alpha and gamma at the end


def no_answer(n_terms: int) -> dict[str, Any]:
    """`answer_fields` before the end of the first chain."""
    counts, ids = np.zeros((n_terms, 0), np.float32), np.zeros(0, np.int64)
    return answer_fields(MeanTopics(counts, np.zeros(0), ids, np.zeros(2)))


def answer_fields(found: MeanTopics) -> dict[str, Any]:
    """The result of a chain by the names that a state has for it."""
    return dict(zip(ANSWER, found, strict=True))


def none(n_terms: int) -> KeptTopics:
    """No sweep is kept; there are slots from the first one on."""
    counts = np.zeros((n_terms, 0), np.float32)
    return KeptTopics(counts, np.zeros(0), np.zeros(0, np.int64), 0)


def fields_of(kept: KeptTopics) -> dict[str, Any]:
    """The sums by the names that a state has for them."""
    counts, mass, times, n_kept = kept
    return {"kept": counts, "kept_mass": mass, "times": times, "n_kept": n_kept}


def sums_of(state: Any) -> KeptTopics:
    """The inverse of `fields_of`."""
    return KeptTopics(state.kept, state.kept_mass, state.times, state.n_kept)


def follow_topics(kept: KeptTopics, before: I64, old: I64, ids: I64) -> KeptTopics:
    """The sums after a sweep: moved to the new slots, zero if another topic lives there now.

    ``before`` and ``ids`` are the ids of the slots before and after the sweep, ``old`` the old slot of each.
    """
    if not kept.n_kept:
        return kept
    other = franchise.move_slots(before, old, -1) != ids
    if not np.array_equal(old, np.arange(len(before))):
        moved = [franchise.move_slots(array, old) for array in kept[:3]]
        kept = KeptTopics(np.ascontiguousarray(moved[0]), moved[1], moved[2], kept.n_kept)
    if other.any():
        kept.counts[:, other] = 0.0
        kept.mass[other] = 0.0
        kept.times[other] = 0
    return kept


def keep_sweep(kept: KeptTopics, counts: FranchiseCounts, prior: FranchisePrior) -> KeptTopics:
    """Add one sweep, in place."""
    if not kept.n_kept:
        n_slots = len(counts.topic)
        zeros = np.zeros(counts.term_topic.shape, np.float32)
        kept = KeptTopics(zeros, np.zeros(n_slots), np.zeros(n_slots, np.int64), 0)
    kept.counts[...] += counts.term_topic
    kept.mass[...] += franchise.mass_of(counts, prior)
    kept.times[...] += counts.topic > 0
    return kept._replace(n_kept=kept.n_kept + 1)


def average(kept: KeptTopics, now: FranchiseCounts, prior: FranchisePrior) -> MeanTopics:
    """The topics of a chain, each averaged over the kept sweeps in which it lived."""
    live = np.flatnonzero(now.topic > 0)
    mass, ids = franchise.mass_of(now, prior)[live], now.ids[live]
    counts = now.term_topic[:, live]
    if kept.n_kept:
        times = kept.times[live]
        mean = kept.counts[:, live]
        mean /= np.maximum(times, 1).astype(np.float32)
        fresh = times == 0  # born after the last kept sweep
        mean[:, fresh] = counts[:, fresh]
        counts, mass = mean, np.where(fresh, mass, kept.mass[live] / kept.n_kept)
    both = np.array([prior.alpha, prior.gamma])
    if len(live) == 0:  # without any token: one topic, the prior
        none_used = np.zeros((len(now.term_topic), 1), np.float32)
        return MeanTopics(none_used, np.full(1, prior.alpha), np.zeros(1, np.int64), both)
    order = np.argsort(-counts.sum(axis=0, dtype=np.float64), kind="stable")
    return MeanTopics(np.ascontiguousarray(counts[:, order]), mass[order], ids[order], both)
