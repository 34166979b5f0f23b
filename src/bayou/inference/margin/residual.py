"""How much words take part beside topics, chosen inside the training set (``word_residual="auto"``).

The choice refits linear models only; chains are not sampled again. It has two steps.

1. C, and for several labels the cost of positive ones, are those of a model of words alone: weights fitted to
   two thirds of the documents, compared on the other third.
2. q, the weight of words, is compared on documents whose labels the chain has not seen. Topics of the other
   documents keep a trace of their labels, so words would seem to be worth less than they are.

Both start at values that are hardly ever worse than words alone (`START`, C = 1, positive labels at their
plain cost) and leave them only for a measure, accuracy or micro-F1 of labels, that is better by more than its
standard error in the first step, and by two in the second, which has fewer documents.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64
from bayou.inference.margin.linear import (
    RefitEvidence,
    RefitPlan,
    fit_margins,
    fit_numbers,
    fit_tasks,
    label_cost,
    stack,
    total_scores,
)
from bayou.inference.margin.tasks import MULTI_LABEL_COST

START, OTHERS = (
    4.0,
    (2.0, 1.0),
)  # q of classifiers: the weights of words have q**2 times the variance
NUMBERS = (0.0, 1.0, 2.0)  # q of regressors, the first one without documents that were held out
STRENGTHS = (0.3, 3.0)  # C beside 1
POSITIVE = (2.0, 4.0)  # cost of positive labels beside 1
LARGEST = 3000  # documents that a choice looks at
FEWEST = 60


class Hits(NamedTuple):
    """Per document: what it adds to the numerator and to the denominator of a measure."""

    right: F64
    total: F64

    @property
    def measure(self) -> float:
        """Accuracy, or micro-F1."""
        return float(self.right.sum() / max(self.total.sum(), 1e-300))


def count_hits(scores: F64, y: Any, weight: F64, kind: str) -> Hits:
    """Right answers of each document: its class, or twice its right labels of all given and wanted ones."""
    wanted = np.asarray(y) > 0
    if kind == "multi-label":
        given = scores > 0
        bare = np.flatnonzero(~given.any(axis=1))
        given[bare, scores[bare].argmax(axis=1)] = True
        right = 2.0 * (given & wanted).sum(axis=1)
        return Hits(weight * right, weight * (given.sum(axis=1) + wanted.sum(axis=1)))
    if kind == "binary":
        same = (scores[:, 0] > 0) == wanted[:, 0]
    else:
        same = scores.argmax(axis=1) == wanted.argmax(axis=1)
    return Hits(weight * same, weight)


def is_better(new: Hits, old: Hits, errors: float) -> bool:
    """Whether a measure is larger by more than some standard errors of the difference."""
    gaps = [
        (hits.right - hits.measure * hits.total) / max(float(hits.total.mean()), 1e-300)
        for hits in (new, old)
    ]
    error = float(np.std(gaps[0] - gaps[1])) / max(len(new.right), 1) ** 0.5
    return bool(new.measure - old.measure > errors * error)


def choose(
    seen: RefitEvidence, kind: str, held_out: NDArray[np.bool_], plan: RefitPlan
) -> RefitPlan:
    """The plan with q, C and the cost of positive labels; a plan that is not ``auto`` stays as it is."""
    if not plan.auto or seen.words is None:
        return plan
    known = np.flatnonzero((seen.cost > 0).any(axis=1))
    start = plan._replace(q=START)
    if kind == "multi-label" and plan.free_positive:
        start = start._replace(positive=1.0 / MULTI_LABEL_COST)
    if len(known) < FEWEST:
        return start
    start = _choose_costs(seen, kind, known[:LARGEST], start)
    new = known[held_out[known]]
    return (
        _choose_q(seen, kind, new, known[~held_out[known]][:LARGEST], start) if len(new) else start
    )


def _choose_costs(
    seen: RefitEvidence, kind: str, known: NDArray[np.intp], plan: RefitPlan
) -> RefitPlan:
    """C, then the cost of positive labels, by words alone."""
    words = seen.words
    assert words is not None  # the caller has checked
    fit, test = known[np.arange(len(known)) % 3 > 0], known[::3]
    weight = document_weight(seen)[test]

    def hits(one: RefitPlan) -> Hits:
        cost = label_cost(seen, one)[fit]
        weights, intercept = fit_margins(words[fit], seen.y[fit], cost, one.c, one.model, one.seed)
        return count_hits(words[test] @ weights + intercept, seen.y[test], weight, kind)

    plan = _climb(plan, [plan._replace(c=c) for c in STRENGTHS], hits)
    if kind != "multi-label" or not plan.free_positive:
        return plan
    others = [plan._replace(positive=x / MULTI_LABEL_COST) for x in POSITIVE]
    return _climb(plan, others, hits)


def _choose_q(
    seen: RefitEvidence, kind: str, new: NDArray[np.intp], fit: NDArray[np.intp], plan: RefitPlan
) -> RefitPlan:
    """q by documents that the chain has not seen, with weights fitted to the others."""
    weight = document_weight(seen)[new]

    def hits(one: RefitPlan) -> Hits:
        scores = total_scores(seen, *fit_tasks(seen, one, fit), one.q)
        return count_hits(scores[new], seen.y[new], weight, kind)

    return _climb(plan, [plan._replace(q=q) for q in OTHERS], hits, 2.0)


def _climb(start: RefitPlan, others: list[RefitPlan], hits: Any, errors: float = 1.0) -> RefitPlan:
    """The best of the plans that are better than the first by some standard errors, or the first."""
    base = hits(start)
    found = [(hits(one), one) for one in others]
    better = [(mine.measure, one) for mine, one in found if is_better(mine, base, errors)]
    return max(better, key=lambda pair: pair[0])[1] if better else start


def choose_numbers(
    seen: RefitEvidence, y: F64, held_out: NDArray[np.bool_], plan: RefitPlan
) -> RefitPlan:
    """The plan with the q of the smallest squared error on documents that the chain has not seen."""
    if not plan.auto or seen.words is None:
        return plan
    plans = [plan._replace(q=q) for q in NUMBERS]
    if not held_out.any():
        return plans[0]
    weight, errors = document_weight(seen), []
    for one in plans:
        found = stack(seen.zbar, seen.words if one.q > 0 else None, one.q)
        fitted = fit_numbers(found[~held_out], y[~held_out], weight[~held_out], 1.0 / one.strength)
        gap = y[held_out] - (found[held_out] @ fitted[0] + fitted[1])
        errors.append(float(np.average((gap**2).mean(axis=1), weights=weight[held_out])))
    return plans[int(np.argmin(errors))]


def document_weight(seen: RefitEvidence) -> F64:
    """Weight of each document, at most one: its largest cost."""
    weight = seen.cost.max(axis=1).astype(np.float64)
    return np.asarray(weight / max(float(weight.max()), 1e-300))
