"""The memory of topics: how strong it is, how it moves, and what it makes of a slice's counts."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from bayou.inference.lda.arrays import F32, F64, topic_totals
from bayou.inference.tracking.prior import SliceDocuments
from bayou.kernels.tracking import slices

_LEAST_S, _MOST_S = 1e-2, 1e8  # pseudo-tokens that evidence is looked for between


def all_rows(
    found: F32, here: SliceDocuments, memory: F32, strength: F64, beta: float, gain: F64
) -> F32:
    """phi_vk = (n_vk + beta + S_k m_vk) / (n_k + V beta + S_k) of all terms; m_k where a topic is fixed."""
    floor = beta * gain
    pull = np.where(gain > 0, strength, 1.0)
    mass = topic_totals(found) * gain + len(memory) * floor + pull * topic_totals(memory)
    inverse = 1.0 / np.maximum(mass, 1e-30)
    return _mix_rows(memory, pull * inverse, floor * inverse, found, here, gain * inverse)


def _mix_rows(
    memory: F32, keep: F64, floor: F64, found: F32, here: SliceDocuments, add: F64
) -> F32:
    """keep_k m_vk + floor_k + add_k n_vk of all terms; ``found`` has those of the slice."""
    out, single = np.empty_like(memory), (part.astype(np.float32) for part in (keep, floor, add))
    keep_, floor_, add_ = single
    slices.mix_into(out, memory, keep_, floor_, found, here.place, add_)
    return out


def weighted_strength(n_tokens: float, n_topics: int, weight: float) -> float:
    """S = N_k w / (1 - w) at the average topic of the slice: memory then weighs w in it."""
    return max(n_tokens / n_topics, 1.0) * weight / (1.0 - weight)


def evidence(counts: F32, memory: F32, beta: float, strength: float) -> float:
    """sum_k ln p(n_k | beta + S m_k), Dirichlet-multinomial."""
    at, topic = np.nonzero(counts > 0)
    n = counts[at, topic].astype(np.float64)
    a = beta + strength * memory[at, topic].astype(np.float64)
    mass = len(memory) * beta + strength * memory.sum(axis=0, dtype=np.float64)
    totals = counts.sum(axis=0, dtype=np.float64)
    out = (gammaln(mass) - gammaln(mass + totals)).sum() + (gammaln(a + n) - gammaln(a)).sum()
    return float(out)


def estimate_strength(counts: F32, memory: F32, beta: float) -> float:
    """The S under which the counts of all topics are most probable given their memories."""
    found = minimize_scalar(
        lambda s: -evidence(counts, memory, beta, math.exp(s)),
        bounds=(math.log(_LEAST_S), math.log(_MOST_S)),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(math.exp(found.x))


def blend(memory: F32, found: F32, here: SliceDocuments, strength: float, rho: F64) -> F32:
    """m <- (1 - rho_k) m_k + rho_k (n_k + S m_k) / (N_k + S); columns sum to one.

    Where both are nothing a topic stays as it is.
    """
    tokens = topic_totals(found)
    mass = tokens + strength
    share = np.where(mass > 0, rho / np.maximum(mass, 1e-30), 0.0)
    keep = np.where(mass > 0, 1.0 - rho + share * strength, 1.0)
    whole = np.maximum(keep * topic_totals(memory) + share * tokens, 1e-30)
    return _mix_rows(memory, keep / whole, np.zeros(len(keep)), found, here, share / whole)
