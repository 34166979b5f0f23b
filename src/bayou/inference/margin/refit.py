"""What is fitted once the topics stand: linear weights on features no label has shaped, and probabilities.

In a chain the labels have shaped the topics of the very documents they belong to, so its weights see features
that new documents never have. Weights refitted on leave-one-out features (`features.zbar_without`) see what
will come, and words beside topics (the residual) are then given no more than the topics leave to explain.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from bayou.data.supervision import Labels
from bayou.inference.lda.arrays import F32, F64
from bayou.inference.margin import calibration
from bayou.kernels.rng import HELD_OUT, key, permutation
from bayou.results.response import Response

N_FOLDS = 3  # of the scores that probabilities are fitted to when words take part
FEWEST, SPARED = 200, (40, 500)  # documents before some are kept apart: a twentieth, within these
RIDGE = 1e-3  # of topics' features, whose entries are shares: near to none
_ONE_AT_A_TIME = threading.Lock()  # liblinear draws from one generator that all threads share


class RefitEvidence(NamedTuple):
    """What the second stage learns from; rows are documents in one order throughout."""

    zbar: F32  # leave-one-out average topics
    words: csr_array | None  # of unit length, where words take part
    y: F32  # signs, or numbers with NaN
    cost: F32  # 0 where nothing is known
    term_weight: F32
    word_weight: F32
    chain: F64  # weights as the chains have them (topics x tasks)
    draws: F32
    n_members: int
    separate: bool  # a chain for each task: a task sees its own chain's topics


class RefitPlan(NamedTuple):
    """How the second stage goes about it."""

    refit: bool
    strength: float  # C of the classifiers, 1 / ridge of the regressions
    q: float  # weight of words beside topics, 0 for none
    logistic: bool
    seed: int


def stack(zbar: F32, words: csr_array | None, q: float) -> Any:
    """Topics, and words scaled by q: their weights then have q**2 times the variance."""
    if words is None:
        return zbar.astype(np.float64)
    return hstack([csr_array(zbar.astype(np.float64)), words * q], format="csr")


def fit_margins(
    features: Any, y: F32, cost: F32, strength: float, logistic: bool, seed: int
) -> tuple[F64, F64]:
    """One linear classifier a task on the documents with a label: weights (features x tasks), intercepts."""
    n_tasks = y.shape[1]
    weights, intercept = np.zeros((features.shape[1], n_tasks)), np.zeros(n_tasks)
    for i in range(n_tasks):
        use = np.flatnonzero(cost[:, i] > 0)
        signs = y[use, i]
        if len(use) == 0 or signs.min() == signs.max():
            intercept[i] = 0.0 if len(use) == 0 else float(signs[0])
            continue
        kind = LogisticRegression if logistic else LinearSVC
        extra = {"solver": "liblinear"} if logistic else {}
        machine = kind(C=strength, random_state=seed & 0x7FFFFFFF, max_iter=2000, **extra)
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(features[use], signs, sample_weight=cost[use, i])
        weights[:, i], intercept[i] = machine.coef_[0], machine.intercept_[0]
    return weights, intercept


def fit_numbers(features: Any, y: F64, weight: F64, ridge: float) -> tuple[F64, F64, F64, F64]:
    """Ridge regression a target: weights, intercepts, noise variance, covariance of the weights.

    The covariance (targets x features x features) has no rows where the features are sparse.
    """
    n_features, n_targets = features.shape[1], y.shape[1]
    weights, intercept = np.zeros((n_features, n_targets)), np.zeros(n_targets)
    noise = np.ones(n_targets)
    dense = isinstance(features, np.ndarray)
    covariance = np.zeros((n_targets if dense else 0, n_features, n_features))
    for t in range(n_targets):
        use = np.flatnonzero(~np.isnan(y[:, t]) & (weight > 0))
        machine = Ridge(alpha=ridge, solver="cholesky" if dense else "sparse_cg", tol=1e-6)
        machine.fit(features[use], y[use, t], sample_weight=weight[use])
        weights[:, t], intercept[t] = machine.coef_, machine.intercept_
        residual = y[use, t] - machine.predict(features[use])
        spare = 1.0
        if dense:
            centred = features[use] - np.average(features[use], axis=0, weights=weight[use])
            gram = centred.T @ (centred * weight[use, None])
            inverse = np.linalg.inv(gram + ridge * np.eye(n_features))
            spare = max(1.0 - np.trace(inverse @ gram) / max(len(use), 1), 0.05)
            covariance[t] = inverse
        noise[t] = np.average(residual**2, weights=weight[use]) / spare
        if dense:
            covariance[t] *= noise[t]
    return weights, intercept, noise, covariance


def classify(seen: RefitEvidence, labels: Labels, order: Any, plan: RefitPlan) -> Response:
    """Weights, intercepts and probabilities of a classifier; ``order`` brings labels to the evidence's."""
    n_topics, n_tasks = seen.chain.shape
    weights, intercept = seen.chain, np.zeros(n_tasks)
    words = np.zeros((0, n_tasks))
    scores, share = seen.zbar.astype(np.float64) @ weights, 1.0
    if plan.refit or plan.q > 0:
        weights, words, intercept = _margins(seen, plan, np.arange(len(seen.y)))
        scores = _total(seen, weights, words, intercept, plan.q)
    if plan.q > 0:  # words know the documents they were fitted to
        scores, share = _cross_validate(seen, plan, labels.kind)
    slope, offset = np.ones(n_tasks), np.zeros(n_tasks)
    known = np.flatnonzero(labels.known[order])
    if labels.kind == "multi-class":
        slope[:] = calibration.temperature(scores[known], labels.codes[order][known])
    else:
        # of two classes costs decide where the border is; labels that cost more are no more probable for it
        cost = seen.cost[known] if labels.kind == "binary" else np.ones((len(known), n_tasks))
        weight = cost / max(float(cost[cost > 0].mean(dtype=np.float64)), 1e-300)
        for i in range(n_tasks):
            slope[i], offset[i] = calibration.sigmoid(
                scores[known, i], seen.y[known, i], weight[:, i]
            )
    none = np.zeros((0, n_topics, n_topics))
    return Response(
        kind=labels.kind, classes=labels.classes, weights=np.ascontiguousarray(weights),
        intercept=intercept,
        term_weight=seen.term_weight, slope=slope, offset=offset, share=share, draws=seen.draws,
        noise=np.zeros(n_tasks), covariance=none, centre=np.zeros(n_topics),
        n_members=seen.n_members, **_beside(seen, words, plan.q),
    ).balance_border()  # fmt: skip


