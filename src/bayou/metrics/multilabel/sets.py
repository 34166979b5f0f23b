"""Agreement of predicted and true label sets: per document, per label, and pooled.

tp, fp and fn are the numbers of true positives, false positives and false negatives. Precision is
tp / (tp + fp), recall tp / (tp + fn), F1 2 tp / (2 tp + fp + fn) and Jaccard tp / (tp + fp + fn).
Example-based measures are averages over documents, macro measures averages over labels. Micro measures use
the counts summed over all labels. Only macro measures give all labels the same weight.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.metrics.multilabel.inputs import Floats, read_indicator


class SetScores(NamedTuple):
    """Agreement of label sets. Values are in [0, 1] unless a parameter for 0/0 is outside."""

    precision: float
    recall: float
    f1: float
    jaccard: float


def read_pair(truth: Any, predicted: Any) -> tuple[csr_array, csr_array]:
    """Truth and predictions as sparse indicators of equal shape."""
    true = read_indicator("truth", truth)
    return true, read_indicator("predicted", predicted, true.shape)


def _total(matrix: csr_array, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), np.float64).ravel()


def _counts(true: csr_array, found: csr_array, axis: int) -> tuple[Floats, Floats, Floats]:
    """Numbers of true positives, predicted and true labels per row (axis 1) or column (axis 0)."""
    both = csr_array(true.multiply(found))
    return _total(both, axis), _total(found, axis), _total(true, axis)


def _fraction(above: Floats, below: Floats, otherwise: Any) -> Floats:
    defined = below > 0
    return np.where(defined, above / np.where(defined, below, 1.0), otherwise)


def _each(tp: Floats, found: Floats, true: Floats, both: float, one: float) -> list[Floats]:
    """Precision, recall, F1 and Jaccard of each set; ``both`` and ``one`` replace 0/0."""
    neither = (found == 0) & (true == 0)
    otherwise = np.where(neither, both, one)
    return [
        _fraction(tp, found, otherwise),
        _fraction(tp, true, otherwise),
        _fraction(2 * tp, found + true, both),
        _fraction(tp, found + true - tp, both),
    ]


def _means(each: list[Floats]) -> SetScores:
    return SetScores(*(float(values.mean()) for values in each))


def example_scores(
    truth: Any, predicted: Any, *, both_empty: float = 1.0, one_empty: float = 0.0
) -> SetScores:
    """Precision, recall, F1 and Jaccard per document, averaged over documents.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty : float
        All four measures of a document without true and without predicted labels.
    one_empty : float
        Precision of a document with labels and no predicted labels, and recall of a document without labels
        and with predicted labels. Setting both parameters to z is scikit-learn's ``zero_division=z``.

    Examples
    --------
    >>> example_scores([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]]).recall
    0.75
    """
    return _means(_each(*_counts(*read_pair(truth, predicted), 1), both_empty, one_empty))


def macro_scores(
    truth: Any,
    predicted: Any,
    *,
    both_empty: float = 0.0,
    one_empty: float = 0.0,
    labels: Literal["all", "present"] = "all",
) -> SetScores:
    """Precision, recall, F1 and Jaccard per label, averaged over labels.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty : float
        All four measures of a label without true and without predicted documents.
    one_empty : float
        Precision of a label with true and no predicted documents, and recall of a label with predicted and
        no true documents.
    labels : {"all", "present"}
        Average over all labels, or over labels that occur in ``truth``. With labels that are missing in the
        test data, the first average is lower.

    Examples
    --------
    >>> macro_scores([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]], labels="present").f1
    0.5
    """
    if labels not in ("all", "present"):
        raise ValueError(f"labels must be 'all' or 'present'; got {labels!r}")
    tp, found, true = _counts(*read_pair(truth, predicted), 0)
    each = _each(tp, found, true, both_empty, one_empty)
    if labels == "present":
        if not (true > 0).any():
            return SetScores(both_empty, both_empty, both_empty, both_empty)
        each = [values[true > 0] for values in each]
    return _means(each)


def micro_scores(
    truth: Any, predicted: Any, *, both_empty: float = 0.0, one_empty: float = 0.0
) -> SetScores:
    """Precision, recall, F1 and Jaccard over all pairs of document and label.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty, one_empty : float
        As in `example_scores`, for the set of all pairs.

    Examples
    --------
    >>> micro_scores([[1, 1, 0], [0, 0, 1]], [[1, 0, 0], [0, 1, 1]]).precision.__round__(3)
    0.667
    """
    tp, found, true = (
        values.sum(keepdims=True) for values in _counts(*read_pair(truth, predicted), 0)
    )
    return _means(_each(tp, found, true, both_empty, one_empty))


def hamming_loss(truth: Any, predicted: Any) -> float:
    """Share of wrong decisions among all pairs of document and label.

    Examples
    --------
    >>> hamming_loss([[1, 1, 0, 0]], [[1, 0, 0, 1]])
    0.5
    """
    true, found = read_pair(truth, predicted)
    wrong = true.nnz + found.nnz - 2 * float(true.multiply(found).sum())
    return wrong / (float(true.shape[0]) * true.shape[1])


def subset_accuracy(truth: Any, predicted: Any) -> float:
    """Share of documents whose label set is exactly right.

    Examples
    --------
    >>> subset_accuracy([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    0.5
    """
    tp, found, true = _counts(*read_pair(truth, predicted), 1)
    return float(((tp == found) & (tp == true)).mean())
