"""Measures with larger weights for rare labels: propensity-scored precision [Jain16].

[Jain16] Jain, Prabhu, Varma. Extreme multi-label loss functions for recommendation, tagging, ranking and
other missing label applications. KDD 2016.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayou.metrics.multilabel.inputs import (
    Floats,
    check_k,
    dense,
    largest,
    read_indicator,
    read_scores,
    row_chunks,
)


def label_propensities(truth: Any, a: float = 0.55, b: float = 1.5) -> Floats:
    """Probability that a label is observed if it applies, from its frequency in training [Jain16].

    p_l = 1 / (1 + C exp(-a ln(N_l + b))) with C = (ln N - 1)(b + 1)^a, N documents,
    N_l of them with the label.

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels)
        The labels of the training documents.
    a, b : float
        Parameters of the curve. Default: the values of the paper for data without fitted values.

    Returns
    -------
    float64 array (labels,), values in (0, 1]

    Examples
    --------
    >>> label_propensities([[1, 0]] * 20).round(2)
    array([0.62, 0.27])
    """
    true = read_indicator("truth", truth)
    counts = np.bincount(true.indices, minlength=true.shape[1])
    scale = (
        max(0.0, math.log(true.shape[0]) - 1.0) * (b + 1.0) ** a
    )  # ln N < 1 below three documents
    return np.asarray(1.0 / (1.0 + scale * (counts + b) ** -a), np.float64)


def propensity_precision_at_k(
    truth: Any, scores: Any, propensities: ArrayLike, k: int = 1
) -> float:
    """Precision of the k best labels, weighted by 1 / propensity, relative to the best possible (PSP@k).

    The sum over all documents is divided by the largest possible sum, as in [Jain16]. Documents without
    labels therefore have no effect. NaN if no document has a label.

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels), dense or sparse
    scores : matrix of the same shape, dense or sparse
    propensities : array (labels,)
        From `label_propensities` of the training documents.
    k : int

    Examples
    --------
    >>> propensity_precision_at_k([[1, 1]], [[0.9, 0.1]], [1.0, 0.25], 1)
    0.25
    """
    true = read_indicator("truth", truth)
    given = read_scores(scores, true.shape)
    k = check_k(k, true.shape[1])
    weights = _weights(propensities, true.shape[1])
    got = best = 0.0
    for rows in row_chunks(*true.shape):
        gains = np.where(true[rows].toarray() > 0, weights, 0.0)
        top = largest(np.asarray(dense(given[rows]), np.float64), k)
        got += float(np.take_along_axis(gains, top, axis=1).sum())
        best += float(
            np.partition(gains, gains.shape[1] - k, axis=1)[:, gains.shape[1] - k :].sum()
        )
    return got / best if best else math.nan


def _weights(propensities: ArrayLike, n_labels: int) -> Floats:
    values = np.asarray(propensities, np.float64)
    if values.shape != (n_labels,) or not ((values > 0) & (values <= 1)).all():
        raise ValueError(
            f"propensities must be {n_labels} numbers in (0, 1], one per label; got shape "
            f"{values.shape}. Compute them with label_propensities from training labels"
        )
    return 1.0 / values
