"""Sampling of one mini-batch: topics z and auxiliary variables lambda, and the posteriors that follow.

Every round starts from the posterior before the batch, q_t. Only the topics and the weights that the sampler
sees are those of the last round [Shi17].

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, U16
from bayou.inference.margin import batch as online_batch
from bayou.inference.margin import features, growth, online_weights, stream_growth, tilted
from bayou.inference.margin.batch import TopicPosterior
from bayou.inference.margin.features import Zbar
from bayou.inference.margin.growth import LiveDocuments
from bayou.inference.margin.online_state import OnlineMarginState, document_prior, topic_posterior
from bayou.inference.margin.online_weights import OnlineRun
from bayou.inference.margin.tilted import Tilt, WeightedTokens
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import online as kernels
from bayou.kernels.margin import response
from bayou.kernels.rng import INIT


class BatchSums(NamedTuple):
    """Statistics of the kept sweeps of a round; ``precision`` and ``linear`` include the prior."""

    counts: F64  # terms of the batch x topics
    zhat: F64  # average zbar, documents x topics ("averaging")
    tables: F64
    precision: F64  # ("gibbs")
    linear: F64


class BatchChain(NamedTuple):
    """The sampler of one mini-batch: what is fixed, then what a round or a sweep changes."""

    run: OnlineRun
    before: OnlineMarginState  # q_t; if topics are born, with columns for those
    known: TopicPosterior
    base: F32  # exp(psi(Delta_t)) of the terms of the batch
    alpha: F64  # of the topics before the batch
    rho: F32
    shown: NDArray[np.bool_]  # tasks that have had a positive label; others do not reach the topics
    z: U16
    omega: F32  # documents x tasks
    kappa: F32
    sums: BatchSums
    mean: F64  # of the weights after the last round
    precision: F64
    n: int = 0  # of the round
    rows: F32 = np.empty((0, 0), np.float32)  # exp(E[ln phi]) in this round
    weights: tuple[F64, F64] = (np.empty(0), np.empty(0))  # mean and covariance in this round
    live: LiveDocuments | None = None  # counts and sticks of the tokens, if topics are born
    zbar: Zbar | None = None  # after the last sweep


def begin(state: OnlineMarginState, run: OnlineRun) -> BatchChain:
    """The sampler before the first round. Arrays have spare columns if topics are born."""
    batch, p, _, each = run
    before = state if p.growth is None else stream_growth.add_spare_topics(state, p, p.growth)
    known, none = topic_posterior(state, p), np.zeros((len(batch.terms), len(state.topic)))
    return BatchChain(
        run, before, known, online_batch.prior_rows(known, batch.terms, each),
        document_prior(state, p), features.token_weights(batch.tokens, batch.weight),
        (state.yes > 0.0) | (not p.loss.classifies),
        np.empty(len(batch.tokens.terms), np.uint16),
        np.zeros(batch.y.shape, np.float32), np.zeros(batch.y.shape, np.float32),
        BatchSums(none, none, before.tables, before.precision, before.linear),
        before.mean, before.precision,
    )  # fmt: skip


def start_round(chain: BatchChain, n: int) -> BatchChain:
    """E[ln phi] and q(w) as the last round left them; new topics without labels in the first round."""
    (batch, p, _, each), before = chain.run, chain.before
    counts = chain.sums.counts[:, : len(chain.known.topic)]
    rows = online_batch.expected_rows(chain.known, batch.terms, counts, each, chain.base)
    chain = chain._replace(n=n, rows=rows)
    if n == 0 or p.gibbs:
        _draw_first_topics(chain)
        if p.growth is not None:
            live = stream_growth.start_live(
                chain.known, before, batch, chain.z, chain.rho, p.growth
            )
            chain = chain._replace(live=live)
    n_columns = len(before.topic)
    sums = BatchSums(
        np.zeros((len(batch.terms), n_columns)), np.zeros((batch.n_docs, n_columns)),
        before.tables.copy(), before.precision.copy(), before.linear.copy(),
    )  # fmt: skip
    return _start_weights(chain._replace(sums=sums))


def _draw_first_topics(chain: BatchChain) -> None:
    """Topics without labels, each token after those before it."""
    batch, _, seed, each = chain.run
    tokens, alpha = tuple(batch.tokens), chain.alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(
            chain.z, tokens, batch.ids, lo, hi, chain.rows, alpha, seed, INIT, chain.n
        )

    each(work, batch.tokens.indptr, 2.0 * len(alpha))


def _start_weights(chain: BatchChain) -> BatchChain:
    """The weights that tilt the sampler: their mean, and for "gibbs" their covariance and lambda = 1."""
    (batch, p, _, each), before = chain.run, chain.before
    mean = chain.mean.copy()
    if not p.gibbs:
        return chain._replace(weights=(mean, np.empty((0, 0, 0))))
    spread = online_weights.covariances(chain.precision, each)
    stream_growth.reset_new_topics(mean, spread, before, len(chain.alpha), p.variance)
    y32, cost = batch.y.astype(np.float32), (batch.cost * chain.shown).astype(np.float32)
    response.start_rows(chain.omega, chain.kappa, y32, cost, 0, batch.n_docs, p.loss.code, p.width)
    online_weights.favour_positive(chain.kappa, chain.run)
    return chain._replace(weights=(mean, spread))


def draw_topics(chain: BatchChain, j: int) -> BatchChain:
    """z | lambda, q(phi), q(w): all tokens once under their words and labels; and zbar after it."""
    (batch, p, seed, each), number = chain.run, _number(chain, j)
    indptr, n_topics = batch.tokens.indptr, len(chain.before.topic)
    mean, spread = (x.astype(np.float32) for x in chain.weights)
    tilt = Tilt(chain.omega, chain.kappa, mean, spread)
    if chain.live is not None and p.growth is not None:
        words = (p.beta, len(chain.known.raw) * p.beta)
        growth.sweep(chain.live, tilt, p.growth, words, seed, number)
    else:
        docs = WeightedTokens(batch.tokens, batch.ids, chain.rho)
        given, alpha = tilted.words_by_topics(chain.rows, n_topics), chain.alpha.astype(np.float32)
        draw = tilted.topic_draw(chain.z, docs, given, alpha, tilt, seed, number)
        each(draw, indptr, 5.0 * n_topics)
    zbar = features.token_zbar(chain.z, chain.rho, indptr, n_topics, each)
    return chain._replace(zbar=zbar)


def _number(chain: BatchChain, j: int) -> int:
    return chain.n * chain.run.p.n_sweeps + j + 1


def add_sweep(chain: BatchChain, j: int) -> BatchChain:
    """After the burn-in, add the sweep's counts, and zbar or its evidence about the weights."""
    (batch, p, _, _), sums, before = chain.run, chain.sums, chain.before
    columns = stream_growth.clear_new_topics(chain.live, (sums.counts, sums.zhat, sums.tables))
    chain.weights[0][:, columns] = before.mean[:, columns]  # not those of a topic that died there
    sums.linear[:, columns] = before.linear[:, columns]
    sums.precision[:, columns] = before.precision[:, columns]
    sums.precision[:, :, columns] = before.precision[:, :, columns]
    if j < p.burn_in or chain.zbar is None:
        return chain
    n_kept = p.n_sweeps - p.burn_in
    share = p.ghosts / n_kept
    kernels.count_into(sums.counts, batch.tokens.terms, chain.z, share)
    if p.gibbs:
        online_weights.add_evidence(
            sums.precision, sums.linear, chain.zbar, chain.weights, share, chain.run
        )
    else:
        kernels.add_zbar(sums.zhat, chain.zbar, 1.0 / n_kept)
    return chain


