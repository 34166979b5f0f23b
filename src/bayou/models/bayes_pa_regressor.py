"""Online Bayesian passive-aggressive regression: numbers on a stream.

    q_{t+1}(w) = argmin KL(q || q_t) + 2 c sum_d loss_d(q)      q_0 = N(0, sigma^2 I)      one w a target

As `bayes_pa`, with what lies outside a tube as the loss: ``averaging`` takes it of the mean, (|y - E[w]'x| -
epsilon)_+, which is PA-I [Crammer06], ``gibbs`` its expectation.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Crammer06] Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms.
JMLR 7, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from bayou.api.linear_estimator import LinearEstimator
from bayou.data.checks import number
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.supervision import check_magnitude, read_targets
from bayou.inference.margin import passive_aggressive as pa


@dataclass(kw_only=True, eq=False, repr=False)
class BayesPARegressor(RegressorMixin, LinearEstimator):
    """Linear regression of a stream, passive where a prediction is near and aggressive where not.

    Parameters
    ----------
    regressor : {"averaging", "gibbs"}
        Whether the weights are a mean that moves, or a Gaussian that also becomes surer.
    epsilon : float
        How far a prediction may be off without a loss.
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

    regressor: str = "averaging"
    epsilon: float = 0.1

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; what was learned before is forgotten.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
            Sparse or dense, of any finite numbers.
        y : array (documents,) or (documents, targets); None for the targets of a corpus
            NaN is a missing target, from which nothing is learned; a warning says how many there are.
        sample_weight : array (documents,), optional
            By how much the cost of each document is multiplied.
        """
        p = self._checked_parameters()
        rows, corpus = self._rows(X, reset=True)
        targets = check_magnitude(read_targets(y, rows.shape[0], corpus=corpus))
        self.seed_ = self._resolve_seed()
        examples = pa.make_examples(rows, targets, self._costs(sample_weight, rows.shape[0]))
        if not examples.n_docs:
            raise DataError("sample_weight is zero for every document that has a target")
        self._learn_all(p, examples, self._begin(p, targets.shape[1], rows.shape[1]))
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents, in the order given; X, y and sample_weight as in `fit`."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        rows, corpus = self._rows(X, reset=first)
        targets = check_magnitude(read_targets(y, rows.shape[0], corpus=corpus, partial=True))
        costs = self._costs(sample_weight, rows.shape[0])
        if first:
            self.seed_ = self._resolve_seed()
            begin = self._begin(p, targets.shape[1], rows.shape[1])
            self.pending_ = pa.no_examples(targets)
        else:
            self._check_stream(p)
            begin = self.state_
            if targets.shape[1] != len(begin.mean):
                raise DataError(f"y has {targets.shape[1]} targets, {len(begin.mean)} came before")
        self._learn_more(p, pa.make_examples(rows, targets, costs), begin)
        return self

    def _posterior_kind(self) -> tuple[str, str]:
        return "regressor", self.regressor

    def _loss(self) -> tuple[float, bool]:
        return float(self.epsilon), True

    def _checked_parameters(self) -> SimpleNamespace:
        number("epsilon", self.epsilon, 0.0)
        return super()._checked_parameters()

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The target of each document.

        Parameters
        ----------
        X : Corpus or matrix (documents, features)
        return_std : bool
            Whether to give the standard deviation of w'x under the posterior too; with "gibbs" only. What
            targets scatter around it is not in it.

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
