"""Max-margin topics, as many as documents and labels ask for: MedLDA with an HDP in the place of its prior.

    pi ~ GEM(gamma)   phi_k ~ Dir(beta)   eta_ik ~ N(level_i, s)
    theta_d ~ Dir(alpha pi)   z_dn ~ theta_d   w_dn ~ phi_z
    zbar_d = sum_n rho_n e_z,   f_di = eta_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta and phi are integrated out. Weights eta and their level, topics z, the variables that make the loss
Gaussian, tables and sticks pi are drawn in turn (`margin.growing`); topics are born and die while z is
drawn. The weights are then fitted once more to leave-one-out features (`inference.margin.refit`).

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.api.margin_estimator import MarginClassifier, MarginEstimator, MarginRegressor
from bayou.data.checks import check_growth
from bayou.inference.lda.arrays import Each
from bayou.inference.margin import chains, first_pass, growing, growth, refit
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.growing import GrowingChainState
from bayou.inference.margin.growth import TopicGrowth
from bayou.results.posterior import Posterior, check_arrays


@dataclass(kw_only=True, eq=False, repr=False)
class _MedHDP(MarginEstimator, abstract=True):
    """What the classifier and the regressor share: fields, checks, and the chain."""

    n_topics: int | None = None
    alpha: float = 5.0
    gamma: float = 1.0
    max_topics: int = 400

    @property
    def n_topics_(self) -> int:
        """Topics there are."""
        return self.posterior_.n_topics

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        least = 1 if p.n_topics is None else p.n_topics
        check_growth(SimpleNamespace(**{**vars(p), "n_topics": least}))
        return p

    def _settle(self, p: SimpleNamespace, kind: str, n_tasks: int) -> None:
        p.kind, p.separate, p.n_members, p.sampler, p.exact = kind, False, 1, "gibbs", True
        many = {"multi-label": max(n_tasks, 20), "regression": 10}.get(kind, 20)
        p.n_topics = min(many, p.max_topics) if p.n_topics is None else p.n_topics

    def _state_kind(self) -> type[GrowingChainState]:
        return GrowingChainState

    def _growth(self, p: SimpleNamespace) -> TopicGrowth:
        return TopicGrowth(float(p.alpha), float(p.gamma), int(p.max_topics), 0.0)

    def _start(self, data: chains.MarginData, p: SimpleNamespace, each: Each) -> GrowingChainState:
        by, chain = self._growth(p), data.chains[0]
        begin = first_pass.no_topics(chain.n_terms, int(p.n_topics))
        if p.kind != "regression":
            multi = p.kind == "multi-label"
            how = first_pass.settings(multi, int(p.n_topics), p.tf, bool(p.idf), by)
            examples = _examples(data)
            begin = first_pass.first_topics(examples, chain.n_terms, how, self.seed_, each)
        return growing.start(chain, begin, by, self.seed_, each)

    def _sweep(
        self, state: GrowingChainState, data: chains.MarginData, p: SimpleNamespace, each: Each
    ) -> GrowingChainState:
        by, chain = self._growth(p), data.chains[0]
        state = growing.sweep(state, chain, float(p.beta), by, self.seed_, each)
        if state.step > p.n_sweeps - p.n_kept:
            state = growing.keep(state)
        if state.step % chains.CHECK == 0 or state.step == p.n_sweeps:
            state = growing.append_score(state, chain, float(p.beta), by)
        return state

    def _read_off(
        self, state: GrowingChainState, data: chains.MarginData, p: SimpleNamespace, each: Each
    ) -> tuple[Posterior, refit.RefitEvidence]:
        found, prior, ids = growing.read_off(state, data.chains[0], float(p.beta), self._growth(p))
        self.n_topics_course_, self.topic_ids_ = state.course, ids
        data = data._replace(prior=prior)
        return chains.posterior(found, data, each), chains.evidence(found, data, p, each)

    def n_topics_interval(self, level: float = 0.9) -> tuple[int, int]:
        """Between how many topics the chain was in ``level`` of the last half of its sweeps."""
        last = self.n_topics_course_[len(self.n_topics_course_) // 2 :]
        return growth.between(last, self.n_topics_, level)

    def _payload(self) -> dict[str, NDArray[Any]]:
        return super()._payload() | {"ids": self.topic_ids_, "course": self.n_topics_course_}

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        none = np.zeros((0, 0))
        ids, course = arrays.get("ids", none), arrays.get("course", none)
        check_arrays("ids", ids, np.int64, (self.posterior_.n_topics,))
        check_arrays("course", course, np.int64, (course.size,))
        self.topic_ids_, self.n_topics_course_ = ids, course


def _examples(data: chains.MarginData) -> Examples:
    """The documents in the order of the chain, as a stream has them."""
    chain, counts = data.chains[0], data.corpus.counts
    known = chain.cost > 0.0
    y = np.where(known, chain.y, 0.0).astype(np.int8)
    parts = (counts.indptr.astype(np.int64), counts.indices.astype(np.int64))
    cost = np.where(known.any(axis=1), 1.0, 0.0)
    every = Examples(*parts, counts.data.astype(np.float64), y, cost)
    return every.take(data.order)._replace(y=y, costs=cost)  # in that order already


@dataclass(kw_only=True, eq=False, repr=False)
class MedHDPClassifier(MarginClassifier, _MedHDP):
    """Max-margin topic model for classes or labels that finds the number of its topics.

    Parameters
    ----------
    n_topics : int or None
        Topics to begin with; `n_topics_` is how many there are at the end. None: 20, or for several labels a
        document as many as labels if those are more; at most `max_topics`.
    alpha : float
        Concentration of a document's topics around the sticks, all topics together.
    gamma : float
        How readily topics are born.
    max_topics : int
        Topics at a time, at most.
    beta, loss, cost, variance, positive_cost
        As in `MedLDAClassifier`; weights vary around a level that each task has of its own.
    margin : float or None
        As in `MedLDAClassifier`; None: 164 for two classes, else 16.
    tf, idf, n_sweeps, n_kept, refit, word_residual
        As in `MedLDAClassifier`. All classes share the topics of one chain.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Tokens are drawn one after the other; threads share the rest.

    Attributes
    ----------
    n_topics_ : int
        Topics there are.
    n_topics_course_ : int64 array (sweeps,)
        Topics after each sweep; `n_topics_interval` is read off the last half.
    topic_ids_ : int64 array (topics,)
        A number for each topic that is given at birth and never again.
    classes_ : array
    weights_ : float64 array (topics, tasks)
        Two classes are one task, which speaks for the second.
    response_ : Response
        ``response_.draws`` are posterior draws of the weights.

    Examples
    --------
    >>> from bayou import MedHDPClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = MedHDPClassifier(n_topics=2, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.8
    True
    >>> model.n_topics_ == len(model.components_)
    True
    """


@dataclass(kw_only=True, eq=False, repr=False)
class MedHDPRegressor(MarginRegressor, _MedHDP):
    """Max-margin topic model for numbers that finds the number of its topics.

    Parameters
    ----------
    n_topics : int or None
        Topics to begin with; None is 10.
    alpha, gamma, max_topics
        As in `MedHDPClassifier`.
    beta, cost, epsilon, variance
        As in `MedLDARegressor`; weights vary around a level that each target has of its own.
    n_sweeps, n_kept : int
        As in `MedLDAClassifier`; 60 and 20, since topics come and go for longer.
    tf, idf, refit, word_residual
        As in `MedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `MedHDPClassifier`.

    Examples
    --------
    >>> from bayou import MedHDPRegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = MedHDPRegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    alpha: float = 1.0
    gamma: float = 0.1
    beta: float = 0.1
    n_sweeps: int = 60
    n_kept: int = 20

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # on scikit-learn's data, which are no counts
        return tags
