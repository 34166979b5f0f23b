"""A Markov chain over topics and weights under words and labels, one sweep after the other.

`MarginChain` is what never changes, `MarginChainState` what the next sweep needs. A sweep draws the weights
of every task, then the topics of every token, then what makes the losses Gaussian
(`kernels.margin.response`). Word counts stand still while a block of documents is worked on, and are brought
up to date between blocks; ``exact`` chains keep them live token after token. Either way the result does not
depend on threads.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I32, I64, TOKEN_COST, U16, U64, Each
from bayou.inference.lda.documents import Tokens
from bayou.kernels import alias
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import light_sweep, response, tilted_sweep
from bayou.kernels.rng import INIT, ORDER, TOKEN, key, permutation

LOSSES = {
    "hinge": response.HINGE,
    "insensitive": response.INSENSITIVE,
    "logistic": response.LOGISTIC,
}
N_BLOCKS = 16  # per sweep; from 8 on no difference from live counts was seen
N_STEPS = 6  # proposals a token of the light sampler, as published
COORDINATE_PASSES = 2


class MarginChain(NamedTuple):
    """What chains on one corpus share and never change. Documents and their tokens are shuffled."""

    tokens: Tokens
    ids: U64  # the documents' numbers in the corpus
    rho: F32  # a weight for each token; those of a document add up to one
    termptr: I64  # each term's tokens are at[termptr[v] : termptr[v + 1]]; empty for Gibbs sampling
    at: I32
    cuts: I64  # documents at which blocks begin
    y: F32  # documents x tasks: +1 and -1, or numbers
    cost: F32  # c of each document and task, 0 where nothing is known
    loss: int
    width: float  # margin, or half-width of the tube
    variance: float  # of a weight before anything is seen
    n_terms: int
    light: bool
    exact: bool


class MarginChainState(NamedTuple):
    """The chain after `step` sweeps."""

    step: int
    z: U16
    counts: F32  # n_vk, terms x topics
    topic: F64  # n_k
    omega: F32  # documents x tasks
    kappa: F32
    eta: F32  # tasks x topics, the last draw
    mean: F64  # its expectation given the rest


class MarginPrior(NamedTuple):
    """Dirichlet parameters of documents' topics and topics' terms."""

    alpha: F64
    beta: float


def order_tokens(tokens: Tokens, seed: int) -> tuple[Tokens, I64]:
    """Tokens shuffled within documents, and documents among themselves, by key; and the order.

    Sweeping documents in the common order of their terms makes markedly worse topics.
    """
    order = permutation(tokens.n_docs, np.uint64(key(seed, ORDER, 0, 0)))
    sizes = np.diff(tokens.indptr)[order]
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    take = np.repeat(tokens.indptr[order] - indptr[:-1], sizes) + np.arange(indptr[-1])
    terms = tokens.terms[take]
    tilted_sweep.shuffle_tokens(terms, indptr, order.astype(np.uint64), seed)
    return Tokens(indptr, terms), order


def index_terms(tokens: Tokens, n_terms: int) -> tuple[I64, I32]:
    """Places of each term's tokens."""
    termptr = np.zeros(n_terms + 1, np.int64)
    np.cumsum(np.bincount(tokens.terms, minlength=n_terms), out=termptr[1:])
    return termptr, np.argsort(tokens.terms, kind="stable").astype(np.int32)


def is_light(n_topics: int, n_tasks: int, mean_length: float) -> bool:
    """Whether Metropolis-Hastings steps cost less than a look at every topic.

    Nanoseconds a token as measured for 1 to 90 tasks, 40 to 400 topics and 30 to 120 tokens a document: Gibbs
    sampling pays for every topic and makes rows of G (about 14 of them) for each document; the light sampler
    pays for its steps, the more the larger the table of counts is, and for a label table a document.
    """
    n = max(mean_length, 1.0)
    gibbs = 120.0 + 1.95 * n_topics + 1.26 * n_tasks * n_topics / n
    light = 400.0 + 1.1 * n_topics + 3.3 * n_tasks + (10.0 + 0.15 * n_tasks) * n_topics / n
    return light < gibbs


def by_task(n_topics: int, n_tasks: int, mean_length: float) -> bool:
    """Whether light steps look labels up task by task, or by rows of G, which pay in long documents."""
    return n_tasks < 4 or n_topics > 0.9 * mean_length


