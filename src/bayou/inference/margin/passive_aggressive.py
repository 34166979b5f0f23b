"""Linear weights on a stream: passive-aggressive steps over mini-batches, and what the weights predict.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.errors import DataError, ModelFileError
from bayou.data.schema import Array
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.inference.lda.columns import move_rows
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import Loss
from bayou.kernels.margin import gibbs_weights
from bayou.kernels.margin import passive_aggressive as kernels

PRECISIONS = ("diagonal", "full")
_LARGEST = 2**27  # numbers in the precision matrices of all tasks: one GiB


class LinearSettings(NamedTuple):
    """The parameters of one run."""

    phase: str  # the posterior, which progress reports name: "averaging" or "gibbs"
    precision: str  # "diagonal", "full", or "" if the variance stays sigma^2
    batch_size: int
    variance: float  # of the prior [sigma^2]
    loss: Loss  # hinge or insensitive
    width: float  # margin, or half-width of the tube
    n_rounds: int
    tol: float
    average: bool

    @property
    def tube(self) -> bool:
        """Whether the loss is what lies outside a tube."""
        return not self.loss.classifies


class LinearState(NamedTuple):
    """What the next mini-batch needs: q(w) of every task. One row per task, one column per feature."""

    step: int  # mini-batches so far
    mean: Annotated[F64, Array("tasks", "terms", ge=None)]  # [mu]
    # sum of (batches before) x (change of the mean); no rows unless averaged over time
    drift: Annotated[F64, Array((0, "tasks"), (0, "terms"), ge=None)]
    # precisions (2-d), factors of precisions (3-d), or nothing: the variance stays sigma^2
    spread: Annotated[F64, Array(..., ge=-1e18, le=1e18)]


def init(n_tasks: int, n_columns: int, p: LinearSettings) -> LinearState:
    """The prior N(0, sigma^2 I) of every task."""
    if p.precision == "full" and n_tasks * n_columns**2 > _LARGEST:
        raise DataError(
            f"precision='full' keeps {n_tasks} matrices of {n_columns} x {n_columns} numbers, "
            f"more than {_LARGEST}; use 'diagonal', or fewer features"
        )
    mean, spread = np.zeros((n_tasks, n_columns)), np.zeros((0, 0))
    if p.precision == "diagonal":
        spread = np.full((n_tasks, n_columns), 1.0 / p.variance)
    elif p.precision == "full":
        spread = np.tile(np.eye(n_columns) / np.sqrt(p.variance), (n_tasks, 1, 1))
    return LinearState(0, mean, np.zeros_like(mean) if p.average else np.zeros((0, 0)), spread)


def check_state(state: LinearState, n_columns: int, p: LinearSettings) -> None:
    """Refuse parameters that a state was not made for."""
    n_dims = {"": 0, "diagonal": 2, "full": 3}[p.precision]
    found = state.spread.ndim if state.spread.size else 0
    same = found == n_dims and bool(state.drift.size) == p.average
    if not same or state.mean.shape[1] != n_columns:
        raise ValueError(
            "the posterior, average and fit_intercept cannot change within a stream; "
            "begin another model"
        )


def check_arrays(state: LinearState, pending: Examples, p: LinearSettings) -> None:
    """Refuse arrays of a file that are valid one by one but do not fit each other."""
    shape = state.mean.shape
    spread = {"": (0, 0), "diagonal": shape, "full": (*shape, shape[1])}[p.precision]
    right = state.mean.size > 0 and state.spread.shape == spread
    right &= state.drift.shape == (shape if p.average else (0, 0))
    if right:
        full = p.precision == "full"
        pivots = np.diagonal(state.spread, axis1=1, axis2=2) if full else state.spread
        right = bool((pivots > 0.0).all() and (pending.costs > 0.0).all())
    right &= pending.y.shape[1] == len(state.mean) and pending.has_valid_signs
    if not right or (pending.y.dtype == np.int8) == p.tube:
        raise ModelFileError("the model file's weights do not fit each other; save it again")


def average(state: LinearState, examples: Examples, p: LinearSettings, each: Each) -> LinearState:
    """Averaging: min |w - w_t|^2 / (2 sigma^2) + 2 sum_d c_d loss(y_d, w'x_d), by its dual [Shi17] eq. 10.

        mu = mu_t + sigma^2 sum_d tau_d y_d x_d,   0 <= tau_d <= 2 c_d
        max margin sum_d tau_d - sigma^2 |sum_d tau_d y_d x_d|^2 / 2 - mu_t' sum_d tau_d y_d x_d

    The print leaves out the margin, the signs y_d in the square, and sigma^2 in the step of one document. For
    the tube y_d tau_d becomes one number of size up to 2 c_d with the sign of the error, and epsilon is
    taken off: the print has the hinge loss here and no bound.

    The arrays change in place. Tasks are independent, so threads share them.
    """
    ends, y = _ends(examples, p), _numbers(examples.y)
    rows, norms, duals = tuple(examples[:3]), _norms(examples), np.zeros(y.shape)
    prior, stop = (p.variance, p.width, p.tube), (p.n_rounds, p.tol)

    def work(lo: int, hi: int) -> None:
        kernels.average_batches(
            state.mean, state.drift, lo, hi, rows, norms, y, examples.costs, ends, duals, prior, stop,
            float(state.step),
        )  # fmt: skip

    each(work, _task_ends(state, examples), 4.0)
    return state._replace(step=state.step + len(ends) - 1)


def infer(state: LinearState, examples: Examples, p: LinearSettings, each: Each) -> LinearState:
    """Gibbs: mean field q(w) q(lambda), rounds of (omega, kappa) given q(w) and of q(w) [Shi17] eq. 28.

        omega_d = c / sqrt((margin - y_d mu'x_d)^2 + x_d'S x_d)    from E[1 / lambda_d], S = P^-1
        kappa_d = y_d (c + omega_d margin)                         the print leaves out the margin
        P = P_t + sum_d omega_d x_d x_d',   P mu = P_t mu_t + sum_d kappa_d x_d

    The arrays change in place. Tasks are independent, so threads share them.
    """
    ends, y = _ends(examples, p), _numbers(examples.y)
    rows, loss, stop = tuple(examples[:3]), (p.width, p.tube), (p.n_rounds, p.tol)
    full = state.spread.ndim == 3
    batches = gibbs_weights.full_batches if full else gibbs_weights.diagonal_batches

    def work(lo: int, hi: int) -> None:
        batches(
            state.mean, state.spread, state.drift, lo, hi, rows, y, examples.costs, ends, loss, stop,
            float(state.step),
        )  # fmt: skip

    each(work, _task_ends(state, examples), 4.0)
    return state._replace(step=state.step + len(ends) - 1)


def _ends(examples: Examples, p: LinearSettings) -> I64:
    """Where mini-batches begin and end; the last one may be short."""
    return np.append(np.arange(0, examples.n_docs, p.batch_size), examples.n_docs)


def _task_ends(state: LinearState, examples: Examples) -> I64:
    return np.arange(len(state.mean) + 1) * max(len(examples.data), 1)


def _numbers(y: NDArray[Any]) -> F64:
    """Responses as kernels read them, NaN where there is none."""
    return np.where(y == 0, np.nan, y.astype(np.float64)) if y.dtype == np.int8 else y


def _norms(examples: Examples) -> F64:
    """Squared lengths of the rows."""
    at = np.repeat(np.arange(examples.n_docs), np.diff(examples.indptr))
    return np.bincount(at, examples.data**2, examples.n_docs).astype(np.float64)


def regroup(state: LinearState, source: NDArray[np.intp], sign: F64) -> LinearState:
    """Tasks made of earlier ones: task i was task ``source[i]``, times ``sign[i]``."""
    mean, drift, spread = state[1:]
    return LinearState(
        state.step,
        mean[source] * sign[:, None],
        drift[source] * sign[:, None] if drift.size else drift,
        spread[source] if spread.size else spread,
    )


def move_terms(
    state: LinearState, pending: Examples, keep: I64, n_new: int, n_terms: int, variance: float
) -> tuple[LinearState, Examples]:
    """Columns ``keep``, then ``n_new`` under the prior, then the constant column if there is one."""
    constant = np.arange(n_terms, state.mean.shape[1])

    def move(values: F64, fill: float) -> F64:
        if not values.size:
            return values
        terms = move_rows(values[:, :n_terms].T, keep, n_new, fill).T
        return np.ascontiguousarray(np.concatenate([terms, values[:, constant]], axis=1))

    pending = pending.move_terms(np.concatenate([keep, constant]), state.mean.shape[1])
    places = pending.indices + np.where(pending.indices >= len(keep), n_new, 0)
    state = state._replace(
        mean=move(state.mean, 0.0), drift=move(state.drift, 0.0), spread=move(state.spread, 1.0 / variance)
    )  # fmt: skip
    return state, pending._replace(indices=places)


def predictive_mean(state: LinearState) -> F64:
    """The means to predict with: the last ones, or their average over all mini-batches."""
    if not state.drift.size or not state.step:
        return state.mean
    # mean of mu_1 .. mu_T = mu_T - sum_t (t - 1) (mu_t - mu_(t-1)) / T
    return state.mean - state.drift / state.step


def variances(spread: F64, rows: csr_array, each: Each) -> F64:
    """Variance of w'x for every document and task."""
    if spread.ndim == 2:
        squares: Any = csr_array((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
        return np.asarray(squares @ np.ascontiguousarray((1.0 / spread).T), np.float64)
    out = np.empty((rows.shape[0], len(spread)))
    plain = (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data)

    def work(lo: int, hi: int) -> None:
        gibbs_weights.full_variances_into(out, spread, plain, lo, hi)

    width = spread.shape[1]
    each(work, np.arange(len(out) + 1) * width, 0.5 * width * len(spread))
    return out
