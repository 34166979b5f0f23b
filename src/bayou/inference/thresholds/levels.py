"""Where to cut a list of scores: F1 = 2 tp / (predicted + true) at every level that can be best.

The best cut of an F1 lies right below the score of something true: going further down without meeting one
adds to what is predicted and nothing to what is right. So only scores of positives are levels.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64, I64


class Levels(NamedTuple):
    """What is predicted, and rightly so, at each level, from nothing at all to everything that is true."""

    level: F64  # the lowest score that is still predicted, descending; first +inf: nothing is
    found: I64
    tp: I64
    n_true: int


def levels(positives: F64, values: Iterable[tuple[F64, int]]) -> Levels:
    """Count what is predicted at each level.

    Parameters
    ----------
    positives : array
        Scores of what is true.
    values : iterable of (array, int)
        Scores of everything, what is true included, in parts; each counts so many times.

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
    """The level with the best F1; the highest of several."""
    size = of.found + of.n_true
    return int(np.argmax(2 * of.tp / np.maximum(size, 1)))


def threshold_at(level: float, values: F64) -> float:
    """The number that a score must exceed: halfway between a level and the next score below it.

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
    return middle if middle < level else low  # between neighbouring numbers there is no middle


def best_threshold(values: F64, true: NDArray[Any]) -> float:
    """The threshold with the best F1 of one list of scores, of which ``true`` are the places of positives.

    Examples
    --------
    >>> best_threshold(np.array([0.9, 0.1, 0.5, 0.3]), np.array([0, 2]))
    0.4
    """
    if not len(true):
        return float(values.max())
    of = levels(values[true], [(values, 1)])
    return threshold_at(float(of.level[best_level(of)]), values)
