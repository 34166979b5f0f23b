"""The memory of topics: its strength, its update, and topics from counts and memory."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from bayou.inference.lda.arrays import F32, F64, topic_totals
from bayou.inference.tracking.prior import SliceDocuments
from bayou.kernels.tracking import slices

_LEAST_S, _MOST_S = 1e-2, 1e8  # bounds of the search for the strength, in pseudo-tokens


def all_rows(
    found: F32, here: SliceDocuments, memory: F32, strength: F64, beta: float, gain: F64
) -> F32:
    """phi_vk = (n_vk + beta + S_k m_vk) / (n_k + V beta + S_k) of all terms; m_k if a topic is fixed."""
    flat = beta * gain
    pull = np.where(gain > 0, strength, 1.0)
    mass = topic_totals(found) * gain + len(memory) * flat + pull * topic_totals(memory)
    inverse = 1.0 / np.maximum(mass, 1e-30)
    return _mix_rows(memory, pull * inverse, flat * inverse, found, here, gain * inverse)


def _mix_rows(memory: F32, keep: F64, flat: F64, found: F32, here: SliceDocuments, add: F64) -> F32:
    """keep_k m_vk + flat_k + add_k n_vk of all terms; ``found`` has the terms of the slice."""
    out, single = np.empty_like(memory), (part.astype(np.float32) for part in (keep, flat, add))
    keep_, flat_, add_ = single
    slices.mix_into(out, memory, keep_, flat_, found, here.place, add_)
    return out


def strength_of_weight(n_tokens: float, n_topics: int, weight: float) -> float:
    """S = N_k w / (1 - w) for the average topic of the slice, in which the memory then has the weight w."""
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
    """The strength S that maximises the evidence of the counts of all topics, given their memories."""
    found = minimize_scalar(
        lambda s: -evidence(counts, memory, beta, math.exp(s)),
        bounds=(math.log(_LEAST_S), math.log(_MOST_S)),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(math.exp(found.x))


def blend(memory: F32, found: F32, here: SliceDocuments, strength: float, rho: F64) -> F32:
    """m <- (1 - rho_k) m_k + rho_k (n_k + S m_k) / (N_k + S); columns sum to one.

    If N_k + S is 0 a topic stays as it is.
    """
    tokens = topic_totals(found)
    mass = tokens + strength
    share = np.where(mass > 0, rho / np.maximum(mass, 1e-30), 0.0)
    keep = np.where(mass > 0, 1.0 - rho + share * strength, 1.0)
    whole = np.maximum(keep * topic_totals(memory) + share * tokens, 1e-30)
    return _mix_rows(memory, keep / whole, np.zeros(len(keep)), found, here, share / whole)
