"""Roots of hierarchical Dirichlet processes with a finite number of dishes, and their concentrations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.hdp import concentration
from bayou.inference.hdp.concentration import Gamma
from bayou.inference.lda.arrays import F64, I64
from bayou.kernels.labels import stacked
from bayou.kernels.rng import MEMBER, key

PRIOR = Gamma(1.0, 1.0)


class Level(NamedTuple):
    """A root over dishes, and restaurants below it that share a concentration."""

    root: F64  # sums to one
    below: float  # concentration of the restaurants [b1]
    above: float  # concentration of the root [b0]

    @property
    def mass(self) -> F64:
        """b1 g: prior tokens of each dish."""
        return np.asarray(self.below * self.root, np.float64)


def start(n_dishes: int, below: float | None, above: float | None) -> Level:
    """An even root; concentrations that are learned (None) start at the mean of their prior."""
    mean = PRIOR.shape / PRIOR.rate
    return Level(
        np.full(n_dishes, 1.0 / n_dishes),
        mean if below is None else float(below),
        mean if above is None else float(above),
    )


def redraw_level(
    level: Level, tables: I64, per_place: I64, sizes: I64, learn: tuple[bool, bool], seed: int,
    sweep: int,
) -> Level:  # fmt: skip
    """Draw root and concentrations given the tables of all restaurants.

    ``tables`` counts the tables of each dish, ``per_place`` those of each restaurant, which has ``sizes``
    tokens. ``learn``: whether the concentrations below and above are drawn.
    """
    above, below = level.above, level.below
    if learn[1]:
        above = concentration.draw_finite_root(above, tables, prior=PRIOR, seed=seed, sweep=sweep)
    root = np.empty(len(tables))
    stacked.draw_root_into(root, tables, above, seed, sweep)
    root = np.maximum(root, 1e-300)  # a draw may underflow
    if learn[0]:
        below = concentration.draw_document(
            below, sizes, per_place, prior=PRIOR, seed=seed, sweep=sweep
        )
    return Level(root / root.sum(), below, above)


def level_seed(seed: int, level: int) -> int:
    """A seed for the draws of each level."""
    return int(key(seed, MEMBER, level, 67)) & 0x7FFFFFFF
