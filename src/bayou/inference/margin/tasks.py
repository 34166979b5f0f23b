"""Responses as chains learn from them: one column per class, label or target.

Two classes are one column, +1 for the second class.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError
from bayou.data.supervision import Labels, signs
from bayou.inference.lda.arrays import F64
from bayou.kernels.rng import HELD_OUT, key, permutation

MULTI_LABEL_COST = 4.0  # default factor on the cost of labels that a document has
FEWEST, HELD = (
    200,
    (40, 500),
)  # documents before some are held out, and how many, at least and at most
TWENTIETH, TENTH = 20, 10  # one of N documents is held out


class MarginTask(NamedTuple):
    """Responses of documents, with the names and the scale of predictions."""

    kind: str  # of `Response`
    classes: NDArray[Any]  # classes, labels, or numbers of the targets
    y: F64  # documents x tasks: +1 and -1, or numbers of mean 0 and deviation 1
    cost: F64  # documents x tasks: c, 0 where nothing is known
    shown: F64  # the cost that the chain sees: 0 for documents held out
    codes: NDArray[np.int32]  # class of each document; of several classes only
    known: NDArray[np.bool_]  # documents with a response
    scale: tuple[F64, F64]  # mean and deviation of each target; 0 and 1 for signs

    @property
    def n_tasks(self) -> int:
        """Number of columns."""
        return int(self.y.shape[1])

    @property
    def is_held_out(self) -> NDArray[np.bool_]:
        """Documents whose responses the chain does not see."""
        return np.asarray((self.shown != self.cost).any(axis=1))


def class_task(
    labels: Labels,
    weight: F64,
    cost: float,
    positive_cost: float | None,
    *,
    hold_out: int = 0,
    seed: int = 0,
) -> MarginTask:
    """Classes or labels; ``weight`` is a factor on the cost per document.

    The chain does not see the labels of one of ``hold_out`` documents (0: it sees all).
    """
    y = signs(labels).astype(np.float64)
    factor = positive_cost or (MULTI_LABEL_COST if labels.kind == "multi-label" else 1.0)
    costs = np.where(y > 0, factor, 1.0) * cost * (y != 0)
    costs *= weight[:, None]
    scale = np.zeros(y.shape[1]), np.ones(y.shape[1])
    known = labels.known & (weight > 0)
    apart = held_out_mask(known[:, None], seed, hold_out)
    shown = np.where(apart[:, None], 0.0, costs)
    return MarginTask(
        labels.kind, labels.classes, y, costs, shown, labels.codes, labels.known, scale
    )


def number_task(values: F64, weight: F64, cost: float, *, hold_out: int, seed: int) -> MarginTask:
    """Targets (documents x targets, NaN where not known), scaled to mean 0 and deviation 1."""
    known = ~np.isnan(values) & (weight[:, None] > 0)
    mean, deviation = _scale(values, known, weight)
    y = np.where(known, (values - mean) / deviation, 0.0)
    costs = cost * known * weight[:, None]
    apart = held_out_mask(known, seed, hold_out)
    shown = np.where(apart[:, None], 0.0, costs)
    names, none = np.arange(values.shape[1]), np.zeros(0, np.int32)
    some = np.asarray(known.any(axis=1))
    return MarginTask("regression", names, y, costs, shown, none, some, (mean, deviation))


def held_out_mask(known: NDArray[np.bool_], seed: int, part: int) -> NDArray[np.bool_]:
    """Documents whose responses the chain does not see, to measure predictions: one of ``part``, or none (0).

    A response that has shaped topics is predicted better than a new one, even by topics without the document
    itself. Few documents are needed. Of `FEWEST` documents or less none is held out.
    """
    out, whole = np.zeros(len(known), bool), np.flatnonzero(known.all(axis=1))
    if part and len(whole) > FEWEST:
        order = permutation(len(whole), np.uint64(key(seed, HELD_OUT, 0, 0)))
        out[whole[order[: np.clip(len(whole) // part, *HELD)]]] = True
    return out


def _scale(values: F64, known: NDArray[np.bool_], weight: F64) -> tuple[F64, F64]:
    """Mean and deviation of each target over the documents that are learned from."""
    if not known.any(axis=0).all():
        raise DataError("no document with a target has a sample_weight above zero; give some")
    share = known * weight[:, None]
    share = share / share.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore"):
        plain = np.where(known, values, 0.0)
        mean = (share * plain).sum(axis=0)
        deviation = np.sqrt((share * (plain - mean) ** 2).sum(axis=0))
    if not (np.isfinite(mean) & np.isfinite(deviation)).all():
        raise DataError("targets are too large to be squared; scale them down")
    return mean, np.where(deviation > 0, deviation, 1.0)
