"""Measures of label rankings, averaged over documents.

Labels with equal scores are ranked in the order of the columns, so that no measure depends on how a sort
treats ties. Exceptions are `coverage_error` and `label_ranking_average_precision`: scikit-learn computes
them and counts a tie against the model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn import metrics

from bayou.metrics.multilabel.inputs import (
    Bits,
    Floats,
    check_k,
    dense,
    largest,
    read_indicator,
    read_scores,
    row_chunks,
)


def _mean_over_documents(
    truth: Any,
    scores: Any,
    unlabelled: float | None,
    measure: Callable[[Bits, Floats], Floats],
) -> float:
    """Mean of ``measure`` over documents; it gets truth and scores of some labelled documents at a time."""
    true = read_indicator("truth", truth)
    given = read_scores(scores, true.shape)
    n_docs, n_labels = true.shape
    has = np.diff(true.indptr) > 0
    total, n_counted = 0.0, int(has.sum())
    for rows in row_chunks(n_docs, n_labels):
        use = np.arange(rows.start, rows.stop)[has[rows]]
        if len(use):
            found = measure(true[use].toarray() > 0, np.asarray(dense(given[use]), np.float64))
            total += float(found.sum())
    if unlabelled is not None:
        total += (n_docs - n_counted) * unlabelled
        n_counted = n_docs
    return total / n_counted if n_counted else math.nan


def _by_sklearn(measure: Callable[[Bits, Floats], float], true: Bits, given: Floats) -> Floats:
    """The sum of a scikit-learn measure over documents that all have labels."""
    # scikit-learn reads one column as a vector of classes; a single label is always ranked first
    mean = 1.0 if true.shape[1] == 1 else measure(true, given)
    return np.asarray(mean * len(true), np.float64)


def rank_one_error(truth: Any, scores: Any, *, unlabelled: float | None = None) -> float:
    """Share of documents whose label with the highest score is wrong (one-error).

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels), dense or sparse
    scores : matrix of the same shape, dense or sparse
    unlabelled : float, optional
        Value of documents without labels. Default: these documents are left out.

    Examples
    --------
    >>> rank_one_error([[1, 0], [1, 0], [0, 0]], [[0.9, 0.3], [0.3, 0.4], [1.0, 0.0]])
    0.5
    """

    def measure(true: Bits, given: Floats) -> Floats:
        best = np.argmax(given, axis=1)[:, None]
        return np.asarray(~np.take_along_axis(true, best, axis=1), np.float64)

    return _mean_over_documents(truth, scores, unlabelled, measure)


def precision_at_k(
    truth: Any, scores: Any, k: int = 1, *, unlabelled: float | None = None
) -> float:
    """Share of true labels among the k best, averaged over documents (P@k).

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`.
    k : int

    Examples
    --------
    >>> precision_at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.3, 0.5], [0.2, 0.1, 0.0]], 2)
    0.75
    """

    def measure(true: Bits, given: Floats) -> Floats:
        k_checked = check_k(k, true.shape[1])
        hits = np.take_along_axis(true, largest(given, k_checked), axis=1)
        return np.asarray(hits.mean(axis=1), np.float64)

    return _mean_over_documents(truth, scores, unlabelled, measure)


def ndcg_at_k(truth: Any, scores: Any, k: int = 5, *, unlabelled: float | None = None) -> float:
    """Discounted gain of the k best labels, divided by the largest possible gain (nDCG@k).

    The gain of a true label at rank r is 1 / log2(1 + r).

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`.
    k : int

    Examples
    --------
    >>> ndcg_at_k([[1, 0, 1]], [[0.9, 0.3, 0.5]], 2)
    1.0
    """

    def measure(true: Bits, given: Floats) -> Floats:
        top = largest(given, check_k(k, true.shape[1]))
        gains = 1.0 / np.log2(np.arange(2, k + 2))
        best = np.concatenate([[0.0], np.cumsum(gains)])[np.minimum(true.sum(axis=1), k)]
        got = (np.take_along_axis(true, top, axis=1) * gains).sum(axis=1)
        return np.asarray(got / best, np.float64)

    return _mean_over_documents(truth, scores, unlabelled, measure)


def coverage_error(truth: Any, scores: Any, *, unlabelled: float | None = None) -> float:
    """Rank of the lowest-ranked true label, averaged over documents.

    Computed by scikit-learn, some documents at a time. The best value is the mean number of labels.

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`; scikit-learn uses ``unlabelled=0``.

    Examples
    --------
    >>> coverage_error([[1, 0, 1]], [[0.9, 0.6, 0.5]])
    3.0
    """
    measure = partial(_by_sklearn, metrics.coverage_error)
    return _mean_over_documents(truth, scores, unlabelled, measure)


def label_ranking_average_precision(
    truth: Any, scores: Any, *, unlabelled: float | None = None
) -> float:
    """Share of true labels among those ranked at least as high, averaged over true labels (LRAP).

    Computed by scikit-learn, some documents at a time.

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`; scikit-learn uses ``unlabelled=1``.

    Examples
    --------
    >>> label_ranking_average_precision([[1, 0, 0]], [[0.5, 0.9, 0.1]])
    0.5
    """
    measure = partial(_by_sklearn, metrics.label_ranking_average_precision_score)
    return _mean_over_documents(truth, scores, unlabelled, measure)
