"""The refit: linear weights on features that labels have not shaped, and probabilities, after the chain.

In a chain the labels have shaped the topics of the documents they belong to, so its weights see features that
new documents never have. Weights refitted on leave-one-out features (`features.zbar_without`) see what new
documents have. Words beside topics (the residual) then explain only what the topics do not.
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

from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.margin import calibration
from bayou.inference.margin.tasks import MarginTask
from bayou.results.response import Response

N_FOLDS = 3  # of the scores that probabilities are fitted to if words take part
RIDGE = 1e-3  # of features of topics, which are shares: nearly none
_ONE_AT_A_TIME = threading.Lock()  # liblinear draws from one generator that all threads share


class RefitEvidence(NamedTuple):
    """What the refit learns from; rows are documents in the order of the chains."""

    zbar: F32  # leave-one-out average topics
    words: csr_array | None  # of unit length, if words take part
    y: F32  # signs, or numbers
    cost: F32  # 0 where nothing is known
    term_weight: F32
    word_weight: F32
    chain: F64  # weights as the chains have them (topics x tasks)
    draws: F32
    n_members: int
    separate: bool  # a chain for each task: a task sees the topics of its own chain


class RefitPlan(NamedTuple):
    """How weights are refitted."""

    refit: bool  # whether they are, without words
    q: float  # weight of words beside topics, 0 for none
    model: str  # `Loss.refit`
    seed: int

    @property
    def strength(self) -> float:
        """C of the classifiers, 1 / ridge of the regressions."""
        if self.model == "ridge":
            return 1.0 / RIDGE if self.q == 0 else 1.0
        return 1.0 / max(1.0, self.q**2)


def respond(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights and predictions of the model; ``order`` brings documents to the order of the evidence."""
    if plan.model == "ridge":
        return regress(seen, task, order, plan)
    return classify(seen, task, order, plan)


def stack(zbar: F32, words: csr_array | None, q: float) -> Any:
    """Topics, and words scaled by q: their weights then have q**2 times the variance."""
    if words is None:
        return zbar.astype(np.float64)
    return hstack([csr_array(zbar.astype(np.float64)), words * q], format="csr")


def fit_margins(
    features: Any, y: F32, cost: F32, strength: float, model: str, seed: int
) -> tuple[F64, F64]:
    """Weights (features x tasks) and intercepts: one linear classifier per task, on documents with a label.

    ``model`` is "svm" or "logistic".
    """
    kind = {"svm": LinearSVC, "logistic": LogisticRegression}[model]
    extra = {"solver": "liblinear"} if model == "logistic" else {}
    n_tasks = y.shape[1]
    weights, intercept = np.zeros((features.shape[1], n_tasks)), np.zeros(n_tasks)
    for i in range(n_tasks):
        use = np.flatnonzero(cost[:, i] > 0)
        signs = y[use, i]
        if len(use) == 0 or signs.min() == signs.max():
            intercept[i] = 0.0 if len(use) == 0 else float(signs[0])
            continue
        machine = kind(C=strength, random_state=seed & 0x7FFFFFFF, max_iter=2000, **extra)
        with _ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(features[use], signs, sample_weight=cost[use, i])
        weights[:, i], intercept[i] = machine.coef_[0], machine.intercept_[0]
    return weights, intercept


def fit_numbers(features: Any, y: F64, weight: F64, ridge: float) -> tuple[F64, F64, F64, F64]:
    """Ridge regression per target: weights, intercepts, noise variance, covariance of the weights.

    The covariance (targets x features x features) has no rows if the features are sparse.
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
            fitted = 1.0 + np.trace(inverse @ gram)  # degrees of freedom, with the intercept
            spare = max(1.0 - fitted / max(len(use), 1), 0.05)
            covariance[t] = inverse
        noise[t] = np.average(residual**2, weights=weight[use]) / spare
        if dense:
            covariance[t] *= noise[t]
    return weights, intercept, noise, covariance


def classify(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights, intercepts and probabilities of a classifier."""
    n_topics, n_tasks = seen.chain.shape
    weights, intercept = seen.chain, np.zeros(n_tasks)
    words = np.zeros((0, n_tasks))
    scores, share = seen.zbar.astype(np.float64) @ weights, 1.0
    if plan.refit or plan.q > 0:
        weights, words, intercept = _fit_tasks(seen, plan, np.arange(len(seen.y)))
        scores = _total(seen, weights, words, intercept, plan.q)
    if plan.q > 0:  # word weights fit the training documents too well to calibrate on them
        scores, share = _cross_validate(seen, plan, task.kind)
    slope, offset = _calibrate(scores, seen, task, order)
    none = np.zeros((0, n_topics, n_topics))
    return Response(
        kind=task.kind, classes=task.classes, weights=np.ascontiguousarray(weights),
        intercept=intercept,
        term_weight=seen.term_weight, slope=slope, offset=offset, share=share, draws=seen.draws,
        noise=np.zeros(n_tasks), covariance=none, centre=np.zeros(n_topics),
        n_members=seen.n_members, **_word_parts(seen, words, plan.q),
    ).balance_border()  # fmt: skip


