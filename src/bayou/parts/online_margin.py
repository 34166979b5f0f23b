"""Max-margin topics on a stream: a posterior Dir(Delta), N(mu, S) that each mini-batch makes the next prior of.

q_{t+1} = argmin KL(q || q_t) - E ln p(words, topics) + 2c sum_d loss_d(q) [Shi17], by mean field q(w) q(phi) q(z)
with z sampled. Two losses of q: of the mean (``averaging``: dual variables, the covariance stays sigma^2), or the
mean of the loss (``gibbs``: an auxiliary lambda makes it Gaussian, precisions grow). Everything that is known is a
sum over documents, so that forgetting is one factor: q_t^r q_0^(1 - r) in place of q_t.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.kernels import fixed_sweep, response, tilted_sweep
from bayou.kernels import online_margin as kernels
from bayou.kernels.rng import INIT, TOKEN
from bayou.parts import features, online_batch, topics
from bayou.parts.online_batch import Batch, Topics
from bayou.parts.passive_aggressive import Examples
from bayou.parts.topics import F32, F64, I32, I64, U16, Each

N_SCORED = 512  # the latest documents that were scored before they were learned
SCORE_ALL, SCORE_EVERY = 256, 8  # the first documents are all scored, then one in so many
MOST_POSITIVE = 4.0
DUAL_ROUNDS, DUAL_TOL = 100, 1e-6
_LEAST_SCALE = 1e-6

Zbar = tuple[I64, I32, U16, F32]


class How(NamedTuple):
    """The settings of a step."""

    gibbs: bool
    loss: int  # `response.HINGE` or `response.INSENSITIVE`
    width: float  # margin, or half-width of the tube
    variance: float  # of a weight before the first document [sigma^2]
    floor: float  # of lambda in the weights' update, 0 for none
    shared: bool  # whether one precision matrix serves all tasks
    positive: float  # factor on the cost of a yes; 0: as rare as the label is, up to `MOST_POSITIVE`
    alpha: F64
    beta: float
    n_rounds: int
    n_sweeps: int
    burn_in: int
    ghosts: float  # how often a document counts
    decay: float  # what is left of a document when the next has come
    tf: str
    idf: bool


class State(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    mass: float  # those that still count
    seen_in: F64  # terms: documents that they were in
    raw: F32  # terms x topics; Delta = beta + scale raw
    scale: float
    topic: F64  # sum over terms of Delta - beta
    mean: F64  # tasks x topics [mu]
    precision: F64  # matrices x topics x topics: none, one for all tasks, or one each
    linear: F64  # tasks x topics, P mu; no rows unless "gibbs"
    told: int  # documents with a response
    yes: F64  # tasks: those that had the label
    moments: F64  # (3, targets): number, mean, and squares around it; no columns for classes
    scores: F64  # N_SCORED x tasks, before the document was learned
    truths: F64  # the same with what was true, NaN where it is not known
    n_scored: int


def start(n_terms: int, n_tasks: int, how: How) -> State:
    """The prior: no document seen."""
    n_topics = len(how.alpha)
    n_matrices = (1 if how.shared else n_tasks) if how.gibbs else 0
    n_targets = 0 if how.loss == response.HINGE else n_tasks
    return State(
        step=0, n_seen=0, mass=0.0, seen_in=np.zeros(n_terms),
        raw=np.zeros((n_terms, n_topics), np.float32), scale=1.0, topic=np.zeros(n_topics),
        mean=np.zeros((n_tasks, n_topics)),
        precision=np.tile(np.eye(n_topics) / how.variance, (n_matrices, 1, 1)),
        linear=np.zeros((n_tasks if how.gibbs else 0, n_topics)),
        told=0, yes=np.zeros(n_tasks), moments=np.zeros((3, n_targets)),
        scores=np.zeros((N_SCORED, n_tasks)), truths=np.full((N_SCORED, n_tasks), np.nan),
        n_scored=0,
    )  # fmt: skip


def topics_of(state: State, how: How) -> Topics:
    """The topics as they are."""
    return Topics(state.raw, state.scale, state.topic, how.beta)


def copy(state: State) -> State:
    """A state that may change without this one."""
    return State(*(x.copy() if isinstance(x, np.ndarray) else x for x in state))


def term_weight(mass: float, seen: F64, idf: bool) -> F32:
    """1 + ln((1 + D) / (1 + df)) of terms that ``seen`` of ``mass`` documents hold; or ones."""
    if not idf:
        return np.ones(len(seen), np.float32)
    return np.asarray(1.0 + np.log((1.0 + mass) / (1.0 + seen)), np.float32)


def faded(state: State, left: float, how: How, each: Each) -> State:
    """The state when ``left`` of what was known is left: every sum times ``left``, priors as they were."""
    if left == 1.0:
        return state
    scale, raw = state.scale * left, state.raw
    if scale < _LEAST_SCALE:
        raw *= np.float32(scale)
        scale = 1.0
    moments = state.moments * np.array([[left], [1.0], [left]])
    prior = np.eye(len(state.topic)) / how.variance
    precision, linear = left * state.precision + (1.0 - left) * prior, state.linear * left
    mean = _solved(precision, linear, each) if how.gibbs else state.mean * left
    return state._replace(
        mass=state.mass * left, seen_in=state.seen_in * left, raw=raw, scale=scale,
        topic=state.topic * left, mean=mean, precision=precision, linear=linear, moments=moments,
    )  # fmt: skip


def learn(state: State, examples: Examples, how: How, seed: int, each: Each) -> State:
    """One mini-batch. ``raw`` and ``seen_in`` may change in place, other arrays are new ones."""
    n_docs, step = examples.n_docs, state.step + 1
    state = faded(state, how.decay**n_docs, how, each)
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
    state = _scored(state, batch, examples, how, each)
    added, state = _rounds(state, batch, how, seed, each)
    state.seen_in[batch.terms] = seen
    state.raw[batch.terms] += (added / state.scale).astype(np.float32)
    topic = state.topic + added.sum(axis=0)
    return state._replace(step=step, n_seen=state.n_seen + n_docs, topic=topic)


def _responses(state: State, examples: Examples, how: How) -> tuple[F64, F64]:
    """Responses as the weights are told them, and what each costs; 0 where nothing is known."""
    y = examples.y.astype(np.float64)
    if how.loss == response.HINGE:
        return y, examples.costs[:, None] * (y != 0.0)
    centre, deviation = scaling(state)
    known = ~np.isnan(y)
    return np.where(known, (y - centre) / deviation, 0.0), examples.costs[:, None] * known


def favour(state: State, how: How) -> F64:
    """The factor on a yes of every task: the one given, or by how much its no's outnumber it."""
    if how.positive > 0.0:
        return np.full(len(state.yes), how.positive)
    odds = (state.told - state.yes) / np.maximum(state.yes, 1.0)
    return np.clip(odds, 1.0, MOST_POSITIVE)


