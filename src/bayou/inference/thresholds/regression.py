"""Rules with a regression on documents: the number of labels, or the threshold.

[Elisseeff01] Elisseeff, Weston. A kernel method for multi-labelled classification. NIPS 14, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.sparse import csr_array
from sklearn.linear_model import Lasso, LassoCV, Ridge
from sklearn.utils.validation import check_array

from bayou.data.checks import number, optional, whole
from bayou.inference.lda.arrays import F64
from bayou.inference.thresholds.levels import best_threshold
from bayou.inference.thresholds.rule import Rule, _pair, above, in_form, top_labels
from bayou.metrics.multilabel.inputs import Scores, dense, is_sparse, row_chunks

_FOLDS = 3


class _OfDocuments(Rule):
    """A rule with a regression on the features of documents or, without features, on their scores."""

    uses_documents: ClassVar[bool] = True

    if TYPE_CHECKING:
        model_: Any

        def _regress(self, scores: Scores, truth: csr_array, features: Any) -> None: ...
        def _choose_labels(self, scores: Scores, predicted: F64) -> csr_array: ...

    def fit(self, scores: Any, truth: Any, X: Any = None) -> Self:
        """Learn from scores that were computed without ``truth``.

        Parameters
        ----------
        scores : matrix (documents, labels), dense or sparse
        truth : matrix of 0 and 1 (documents, labels), dense or sparse
        X : matrix (documents, features), optional
            What the regression is on. Default: the scores.
        """
        given, true = _pair(scores, truth)
        self.on_scores_ = X is None
        features = self._features(given, X)
        self._regress(given, true, features)
        self.n_labels_, self.n_features_ = true.shape[1], features.shape[1]
        return self

    def predict(self, scores: Any, X: Any = None) -> Any:
        """The labels of each document as an indicator, sparse if the scores are.

        Parameters
        ----------
        scores : matrix (documents, labels), dense or sparse
        X : matrix (documents, features)
            Required if `fit` had it.
        """
        given = self._read(scores)
        if (X is None) is not self.on_scores_:
            way = "without" if self.on_scores_ else "with"
            raise ValueError(f"{type(self).__name__} was fitted {way} X; give predict the same")
        features = self._features(given, X)
        if features.shape[1] != self.n_features_:
            raise ValueError(f"X has {features.shape[1]} columns; it had {self.n_features_} in fit")
        return in_form(
            self._choose_labels(given, np.asarray(self.model_.predict(features))), scores
        )

    def _features(self, scores: Scores, X: Any) -> Any:
        if X is None:
            return scores
        features = check_array(X, accept_sparse="csr", dtype=np.float64)
        if features.shape[0] != scores.shape[0]:
            raise ValueError(
                f"X has {features.shape[0]} documents, scores have {scores.shape[0]}; they must be equal"
            )
        return features


@dataclass(kw_only=True, eq=False, repr=False)
class CardinalityRegression(_OfDocuments):
    """The best labels of a document, as many as a Lasso regression on the document predicts; at least one.

    The regression does not depend on the classifier.

    Parameters
    ----------
    penalty : float, optional
        Weight of the Lasso's penalty. Default: chosen by cross-validation in three folds.
    max_docs : int
        Most documents to learn from, taken at equal distances.

    Attributes
    ----------
    model_ : Lasso or LassoCV
        Predicts the number of labels.

    Examples
    --------
    >>> X = [[0.0], [1.0]] * 10
    >>> scores = [[0.9, 0.2, 0.4]] * 20
    >>> truth = [[1, 0, 0], [1, 0, 1]] * 10
    >>> CardinalityRegression().fit(scores, truth, X).predict(scores[:2], X[:2])
    array([[1, 0, 0], [1, 0, 1]])
    """

    penalty: float | None = None
    max_docs: int = 10_000

    def _regress(self, scores: Scores, truth: csr_array, features: Any) -> None:
        whole("max_docs", self.max_docs, 1)
        optional("penalty", self.penalty, 0.0)
        n_docs = truth.shape[0]
        use = np.unique(np.linspace(0, n_docs - 1, min(n_docs, self.max_docs)).round().astype(int))
        sizes = np.diff(truth.indptr)[use].astype(np.float64)
        few = len(use) < 2 * _FOLDS or (sizes == sizes[0]).all()
        if self.penalty is None and few:
            model: Any = Lasso(alpha=1e6)  # too few documents: the mean for all
        elif self.penalty is None:
            # predictions are rounded, so small penalties and high precision do not help
            model = LassoCV(cv=_FOLDS, eps=1e-2, tol=1e-3)
        elif self.penalty == 0:
            model = Ridge(alpha=1e-9)
        else:
            model = Lasso(alpha=self.penalty)
        kept = features[use]
        self.model_ = model.fit(sparse.csc_matrix(kept) if is_sparse(kept) else kept, sizes)

    def _choose_labels(self, scores: Scores, predicted: F64) -> csr_array:
        n_each = np.clip(np.floor(predicted + 0.5), 1, scores.shape[1]).astype(np.int64)
        return top_labels(scores, n_each)


@dataclass(kw_only=True, eq=False, repr=False)
class ThresholdRegression(_OfDocuments):
    """Labels above a threshold that a ridge regression on the document predicts [Elisseeff01].

    The regression is fitted to the threshold of each document with the best F1 of its labels. For a document
    without labels it is fitted to the largest score.

    Parameters
    ----------
    penalty : float
        Weight of the penalty on squared coefficients.

    Attributes
    ----------
    model_ : Ridge
        Predicts the threshold.

    Examples
    --------
    >>> scores, truth = [[0.9, 0.1, 0.5], [0.6, 0.1, 0.2]] * 5, [[1, 0, 1], [1, 0, 0]] * 5
    >>> ThresholdRegression(penalty=0.01).fit(scores, truth).predict(scores[:2])
    array([[1, 0, 1], [1, 0, 0]])
    """

    penalty: float = 1.0

    def _regress(self, scores: Scores, truth: csr_array, features: Any) -> None:
        number("penalty", self.penalty, 0.0)
        best = np.empty(truth.shape[0])
        for rows in row_chunks(*truth.shape):
            block = np.asarray(dense(scores[rows]), np.float64)
            for d, values in enumerate(block, rows.start):
                best[d] = best_threshold(
                    values, truth.indices[truth.indptr[d] : truth.indptr[d + 1]]
                )
        kept = sparse.csr_matrix(features) if is_sparse(features) else features
        self.model_ = Ridge(alpha=self.penalty).fit(kept, best)

    def _choose_labels(self, scores: Scores, predicted: F64) -> csr_array:
        return above(scores, predicted[:, None])