def _calibrate(scores: F64, seen: RefitEvidence, task: MarginTask, order: I64) -> tuple[F64, F64]:
    """Slope and offset of every task, by which scores become probabilities."""
    n_tasks = scores.shape[1]
    slope, offset = np.ones(n_tasks), np.zeros(n_tasks)
    known = np.flatnonzero(task.known[order])
    if task.kind == "multi-class":
        slope[:] = calibration.temperature(scores[known], task.codes[order][known])
        return slope, offset
    # binary: costs move the border between the classes; a label is not more probable for its cost
    cost = seen.cost[known] if task.kind == "binary" else np.ones((len(known), n_tasks))
    weight = cost / max(float(cost[cost > 0].mean(dtype=np.float64)), 1e-300)
    for i in range(n_tasks):
        slope[i], offset[i] = calibration.sigmoid(scores[known, i], seen.y[known, i], weight[:, i])
    return slope, offset


def _cross_validate(seen: RefitEvidence, plan: RefitPlan, kind: str) -> tuple[F64, float]:
    """Scores of documents by weights fitted without them, and the share of topics in the margins."""
    scores, mine = np.zeros(seen.y.shape), np.zeros(seen.y.shape)
    part = np.arange(len(seen.y)) % N_FOLDS
    for fold in range(N_FOLDS):
        at = part == fold
        fitted = _fit_tasks(seen, plan, np.flatnonzero(~at))
        scores[at] = _total(seen, *fitted, plan.q)[at]
        mine[at] = seen.zbar[at] @ fitted[0]
    return scores, _share(mine, scores, kind)


def _word_parts(seen: RefitEvidence, words: F64, q: float) -> dict[str, Any]:
    if q == 0:
        return {}
    return {"words": (words * q).astype(np.float32), "word_weight": seen.word_weight}


def _fit_tasks(seen: RefitEvidence, plan: RefitPlan, use: Any) -> tuple[F64, F64, F64]:
    """Weights of topics, weights of words and intercepts, fitted to the documents ``use``."""
    n_topics, n_tasks = seen.chain.shape
    words = None if plan.q == 0 or seen.words is None else seen.words[use]
    rest = (plan.strength, plan.model, plan.seed)
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
    """The share of topics in the margins.

    Several classes: in the lead of the best class over the second. Otherwise: in the positive scores.
    """
    if kind == "multi-class":
        best = np.argsort(total, axis=1)[:, -2:]
        at = np.arange(len(total))
        lead = total[at, best[:, 1]] - total[at, best[:, 0]]
        mine = topic_part[at, best[:, 1]] - topic_part[at, best[:, 0]]
        return float(mine.sum() / max(lead.sum(), 1e-12))
    positive = total > 0
    return float(topic_part[positive].sum() / max(total[positive].sum(), 1e-12))


def regress(seen: RefitEvidence, task: MarginTask, order: I64, plan: RefitPlan) -> Response:
    """Weights and noise of a regression, on the scale of the targets."""
    n_topics, n_tasks = seen.chain.shape
    y = np.where(seen.cost > 0, seen.y, np.nan).astype(np.float64)
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
    total = _total(seen, weights, words, intercept, plan.q)
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
    weight = seen.cost.max(axis=1).astype(np.float64)
    weight /= max(float(weight.max()), 1e-300)
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
