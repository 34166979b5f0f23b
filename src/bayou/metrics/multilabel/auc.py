"""Area under the ROC curve: P(s+ > s-) + P(s+ = s-) / 2 for scores of a random positive and negative."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array, csr_array

from bayou.metrics.multilabel.inputs import (
    Floats,
    Ints,
    Scores,
    dense,
    is_sparse,
    read_indicator,
    read_scores,
    row_chunks,
)


class LabelMean(NamedTuple):
    """A mean over the labels for which a measure is defined."""

    value: float
    n_labels: int


def _twice_wins(positives: Floats, values: Floats) -> int:
    """Sum over all pairs of a positive (sorted) and a value: 2 if the positive is larger, 1 if equal."""
    left = np.searchsorted(positives, values, "left")
    right = np.searchsorted(positives, values, "right")
    return int(2 * len(positives) * values.size - left.sum() - right.sum())


def _area(positives: Floats, twice: int, n_all: int) -> float:
    """AUC from twice the wins of the positives over all values, including the positives."""
    n_1, n_0 = len(positives), n_all - len(positives)
    if n_1 == 0 or n_0 == 0:
        return math.nan
    # pairs of two positives contribute n_1 * n_1 to ``twice``, for any scores
    return (twice - n_1 * n_1) / (2 * n_1 * n_0)


def positive_scores(true: csr_array, scores: Scores) -> Floats:
    """Scores of the true pairs of document and label."""
    rows = np.repeat(np.arange(true.shape[0]), np.diff(true.indptr))
    if not is_sparse(scores):
        return np.asarray(scores[rows, true.indices], np.float64)
    wanted, stored = _places(true), _places(scores)
    at = np.minimum(np.searchsorted(stored, wanted), max(0, len(stored) - 1))
    if not len(stored):
        return np.zeros(len(wanted))
    return np.where(stored[at] == wanted, scores.data[at], 0.0)


def _places(matrix: csr_array) -> Ints:
    """Positions of the stored entries in the flattened matrix, ascending."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return np.asarray(rows * matrix.shape[1] + matrix.indices, np.int64)


def micro_auc(truth: Any, scores: Any) -> float:
    """AUC over all pairs of document and label; NaN if all or none of them are true.

    Scores must be comparable between documents: normalise each row, or pass probabilities.

    Examples
    --------
    >>> micro_auc([[1, 0], [0, 1]], [[0.9, 0.3], [0.5, 0.4]])
    0.75
    """
    true = read_indicator("truth", truth)
    given = read_scores(scores, true.shape)
    n_docs, n_labels = true.shape
    positives = np.sort(positive_scores(true, given))
    if is_sparse(given):
        zeros = _twice_wins(positives, np.zeros(1)) * (n_docs * n_labels - given.nnz)
        return _area(positives, zeros + _twice_wins(positives, given.data), n_docs * n_labels)
    twice = sum(
        _twice_wins(positives, given[rows].ravel()) for rows in row_chunks(n_docs, n_labels)
    )
    return _area(positives, twice, n_docs * n_labels)


def macro_auc(truth: Any, scores: Any) -> LabelMean:
    """Mean AUC over the labels with positive and negative documents, and the number of these labels.

    Examples
    --------
    >>> macro_auc([[1, 0], [0, 0]], [[0.9, 0.3], [0.5, 0.4]])
    LabelMean(value=1.0, n_labels=1)
    """
    true = csc_array(read_indicator("truth", truth))
    given = read_scores(scores, true.shape)
    columns: Any = csc_array(given) if is_sparse(given) else given
    n_docs = true.shape[0]
    n_each = np.diff(true.indptr)
    areas = []
    for label in np.flatnonzero((n_each > 0) & (n_each < n_docs)).tolist():
        column = dense(columns[:, [label]]).ravel()
        rows = true.indices[true.indptr[label] : true.indptr[label + 1]]
        positives = np.sort(column[rows])
        areas.append(_area(positives, _twice_wins(positives, column), n_docs))
    return LabelMean(float(np.mean(areas)) if areas else math.nan, len(areas))
