"""Max-margin topics on a stream: Dir(Delta) and N(mu, S), the posterior of a batch the prior of the next.

q_{t+1} = argmin KL(q || q_t) - E ln p(words, topics) + 2c sum_d loss_d(q) [Shi17], by mean field
q(w) q(phi) q(z) with z sampled. Two losses of q: of the mean (``averaging``: dual variables, the covariance
stays sigma^2), or the mean of the loss (``gibbs``: an auxiliary lambda makes it Gaussian, precisions grow).
Everything that is known is a sum over documents, so that forgetting is one factor: q_t^r q_0^(1 - r) in
place of q_t.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.margin import batch as online_batch
from bayou.inference.margin import online_refit
from bayou.inference.margin.batch import MarginBatch
from bayou.inference.margin.online_state import (
    N_SCORED,
    OnlineMarginSettings,
    OnlineMarginState,
    prior,
    scaling,
    term_weight,
    topics_of,
)
from bayou.inference.margin.passive_aggressive import Examples
from bayou.inference.margin.rounds import run_rounds, solve_means
from bayou.inference.margin.stream_growth import drop_small_topics
from bayou.kernels.margin import response

SCORE_ALL, SCORE_EVERY = 256, 8  # the first documents are all scored, then one in so many
MOST_POSITIVE = 8.0  # from 12 on rare labels are given to documents that do not have them
_LEAST_SCALE = 1e-6
_SINGLE = 2.0**20  # tokens in a cell up to which an eighth of one is not lost in single precision


def fade_state(
    state: OnlineMarginState, left: float, how: OnlineMarginSettings, each: Each
) -> OnlineMarginState:
    """The state when ``left`` of what was known is left: every sum times ``left``, priors as they were."""
    if left == 1.0:
        return state
    scale, raw = state.scale * left, state.raw
    if scale < _LEAST_SCALE:
        raw *= np.float32(scale)
        scale = 1.0
    moments = state.moments * np.array([[left], [1.0], [left]])
    alone = np.eye(len(state.topic)) / how.variance
    precision, linear = left * state.precision + (1.0 - left) * alone, state.linear * left
    mean = solve_means(precision, linear, each) if how.gibbs else state.mean * left
    if how.fresh:  # else nothing takes the place of what a second stage would forget
        state = online_refit.fade_sums(state, left)._replace(lessons=state.lessons * left)
    return state._replace(
        mass=state.mass * left, seen_in=state.seen_in * left,
        raw=raw, scale=scale,
        topic=state.topic * left, mean=mean, precision=precision, linear=linear, moments=moments,
        tables=state.tables * left,
    )  # fmt: skip


def learn(
    state: OnlineMarginState, examples: Examples, how: OnlineMarginSettings, seed: int, each: Each
) -> OnlineMarginState:
    """One mini-batch. ``raw`` and ``seen_in`` may change in place, other arrays are new ones."""
    n_docs, step = examples.n_docs, state.step + 1
    state = fade_state(state, how.decay**n_docs, how, each)
    state = state._replace(moments=_more_moments(state.moments, examples, how))
    y, cost = _responses(state, examples, how)
    batch = online_batch.make(examples, y, cost, len(state.raw), how.tf, seed, step)
    mass = state.mass + n_docs
    seen = state.seen_in[batch.terms] + online_batch.frequencies(batch)
    batch = batch._replace(weight=term_weight(mass, seen, how.idf))
    known = (cost > 0.0).any(axis=1)
    yes = state.yes + (y[known] > 0.0).sum(axis=0)
    state = state._replace(mass=mass, yes=yes, told=state.told + int(known.sum()))
    if how.loss == response.HINGE:
        batch = batch._replace(dear=np.where(y > 0.0, favour(state, how), 1.0))
    if not how.shared:
        batch = batch._replace(cost=batch.cost * batch.dear, dear=np.ones(y.shape))
    state = _score_batch(state, batch, examples, how, each)
    added, state = run_rounds(state, batch, how, seed, each)
    state.seen_in[batch.terms] = seen
    if how.growth is not None:
        state, added = drop_small_topics(state, added, n_docs, how.growth)
    raw = _wide_enough(state, batch.terms)
    raw[batch.terms] += (added / state.scale).astype(raw.dtype)
    topic = state.topic + added.sum(axis=0)
    return state._replace(step=step, n_seen=state.n_seen + n_docs, raw=raw, topic=topic)


def _wide_enough(state: OnlineMarginState, terms: I64) -> F32 | F64:
    """The counts in a precision to which a token more still makes a difference."""
    raw = state.raw
    if raw.dtype == np.float64 or state.scale * raw[terms].max(initial=0.0) < _SINGLE:
        return raw
    return raw.astype(np.float64)


def _responses(
    state: OnlineMarginState, examples: Examples, how: OnlineMarginSettings
) -> tuple[F64, F64]:
    """Responses as the weights are told them, and what each costs; 0 where nothing is known."""
    y = examples.y.astype(np.float64)
    if how.loss == response.HINGE:
        return y, examples.costs[:, None] * (y != 0.0)
    centre, deviation = scaling(state)
    known = ~np.isnan(y)
    return np.where(known, (y - centre) / deviation, 0.0), examples.costs[:, None] * known


def favour(state: OnlineMarginState, how: OnlineMarginSettings) -> F64:
    """The factor on a yes of every task: the one given, or by how much its no's outnumber it."""
    if how.positive > 0.0:
        return np.full(len(state.yes), how.positive)
    odds = (state.told - state.yes) / np.maximum(state.yes, 1.0)
    return np.clip(odds, 1.0, MOST_POSITIVE)


