"""Accuracy of classifiers and R² of regressors against labels and targets as users give them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, r2_score

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, MissingTargetsWarning
from bayou.data.supervision import read_labels, read_targets

Array = NDArray[Any]


def label_lists(found: Array, classes: Array, *, multi_label: bool) -> list[list[Any]]:
    """Predictions as one list of labels per document."""
    if not multi_label:
        return [[label] for label in found.tolist()]
    return [classes[row > 0].tolist() for row in found]


def accuracy(
    found: Array, y: Any, X: Any, classes: Array, *, multi_label: bool, sample_weight: Any = None
) -> float:
    """Share of documents whose class, or whole set of labels, is right.

    Documents without a label are left out. A label that is not in ``classes`` counts as missed.

    Parameters
    ----------
    found : array
        Predictions: classes (documents,), or an indicator (documents, labels).
    y : labels or None
        None takes the labels of ``X``.
    X : Corpus or matrix
    classes : array
    multi_label : bool
    sample_weight : array (documents,), optional
    """
    corpus = X if isinstance(X, Corpus) else None
    compare = _same_labels if multi_label else _same_class
    right, known = compare(y, found, classes, corpus)
    use = np.flatnonzero(known)
    if not len(use):
        raise DataError("no document has a label; give some to measure with")
    weight = None if sample_weight is None else np.asarray(sample_weight)[use]
    return float(accuracy_score(np.ones(len(use), bool), right[use], sample_weight=weight))


def _same_class(y: Any, found: Array, classes: Array, corpus: Corpus | None) -> tuple[Array, Array]:
    """Whether each document was given the right class, and which documents have one."""
    truth = read_labels(
        y, len(found), corpus=corpus, classes=classes, multi_label=False, others=True
    )
    return truth.classes[np.maximum(truth.codes, 0)] == found, truth.known


def _same_labels(
    y: Any, found: Array, classes: Array, corpus: Corpus | None
) -> tuple[Array, Array]:
    """Whether each document was given exactly the right labels, and which documents have labels."""
    truth = read_labels(
        y, len(found), corpus=corpus, classes=classes, multi_label=True, others=True
    )
    place = {name: i for i, name in enumerate(classes.tolist())}
    wanted, unknown = np.zeros_like(found), np.zeros(len(found), bool)
    dense = truth.indicator.toarray()
    for j, name in enumerate(truth.classes.tolist()):
        if name in place:
            wanted[:, place[name]] = dense[:, j]
        else:
            unknown |= dense[:, j] > 0
    return (wanted == found).all(axis=1) & ~unknown, truth.known


def r2(found: Array, y: Any, X: Any, sample_weight: Any = None) -> float:
    """R² of predictions, averaged over the targets. Missing targets (NaN) are left out.

    Parameters
    ----------
    found : array (documents,) or (documents, targets)
    y : targets or None
        None takes the targets of ``X``.
    X : Corpus or matrix
    sample_weight : array (documents,), optional
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingTargetsWarning)
        truth = read_targets(y, len(found), corpus=X if isinstance(X, Corpus) else None)
    found = found.reshape(len(found), -1)
    if truth.shape != found.shape:
        raise DataError(f"the model predicts {found.shape[1]} targets; y has {truth.shape[1]}")
    weight = np.ones(len(truth)) if sample_weight is None else np.asarray(sample_weight)
    each = [
        r2_score(truth[use, t], found[use, t], sample_weight=weight[use])
        for t, use in enumerate(~np.isnan(truth).T)
    ]
    return float(np.mean(each))
