"""A classifier of labels with a rule instead of its own threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self, TypeVar

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import whole
from bayou.inference.thresholds.rule import Rule
from bayou.inference.thresholds.rules import SCut
from bayou.kernels.rng import FOLD, key, permutation
from bayou.multilabel.wrapping import (
    F64,
    I64,
    LabelTargets,
    Matrix,
    Wrapper,
    label_scores,
    seed_clone,
)

F = TypeVar("F", bound=Callable[..., Any])


def _if_inside(name: str) -> Callable[[F], F]:
    def able(model: ThresholdedClassifier) -> bool:
        return hasattr(getattr(model, "estimator_", model.estimator), name)

    return available_if(able)  # type: ignore[no-any-return]


def deal_folds(indicator: csr_array, n_folds: int, seed: int) -> list[tuple[I64, I64]]:
    """Folds (training, held-out): documents are dealt by their rarest labels, shuffled by key.

    So the folds have equal numbers of rare labels, as far as possible.
    """
    n_docs, n_labels = indicator.shape
    counts = np.bincount(indicator.indices, minlength=n_labels)
    rarity = np.argsort(np.argsort(counts, kind="stable"), kind="stable")[indicator.indices]
    rows = np.repeat(np.arange(n_docs), np.diff(indicator.indptr))
    rarity = rarity[np.lexsort((rarity, rows))]  # the rarest label of each document first
    place = np.arange(len(rows)) - indicator.indptr[rows]
    rarest = np.full((3, n_docs), n_labels)
    for n in range(3):
        rarest[n, rows[place == n]] = rarity[place == n]
    order = np.lexsort((permutation(n_docs, np.uint64(key(seed, FOLD, 0, 0))), *rarest[::-1]))
    fold = np.empty(n_docs, np.int64)
    fold[order] = np.arange(n_docs) % n_folds
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(n_folds)]


def _held_out_scores(learner: Any, X: Matrix, y: Any, use: I64, rest: I64, n_labels: int) -> F64:
    """Scores of documents under a classifier that was fitted to others."""
    return label_scores(learner.fit(X[use], y[use]), X[rest], n_labels)


@dataclass(eq=False, repr=False)
class ThresholdedClassifier(Wrapper):
    """Any classifier of labels, with a rule that is fitted to scores of held-out documents.

    Scores are `predict_proba` or, without it, `decision_function`. Around a classifier of two classes it
    tunes the one threshold.

    Parameters
    ----------
    estimator : classifier
        Takes an indicator, such as `OneVsRestClassifier`, `BlockClassifierChain` or `MedLDAClassifier`, or a
        vector of two classes. Its seeds that are None (``random_state=None``) follow from `random_state`.
    rule : rule of `bayou.multilabel`, optional
        Default: `SCut()`. Oracles are refused.
    cv : int, splitter, iterable of splits, or "prefit"
        Folds for the scores that the rule is fitted to. A number deals documents to folds by their rarest
        label. A splitter with one split makes one held-out part. With ``"prefit"`` the estimator is used as
        it is, and `fit` fits the rule only, to documents that the estimator has not seen.
    random_state : int, RandomState or None
        Deals documents to folds.
    n_jobs : int, optional
        Processes for the folds; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    estimator_ : classifier
        Fitted to all documents, or the one given with ``cv="prefit"``.
    rule_ : the fitted rule

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.multiclass import OneVsRestClassifier
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 10
    >>> Y = [["b"], ["a"], ["a", "b"], []] * 10
    >>> inside = OneVsRestClassifier(LogisticRegression())
    >>> model = ThresholdedClassifier(inside, random_state=0).fit(X, Y)
    >>> model.predict_labels(X[:4])
    [['b'], ['a'], ['a', 'b'], []]
    """

    estimator: Any
    rule: Any = None
    _: KW_ONLY
    cv: Any = 5
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the estimator, and the rule to scores of documents that it has not seen.

        Parameters
        ----------
        X : matrix (documents, features), dense or sparse, or Corpus
        y : indicator (documents, labels), dense or sparse; label lists; a vector of two classes
            Not needed if X is a corpus with labels.
        """
        rule = self._check_rule()
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        n_labels = self._n_labels()
        if isinstance(self.cv, str) and self.cv == "prefit":
            check_is_fitted(self.estimator)
            self.estimator_ = self.estimator
            rows = np.arange(matrix.shape[0])
            scores = label_scores(self.estimator, matrix, n_labels)
        else:
            target = _target(truth)
            splits = self._splits(matrix, target, truth.indicator)
            clones = [seed_clone(self.estimator, self.seed_, 1 + i, 0) for i in range(len(splits))]
            found = Parallel(n_jobs=self.n_jobs)(
                delayed(_held_out_scores)(one, matrix, target, use, rest, n_labels)
                for one, (use, rest) in zip(clones, splits, strict=True)
            )
            rows, scores = np.concatenate([rest for _, rest in splits]), np.vstack(found)
            self.estimator_ = seed_clone(self.estimator, self.seed_, 0, 0).fit(matrix, target)
        documents = (matrix[rows],) if rule.uses_documents else ()
        self.rule_ = rule.fit(scores, truth.indicator[rows], *documents)
        return self

    def __sklearn_tags__(self) -> Any:
        tags, inside = super().__sklearn_tags__(), get_tags(self.estimator)
        several = bool(getattr(inside.classifier_tags, "multi_label", False))
        tags.target_tags.multi_output = several or inside.target_tags.multi_output
        tags.classifier_tags.multi_label = several
        return tags

    def _check_rule(self) -> Any:
        rule = SCut() if self.rule is None else self.rule
        if not isinstance(rule, Rule):
            raise ValueError(f"rule must be a rule of bayou.multilabel; got {rule!r:.80}")
        if rule.needs_test_labels:
            raise ValueError(
                f"{type(rule).__name__} needs the labels of the documents it predicts; fit it to the "
                "test scores and labels by itself"
            )
        return clone(rule)

    def _splits(self, X: Matrix, target: Any, indicator: csr_array) -> list[tuple[I64, I64]]:
        if isinstance(self.cv, int | np.integer):
            whole("cv", self.cv, 2)
            n_docs = X.shape[0]
            if n_docs < 2:
                raise ValueError(
                    f"cross-validation needs at least 2 documents; got n_samples = {n_docs}"
                )
            return deal_folds(indicator, min(int(self.cv), n_docs), self.seed_)
        if self.cv is None or isinstance(self.cv, str):
            raise ValueError(f"cv must be a number of folds, splits, or 'prefit'; got {self.cv!r}")
        return [(np.asarray(a), np.asarray(b)) for a, b in check_cv(self.cv).split(X, target)]

    def _scores(self, X: Any, method: str | None = None) -> tuple[Matrix, F64]:
        check_is_fitted(self)
        matrix = self._documents(X, reset=False)
        return matrix, label_scores(self.estimator_, matrix, self._n_labels(), method)

    def predict(self, X: Any) -> Any:
        """The labels of each document, in the form that y had: an indicator, or a vector of classes."""
        matrix, scores = self._scores(X)
        return self._answers(
            self.rule_.predict(scores, *((matrix,) if self.rule_.uses_documents else ()))
        )

    @_if_inside("predict_proba")
    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the estimator (documents, labels); for a vector of two classes, of both.

        `predict` uses the rule's thresholds, which need not be 1/2.
        """
        return self._columns(self._scores(X, "predict_proba")[1])

    @_if_inside("decision_function")
    def decision_function(self, X: Any) -> F64:
        """Scores of the estimator (documents, labels); for a vector of two classes (documents,)."""
        found = self._scores(X, "decision_function")[1]
        return found[:, 0] if self._form == "vector" else found


def _target(truth: LabelTargets) -> Any:
    """The labels as scikit-learn's classifiers take them, in the form of y."""
    if truth.form == "sparse":
        return csr_matrix(truth.indicator.astype(np.int64))
    bits = truth.indicator.toarray().astype(np.int64)
    return truth.classes[bits[:, 0]] if truth.form == "vector" else bits
