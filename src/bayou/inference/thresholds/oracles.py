"""Rules that use the test labels: upper bounds for thresholds with given scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.sparse import csc_array, csr_array

from bayou.inference.thresholds.levels import best_level, levels
from bayou.inference.thresholds.rule import Rule, top_documents
from bayou.metrics.multilabel.inputs import Scores, dense, is_sparse


class _Oracle(Rule):
    """A rule that is fitted to the documents it predicts."""

    needs_test_labels: ClassVar[bool] = True

    def _choose(self, scores: Scores) -> csr_array:
        if scores.shape[0] != self.n_docs_:
            raise ValueError(
                f"{type(self).__name__} was fitted on {self.n_docs_} documents and predicts only those; "
                f"got {scores.shape[0]}. Use a rule without test labels for others"
            )
        return top_documents(scores, self.counts_)


@dataclass(kw_only=True, eq=False, repr=False)
class OracleCalibrated(_Oracle):
    """Give each label to its best documents, as many as truly have it. Uses test labels.

    Precision then equals recall for every label: the break-even point.

    Attributes
    ----------
    counts_ : int64 array (labels,)

    Examples
    --------
    >>> scores, truth = [[0.9], [0.5], [0.1]], [[1], [0], [1]]
    >>> OracleCalibrated().fit(scores, truth).predict(scores).ravel()
    array([1, 1, 0])
    """

    def _learn(self, scores: Scores, truth: csr_array) -> None:
        self.n_docs_ = truth.shape[0]
        self.counts_ = np.bincount(truth.indices, minlength=truth.shape[1]).astype(np.int64)


@dataclass(kw_only=True, eq=False, repr=False)
class OracleF1(_Oracle):
    """Give each label to its best documents, as many as maximise its F1. Uses test labels.

    An upper bound for one threshold per label. Some papers call it break-even, which it is not.

    Attributes
    ----------
    counts_ : int64 array (labels,)

    Examples
    --------
    >>> scores, truth = [[0.9], [0.5], [0.1]], [[1], [0], [1]]
    >>> OracleF1().fit(scores, truth).predict(scores).ravel()
    array([1, 1, 1])
    """

    def _learn(self, scores: Scores, truth: csr_array) -> None:
        true, given = csc_array(truth), csc_array(scores) if is_sparse(scores) else scores
        self.n_docs_ = truth.shape[0]
        self.counts_ = np.zeros(truth.shape[1], np.int64)
        for label in np.flatnonzero(np.diff(true.indptr)).tolist():
            values = np.asarray(dense(given[:, [label]]), np.float64).ravel()
            rows = true.indices[true.indptr[label] : true.indptr[label + 1]]
            of = levels(values[rows], [(values, 1)])
            self.counts_[label] = of.found[best_level(of)]
