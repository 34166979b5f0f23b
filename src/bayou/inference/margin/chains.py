"""Several Markov chains on one corpus side by side, as `margin` makes them: swept, averaged, read off.

One chain for all tasks; or several whose scores are averaged; or one for each task, with topics of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.corpus import Corpus
from bayou.inference.lda import arrays, documents, sampler
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.margin import features, gibbs, refit
from bayou.kernels.rng import MEMBER, key
from bayou.results.posterior import Posterior

CHECK = 10  # sweeps between two scores


class MarginState(NamedTuple):
    """All chains side by side; the first axis of arrays is the chain."""

    step: int
    z: U16  # chains x tokens
    counts: F32  # chains x terms x topics, n_vk
    topic: F64  # chains x topics, n_k
    omega: F32  # chains x documents x tasks
    kappa: F32
    eta: F32  # chains x tasks x topics
    mean: F64
    kept: F32  # sum of n_vk over kept sweeps
    kept_mean: F64  # sum of the weights' expectations
    n_kept: int
    draws: F32  # kept sweeps x chains x tasks x topics
    scores: F64  # ln p(w, z) per token of the first chain
    score_steps: I64


class MarginData(NamedTuple):
    """The corpus as chains work on it."""

    corpus: Corpus
    damped: csr_array
    term_weight: F32
    order: I64  # documents in the order of the chain
    chains: list[gibbs.MarginChain]
    seeds: list[int]
    prior: gibbs.MarginPrior


def member_seed(seed: int, member: int) -> int:
    """The seed of one of several chains; the first has the model's own."""
    return seed if member == 0 else int(key(seed, MEMBER, 0, member)) & 0xFFFFFFFF


def prepare(corpus: Corpus, y: F64, cost: F64, p: SimpleNamespace, seed: int) -> MarginData:
    """Tokens in keyed order with their weights, and a chain for each of ``p.n_members``.

    ``y`` and ``cost`` are (documents x tasks). The order does not depend on the seed: it is of the data.
    """
    damped = lda_features.damp_counts(corpus.counts, p.tf)
    quiet = replace(corpus, counts=damped)
    tokens, order = gibbs.order_tokens(documents.Tokens(*quiet.tokens()), 0)
    weight = np.ones(corpus.n_terms, np.float32)
    if p.idf:
        weight = lda_features.inverse_frequency(damped)
    light = p.sampler == "light"
    if p.sampler == "auto":
        mean_length = len(tokens.terms) / max(tokens.n_docs, 1)
        light = gibbs.is_light(p.n_topics, 1 if p.separate else y.shape[1], mean_length)
    termptr, at = np.zeros(1, np.int64), np.zeros(0, np.int32)
    if light:
        termptr, at = gibbs.index_terms(tokens, corpus.n_terms)
    n_blocks = min(gibbs.N_BLOCKS, max(corpus.n_docs, 1))
    base = gibbs.MarginChain(
        tokens, order.astype(np.uint64), features.token_weights(tokens, weight), termptr, at,
        np.linspace(0, corpus.n_docs, n_blocks + 1).astype(np.int64),
        y[order].astype(np.float32), cost[order].astype(np.float32), gibbs.LOSSES[p.loss],
        float(p.width), float(p.variance), corpus.n_terms, light, p.exact,
    )  # fmt: skip
    chains = [base] * p.n_members
    if p.separate:
        chains = [
            base._replace(
                y=np.ascontiguousarray(base.y[:, i : i + 1]),
                cost=np.ascontiguousarray(base.cost[:, i : i + 1]),
            )
            for i in range(y.shape[1])
        ]
    seeds = [member_seed(seed, i) for i in range(len(chains))]
    prior = gibbs.MarginPrior(p.alpha, float(p.beta))
    return MarginData(corpus, damped, weight, order, chains, seeds, prior)


def init(data: MarginData, each: Each, begin: list[F32] | None) -> MarginState:
    """Every chain at random topics, or at topics drawn under those of an earlier fit."""
    made = [
        gibbs.start(chain, data.prior, seed, each, None if begin is None else begin[i])
        for i, (chain, seed) in enumerate(zip(data.chains, data.seeds, strict=True))
    ]
    both = {n: np.stack([getattr(s, n) for s in made]) for n in gibbs.MarginChainState._fields[1:]}
    return MarginState(
        step=0, **both, kept=np.zeros_like(both["counts"]), kept_mean=np.zeros_like(both["mean"]),
        n_kept=0, draws=np.zeros((0, *both["mean"].shape), np.float32), scores=np.zeros(0),
        score_steps=np.zeros(0, np.int64),
    )  # fmt: skip


