"""A mini-batch by exact Gibbs sampling with births, and its expected counts: truncation-free HDP [Wang12].

[Wang12] Wang, Blei. Truncation-free online variational inference for Bayesian nonparametric models.
NIPS 2012.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Tokens, index_tokens
from bayou.inference.lda.stream import BatchSettings, StreamCounts, update_totals
from bayou.kernels.hdp import birth_sweep as kernels

_SWEEPS = 65_536  # keys of one mini-batch


class BirthBatch(NamedTuple):
    """The state of the chain over one mini-batch; changed in place."""

    tokens: Tokens  # terms by their number within the batch
    z: NDArray[np.int32]  # slot of each token, -1 before its first draw
    kind: NDArray[np.int8]  # what every slot holds
    died: NDArray[np.bool_]  # slots whose new topic died since the last sweep that was kept
    share: F64  # g, with the share of all unseen topics last
    counts: F64  # c_vk, the batch's terms x slots
    totals: F64  # c_k


class BatchPrior(NamedTuple):
    """The posterior before the batch."""

    counts: F64  # n_vk, the batch's terms x slots
    totals: F64
    tables: F64  # M_k
    prior: tuple[float, float, float]  # b1, beta, terms
    gamma: float  # b0


def begin(tokens: Tokens, n_local: int, known: BatchPrior, named: NDArray[np.bool_]) -> BirthBatch:
    """No token has a topic, shares at their expectation; ``named`` marks the slots that hold a topic."""
    n_slots = len(known.tables)
    share = np.append(np.where(named, known.tables, 0.0), known.gamma)
    return BirthBatch(
        tokens,
        np.full(len(tokens.terms), -1, np.int32),
        named.astype(np.int8),
        np.zeros(n_slots, np.bool_),
        share / share.sum(),
        np.zeros((n_local, n_slots)),
        np.zeros(n_slots),
    )


def sweep(b: BirthBatch, known: BatchPrior, seed: int, number: int) -> None:
    """All tokens, then tables and shares of the root."""
    kernels.seat_tokens(
        b.z, tuple(b.tokens), (b.kind, b.died), b.share, (b.counts, b.totals),
        (known.counts, known.totals), known.prior, known.gamma, seed, number,
    )  # fmt: skip
    held = np.where(b.kind == kernels.KNOWN, known.tables, 0.0)
    kernels.draw_shares(
        b.share, b.z, b.tokens.indptr, held, known.prior[0], known.gamma, seed, number
    )


def step(
    g: StreamCounts,
    root: tuple[F64, NDArray[np.bool_], float],
    tokens: Tokens,
    p: BatchSettings,
    rates: tuple[float, float],
    each: Each,
) -> tuple[StreamCounts, F64]:
    """Chain over the batch, then the blend; also returns the batch's expected tables.

    ``root`` = (M_k, which slots hold a topic, b0). ``p.alpha`` has one entry, b1. ``rates`` = (rho, rho *
    gain): the fraction that old counts lose, and the weight of a count of the batch; (0, gain) before the
    first topic. Counts of a new topic that died before the last kept sweep are dropped, because another topic
    may have taken its slot.
    """
    (tables, named, gamma), (rho, worth) = root, rates
    index = index_tokens(tokens, len(g.raw))
    slot = np.zeros(len(g.raw), np.uint32)
    slot[index.terms] = np.arange(len(index.terms), dtype=np.uint32)
    prior = (float(p.alpha[0]), p.beta, float(len(g.raw)))
    before = g.scale * g.raw[index.terms].astype(np.float64)
    known = BatchPrior(before, np.maximum(g.topic, before.sum(axis=0)), tables, prior, gamma)
    b = begin(Tokens(tokens.indptr, slot[tokens.terms]), len(index.terms), known, named)
    counts, opened = np.zeros_like(b.counts), np.zeros_like(tables)
    for i in range(p.burn_in + p.n_samples + 1):
        sweep(b, known, p.seed, p.step * _SWEEPS + i)
        if i > p.burn_in:
            counts[:, b.died], opened[b.died] = 0.0, 0.0
            counts += b.counts
            kernels.count_tables(opened, b.z, tokens.indptr, b.share, prior[0])
        b.died[:] = False
    scale = g.scale * (1.0 - rho)
    share = worth / p.n_samples
    g.raw[index.terms] += (share / scale * counts).astype(np.float32)
    return update_totals(g, share * counts.sum(axis=0), rho, scale, each), opened / p.n_samples
