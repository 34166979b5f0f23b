"""Max-margin topics on a stream, their number learned: online Bayesian passive-aggressive learning of an HDP.

    pi ~ GEM(gamma)   phi_k ~ Dir(beta)   w_ik ~ N(m_i, sigma^2)
    theta_d ~ Dir(alpha pi)   z_dn ~ theta_d   w_dn ~ phi_z
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c loss(y_di, f_di))

As `online_med_lda`, with alpha pi_k in place of alpha, and q(pi) = Dir(u_1, ..., u_K, gamma), u_k the tables
of topic k so far. Topics of the start have one table before the first document [Shi17], so that they can wait
for their documents. A mini-batch is sampled with live counts on top of the counts of earlier documents. Any
token may open a topic, which starts with the weights of an average topic. [Shi17] start newborn sticks at
Beta(1, .), which counts a table too many, add the tables of a round to those of the round before, and leave
labels out of the probability of a new topic. Here all three follow the posterior (`margin.growth`,
`margin.stream_growth`).

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bayou.api import online_margin, stream_classes
from bayou.api.classifier import Classifier
from bayou.api.estimator import Estimator, Saved
from bayou.api.online_margin import (
    POSTERIORS,
    GrowingMarginParameters,
    OnlineMargin,
    OnlineMarginParameters,
)
from bayou.api.params import param
from bayou.api.regressor import Regressor
from bayou.api.stream_classes import CLASSES, check_on_load
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topic_course import GrowingTopics
from bayou.api.topics import Topics
from bayou.data.checks import one_of
from bayou.inference.lda.arrays import Each
from bayou.inference.margin import online, online_response, online_settings, online_state, rounds
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import CLASSIFICATION_LOSSES, INSENSITIVE, loss_by_name
from bayou.inference.margin.online_settings import OnlineDefaults, OnlineTask
from bayou.inference.margin.online_state import OnlineMarginSettings as Settings
from bayou.inference.margin.online_state import OnlineMarginState as State
from bayou.inference.margin.online_weights import OnlineRun
from bayou.inference.margin.stream_growth import drop_small_topics
from bayou.results.response import Response
from bayou.run.shards import Workers

_CLASSES = {
    "gibbs": OnlineDefaults(5.0, 1.0, 164.0, 20.0, batch_size=16, n_rounds=1, n_sweeps=2),
    "floor": OnlineDefaults(5.0, 1.0, 164.0, 1.0, batch_size=16, n_rounds=1, n_sweeps=2),
    "logistic": OnlineDefaults(5.0, 1000.0, 1.0, 3e-3, batch_size=16, n_rounds=1, n_sweeps=2),
    "averaging": OnlineDefaults(5.0, 500.0, 16.0, 1e-3, 32, n_rounds=2, n_sweeps=2, gamma=10.0),
}
_LABELS = {  # for several labels per document
    "gibbs": _CLASSES["gibbs"]._replace(alpha=10.0, batch_size=64),
    "floor": _CLASSES["floor"]._replace(alpha=10.0, batch_size=64),
    "logistic": _CLASSES["logistic"]._replace(alpha=10.0, batch_size=64),
    "averaging": _CLASSES["averaging"]._replace(alpha=10.0),
}
_NUMBERS = {
    "gibbs": OnlineDefaults(5.0, 164.0, 1e-3, 4e-3, batch_size=64, n_rounds=1, n_sweeps=2),
    "floor": OnlineDefaults(5.0, 164.0, 1e-3, 4e-5, batch_size=64, n_rounds=1, n_sweeps=2),
    "averaging": OnlineDefaults(5.0, 1000.0, 0.5, 4e-5, batch_size=8, n_rounds=2, n_sweeps=2),
}


def update(state: State, examples: Examples, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch, [Shi17] section 6.1; equation numbers are theirs.

    q_{t+1} = argmin KL(q || q_t) - E ln p(words, z) + 2c sum_d loss_d(q), eq. 31 and 33, with q = q(z,
    tables, sticks, lambda) q(phi) q(w).
    """
    state = online.fade(state, p.decay**examples.n_docs, p, each)  # q_t^r q_0^(1 - r) replaces q_t
    state, batch = online.read_batch(state, examples, p, seed)
    run = OnlineRun(batch, p, seed, each)
    state = online.score_batch(state, examples, run)  # as new documents; the second stage learns
    chain = rounds.begin(state, run)
    for n in range(p.n_rounds):
        chain = rounds.start_round(chain, n)  # E[ln phi] and q(w) of the last round, lambda = 1
        for j in range(p.n_sweeps):
            chain = rounds.draw_topics(chain, j)  # z | lambda, pi, eq. 40 or 44: births and deaths
            chain = rounds.add_sweep(chain, j)  # counts and zbar after the burn-in
            # tables | z, eq. 41; sticks ~ Dir(tables, gamma), eq. 42 with u^t; q(pi), eq. 34 and 35
            chain = rounds.draw_tables(chain, j)
            # 1 / lambda ~ IG(1 / (c sqrt(E gap^2)), 1), eq. 30; for numbers one per side of the tube
            chain = rounds.draw_lambda(chain, j)
        chain = rounds.update_weights(chain)  # the dual, eq. 21 and 22; or N(P^-1 b, P^-1), eq. 28
    state, counts = rounds.posterior(chain)
    state, counts = drop_small_topics(state, counts, batch.n_docs, p)
    return online.add_counts(state, batch, counts)  # q(phi_k) = Dir(Delta_k + counts_k), eq. 19


