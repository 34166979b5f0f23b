"""The rounds over a mini-batch: topics sampled under words and labels, then the weights that follow.

Every round begins at what was known before the batch, q_t; only the topics that the sampler sees and the
weights that tilt it are those of the round before [Shi17].

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.kernels import fixed_sweep, response, tilted_sweep
from bayou.kernels import online_margin as kernels
from bayou.kernels.rng import INIT, TOKEN
from bayou.parts import features, online_batch
from bayou.parts.online_batch import Batch
from bayou.parts.online_state import How, State, topics_of
from bayou.parts.topics import F32, F64, I32, I64, U16, Each

DUAL_ROUNDS, DUAL_TOL = 100, 1e-6

Zbar = tuple[I64, I32, U16, F32]


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


def run_rounds(state: State, batch: Batch, how: How, seed: int, each: Each) -> tuple[F64, State]:
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
    known = topics_of(state, how)
    base = online_batch.known_rows(known, batch.terms, each)
    for n in range(how.n_rounds):
        rows = online_batch.expected_rows(known, batch.terms, added, each, base)
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
    mean = solved(precision, linear, run.each)
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


def solved(precision: F64, linear: F64, each: Each) -> F64:
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
