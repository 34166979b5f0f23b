"""Moves of whole tables: topics of tables given all others, splits and merges of topics over tables."""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp.franchise import (
    FranchiseChain,
    FranchiseData,
    FranchisePrior,
    move_slots,
    with_room,
)
from bayou.inference.lda.arrays import F64, I64
from bayou.kernels.hdp import dishes
from bayou.kernels.hdp import table_moves as kernels
from bayou.kernels.hdp.franchise import ALL

EVERY = 2  # sweeps over tokens per sweep over tables: both then take about the same time


def move_tables(
    chain: FranchiseChain,
    corpus: FranchiseData,
    root: F64,
    prior: FranchisePrior,
    n_moves: int,
    seed: int,
    step: int,
) -> tuple[FranchiseChain, I64]:
    """Draw tables given topics and root; then, with the root summed out, move tables between topics.

    Topics are split and merged, and the topic of every table is drawn. Also returns the old slot of each
    slot, or -1.
    """
    old = np.arange(len(chain.counts.topic))
    if not len(chain.z):
        return chain, old
    order, ends = (np.empty(len(chain.z), np.int64) for _ in range(2))
    mass = prior.alpha * root[: len(old)]
    n = dishes.seat_tokens(order, ends, chain.z, corpus.tokens.indptr, mass, seed, step)
    dishes.mark_heads(chain.heads, chain.counts.tables, chain.z, order, ends, n)
    chain.counts.sizes[ALL] = n
    terms, at = corpus.tokens.terms, 0
    chain, new = with_room(chain, corpus)
    old = move_slots(old, new, -1)
    kernels.split_merge_tables(
        chain.z, order, ends, n, terms, tuple(chain.counts), tuple(prior), n_moves, seed, step
    )
    while at < n:
        chain, new = with_room(chain, corpus)
        old = move_slots(old, new, -1)
        at = dishes.sweep_dishes(
            chain.z, order, ends, n, terms, tuple(chain.counts), tuple(prior), seed, step, at
        )
    dishes.mark_heads(chain.heads, chain.counts.tables, chain.z, order, ends, n)
    return chain, old