def scaling(state: State) -> tuple[F64, F64]:
    """Mean and standard deviation of the targets so far; 1 where they have not differed."""
    n, mean, squares = state.moments
    deviation = np.sqrt(squares / np.maximum(n, 1.0))
    return mean, np.where(deviation > 0.0, deviation, 1.0)


def _more_moments(moments: F64, examples: Examples, how: How) -> F64:
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


def _scored(state: State, batch: Batch, examples: Examples, how: How, each: Each) -> State:
    """Some documents scored by what was known before them: what predictions are calibrated on."""
    number = state.n_seen + np.arange(batch.n_docs)
    known = (batch.cost > 0.0).any(axis=1)
    use = np.flatnonzero(known & ((number < SCORE_ALL) | (number % SCORE_EVERY == 0)))
    if not len(use):
        return state
    pairs = topics.select(batch.pairs, use)
    rows = online_batch.mean_rows(topics_of(state, how), batch.terms, each)
    zbar = online_batch.averages(rows, how.alpha, batch.weight, pairs, each)
    found = np.einsum("dk,ik->di", zbar.astype(np.float64), state.mean)
    truth = np.where(batch.cost > 0.0, batch.y, np.nan)[use]
    if how.loss == response.INSENSITIVE:
        centre, deviation = scaling(state)
        found, truth = found * deviation + centre, examples.y[use]
    at = (state.n_scored + np.arange(len(use)))[-N_SCORED:] % N_SCORED
    scores, truths = state.scores.copy(), state.truths.copy()
    scores[at], truths[at] = found[-N_SCORED:], truth[-N_SCORED:]
    return state._replace(scores=scores, truths=truths, n_scored=state.n_scored + len(use))


# -- the rounds of a mini-batch ----------------------------------------------------------------------


class Local(NamedTuple):
    """What the rounds of a mini-batch work on."""

    z: U16
    rho: F32
    omega: F32  # documents x tasks
    kappa: F32
    shown: NDArray[np.bool_]  # tasks that have had a yes, and so a say in the topics


