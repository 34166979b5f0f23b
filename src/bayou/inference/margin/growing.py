"""A Markov chain over topics, their number and weights under words and labels, one sweep after the other.

As `margin`, with sticks in the place of alpha. A sweep draws the weights of every task, the topics of every
token with live counts (topics are born and die on the way), what makes the losses Gaussian, tables and
sticks. Weights have a level of their own, eta_ik ~ N(level_i, s): zbar sums to one, so what all scores have
in common would otherwise be in the weights of every topic but those to be born.

Columns are those of the topics in use, in the order of their birth, then `growth.SPARE` that are free. Free
ones have weights too, drawn from the prior like those of any topic without tokens: the next topic to be born
is judged by its labels under these (an auxiliary topic, [Neal00] algorithm 8).

[Neal00] Neal. Markov chain sampling methods for Dirichlet process mixture models. JCGS 9, 2000.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.margin import chains, gibbs, growth
from bayou.inference.margin.gibbs import MarginChain
from bayou.inference.margin.growth import TopicGrowth
from bayou.kernels.draw import draw_normal
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import response, tilted_sweep
from bayou.kernels.rng import INIT, LEVEL, key


class GrowingChainState(NamedTuple):
    """The chain after ``step`` sweeps. Arrays over topics have a column for each and for free ones."""

    step: int
    z: U16
    counts: F32  # n_vk, terms x columns
    topic: F64  # n_k
    omega: F32  # documents x tasks
    kappa: F32
    eta: F32  # tasks x columns, the last draw
    mean: F64  # its expectation given the rest
    level: F64  # tasks: what weights have in common
    stick: F64
    rest: float
    ids: I64  # numbers that are never given twice; -1 of free columns
    n_born: int
    kept: F32  # sum of n_vk over kept sweeps
    kept_mean: F64  # sum of the weights' expectations over those in which the topic was there
    n_kept: I64  # columns: how many those were
    n_draws: int
    draws: F32  # kept sweeps x tasks x columns
    course: I64  # topics after each sweep
    scores: F64  # ln p(w | z) per token
    score_steps: I64


def start(
    chain: MarginChain, begin: tuple[F32, F64], by: TopicGrowth, seed: int, each: Each
) -> GrowingChainState:
    """Tokens drawn under the topics ``begin`` = (rows of terms x topics, tables of topics)."""
    rows, tables = begin
    z, n_topics = np.empty(len(chain.tokens.terms), np.uint16), len(tables)
    expected = growth.expected_sticks(tables, by.gamma)
    a32, toks = (by.alpha * expected).astype(np.float32), tuple(chain.tokens)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(z, toks, chain.ids, lo, hi, rows, a32, seed, INIT, 5)

    each(work, chain.tokens.indptr, 10.0)
    n, shape = growth.columns(n_topics, by), chain.y.shape
    counts, topic = np.zeros((chain.n_terms, n), np.float32), np.zeros(n)
    tilted_sweep.count_tokens(counts, topic, chain.tokens.terms, z)
    omega, kappa = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    response.start_rows(omega, kappa, chain.y, chain.cost, 0, len(omega), chain.loss, chain.width)
    eta, stick = np.zeros((shape[1], n), np.float32), np.zeros(n)
    stick[:n_topics] = expected
    stick[topic == 0.0] = 0.0
    ids = np.full(n, -1)
    ids[:n_topics] = np.arange(n_topics)
    state = GrowingChainState(
        0, z, counts, topic, omega, kappa, eta, np.zeros(eta.shape), np.zeros(shape[1]), stick,
        float(1.0 - stick.sum()), ids, n_topics, np.zeros_like(counts), np.zeros(eta.shape),
        np.zeros(n, np.int64), 0, np.zeros((0, *eta.shape), np.float32), np.zeros(0, np.int64),
        np.zeros(0), np.zeros(0, np.int64),
    )  # fmt: skip
    return _tidy(state, by)


def sweep(
    state: GrowingChainState,
    chain: MarginChain,
    beta: float,
    by: TopicGrowth,
    seed: int,
    each: Each,
) -> GrowingChainState:
    """Weights, topics, auxiliary variables, tables and sticks once."""
    step = state.step + 1
    state = _draw_weights(state, chain, seed, step, each)
    own, mortal = state.topic.astype(np.int64), np.ones(len(state.topic), bool)
    roots = growth.roots_of(state.stick, state.rest, own, mortal, by)
    live = growth.LiveDocuments(
        chain.tokens, chain.ids, chain.rho, state.z, state.counts, state.topic, roots
    )
    none = np.empty((0, 0, 0), np.float32)
    labels = (state.omega, state.kappa, state.eta, none)
    growth.sweep(live, labels, by, (beta, chain.n_terms * beta), seed, step)
    zbar = gibbs.averages(state.z, chain, len(state.topic), each)

    def work(lo: int, hi: int) -> None:
        response.draw_rows(
            state.omega, state.kappa, zbar, state.eta, chain.y, chain.cost, chain.ids, lo, hi,
            chain.loss, chain.width, seed, step,
        )  # fmt: skip

    each(work, gibbs.counting(len(chain.ids)), 100.0 * chain.y.shape[1])
    growth.renew_sticks(live, np.zeros(len(state.topic)), by, seed, step)
    born = np.flatnonzero(roots.born | ~roots.in_use)
    state.kept[:, born], state.kept_mean[:, born], state.n_kept[born] = 0.0, 0.0, 0
    state.draws[..., born] = state.level[:, None]  # kept of topics that are not these any more
    state.ids[born] = -1
    state = state._replace(step=step, stick=roots.stick, rest=float(roots.rest[0]))
    return _tidy(state, by)


def _draw_weights(
    state: GrowingChainState, chain: MarginChain, seed: int, step: int, each: Each
) -> GrowingChainState:
    """The level of every task given the weights of its topics, then weights around it.

    With eta = level + v the score is level + v . zbar, so v ~ N(0, s) sees kappa - omega level.
    """
    n_tasks, n_topics = state.eta.shape
    level = _levels(state, chain.variance, seed, step)
    kappa = state.kappa - state.omega * level.astype(np.float32)
    zbar = gibbs.averages(state.z, chain, n_topics, each)

    def work(lo: int, hi: int) -> None:
        response.draw_weights(
            state.eta, state.mean, zbar, state.omega, kappa, lo, hi, chain.variance, seed, step
        )

    each(work, gibbs.counting(n_tasks), 200.0 * len(chain.ids) + n_topics**3)
    state.eta[...] += level[:, None].astype(np.float32)
    state.mean[...] += level[:, None]
    return state._replace(level=level)


def _levels(state: GrowingChainState, variance: float, seed: int, step: int) -> F64:
    """level_i | eta ~ N(mean of eta_i over topics, s / K), nothing being known of it before."""
    if step == 1:
        return np.zeros(len(state.eta))
    used = state.ids >= 0
    out = state.eta[:, used].mean(axis=1, dtype=np.float64)
    stream = np.empty(1, np.uint64)
    for i in range(len(out)):
        stream[0] = np.uint64(key(seed, LEVEL, step, i))
        out[i] += np.sqrt(variance / used.sum()) * draw_normal(stream)
    return np.asarray(out, np.float64)


def keep(state: GrowingChainState) -> GrowingChainState:
    """Count the last sweep among those that are averaged."""
    used = state.ids >= 0
    state.kept[...] += state.counts
    state.kept_mean[:, used] += state.mean[:, used]
    state.n_kept[used] += 1
    draws = np.concatenate([state.draws, state.eta[None]])
    return state._replace(n_draws=state.n_draws + 1, draws=draws)


def _tidy(state: GrowingChainState, by: TopicGrowth) -> GrowingChainState:
    """Topics in use first, older ones before younger ones, then as many free columns as there may be."""
    used = np.flatnonzero(state.topic > 0)
    used = used if len(used) else np.zeros(1, np.intp)  # there is no token at all
    ids, new = state.ids.copy(), used[state.ids[used] < 0]
    ids[new] = state.n_born + np.arange(len(new))
    order = used[np.argsort(ids[used], kind="stable")]
    n = growth.columns(len(order), by)
    course = np.append(state.course, len(order)) if state.step else state.course
    state = state._replace(n_born=state.n_born + len(new), course=course)
    if n == len(ids) and np.array_equal(order, np.arange(len(order))):
        return state._replace(ids=ids)
    place = np.zeros(len(ids), np.uint16)
    place[order] = np.arange(len(order))
    spare = n - len(order)

    def move_columns(x: Any, fill: float = 0.0) -> Any:
        room = np.full((*x.shape[:-1], spare), fill, x.dtype)
        return np.concatenate([x[..., order], room], axis=-1)

    names = ("counts", "topic", "mean", "stick", "kept", "kept_mean", "n_kept", "eta")
    arrays: dict[str, Any] = {name: move_columns(getattr(state, name)) for name in names}
    level = np.broadcast_to(
        state.level[:, None].astype(np.float32), (len(state.draws), len(state.level), spare)
    )
    draws = np.concatenate([state.draws[..., order], level], axis=-1)
    return state._replace(ids=move_columns(ids, -1), z=place[state.z], draws=draws, **arrays)


def append_score(
    state: GrowingChainState, chain: MarginChain, beta: float, by: TopicGrowth
) -> GrowingChainState:
    """With ln p(w, z) per token of the topics there are."""
    n = int((state.ids >= 0).sum())
    prior = gibbs.MarginPrior(np.maximum(by.alpha * state.stick[:n], 1e-30), beta)
    value = chains.log_joint(state.z, np.ascontiguousarray(state.counts[:, :n]), chain, prior)
    return state._replace(
        scores=np.append(state.scores, value), score_steps=np.append(state.score_steps, state.step)
    )


def read_off(
    state: GrowingChainState, chain: MarginChain, beta: float, by: TopicGrowth
) -> tuple[chains.MarginState, gibbs.MarginPrior, I64]:
    """The chain as one of as many topics as it has, with the prior of those and their numbers."""
    n = int((state.ids >= 0).sum())
    roots = growth.roots_of(
        state.stick, state.rest, state.topic.astype(np.int64), np.ones(len(state.stick), bool), by
    )
    live = growth.LiveDocuments(
        chain.tokens, chain.ids, chain.rho, state.z, state.counts, state.topic, roots
    )
    tables = growth.seats(live, by, 0, 0, drawn=False)[:n]
    alpha = by.alpha * growth.expected_sticks(tables, by.gamma)

    def whole(x: Any) -> Any:
        return np.ascontiguousarray(x[..., :n])

    seen = state.n_draws / np.maximum(
        state.n_kept, 1
    )  # a topic counts in the sweeps that it was in
    found = chains.MarginState(
        state.step, state.z[None], whole(state.counts)[None], whole(state.topic)[None],
        state.omega[None], state.kappa[None], whole(state.eta)[None], whole(state.mean)[None],
        whole(state.kept)[None], whole(state.kept_mean * seen)[None], state.n_draws,
        whole(state.draws)[:, None], state.scores, state.score_steps,
    )  # fmt: skip
    return found, gibbs.MarginPrior(np.maximum(alpha, 1e-30), beta), whole(state.ids)
