"""Augmentation: losses as Gaussian pseudo-observations (omega, kappa) per document and task.

The formulas of each loss are in `kernels.margin.response`.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, Each
from bayou.inference.margin.features import Zbar
from bayou.inference.margin.setup import MarginChain, MarginChainState, unit_ends
from bayou.kernels.margin import response


def start(chain: MarginChain) -> tuple[F32, F32]:
    """(omega, kappa) before the first sweep; zero where there is no label."""
    omega, kappa = np.zeros(chain.y.shape, np.float32), np.zeros(chain.y.shape, np.float32)
    response.start_rows(
        omega, kappa, chain.y, chain.cost, 0, len(omega), chain.loss.code, chain.width
    )
    return omega, kappa


def draw(
    state: MarginChainState, zbar: Zbar, chain: MarginChain, seed: int, step: int, each: Each
) -> None:
    """Draw (omega, kappa) of every document and task given scores f = eta . zbar, in place."""

    def work(lo: int, hi: int) -> None:
        response.draw_rows(
            state.omega, state.kappa, zbar, state.eta, chain.y, chain.cost, chain.ids, lo, hi,
            chain.loss.code, chain.width, seed, step, chain.loss.smoothing,
        )  # fmt: skip

    each(work, unit_ends(len(chain.ids)), 100.0 * chain.y.shape[1])