def start(
    chain: MarginChain, prior: MarginPrior, seed: int, each: Each, rows: F32 | None = None
) -> MarginChainState:
    """Topics at random or, where rows of earlier topics are given, drawn under those."""
    n_topics, indptr = len(prior.alpha), chain.tokens.indptr
    z = np.empty(len(chain.tokens.terms), np.uint16)
    a32, toks = prior.alpha.astype(np.float32), tuple(chain.tokens)

    def work(lo: int, hi: int) -> None:
        if rows is None:
            tilted_sweep.start_uniform(z, indptr, chain.ids, lo, hi, n_topics, seed)
        else:
            fixed_sweep.start_docs(z, toks, chain.ids, lo, hi, rows, a32, seed, INIT, 5)

    each(work, indptr, 10.0)
    counts = np.zeros((chain.n_terms, n_topics), np.float32)
    topic = np.zeros(n_topics)
    tilted_sweep.count_tokens(counts, topic, chain.tokens.terms, z)
    shape = chain.y.shape
    omega, kappa = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    response.start_rows(omega, kappa, chain.y, chain.cost, 0, len(omega), chain.loss, chain.width)
    eta = np.zeros((shape[1], n_topics), np.float32)
    return MarginChainState(0, z, counts, topic, omega, kappa, eta, np.zeros(eta.shape))


def sweep(
    state: MarginChainState, chain: MarginChain, prior: MarginPrior, seed: int, each: Each
) -> MarginChainState:
    """Weights, topics and auxiliary variables once, in place."""
    step = state.step + 1
    zbar = averages(state.z, chain, len(prior.alpha), each)
    _draw_weights(state, chain, zbar, seed, step, each)
    if chain.light:
        _sweep_light(state, chain, prior, seed, step, each)
    else:
        _sweep_gibbs(state, chain, prior, seed, step, each)
    zbar = averages(state.z, chain, len(prior.alpha), each)

    def work(lo: int, hi: int) -> None:
        response.draw_rows(
            state.omega, state.kappa, zbar, state.eta, chain.y, chain.cost, chain.ids, lo, hi,
            chain.loss, chain.width, seed, step,
        )  # fmt: skip

    each(work, counting(len(chain.ids)), 100.0 * chain.y.shape[1])
    return state._replace(step=step)


def averages(z: U16, chain: MarginChain, n_topics: int, each: Each) -> tuple[I64, I32, U16, F32]:
    """zbar of every document as rows of non-zeros: (start, number, topics, values)."""
    indptr = chain.tokens.indptr
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(np.diff(indptr), n_topics))])
    rows = (
        ends[:-1].copy(),
        np.zeros(len(ends) - 1, np.int32),
        np.zeros(ends[-1], np.uint16),
        np.zeros(ends[-1], np.float32),
    )

    def work(lo: int, hi: int) -> None:
        response.zbar_rows(rows, z, chain.rho, indptr, n_topics, lo, hi)

    each(work, indptr, 5.0)
    return rows


def _draw_weights(
    state: MarginChainState,
    chain: MarginChain,
    zbar: tuple[I64, I32, U16, F32],
    seed: int,
    step: int,
    each: Each,
) -> None:
    """All tasks' weights: by Cholesky factors, or one coordinate after the other (light)."""
    n_tasks, n_topics = state.eta.shape
    tasks = counting(n_tasks)
    if not chain.light:

        def whole(lo: int, hi: int) -> None:
            response.draw_weights(
                state.eta, state.mean, zbar, state.omega, state.kappa, lo, hi,
                chain.variance, seed, step,
            )  # fmt: skip

        each(whole, tasks, 200.0 * len(chain.ids) + n_topics**3)
        return
    columns = _by_topic(zbar, n_topics)
    omega, kappa = np.ascontiguousarray(state.omega.T), np.ascontiguousarray(state.kappa.T)

    def coordinates(lo: int, hi: int) -> None:
        response.draw_coordinates(
            state.eta, state.mean, columns, np.empty(omega.shape[1]), omega, kappa, lo, hi,
            chain.variance, COORDINATE_PASSES, seed, step,
        )  # fmt: skip

    each(coordinates, tasks, 20.0 * len(columns[1]))


