"""Weights of topics given topics and pseudo-observations: eta_i ~ N(P_i**-1 b_i, P_i**-1) per task i.

P_i = I / s + sum_d omega_di zbar_d zbar_d'        b_i = sum_d kappa_di zbar_d
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, I32, I64, Each
from bayou.inference.margin.features import Zbar
from bayou.inference.margin.setup import MarginChain, MarginChainState, unit_ends
from bayou.kernels.margin import response


def draw(
    state: MarginChainState, zbar: Zbar, chain: MarginChain, seed: int, step: int, each: Each
) -> None:
    """Draw the weights of every task and their mean, in place: whole vectors, or coordinates (light)."""
    draw_tasks = _draw_coordinates if chain.light else _draw_vectors
    draw_tasks(state, zbar, chain, seed, step, each)


def _draw_vectors(
    state: MarginChainState, zbar: Zbar, chain: MarginChain, seed: int, step: int, each: Each
) -> None:
    """All weights of a task at once, by the Cholesky factor of P_i."""
    n_tasks, n_topics = state.eta.shape

    def work(lo: int, hi: int) -> None:
        response.draw_weights(
            state.eta, state.mean, zbar, state.omega, state.kappa, lo, hi, chain.variance, seed,
            step,
        )  # fmt: skip

    each(work, unit_ends(n_tasks), 200.0 * len(chain.ids) + n_topics**3)


def _draw_coordinates(
    state: MarginChainState, zbar: Zbar, chain: MarginChain, seed: int, step: int, each: Each
) -> None:
    """One weight after the other, each given the others."""
    n_tasks, n_topics = state.eta.shape
    columns = _by_topic(zbar, n_topics)
    omega, kappa = np.ascontiguousarray(state.omega.T), np.ascontiguousarray(state.kappa.T)

    def work(lo: int, hi: int) -> None:
        response.draw_coordinates(
            state.eta, state.mean, columns, np.empty(omega.shape[1]), omega, kappa, lo, hi,
            chain.variance, chain.steps.n_weight_passes, seed, step,
        )  # fmt: skip

    each(work, unit_ends(n_tasks), 20.0 * len(columns[1]))


def _by_topic(zbar: Zbar, n_topics: int) -> tuple[I64, I32, F32]:
    """zbar as columns (indptr, documents, values)."""
    start, number, topics, values = zbar
    docs = np.repeat(np.arange(len(start), dtype=np.int32), number)
    place = np.repeat(start - (np.cumsum(number) - number), number) + np.arange(len(docs))
    order = np.argsort(topics[place], kind="stable")
    indptr = np.zeros(n_topics + 1, np.int64)
    np.cumsum(np.bincount(topics[place], minlength=n_topics), out=indptr[1:])
    return indptr, docs[order], values[place][order]