class Round(NamedTuple):
    """One of them: its number, the topics as it sees them, and how it is run."""

    n: int
    rows: F32
    how: How
    seed: int
    each: Each


def _rounds(state: State, batch: Batch, how: How, seed: int, each: Each) -> tuple[F64, State]:
    """The counts of the batch and the state with its weights, after ``n_rounds`` from the same prior."""
    shape = batch.y.shape
    local = Local(
        np.empty(len(batch.tokens.terms), np.uint16),
        features.token_weights(batch.tokens, batch.weight),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.float32),
        (state.yes > 0.0) | (how.loss == response.INSENSITIVE),
    )
    added, after = np.zeros((len(batch.terms), len(how.alpha))), state
    for n in range(how.n_rounds):
        rows = online_batch.expected_rows(topics_of(state, how), batch.terms, added, each)
        run = Round(n, rows, how, seed, each)
        if n == 0 or how.gibbs:
            _open(local, batch, run)
        added, after = (_gibbs if how.gibbs else _averaging)(state, after, batch, local, run)
    return added, after


def _open(local: Local, batch: Batch, run: Round) -> None:
    """First topics without labels, each token after those before it."""
    toks, alpha = tuple(batch.tokens), run.how.alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(
            local.z, toks, batch.ids, lo, hi, run.rows, alpha, run.seed, INIT, run.n
        )

    run.each(work, batch.tokens.indptr, 2.0 * len(alpha))


def _sweep(local: Local, batch: Batch, eta: F32, spread: F32, run: Round, j: int) -> Zbar:
    """All tokens once under their words and labels, and zbar of the documents after it."""
    indptr, terms = batch.tokens
    n_topics = len(run.how.alpha)
    words = (run.rows, np.empty(0), np.ones(n_topics, np.float32))
    prior = (run.how.alpha.astype(np.float32), np.float32(0.0))
    labels = (local.omega, local.kappa, eta, spread)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(np.diff(indptr), n_topics))])
    zbar = (
        ends[:-1].copy(),
        np.zeros(batch.n_docs, np.int32),
        np.zeros(ends[-1], np.uint16),
        np.zeros(ends[-1], np.float32),
    )
    toks = (indptr, terms, batch.ids)
    number = run.n * run.how.n_sweeps + j + 1

    def work(lo: int, hi: int) -> None:
        tilted_sweep.sweep_docs(
            local.z, toks, local.rho, lo, hi, words, tilted_sweep.GIVEN, prior, labels,
            run.seed, TOKEN, number,
        )  # fmt: skip
        response.zbar_rows(zbar, local.z, local.rho, indptr, n_topics, lo, hi)

    run.each(work, indptr, 5.0 * n_topics)
    return zbar


def _averaging(
    state: State, after: State, batch: Batch, local: Local, run: Round
) -> tuple[F64, State]:
    """Topics under the dual variables of the round before, then those of this one."""
    how = run.how
    eta, none = after.mean.astype(np.float32), np.empty((0, 0, 0), np.float32)
    added = np.zeros((len(batch.terms), len(how.alpha)))
    zhat = np.zeros((batch.n_docs, len(how.alpha)))
    kept = how.n_sweeps - how.burn_in
    for j in range(how.n_sweeps):
        zbar = _sweep(local, batch, eta, none, run, j)
        if j >= how.burn_in:
            kernels.count_into(added, batch.tokens.terms, local.z, how.ghosts / kept)
            kernels.add_zbar(zhat, zbar, 1.0 / kept)
    mean, duals = dual_step(state.mean, zhat, batch.y, how.ghosts * batch.cost, how, run.each)
    local.kappa[:] = duals / how.ghosts * local.shown
    return added, state._replace(mean=mean)


def dual_step(before: F64, zhat: F64, y: F64, cost: F64, how: How, each: Each) -> tuple[F64, F64]:
    """The passive-aggressive step of all tasks: the new means, and signed dual variables."""
    docs, indices = np.nonzero(zhat)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(docs, minlength=len(zhat)))])
    rows, norms = (indptr, indices, zhat[docs, indices]), (zhat**2).sum(axis=1)
    mean, duals = before.copy(), np.zeros(y.shape)
    prior = (how.variance, how.width, how.loss == response.INSENSITIVE)

    def work(lo: int, hi: int) -> None:
        stop = (DUAL_ROUNDS, DUAL_TOL)
        kernels.ascend(mean, duals, lo, hi, rows, norms, y, cost, prior, stop)

    each(work, _counting(len(mean)), 10.0 * len(docs))
    return mean, duals


