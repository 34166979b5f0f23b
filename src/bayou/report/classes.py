"""Class results of a supervised model: topic weights, average topic shares, confusion matrix."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayou.data.errors import DataError
from bayou.metrics import ClassScore, ReliabilityBin
from bayou.report.text import shorten

MOST_CLASSES = 24  # drawn; a larger confusion matrix is not readable
MOST_LABELS = 30  # of a cloud
HEAT_STEPS = 20  # shades; the style sheet defines as many

Matrix = tuple[tuple[float, ...], ...]
Group = tuple[str, tuple[tuple[str, float], ...]]
Listed = Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Results per class. A part that is None is left out of the report.

    Attributes
    ----------
    names : tuple of str
    weights : (topics, classes) or None
        What a document that contains only one topic adds to the score of a class.
    shares : (classes, topics) or None
        Average topic proportions of the documents of a class.
    confusion : (classes, classes) or None
        Number of documents by true class (rows) and predicted class (columns).
    groups : tuple of (title, labels with their weights)
        Drawn as clouds; ``groups_title`` is the heading.
    label_topics : tuple of (topic, labels with probabilities)
        One row per topic over labels, for models that have such topics.
    label_terms : tuple of (label, terms with probabilities)
        One row per label, for models that have terms per label.
    several : bool
        True for multi-label models, where a document has any number of labels.
    deviations : (topics, classes) or None
        Standard deviations of the weights.
    outcomes : (classes, 3) or None
        Documents that have the label, that were assigned it, and both. Used without ``confusion``.
    measures : tuple of (name, value)
        Over all classes, the most informative measure first.
    n_measured : int
        Number of documents behind the measures.
    unseen : bool
        Whether these documents were held out from training.
    reliability : tuple of ReliabilityBin
        Stated probabilities and the fraction of right predictions; empty for a model without probabilities.
    """

    names: tuple[str, ...]
    weights: Matrix | None
    shares: Matrix | None
    confusion: Matrix | None
    groups: tuple[Group, ...] = ()
    groups_title: str = "Labels that occur together"
    label_topics: tuple[Group, ...] = ()
    label_terms: tuple[Group, ...] = ()
    several: bool = False
    deviations: Matrix | None = None
    outcomes: Matrix | None = None
    measures: tuple[tuple[str, float], ...] = ()
    n_measured: int = 0
    unseen: bool = False
    reliability: tuple[ReliabilityBin, ...] = ()


def classes(
    names: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    confusion: ArrayLike | None = None,
    deviations: ArrayLike | None = None,
    outcomes: ArrayLike | None = None,
    **details: Any,
) -> Classes:
    """Validate plain arrays and convert them for a report.

    Parameters
    ----------
    names : sequence of str
        Two or more classes.
    weights : array (topics, classes), optional
        For a binary model with one column of weights pass ``[-w, w]``.
    shares : array (classes, topics), optional
    confusion : array (classes, classes) of counts, optional
    deviations : array (topics, classes), optional
    outcomes : array (classes, 3) of counts, optional
    **details
        Other fields of `Classes`, such as ``groups``, ``label_topics`` and ``measures``.

    Examples
    --------
    >>> made = classes(["ham", "spam"], confusion=[[8, 2], [1, 9]])
    >>> [round(score.f1, 2) for score in scores(made)]
    [0.84, 0.86]
    """
    n = len(names)
    if n < 2:
        raise DataError(f"a report on classes needs two or more classes; got {n}")
    for field in ("groups", "label_topics", "label_terms"):
        details[field] = _groups(details.get(field, ()))
    return Classes(
        names=tuple(shorten(name, 40) or "␣" for name in names),
        weights=_matrix("weights", weights, (None, n)),
        shares=_matrix("shares", shares, (n, None)),
        confusion=_matrix("confusion", confusion, (n, n), least=0.0),
        deviations=_matrix("deviations", deviations, (None, n), least=0.0),
        outcomes=_matrix("outcomes", outcomes, (n, 3), least=0.0),
        **details,
    )


def _groups(listed: Listed) -> tuple[Group, ...]:
    return tuple(_group(title, labels) for title, labels in listed)


def _group(title: str, labels: Sequence[tuple[str, float]]) -> Group:
    """Labels with positive weights, largest weight first."""
    bad = [weight for _, weight in labels if not (math.isfinite(weight) and weight >= 0)]
    if bad:
        raise DataError(f"weights of labels must be finite numbers >= 0; got {bad[0]}")
    positive = [(shorten(name, 40) or "␣", float(w)) for name, w in labels if w]
    ordered = sorted(positive, key=lambda label: (-label[1], label[0]))
    return shorten(title, 60), tuple(ordered[:MOST_LABELS])


def _matrix(
    name: str, given: ArrayLike | None, shape: tuple[int | None, ...], least: float = -math.inf
) -> Matrix | None:
    """Check shape and values of a matrix; None in ``shape`` stands for any number of topics."""
    if given is None:
        return None
    array = np.asarray(given, np.float64)
    wanted = " x ".join("topics" if size is None else str(size) for size in shape)
    if array.ndim != 2 or any(s not in (None, m) for s, m in zip(shape, array.shape, strict=True)):
        raise DataError(f"{name} must have the shape {wanted}; got {array.shape}")
    if not (np.isfinite(array).all() and (array >= least).all()):
        raise DataError(f"{name} must be finite numbers{' >= 0' if least == 0 else ''}")
    return tuple(tuple(float(x) for x in row) for row in array)


def scores(found: Classes) -> list[ClassScore]:
    """Precision, recall and F1 per class."""
    if found.confusion is not None:
        table = np.array(found.confusion)
        hit, true, predicted = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    elif found.outcomes is not None:
        true, predicted, hit = np.array(found.outcomes).T
    else:
        return []
    out = []
    for j, name in enumerate(found.names):
        both = true[j] + predicted[j]
        precision = hit[j] / predicted[j] if predicted[j] else math.nan
        recall = hit[j] / true[j] if true[j] else math.nan
        f1 = 2 * hit[j] / both if both else math.nan
        out.append(ClassScore(name, int(true[j]), float(precision), float(recall), float(f1)))
    return out


def accuracy(found: Classes) -> float:
    """Share of documents whose class was predicted correctly; NaN without documents."""
    table = np.array(found.confusion if found.confusion is not None else [[0.0]])
    return float(table.diagonal().sum() / table.sum()) if table.sum() else math.nan


def confusion_rows(found: Classes) -> list[tuple[str, list[tuple[int, int]]]]:
    """Rows of the confusion matrix: class, and per column the count and its shade within the row."""
    rows = []
    for name, line in zip(found.names, found.confusion or (), strict=False):
        total = sum(line) or 1.0
        rows.append((name, [(round(x), round(HEAT_STEPS * x / total)) for x in line]))
    return rows