def _more_moments(moments: F64, examples: Examples, how: OnlineMarginSettings) -> F64:
    """Number, mean and squares of targets with those of further documents [Chan's update]."""
    if how.loss == response.HINGE:
        return moments
    n, mean, squares = moments
    y = np.where((examples.costs > 0.0)[:, None], examples.y, np.nan)
    known = ~np.isnan(y)
    m = known.sum(axis=0).astype(np.float64)
    total = np.maximum(n + m, 1.0)
    theirs = np.where(known, y, 0.0).sum(axis=0) / np.maximum(m, 1.0)
    own = np.where(known, (y - theirs) ** 2, 0.0).sum(axis=0)
    gap = np.where(m > 0.0, theirs - mean, 0.0)
    return np.stack([n + m, mean + gap * m / total, squares + own + gap**2 * n * m / total])


def _score_batch(
    state: OnlineMarginState,
    batch: MarginBatch,
    examples: Examples,
    how: OnlineMarginSettings,
    each: Each,
) -> OnlineMarginState:
    """Some documents scored by what was known before them: what predictions are calibrated on."""
    if how.refit and not how.fresh:
        return state
    number = state.n_seen + np.arange(batch.n_docs)
    known = (batch.cost > 0.0).any(axis=1)
    kept = (number < SCORE_ALL) | (number % SCORE_EVERY == 0)
    use = np.flatnonzero(known & (kept | how.refit))
    if not len(use):
        return state
    zbar = _to_come(state, batch, use, how, each)
    truth = np.where(batch.cost > 0.0, batch.y, np.nan)[use]
    if how.loss == response.INSENSITIVE:
        truth = np.where(batch.cost > 0.0, examples.y, np.nan)[use]
    if how.refit:
        found = online_refit.score(state, zbar, how, each)
        lesson = online_refit.RefitBatch(zbar, truth, examples.costs[use] / how.cost)
        state = online_refit.learn(state, lesson, found, how, each)
        found, truth, use = found[kept[use]], truth[kept[use]], use[kept[use]]
    else:
        found = np.einsum("dk,ik->di", zbar.astype(np.float64), state.mean)
        if how.loss == response.HINGE:  # as many yes or no as the document and its label weigh
            truth = truth * (batch.cost * batch.dear)[use] / how.cost
        if how.loss == response.INSENSITIVE:
            centre, deviation = scaling(state)
            found = found * deviation + centre
    return _remember(state, found, truth)


def _to_come(
    state: OnlineMarginState, batch: MarginBatch, use: I64, how: OnlineMarginSettings, each: Each
) -> F32:
    """Average topics of some documents by what is known, as if they were still to come."""
    pairs, terms, weight = batch.pairs, batch.terms, batch.weight
    if len(use) < batch.n_docs:
        pairs = documents.select(pairs, use)
        own, places = np.unique(pairs.terms, return_inverse=True)
        pairs, terms = pairs._replace(terms=places.astype(np.int32)), terms[own]
        weight = weight[own]
    rows = online_batch.mean_rows(topics_of(state, how), terms, each)
    return online_batch.averages(rows, prior(state, how), weight, pairs, each)


def _remember(state: OnlineMarginState, found: F64, truth: F64) -> OnlineMarginState:
    """Scores and truths of the latest documents, over the oldest ones."""
    if not len(found):
        return state
    at = (state.n_scored + np.arange(len(found)))[-N_SCORED:] % N_SCORED
    scores, truths = state.scores.copy(), state.truths.copy()
    scores[at], truths[at] = found[-N_SCORED:], truth[-N_SCORED:]
    return state._replace(scores=scores, truths=truths, n_scored=state.n_scored + len(found))