_ALGORITHM = Stream(
    State, Examples, update, move_terms=online_state.move_terms, later=online_margin.later_passes
)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedHDPClassifier(  # type: ignore[override, misc]
    OnlineMargin, Classifier, GrowingTopics, Streaming, Topics,
    GrowingMarginParameters, OnlineMarginParameters, Estimator,
):  # fmt: skip
    """Max-margin topic model for classes or labels from a stream that learns the number of its topics.

    Parameters
    ----------
    classifier : {"gibbs", "averaging"} or None
        The posterior of the weights, as in `OnlineMedLDAClassifier`. Two defaults below are those of "gibbs"
        and of "averaging".
    n_topics : int or None
        Number of topics at the start; `n_topics_` is the current number. Default: twice the number of
        classes, or the number of labels, as known at the first document; at least 20 and at most
        `max_topics`. With fewer, classes share topics, which small mini-batches hardly separate again.
    alpha : float or None
        Concentration of a document's topics around the sticks, summed over all topics. Default: 5, or 10 for
        several labels per document.
    gamma : float or None
        Concentration of the sticks: a larger value gives more topics. Default: 1 or 10.
    max_topics : int
        Largest number of topics at a time.
    min_tokens : float
        Topics with fewer tokens are dropped, every 1,024 documents. Those of the start stay until then.
    weight_level : bool
        Whether a new topic starts with the weights of an average topic. False: with weights of mean zero, as
        published.
    batch_size : int or None
        Documents in a mini-batch. Default: 16 (64 for several labels per document) or 32.
    refit : bool or None
        Whether predictions use weights of a second stage, as in `OnlineMedLDAClassifier`. Default: only for
        several labels per document. A new topic starts at the score of an average document. The share of a
        dropped topic goes to the others.
    positive_cost : float or None
        As in `OnlineMedLDAClassifier`, but the default is always 1 with "averaging".
    beta, loss, cost, margin, variance, weight_floor, prediction, token_order, tf, idf, n_passes, n_rounds
        As in `OnlineMedLDAClassifier`.
    n_sweeps : int or None
        Sweeps per round. Default: 2. A topic that is born in the last sweep stays unless it is small.
    burn_in, ghost_factor, decay
        As in `OnlineMedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Tokens of a mini-batch are drawn in sequence; threads share the other work.

    Attributes
    ----------
    n_topics_ : int
    topic_ids_ : int64 array (topics,)
        A number per topic, assigned at birth and never reused.
    classes_ : array
    state_, weights_
        As in `OnlineMedLDAClassifier`.

    Examples
    --------
    >>> from bayou import OnlineMedHDPClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = OnlineMedHDPClassifier(n_topics=2, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.7
    True
    >>> model.n_topics_ == len(model.components_)
    True
    """

    classifier: str | None = param(None, choices=POSTERIORS)
    loss: str = param("hinge", choices=CLASSIFICATION_LOSSES)
    margin: float | None = param(None, gt=0.0)
    positive_cost: float | None = param(None, gt=0.0)

    algorithm: ClassVar[Stream] = _ALGORITHM
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, CLASSES, check_on_load(online_state.check_arrays))

    @classmethod
    def published(cls, classifier: str = "averaging", **settings: Any) -> Self:
        """The settings of [Shi17] without later improvements; ``settings`` are exceptions."""
        one_of("classifier", classifier, POSTERIORS)
        plain: dict[str, Any] = {
            "classifier": classifier, "n_topics": 20, "alpha": 5.0, "gamma": 1.0, "beta": 0.5,
            "min_tokens": 1.0, "tf": "none", "idf": False, "positive_cost": 1.0, "n_passes": 1,
            "weight_floor": None, "refit": False, "prediction": "sampled", "weight_level": False,
            "token_order": "term",
        }  # fmt: skip
        own = {
            "averaging": {"variance": 1e-3, "batch_size": 1, "n_rounds": 2, "n_sweeps": 3},
            "gibbs": {"variance": 1.0, "batch_size": 512, "n_rounds": 1, "n_sweeps": 2},
        }
        return cls(**{**plain, **own[classifier], **settings})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; arguments as in `OnlineMedLDAClassifier.fit`."""
        online_margin.fit_labels(self, X, y, sample_weight)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more documents; arguments as in `OnlineMedLDAClassifier.partial_fit`."""
        online_margin.stream_labels(self, X, y, classes, sample_weight)
        return self

    def resolve(self) -> Settings:
        """The parameters of one run."""
        several = bool(getattr(self, "multi_label_", False))
        n_tasks = len(getattr(self, "_classes", ()))
        n_topics = min(max((1 if several else 2) * n_tasks, 20), self.max_topics)
        posterior = online_settings.choose_posterior(self, n_tasks, self.n_topics or n_topics)
        table = _LABELS if several else _CLASSES
        defaults = online_settings.select_defaults(
            table, posterior, self.weight_floor, logistic=self.loss == "logistic"
        )
        defaults = defaults._replace(n_topics=n_topics)
        refit = online_settings.resolve_refit(self, several)
        task = OnlineTask("classifier", posterior, loss_by_name(self.loss), self.margin, refit)
        growth = online_settings.resolve_growth(self, defaults)
        begun = len(self.state_.topic) if hasattr(self, "state_") else None
        p = online_settings.resolve(self, task, defaults, begun)
        factor = online_settings.positive_factor(self.positive_cost, p, multi_label=several)
        return p._replace(growth=growth, positive=factor)

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, with probabilities fitted to documents scored before they were learned."""
        kind = stream_classes.kind_of(self)
        return online_response.class_response(self._current(), self.resolve(), kind, self._classes)

    def _rule(self) -> Response:
        kind = stream_classes.kind_of(self)
        return online_response.class_rule(self._current(), self.resolve(), kind, self._classes)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedHDPRegressor(  # type: ignore[override, misc]
    OnlineMargin, Regressor, GrowingTopics, Streaming, Topics,
    GrowingMarginParameters, OnlineMarginParameters, Estimator,
):  # fmt: skip
    """Max-margin topic model for numbers from a stream that learns the number of its topics.

    Parameters
    ----------
    regressor : {"gibbs", "averaging"}
        The posterior of the weights, as ``classifier`` of `OnlineMedHDPClassifier`.
    n_topics : int or None
        Number of topics at the start. Default: 10.
    alpha, gamma : float or None
        As in `OnlineMedHDPClassifier`. Default: 5 and 1, for both posteriors.
    max_topics, min_tokens, weight_level
        As in `OnlineMedHDPClassifier`.
    refit : bool or None
        Whether predictions use weights of a second stage, as in `OnlineMedLDARegressor`. Default: True.
    cost, epsilon, variance, weight_floor, prediction, token_order, batch_size, beta, tf, idf, n_passes
        As in `OnlineMedLDARegressor`.
    n_rounds, n_sweeps, burn_in, ghost_factor, decay
        As in `OnlineMedHDPClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `OnlineMedHDPClassifier`.

    Examples
    --------
    >>> from bayou import OnlineMedHDPRegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = OnlineMedHDPRegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    regressor: str = param("gibbs", choices=POSTERIORS)
    epsilon: float | None = param(None, ge=0.0)

    algorithm: ClassVar[Stream] = _ALGORITHM
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, check_on_load(online_state.check_arrays))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; arguments as in `OnlineMedLDARegressor.fit`."""
        online_margin.fit_targets(self, X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents, in the order given; X, y and sample_weight as in `fit`."""
        online_margin.stream_targets(self, X, y, sample_weight)
        return self

    def resolve(self) -> Settings:
        """The parameters of one run."""
        defaults = online_settings.select_defaults(_NUMBERS, self.regressor, self.weight_floor)
        defaults = defaults._replace(n_topics=min(10, self.max_topics))
        refit = online_settings.resolve_refit(self, True)
        task = OnlineTask("regressor", self.regressor, INSENSITIVE, self.epsilon, refit)
        growth = online_settings.resolve_growth(self, defaults)
        begun = len(self.state_.topic) if hasattr(self, "state_") else None
        return online_settings.resolve(self, task, defaults, begun)._replace(growth=growth)

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, and the errors of predictions before documents were learned."""
        with Workers(1) as workers:
            return online_response.target_response(self._current(), self.resolve(), workers.each)
