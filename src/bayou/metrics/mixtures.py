"""Distances between mixtures of multinomials: moments, matched topics, and regret.

A mixture is given by its weights (topics,) and its topics (topics, terms). Moments are compared through
inner products of topics, so nothing of size terms x terms is allocated: with
f(a, b) = sum_ij w_i w_j (u_i . u_j)^n, ||M_n(a) - M_n(b)||^2 = f(a, a) - 2 f(a, b) + f(b, b).

[Yu18] Yu, Kveton, Wen, Bui, Mengshoel. SpectralLeader: online spectral learning for single topic models.
ECML PKDD 2018.
[Kolda11] Kolda, Mayo. Shifted power method for computing tensor eigenpairs. SIAM Journal on Matrix Analysis
and Applications 32, 2011.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

Mixture = tuple[ArrayLike, ArrayLike]  # weights, topics
_STARTS, _STEPS = 20, 100  # of the search for a spectral norm


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
    truths: Sequence[Mixture], which: ArrayLike, answers: Sequence[Mixture], *,
    order: int = 3, norm: str = "frobenius", basis: ArrayLike | None = None, hindsight: str = "leader",
) -> NDArray[np.float64]:  # fmt: skip
    """Regret of following the leader after each step, in fixed coordinates: eq. 9 of [Yu18].

    L_t(answer) = t ||T_t - T(answer)||^2 is the loss of an answer over t steps, with T_t the mean of the true
    moments of these steps. Step s adds l_s = L_s - L_(s-1) of the answer given before it. The regret after t
    steps is sum_(s <= t) l_s(answer before s) - L_t(answer after t).

    Parameters
    ----------
    truths : sequence of (weights, topics)
        The models from which the stream is drawn. In the paper, where the topics of documents are fixed
        beforehand, there is one for each topic.
    which : array of int (steps,)
        The model of each step.
    answers : sequence of (weights, topics), one more than steps
        The answers before each step, and after the last.
    order : int
        Number of tokens of the moment; 3 in the paper.
    norm : {"frobenius", "spectral"}
        Spectral: the largest ``|T(x, ..., x)|`` over unit vectors x, the norm of the paper's theorems. It is
        at most the Frobenius norm, which the lemmas use.
    basis : array (terms, columns), optional
        Moments are compared in these coordinates, for example after whitening. Default: terms.
    hindsight : {"leader", "truth"}
        The answer that is subtracted. "leader": the answer after t, as defined. It is computed from noisy
        documents, so the regret may be negative. "truth": the mean of the true models, whose loss is 0. The
        theorems of the paper bound this larger quantity.

    Returns
    -------
    float64 array (steps,)
    """
    at = np.asarray(which, np.int64)
    if len(answers) != len(at) + 1:
        raise ValueError(
            f"there must be one answer more than steps; got {len(answers)} and {len(at)}"
        )
    _one_of("norm", norm, ("frobenius", "spectral"))
    _one_of("hindsight", hindsight, ("leader", "truth"))
    measure = _frobenius if norm == "frobenius" else _spectral
    seen = np.cumsum(np.eye(len(truths))[at], axis=0)  # number of steps of each model so far
    known, found = ([_rotate(m, basis) for m in models] for models in (truths, answers))

    def loss(t: int, answer: Mixture) -> float:
        """t ||T_t - T||^2."""
        return t * measure(_mean(known, seen[t - 1] / t), answer, order)

    out, total, leader = np.empty(len(at)), 0.0, 0.0
    for t in range(1, len(at) + 1):
        total += loss(t, found[t - 1]) - leader  # of the answer before step t, over t - 1 steps
        leader = loss(t, found[t])
        out[t - 1] = total - (leader if hindsight == "leader" else 0.0)
    return out


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}; got {value!r}")


def _rotate(model: Mixture, basis: ArrayLike | None) -> Mixture:
    """The mixture with topics in other coordinates."""
    weights, topics = _pair(model)
    return weights, topics if basis is None else topics @ np.asarray(basis, np.float64)


def _mean(models: Sequence[Mixture], shares: NDArray[np.float64]) -> Mixture:
    """The mixture of mixtures; its moments are the means of theirs."""
    parts = [_pair(model) for model in models]
    weights = [share * w for share, (w, _) in zip(shares, parts, strict=True)]
    return np.concatenate(weights), np.vstack([u for _, u in parts])


def _frobenius(a: Mixture, b: Mixture, order: int) -> float:
    return recovery_error(a, b, order=order)


def _spectral(a: Mixture, b: Mixture, order: int) -> float:
    """The squared spectral norm of the difference of moments, by shifted power iteration from many starts.

    The difference is sum_i c_i (u_i . x)^n. Its largest absolute value over unit vectors is reached in the
    span of the topics, and for a symmetric tensor at equal arguments. With a shift of n - 1 times the
    Frobenius norm no step falls [Kolda11].
    """
    (w, u), (x, v) = _pair(a), _pair(b)
    signed, rows = np.concatenate([w, -x]), np.vstack([u, v])
    rows = (
        rows @ np.linalg.svd(rows, full_matrices=False)[2].T
    )  # coordinates in the span of the topics
    size = recovery_error(a, b, order=order, squared=False)
    if size == 0.0 or order == 1:
        return size**2
    shift = (order - 1) * size
    drawn = np.random.default_rng(0).normal(size=(_STARTS, rows.shape[1]))
    start = np.vstack([rows, signed @ rows, drawn])
    start = start[np.linalg.norm(start, axis=1) > 0]
    best = 0.0
    for sign in (1.0, -1.0):
        y = start / np.linalg.norm(start, axis=1, keepdims=True)
        for _ in range(_STEPS):
            y = ((y @ rows.T) ** (order - 1) * (sign * signed)) @ rows + shift * y
            y /= np.linalg.norm(y, axis=1, keepdims=True)
        best = max(best, float((((y @ rows.T) ** order) @ (sign * signed)).max()))
    return best**2
