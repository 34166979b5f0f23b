"""Max-margin LDA: topics that labels have shaped.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   eta_i ~ N(0, s I)
    zbar_d = sum_n rho_n e_z,   f_di = eta_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta and phi are integrated out; weights eta, topics z and the variables that make the loss Gaussian are
drawn in turn (`margin.gibbs`). Tasks are the classes (one against the rest, topics shared by all), the
labels, or the targets. Samplers of the same posterior: Gibbs, O(K) a token [Zhu14], and
Metropolis-Hastings in O(1) steps [Zheng15]. After the chain the weights are fitted once more to
leave-one-out features (`inference.margin.refit`).

[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
[Zheng15] Zheng, Yu, Xing. Linear time samplers for supervised topic models using compositional proposals.
KDD 2015.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from bayou.api.margin_estimator import MarginClassifier, MarginEstimator, MarginRegressor
from bayou.data.checks import one_of, whole
from bayou.inference.lda.arrays import F32, Each
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.margin import chains, refit, scoring
from bayou.results.posterior import Posterior

SAMPLERS = ("auto", "gibbs", "light")


@dataclass(kw_only=True, eq=False, repr=False)
class _MedLDA(MarginEstimator, abstract=True):
    """What the classifier and the regressor share: fields, checks, and the chains."""

    n_topics: int | None = None
    alpha: float | ArrayLike | None = None
    sampler: str = "auto"
    exact: bool = False
    n_chains: int = 1
    warm_start: bool = False

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        whole("n_chains", p.n_chains, 1)
        one_of("sampler", p.sampler, SAMPLERS)
        if p.alpha is not None:
            size = p.n_topics if p.n_topics is not None else np.size(p.alpha)
            resolve_alpha(p.alpha, max(int(size), 1))
        return p

    def _state_kind(self) -> type[chains.MarginState]:
        return chains.MarginState

    def _start(self, data: chains.MarginData, p: SimpleNamespace, each: Each) -> chains.MarginState:
        return chains.init(data, each, self._begin(p) if p.warm_start else None)

    def _sweep(
        self, state: chains.MarginState, data: chains.MarginData, p: SimpleNamespace, each: Each
    ) -> chains.MarginState:
        return chains.sweep(state, data, p, each)

    def _read_off(
        self, state: chains.MarginState, data: chains.MarginData, p: SimpleNamespace, each: Each
    ) -> tuple[Posterior, refit.RefitEvidence]:
        self.sampler_ = "light" if data.chains[0].light else "gibbs"
        return chains.posterior(state, data, each), chains.evidence(state, data, p, each)

    def _begin(self, p: SimpleNamespace) -> list[F32] | None:
        """Topics of the fit before, where there was one on the same terms with as many topics."""
        if not self.__sklearn_is_fitted__():
            return None
        rows = [rows for rows, _ in scoring.chain_topics(self.posterior_, self.response_.n_members)]
        fits = rows[0].shape == (self.n_features_in_, p.n_topics) and len(rows) == p.n_members
        if not fits:
            raise ValueError(
                f"warm_start needs the terms, topics and chains of the fit before ({len(rows)} chains of "
                f"{rows[0].shape[1]} topics on {len(rows[0])} terms); set warm_start=False"
            )
        return rows


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDAClassifier(MarginClassifier, _MedLDA):
    """Max-margin topic model for classes, or for several labels a document.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]. None: 20 for two classes (and in each chain of one against all), else the larger
        of 40 and four times the classes (once the labels), 400 at most.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 20 / K.
    beta : float
        Prior of a topic's terms.
    loss : {"hinge", "logistic"}
        What a wrong side of the margin costs.
    cost : float
        Weight of the loss against the words [c]. Keep ``cost * margin`` at 16 or more: below, labels are too
        weak to break the symmetry of the topics.
    margin : float or None
        How far on the right side a score must be [l]; of the hinge loss alone. None: 164 for two classes and
        for one against all, else 16. ``cost``, ``margin`` and ``variance`` are not independent: (c, l, s) is
        the model (c l, 1, s / l**2).
    variance : float
        Prior variance of weights.
    positive_cost : float or None
        Factor on the cost of labels that a document has. None: 4 for several labels a document, else 1.
    multi_class : {"shared", "one-vs-all"}
        One chain whose topics serve all classes, or a chain with topics of its own for each.
    tf : {"log", "none", "binary"}
        How counts are damped before anything else.
    idf : bool
        Whether rare terms weigh more in a document's average topics.
    sampler : {"auto", "gibbs", "light"}
        All topics of every token looked at, or Metropolis-Hastings steps; "auto" takes the faster one.
    exact : bool
        Keep word counts live token after token, as the exact sampler has it, on one thread. Otherwise they
        are brought up to date sixteen times a sweep.
    n_sweeps, n_kept : int
        Sweeps in all, and the last of them that topics and weights are averaged over.
    n_chains : int
        Chains with other random numbers whose scores are averaged.
    refit : bool
        Fit the weights once more, to leave-one-out features of the training documents.
    word_residual : float
        Weight of words beside the topics [q]; 0 for none, 2 for the best accuracy.
    warm_start : bool
        Let `fit` begin at the topics of the fit before.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    weights_ : float64 array (topics, tasks)
        Two classes are one task, which speaks for the second.
    response_ : Response
        ``response_.draws`` are posterior draws of the weights, ``response_.share`` the topics' part of the
        margins.
    sampler_ : str
        The sampler that was used.

    Examples
    --------
    >>> from bayou import MedLDAClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = MedLDAClassifier(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.8
    True
    """

    multi_class: str = "shared"

    @classmethod
    def published(cls, source: str = "gibbs", **settings: Any) -> Self:
        """The settings of the papers, without what was found to help since.

        Parameters
        ----------
        source : {"gibbs", "light", "logistic"}
            [Zhu14] Gibbs MedLDA for several classes, [Zheng15] LightMedLDA, or its Gibbs sLDA.
        **settings
            Whatever should be otherwise.
        """
        one_of("source", source, ("gibbs", "light", "logistic"))
        plain = {"tf": "none", "idf": False, "refit": False, "n_kept": 1, "beta": 0.01}
        plain |= {"exact": True, "n_topics": 40, "positive_cost": 1.0, "sampler": "gibbs"}
        n_topics = int(settings.get("n_topics", 40))
        own: dict[str, dict[str, Any]] = {
            "gibbs": {"alpha": 1.0 / n_topics, "margin": 64.0, "n_sweeps": 40},
            "light": {
                "alpha": 6.4 / n_topics, "cost": 1.6, "margin": 64.0, "n_sweeps": 25, "sampler": "light",
            },
            "logistic": {
                "alpha": 5.6 / n_topics, "cost": 204.8, "loss": "logistic", "n_sweeps": 40,
            },
        }  # fmt: skip
        return cls(**{**plain, **own[source], **settings})

    def _settle(self, p: SimpleNamespace, kind: str, n_tasks: int) -> None:
        p.separate = p.multi_class == "one-vs-all" and n_tasks > 1
        alone = p.separate or kind == "binary"
        p.n_topics = p.n_topics or (20 if alone else _default_topics(kind, n_tasks))
        p.alpha = resolve_alpha(20.0 / p.n_topics if p.alpha is None else p.alpha, p.n_topics)
        p.n_members = n_tasks if p.separate else p.n_chains

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        one_of("multi_class", p.multi_class, ("shared", "one-vs-all"))
        if p.multi_class == "one-vs-all" and p.n_chains != 1:
            raise ValueError("one-vs-all has a chain for each class; leave n_chains at 1")
        return p


def _default_topics(kind: str, n_tasks: int) -> int:
    return int(np.clip(n_tasks if kind == "multi-label" else 4 * n_tasks, 40, 400))


@dataclass(kw_only=True, eq=False, repr=False)
class MedLDARegressor(MarginRegressor, _MedLDA):
    """Max-margin topic model for numbers, one or several a document.

    Targets are brought to mean 0 and deviation 1 for the chain, so that ``cost``, ``epsilon`` and
    ``variance`` mean the same for all of them.

    Parameters
    ----------
    n_topics : int or None
        Number of topics [K]; None is 10.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 1 / K.
    beta : float
        Prior of a topic's terms.
    cost : float
        Weight of the loss against the words [c].
    epsilon : float
        Half-width of the tube in which a prediction costs nothing, in deviations of the target.
    variance : float
        Prior variance of weights.
    tf, idf, sampler, exact, n_sweeps, n_kept, n_chains, refit, word_residual, warm_start
        As in `MedLDAClassifier`.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Examples
    --------
    >>> from bayou import MedLDARegressor
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=0, seed=1)
    >>> model = MedLDARegressor(n_topics=4, random_state=0).fit(corpus)
    >>> model.score(corpus) > 0.3
    True
    """

    def _settle(self, p: SimpleNamespace, kind: str, n_tasks: int) -> None:
        p.n_topics = p.n_topics or 10
        p.alpha = resolve_alpha(1.0 / p.n_topics if p.alpha is None else p.alpha, p.n_topics)
        p.separate, p.n_members = False, p.n_chains
