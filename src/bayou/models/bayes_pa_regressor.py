"""Online Bayesian passive-aggressive regression: numbers on a stream.

    q_{t+1}(w) = argmin KL(q || q_t) + 2 c sum_d loss_d(q)      q_0 = N(0, sigma^2 I)      one w per target

As `bayes_pa`, with the distance to a tube as the loss: ``averaging`` takes it of the mean, (|y - E[w]'x| -
epsilon)_+, which is PA-I [Crammer06]; ``gibbs`` takes its expectation.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Crammer06] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms.
JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.linear import Linear
from bayou.api.params import param
from bayou.api.stream_classes import check_on_load
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.supervision import check_magnitude, read_targets
from bayou.inference.lda.arrays import Each
from bayou.inference.margin import examples
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import INSENSITIVE
from bayou.inference.margin.passive_aggressive import LinearSettings, LinearState


def update(
    state: LinearState, chunk: Examples, p: LinearSettings, seed: int, each: Each
) -> LinearState:
    """q_{t+1}(w) = argmin KL(q || q_t) + 2c sum_d loss_d(q), for the mini-batches of a chunk in turn."""
    if p.phase == "gibbs":
        # E loss(y, w'x), mean field q(w) q(lambda, lambda'): [Shi17] eq. 28, one lambda per side of the tube
        return pa.infer(state, chunk, p, each)
    # loss(y, E[w]'x), by its dual: [Shi17] eq. 10 for the tube, |tau_d| <= 2c
    return pa.average(state, chunk, p, each)


@dataclass(kw_only=True, eq=False, repr=False)
class BayesPARegressor(Linear, RegressorMixin, Streaming, Estimator):
    """Linear regression of a stream: documents outside the tube move the weights, the others do not.

    Parameters
    ----------
    regressor : {"averaging", "gibbs"}
        Posterior of the weights: a mean only (PA-I), or a Gaussian whose precision grows.
    epsilon : float
        Half-width of the tube: a smaller error has no loss.
    cost, variance, precision, batch_size, n_passes, fit_intercept, average, n_rounds, tol, max_time, \
random_state, n_threads, progress, callbacks
        As in `BayesPAClassifier`.

    Attributes
    ----------
    coef_ : float64 array (targets, features)
    intercept_ : float64 array (targets,)

    Examples
    --------
    >>> from bayou import BayesPARegressor
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = BayesPARegressor(regressor="gibbs", cost=10, random_state=0).fit(X, [1, 3, 5, 7])
    >>> mean, std = model.predict([[1.5], [30.0]], return_std=True)
    >>> float(mean.round()[0]), bool(std[0] < std[1])
    (4.0, True)
    """

    regressor: str = param("averaging", choices=("averaging", "gibbs"))
    epsilon: float = param(0.1, ge=0.0)
    cost: float = param(0.5, gt=0.0)
    variance: float = param(1.0, gt=0.0)
    precision: str | None = param(None, choices=pa.PRECISIONS)
    batch_size: int = param(1, ge=1)
    n_passes: int = param(5, ge=1)
    fit_intercept: bool = True
    average: bool = False
    n_rounds: int = param(100, ge=1)
    tol: float = param(1e-4, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(LinearState, Examples, update, chunked=True)
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, check_on_load(pa.check_arrays))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; everything learned before is discarded.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
            Sparse or dense, of any finite numbers.
        y : array (documents,) or (documents, targets); None for the targets of a corpus
            NaN is a missing target, from which nothing is learned. A warning gives their number.
        sample_weight : array (documents,), optional
            Factors on the cost of documents.
        """
        self.check_params()
        rows, corpus = self._rows(X, reset=True)
        targets = check_magnitude(read_targets(y, rows.shape[0], corpus=corpus))
        costs = self._costs(sample_weight, rows.shape[0])
        given = examples.select_informative(examples.examples_of(rows, targets, costs))
        if not given.n_docs:
            raise DataError("sample_weight is zero for every document that has a target")
        p = self._start(targets.shape[1], rows.shape[1])
        self._learn_all(given, p, self.n_passes)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents, in the order given; X, y and sample_weight as in `fit`."""
        first = not hasattr(self, "state_")
        p = self.resolve()
        rows, corpus = self._rows(X, reset=first)
        targets = check_magnitude(read_targets(y, rows.shape[0], corpus=corpus, partial=True))
        costs = self._costs(sample_weight, rows.shape[0])
        if first:
            self.pending_ = examples.no_examples(targets)
            p = self._start(targets.shape[1], rows.shape[1])
        elif targets.shape[1] != len(self.state_.mean):
            before = len(self.state_.mean)
            raise DataError(f"y has {targets.shape[1]} targets, {before} came before")
        given = examples.select_informative(examples.examples_of(rows, targets, costs))
        self._learn_more(given, p)
        return self

    def resolve(self) -> LinearSettings:
        """The parameters of one run, checked against what was learned."""
        self.check_params()
        return self._settings(self.regressor, INSENSITIVE, self.epsilon)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The target of each document.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
        return_std : bool
            Whether to return the standard deviation of w'x under the posterior too; with "gibbs" only. It
            does not include the noise of targets.

        Returns
        -------
        float64 array (documents,), or (documents, targets) for several; or two of them
        """
        check_is_fitted(self)
        if return_std and self.regressor != "gibbs":
            raise ValueError("return_std needs regressor='gibbs': averaging keeps no variance")
        rows, _ = self._rows(X, reset=False)
        mean = self._means(rows)
        shape = (len(mean),) if mean.shape[1] == 1 else mean.shape
        if not return_std:
            return mean.reshape(shape)
        return mean.reshape(shape), np.sqrt(self._variances(rows)).reshape(shape)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """R² of the predictions; ``y`` left out is the targets of a corpus."""
        if y is None:
            y = X.targets if isinstance(X, Corpus) else None
        if y is None:
            raise DataError("score requires y to be passed, but the target y is None")
        return float(super().score(X, y, sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
