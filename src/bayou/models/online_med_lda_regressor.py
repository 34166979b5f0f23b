"""Max-margin LDA of numbers on a stream: topics and weights of a regression, learned together.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c (|y_di - f_di| - epsilon)_+)

As `online_med_lda`, which explains the two posteriors of the weights, with a tube in place of the margin.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.supervision import bounded, read_targets
from bayou.kernels.response import INSENSITIVE
from bayou.online_supervised import OnlineSupervised
from bayou.parameters import number
from bayou.parts import online_refit, online_state, online_stream
from bayou.parts.online_state import State
from bayou.parts.topics import F64
from bayou.response import Response
from bayou.run.shards import Workers
from bayou.supervised import TopicRegressor

_NUMBERS: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 0.5, "cost": 164.0, "epsilon": 1e-3, "variance": 4e-5, "batch_size": 64,
        "n_rounds": 1, "n_sweeps": 1,
    },
    "averaging": {
        "alpha": 0.16, "cost": 1000.0, "epsilon": 0.5, "variance": 4e-5, "batch_size": 8,
        "n_rounds": 2, "n_sweeps": 2,
    },
}  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDARegressor(TopicRegressor, OnlineSupervised):
    """Max-margin topic model for numbers, one or several a document, that learns from a stream.

    Targets are brought to mean 0 and deviation 1 by those that have come so far, so that ``cost``,
    ``epsilon`` and ``variance`` mean the same for all of them. They pull on the topics of the documents that
    weights are learned from, and nothing pulls on those of a new document: predictions are made by weights
    of a second stage, which see topics that no target has pulled on. Without one (``refit``) they are
    corrected by a line fitted to what was predicted of the latest documents before they were learned.

    Parameters
    ----------
    regressor : {"gibbs", "averaging"}
        The posterior of the weights, as ``classifier`` of `OnlineMedLDAClassifier`.
    n_topics : int or None
        Number of topics [K]; None is 10.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 0.5 or 0.16.
    cost : float or None
        Weight of the loss against the words [c]; None is 164 or 1000.
    epsilon : float or None
        Half-width of the tube in which a prediction costs nothing, in deviations of the target; None is 0.001
        or 0.5. "averaging" comes to rest only if there is a tube to rest in.
    variance : float or None
        Variance of a weight before the first document [sigma^2]; None is 0.00004.
    weight_floor : float, "auto" or None
        As in `OnlineMedLDAClassifier`, "auto" being 6.1 x cost; precision matrices are one a target.
    batch_size : int or None
        Documents that are learned together; None is 64 or 8.
    refit : bool or None
        Whether predictions are by weights of a second stage, a ridge regression along the stream on topics
        that no target has shaped: those of each document by its words alone, before it is learned. None
        is yes.
    beta, tf, idf, n_passes, n_rounds, n_sweeps, burn_in, ghost_factor, decay
        As in `OnlineMedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Examples
    --------
    >>> from bayou import OnlineMedLDARegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = OnlineMedLDARegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

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
        targets = bounded(
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
        targets = bounded(read_targets(y, corpus.n_docs, corpus=own, partial=True))
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

    def _defaults(self) -> dict[str, Any]:
        return _NUMBERS[self.regressor]

    def _unit(self, p: SimpleNamespace) -> float:
        return 1.0

    def _loss(self, p: SimpleNamespace) -> tuple[int, float, float, bool]:
        return INSENSITIVE, float(p.epsilon), 1.0, False

    def _refits(self) -> bool:
        return self.refit is None or bool(self.refit)

    def _default_topics(self) -> int:
        return 10

    def _checked_parameters(self) -> SimpleNamespace:
        if self.epsilon is not None:
            number("epsilon", self.epsilon, 0.0)
        return super()._checked_parameters()

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, and how far predictions of documents to come were off."""
        state = self._current()
        n, k = state.mean.shape
        centre, deviation = online_state.scaling(state)
        slope, offset, noise = online_stream.corrected(state, n)
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

    def _refitted(self, state: State, noise: F64) -> Response:
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
