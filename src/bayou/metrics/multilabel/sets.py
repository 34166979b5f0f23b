"""Sets of labels against sets of labels: by document, by label, and pooled.

With tp, fp, fn true positives, false positives and false negatives: precision tp / (tp + fp), recall
tp / (tp + fn), F1 2 tp / (2 tp + fp + fn), Jaccard tp / (tp + fp + fn). Averages over documents are called
example-based, over labels macro; micro adds up the counts of all labels first. Only macro gives rare labels
the weight of frequent ones.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.metrics.multilabel.inputs import Floats, read_indicator


class SetScores(NamedTuple):
    """Four views of how sets agree, each in [0, 1] unless a convention says otherwise."""

    precision: float
    recall: float
    f1: float
    jaccard: float


def read_pair(truth: Any, predicted: Any) -> tuple[csr_array, csr_array]:
    """Truth and predictions as sparse indicators of one shape."""
    true = read_indicator("truth", truth)
    return true, read_indicator("predicted", predicted, true.shape)


def _total(matrix: csr_array, axis: int) -> Floats:
    return np.asarray(matrix.sum(axis=axis), np.float64).ravel()


def _counts(true: csr_array, found: csr_array, axis: int) -> tuple[Floats, Floats, Floats]:
    """tp, predicted, true: along rows (axis 1) or columns (axis 0)."""
    both = csr_array(true.multiply(found))
    return _total(both, axis), _total(found, axis), _total(true, axis)


def _fraction(above: Floats, below: Floats, otherwise: Any) -> Floats:
    defined = below > 0
    return np.where(defined, above / np.where(defined, below, 1.0), otherwise)


def _each(tp: Floats, found: Floats, true: Floats, both: float, one: float) -> list[Floats]:
    """Precision, recall, F1 and Jaccard of every set."""
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
    """Precision, recall, F1 and Jaccard of every document's labels, averaged over documents.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty : float
        What all four are for a document that has no labels and is given none.
    one_empty : float
        Precision where nothing is predicted for a document with labels, and recall where something is
        predicted for a document without. Set both to z for scikit-learn's ``zero_division=z``.

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
    """Precision, recall, F1 and Jaccard of every label, averaged over labels.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty : float
        What all four are for a label that no document has and none is given.
    one_empty : float
        Precision of a label that some document has and none is given, and recall of one that is given but
        that no document has.
    labels : {"all", "present"}
        Average over all labels, or over those that a document of ``truth`` has. The first is lower where
        test data lack labels.

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
    """Precision, recall, F1 and Jaccard of all pairs of document and label taken as one set.

    Parameters
    ----------
    truth, predicted : matrix of 0 and 1 (documents, labels), dense or sparse
    both_empty, one_empty : float
        As in `example_scores`, for the one set.

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
    """Share of all pairs of document and label that are wrong, missed or too many.

    Examples
    --------
    >>> hamming_loss([[1, 1, 0, 0]], [[1, 0, 0, 1]])
    0.5
    """
    true, found = read_pair(truth, predicted)
    wrong = true.nnz + found.nnz - 2 * float(true.multiply(found).sum())
    return wrong / (float(true.shape[0]) * true.shape[1])


def subset_accuracy(truth: Any, predicted: Any) -> float:
    """Share of documents whose whole set of labels is right.

    Examples
    --------
    >>> subset_accuracy([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    0.5
    """
    tp, found, true = _counts(*read_pair(truth, predicted), 1)
    return float(((tp == found) & (tp == true)).mean())
