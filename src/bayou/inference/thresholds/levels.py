"""F1 = 2 tp / (predicted + true) of a list of scores, at every threshold that can be best.

The best threshold lies directly below the score of a positive: a lower one that includes no further positive
adds predictions only. So the levels are the scores of positives.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64, I64


class Levels(NamedTuple):
    """Predictions and true positives at each level, from no prediction to all positives."""

    level: F64  # the lowest score that is predicted, descending; the first is +inf: none is
    found: I64
    tp: I64
    n_true: int


def levels(positives: F64, values: Iterable[tuple[F64, int]]) -> Levels:
    """Count predictions and true positives at each level.

    Parameters
    ----------
    positives : array
        Scores of the positives.
    values : iterable of (array, int)
        All scores, positives included, in parts; each part with its multiplicity.

    Examples
    --------
    >>> levels(np.array([0.9, 0.4]), [(np.array([0.9, 0.8, 0.4, 0.1]), 1)]).found
    array([0, 1, 3])
    """
    level, times = np.unique(positives, return_counts=True)
    at = np.zeros(len(level) + 1, np.int64)
    for part, count in values:
        place = np.searchsorted(level, part, "right")  # levels at or below
        at += count * np.bincount(place.ravel(), minlength=len(at))
    found = np.concatenate([[0], np.cumsum(at[:0:-1])])
    tp = np.concatenate([[0], np.cumsum(times[::-1])])
    return Levels(np.concatenate([[np.inf], level[::-1]]), found, tp, len(positives))


def best_level(of: Levels) -> int:
    """The level with the best F1; the highest one on ties."""
    size = of.found + of.n_true
    return int(np.argmax(2 * of.tp / np.maximum(size, 1)))


def threshold_at(level: float, values: F64) -> float:
    """The threshold of a level: halfway between its score and the next score below.

    Examples
    --------
    >>> threshold_at(0.5, np.array([0.9, 0.5, 0.25])), threshold_at(np.inf, np.array([0.9, 0.5]))
    (0.375, 0.9)
    """
    if np.isinf(level):
        return float(values.max())
    below = values[values < level]
    if not len(below):
        return float(np.nextafter(level, -np.inf))
    low = float(below.max())
    middle = low + (level - low) / 2
    return middle if middle < level else low  # adjacent floats have no middle


def best_threshold(values: F64, true: NDArray[Any]) -> float:
    """The threshold with the best F1 for one list of scores; ``true`` are the places of positives.

    Examples
    --------
    >>> best_threshold(np.array([0.9, 0.1, 0.5, 0.3]), np.array([0, 2]))
    0.4
    """
    if not len(true):
        return float(values.max())
    of = levels(values[true], [(values, 1)])
    return threshold_at(float(of.level[best_level(of)]), values)
