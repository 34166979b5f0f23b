"""Labels in the order of their scores, document by document.

Equal scores are put in the order of the columns, so that no measure depends on how a sort treats ties; only
`coverage_error` and `label_ranking_average_precision`, which are scikit-learn's, count a tie against the
model.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
    """Mean of a measure of (truth, scores), given for some documents with labels at a time."""
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
    """The sum of a measure over documents, all of which have labels."""
    # scikit-learn takes one column for a list of classes; then the one label is first and all there is.
    mean = 1.0 if true.shape[1] == 1 else measure(true, given)
    return np.asarray(mean * len(true), np.float64)


def rank_one_error(truth: Any, scores: Any, *, unlabelled: float | None = None) -> float:
    """Share of documents whose best label is not one of theirs.

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels), dense or sparse
    scores : matrix of the same shape, dense or sparse
    unlabelled : float, optional
        What a document without labels counts for; by default such documents are left out.

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
    """Discounted gain of the k best labels, over the most that could be had (nDCG@k).

    A true label at rank r gains 1 / log2(1 + r).

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
    """How far down the ranking one must go to find all labels of a document, on average.

    By scikit-learn, some documents at a time; the best value is the mean number of labels.

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`; ``unlabelled=0`` is scikit-learn's convention.

    Examples
    --------
    >>> coverage_error([[1, 0, 1]], [[0.9, 0.6, 0.5]])
    3.0
    """

    def measure(true: Bits, given: Floats) -> Floats:
        return _by_sklearn(metrics.coverage_error, true, given)

    return _mean_over_documents(truth, scores, unlabelled, measure)


def label_ranking_average_precision(
    truth: Any, scores: Any, *, unlabelled: float | None = None
) -> float:
    """Mean over true labels of the share of true ones among those ranked no lower (LRAP).

    By scikit-learn, some documents at a time.

    Parameters
    ----------
    truth, scores, unlabelled
        As in `rank_one_error`; ``unlabelled=1`` is scikit-learn's convention.

    Examples
    --------
    >>> label_ranking_average_precision([[1, 0, 0]], [[0.5, 0.9, 0.1]])
    0.5
    """

    def measure(true: Bits, given: Floats) -> Floats:
        return _by_sklearn(metrics.label_ranking_average_precision_score, true, given)

    return _mean_over_documents(truth, scores, unlabelled, measure)