def _cross_validate(seen: RefitEvidence, plan: RefitPlan, kind: str) -> tuple[F64, float]:
    """Scores of documents by weights fitted without them, and the topics' share of the margins."""
    scores, mine = np.zeros(seen.y.shape), np.zeros(seen.y.shape)
    part = np.arange(len(seen.y)) % N_FOLDS
    for fold in range(N_FOLDS):
        at = part == fold
        fitted = _margins(seen, plan, np.flatnonzero(~at))
        scores[at] = _total(seen, *fitted, plan.q)[at]
        mine[at] = seen.zbar[at] @ fitted[0]
    return scores, _share(mine, scores, kind)


def _beside(seen: RefitEvidence, words: F64, q: float) -> dict[str, Any]:
    if q == 0:
        return {}
    return {"words": (words * q).astype(np.float32), "word_weight": seen.word_weight}


def _margins(seen: RefitEvidence, plan: RefitPlan, use: Any) -> tuple[F64, F64, F64]:
    """Weights of topics and words and intercepts, learned from some of the documents."""
    n_topics, n_tasks = seen.chain.shape
    words = None if plan.q == 0 or seen.words is None else seen.words[use]
    rest = (plan.strength, plan.logistic, plan.seed)
    if not seen.separate:
        found = stack(seen.zbar[use], words, plan.q)
        both, intercept = fit_margins(found, seen.y[use], seen.cost[use], *rest)
        return both[:n_topics], both[n_topics:], intercept
    size = n_topics // n_tasks
    weights, intercept = np.zeros((n_topics, n_tasks)), np.zeros(n_tasks)
    beside = np.zeros((0 if words is None else words.shape[1], n_tasks))
    for i in range(n_tasks):
        at, task = slice(i * size, (i + 1) * size), slice(i, i + 1)
        found = stack(seen.zbar[use, at], words, plan.q)
        one, intercept[task] = fit_margins(found, seen.y[use, task], seen.cost[use, task], *rest)
        weights[at, i], beside[:, i] = one[:size, 0], one[size:, 0]
    return weights, beside, intercept


def _total(seen: RefitEvidence, weights: F64, words: F64, intercept: F64, q: float) -> F64:
    out = seen.zbar.astype(np.float64) @ weights + intercept
    if q > 0 and seen.words is not None:
        out += (seen.words @ words) * q
    return np.asarray(out, np.float64)


