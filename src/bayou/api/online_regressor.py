"""Numbers, one or several a document, learned from a stream together with the topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayou.api.online_supervised import OnlineSupervised
from bayou.api.supervised import TopicRegressor
from bayou.data.checks import optional
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.supervision import check_magnitude, read_targets
from bayou.inference.lda.arrays import F64
from bayou.inference.margin import online_refit, online_state, online_stream
from bayou.inference.margin.online_state import OnlineMarginState
from bayou.kernels.margin.response import INSENSITIVE
from bayou.results.response import Response
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineRegressor(OnlineSupervised, TopicRegressor, abstract=True):  # type: ignore[override]
    """What online max-margin regressors share, whatever they know of the number of topics."""

    regressor: str = "gibbs"
    epsilon: float | None = None
    refit: bool | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : array (documents,) or (documents, targets), or None for the corpus' targets
            NaN where a target is not known.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count as before.
        """
        p = self._checked_parameters()
        corpus = self._documents(X, reset=True)
        targets = check_magnitude(
            read_targets(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        )
        examples = self._examples(corpus, targets, sample_weight, p, some=True)
        self.seed_ = self._resolve_seed()
        self.__dict__.pop("state_", None)
        self._learn_all(p, examples)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents, in the order given; X, y and sample_weight as in `fit`."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._documents(X, reset=first)
        own = corpus if isinstance(X, Corpus) else None
        targets = check_magnitude(read_targets(y, corpus.n_docs, corpus=own, partial=True))
        examples = self._examples(corpus, targets, sample_weight, p, some=False)
        if first:
            self.seed_ = self._resolve_seed()
        else:
            n_targets = len(self.state_.mean)
            if targets.shape[1] != n_targets:
                raise DataError(f"y has {targets.shape[1]} targets, {n_targets} came before")
            self._check_stream(self._how(p), n_targets)
        self._learn_more(p, examples)
        return self

    def _posterior_kind(self) -> tuple[str, str]:
        return "regressor", self.regressor

    def _refits(self) -> bool:
        return self.refit is None or bool(self.refit)

    def _unit(self, p: SimpleNamespace) -> float:
        return 1.0

    def _loss(self, p: SimpleNamespace) -> tuple[int, float, float, bool]:
        return INSENSITIVE, float(p.epsilon), 1.0, False

    def _checked_parameters(self) -> SimpleNamespace:
        optional("epsilon", self.epsilon, 0.0)
        return super()._checked_parameters()

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, and how far predictions of documents to come were off."""
        state = self._current()
        n, k = state.mean.shape
        centre, deviation = online_state.scaling(state)
        slope, offset, noise = online_stream.fit_correction(state, n)
        scale = deviation * slope
        if len(state.bend):
            return self._refitted(state, noise)
        return Response(
            kind="regression", classes=np.arange(n),
            weights=np.ascontiguousarray((state.mean * scale[:, None]).T),
            intercept=centre * slope + offset, term_weight=self._term_weight(state),
            slope=np.ones(n), offset=np.zeros(n), share=1.0, noise=noise,
            covariance=online_stream.covariance(state, scale),
            draws=np.zeros((0, k, n), np.float32), centre=np.zeros(k),
        )  # fmt: skip

    def _refitted(self, state: OnlineMarginState, noise: F64) -> Response:
        """Weights of the second stage, with the noise of what it predicted of documents to come."""
        n, k = state.mean.shape
        with Workers(1) as workers:
            how = self._how(self._checked_parameters())
            weights = online_refit.weights(state, how, workers.each)
        return Response(
            kind="regression", classes=np.arange(n), weights=np.ascontiguousarray(weights.T),
            intercept=np.zeros(n), term_weight=self._term_weight(state), slope=np.ones(n),
            offset=np.zeros(n), share=1.0, noise=noise,
            covariance=online_refit.covariance(state, noise),
            draws=np.zeros((0, k, n), np.float32), centre=np.zeros(k),
        )  # fmt: skip

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        if self.state_.moments.shape[1] != len(self.state_.mean):
            raise ModelFileError("the model file's targets and weights disagree; save it again")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.regressor_tags.poor_score = True  # on scikit-learn's data, which are no counts
        return tags
