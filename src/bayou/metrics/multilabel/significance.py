"""Whether two classifiers of labels differ beyond chance: paired t-test and Wilcoxon's signed-rank test.

Both tests take one number per document or per label from each classifier, on the same test documents. The
t-test asks whether the mean difference is zero. The signed-rank test asks whether differences are symmetric
around zero and needs no normal distribution. Documents are independent; labels of one collection are less so,
and a test over labels speaks about labels of that kind. Many comparisons need a correction, see `adjust`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from bayou.metrics.multilabel.auc import micro_auc
from bayou.metrics.multilabel.inputs import (
    Floats,
    dense,
    largest,
    read_indicator,
    read_scores,
    row_chunks,
)


class PairedTest(NamedTuple):
    """Two classifiers on the same documents or labels."""

    n: int
    difference: float  # mean of the first minus mean of the second
    t: float
    t_p: float  # two-sided p-value of the paired t-test
    rank_sum: float  # the smaller sum of ranks; ties of zero are left out
    rank_p: float  # two-sided p-value of Wilcoxon's signed-rank test


def compare_pairs(first: Any, second: Any) -> PairedTest:
    """Both tests of two lists of numbers, entry by entry. Without any difference both p-values are 1.

    Parameters
    ----------
    first, second : sequences of numbers of one length, at least two

    Examples
    --------
    >>> found = compare_pairs([0.5, 0.7, 0.6, 0.9], [0.4, 0.5, 0.3, 0.5])
    >>> round(found.difference, 2), round(found.t, 2), found.rank_sum, found.rank_p
    (0.25, 3.87, 0.0, 0.125)
    """
    a, b = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 2:
        raise ValueError(
            f"give two lists of one length, at least two numbers each; got shapes {a.shape} and {b.shape}"
        )
    gap = a - b
    if not np.isfinite(gap).all():
        raise ValueError("numbers must be finite; leave out documents or labels without a value")
    mean, spread = float(gap.mean()), float(gap.std(ddof=1))
    if not gap.any():
        return PairedTest(len(gap), 0.0, 0.0, 1.0, 0.0, 1.0)
    t = mean / (spread / math.sqrt(len(gap))) if spread > 0.0 else math.copysign(math.inf, mean)
    t_p = float(2.0 * stats.t.sf(abs(t), len(gap) - 1))
    ranks = stats.wilcoxon(gap[gap != 0.0])
    return PairedTest(len(gap), mean, t, t_p, float(ranks.statistic), float(ranks.pvalue))


def compare_classifiers(
    truth: Any, scores: Sequence[Any], predicted: Sequence[Any] | None = None
) -> dict[str, PairedTest]:
    """Paired tests of two classifiers on the same test documents.

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels), dense or sparse
    scores : two matrices (documents, labels)
    predicted : two matrices of 0 and 1 (documents, labels), optional

    Returns
    -------
    dict
        "rank_one_error" over documents with labels, "macro_auc" over labels that some documents have and some
        lack; with ``predicted`` also "example_f1" over documents and "macro_f1" over labels that occur.

    Examples
    --------
    >>> truth = [[1, 0], [0, 1], [1, 1]]
    >>> one, two = [[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], [[0.1, 0.9], [0.8, 0.2], [0.6, 0.4]]
    >>> round(compare_classifiers(truth, [one, two])["rank_one_error"].difference, 3)
    -0.667
    """
    if len(scores) != 2 or (predicted is not None and len(predicted) != 2):
        raise ValueError("give scores and predictions of two classifiers")
    true = read_indicator("truth", truth)
    pairs = {
        "rank_one_error": [_top_errors(true, s) for s in scores],
        "macro_auc": [_label_areas(true, s) for s in scores],
    }
    if predicted is not None:
        pairs["example_f1"] = [_f1(true, p, 1) for p in predicted]
        there = np.asarray(true.sum(axis=0)).ravel() > 0
        pairs["macro_f1"] = [_f1(true, p, 0)[there] for p in predicted]
    return {name: compare_pairs(*both) for name, both in pairs.items() if len(both[0]) > 1}


def adjust(p_values: Any) -> Floats:
    """Holm's correction of p-values for the number of comparisons, in the order given.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    out = np.empty(len(p))
    out[order] = np.minimum(steps, 1.0)
    return out


def _top_errors(true: Any, scores: Any) -> Floats:
    """1 where the first label is wrong, of documents with labels."""
    given = read_scores(scores, true.shape)
    out = np.empty(true.shape[0])
    for rows in row_chunks(*true.shape):
        best = largest(dense(given[rows]), 1)
        out[rows] = 1.0 - np.take_along_axis(true[rows].toarray(), best, axis=1)[:, 0]
    bad: Floats = out[np.diff(true.indptr) > 0]
    return bad


def _label_areas(true: Any, scores: Any) -> Floats:
    """AUC of each label that some documents have and some lack."""
    given, n_each = read_scores(scores, true.shape), np.asarray(true.sum(axis=0)).ravel()
    columns = np.flatnonzero((n_each > 0) & (n_each < true.shape[0]))
    return np.array([micro_auc(true[:, [y]], given[:, [y]]) for y in columns])


def _f1(true: Any, predicted: Any, axis: int) -> Floats:
    """F1 of documents (axis 1) or labels (axis 0); 1 where both sets are empty."""
    found = read_indicator("predicted", predicted, true.shape)
    both = np.asarray(true.multiply(found).sum(axis=axis), np.float64).ravel()
    size = np.asarray(true.sum(axis=axis) + found.sum(axis=axis), np.float64).ravel()
    return np.where(size > 0.0, 2.0 * both / np.maximum(size, 1.0), 1.0)
