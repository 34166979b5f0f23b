"""All measures of one prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.sparse import csr_array

from bayou.metrics.multilabel import auc, ranking, rare, sets
from bayou.metrics.multilabel.inputs import Scores, dense, read_indicator, read_scores, row_chunks


def multilabel_report(
    truth: Any,
    scores: Any,
    threshold: Any = 0.5,
    *,
    predicted: Any = None,
    ks: Sequence[int] = (1, 3, 5),
    propensities: ArrayLike | None = None,
    both_empty: float = 1.0,
    absent_label: float = 0.0,
    one_empty: float = 0.0,
    unlabelled: float | None = None,
) -> dict[str, float]:
    """All measures of one prediction, by name.

    Parameters
    ----------
    truth : matrix of 0 and 1 (documents, labels), dense or sparse
    scores : matrix of the same shape, dense or sparse
        Larger scores mean more probable labels.
    threshold : float, array (labels,), or fitted rule of `bayou.thresholds`
        A label is assigned if its score is above the threshold.
    predicted : matrix of 0 and 1, optional
        Predicted label sets. If given, ``threshold`` is not used.
    ks : sequence of int
        Numbers of best labels for ``precision@k``, ``ndcg@k`` and ``psp@k``. Numbers above the number of
        labels are left out.
    propensities : array (labels,), optional
        From `label_propensities` of the training documents. Default: no ``psp@k``.
    both_empty : float
        Example-based measures of a document without true and without predicted labels.
    absent_label : float
        Macro and micro measures of a label without true and without predicted documents.
    one_empty : float
        Precision if nothing is predicted, and recall if nothing is true.
    unlabelled : float, optional
        Value of documents without labels in ranking measures. Default: these documents are left out.

    Returns
    -------
    dict of float
        Undefined measures are NaN. ``macro_auc_labels`` is the number of labels in ``macro_auc``.

    Examples
    --------
    >>> report = multilabel_report([[1, 0], [1, 1]], [[0.9, 0.2], [0.8, 0.4]])
    >>> report["micro_f1"], report["macro_auc"], report["macro_auc_labels"]
    (0.8, 1.0, 1.0)
    """
    true = read_indicator("truth", truth)
    given = read_scores(scores, true.shape)
    if predicted is None:
        predicted = apply_threshold(given, threshold)
    found = read_indicator("predicted", predicted, true.shape)
    absent: dict[str, Any] = {"both_empty": absent_label, "one_empty": one_empty}
    out: dict[str, float] = {
        "n_docs": true.shape[0],
        "n_labels": true.shape[1],
        "n_unlabelled": int((np.diff(true.indptr) == 0).sum()),
        "cardinality": true.nnz / true.shape[0],
        "predicted_cardinality": found.nnz / true.shape[0],
        "subset_accuracy": sets.subset_accuracy(true, found),
        "hamming_loss": sets.hamming_loss(true, found),
    }
    for name, values in (
        ("example", sets.example_scores(true, found, both_empty=both_empty, one_empty=one_empty)),
        ("micro", sets.micro_scores(true, found, **absent)),
        ("macro", sets.macro_scores(true, found, **absent)),
        ("macro_present", sets.macro_scores(true, found, labels="present", **absent)),
    ):
        out |= {f"{name}_{measure}": value for measure, value in values._asdict().items()}
    return out | _ranking(true, given, ks, propensities, unlabelled)


def _ranking(
    true: csr_array,
    given: Scores,
    ks: Sequence[int],
    propensities: ArrayLike | None,
    unlabelled: float | None,
) -> dict[str, float]:
    how = {"unlabelled": unlabelled}
    macro = auc.macro_auc(true, given)
    out: dict[str, float] = {
        "micro_auc": auc.micro_auc(true, given),
        "macro_auc": macro.value,
        "macro_auc_labels": float(macro.n_labels),
        "rank_one_error": ranking.rank_one_error(true, given, **how),
        "coverage_error": ranking.coverage_error(true, given, **how),
        "lrap": ranking.label_ranking_average_precision(true, given, **how),
    }
    for k in (k for k in ks if k <= true.shape[1]):
        out[f"precision@{k}"] = ranking.precision_at_k(true, given, k, **how)
        out[f"ndcg@{k}"] = ranking.ndcg_at_k(true, given, k, **how)
        if propensities is not None:
            out[f"psp@{k}"] = rare.propensity_precision_at_k(true, given, propensities, k)
    return out


def apply_threshold(scores: Scores, threshold: Any) -> csr_array:
    """Label sets from scores and a threshold, one threshold per label, or a fitted rule."""
    if hasattr(threshold, "predict"):
        return read_indicator("predicted", threshold.predict(scores))
    try:
        cut = np.asarray(threshold, np.float64)
    except (TypeError, ValueError):
        cut = np.array(math.nan)
    n_labels = scores.shape[1]
    if np.isnan(cut).any() or cut.shape not in ((), (n_labels,)):
        raise ValueError(
            f"threshold must be a number, {n_labels} numbers, or a fitted rule with predict; "
            f"got {threshold!r:.80}"
        )
    parts = [csr_array(dense(scores[rows]) > cut) for rows in row_chunks(*scores.shape)]
    return csr_array(sparse.vstack(parts)).astype(np.int64)
