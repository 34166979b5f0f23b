"""The base of rules, and three ways to choose: above a threshold, best labels, best documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from scipy import sparse
from scipy.sparse import csc_array, csr_array
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from bayou.inference.lda.arrays import F64, I64
from bayou.metrics.multilabel.inputs import (
    Scores,
    dense,
    is_sparse,
    largest,
    read_indicator,
    read_scores,
    row_chunks,
)


class Rule(BaseEstimator):
    """A rule from scores to label sets: fitted to scores and true labels, applied to new scores.

    Attributes
    ----------
    n_labels_ : int
    """

    uses_documents: ClassVar[bool] = False  # whether fit and predict also take the documents
    needs_test_labels: ClassVar[bool] = False  # whether the rule is an oracle

    if TYPE_CHECKING:

        def _learn(self, scores: Scores, truth: csr_array) -> None: ...
        def _choose(self, scores: Scores) -> csr_array: ...

    def fit(self, scores: Any, truth: Any) -> Self:
        """Learn from scores that were computed without ``truth``.

        Parameters
        ----------
        scores : matrix (documents, labels), dense or sparse
        truth : matrix of 0 and 1 (documents, labels), dense or sparse
        """
        given, true = _pair(scores, truth)
        self._learn(given, true)
        self.n_labels_ = true.shape[1]
        return self

    def predict(self, scores: Any) -> Any:
        """The labels of each document as an indicator, sparse if the scores are.

        Parameters
        ----------
        scores : matrix (documents, labels), dense or sparse
        """
        return in_form(self._choose(self._read(scores)), scores)

    def _read(self, scores: Any) -> Scores:
        check_is_fitted(self)
        given = read_scores(scores)
        if given.shape[1] != self.n_labels_:
            raise ValueError(
                f"scores have {given.shape[1]} columns, {type(self).__name__} was fitted on "
                f"{self.n_labels_} labels"
            )
        return given


def _pair(scores: Any, truth: Any) -> tuple[Scores, csr_array]:
    true = read_indicator("truth", truth)
    return read_scores(scores, true.shape), true


def in_form(found: csr_array, scores: Any) -> Any:
    """Sparse if the scores are sparse, else dense."""
    return found if is_sparse(scores) else found.toarray()


def above(scores: Scores, thresholds: F64) -> csr_array:
    """Labels with a score above the threshold: one per label (a row), or one per document (a column)."""
    by_document = thresholds.ndim == 2
    parts = [
        csr_array(dense(scores[rows]) > (thresholds[rows] if by_document else thresholds))
        for rows in row_chunks(*scores.shape)
    ]
    return csr_array(sparse.vstack(parts)).astype(np.int64)


def top_labels(scores: Scores, n_each: I64) -> csr_array:
    """The ``n_each`` best labels of each document; ties go to the lower column."""
    n_docs, n_labels = scores.shape
    chosen = []
    for rows in row_chunks(n_docs, n_labels):
        most = int(n_each[rows].max())
        best = largest(np.asarray(dense(scores[rows]), np.float64), most)
        chosen.append(best[np.arange(most) < n_each[rows, None]])
    return _indicator(np.repeat(np.arange(n_docs), n_each), np.concatenate(chosen), scores.shape)


def top_documents(scores: Scores, n_each: I64) -> csr_array:
    """The ``n_each`` best documents of each label; ties go to the earlier document."""
    columns: Any = csc_array(scores) if is_sparse(scores) else scores
    n_each = np.minimum(n_each, scores.shape[0])
    chosen = [np.zeros(0, np.int64)]
    for label in np.flatnonzero(n_each).tolist():
        column = np.asarray(dense(columns[:, [label]]), np.float64).reshape(1, -1)
        chosen.append(largest(column, int(n_each[label]))[0])
    labels = np.repeat(np.arange(scores.shape[1]), n_each)
    return _indicator(np.concatenate(chosen), labels, scores.shape)


def _indicator(rows: I64, columns: I64, shape: tuple[int, int]) -> csr_array:
    ones = np.ones(len(rows), np.int64)
    return csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))