def _gibbs(state: State, after: State, batch: Batch, local: Local, run: Round) -> tuple[F64, State]:
    """Topics from lambda = 1 on, each sweep followed by a draw of lambda; then the Gaussians."""
    how, cost = run.how, (batch.cost * local.shown).astype(np.float32)
    spread, _ = _inverted(after.precision, run.each)
    weights = (after.mean, spread)
    eta, spread32 = after.mean.astype(np.float32), spread.astype(np.float32)
    y32 = batch.y.astype(np.float32)
    response.start_rows(local.omega, local.kappa, y32, cost, 0, batch.n_docs, how.loss, how.width)
    _favour(local.kappa, batch, how)
    added = np.zeros((len(batch.terms), len(how.alpha)))
    precision, linear = state.precision.copy(), state.linear.copy()
    share = how.ghosts / (how.n_sweeps - how.burn_in)
    for j in range(how.n_sweeps):
        zbar = _sweep(local, batch, eta, spread32, run, j)
        if j >= how.burn_in:
            kernels.count_into(added, batch.tokens.terms, local.z, share)
            _gather(precision, linear, zbar, weights, batch, share, run)
        if j + 1 < how.n_sweeps:
            number = run.n * how.n_sweeps + j + 1
            both = (local.omega, local.kappa)
            _respond(both, zbar, weights, batch, cost, True, number, run)
            _favour(local.kappa, batch, how)
    mean = _solved(precision, linear, run.each)
    return added, state._replace(precision=precision, linear=linear, mean=mean)


def _favour(kappa: Any, batch: Batch, how: How) -> None:
    """Where one precision serves all tasks, a dearer yes is a greater pull of the same precision."""
    if how.shared:
        kappa *= batch.dear


def _gather(
    precision: F64, linear: F64, zbar: Zbar, weights: tuple[F64, F64], batch: Batch, share: float,
    run: Round,
) -> None:  # fmt: skip
    """Add what the batch says about the weights, with 1 / lambda at its expectation."""
    how = run.how
    if how.shared:
        x = 1.0 / how.floor
        omega = batch.cost**2 * x
        kappa = batch.cost * batch.y * (1.0 + batch.cost * how.width * x)
    else:
        omega, kappa = np.zeros(batch.y.shape), np.zeros(batch.y.shape)
        _respond((omega, kappa), zbar, weights, batch, batch.cost, False, 0, run)
    _favour(kappa, batch, how)

    def matrices(lo: int, hi: int) -> None:
        kernels.add_precision(precision, zbar, omega, lo, hi, share)

    def vectors(lo: int, hi: int) -> None:
        kernels.add_linear(linear, zbar, kappa, lo, hi, share)

    run.each(matrices, _counting(len(precision)), 200.0 * batch.n_docs)
    run.each(vectors, _counting(len(linear)), 20.0 * batch.n_docs)


def _respond(
    out: tuple[Any, Any], zbar: Zbar, weights: tuple[F64, F64], batch: Batch, cost: Any,
    drawn: bool, number: int, run: Round,
) -> None:  # fmt: skip
    """(omega, kappa) of all documents given their topics."""
    loss = (run.how.loss, run.how.width, run.how.floor)

    def work(lo: int, hi: int) -> None:
        kernels.respond(
            *out, zbar, weights, batch.y, cost, batch.ids, lo, hi, loss, drawn, run.seed, number
        )

    run.each(work, _counting(batch.n_docs), 200.0 * batch.y.shape[1])


def _inverted(precision: F64, each: Each) -> tuple[F64, F64]:
    """Covariances and lower factors of precisions."""
    spread, factor = np.empty_like(precision), np.empty_like(precision)

    def work(lo: int, hi: int) -> None:
        kernels.invert(spread, factor, precision, lo, hi)

    each(work, _counting(len(precision)), 2.0 * precision.shape[1] ** 3)
    return spread, factor


def _solved(precision: F64, linear: F64, each: Each) -> F64:
    """mu = P^-1 b of all tasks."""
    mean = np.empty_like(linear)
    _, factor = _inverted(precision, each)

    def work(lo: int, hi: int) -> None:
        kernels.solve(mean, factor, linear, lo, hi)

    each(work, _counting(len(linear)), 2.0 * linear.shape[1] ** 2)
    return mean


def _counting(n: int) -> I64:
    return np.arange(n + 1, dtype=np.int64)