def _by_topic(zbar: tuple[I64, I32, U16, F32], n_topics: int) -> tuple[I64, I32, F32]:
    """zbar as columns (indptr, documents, values)."""
    start, number, topics, values = zbar
    docs = np.repeat(np.arange(len(start), dtype=np.int32), number)
    place = np.repeat(start - (np.cumsum(number) - number), number) + np.arange(len(docs))
    order = np.argsort(topics[place], kind="stable")
    indptr = np.zeros(n_topics + 1, np.int64)
    np.cumsum(np.bincount(topics[place], minlength=n_topics), out=indptr[1:])
    return indptr, docs[order], values[place][order]


def _sweep_gibbs(
    state: MarginChainState,
    chain: MarginChain,
    prior: MarginPrior,
    seed: int,
    step: int,
    each: Each,
) -> None:
    vbeta = chain.n_terms * prior.beta
    toks = (chain.tokens.indptr, chain.tokens.terms, chain.ids)
    both = (prior.alpha.astype(np.float32), np.float32(prior.beta))
    none = np.empty((0, 0, 0), np.float32)
    labels = (state.omega, state.kappa, state.eta, none)
    mode = tilted_sweep.LIVE if chain.exact else tilted_sweep.STILL
    seen = None if chain.exact else state.z.copy()
    for a, b in _blocks(chain):
        words = (state.counts, state.topic, (1.0 / (state.topic + vbeta)).astype(np.float32))

        def work(lo: int, hi: int, a: int = a, words: tuple[F32, F64, F32] = words) -> None:
            tilted_sweep.sweep_docs(
                state.z,
                toks,
                chain.rho,
                a + lo,
                a + hi,
                words,
                mode,
                both,
                labels,
                seed,
                TOKEN,
                step,
            )

        _run_block(state, chain, work, a, b, seen, each, 5.0 * len(prior.alpha))


def _sweep_light(
    state: MarginChainState,
    chain: MarginChain,
    prior: MarginPrior,
    seed: int,
    step: int,
    each: Each,
) -> None:
    toks = (chain.tokens.indptr, chain.tokens.terms, chain.ids)
    alpha = prior.alpha.astype(np.float32)
    both = (alpha, float(prior.alpha.sum()), _table(prior.alpha), np.float32(prior.beta))
    labels = (state.omega, state.kappa, state.eta, np.ascontiguousarray(state.eta.T))
    seen = state.z if chain.exact else state.z.copy()
    by_term, words = (chain.termptr, chain.at), (state.counts, state.topic)
    length = len(chain.tokens.terms) / max(chain.tokens.n_docs, 1)
    tasks = by_task(len(alpha), len(state.eta), length)
    for a, b in _blocks(chain):

        def work(lo: int, hi: int, a: int = a) -> None:
            light_sweep.sweep_docs(
                state.z, seen, toks, by_term, chain.rho, a + lo, a + hi, words, chain.exact, both,
                labels, tasks, N_STEPS, seed, step,
            )  # fmt: skip

        _run_block(state, chain, work, a, b, None if chain.exact else seen, each, 10 * TOKEN_COST)


def _blocks(chain: MarginChain) -> list[tuple[int, int]]:
    if chain.exact:
        return [(0, len(chain.ids))]
    return list(zip(chain.cuts[:-1].tolist(), chain.cuts[1:].tolist(), strict=True))


def _run_block(
    state: MarginChainState,
    chain: MarginChain,
    work: Any,
    a: int,
    b: int,
    seen: U16 | None,
    each: Each,
    cost: float,
) -> None:
    """Work on documents a .. b, in one piece if counts are live; else count their moves afterwards."""
    if seen is None:
        work(0, b - a)
        return
    indptr = chain.tokens.indptr
    each(work, indptr[a : b + 1], cost)
    lo, hi = int(indptr[a]), int(indptr[b])
    tilted_sweep.count_moves(state.counts, state.topic, chain.tokens.terms, seen, state.z, lo, hi)
    seen[lo:hi] = state.z[lo:hi]


def counting(n: int) -> I64:
    """Ends of n pieces of work that are all alike."""
    return np.arange(n + 1, dtype=np.int64)


def _table(weights: F64) -> tuple[F32, I64]:
    n = len(weights)
    prob, other = np.empty(n, np.float32), np.empty(n, np.int64)
    alias.build_alias_into(prob, other, weights, np.empty(n, np.int64), np.empty(n, np.int64))
    return prob, other
