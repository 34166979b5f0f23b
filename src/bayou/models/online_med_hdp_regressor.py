"""Max-margin topics for numbers on a stream, their number learned.

As `online_med_hdp`, which explains the prior of topics, with the loss of `online_med_lda_regressor`.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from bayou.api import online_margin
from bayou.api.estimator import Estimator, Saved
from bayou.api.online_margin import POSTERIORS, OnlineMargin, OnlineMarginParameters
from bayou.api.params import param
from bayou.api.regressor import Regressor
from bayou.api.stream_classes import check_on_load
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topic_course import GrowingTopics
from bayou.api.topics import Topics
from bayou.inference.lda.arrays import Each
from bayou.inference.margin import online, online_response, online_settings, online_state, rounds
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import INSENSITIVE
from bayou.inference.margin.online_settings import OnlineDefaults, OnlineTask
from bayou.inference.margin.online_state import OnlineMarginSettings as Settings
from bayou.inference.margin.online_state import OnlineMarginState as State
from bayou.inference.margin.online_weights import OnlineRun
from bayou.inference.margin.stream_growth import drop_small_topics
from bayou.results.response import Response
from bayou.run.shards import Workers

_DEFAULTS = {
    "gibbs": OnlineDefaults(5.0, 164.0, 1e-3, 4e-3, batch_size=64, n_rounds=1, n_sweeps=2),
    "floor": OnlineDefaults(5.0, 164.0, 1e-3, 4e-5, batch_size=64, n_rounds=1, n_sweeps=2),
    "averaging": OnlineDefaults(5.0, 1000.0, 0.5, 4e-5, batch_size=8, n_rounds=2, n_sweeps=2),
}


def update(state: State, examples: Examples, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch, [Shi17] section 6.1 with another loss; equation numbers are theirs.

    q_{t+1} = argmin KL(q || q_t) - E ln p(words, z) + 2c sum_d loss_d(q), eq. 31 and 33, with q = q(z,
    tables, sticks, lambda) q(phi) q(w).
    """
    state = online.fade(state, p.decay**examples.n_docs, p, each)  # q_t^r q_0^(1 - r) replaces q_t
    state, batch = online.read_targets(state, examples, p, seed)
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
            # two lambda, one per side of the tube, as eq. 30
            chain = rounds.draw_lambda(chain, j)
        chain = rounds.update_weights(chain)  # the dual, as eq. 22; or N(P^-1 b, P^-1), as eq. 28
    state, counts = rounds.posterior(chain)
    state, counts = drop_small_topics(state, counts, batch.n_docs, p)
    return online.add_counts(state, batch, counts)  # q(phi_k) = Dir(Delta_k + counts_k), eq. 19


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedHDPRegressor(  # type: ignore[override]
    OnlineMargin, Regressor, GrowingTopics, Streaming, Topics, OnlineMarginParameters, Estimator
):
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

    n_topics: int | None = param(None, ge=1)
    alpha: float | None = param(None, gt=0.0)
    gamma: float | None = param(None, ge=1e-6, le=1e6)
    max_topics: int = param(400, ge=1)
    min_tokens: float = param(20.0, ge=0.0)
    weight_level: bool = True
    regressor: str = param("gibbs", choices=POSTERIORS)
    epsilon: float | None = param(None, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(
        State,
        Examples,
        update,
        move_terms=online_state.move_terms,
        later=online_margin.later_passes,
    )
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, check_on_load(online_state.check_arrays))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; arguments as in `OnlineMedLDARegressor.fit`."""
        online_margin.fit_targets(self, X, y, sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from more documents, in the order given; X, y and sample_weight as in `fit`."""
        online_margin.stream_targets(self, X, y, sample_weight)
        return self

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed."""
        super().check_params()
        self.resolve()

    def resolve(self) -> Settings:
        """The parameters of one run."""
        defaults = online_settings.select_defaults(_DEFAULTS, self.regressor, self.weight_floor)
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