def draw_tables(chain: BatchChain, j: int) -> BatchChain:
    """Add the expected tables of the sweep; draw tables and sticks for the next one."""
    p, live = chain.run.p, chain.live
    if live is None or p.growth is None:
        return chain
    seed, number = chain.run.seed, _number(chain, j)
    if j >= p.burn_in:
        found = growth.seats(live, p.growth, seed, number, drawn=False)
        chain.sums.tables[:] += p.ghosts / (p.n_sweeps - p.burn_in) * found
    if j + 1 < p.n_sweeps or (chain.n + 1 < p.n_rounds and not p.gibbs):
        growth.renew_sticks(live, chain.before.tables, p.growth, seed, number)
    return chain


def draw_lambda(chain: BatchChain, j: int) -> BatchChain:
    """lambda | z, q(w) of "gibbs", as (omega, kappa); "averaging" has none, and its duals stay."""
    batch, p, _, _ = chain.run
    if p.gibbs and j + 1 < p.n_sweeps and chain.zbar is not None:
        cost = (batch.cost * chain.shown).astype(np.float32)
        out = (chain.omega, chain.kappa)
        online_weights.augment_into(
            out, chain.zbar, chain.weights, cost, chain.run, _number(chain, j)
        )
    return chain


def update_weights(chain: BatchChain) -> BatchChain:
    """q(w) = N(P^-1 b, P^-1) of "gibbs"; the mean by dual variables of "averaging"."""
    (batch, p, _, each), sums = chain.run, chain.sums
    # weights of topics that are no longer in use are integrated out by `stream_growth.drop_small_topics`
    stream_growth.clear_unused_topics(chain.live, (sums.counts, sums.zhat, sums.tables))
    if p.gibbs:
        mean = online_weights.solve_means(sums.precision, sums.linear, each)
        return chain._replace(mean=mean, precision=sums.precision)
    cost = p.ghosts * batch.cost
    mean, duals = online_weights.solve_duals(chain.before.mean, sums.zhat, batch.y, cost, p, each)
    chain.kappa[:] = duals / p.ghosts * chain.shown
    return chain._replace(mean=mean)


def posterior(chain: BatchChain) -> tuple[OnlineMarginState, F64]:
    """The state with q(w) and the tables after the last round, and the counts to add to q(phi)."""
    sums = chain.sums
    state = chain.before._replace(
        mean=chain.mean, precision=chain.precision, linear=sums.linear, tables=sums.tables
    )
    return state, sums.counts
