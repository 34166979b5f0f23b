"""Result mixin of linear models on a stream: rows of any numbers, weights, means and variances."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.utils.validation import validate_data

from bayou.api.bases import StreamingBase
from bayou.api.params import settings
from bayou.data.corpus import Corpus
from bayou.data.counts import check_sparse, is_frame
from bayou.data.errors import DataError
from bayou.data.supervision import document_weights
from bayou.data.vocabulary import Vocabulary
from bayou.inference.lda.arrays import F64, I64
from bayou.inference.margin import examples
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import Loss
from bayou.inference.margin.passive_aggressive import LinearSettings, LinearState
from bayou.run.shards import Workers

_LONGEST = 1e60  # squared length of a row; products of larger ones would not be finite
_HEAVIEST = 1e30  # weight of a document


class Linear(StreamingBase):
    """Weights of features, from `state_` and the pending documents. Comes before `Streaming`.

    Attributes
    ----------
    state_ : LinearState
        The weights after the last full mini-batch.
    pending_ : Examples
        The documents after it: fewer than `batch_size`, or more if a callback of `partial_fit` failed.
    coef_ : float64 array (tasks, features)
        Weights, with what the pending documents teach.
    intercept_ : float64 array (tasks,)
    """

    state_: LinearState
    pending_: Examples
    batch_size: int
    cost: float
    fit_intercept: bool
    precision: str | None

    # -- input -----------------------------------------------------------------------------------

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
            check_sparse(X, "features")
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
        return (_append_ones(rows) if self.fit_intercept else rows), corpus

    def _costs(self, sample_weight: Any, n_docs: int) -> F64:
        """The cost of the loss of each document [c_d]."""
        weights = document_weights(sample_weight, n_docs, some=False)
        if weights.max(initial=0.0) > _HEAVIEST:
            raise DataError(f"sample_weight must be at most {_HEAVIEST:.0e}; scale it down")
        return self.cost * weights

    # -- learning ----------------------------------------------------------------------------------

    def _settings(self, phase: str, loss: Loss, width: float) -> LinearSettings:
        """The parameters of one run, checked against what was learned."""
        if self.precision is not None and phase != "gibbs":
            name = "classifier" if loss.classifies else "regressor"
            raise ValueError(f"precision belongs to {name}='gibbs'; leave it out with 'averaging'")
        precision = (self.precision or "diagonal") if phase == "gibbs" else ""
        p = settings(
            LinearSettings, self, phase=phase, precision=precision, loss=loss, width=float(width)
        )
        if hasattr(self, "state_"):
            pa.check_state(self.state_, self.n_features_in_ + bool(self.fit_intercept), p)
        return p

    def _start(self, n_tasks: int, n_columns: int) -> LinearSettings:
        """Discard what was learned, resolve the seed, and begin at the prior."""
        self.__dict__.pop("state_", None)
        self.seed_ = self._resolve_seed()
        p: LinearSettings = self.resolve()
        self.state_ = pa.init(n_tasks, n_columns, p)
        return p

    def _learn_all(self, given: Examples, p: LinearSettings, n_passes: int) -> None:
        """`fit`: equal documents are merged, and each pass has an order keyed by their content."""
        given, content = examples.merge_equal(given)
        order = lru_cache(maxsize=1)(lambda n: examples.keyed_order(content, self.seed_, n))
        self._learn_passes(given, p, n_passes, order)

    def _learn_more(self, given: Examples, p: LinearSettings) -> None:
        """`partial_fit`; mini-batches of pending documents count as iterations."""
        try:
            self._learn_stream(given, p)
        finally:
            self.n_iter_ = self.state_.step + -(-self.pending_.n_docs // p.batch_size)

    def _n_in_state(self) -> int:
        return self.state_.step * self.batch_size

    def _growth_error(self) -> str:
        if self.resolve().precision != "full":
            return ""
        return "precision='full' has a fixed number of columns; use 'diagonal'"

    def _move_terms(self, keep: I64, n_new: int) -> float:
        both, variance = (self.state_, self.pending_), self.resolve().variance
        self.state_, self.pending_ = pa.move_terms(
            *both, keep, n_new, self.n_features_in_, variance
        )
        return 0.0

    def _file_dims(self) -> dict[str, int]:
        return {"terms": self.n_features_in_ + bool(self.fit_intercept)}

    # -- predictions -------------------------------------------------------------------------------

    def _n_tasks(self) -> int:
        """Number of tasks that are predicted."""
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
        return pa.predictive_mean(self._current())[: self._n_tasks(), : self.n_features_in_].copy()

    @property
    def intercept_(self) -> F64:
        """Weight of the constant feature; zeros if there is none."""
        constant = pa.predictive_mean(self._current())[: self._n_tasks(), self.n_features_in_ :]
        return np.asarray(constant.sum(axis=1), np.float64)


def _append_ones(rows: csr_array) -> csr_array:
    """The rows with a last column of ones."""
    n_docs, n_features = rows.shape
    indptr = rows.indptr + np.arange(n_docs + 1, dtype=rows.indptr.dtype)
    ends = indptr[1:] - 1
    inside = np.ones(int(indptr[-1]), np.bool_)
    inside[ends] = False
    data, indices = np.ones(len(inside)), np.full(len(inside), n_features, rows.indices.dtype)
    data[inside], indices[inside] = rows.data, rows.indices
    return csr_array((data, indices, indptr), shape=(n_docs, n_features + 1))
