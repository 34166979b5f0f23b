"""Means of counts over a few sampled sweeps over a slice."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import sampler
from bayou.inference.lda.arrays import F32, F64, I64, TOKEN_COST, U16, Each
from bayou.inference.tracking.prior import SlicePrior, standing_rows
from bayou.kernels.tracking import prior_sweep

DRAWS = 2  # sampled sweeps whose mean is the result
BLOCK, MOST_BLOCKS = (
    25_000,
    16,
)  # least tokens of a block of documents with its own sums; most blocks
MOST_CELLS = 2**24  # of these sums together


def sample_means(
    z: U16, chain: sampler.SamplerChain, known: SlicePrior, alpha: F64, done: int, each: Each
) -> tuple[F32, F32]:
    """Means of n_vk and n_dk over a few sampled sweeps, which change ``z``.

    A point estimate gives a little of every token to unrelated topics. The sums are over the probabilities
    that the tokens' topics are drawn from. Blocks of documents have their own sums, so that the result does
    not depend on the order of threads.
    """
    tokens, n_topics = chain.tokens, len(alpha)
    ends = _blocks(tokens.indptr, chain.n_terms * n_topics)
    sums = np.zeros((len(ends) - 1, chain.n_terms, n_topics), np.float32)
    docs = np.zeros((tokens.n_docs, n_topics), np.float32)
    single, a32, toks = known.rows.astype(np.float32), alpha.astype(np.float32), tuple(tokens)
    for step in range(done + 1, done + 1 + DRAWS):
        rows, own = standing_rows(z, chain, known, single, each)

        def blocks(lo: int, hi: int, rows: F32 = rows, own: F32 = own, step: int = step) -> None:
            for b in range(lo, hi):
                prior_sweep.sweep_expectations(
                    z, toks, chain.ids, ends[b], ends[b + 1], rows, own, a32, chain.seed, step,
                    sums[b], docs,
                )  # fmt: skip

        each(blocks, tokens.indptr[ends], 2.0 * TOKEN_COST)
    share = np.float32(1.0 / DRAWS)
    docs *= share
    counts = sums[0] if len(sums) == 1 else sums.sum(axis=0)
    counts *= share
    return counts, docs


def _blocks(indptr: I64, n_cells: int) -> I64:
    """Where blocks of documents begin, and the end. Their number follows from tokens and cells."""
    n_tokens = int(indptr[-1])
    n = max(min(n_tokens // BLOCK, MOST_CELLS // max(n_cells, 1), MOST_BLOCKS), 1)
    if n == 1:
        return np.array([0, len(indptr) - 1])
    inner = np.searchsorted(indptr, n_tokens * np.arange(1, n) / n)
    return np.unique(np.concatenate([[0], inner, [len(indptr) - 1]])).astype(np.int64)
