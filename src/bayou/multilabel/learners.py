"""The parts of chains: classifiers of one label, with other labels as further features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array
from scipy.special import expit

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Matrix = Any  # a dense array or a csr_array


def probability_of_one(estimator: Any, X: Matrix) -> F64:
    """Probability of class 1 under a classifier of 0 and 1.

    Margins become probabilities by the logistic function. A classifier with neither predicts 0 or 1.
    """
    if hasattr(estimator, "predict_proba"):
        column = int(np.flatnonzero(np.asarray(estimator.classes_) == 1)[0])
        return np.asarray(estimator.predict_proba(X)[:, column], np.float64)
    if hasattr(estimator, "decision_function"):
        return np.asarray(expit(np.asarray(estimator.decision_function(X)).ravel()), np.float64)
    return np.asarray(estimator.predict(X), np.float64)


class Constant(NamedTuple):
    """The learner of a label that all training documents have, or that none has: (n_1 + 1) / (n + 2)."""

    probability: float


def join_features(X: Matrix, labels: Any) -> Matrix:
    """The features followed by labels (documents x labels, dense or sparse)."""
    if labels.shape[1] == 0:
        return X
    dtype = X.dtype
    if sparse.issparse(X):
        parts: Any = [X, csr_array(labels)]
        return csr_array(sparse.hstack(parts, format="csr", dtype=dtype))
    beside = labels if isinstance(labels, np.ndarray) else labels.toarray()
    return np.hstack([X, beside.astype(dtype)])


def fit_label(learner: Any, X: Matrix, before: csr_array, target: NDArray[np.int64]) -> Any:
    """The learner of one label, fitted to the features and the true labels before it."""
    n_1 = int(target.sum())
    if n_1 in (0, len(target)):
        return Constant((n_1 + 1) / (len(target) + 2))
    return learner.fit(join_features(X, before), target)


def label_probability(learner: Any, X: Matrix) -> F64:
    """Probability that each document has the label of a learner."""
    if isinstance(learner, Constant):
        return np.full(X.shape[0], learner.probability)
    return probability_of_one(learner, X)


def block_probabilities(learners: Sequence[Any], labels: I64, X: Matrix) -> F64:
    """Probabilities of the labels of one inside-out block, each with those before it as features."""
    out = np.empty((X.shape[0], len(labels)))
    for i, learner in enumerate(learners):
        place = np.argsort(labels[:i])  # features are in the order of the labels' columns
        out[:, i] = label_probability(
            learner, join_features(X, (out[:, place] > 0.5).astype(np.int8))
        )
    return out