def sweep(state: MarginState, data: MarginData, p: SimpleNamespace, each: Each) -> MarginState:
    """One sweep of every chain; the last ``p.n_kept`` are averaged."""

    def member(i: int, inner: Each) -> None:
        mine = gibbs.MarginChainState(
            state.step, *(getattr(state, n)[i] for n in gibbs.MarginChainState._fields[1:])
        )
        gibbs.sweep(mine, data.chains[i], data.prior, data.seeds[i], inner)

    if len(data.chains) == 1:
        member(0, each)
    else:

        def work(lo: int, hi: int) -> None:
            for i in range(lo, hi):
                member(i, _alone)

        each(work, np.arange(len(data.chains) + 1, dtype=np.int64), 1e9)
    step = state.step + 1
    state = state._replace(step=step)
    if step > p.n_sweeps - p.n_kept:
        state.kept[...] += state.counts
        state.kept_mean[...] += state.mean
        drawn = np.concatenate([state.draws, state.eta[None]])
        state = state._replace(n_kept=state.n_kept + 1, draws=drawn)
    if step % CHECK == 0 or step == p.n_sweeps:
        value = log_joint(state.z[0], state.counts[0], data.chains[0], data.prior)
        state = state._replace(
            scores=np.append(state.scores, value), score_steps=np.append(state.score_steps, step)
        )
    return state


def log_joint(z: U16, counts: F32, chain: gibbs.MarginChain, prior: gibbs.MarginPrior) -> float:
    """ln p(w, z) per token of a chain."""
    none = documents.TokenIndex(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    plain = sampler.SamplerChain(chain.tokens, none, chain.ids, chain.n_terms, 0)
    return sampler.log_joint(z[:, None], counts, plain, *prior)


def posterior(state: MarginState, data: MarginData, each: Each) -> Posterior:
    """Topics from averaged counts, the chains' side by side."""
    mean = state.kept / np.float32(state.n_kept) if state.n_kept else state.counts
    beta = data.prior.beta
    rows = [arrays.topic_rows(counts, beta, each) for counts in mean]
    return Posterior(
        rows=np.ascontiguousarray(np.hstack(rows)),
        alpha=np.tile(data.prior.alpha, len(rows)),
        beta=beta,
        topic_tokens=np.concatenate([arrays.topic_totals(counts) for counts in mean]),
        scores=state.scores,
        score_steps=state.score_steps,
        vocabulary=data.corpus.vocabulary,
    )


def leave_one_out_topics(state: MarginState, data: MarginData, each: Each) -> F32:
    """Leave-one-out average topics of the training documents, in the order of the chain."""
    pairs = documents.select(documents.pairs_of(data.damped), data.order)
    found = [
        features.zbar_without(
            (state.counts[i], state.topic[i]), (chain.tokens, state.z[i]), data.prior.alpha,
            data.prior.beta, data.term_weight, pairs, each,
        )
        for i, chain in enumerate(data.chains)
    ]  # fmt: skip
    return np.ascontiguousarray(np.hstack(found))


def evidence(
    state: MarginState, data: MarginData, p: SimpleNamespace, each: Each
) -> refit.RefitEvidence:
    """What the second stage learns from, in the order of the chain."""
    base = data.chains[0]
    y = np.hstack([chain.y for chain in data.chains]) if p.separate else base.y
    cost = np.hstack([chain.cost for chain in data.chains]) if p.separate else base.cost
    idf = lda_features.inverse_frequency(data.corpus.counts)
    words = None
    if p.word_residual > 0:
        words = lda_features.unit_words(data.corpus.counts, idf)[data.order]
    mean, draws = chain_weights(state, p.separate)
    return refit.RefitEvidence(
        leave_one_out_topics(state, data, each), words, y, cost, data.term_weight, idf, mean, draws,
        len(data.chains), p.separate,
    )  # fmt: skip


def chain_weights(state: MarginState, separate: bool) -> tuple[F64, F32]:
    """Weights (topics x tasks) as the chains have them, averaged, and their last draws."""
    mean = state.kept_mean / state.n_kept if state.n_kept else state.mean
    draws = state.draws if len(state.draws) else state.eta[None]
    n, n_tasks, n_topics = mean.shape
    if separate:  # the topics of a chain speak for one task alone
        whole = np.zeros((n * n_topics, n))
        drawn = np.zeros((len(draws), n * n_topics, n), np.float32)
        for i in range(n):
            at = slice(i * n_topics, (i + 1) * n_topics)
            whole[at, i], drawn[:, at, i] = mean[i, 0], draws[:, i, 0]
        return whole, drawn
    stacked = mean.transpose(0, 2, 1).reshape(n * n_topics, n_tasks) / n
    drawn = draws.transpose(0, 1, 3, 2).reshape(len(draws), n * n_topics, n_tasks) / np.float32(n)
    return stacked, np.ascontiguousarray(drawn)


def _alone(work: Callable[[int, int], None], ends: I64, cost: float = 1.0) -> None:
    """All of the work by whoever asks: chains that run beside each other have no threads to share."""
    del cost
    if len(ends) > 1:
        work(0, len(ends) - 1)
