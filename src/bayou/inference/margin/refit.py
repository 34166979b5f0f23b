"""The refit: linear weights on features that labels have not shaped, and probabilities, after the chain.

In a chain the labels have shaped the topics of the documents they belong to, so its weights see features that
new documents never have. Weights refitted on leave-one-out features (`features.zbar_without`) see what new
documents have. Words beside topics (the residual) then explain only what the topics do not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayou.inference.lda.arrays import F64, I64
from bayou.inference.margin import calibration, residual
from bayou.inference.margin.linear import (
    RefitEvidence,
    RefitPlan,
    fit_numbers,
    fit_tasks,
    stack,
    total_scores,
)
from bayou.inference.margin.tasks import MarginTask
from bayou.results.response import Response

N_FOLDS = 3  # of the scores that probabilities of labels and noise are fitted to
CLASS_FOLDS = (
    10,
    5,
)  # of the scores of classes, in small and large sets: fewer folds make other scores
LARGE = 4000  # documents
SPREAD = 0.2  # prior deviation of the logarithm of the correction of sharpness, for topics alone


def respond(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights and predictions of the model; ``order`` brings documents to the order of the evidence."""
    if plan.model == "ridge":
        return regress(seen, task, order, plan)
    return classify(seen, task, order, plan)


def classify(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights, intercepts and probabilities of a classifier."""
    n_topics, n_tasks = seen.chain.shape
    weights, intercept = seen.chain, np.zeros(n_tasks)
    words = np.zeros((0, n_tasks))
    scores, share = seen.zbar.astype(np.float64) @ weights, 1.0
    held_out = task.is_held_out[order]
    plan = residual.choose(seen, task.kind, held_out, plan)
    if plan.refit or plan.q > 0:
        weights, words, intercept = fit_tasks(seen, plan, np.arange(len(seen.y)))
        # fitted weights suit their own documents too well to calibrate on them
        scores, share = _cross_validate(seen, plan, task.kind)
    slope, offset, power = _calibrate(scores, share, seen, task, order)
    none = np.zeros((0, n_topics, n_topics))
    return Response(
        kind=task.kind, classes=task.classes, weights=np.ascontiguousarray(weights),
        intercept=intercept,
        term_weight=seen.term_weight, slope=slope, offset=offset, power=power, share=share,
        draws=seen.draws, noise=np.zeros(n_tasks), covariance=none, centre=np.zeros(n_topics),
        n_members=seen.n_members, **_word_parts(seen, words, plan.q),
    ).balance_border()  # fmt: skip


def _calibrate(
    scores: F64, share: float, seen: RefitEvidence, task: MarginTask, order: I64
) -> tuple[F64, F64, float | None]:
    """Slope and offset of every task and the power of the classes: scores become probabilities.

    Topics keep a trace of the labels of the documents that they were learned from, so scores of these
    documents are too good. Documents that were held out from the chain correct the sharpness, by more the
    larger the share of topics is: words keep no trace.
    """
    n_tasks = scores.shape[1]
    slope, offset = np.ones(n_tasks), np.zeros(n_tasks)
    known = np.flatnonzero(task.known[order])
    new = np.flatnonzero(task.is_held_out[order])
    spread = SPREAD * float(np.clip(share, 0.0, 1.0))
    if task.kind == "multi-class":
        codes = task.codes[order]
        link = calibration.fit_classes(scores[known], codes[known])
        link = calibration.sharpen_classes(link, scores[new], codes[new], spread)
        slope[:], offset[:] = link.slope, link.offset
        return slope, offset, link.power
    # binary: costs move the border between the classes; a label is not more probable for its cost
    cost = seen.cost[known] if task.kind == "binary" else np.ones((len(known), n_tasks))
    weight = cost / max(float(cost[cost > 0].mean(dtype=np.float64)), 1e-300)
    for i in range(n_tasks):
        slope[i], offset[i] = calibration.sigmoid(scores[known, i], seen.y[known, i], weight[:, i])
    if task.kind == "binary":
        logits = slope * scores[new] + offset
        by = calibration.sharpen_sigmoid(logits[:, 0], seen.y[new, 0], spread)
        slope, offset = slope * by, offset * by
    return slope, offset, None


def _cross_validate(seen: RefitEvidence, plan: RefitPlan, kind: str) -> tuple[F64, float]:
    """Scores of documents by weights fitted without them, and the share of topics in the margins."""
    scores, mine = np.zeros(seen.y.shape), np.zeros(seen.y.shape)
    n_folds = N_FOLDS if kind == "multi-label" else CLASS_FOLDS[int(len(seen.y) > LARGE)]
    part = np.arange(len(seen.y)) % n_folds
    for fold in range(min(n_folds, len(part))):
        at = part == fold
        fitted = fit_tasks(seen, plan, np.flatnonzero(~at))
        scores[at] = total_scores(seen, *fitted, plan.q)[at]
        mine[at] = seen.zbar[at] @ fitted[0]
    return scores, _share(mine, scores, kind) if plan.q > 0 else 1.0


def _word_parts(seen: RefitEvidence, words: F64, q: float) -> dict[str, Any]:
    if q == 0:
        return {}
    return {"words": (words * q).astype(np.float32), "word_weight": seen.word_weight}


def _share(topic_part: F64, total: F64, kind: str) -> float:
    """The share of topics in the margins.

    Several classes: in the lead of the best class over the second. Otherwise: in the variance of the scores
    around their means, so that intercepts do not count. The shares of topics and words sum to one.
    """
    if kind == "multi-class":
        best = np.argsort(total, axis=1)[:, -2:]
        at = np.arange(len(total))
        lead = total[at, best[:, 1]] - total[at, best[:, 0]]
        mine = topic_part[at, best[:, 1]] - topic_part[at, best[:, 0]]
        return float(mine.sum() / max(lead.sum(), 1e-12))
    gap, mine = total - total.mean(axis=0), topic_part - topic_part.mean(axis=0)
    return float((mine * gap).sum() / max(float((gap**2).sum()), 1e-12))


def regress(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights and noise of a regression, on the scale of the targets."""
    n_topics, n_tasks = seen.chain.shape
    y = np.where(seen.cost > 0, seen.y, np.nan).astype(np.float64)
    plan = residual.choose_numbers(seen, y, task.is_held_out[order], plan)
    if plan.refit or plan.q > 0:
        weights, words, intercept, noise, covariance = _fit_targets(seen, y, task, order, plan)
    else:
        weights, words, intercept = seen.chain, np.zeros((0, n_tasks)), np.zeros(n_tasks)
        gap = y - seen.zbar.astype(np.float64) @ weights
        noise = np.nanmean(gap**2, axis=0)
        spread = seen.draws.astype(np.float64) - weights
        covariance = np.einsum("skt,sjt->tkj", spread, spread) / max(len(spread) - 1, 1)
    mean, deviation = task.scale
    out = seen.zbar.astype(np.float64) @ weights
    total = total_scores(seen, weights, words, intercept, plan.q)
    share = float(np.var(out)) / max(float(np.var(total)), 1e-300) if plan.q > 0 else 1.0
    centre = seen.zbar.mean(axis=0, dtype=np.float64) if plan.refit else np.zeros(n_topics)
    return Response(
        kind="regression", classes=task.classes, weights=np.ascontiguousarray(weights * deviation),
        intercept=intercept * deviation + mean, term_weight=seen.term_weight,
        slope=np.ones(n_tasks), offset=np.zeros(n_tasks), share=share,
        draws=seen.draws * deviation.astype(np.float32), noise=noise * deviation**2,
        covariance=covariance * (deviation[: len(covariance), None, None] ** 2), centre=centre,
        n_members=seen.n_members, **_word_parts(seen, words * deviation, plan.q),
    )  # fmt: skip


def _fit_targets(
    seen: RefitEvidence, y: F64, task: MarginTask, order: I64, plan: RefitPlan
) -> tuple[F64, F64, F64, F64, F64]:
    """Weights of topics, weights of words, intercepts, noise and covariance.

    The weights are fitted to all documents. The noise is that of held-out documents, if there are any.
    """
    n_topics = seen.chain.shape[0]
    weight = residual.document_weight(seen)
    found, held_out = stack(seen.zbar, seen.words if plan.q > 0 else None, plan.q), task.is_held_out
    both, intercept, noise, covariance = fit_numbers(found, y, weight, 1.0 / plan.strength)
    if plan.q > 0:
        covariance = covariance[:, :n_topics, :n_topics]
        noise = _fold_noise(found, y, weight, plan)
    if held_out.any():
        noise = _test_noise(found, y, weight, held_out[order], 1.0 / plan.strength)
    return both[:n_topics], both[n_topics:], intercept, noise, covariance


def _test_noise(found: Any, y: F64, weight: F64, held_out: Any, ridge: float) -> F64:
    """Mean squared error on documents that were held out, by weights fitted without them."""
    fitted, offset, *_ = fit_numbers(found[~held_out], y[~held_out], weight[~held_out], ridge)
    gap = y[held_out] - (found[held_out] @ fitted + offset)
    return np.asarray(np.average(gap**2, axis=0, weights=weight[held_out]), np.float64)


def _fold_noise(found: Any, y: F64, weight: F64, plan: RefitPlan) -> F64:
    """Mean squared error per target, each document predicted by weights fitted without it (in folds)."""
    out = np.zeros(y.shape[1])
    for t in range(y.shape[1]):
        known = np.flatnonzero(~np.isnan(y[:, t]) & (weight > 0))
        part, gap = np.arange(len(known)) % N_FOLDS, np.zeros(len(known))
        for fold in range(N_FOLDS if len(known) >= N_FOLDS else 0):
            use, rest = known[part != fold], known[part == fold]
            fitted, offset, *_ = fit_numbers(
                found[use], y[use, t : t + 1], weight[use], 1.0 / plan.strength
            )
            gap[part == fold] = y[rest, t] - (found[rest] @ fitted[:, 0] + offset[0])
        out[t] = np.average(gap**2, weights=weight[known])
    return out
