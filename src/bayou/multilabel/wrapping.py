"""The base of estimators around another estimator: input checks, seeds and scores."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import accuracy_score
from sklearn.utils import get_tags
from sklearn.utils.validation import validate_data

from bayou.api.params import resolve_seed
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.label_forms import MULTI_CLASS, MULTI_LABEL, of_matrix
from bayou.data.supervision import read_labels
from bayou.kernels.rng import LEARNER, key
from bayou.metrics.multilabel.inputs import is_sparse

F64 = NDArray[np.float64]
I64 = NDArray[np.int64]
Matrix = Any  # a dense array or a csr_array


class LabelTargets(NamedTuple):
    """The labels of documents, and the form of y, which predictions also have."""

    form: str  # "vector" of two classes; "dense" or "sparse" indicator
    classes: NDArray[Any]  # two classes, or one name for each label
    indicator: csr_array  # int8, documents x labels; of two classes, the second is the only label
    known: NDArray[np.bool_]


def read_truth(y: Any, n_docs: int, corpus: Corpus | None = None) -> LabelTargets:
    """Read labels: an indicator of any number of columns, label lists, or a vector of two classes.

    Examples
    --------
    >>> read_truth(["no", "yes", "no"], 3).indicator.toarray().ravel().tolist()
    [0, 1, 0]
    >>> read_truth([["a"], ["a", "b"], []], 3).classes.tolist()
    ['a', 'b']
    """
    if y is None:
        found = read_labels(None, n_docs, corpus=corpus, multi_label=True)
    elif _is_one_label(y) and y.shape[0] == n_docs:
        found = of_matrix(y, None, None)
    else:
        found = read_labels(y, n_docs)
    if found.kind == MULTI_CLASS:
        raise DataError(
            f"Only binary classification is supported. The type of the target is multiclass, with "
            f"{len(found.classes)} classes; give an indicator or label lists for several labels"
        )
    if found.kind == MULTI_LABEL:
        form = "sparse" if is_sparse(y) else "dense"
        return LabelTargets(form, found.classes, csr_array(found.indicator), found.known)
    return LabelTargets("vector", found.classes, csr_array(found.indicator[:, [1]]), found.known)


def _is_one_label(y: Any) -> bool:
    """Whether y is an indicator of one column; other columns are vectors of classes."""
    if getattr(y, "ndim", 0) != 2 or not hasattr(y, "shape") or y.shape[1] != 1:
        return False
    values = y.data if is_sparse(y) else np.asarray(y)
    return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())


class Wrapper(ClassifierMixin, BaseEstimator):
    """The base of label classifiers around another estimator.

    Attributes
    ----------
    classes_ : array
        Names of the labels, in the order of columns; the two classes if y was a vector.
    """

    estimator: Any
    random_state: Any

    def _read(self, X: Any, y: Any) -> tuple[Matrix, LabelTargets]:
        """Documents whose labels are known, and these labels."""
        corpus = X if isinstance(X, Corpus) else None
        matrix = self._documents(X, reset=True)
        truth = read_truth(y, matrix.shape[0], corpus)
        self.classes_ = truth.classes
        self._form = truth.form
        if truth.known.all():
            return matrix, truth
        use = np.flatnonzero(truth.known)
        return matrix[use], truth._replace(indicator=truth.indicator[use], known=truth.known[use])

    def _documents(self, X: Any, *, reset: bool) -> Matrix:
        if isinstance(X, Corpus):
            X = X.counts
        finite: Any = "allow-nan" if get_tags(self.estimator).input_tags.allow_nan else True
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=finite,
            reset=reset,
        )  # fmt: skip

    def _resolve_seed(self) -> int:
        """One integer from `random_state`, once per fit."""
        return resolve_seed(self.random_state)

    def _n_labels(self) -> int:
        return 1 if self._form == "vector" else len(self.classes_)

    def _answers(self, given: Any) -> Any:
        """Labels (documents x labels, dense or sparse) in the form of y."""
        if self._form == "sparse":
            return csr_array(given).astype(np.int64)
        bits = np.asarray(given.toarray() if is_sparse(given) else given, np.int64)
        return self.classes_[bits[:, 0]] if self._form == "vector" else bits

    def _columns(self, probability: F64) -> F64:
        """Probabilities of labels or, for a vector of classes, of both classes."""
        if self._form == "vector":
            return np.column_stack([1.0 - probability[:, 0], probability[:, 0]])
        return probability

    def predict_labels(self, X: Any) -> list[list[Any]]:
        """The labels of each document as lists; with one entry if y was a vector of two classes."""
        found: Any = self.predict(X)
        if self._form == "vector":
            return [[label] for label in found.tolist()]
        rows = csr_array(found)
        ends = rows.indptr.tolist()
        return [self.classes_[np.sort(rows.indices[a:b])].tolist() for a, b in pairwise(ends)]

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Share of documents whose whole set of labels is right.

        ``y`` may be left out if X is a corpus with labels. A label that did not occur in training counts as
        missed. Documents without known labels are left out.
        """
        found: Any = self.predict(X)
        if self._form == "vector":
            return float(accuracy_score(y, found, sample_weight=sample_weight))
        rows = csr_array(found)
        corpus = X if isinstance(X, Corpus) else None
        if y is not None and _is_one_label(y):
            truth = of_matrix(y, None, self.classes_)
        else:
            truth = read_labels(
                y, rows.shape[0], corpus=corpus, classes=self.classes_, multi_label=True, others=True
            )  # fmt: skip
        more = truth.indicator.shape[1] - rows.shape[1]  # new labels come last
        padded = sparse.hstack([rows, csr_array((rows.shape[0], more))]) if more else rows
        wrong = csr_array(abs(csr_array(padded) - truth.indicator)).sum(axis=1)
        use = np.flatnonzero(truth.known)
        weight = None if sample_weight is None else np.asarray(sample_weight)[use]
        return float(np.average(np.asarray(wrong).ravel()[use] == 0, weights=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inside = get_tags(self.estimator)
        tags.input_tags.sparse = inside.input_tags.sparse
        tags.input_tags.allow_nan = inside.input_tags.allow_nan
        tags.target_tags.multi_output = True
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = bool(getattr(inside.classifier_tags, "poor_score", False))
        return tags


def seed_clone(estimator: Any, seed: int, i: int, j: int) -> Any:
    """A clone whose seeds that are None (`random_state`) follow from ``seed`` and two numbers."""
    out = clone(estimator)
    parameters = sorted(out.get_params(deep=True).items()) if hasattr(out, "get_params") else []
    names = [name for name, value in parameters if value is None and _is_seed(name)]
    base = int(key(seed, LEARNER, i, j)) & 0x7FFFFFFF
    seeds = {name: int(key(base, LEARNER, n, 0)) & 0x7FFFFFFF for n, name in enumerate(names)}
    return out.set_params(**seeds) if seeds else out


def _is_seed(name: str) -> bool:
    return name == "random_state" or name.endswith("__random_state")


def label_scores(estimator: Any, X: Matrix, n_labels: int, method: str | None = None) -> F64:
    """Scores (documents, labels) of a fitted label classifier, in one form.

    Parameters
    ----------
    estimator : fitted classifier
    X : matrix (documents, features)
    n_labels : int
    method : {"predict_proba", "decision_function"}, optional
        Default: the first one that the estimator has.
    """
    if method is None:
        have = [name for name in ("predict_proba", "decision_function") if hasattr(estimator, name)]
        if not have:
            raise ValueError(
                f"{type(estimator).__name__} has neither predict_proba nor decision_function; "
                "a threshold needs scores"
            )
        method = have[0]
    given = getattr(estimator, method)(X)
    if isinstance(given, list):  # one array of class probabilities for each label
        given = np.column_stack(
            [_one_column(p, c) for p, c in zip(given, estimator.classes_, strict=True)]
        )
    found = np.asarray(given, np.float64)
    found = found[:, None] if found.ndim == 1 else found
    if n_labels == 1 and found.shape[1] == 2:
        found = found[:, 1:]
    if found.shape[1] != n_labels:
        raise ValueError(
            f"{method} of {type(estimator).__name__} gives {found.shape[1]} columns for {n_labels} labels; "
            "give a classifier of several labels, such as OneVsRestClassifier"
        )
    return found


def _one_column(probability: Any, classes: Any) -> F64:
    """Probability of class 1 of a label; the label may have had one class only in training."""
    values, at = np.asarray(probability, np.float64), np.flatnonzero(np.asarray(classes) == 1)
    return values[:, at[0]] if len(at) else np.zeros(len(values))
