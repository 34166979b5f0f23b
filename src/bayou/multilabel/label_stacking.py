"""Stacking: the scores of all labels become features of a second classifier per label.

Binary relevance gives each label a probability. The second level sees the probabilities of all labels, and
the document if wanted, and so learns which labels go together. Its training features are probabilities of
documents that the first level was not fitted to (cross-validation), as they are for new documents.

[Godbole04] Godbole, Sarawagi. Discriminative methods for multi-labeled classification. PAKDD 2004.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import whole
from bayou.multilabel.learners import fit_label, join_features, label_probability
from bayou.multilabel.thresholded import deal_folds
from bayou.multilabel.wrapping import F64, Matrix, Wrapper, seed_clone


@dataclass(eq=False, repr=False)
class LabelStacking(Wrapper):
    """Two levels of binary relevance; the second sees the probabilities of all labels [Godbole04].

    Parameters
    ----------
    estimator : classifier
        Of each label on the first level, as in `BlockClassifierChain`.
    final_estimator : classifier or None
        Of each label on the second level. None is `estimator`.
    passthrough : bool
        Give the second level the documents' features too.
    n_folds : int
        Folds of the cross-validation, at least 2.
    random_state : int, RandomState or None
    n_jobs : int, optional
        Processes, as in scikit-learn; results do not depend on it.

    Attributes
    ----------
    classes_ : array
        Names of the labels.
    estimators_, final_estimators_ : list
        The fitted classifiers of both levels, one per label; a `Constant` for a label that all training
        documents have, or that none has.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = [[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]] * 5
    >>> Y = [["b"], ["a"], ["a", "b"], []] * 5
    >>> model = LabelStacking(LogisticRegression(C=10), random_state=0).fit(X, Y)
    >>> model.predict_labels([[0, 1], [0, 0]])
    [['b'], []]
    """

    estimator: Any
    _: KW_ONLY
    final_estimator: Any = None
    passthrough: bool = True
    n_folds: int = 5
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit both levels; X and y as in `BlockClassifierChain.fit`."""
        whole("n_folds", self.n_folds, 2)
        matrix, truth = self._read(X, y)
        self.seed_ = self._resolve_seed()
        n_docs, labels = matrix.shape[0], truth.indicator
        if n_docs < 2:
            raise ValueError(
                f"cross-validation needs at least 2 documents; got n_samples = {n_docs}"
            )
        seen = np.empty((n_docs, labels.shape[1]))
        folds = deal_folds(labels, min(int(self.n_folds), n_docs), self.seed_)
        for i, (use, rest) in enumerate(folds):
            fitted = self._fit_level(self.estimator, matrix[use], csr_array(labels[use]), i + 2)
            seen[rest] = self._level(fitted, matrix[rest])
        final = self.estimator if self.final_estimator is None else self.final_estimator
        self.estimators_ = self._fit_level(self.estimator, matrix, labels, 0)
        self.final_estimators_ = self._fit_level(final, self._join(matrix, seen), labels, 1)
        return self

    def _fit_level(self, estimator: Any, X: Matrix, labels: csr_array, level: int) -> list[Any]:
        columns, none = labels.tocsc(), csr_array((X.shape[0], 0))
        tasks = (
            delayed(fit_label)(
                seed_clone(estimator, self.seed_, level, label), X, none,
                columns[:, [label]].toarray().ravel().astype(np.int64),
            )
            for label in range(columns.shape[1])
        )  # fmt: skip
        fitted: list[Any] = Parallel(n_jobs=self.n_jobs)(tasks)
        return fitted

    def _level(self, learners: list[Any], X: Matrix) -> F64:
        found = Parallel(n_jobs=self.n_jobs)(delayed(label_probability)(one, X) for one in learners)
        return np.column_stack(found)

    def _join(self, X: Matrix, probability: F64) -> Matrix:
        return join_features(X, probability) if self.passthrough else probability

    def predict_proba(self, X: Any) -> F64:
        """Probabilities of the labels (documents, labels) by the second level.

        For a vector of two classes: of both classes.
        """
        check_is_fitted(self)
        matrix = self._documents(X, reset=False)
        return self._columns(self._probabilities(matrix))

    def _probabilities(self, X: Matrix) -> F64:
        features = self._join(X, self._level(self.estimators_, X))
        return self._level(self.final_estimators_, features)

    def predict(self, X: Any) -> Any:
        """The labels with a probability above one half, in the form that y had."""
        check_is_fitted(self)
        return self._answers(self._probabilities(self._documents(X, reset=False)) > 0.5)
