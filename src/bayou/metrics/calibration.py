"""Calibration of probabilities: how often predictions of a stated probability are right."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

N_BINS = 10


class ReliabilityBin(NamedTuple):
    """Predictions whose probability lies between two bounds."""

    low: float
    high: float
    n: int  # number of predictions
    probability: float  # mean of the stated probabilities
    right: float  # fraction that is right


def reliability_table(
    probabilities: ArrayLike, truth: ArrayLike, *, several: bool = False, n_bins: int = N_BINS
) -> list[ReliabilityBin]:
    """Stated and observed frequencies in bins of equal width; empty bins are left out.

    Parameters
    ----------
    probabilities : array (documents, classes)
    truth : bool array (documents, classes)
    several : bool
        False: one prediction per document, its most probable class. True: one prediction per document and
        label.
    n_bins : int

    Examples
    --------
    >>> rows = reliability_table([[0.9, 0.1], [0.95, 0.05]], [[1, 0], [0, 1]])
    >>> [(row.n, round(row.probability, 3), row.right) for row in rows]
    [(2, 0.925, 0.5)]
    """
    stated, right = _predictions(probabilities, truth, several)
    place = np.minimum((stated * n_bins).astype(np.int64), n_bins - 1)
    out = []
    for b in np.unique(place).tolist():
        at = place == b
        means = float(stated[at].mean()), float(right[at].mean())
        out.append(ReliabilityBin(b / n_bins, (b + 1) / n_bins, int(at.sum()), *means))
    return out


def expected_calibration_error(
    probabilities: ArrayLike, truth: ArrayLike, *, several: bool = False, n_bins: int = N_BINS
) -> float:
    """Mean distance of stated and observed frequencies over all predictions; NaN without predictions.

    Parameters
    ----------
    probabilities, truth, several, n_bins
        As in `reliability_table`.

    Examples
    --------
    >>> round(expected_calibration_error([[0.9, 0.1], [0.95, 0.05]], [[1, 0], [0, 1]]), 3)
    0.425
    """
    rows = reliability_table(probabilities, truth, several=several, n_bins=n_bins)
    total = sum(row.n for row in rows)
    gaps = sum(row.n * abs(row.probability - row.right) for row in rows)
    return gaps / total if total else float("nan")


def _predictions(
    probabilities: ArrayLike, truth: ArrayLike, several: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Probability and outcome of every prediction."""
    p, yes = np.asarray(probabilities, np.float64), np.asarray(truth, bool)
    if p.ndim != 2 or p.shape != yes.shape:
        raise ValueError(
            f"probabilities and truth must be documents x classes; got {p.shape} and {yes.shape}"
        )
    if not ((p >= 0) & (p <= 1)).all():
        raise ValueError("probabilities must be between 0 and 1")
    if several:
        return p.ravel(), yes.ravel()
    rows = np.arange(len(p))
    best = p.argmax(axis=1) if p.shape[1] else np.zeros(0, np.intp)
    return p[rows, best], yes[rows, best]
