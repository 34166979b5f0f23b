"""Distances between mixtures of multinomials: moments, matched topics, and regret.

A mixture is given by its weights (topics,) and its topics (topics, terms). Moments are compared through
inner products of topics, so nothing of size terms x terms is allocated: with
f(a, b) = sum_ij w_i w_j (u_i . u_j)^n, ||M_n(a) - M_n(b)||^2 = f(a, a) - 2 f(a, b) + f(b, b).

[Yu18] Yu, Kveton, Wen, Bui, Mengshoel. SpectralLeader: online spectral learning for single topic models.
ECML PKDD 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

Mixture = tuple[ArrayLike, ArrayLike]  # weights, topics


def _pair(model: Mixture) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    weights, topics = (np.asarray(part, np.float64) for part in model)
    if topics.ndim != 2 or weights.shape != topics.shape[:1]:
        raise ValueError(
            f"a mixture must be (weights, topics) with one weight per row of the topics; got shapes "
            f"{weights.shape} and {topics.shape}"
        )
    return weights, topics


def _product(a: Mixture, b: Mixture, order: int) -> float:
    (w, u), (x, v) = _pair(a), _pair(b)
    if u.shape[1] != v.shape[1]:
        raise ValueError(f"the topics have {u.shape[1]} and {v.shape[1]} terms; they must agree")
    return float(w @ (u @ v.T) ** order @ x)


def recovery_error(
    truth: Mixture, found: Mixture, *, order: int = 2, squared: bool = True
) -> float:
    """||M(truth) - M(found)||_F^2 of the moments of ``order`` tokens; order 2 is the measure of [Yu18].

    An error of 0 at order 2 does not mean that the topics are recovered: the second moment determines them
    only up to a rotation. Order 3, or `matched_l1`, does detect wrong topics.

    Parameters
    ----------
    truth, found : (weights, topics)
        Weights (topics,) and topics (topics, terms).
    order : int
        Number of tokens of the moment.
    squared : bool
        Whether the norm is squared.

    Examples
    --------
    >>> a = ([0.5, 0.5], [[1.0, 0.0], [0.0, 1.0]])
    >>> recovery_error(a, a), round(recovery_error(a, ([1.0], [[0.5, 0.5]])), 3)
    (0.0, 0.25)
    """
    if order < 1:
        raise ValueError(f"order must be at least 1; got {order}")
    value = _product(truth, truth, order) - 2.0 * _product(truth, found, order)
    value = max(value + _product(found, found, order), 0.0)
    return value if squared else float(np.sqrt(value))


def matched_l1(truth: ArrayLike, found: ArrayLike) -> float:
    """Mean L1 distance between topics in the best one-to-one matching, from 0 to 2.

    Examples
    --------
    >>> matched_l1([[1.0, 0.0], [0.0, 1.0]], [[0.25, 0.75], [1.0, 0.0]])
    0.25
    """
    a, b = np.asarray(truth, np.float64), np.asarray(found, np.float64)
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1]:
        raise ValueError(f"topics must be matrices over the same terms; got {a.shape}, {b.shape}")
    cost = np.array([[np.abs(x - y).sum() for y in b] for x in a])
    return float(cost[linear_sum_assignment(cost)].mean())


def moment_regret(
    truths: Sequence[Mixture], which: ArrayLike, answers: Sequence[Mixture], *, order: int = 3
) -> NDArray[np.float64]:
    """Regret of following the leader after each step, in fixed coordinates [Yu18].

    The loss of an answer after t steps is t ||T_t - T(answer)||^2, with T_t the mean of the true moments so
    far. Step t adds the increase of this loss for the answer given before t. The regret is the sum of these
    increases minus the loss of the last answer.

    Parameters
    ----------
    truths : sequence of (weights, topics)
        The models from which the stream is drawn.
    which : array of int (steps,)
        The model of each step.
    answers : sequence of (weights, topics), one more than steps
        The answers before each step, and after the last.
    order : int
        Number of tokens of the moment; 3 in the paper.

    Returns
    -------
    float64 array (steps,)
    """
    at = np.asarray(which, np.int64)
    if len(answers) != len(at) + 1:
        raise ValueError(
            f"there must be one answer more than steps; got {len(answers)} and {len(at)}"
        )
    seen = np.cumsum(np.eye(len(truths))[at], axis=0)  # number of steps of each model so far
    gram = np.array([[_product(a, b, order) for b in truths] for a in truths])

    def losses(answer: Mixture) -> NDArray[np.float64]:
        """t ||T_t - T||^2 for all t."""
        cross = np.array([_product(truth, answer, order) for truth in truths])
        t = np.arange(1, len(at) + 1)
        mean = np.einsum("ti,ij,tj->t", seen, gram, seen) / t
        whole = mean - 2.0 * (seen @ cross) + t * _product(answer, answer, order)
        return np.asarray(whole, np.float64)

    added = np.empty(len(at))
    for t in range(len(at)):
        both = losses(answers[t])
        added[t] = both[t] - (both[t - 1] if t else 0.0)
    return np.asarray(np.cumsum(added) - losses(answers[-1]), np.float64)
