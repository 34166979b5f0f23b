"""The base of linear models on a stream: rows of any numbers, mini-batches, files. No topics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from numbers import Real
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from bayou.api.estimator import Estimator
from bayou.data.checks import number, one_of, optional, whole
from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.counts import is_frame
from bayou.data.errors import DataError, ModelFileError
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda.arrays import F64, I64
from bayou.inference.margin import columns
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.passive_aggressive import Examples, Weights
from bayou.results.posterior import unpack_vocabulary
from bayou.run import batches, checkpoint, loop
from bayou.run.batches import BatchPlan
from bayou.run.shards import Workers

_LONGEST = 1e60  # squared length of a row; products of larger ones would not be finite
_LARGEST = 2**27  # numbers in the precision matrices of all tasks: one GiB


@dataclass(kw_only=True, eq=False, repr=False)
class LinearEstimator(Estimator, abstract=True):
    """Weights of linear tasks that learn from mini-batches.

    What is learned is a function of the documents in their order and of nothing else: however a stream
    is cut into calls of `partial_fit`, mini-batches are cut every `batch_size` documents. Documents of a
    batch that is not full yet are kept, and what they teach so far is taken back when the next come. A call
    of `partial_fit` learns all that it is given: `max_time` and callbacks end `fit` alone.

    Attributes
    ----------
    state_ : Weights
        The weights after the last full mini-batch.
    pending_ : Examples
        The documents after it: fewer than `batch_size`, or more where a callback of `partial_fit` failed.
    coef_ : float64 array (tasks, features)
        Weights, with what the pending documents teach.
    intercept_ : float64 array (tasks,)
    """

    cost: float = 0.5
    variance: float = 1.0
    precision: str | None = None
    batch_size: int = 1
    n_passes: int = 5
    fit_intercept: bool = True
    average: bool = False
    n_rounds: int = 100
    tol: float = 1e-4

    # -- what a model says about itself --------------------------------------------------------

    def _posterior_kind(self) -> tuple[str, str]:
        """The name and the value of the parameter that chooses between the two posteriors."""
        raise TypeError(f"{type(self).__name__} does not say which posterior it has")

    def _loss(self) -> tuple[float, bool]:
        """Margin or half-width of the tube, and whether it is a tube."""
        raise TypeError(f"{type(self).__name__} does not say what it loses")

    # -- the door ------------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> tuple[csr_array, Corpus | None]:
        """The documents as canonical sparse rows with a constant column; and the corpus they came as."""
        named = not reset and self.vocabulary_ and not hasattr(self, "feature_names_in_")
        corpus = None
        if isinstance(X, Corpus) or (named and is_frame(X)):
            corpus = self._corpus(X, reset=reset)
            rows: Any = corpus.counts.astype(np.float64)
            if reset:
                self._names = corpus.vocabulary
        else:
            given = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=reset)
            rows = csr_array(given, copy=True)
            rows.sum_duplicates()
            rows.eliminate_zeros()
            if reset:
                names = getattr(self, "feature_names_in_", None)
                self._names = None if names is None else Vocabulary(names)
        with np.errstate(over="ignore"):
            longest = np.asarray(rows.multiply(rows).sum(axis=1)).max(initial=0.0)
        if not longest <= _LONGEST:
            raise DataError(
                f"a row of X has squared length {longest:.3g}, more than {_LONGEST:.0e}; scale X down"
            )
        return (_with_constant(rows) if self.fit_intercept else rows), corpus

    def _costs(self, sample_weight: Any, n_docs: int) -> F64:
        """What the loss of each document costs [c_d]."""
        if sample_weight is None or isinstance(sample_weight, Real):
            weights = np.full(n_docs, 1.0 if sample_weight is None else float(sample_weight))
        else:
            weights = np.asarray(sample_weight, np.float64)
        if weights.shape != (n_docs,):
            raise DataError(
                f"sample_weight must be one number for each of {n_docs} documents; "
                f"got shape {weights.shape}"
            )
        if not (np.isfinite(weights) & (weights >= 0) & (weights <= 1e30)).all():
            raise DataError("sample_weight must be finite and not negative, at most 1e+30")
        return self.cost * weights

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        name, posterior = self._posterior_kind()
        one_of(name, posterior, ("averaging", "gibbs"))
        if posterior == "averaging" and p.precision is not None:
            raise ValueError(f"precision belongs to {name}='gibbs'; leave it out with 'averaging'")
        if p.precision is not None:
            one_of("precision", p.precision, ("diagonal", "full"))
        p.precision = "" if posterior == "averaging" else p.precision or "diagonal"
        for count in ("batch_size", "n_passes", "n_rounds"):
            whole(count, getattr(p, count), 1)
        for positive in ("cost", "variance"):
            number(positive, getattr(p, positive), 1e-30)
        number("tol", p.tol, 0.0)
        optional("max_time", p.max_time, 1e-30)
        if p.n_threads not in (None, -1):
            whole("n_threads", p.n_threads, 1)
        p.how = pa.PassiveAggressiveSettings(
            p.batch_size, p.variance, *self._loss(), p.n_rounds, p.tol
        )
        return p

    # -- learning ------------------------------------------------------------------------------

    def _begin(self, p: SimpleNamespace, n_tasks: int, n_features: int) -> Weights:
        if p.precision == "full" and n_tasks * n_features**2 > _LARGEST:
            raise DataError(
                f"precision='full' keeps {n_tasks} matrices of {n_features} x {n_features} numbers, "
                f"more than {_LARGEST}; use 'diagonal', or fewer features"
            )
        return pa.start(n_tasks, n_features, p.variance, p.precision, p.average)

    def _check_stream(self, p: SimpleNamespace) -> None:
        """Refuse to go on with parameters that the weights were not made for."""
        state, n_features = self.state_, self.n_features_in_ + bool(p.fit_intercept)
        dims = {"": 0, "diagonal": 2, "full": 3}[p.precision]
        found = state.spread.ndim if state.spread.size else 0
        if (
            found != dims
            or bool(state.drift.size) != p.average
            or state.mean.shape[1] != n_features
        ):
            raise ValueError(
                "the posterior, average and fit_intercept cannot change within a stream; "
                "begin another model"
            )

    def _learn_all(self, p: SimpleNamespace, examples: Examples, begin: Weights) -> None:
        """`n_passes` over the documents, equal ones taken together, each pass in its own keyed order."""
        examples, content = pa.distinct(examples)
        order = lru_cache(maxsize=1)(lambda n: pa.keyed_order(content, self.seed_, n))

        def chunk(n: int, lo: int, hi: int) -> Examples:
            return pa.take(examples, order(n)[lo:hi])

        self.state_, self.pending_ = begin, pa.no_examples(examples.y)
        self._learn(p, BatchPlan(len(content), p.batch_size, p.n_passes), chunk, whole=False)

    def _learn_more(self, p: SimpleNamespace, examples: Examples, begin: Weights) -> None:
        """The documents in the order given, behind those that wait for their batch to be full."""
        waiting = pa.join(self.pending_, examples)
        n = waiting.n_docs // p.batch_size * p.batch_size

        def chunk(_: int, lo: int, hi: int) -> Examples:
            return pa.take(waiting, np.arange(lo, hi))

        self.state_ = begin
        try:
            self._learn(p, BatchPlan(n, p.batch_size), chunk, whole=True)
        finally:  # behind what was learned before a callback failed, or the last full mini-batch
            done = min((self.state_.step - begin.step) * p.batch_size, n)
            self.pending_ = chunk(0, done, waiting.n_docs)
            self.n_iter_ = self.state_.step + -(-self.pending_.n_docs // p.batch_size)

    def _learn(
        self,
        p: SimpleNamespace,
        cut: BatchPlan,
        chunk: Callable[[int, int, int], Examples],
        *,
        whole: bool,
    ) -> None:
        """Learn whole chunks of mini-batches until they are through or, of `fit`, somebody says stop."""
        kind, name = self._posterior_kind()[1], type(self).__name__
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, name) as bar:

            def learn(state: Weights, n: int, lo: int, hi: int) -> Weights:
                self.state_ = state = pa.learn(state, chunk(n, lo, hi), p.how, workers.each)
                return state

            told = [*bar, *self._callbacks()]
            batches.run(
                self.state_, cut, learn, kind, callbacks=told, max_time=p.max_time, whole=whole
            )
        self.n_iter_ = self.state_.step

    def _fixed_terms(self) -> str:
        if self._checked_parameters().precision != "full":
            return ""
        return "precision='full' has a fixed number of columns; use 'diagonal'"

    def _with_terms(self, keep: I64, n_new: int) -> float:
        p = self._checked_parameters()
        both = self.state_, self.pending_
        self.state_, self.pending_ = columns.move_weights(
            *both, keep, n_new, self._n_columns(), 1.0 / p.variance
        )
        return 0.0

    def _current(self) -> Weights:
        """The weights with what the documents of the last, unfinished batch teach."""
        return batches.state_with_pending(self, self._with_pending)

    def _with_pending(self) -> Weights:
        how = self._checked_parameters().how
        with Workers(self.n_threads) as workers:
            return pa.learn(pa.copy(self.state_), self.pending_, how, workers.each)

    # -- predictions ---------------------------------------------------------------------------

    def _n_tasks(self) -> int:
        """Tasks that are predicted; rows behind them are for the model itself."""
        return len(self.state_.mean)

    def _means(self, rows: csr_array) -> F64:
        weights = pa.predictive_mean(self._current())[: self._n_tasks()]
        return np.asarray(rows @ np.ascontiguousarray(weights.T), np.float64)

    def _variances(self, rows: csr_array) -> F64:
        with Workers(self.n_threads) as workers:
            return pa.variances(self._current().spread[: self._n_tasks()], rows, workers.each)

    @property
    def coef_(self) -> F64:
        """Weights, tasks x features."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no coef_ before it is fitted")
        return pa.predictive_mean(self._current())[: self._n_tasks(), : self.n_features_in_].copy()

    @property
    def intercept_(self) -> F64:
        """Weight of the constant feature, zeros where there is none."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError(f"{type(self).__name__} has no intercept_ before it is fitted")
        constant = pa.predictive_mean(self._current())[: self._n_tasks(), self.n_features_in_ :]
        return np.asarray(constant.sum(axis=1), np.float64)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        waiting = checkpoint.arrays_of(self.pending_, "pending")
        return checkpoint.arrays_of(self.state_) | waiting | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        try:
            p = self._checked_parameters()
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None
        self.state_ = checkpoint.state_of(Weights, arrays)
        self.pending_ = checkpoint.state_of(Examples, arrays, "pending")
        if not pa.sound(self.state_, self.pending_, p.precision, p.average):
            raise ModelFileError("the model file's weights do not fit each other; save it again")
        self._names = unpack_vocabulary(arrays.get("vocabulary"), self._n_columns())

    def _n_columns(self) -> int:
        return int(self.state_.mean.shape[1]) - bool(self.fit_intercept)


def _with_constant(rows: csr_array) -> csr_array:
    """The rows with a last column of ones."""
    n_docs, n_features = rows.shape
    indptr = rows.indptr + np.arange(n_docs + 1, dtype=rows.indptr.dtype)
    ends = indptr[1:] - 1
    inside = np.ones(int(indptr[-1]), np.bool_)
    inside[ends] = False
    data, indices = np.ones(len(inside)), np.full(len(inside), n_features, rows.indices.dtype)
    data[inside], indices[inside] = rows.data, rows.indices
    return csr_array((data, indices, indptr), shape=(n_docs, n_features + 1))
