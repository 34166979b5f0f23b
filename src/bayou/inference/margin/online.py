"""Steps of online max-margin learning around the sampler: decay, responses, scores, counts.

q_{t+1} = argmin KL(q || q_t) - E ln p(words, topics) + 2c sum_d loss_d(q) [Shi17], by mean field
q(w) q(phi) q(z) with z sampled. Two losses of q: the loss of the mean (``averaging``: dual variables, the
covariance stays sigma^2), or the mean of the loss (``gibbs``: an auxiliary lambda makes it Gaussian, and
precisions grow). All knowledge is a sum over documents, so decay is one factor: q_t^r q_0^(1 - r) replaces
q_t.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.margin import batch as online_batch
from bayou.inference.margin import one_vs_all, online_refit
from bayou.inference.margin.batch import MarginBatch
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.online_state import (
    N_SCORED,
    OnlineMarginSettings,
    OnlineMarginState,
    document_prior,
    target_scale,
    term_weight,
    topic_posterior,
)
from bayou.inference.margin.online_weights import OnlineRun, solve_means

SCORE_ALL, SCORE_EVERY = 256, 8  # the first documents are all scored, then one in every eight
MOST_POSITIVE = 8.0  # from 12 on, rare labels are given to documents that do not have them
_LEAST_SCALE = 1e-6
_SINGLE = 2.0**20  # tokens in a cell up to which single precision resolves an eighth of a token


def fade(
    state: OnlineMarginState, left: float, p: OnlineMarginSettings, each: Each
) -> OnlineMarginState:
    """The state after decay to a share ``left``: every sum times ``left``, priors unchanged."""
    if left == 1.0:
        return state
    scale, raw = state.scale * left, state.raw
    if scale < _LEAST_SCALE:
        raw *= np.float32(scale)
        scale = 1.0
    moments = state.moments * np.array([[left], [1.0], [left]])
    alone = np.eye(state.mean.shape[1]) / p.variance
    precision, linear = left * state.precision + (1.0 - left) * alone, state.linear * left
    mean = solve_means(precision, linear, each) if p.gibbs else state.mean * left
    if p.fresh:  # later passes teach the second stage nothing that could replace what decays
        state = online_refit.fade_sums(state, left)._replace(lessons=state.lessons * left)
    return state._replace(
        mass=state.mass * left, seen_in=state.seen_in * left,
        raw=raw, scale=scale,
        topic=state.topic * left, mean=mean, precision=precision, linear=linear, moments=moments,
        tables=state.tables * left,
    )  # fmt: skip


def read_batch(
    state: OnlineMarginState, examples: Examples, p: OnlineMarginSettings, seed: int
) -> tuple[OnlineMarginState, MarginBatch]:
    """The mini-batch with labels or targets, whichever the loss is of."""
    return (read_labels if p.loss.classifies else read_targets)(state, examples, p, seed)


def read_labels(
    state: OnlineMarginState, examples: Examples, p: OnlineMarginSettings, seed: int
) -> tuple[OnlineMarginState, MarginBatch]:
    """The mini-batch with labels as signs, the cost of each, and a factor on positive ones."""
    y = examples.y.astype(np.float64)
    cost = examples.costs[:, None] * (y != 0.0)
    state, batch = _read_words(state, examples, y, cost, p, seed)
    dear = np.where(y > 0.0, positive_factors(state, p), 1.0)
    if p.shared:  # one precision for all tasks: the factor goes to the linear term
        return state, batch._replace(dear=dear)
    return state, batch._replace(cost=cost * dear)


def read_targets(
    state: OnlineMarginState, examples: Examples, p: OnlineMarginSettings, seed: int
) -> tuple[OnlineMarginState, MarginBatch]:
    """The mini-batch with targets scaled to mean 0 and deviation 1 by all targets so far."""
    state = state._replace(moments=add_moments(state.moments, examples))
    centre, deviation = target_scale(state)
    known = ~np.isnan(examples.y)
    y = np.where(known, (examples.y - centre) / deviation, 0.0)
    return _read_words(state, examples, y, examples.costs[:, None] * known, p, seed)


def _read_words(
    state: OnlineMarginState, examples: Examples, y: F64, cost: F64, p: OnlineMarginSettings, seed: int
) -> tuple[OnlineMarginState, MarginBatch]:  # fmt: skip
    """Tokens of the mini-batch, weights of its terms, and the number of documents with each label."""
    step, n_terms = state.step + 1, len(state.raw)
    batch = online_batch.make(examples, y, cost, n_terms, p.tf, seed, step, shuffle=p.shuffle)
    mass = state.mass + examples.n_docs
    seen = state.seen_in[batch.terms] + online_batch.frequencies(batch)
    known = (cost > 0.0).any(axis=1)
    yes = state.yes + (y[known] > 0.0).sum(axis=0)
    state = state._replace(mass=mass, yes=yes, told=state.told + int(known.sum()))
    return state, batch._replace(weight=term_weight(mass, seen, p.idf), seen=seen)


def positive_factors(state: OnlineMarginState, p: OnlineMarginSettings) -> F64:
    """Factor on positive labels of every task: the given one, or the ratio of negative to positive ones."""
    if p.positive > 0.0:
        return np.full(len(state.yes), p.positive)
    odds = (state.told - state.yes) / np.maximum(state.yes, 1.0)
    return np.clip(odds, 1.0, MOST_POSITIVE)


def add_moments(moments: F64, examples: Examples) -> F64:
    """Number, mean and squared deviations of targets with those of further documents [Chan's update]."""
    n, mean, squares = moments
    y = np.where((examples.costs > 0.0)[:, None], examples.y, np.nan)
    known = ~np.isnan(y)
    m = known.sum(axis=0).astype(np.float64)
    total = np.maximum(n + m, 1.0)
    theirs = np.where(known, y, 0.0).sum(axis=0) / np.maximum(m, 1.0)
    own = np.where(known, (y - theirs) ** 2, 0.0).sum(axis=0)
    gap = np.where(m > 0.0, theirs - mean, 0.0)
    return np.stack([n + m, mean + gap * m / total, squares + own + gap**2 * n * m / total])


def score_batch(state: OnlineMarginState, examples: Examples, run: OnlineRun) -> OnlineMarginState:
    """Score some documents before they are learned, for calibration; the second stage learns from all."""
    batch, p, _, each = run
    if p.refit and not p.fresh:
        return state
    number = state.n_seen + np.arange(batch.n_docs)
    known = (batch.cost > 0.0).any(axis=1)
    kept = (number < SCORE_ALL) | (number % SCORE_EVERY == 0)
    use = np.flatnonzero(known & (kept | p.refit))
    if not len(use):
        return state
    zbar = _new_features(state, use, run)
    responses = batch.y if p.loss.classifies else examples.y
    truth = np.where(batch.cost > 0.0, responses, np.nan)[use]
    if p.refit:
        found = online_refit.score(state, zbar, p, each)
        lesson = online_refit.RefitBatch(zbar, truth, examples.costs[use] / p.cost)
        state = online_refit.learn(state, lesson, found, p, each)
        return _append_scores(state, found[kept[use]], truth[kept[use]])
    found = score_rows(zbar, state, p)
    if p.loss.classifies:  # a sign counts as often as the document and its label weigh
        return _append_scores(state, found, truth * (batch.cost * batch.dear)[use] / p.cost)
    centre, deviation = target_scale(state)
    return _append_scores(state, found * deviation + centre, truth)


def score_rows(zbar: F32, state: OnlineMarginState, p: OnlineMarginSettings) -> F64:
    """Scores (documents x tasks) from average topics, row by row."""
    if p.separate:
        return one_vs_all.score(zbar, state.mean)
    return np.asarray(np.einsum("dk,ik->di", zbar.astype(np.float64), state.mean), np.float64)


def _new_features(state: OnlineMarginState, use: I64, run: OnlineRun) -> F32:
    """Average topics of some documents of a batch, as for documents that are not learned yet."""
    batch, p, _, each = run
    pairs, terms, weight = batch.pairs, batch.terms, batch.weight
    if len(use) < batch.n_docs:
        pairs = documents.select(pairs, use)
        own, places = np.unique(pairs.terms, return_inverse=True)
        pairs, terms = pairs._replace(terms=places.astype(np.int32)), terms[own]
        weight = weight[own]
    return batch_features(state, p, terms, weight, pairs, each)


def batch_features(
    state: OnlineMarginState, p: OnlineMarginSettings, terms: I64, weight: F32, pairs: Pairs, each: Each
) -> F32:  # fmt: skip
    """zbar of documents by their words, those of all tasks side by side if each has its own topics."""
    found = []
    for part in one_vs_all.parts(state, p):
        rows = online_batch.mean_rows(topic_posterior(part, p), terms, each)
        found.append(online_batch.averages(rows, document_prior(part, p), weight, pairs, each))
    return found[0] if len(found) == 1 else np.hstack(found)


def _append_scores(state: OnlineMarginState, found: F64, truth: F64) -> OnlineMarginState:
    """Scores and true responses of the latest documents replace the oldest ones."""
    if not len(found):
        return state
    at = (state.n_scored + np.arange(len(found)))[-N_SCORED:] % N_SCORED
    scores, truths = state.scores.copy(), state.truths.copy()
    scores[at], truths[at] = found[-N_SCORED:], truth[-N_SCORED:]
    return state._replace(scores=scores, truths=truths, n_scored=state.n_scored + len(found))


def add_counts(state: OnlineMarginState, batch: MarginBatch, counts: F64) -> OnlineMarginState:
    """q(phi) = Dir(Delta_t + counts). ``raw`` and ``seen_in`` change in place, other arrays are new ones."""
    state.seen_in[batch.terms] = batch.seen
    raw = _widen(state, batch.terms)
    raw[batch.terms] += (counts / state.scale).astype(raw.dtype)
    topic, n_seen = state.topic + counts.sum(axis=0), state.n_seen + batch.n_docs
    return state._replace(step=state.step + 1, n_seen=n_seen, raw=raw, topic=topic)


def _widen(state: OnlineMarginState, terms: I64) -> F32 | F64:
    """The counts in a precision in which one more token makes a difference."""
    raw = state.raw
    if raw.dtype == np.float64 or state.scale * raw[terms].max(initial=0.0) < _SINGLE:
        return raw
    return raw.astype(np.float64)
