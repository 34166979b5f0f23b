"""Max-margin topics on a stream, as many as it brings: online Bayesian passive-aggressive learning of an HDP.

    pi ~ GEM(gamma)   phi_k ~ Dir(beta)   w_ik ~ N(m_i, sigma^2)
    theta_d ~ Dir(alpha pi)   z_dn ~ theta_d   w_dn ~ phi_z
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c loss(y_di, f_di))

As `online_med_lda`, with the prior alpha pi_k in the place of alpha, and pi not known. What is known of pi
is Dir(u_1, ..., u_K, gamma), u_k the tables of topic k so far. A mini-batch is sampled with live counts on
top of what is known of the topics; a token may open a topic, which begins with the weights of an average one
and is kept with what the batch taught it. [Shi17] begin newborn sticks at Beta(1, .), which counts a table
too many, add tables of a round to those of the round before, and leave out what labels say of a topic that is
not there yet; here all three are as the posterior has them (`margin.growth`, `margin.stream_growth`).

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from bayou.api.growing_estimator import GrowingOnline
from bayou.api.online_classifier import OnlineClassifier
from bayou.api.online_regressor import OnlineRegressor
from bayou.data.checks import one_of

_CLASSES: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 5.0, "gamma": 1.0, "cost": 1.0, "margin": 164.0, "variance": 1.0, "batch_size": 16,
        "n_rounds": 1, "n_sweeps": 2,
    },
    "averaging": {
        "alpha": 5.0, "gamma": 10.0, "cost": 500.0, "margin": 16.0, "variance": 1e-3, "batch_size": 32,
        "n_rounds": 2, "n_sweeps": 2,
    },
}  # fmt: skip
_LABELS: dict[str, dict[str, Any]] = {  # what is other for several labels a document
    "gibbs": {"alpha": 10.0, "batch_size": 64},
    "averaging": {"alpha": 10.0, "positive_cost": 1.0},
}
_NUMBERS: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 5.0, "gamma": 1.0, "cost": 164.0, "epsilon": 1e-3, "variance": 4e-5, "batch_size": 64,
        "n_rounds": 1, "n_sweeps": 2,
    },
    "averaging": {
        "alpha": 5.0, "gamma": 1.0, "cost": 1000.0, "epsilon": 0.5, "variance": 4e-5, "batch_size": 8,
        "n_rounds": 2, "n_sweeps": 2,
    },
}  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedHDPClassifier(GrowingOnline, OnlineClassifier):  # type: ignore[override]
    """Max-margin topic model for classes or labels that finds the number of its topics along a stream.

    Parameters
    ----------
    classifier : {"gibbs", "averaging"}
        The posterior of the weights. What is None below depends on it.
    n_topics : int or None
        Topics to begin with; `n_topics_` is how many there are. None: 20, or for several labels a document
        as many as the labels known at the first document if those are more; at most `max_topics`.
    alpha : float or None
        Concentration of a document's topics around the sticks, all topics together; None is 5, and 10 for
        several labels a document.
    gamma : float or None
        How readily topics are born; None is 1, or 10 with "averaging".
    max_topics : int
        Topics at a time, at most.
    min_tokens : float
        Topics with fewer tokens are given up; they are looked at every 1,024 documents.
    batch_size : int or None
        Documents that are learned together; None is 16 (64 for several labels a document) or 32.
    refit : bool or None
        Whether predictions are by weights of a second stage, as in `OnlineMedLDAClassifier`. None: for
        several labels a document. A topic that is born begins with the score of an average document; what
        documents had of one that is given up goes to the others.
    positive_cost : float or None
        As in `OnlineMedLDAClassifier`, but None is always 1 with "averaging".
    beta, cost, margin, variance, weight_floor, tf, idf, n_passes, n_rounds
        As in `OnlineMedLDAClassifier`. In the first mini-batch all topics speak alike.
    n_sweeps : int or None
        Sweeps of each round; None is 2. A topic that is born in the last sweep stays unless it is small.
    burn_in, ghost_factor, decay
        As in `OnlineMedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Tokens of a mini-batch are drawn one after the other; threads share the rest.

    Attributes
    ----------
    n_topics_ : int
    topic_ids_ : int64 array (topics,)
        A number for each topic that is given at birth and never again.
    classes_ : array
    state_ : State
        Everything the next mini-batch needs; saved with the model, which goes on as if never away.
    weights_ : float64 array (topics, tasks)
        Two classes are one task, which speaks for the second.

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

    @classmethod
    def published(cls, classifier: str = "averaging", **settings: Any) -> Self:
        """The settings of [Shi17], without what was found to help since; ``settings`` are exceptions."""
        one_of("classifier", classifier, ("averaging", "gibbs"))
        plain: dict[str, Any] = {
            "classifier": classifier, "n_topics": 20, "alpha": 5.0, "gamma": 1.0, "beta": 0.5,
            "min_tokens": 1.0, "tf": "none", "idf": False, "positive_cost": 1.0, "n_passes": 1,
            "weight_floor": None, "refit": False,
        }  # fmt: skip
        own = {
            "averaging": {"batch_size": 1, "n_rounds": 2, "n_sweeps": 3},
            "gibbs": {"batch_size": 512, "n_rounds": 1, "n_sweeps": 2},
        }
        return cls(**{**plain, **own[classifier], **settings})

    def _defaults(self) -> dict[str, Any]:
        found = _CLASSES[self.classifier]
        return found | _LABELS[self.classifier] if getattr(self, "multi_label_", False) else found

    def _default_topics(self) -> int:
        return max(len(self._classes), 20) if getattr(self, "multi_label_", False) else 20


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedHDPRegressor(GrowingOnline, OnlineRegressor):  # type: ignore[override]
    """Max-margin topic model for numbers that finds the number of its topics along a stream.

    Parameters
    ----------
    regressor : {"gibbs", "averaging"}
        The posterior of the weights, as ``classifier`` of `OnlineMedHDPClassifier`.
    n_topics : int or None
        Topics to begin with; None is 10.
    alpha, gamma : float or None
        As in `OnlineMedHDPClassifier`; None is 5 and 1, with "averaging" too.
    max_topics, min_tokens
        As in `OnlineMedHDPClassifier`.
    refit : bool or None
        Whether predictions are by weights of a second stage, as in `OnlineMedLDARegressor`; None is yes.
    cost, epsilon, variance, weight_floor, batch_size, beta, tf, idf, n_passes, n_rounds
        As in `OnlineMedLDARegressor`.
    n_sweeps, burn_in, ghost_factor, decay
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

    def _defaults(self) -> dict[str, Any]:
        return _NUMBERS[self.regressor]

    def _default_topics(self) -> int:
        return 10
