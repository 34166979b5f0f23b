"""The rounds over a mini-batch: topics sampled under words and labels, then the weights that follow.

Every round begins at what was known before the batch, q_t; only the topics that the sampler sees and the
weights that tilt it are those of the round before [Shi17].

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I32, I64, U16, Each
from bayou.inference.margin import batch as online_batch
from bayou.inference.margin import features, growth, stream_growth
from bayou.inference.margin.batch import MarginBatch
from bayou.inference.margin.growth import LiveDocuments
from bayou.inference.margin.online_state import (
    OnlineMarginSettings,
    OnlineMarginState,
    prior,
    topics_of,
)
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.margin import online as kernels
from bayou.kernels.margin import response, tilted_sweep
from bayou.kernels.rng import INIT, TOKEN

DUAL_ROUNDS, DUAL_TOL = 100, 1e-6

Zbar = tuple[I64, I32, U16, F32]


class RoundWorkspace(NamedTuple):
    """What the rounds of a mini-batch work on."""

    z: U16
    rho: F32
    omega: F32  # documents x tasks
    kappa: F32
    shown: NDArray[np.bool_]  # tasks that have had a yes, and so a say in the topics
    alpha: F64  # of the topics known before
    n_columns: int  # topics, and room for those to be born
    n_terms: int
    live: LiveDocuments | None = None  # what follows the tokens where topics are born


class MarginRound(NamedTuple):
    """One of them: its number, the topics as it sees them, and how it is run."""

    n: int
    rows: F32
    how: OnlineMarginSettings
    seed: int
    each: Each


def run_rounds(
    state: OnlineMarginState, batch: MarginBatch, how: OnlineMarginSettings, seed: int, each: Each
) -> tuple[F64, OnlineMarginState]:
    """The counts of the batch and the state with its weights, after ``n_rounds`` from the same prior.

    Where topics are born they have columns of their own in both, and so have those that may be.
    """
    shape = batch.y.shape
    room = state if how.growth is None else stream_growth.roomy(state, how, how.growth)
    local = RoundWorkspace(
        np.empty(len(batch.tokens.terms), np.uint16),
        features.token_weights(batch.tokens, batch.weight),
        np.zeros(shape, np.float32),
        np.zeros(shape, np.float32),
        (state.yes > 0.0) | (how.loss == response.INSENSITIVE),
        prior(state, how),
        len(room.topic),
        len(state.raw),
    )
    added, after = np.zeros((len(batch.terms), len(state.topic))), room
    known = topics_of(state, how)
    base = online_batch.prior_rows(known, batch.terms, each)
    for n in range(how.n_rounds):
        mine = added[:, : len(state.topic)]
        rows = online_batch.expected_rows(known, batch.terms, mine, each, base)
        run = MarginRound(n, rows, how, seed, each)
        if n == 0 or how.gibbs:
            _open(local, batch, run)
            if how.growth is not None:
                live = stream_growth.begin(state, batch, local.z, local.rho, how.growth)
                local = local._replace(live=live)
        added, after = (_gibbs if how.gibbs else _averaging)(room, after, batch, local, run)
    return added, after


def _open(local: RoundWorkspace, batch: MarginBatch, run: MarginRound) -> None:
    """First topics without labels, each token after those before it."""
    toks, alpha = tuple(batch.tokens), local.alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        fixed_sweep.start_docs(
            local.z, toks, batch.ids, lo, hi, run.rows, alpha, run.seed, INIT, run.n
        )

    run.each(work, batch.tokens.indptr, 2.0 * len(alpha))


def _sweep(
    local: RoundWorkspace, batch: MarginBatch, eta: F32, spread: F32, run: MarginRound, j: int
) -> Zbar:
    """All tokens once under their words and labels, and zbar of the documents after it."""
    indptr, n_topics = batch.tokens.indptr, local.n_columns
    labels = (local.omega, local.kappa, eta, spread)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(np.diff(indptr), n_topics))])
    zbar = (
        ends[:-1].copy(),
        np.zeros(batch.n_docs, np.int32),
        np.zeros(ends[-1], np.uint16),
        np.zeros(ends[-1], np.float32),
    )
    number = run.n * run.how.n_sweeps + j + 1
    if local.live is not None and run.how.growth is not None:
        beta = run.how.beta
        words = (beta, local.n_terms * beta)
        growth.sweep(local.live, labels, run.how.growth, words, run.seed, number)

    def work(lo: int, hi: int) -> None:
        if local.live is None:
            _sweep_fixed_topics(local, batch, labels, run, number, lo, hi)
        response.zbar_rows(zbar, local.z, local.rho, indptr, n_topics, lo, hi)

    run.each(work, indptr, 5.0 * n_topics)
    return zbar


def _sweep_fixed_topics(
    local: RoundWorkspace,
    batch: MarginBatch,
    labels: tuple[F32, ...],
    run: MarginRound,
    number: int,
    lo: int,
    hi: int,
) -> None:
    """Documents lo .. hi under topics that stand still."""
    words = (run.rows, np.empty(0), np.ones(local.n_columns, np.float32))
    both = (local.alpha.astype(np.float32), np.float32(0.0))
    tilted_sweep.sweep_docs(
        local.z, (*batch.tokens, batch.ids), local.rho, lo, hi, words, tilted_sweep.GIVEN, both,
        labels, run.seed, TOKEN, number,
    )  # fmt: skip


def _averaging(
    state: OnlineMarginState,
    after: OnlineMarginState,
    batch: MarginBatch,
    local: RoundWorkspace,
    run: MarginRound,
) -> tuple[F64, OnlineMarginState]:
    """Topics under the dual variables of the round before, then those of this one."""
    how, none = run.how, np.empty((0, 0, 0), np.float32)
    eta = after.mean.astype(np.float32)
    if how.growth is not None:  # topics nobody has seen speak as before, the first ones of all too
        unseen = state.tables == 0.0
        eta[:, unseen] = state.mean[:, unseen]
    added = np.zeros((len(batch.terms), local.n_columns))
    zhat = np.zeros((batch.n_docs, local.n_columns))
    tables = state.tables.copy()
    kept = how.n_sweeps - how.burn_in
    for j in range(how.n_sweeps):
        zbar = _sweep(local, batch, eta, none, run, j)
        stream_growth.forget(local.live, (added, zhat, tables), reborn=True)
        if j >= how.burn_in:
            kernels.count_into(added, batch.tokens.terms, local.z, how.ghosts / kept)
            kernels.add_zbar(zhat, zbar, 1.0 / kept)
        _seat(tables, state, local, run, j)
    stream_growth.forget(local.live, (added, zhat, tables), reborn=False)
    mean, duals = dual_step(state.mean, zhat, batch.y, how.ghosts * batch.cost, how, run.each)
    local.kappa[:] = duals / how.ghosts * local.shown
    return added, state._replace(mean=mean, tables=tables)


def dual_step(
    before: F64, zhat: F64, y: F64, cost: F64, how: OnlineMarginSettings, each: Each
) -> tuple[F64, F64]:
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


def _gibbs(
    state: OnlineMarginState,
    after: OnlineMarginState,
    batch: MarginBatch,
    local: RoundWorkspace,
    run: MarginRound,
) -> tuple[F64, OnlineMarginState]:
    """Topics from lambda = 1 on, each sweep followed by a draw of lambda; then the Gaussians."""
    how, cost = run.how, (batch.cost * local.shown).astype(np.float32)
    spread, _ = _invert(after.precision, run.each)
    mean = after.mean.copy()
    stream_growth.reset_new_topics(mean, spread, state, len(local.alpha), how.variance)
    weights = (mean, spread)
    eta, spread32 = mean.astype(np.float32), spread.astype(np.float32)
    y32 = batch.y.astype(np.float32)
    response.start_rows(local.omega, local.kappa, y32, cost, 0, batch.n_docs, how.loss, how.width)
    _favour(local.kappa, batch, how)
    added, tables = np.zeros((len(batch.terms), local.n_columns)), state.tables.copy()
    precision, linear = state.precision.copy(), state.linear.copy()
    share = how.ghosts / (how.n_sweeps - how.burn_in)
    for j in range(how.n_sweeps):
        zbar = _sweep(local, batch, eta, spread32, run, j)
        gone = stream_growth.forget(local.live, (added, tables), reborn=True)
        linear[:, gone], precision[:, gone] = state.linear[:, gone], state.precision[:, gone]
        precision[:, :, gone] = state.precision[:, :, gone]
        if j >= how.burn_in:
            kernels.count_into(added, batch.tokens.terms, local.z, share)
            _gather(precision, linear, zbar, weights, batch, share, run)
        _seat(tables, state, local, run, j)
        if j + 1 < how.n_sweeps:
            number = run.n * how.n_sweeps + j + 1
            both = (local.omega, local.kappa)
            _respond(both, zbar, weights, batch, cost, True, number, run)
            _favour(local.kappa, batch, how)
    # what is left of topics that are no more is integrated out by `stream_growth.drop_small_topics`
    stream_growth.forget(local.live, (added, tables), reborn=False)
    mean = solve_means(precision, linear, run.each)
    return added, state._replace(precision=precision, linear=linear, mean=mean, tables=tables)


def _seat(
    tables: F64, state: OnlineMarginState, local: RoundWorkspace, run: MarginRound, j: int
) -> None:
    """Add the tables that are expected, and draw those and the sticks that the next sweep is under."""
    how = run.how
    if local.live is None or how.growth is None:
        return
    number = run.n * how.n_sweeps + j + 1
    if j >= how.burn_in:
        found = growth.seats(local.live, how.growth, run.seed, number, drawn=False)
        tables += how.ghosts / (how.n_sweeps - how.burn_in) * found
    if j + 1 < how.n_sweeps or (run.n + 1 < how.n_rounds and not how.gibbs):
        growth.renew_sticks(local.live, state.tables, how.growth, run.seed, number)


def _favour(kappa: Any, batch: MarginBatch, how: OnlineMarginSettings) -> None:
    """Where one precision serves all tasks, a dearer yes is a greater pull of the same precision."""
    if how.shared:
        kappa *= batch.dear


def _gather(
    precision: F64, linear: F64, zbar: Zbar, weights: tuple[F64, F64], batch: MarginBatch, share: float,
    run: MarginRound,
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
    out: tuple[Any, Any], zbar: Zbar, weights: tuple[F64, F64], batch: MarginBatch, cost: Any,
    drawn: bool, number: int, run: MarginRound,
) -> None:  # fmt: skip
    """(omega, kappa) of all documents given their topics."""
    loss = (run.how.loss, run.how.width, run.how.floor)

    def work(lo: int, hi: int) -> None:
        kernels.respond(
            *out, zbar, weights, batch.y, cost, batch.ids, lo, hi, loss, drawn, run.seed, number
        )

    run.each(work, _counting(batch.n_docs), 200.0 * batch.y.shape[1])


def _invert(precision: F64, each: Each) -> tuple[F64, F64]:
    """Covariances and lower factors of precisions."""
    spread, factor = np.empty_like(precision), np.empty_like(precision)

    def work(lo: int, hi: int) -> None:
        kernels.invert(spread, factor, precision, lo, hi)

    each(work, _counting(len(precision)), 2.0 * precision.shape[1] ** 3)
    return spread, factor


def solve_means(precision: F64, linear: F64, each: Each) -> F64:
    """mu = P^-1 b of all tasks."""
    mean, factor = np.empty_like(linear), np.empty_like(precision)

    def factors(lo: int, hi: int) -> None:
        kernels.factorise(factor, precision, lo, hi)

    each(factors, _counting(len(precision)), precision.shape[1] ** 3 / 3.0)

    def work(lo: int, hi: int) -> None:
        kernels.solve(mean, factor, linear, lo, hi)

    each(work, _counting(len(linear)), 2.0 * linear.shape[1] ** 2)
    return mean


def _counting(n: int) -> I64:
    return np.arange(n + 1, dtype=np.int64)
