"""q(w) of online max-margin learning: normal equations (gibbs) or dual variables (averaging)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F64, Each
from bayou.inference.margin.batch import MarginBatch
from bayou.inference.margin.features import Zbar
from bayou.inference.margin.online_state import OnlineMarginSettings
from bayou.inference.margin.setup import unit_ends
from bayou.kernels.margin import online as kernels

DUAL_ROUNDS, DUAL_TOL = 100, 1e-6


class OnlineRun(NamedTuple):
    """One mini-batch and how it is learned."""

    batch: MarginBatch
    p: OnlineMarginSettings
    seed: int
    each: Each


def solve_duals(
    before: F64, zhat: F64, y: F64, cost: F64, p: OnlineMarginSettings, each: Each
) -> tuple[F64, F64]:
    """The passive-aggressive step of all tasks: the new means, and signed dual variables.

    min |mu - mu_t|^2 / (2 sigma^2) + 2 sum_d c_d loss(y_d, mu . zhat_d), by its dual.
    """
    docs, indices = np.nonzero(zhat)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(docs, minlength=len(zhat)))])
    rows, norms = (indptr, indices, zhat[docs, indices]), (zhat**2).sum(axis=1)
    mean, duals = before.copy(), np.zeros(y.shape)
    prior = (p.variance, p.width, not p.loss.classifies)

    def work(lo: int, hi: int) -> None:
        stop = (DUAL_ROUNDS, DUAL_TOL)
        kernels.ascend(mean, duals, lo, hi, rows, norms, y, cost, prior, stop)

    each(work, unit_ends(len(mean)), 10.0 * len(docs))
    return mean, duals


def augment_into(
    out: tuple[Any, Any], zbar: Zbar, weights: tuple[F64, F64], cost: Any, run: OnlineRun, sweep: int | None
) -> None:  # fmt: skip
    """(omega, kappa) of all documents given their topics.

    1 / lambda ~ IG(1 / (c sqrt(gap^2 + var f)), 1) is drawn for a ``sweep``; None takes its expectation.
    """
    (batch, p, seed, each), drawn = run, sweep is not None
    loss, number = (p.loss.code, p.width, p.floor), sweep or 0

    def work(lo: int, hi: int) -> None:
        kernels.respond(
            *out, zbar, weights, batch.y, cost, batch.ids, lo, hi, loss, drawn, seed, number
        )

    each(work, unit_ends(batch.n_docs), 200.0 * batch.y.shape[1])
    favour_positive(out[1], run)


def favour_positive(kappa: Any, run: OnlineRun) -> None:
    """With one precision for all tasks, the factor on a positive label goes to its linear term."""
    if run.p.shared:
        kappa *= run.batch.dear


def add_evidence(
    precision: F64, linear: F64, zbar: Zbar, weights: tuple[F64, F64], share: float, run: OnlineRun
) -> None:
    """P += omega zbar zbar', b += kappa zbar over the batch, with 1 / lambda at its expectation."""
    batch, p, _, each = run
    if p.shared:
        x = 1.0 / p.floor
        omega = batch.cost**2 * x
        kappa = batch.cost * batch.y * (1.0 + batch.cost * p.width * x)
        favour_positive(kappa, run)
    else:
        omega, kappa = np.zeros(batch.y.shape), np.zeros(batch.y.shape)
        augment_into((omega, kappa), zbar, weights, batch.cost, run, None)

    def matrices(lo: int, hi: int) -> None:
        kernels.add_precision(precision, zbar, omega, lo, hi, share)

    def vectors(lo: int, hi: int) -> None:
        kernels.add_linear(linear, zbar, kappa, lo, hi, share)

    each(matrices, unit_ends(len(precision)), 200.0 * batch.n_docs)
    each(vectors, unit_ends(len(linear)), 20.0 * batch.n_docs)


def covariances(precision: F64, each: Each) -> F64:
    """S = P^-1 of all tasks."""
    spread, factor = np.empty_like(precision), np.empty_like(precision)

    def work(lo: int, hi: int) -> None:
        kernels.invert(spread, factor, precision, lo, hi)

    each(work, unit_ends(len(precision)), 2.0 * precision.shape[1] ** 3)
    return spread


def solve_means(precision: F64, linear: F64, each: Each) -> F64:
    """mu = P^-1 b of all tasks."""
    mean, factor = np.empty_like(linear), np.empty_like(precision)

    def factors(lo: int, hi: int) -> None:
        kernels.factorise(factor, precision, lo, hi)

    each(factors, unit_ends(len(precision)), precision.shape[1] ** 3 / 3.0)

    def work(lo: int, hi: int) -> None:
        kernels.solve(mean, factor, linear, lo, hi)

    each(work, unit_ends(len(linear)), 2.0 * linear.shape[1] ** 2)
    return mean
