"""Scores to probabilities: a sigmoid for two classes or a label, sigmoids to a power for several classes.

Several classes: p_k is proportional to sigmoid(slope f_k + offset)**power, with one slope, offset and power
for all classes. With the offset far below zero this is softmax(slope power f). With power 1 it is sigmoids
scaled to sum one. Scores of linear classifiers lie between these two forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax

from bayou.inference.lda.arrays import F64

_STEPS = 50
_LARGEST = 5000  # documents that three numbers are fitted to
_RIDGE = 1e-4  # per document, on the distance from the start
_LEAST_SLOPE = 1e-3  # of a sigmoid, for scores of mean size 1


def temperature(scores: F64, codes: Any) -> float:
    """The slope s that maximises the likelihood of the classes under softmax(s f)."""

    def loss(log_slope: float) -> float:
        picked = log_softmax(scores * np.exp(log_slope), axis=1)[np.arange(len(codes)), codes]
        return float(-picked.mean())

    if len(codes) == 0:
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-5.0, 5.0), method="bounded").x))


class ClassLink(NamedTuple):
    """p_k is proportional to sigmoid(slope f_k + offset)**power."""

    slope: float
    offset: float
    power: float


def fit_classes(scores: F64, codes: Any) -> ClassLink:
    """The link that maximises the likelihood of the classes; a ranking is never reversed."""
    scores, codes = scores[:_LARGEST], codes[:_LARGEST]
    size = float(np.abs(scores).mean()) if len(codes) else 0.0
    if size == 0.0:
        return ClassLink(1.0, 0.0, 1.0)
    f, rows, start = scores / size, np.arange(len(codes)), np.array([1.0, 0.0, 0.0])

    def loss(at: F64) -> tuple[float, F64]:
        slope, power = np.exp(at[0]), np.exp(at[2])
        u = slope * f + at[1]
        logs = power * log_expit(u)
        normal = log_softmax(logs, axis=1)
        miss = np.exp(normal)
        miss[rows, codes] -= 1.0
        bend = miss * power * expit(-u)
        slopes = np.array([(bend * f).sum() * slope, bend.sum(), (miss * logs).sum()]) / len(codes)
        gap = at - start
        return float(-normal[rows, codes].mean() + _RIDGE * gap @ gap), slopes + 2 * _RIDGE * gap

    at = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-6, 6), (-30, 30), (-6, 6)]).x
    return ClassLink(float(np.exp(at[0]) / size), float(at[1]), float(np.exp(at[2])))


def sharpen_classes(link: ClassLink, scores: F64, codes: Any, spread: float) -> ClassLink:
    """The link with its power corrected by documents that are like new ones; by none it stays as it is.

    ``spread`` is the prior deviation of the logarithm of the factor.
    """
    logs = link.power * log_expit(scores * link.slope + link.offset)

    def loss(by: float) -> float:
        return float(-log_softmax(by * logs, axis=1)[np.arange(len(codes)), codes].sum())

    return link._replace(power=link.power * _sharpen(loss, spread))


def sharpen_sigmoid(logits: F64, signs: Any, spread: float) -> float:
    """A factor on logits, fitted to documents that are like new ones; ``spread`` as in `sharpen_classes`."""
    signed = np.where(np.asarray(signs) > 0, -1.0, 1.0) * logits
    return _sharpen(lambda by: float(np.logaddexp(0.0, by * signed).sum()), spread)


def _sharpen(loss: Callable[[float], float], spread: float) -> float:
    """The factor with the largest posterior density; its logarithm is normal around zero."""

    def total(log_factor: float) -> float:
        return loss(float(np.exp(log_factor))) + 0.5 * (log_factor / max(spread, 1e-6)) ** 2

    return float(np.exp(minimize_scalar(total, bounds=(-2.0, 2.0), method="bounded").x))


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
