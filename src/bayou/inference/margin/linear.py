"""Linear models on leave-one-out topics, with words beside them: what the refit fits.

Features are the average topics of a document and, scaled by q, its words of unit length. The weights of words
then have q**2 times the prior variance of the weights of topics.
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

from bayou.inference.lda.arrays import F32, F64

RIDGE = 1e-3  # of features of topics, which are shares: nearly none
_ONE_AT_A_TIME = threading.Lock()  # liblinear draws from one generator that all threads share


class RefitEvidence(NamedTuple):
    """What the refit learns from; rows are documents in the order of the chains, which is random."""

    zbar: F32  # leave-one-out average topics
    words: csr_array | None  # of unit length, if words may take part
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
    auto: bool = False  # whether q is to be chosen (`residual`)
    free_positive: bool = False  # whether the cost of positive labels is to be chosen too
    c: float = 1.0  # factor on C of the classifiers
    positive: float = 1.0  # factor on the cost of positive labels

    @property
    def strength(self) -> float:
        """C of the classifiers, 1 / ridge of the regressions."""
        if self.model == "ridge":
            return 1.0 / RIDGE if self.q == 0 else 1.0
        return self.c / max(1.0, self.q**2)


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


def label_cost(seen: RefitEvidence, plan: RefitPlan) -> F32:
    """Cost of every document and task, with the factor on positive labels."""
    if plan.positive == 1.0:
        return seen.cost
    return np.asarray(seen.cost * np.where(seen.y > 0, plan.positive, 1.0), np.float32)


def fit_tasks(seen: RefitEvidence, plan: RefitPlan, use: Any) -> tuple[F64, F64, F64]:
    """Weights of topics, weights of words and intercepts, fitted to the documents ``use``."""
    n_topics, n_tasks = seen.chain.shape
    words = None if plan.q == 0 or seen.words is None else seen.words[use]
    rest = (plan.strength, plan.model, plan.seed)
    y, cost = seen.y[use], label_cost(seen, plan)[use]
    if not seen.separate:
        found = stack(seen.zbar[use], words, plan.q)
        both, intercept = fit_margins(found, y, cost, *rest)
        return both[:n_topics], both[n_topics:], intercept
    size = n_topics // n_tasks
    weights, intercept = np.zeros((n_topics, n_tasks)), np.zeros(n_tasks)
    beside = np.zeros((0 if words is None else words.shape[1], n_tasks))
    for i in range(n_tasks):
        at, task = slice(i * size, (i + 1) * size), slice(i, i + 1)
        found = stack(seen.zbar[use, at], words, plan.q)
        one, intercept[task] = fit_margins(found, y[:, task], cost[:, task], *rest)
        weights[at, i], beside[:, i] = one[:size, 0], one[size:, 0]
    return weights, beside, intercept


def total_scores(seen: RefitEvidence, weights: F64, words: F64, intercept: F64, q: float) -> F64:
    """Scores of all documents (documents x tasks)."""
    out = seen.zbar.astype(np.float64) @ weights + intercept
    if q > 0 and seen.words is not None:
        out += (seen.words @ words) * q
    return np.asarray(out, np.float64)
