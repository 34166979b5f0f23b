"""Scores to probabilities: a slope for several classes, a slope and an offset for two classes or a label."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_softmax

from bayou.inference.lda.arrays import F64

_STEPS = 50
_LEAST_SLOPE = 1e-3  # of a sigmoid, for scores of mean size 1


def temperature(scores: F64, codes: Any) -> float:
    """The slope s that maximises the likelihood of the classes under softmax(s f)."""

    def loss(log_slope: float) -> float:
        picked = log_softmax(scores * np.exp(log_slope), axis=1)[np.arange(len(codes)), codes]
        return float(-picked.mean())

    if len(codes) == 0:
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))


def sigmoid(scores: F64, signs: Any, weight: Any = None) -> tuple[float, float]:
    """Slope and offset with p = 1 / (1 + exp(-(slope f + offset))), by Newton's method [Platt99].

    ``weight`` is a factor per document. Targets are moved from 0 and 1 towards each other as in [Platt99], so
    that separable scores do not give certainty. A ranking is never reversed: if scores contradict the labels,
    the slope is close to zero.

    [Platt99] Platt. Probabilistic outputs for support vector machines. 1999.
    """
    weight = np.ones(len(scores)) if weight is None else np.asarray(weight, np.float64)
    n_yes, n_no = float(weight[signs > 0].sum()), float(weight[signs < 0].sum())
    odds = float(np.log((n_yes + 1.0) / (n_no + 1.0)))
    if n_yes == 0 or n_no == 0 or np.ptp(scores) == 0.0:  # only the numbers of documents are left
        return 0.0, odds
    scale = max(float(np.abs(scores).mean()), 1e-12)
    target = np.where(signs > 0, (n_yes + 1.0) / (n_yes + 2.0), 1.0 / (n_no + 2.0))
    x = np.column_stack([scores / scale, np.ones(len(scores))])
    at = np.array([1.0, 0.0])

    def loss(b: F64) -> float:
        return float((weight * (np.logaddexp(0.0, x @ b) - target * (x @ b))).sum())

    for _ in range(_STEPS):
        p = expit(x @ at)
        gradient = x.T @ (weight * (p - target))
        hessian = (x * (weight * p * (1.0 - p))[:, None]).T @ x + 1e-9 * np.eye(2)
        step, now, size = np.linalg.solve(hessian, gradient), loss(at), 1.0
        while size > 1e-6 and loss(at - size * step) > now:
            size *= 0.5
        at = at - size * step
        if np.abs(size * step).max() < 1e-8:
            break
    slope, offset = at if at[0] > _LEAST_SLOPE else (_LEAST_SLOPE, odds)
    return float(slope / scale), float(offset)
