"""Dirichlet parameters learned from counts by fixed-point iteration [Minka00].

[Minka00] Minka. Estimating a Dirichlet distribution. Technical report, MIT, 2000, eq. 55.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import digamma

from bayou.data.checks import LEAST, MOST

_LEAST, _MOST = 1e-4, 1e3  # the prior of a topic that no document uses would go to zero


def resolve_alpha(alpha: float | ArrayLike | None, n_topics: int) -> NDArray[np.float64]:
    """The document prior, one positive number per topic. Default: min(0.1, 50 / K)."""
    try:
        given = np.asarray(min(0.1, 50.0 / n_topics) if alpha is None else alpha, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"alpha must be a number, or one for each topic; got {alpha!r}") from None
    if given.ndim > 1 or (given.ndim == 1 and len(given) != n_topics):
        raise ValueError(
            f"alpha must be one number or one for each of {n_topics} topics; got shape {given.shape}"
        )
    out = np.ascontiguousarray(np.broadcast_to(given, (n_topics,)))
    if not ((out >= LEAST) & (out <= MOST)).all():
        raise ValueError(f"alpha must be positive, from {LEAST:g} to {MOST:g}; got {alpha!r}")
    return out.copy()


def estimate_alpha(
    alpha: NDArray[np.float64], doc_topic: NDArray[np.float32], *, n_iter: int = 5
) -> NDArray[np.float64]:
    """Asymmetric alpha after a few steps of Minka's fixed point on documents x topics counts.

    alpha_k <- alpha_k sum_d [psi(n_dk + alpha_k) - psi(alpha_k)] / sum_d [psi(N_d + A) - psi(A)], with a
    Gamma(1, 1) prior on each alpha_k, which adds 1 to the denominator. The bounds 0.0001 and 1000 keep
    alpha_k of an unused topic from going to zero.
    """
    counts = doc_topic.astype(np.float64)
    lengths = counts.sum(axis=1)
    used = lengths > 0
    counts, lengths = counts[used], lengths[used]
    if not len(counts):
        return alpha
    for _ in range(n_iter):
        total = alpha.sum()
        rise = (digamma(counts + alpha) - digamma(alpha)).sum(axis=0)
        fall = float((digamma(lengths + total) - digamma(total)).sum())
        alpha = np.clip(alpha * rise / (fall + 1.0), _LEAST, _MOST)
    return alpha


def estimate_beta(beta: float, term_topic: NDArray[np.float32], *, n_iter: int = 5) -> float:
    """Symmetric beta after a few steps of that fixed point, prior and bounds, on terms x topics counts.

    Most counts are zero and contribute nothing, so only the others are used.
    """
    n_terms = len(term_topic)
    totals = term_topic.sum(axis=0, dtype=np.float64)
    counts = term_topic[term_topic > 1e-6].astype(np.float64)
    if not len(counts):
        return beta
    for _ in range(n_iter):
        rise = float((digamma(counts + beta) - digamma(beta)).sum())
        fall = n_terms * float((digamma(totals + n_terms * beta) - digamma(n_terms * beta)).sum())
        beta = clip_parameter(beta * rise / (fall + 1.0))
    return beta


def clip_parameter(value: float) -> float:
    """A parameter within bounds."""
    return min(max(value, _LEAST), _MOST)
