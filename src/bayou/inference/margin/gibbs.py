"""Topics of all tokens of a chain drawn once under words and labels: z | eta, omega, kappa.

Word counts stay fixed while a block of documents is sampled and are updated between blocks. Chains that are
``exact`` update counts after every token. Either way the result does not depend on threads.

[Zheng15] Zheng, Yu, Xing. Linear time samplers for supervised topic models using compositional proposals.
KDD 2015.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64, TOKEN_COST, U16, Each
from bayou.inference.margin import augment, tilted
from bayou.inference.margin.setup import MarginChain, MarginChainState
from bayou.kernels import alias
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import light_sweep, tilted_sweep
from bayou.kernels.rng import INIT


def uses_tasks(n_topics: int, n_tasks: int, mean_length: float) -> bool:
    """Whether light steps look labels up task by task rather than by rows of G.

    Rows of G pay in long documents.
    """
    return n_tasks < 4 or n_topics > 0.9 * mean_length


def start(chain: MarginChain, seed: int, each: Each, rows: F32 | None = None) -> MarginChainState:
    """Topics at random, or drawn under ``rows`` of earlier topics; lambda = 1 and weights of zero."""
    n_topics, indptr = len(chain.prior.alpha), chain.tokens.indptr
    z = np.empty(len(chain.tokens.terms), np.uint16)
    a32, toks = chain.prior.alpha.astype(np.float32), tuple(chain.tokens)

    def work(lo: int, hi: int) -> None:
        if rows is None:
            tilted_sweep.start_uniform(z, indptr, chain.ids, lo, hi, n_topics, seed)
        else:
            fixed_sweep.start_docs(z, toks, chain.ids, lo, hi, rows, a32, seed, INIT, 5)

    each(work, indptr, 10.0)
    counts, topic = np.zeros((chain.n_terms, n_topics), np.float32), np.zeros(n_topics)
    tilted_sweep.count_tokens(counts, topic, chain.tokens.terms, z)
    eta = np.zeros((chain.y.shape[1], n_topics), np.float32)
    omega, kappa = augment.start(chain)
    return MarginChainState(z, counts, topic, omega, kappa, eta, np.zeros(eta.shape))


def sweep_full(
    state: MarginChainState,
    chain: MarginChain,
    seed: int,
    step: int,
    each: Each,
) -> None:
    """Gibbs sampling: the weight of every topic is computed for every token."""
    alpha, beta = chain.prior.alpha.astype(np.float32), chain.prior.beta
    tilt = tilted.Tilt(state.omega, state.kappa, state.eta)
    before = None if chain.exact else state.z.copy()
    for a, b in _blocks(chain):
        words = tilted.words_by_counts(
            state.counts, state.topic, beta, chain.n_terms, live=chain.exact
        )
        work = tilted.topic_draw(state.z, chain.docs, words, alpha, tilt, seed, step)
        _run_block(state, chain, work, (a, b), before, each, 5.0 * len(alpha))


def sweep_light(
    state: MarginChainState,
    chain: MarginChain,
    seed: int,
    step: int,
    each: Each,
) -> None:
    """Metropolis-Hastings steps: a few proposals per token, each in O(1) [Zheng15]."""
    toks = (chain.tokens.indptr, chain.tokens.terms, chain.ids)
    prior = chain.prior
    alpha = prior.alpha.astype(np.float32)
    both = (alpha, float(prior.alpha.sum()), _alias_table(prior.alpha), np.float32(prior.beta))
    labels = (state.omega, state.kappa, state.eta, np.ascontiguousarray(state.eta.T))
    before = state.z if chain.exact else state.z.copy()
    by_term, words = (chain.termptr, chain.at), (state.counts, state.topic)
    length = len(chain.tokens.terms) / max(chain.tokens.n_docs, 1)
    by_task = uses_tasks(len(alpha), len(state.eta), length)
    steps = chain.steps.for_kernel()

    def work(lo: int, hi: int) -> None:
        light_sweep.sweep_docs(
            state.z, before, toks, by_term, chain.rho, lo, hi, words, chain.exact, both, labels,
            by_task, steps, seed, step,
        )  # fmt: skip

    for span in _blocks(chain):
        seen = None if chain.exact else before
        _run_block(state, chain, work, span, seen, each, 10 * TOKEN_COST)


def _blocks(chain: MarginChain) -> list[tuple[int, int]]:
    if chain.exact:
        return [(0, len(chain.ids))]
    return list(zip(chain.cuts[:-1].tolist(), chain.cuts[1:].tolist(), strict=True))


def _run_block(
    state: MarginChainState,
    chain: MarginChain,
    work: Any,
    span: tuple[int, int],
    before: U16 | None,
    each: Each,
    cost: float,
) -> None:
    """Work on the documents of ``span``; then update the counts by the difference from ``before``.

    Without ``before`` counts are live, and the work is done in one piece.
    """
    a, b = span
    if before is None:
        work(a, b)
        return
    indptr = chain.tokens.indptr
    each(lambda lo, hi: work(a + lo, a + hi), indptr[a : b + 1], cost)
    lo, hi = int(indptr[a]), int(indptr[b])
    tilted_sweep.count_moves(state.counts, state.topic, chain.tokens.terms, before, state.z, lo, hi)
    before[lo:hi] = state.z[lo:hi]


def _alias_table(weights: F64) -> tuple[F32, I64]:
    n = len(weights)
    prob, other = np.empty(n, np.float32), np.empty(n, np.int64)
    alias.build_alias_into(prob, other, weights, np.empty(n, np.int64), np.empty(n, np.int64))
    return prob, other