def _share(topic_part: F64, total: F64, kind: str) -> float:
    """The part of the margins that topics carry.

    Of classes: of what the winner is ahead of the runner-up; else of the positive scores.
    """
    if kind == "multi-class":
        best = np.argsort(total, axis=1)[:, -2:]
        at = np.arange(len(total))
        lead = total[at, best[:, 1]] - total[at, best[:, 0]]
        mine = topic_part[at, best[:, 1]] - topic_part[at, best[:, 0]]
        return float(mine.sum() / max(lead.sum(), 1e-12))
    positive = total > 0
    return float(topic_part[positive].sum() / max(total[positive].sum(), 1e-12))


def held_out_mask(known: Any, seed: int, refit: bool) -> Any:
    """Documents whose numbers the chain is not shown, so that how far predictions stray can be seen.

    A number that has shaped topics is predicted better by them than any new one, even by topics that the
    document itself has been taken out of. Few documents are needed; of `FEWEST` or less none is spared.
    """
    out, whole = np.zeros(len(known), bool), np.flatnonzero(known.all(axis=1))
    if refit and len(whole) > FEWEST:
        order = permutation(len(whole), np.uint64(key(seed, HELD_OUT, 0, 0)))
        out[whole[order[: np.clip(len(whole) // 20, *SPARED)]]] = True
    return out


def regress(
    seen: RefitEvidence, names: Any, scale: tuple[F64, F64], plan: RefitPlan, apart: Any
) -> Response:
    """Weights and noise of a regression; ``scale`` = (mean, deviation) of the targets as they came.

    The weights are those of all documents, the noise that of those that were kept ``apart``, if any were.
    """
    n_topics, n_tasks = seen.chain.shape
    weight = seen.cost.max(axis=1).astype(np.float64)
    weight /= max(float(weight.max()), 1e-300)
    y = np.where(seen.cost > 0, seen.y, np.nan).astype(np.float64)
    words = np.zeros((0, n_tasks))
    covariance = np.zeros((0, n_topics, n_topics))
    if plan.refit or plan.q > 0:
        found = stack(seen.zbar, seen.words if plan.q > 0 else None, plan.q)
        both, intercept, noise, covariance = fit_numbers(found, y, weight, 1.0 / plan.strength)
        weights, words = both[:n_topics], both[n_topics:]
        if plan.q > 0:
            covariance, noise = covariance[:, :n_topics, :n_topics], _noise(found, y, weight, plan)
        if apart.any():
            noise = _strays(found, y, weight, apart, 1.0 / plan.strength)
    else:
        weights, intercept = seen.chain, np.zeros(n_tasks)
        gap = y - seen.zbar.astype(np.float64) @ weights
        noise = np.nanmean(gap**2, axis=0)
        spread = seen.draws.astype(np.float64) - weights
        covariance = np.einsum("skt,sjt->tkj", spread, spread) / max(len(spread) - 1, 1)
    mean, deviation = scale
    out = seen.zbar.astype(np.float64) @ weights
    total = _total(seen, weights, words, intercept, plan.q)
    share = float(np.var(out)) / max(float(np.var(total)), 1e-300) if plan.q > 0 else 1.0
    centre = seen.zbar.mean(axis=0, dtype=np.float64) if plan.refit else np.zeros(n_topics)
    return Response(
        kind="regression", classes=names, weights=np.ascontiguousarray(weights * deviation),
        intercept=intercept * deviation + mean, term_weight=seen.term_weight,
        slope=np.ones(n_tasks), offset=np.zeros(n_tasks), share=share,
        draws=seen.draws * deviation.astype(np.float32), noise=noise * deviation**2,
        covariance=covariance * (deviation[: len(covariance), None, None] ** 2), centre=centre,
        n_members=seen.n_members, **_beside(seen, words * deviation, plan.q),
    )  # fmt: skip


def _strays(found: Any, y: F64, weight: F64, apart: Any, ridge: float) -> F64:
    """Mean square of what predictions miss of documents ``apart``, by weights fitted without them."""
    fitted, offset, *_ = fit_numbers(found[~apart], y[~apart], weight[~apart], ridge)
    gap = y[apart] - (found[apart] @ fitted + offset)
    return np.asarray(np.average(gap**2, axis=0, weights=weight[apart]), np.float64)


def _noise(found: Any, y: F64, weight: F64, plan: RefitPlan) -> F64:
    """Mean square of what predictions miss, each document by weights fitted without it (in folds)."""
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
