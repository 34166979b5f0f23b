"""Linear weights on a stream: documents with responses, mini-batches, and what the weights predict."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F64, I64, Each
from bayou.kernels.margin import gibbs_weights
from bayou.kernels.margin import passive_aggressive as kernels


class Examples(NamedTuple):
    """Documents that can be learned from: sparse rows, responses, and what a loss costs."""

    indptr: I64
    indices: I64
    data: F64
    y: NDArray[
        Any
    ]  # documents x tasks: float64 numbers or NaN; or int8 signs, 0 where nothing is known
    costs: F64  # c times the weight of the document

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.costs)


class Weights(NamedTuple):
    """What the next mini-batch needs. One row a task, one column a feature."""

    step: int  # mini-batches so far
    mean: F64  # tasks x features [mu]
    drift: F64  # sum of (batches before) x (change of the mean); no rows unless averaged over time
    spread: (
        F64  # precisions (2-d), factors of precisions (3-d), or nothing: the variance stays sigma^2
    )


class PassiveAggressiveSettings(NamedTuple):
    """The settings of a step."""

    batch_size: int
    variance: float  # of the prior [sigma^2]
    width: float  # margin, or half-width of the tube
    tube: bool
    n_rounds: int
    tol: float


def make_examples(rows: csr_array, y: NDArray[Any], costs: F64) -> Examples:
    """The documents that teach something: of weight above zero and with some response."""
    known = (y != 0) if y.dtype == np.int8 else ~np.isnan(y)
    keep = np.flatnonzero((costs > 0.0) & known.any(axis=1))
    every = Examples(
        rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data, y, costs
    )
    return every if len(keep) == len(costs) else take(every, keep)


def take(examples: Examples, order: NDArray[np.intp]) -> Examples:
    """Some of the documents, in this order."""
    starts = examples.indptr[order]
    sizes = examples.indptr[order + 1] - starts
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    places = np.repeat(starts - indptr[:-1], sizes) + np.arange(indptr[-1])
    return Examples(
        indptr,
        examples.indices[places],
        examples.data[places],
        np.ascontiguousarray(examples.y[order]),
        examples.costs[order],
    )


def join(first: Examples, second: Examples) -> Examples:
    """One collection of documents behind the other."""
    if not first.n_docs:
        return second
    indptr = np.concatenate([first.indptr, first.indptr[-1] + second.indptr[1:]])
    return Examples(
        indptr, *(np.concatenate(both) for both in zip(first[1:], second[1:], strict=True))
    )


def no_examples(y: NDArray[Any]) -> Examples:
    """No documents, with responses of the kind of these."""
    none, nowhere = np.zeros(0), np.zeros(0, np.int64)
    return Examples(np.zeros(1, np.int64), nowhere, none, y[:0].copy(), none)


def distinct(examples: Examples) -> tuple[Examples, NDArray[np.uint64]]:
    """Equal documents as one that costs as much as all of them, and what tells documents apart.

    So a document of weight two is the same as the document twice, wherever the other one stands.
    """
    content = np.empty(examples.n_docs, np.uint64)
    rows = (examples.indptr, examples.indices, examples.data.view(np.uint64))
    y = examples.y
    if y.dtype != np.int8:
        y = np.where(np.isnan(y), np.nan, y).view(np.uint64)  # one NaN of the many there are
    kernels.content_into(content, rows, y)
    found, first, group = np.unique(content, return_index=True, return_inverse=True)
    costs = np.bincount(group, examples.costs, len(found)).astype(np.float64)
    return take(examples, first)._replace(costs=costs), found


def keyed_order(content: NDArray[np.uint64], seed: int, n: int) -> NDArray[np.intp]:
    """The order of pass n; it depends on what the documents hold, not on where they stood."""
    keys = np.empty(len(content), np.uint64)
    kernels.keys_into(keys, content, seed, n)
    return np.argsort(keys, kind="stable")


def start(n_tasks: int, n_features: int, variance: float, precision: str, average: bool) -> Weights:
    """The prior N(0, sigma^2 I) of every task."""
    mean = np.zeros((n_tasks, n_features))
    spread = np.zeros((0, 0))
    if precision == "diagonal":
        spread = np.full((n_tasks, n_features), 1.0 / variance)
    elif precision == "full":
        spread = np.tile(np.eye(n_features) / np.sqrt(variance), (n_tasks, 1, 1))
    return Weights(0, mean, np.zeros_like(mean) if average else np.zeros((0, 0)), spread)


def copy(weights: Weights) -> Weights:
    """Weights that may change without these."""
    return Weights(weights.step, *(array.copy() for array in weights[1:]))


def learn(
    weights: Weights, examples: Examples, how: PassiveAggressiveSettings, each: Each
) -> Weights:
    """Mini-batches of `batch_size` documents in the order given, the last one maybe shorter.

    The arrays are changed in place. Tasks do not see each other, so threads share them out.
    """
    n, (mean, drift, spread) = examples.n_docs, weights[1:]
    ends = np.append(np.arange(0, n, how.batch_size), n)
    rows, y, costs = tuple(examples[:3]), _numbers(examples.y), examples.costs
    stop = (how.n_rounds, how.tol)
    first = float(weights.step)
    if not spread.size:
        norms = _norms(examples)
        duals, prior = np.zeros(y.shape), (how.variance, how.width, how.tube)

        def work(lo: int, hi: int) -> None:
            kernels.average_batches(
                mean, drift, lo, hi, rows, norms, y, costs, ends, duals, prior, stop, first
            )
    else:
        batches = gibbs_weights.diagonal_batches if spread.ndim == 2 else gibbs_weights.full_batches

        def work(lo: int, hi: int) -> None:
            loss = (how.width, how.tube)
            batches(mean, spread, drift, lo, hi, rows, y, costs, ends, loss, stop, first)

    each(work, np.arange(len(mean) + 1) * max(len(examples.data), 1), 4.0)
    return weights._replace(step=weights.step + len(ends) - 1)


def _numbers(y: NDArray[Any]) -> F64:
    """Responses as kernels read them, NaN where there is none."""
    return np.where(y == 0, np.nan, y.astype(np.float64)) if y.dtype == np.int8 else y


def _norms(examples: Examples) -> F64:
    """Squared lengths of the rows."""
    at = np.repeat(np.arange(examples.n_docs), np.diff(examples.indptr))
    return np.bincount(at, examples.data**2, examples.n_docs).astype(np.float64)


def regroup(weights: Weights, source: NDArray[np.intp], sign: F64) -> Weights:
    """Tasks made of older ones: task i was task ``source[i]``, with yes and no changed if the sign is -1."""
    mean, drift, spread = weights[1:]
    return Weights(
        weights.step,
        mean[source] * sign[:, None],
        drift[source] * sign[:, None] if drift.size else drift,
        spread[source] if spread.size else spread,
    )


def predictive_mean(weights: Weights) -> F64:
    """The means to predict with: those of now, or of all batches where they are averaged over time."""
    if not weights.drift.size or not weights.step:
        return weights.mean
    # mean of mu_1 .. mu_T = mu_T - sum_t (t - 1) (mu_t - mu_(t-1)) / T
    return weights.mean - weights.drift / weights.step


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


def sound(weights: Weights, pending: Examples, precision: str, average: bool) -> bool:
    """Whether weights and documents that were read have the shapes that kernels rely on."""
    arrays = (*weights[1:], pending.data, pending.costs)
    if not all(isinstance(a, np.ndarray) and a.dtype == np.float64 for a in arrays):
        return False
    mean, drift, spread = weights[1:]
    if mean.ndim != 2 or not mean.size or type(weights.step) is not int or weights.step < 0:
        return False
    wanted = {"": (0, 0), "diagonal": mean.shape, "full": (*mean.shape, mean.shape[1])}[precision]
    if spread.shape != wanted or drift.shape != (mean.shape if average else (0, 0)):
        return False
    finite = all(np.isfinite(a).all() for a in (mean, drift, spread, pending.data, pending.costs))
    pivots = np.diagonal(spread, axis1=1, axis2=2) if precision == "full" else spread
    return bool(finite and (pivots > 0.0).all() and _waiting(pending, mean))


def _waiting(pending: Examples, mean: F64) -> bool:
    indptr, indices, n = pending.indptr, pending.indices, pending.n_docs
    whole = all(isinstance(a, np.ndarray) and a.dtype == np.int64 for a in (indptr, indices))
    y = pending.y if isinstance(pending.y, np.ndarray) else np.zeros(0, np.bool_)
    if not whole or y.dtype not in (np.int8, np.float64) or (pending.costs <= 0.0).any():
        return False
    if np.isinf(y).any() or (y.dtype == np.int8 and np.abs(y).max(initial=0) > 1):
        return False
    shapes = [(n + 1,), (indices.size,), (n, len(mean)), (n,)]
    given = [indptr.shape, pending.data.shape, y.shape, pending.costs.shape]
    if given != shapes or indices.ndim != 1 or indptr[0] != 0 or indptr[-1] != indices.size:
        return False
    inside = indices.size == 0 or (indices.min() >= 0 and indices.max() < mean.shape[1])
    return bool(inside and (np.diff(indptr) >= 0).all())
