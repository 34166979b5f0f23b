"""Quality of predicted classes, labels and numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.metrics.calibration import expected_calibration_error

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Outcomes(NamedTuple):
    """True and predicted labels of the documents whose labels are known.

    Parameters
    ----------
    names : tuple of str
        Classes or labels of the model.
    several : bool
        Whether the task is multi-label.
    truth, given : bool arrays (documents, classes)
    scores : float64 array (documents, classes)
    n_strange : int64 array (documents,)
        Number of labels per document that the model does not know; they count as missed.
    probabilities : float64 array (documents, classes) or None
        None if the model has no probabilities.
    """

    names: tuple[str, ...]
    several: bool
    truth: Bools
    given: Bools
    scores: Floats
    n_strange: NDArray[np.int64]
    probabilities: Floats | None = None


class ClassScore(NamedTuple):
    """Quality of the predictions for one class."""

    name: str
    n_docs: int
    precision: float  # NaN if it was never predicted
    recall: float  # NaN if no document has this class
    f1: float


def outcomes(model: Any, corpus: Corpus) -> Outcomes:
    """Predict documents with known labels by a classifier.

    Parameters
    ----------
    model : fitted classifier
        With ``classes_``, ``predict`` and ``decision_function``.
    corpus : Corpus
        With labels. They are matched to the classes by name.
    """
    if corpus.labels is None:
        raise DataError("the documents have no labels to compare with; pass a corpus with labels")
    names = tuple(str(name) for name in model.classes_)
    known = np.flatnonzero(np.diff(corpus.labels.indptr) > 0)
    if not len(known):
        raise DataError("no document has a label to compare with; check the labels")
    some = corpus[known]
    scores = np.asarray(model.decision_function(some), np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    answers = np.asarray(model.predict(some))
    several = answers.ndim == 2
    given = answers > 0 if several else answers[:, None] == np.asarray(model.classes_)[None]
    truth, n_strange = align_labels(some, names)
    stated = None
    if hasattr(model, "predict_proba"):
        stated = np.asarray(model.predict_proba(some), np.float64)
    return Outcomes(names, several, truth, given, scores, n_strange, stated)


def align_labels(corpus: Corpus, names: Sequence[str]) -> tuple[Bools, NDArray[np.int64]]:
    """The labels of documents in the order of names, and the number of other labels per document."""
    truth = np.zeros((corpus.n_docs, len(names)), np.bool_)
    n_strange = np.zeros(corpus.n_docs, np.int64)
    if corpus.labels is None:
        return truth, n_strange
    mine = corpus.label_names or tuple(str(j) for j in range(corpus.n_labels))
    place = {name: i for i, name in enumerate(names)}
    held = np.asarray(corpus.labels.toarray() > 0)
    for j, name in enumerate(mine):
        if name in place:
            truth[:, place[name]] = held[:, j]
        else:
            n_strange += held[:, j]
    return truth, n_strange


def class_scores(found: Outcomes) -> list[ClassScore]:
    """Precision, recall and F1 of each class."""
    hit = (found.truth & found.given).sum(axis=0)
    true, said = found.truth.sum(axis=0), found.given.sum(axis=0)
    return [
        ClassScore(
            name,
            int(true[j]),
            _ratio(hit[j], said[j]),
            _ratio(hit[j], true[j]),
            _ratio(2 * hit[j], true[j] + said[j]),
        )
        for j, name in enumerate(found.names)
    ]


def label_measures(found: Outcomes) -> dict[str, float]:
    """Measures over all classes, by their display names.

    For classes: accuracy. For labels: F1 over all decisions (micro), the fraction of documents with all
    labels right, and the fraction whose best label is a true one (P@1). Macro-F1 is the mean over the
    classes that occur or are predicted. If the model has probabilities, the expected calibration error is
    added: of the most probable class, or of all labels.

    Examples
    --------
    >>> truth = np.array([[1, 0], [1, 1]], bool)
    >>> given = np.array([[1, 0], [1, 0]], bool)
    >>> found = Outcomes(("a", "b"), True, truth, given, given * 1.0, np.zeros(2, int))
    >>> {name: round(value, 2) for name, value in label_measures(found).items()}
    {'micro-F1': 0.8, 'macro-F1': 0.5, 'P@1': 1.0, 'all labels right': 0.5}
    """
    right = (found.truth == found.given).all(axis=1) & (found.n_strange == 0)
    each = [score.f1 for score in class_scores(found) if not math.isnan(score.f1)]
    macro = float(np.mean(each)) if each else math.nan
    stated = {}
    if found.probabilities is not None:
        error = expected_calibration_error(found.probabilities, found.truth, several=found.several)
        stated = {"calibration error": error}
    if not found.several:
        return {"accuracy": float(right.mean()), "macro-F1": macro, **stated}
    hit = (found.truth & found.given).sum()
    both = found.truth.sum() + found.given.sum() + found.n_strange.sum()
    best = found.scores.argmax(axis=1)
    return {
        "micro-F1": _ratio(2 * hit, both),
        "macro-F1": macro,
        "P@1": float(found.truth[np.arange(len(best)), best].mean()),
        "all labels right": float(right.mean()),
        **stated,
    }


def confusion(found: Outcomes) -> NDArray[np.int64]:
    """Confusion matrix: true classes as rows, predicted ones as columns; known classes only."""
    return np.asarray(found.truth.astype(np.int64).T @ found.given.astype(np.int64), np.int64)


def number_measures(truth: Floats, predicted: Floats) -> dict[str, float]:
    """R², root mean square error and mean absolute error.

    Examples
    --------
    >>> number_measures(np.array([1.0, 3.0]), np.array([1.0, 2.0]))["R2"]
    0.5
    """
    gap = np.asarray(truth - predicted, np.float64)
    spread = np.asarray((truth - truth.mean(axis=0)) ** 2, np.float64).sum(axis=0)
    part = 1.0 - (gap**2).sum(axis=0) / np.where(spread > 0, spread, np.nan)
    return {
        "R2": float(np.mean(part)),
        "RMSE": float(np.sqrt(np.mean(gap**2))),
        "mean absolute error": float(np.abs(gap).mean()),
    }


def _ratio(part: Any, whole: Any) -> float:
    return float(part / whole) if whole else math.nan
