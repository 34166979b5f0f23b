"""Columns of a chain whose topics are born and die: weights around a level, order and room of columns.

Weights have a level of their own, eta_ik ~ N(level_i, s): zbar sums to one, so what all scores have in common
would otherwise be in the weights of every topic except those to be born.

Columns are those of the topics in use, in the order of their birth, then up to `growth.SPARE` that are free.
Free columns have weights too, drawn from the prior like those of any topic without tokens: labels decide on
the next birth by these weights (an auxiliary topic, [Neal00] algorithm 8). A ``state`` is the `State` of
`models.med_hdp`.

[Neal00] Neal. Markov chain sampling methods for Dirichlet process mixture models. JCGS 9, 2000.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.margin import augment, features, growth, weights
from bayou.inference.margin.chains import SampledChains
from bayou.inference.margin.growth import LiveDocuments, TopicGrowth
from bayou.inference.margin.setup import MarginChain, MarginChainState, MarginPrior
from bayou.kernels.draw import draw_normal
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import tilted_sweep
from bayou.kernels.rng import INIT, LEVEL, key


def start(
    chain: MarginChain, begin: tuple[F32, F64], by: TopicGrowth, seed: int, each: Each
) -> tuple[MarginChainState, F64, I64]:
    """Arrays, sticks and ids of columns, with tokens drawn under ``begin`` = (terms x topics, tables)."""
    rows, tables = begin
    z, n_topics = np.empty(len(chain.tokens.terms), np.uint16), len(tables)
    expected = growth.expected_sticks(tables, by.gamma)
    a32, toks = (by.alpha * expected).astype(np.float32), tuple(chain.tokens)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(z, toks, chain.ids, lo, hi, rows, a32, seed, INIT, 5)

    each(work, chain.tokens.indptr, 10.0)
    n = growth.columns(n_topics, by)
    counts, topic = np.zeros((chain.n_terms, n), np.float32), np.zeros(n)
    tilted_sweep.count_tokens(counts, topic, chain.tokens.terms, z)
    eta, stick, ids = np.zeros((chain.y.shape[1], n), np.float32), np.zeros(n), np.full(n, -1)
    stick[:n_topics], ids[:n_topics] = expected, np.arange(n_topics)
    stick[topic == 0.0] = 0.0
    omega, kappa = augment.start(chain)
    arrays = MarginChainState(z, counts, topic, omega, kappa, eta, np.zeros(eta.shape))
    return arrays, stick, ids


def draw_levels(eta: F32, in_use: NDArray[np.bool_], variance: float, seed: int, step: int) -> F64:
    """level_i | eta ~ N(mean of eta_i over topics, s / K), with a flat prior; 0 in the first sweep."""
    if step == 1:
        return np.zeros(len(eta))
    out = eta[:, in_use].mean(axis=1, dtype=np.float64)
    stream = np.empty(1, np.uint64)
    for i in range(len(out)):
        stream[0] = np.uint64(key(seed, LEVEL, step, i))
        out[i] += np.sqrt(variance / in_use.sum()) * draw_normal(stream)
    return np.asarray(out, np.float64)


def draw_weights(
    state: MarginChainState, level: F64, chain: MarginChain, seed: int, step: int, each: Each
) -> None:
    """Weights of every task around its level, in place.

    With eta = level + v the score is level + v . zbar, so v ~ N(0, s) has kappa - omega level for kappa.
    """
    zbar = features.token_zbar(state.z, chain.rho, chain.tokens.indptr, len(state.topic), each)
    kappa = state.kappa - state.omega * level.astype(np.float32)
    weights.draw(state._replace(kappa=kappa), zbar, chain, seed, step, each)
    state.eta[...] += level[:, None].astype(np.float32)
    state.mean[...] += level[:, None]


def live_documents(
    state: MarginChainState, chain: MarginChain, sticks: tuple[F64, float], by: TopicGrowth
) -> LiveDocuments:
    """The documents of a chain with the sticks (of topics, of the rest) of its topics."""
    own, mortal = state.topic.astype(np.int64), np.ones(len(state.topic), bool)
    roots = growth.roots_of(*sticks, own, mortal, by)
    return LiveDocuments(*chain.docs, state.z, state.counts, state.topic, roots)


def column_order(topic: F64, ids: I64, n_born: int) -> tuple[NDArray[np.intp], I64, int]:
    """Columns in use in the order of their birth, the ids of all columns, and the births so far."""
    used = np.flatnonzero(topic > 0)
    used = used if len(used) else np.zeros(1, np.intp)  # there is no token at all
    ids, new = ids.copy(), used[ids[used] < 0]
    ids[new] = n_born + np.arange(len(new))
    return used[np.argsort(ids[used], kind="stable")], ids, n_born + len(new)


def move_columns(x: Any, order: NDArray[np.intp], n_spare: int, fill: Any = 0.0) -> Any:
    """The columns ``order`` of an array, then ``n_spare`` of ``fill``, a number or one per row."""
    spare = np.empty((*x.shape[:-1], n_spare), x.dtype)
    spare[...] = fill
    return np.concatenate([x[..., order], spare], axis=-1)


def prior_of_sticks(live: LiveDocuments, n_topics: int, by: TopicGrowth) -> F64:
    """alpha E pi of the first ``n_topics`` topics, from their expected tables."""
    tables = growth.seats(live, by, 0, 0, drawn=False)[:n_topics]
    return np.maximum(by.alpha * growth.expected_sticks(tables, by.gamma), 1e-30)


def chain_arrays(state: Any) -> MarginChainState:
    """The arrays that steps of a sweep change in place."""
    return MarginChainState(*(getattr(state, name) for name in MarginChainState._fields))


def keep(state: Any) -> Any:
    """Count the last sweep among those that are averaged."""
    used = state.ids >= 0
    state.kept[...] += state.counts
    state.kept_mean[:, used] += state.mean[:, used]
    state.n_kept[used] += 1
    draws = np.concatenate([state.draws, state.eta[None]])
    return state._replace(n_draws=state.n_draws + 1, draws=draws)


def order_columns(state: Any, by: TopicGrowth) -> Any:
    """Topics in use first, older ones before younger ones, then free columns."""
    order, ids, n_born = column_order(state.topic, state.ids, state.n_born)
    n, n_topics = growth.columns(len(order), by), len(order)
    course = np.append(state.course, n_topics) if state.step else state.course
    state = state._replace(n_born=n_born, course=course)
    if n == len(ids) and np.array_equal(order, np.arange(n_topics)):
        return state._replace(ids=ids)
    place = np.zeros(len(ids), np.uint16)
    place[order] = np.arange(n_topics)
    names = ("counts", "topic", "mean", "stick", "kept", "kept_mean", "n_kept", "eta")
    spare = n - n_topics
    moved = {name: move_columns(getattr(state, name), order, spare) for name in names}
    ids = move_columns(ids, order, spare, -1)
    draws = move_columns(state.draws, order, spare, state.level[:, None])
    return state._replace(z=place[state.z], ids=ids, draws=draws, **moved)


def sample_of(state: Any, chain: MarginChain, by: TopicGrowth) -> tuple[SampledChains, MarginPrior]:
    """The chain as one with the topics in use, and their prior."""
    n, s = state.n_topics, chain_arrays(state)
    live = live_documents(s, chain, (state.stick, state.rest), by)
    prior = MarginPrior(prior_of_sticks(live, n, by), chain.prior.beta)

    def trim(x: Any) -> Any:
        return np.ascontiguousarray(x[..., :n])

    counts, mean, draws = trim(s.counts)[None], trim(s.mean)[None], trim(s.eta)[None, None]
    last = (s.z[None], counts, trim(s.topic)[None])
    if state.n_draws:  # a topic is averaged over the kept sweeps that have it
        share = state.n_draws / np.maximum(state.n_kept, 1)
        counts = trim(state.kept)[None] / np.float32(state.n_draws)
        mean = trim(state.kept_mean * share)[None] / state.n_draws
        draws = trim(state.draws)[:, None]
    scores = state.scores, state.score_steps
    return SampledChains(*last, counts, mean, draws, *scores), prior
