"""Max-margin LDA for numbers on a stream: topics and regression weights, learned together.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c (|y_di - f_di| - epsilon)_+)

As `online_med_lda`, which explains the two posteriors of the weights, with a tube in place of the margin.

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
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
from bayou.api.topics import Topics
from bayou.inference.lda.arrays import Each
from bayou.inference.margin import online, online_response, online_settings, online_state, rounds
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import INSENSITIVE
from bayou.inference.margin.online_settings import OnlineDefaults, OnlineTask
from bayou.inference.margin.online_state import OnlineMarginSettings as Settings
from bayou.inference.margin.online_state import OnlineMarginState as State
from bayou.inference.margin.online_weights import OnlineRun
from bayou.results.response import Response
from bayou.run.shards import Workers

_DEFAULTS = {
    "gibbs": OnlineDefaults(0.5, 164.0, 1e-3, 4e-3, batch_size=64, n_rounds=1, n_sweeps=2),
    "floor": OnlineDefaults(0.5, 164.0, 1e-3, 4e-5, batch_size=64, n_rounds=1, n_sweeps=1),
    "averaging": OnlineDefaults(0.16, 1000.0, 0.5, 4e-5, batch_size=8, n_rounds=2, n_sweeps=2),
}


def update(state: State, examples: Examples, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch, [Shi17] Algorithm 1 or 2 with another loss; equation numbers are theirs.

    q_{t+1} = argmin KL(q || q_t) - E ln p(words, z) + 2c sum_d loss_d(q), eq. 17, with q = q(z, lambda)
    q(phi) q(w).
    """
    state = online.fade(state, p.decay**examples.n_docs, p, each)  # q_t^r q_0^(1 - r) replaces q_t
    state, batch = online.read_targets(state, examples, p, seed)
    run = OnlineRun(batch, p, seed, each)
    state = online.score_batch(state, examples, run)  # as new documents; the second stage learns
    chain = rounds.begin(state, run)
    for n in range(p.n_rounds):
        chain = rounds.start_round(chain, n)  # E[ln phi] and q(w) of the last round, lambda = 1
        for j in range(p.n_sweeps):
            # z | lambda: (C_dk + alpha_k) exp(E ln phi_kv) tilt_k, as eq. 25 or 29
            chain = rounds.draw_topics(chain, j)
            chain = rounds.add_sweep(chain, j)  # counts and zbar after the burn-in
            chain = rounds.draw_lambda(chain, j)  # two lambda, one per side of the tube, as eq. 30
        chain = rounds.update_weights(chain)  # the dual, as eq. 22; or N(P^-1 b, P^-1), as eq. 28
    state, counts = rounds.posterior(chain)
    return online.add_counts(state, batch, counts)  # q(phi_k) = Dir(Delta_k + counts_k), eq. 19


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDARegressor(  # type: ignore[override]
    OnlineMargin, Regressor, Streaming, Topics, OnlineMarginParameters, Estimator
):
    """Max-margin topic model for numbers, one or several per document, that learns from a stream.

    Targets are scaled to mean 0 and deviation 1 by the targets so far, so that ``cost``, ``epsilon`` and
    ``variance`` mean the same for all of them. Targets change the topics of the documents that weights are
    learned from, but not those of a new document. So predictions use weights of a second stage, learned on
    topics from words alone. Without it (``refit=False``), predictions are corrected by a line fitted to the
    predictions of the latest documents before they were learned.

    Parameters
    ----------
    regressor : {"gibbs", "averaging"}
        The posterior of the weights, as ``classifier`` of `OnlineMedLDAClassifier`.
    n_topics : int or None
        Number of topics [K]. Default: 10.
    alpha : float, array of one number per topic, or None
        Prior of a document's topics. Default: 0.5 or 0.16.
    cost : float or None
        Weight of the loss against the words [c]. Default: 164 or 1000.
    epsilon : float or None
        Half-width of the tube in which a prediction has no loss, in deviations of the target. Default: 0.001
        or 0.5. "averaging" converges only with a tube.
    variance : float or None
        Prior variance of a weight [sigma^2]. Default: 0.004 or 0.00004.
    weight_floor : float, "auto" or None
        As in `OnlineMedLDAClassifier`, with "auto" = 6.1 x cost. There is one precision matrix per target.
        With a floor, the default of `variance` is 0.00004, and that of `n_sweeps` is 1.
    batch_size : int or None
        Documents in a mini-batch. Default: 64 or 8.
    refit : bool or None
        Whether predictions use weights of a second stage: a ridge regression along the stream on the topics
        of each document by its words alone, before it is learned. Default: True.
    prediction : {"mean", "sampled"}
        As in `OnlineMedLDAClassifier`. Default of `refit` with "sampled": False.
    token_order, beta, tf, idf, n_passes, n_rounds, n_sweeps, burn_in, ghost_factor, decay
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

    regressor: str = param("gibbs", choices=POSTERIORS)
    epsilon: float | None = param(None, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(
        State, Examples, update, move_terms=online_state.move_terms, later=online_margin.later_passes
    )  # fmt: skip
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, check_on_load(online_state.check_arrays))

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        Everything learned before is discarded; `partial_fit` continues.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : array (documents,) or (documents, targets), or None for the targets of the corpus
            NaN where a target is not known.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count once. A document of weight 0 is left out.
        """
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
        refit = online_settings.resolve_refit(self, True)
        task = OnlineTask("regressor", self.regressor, INSENSITIVE, self.epsilon, refit)
        begun = self.n_topics is None and hasattr(self, "state_")
        n_topics = len(self.state_.topic) if begun else None
        defaults = online_settings.select_defaults(_DEFAULTS, self.regressor, self.weight_floor)
        return online_settings.resolve(self, task, defaults, n_topics)

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, and the errors of predictions before documents were learned."""
        with Workers(1) as workers:
            return online_response.target_response(self._current(), self.resolve(), workers.each)
