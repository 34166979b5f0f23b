"""Max-margin LDA on a stream: online Bayesian passive-aggressive learning of topics and weights.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c loss(y_di, f_di))

theta is integrated out. The posterior is q(phi) q(w) = prod_k Dir(Delta_k) prod_i N(mu_i, S_i). The topics
of a mini-batch are sampled given its words and labels, and its statistics are added to the posterior.
Documents are not kept: memory does not grow with the stream. Two posteriors of the weights:

``gibbs``      the expected loss: precisions grow, and steps become smaller by themselves
``averaging``  the loss of the mean: only documents inside the margin move the weights

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from bayou.api import online_margin, stream_classes
from bayou.api.classifier import Classifier
from bayou.api.estimator import Estimator, Saved
from bayou.api.online_margin import POSTERIORS, OnlineMargin, OnlineMarginParameters
from bayou.api.params import param
from bayou.api.stream_classes import CLASSES, check_on_load
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topics import Topics
from bayou.data.checks import one_of
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.margin import (
    one_vs_all,
    online,
    online_response,
    online_settings,
    online_state,
    rounds,
)
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import CLASSIFICATION_LOSSES, loss_by_name
from bayou.inference.margin.online_settings import OnlineDefaults, OnlineTask
from bayou.inference.margin.online_state import OnlineMarginSettings as Settings
from bayou.inference.margin.online_state import OnlineMarginState as State
from bayou.inference.margin.online_weights import OnlineRun
from bayou.results.response import Response

_DEFAULTS = {
    "gibbs": OnlineDefaults(0.5, 1.0, 164.0, 20.0, batch_size=64, n_rounds=1, n_sweeps=2),
    "logistic": OnlineDefaults(0.5, 1000.0, 1.0, 3e-3, batch_size=64, n_rounds=1, n_sweeps=2),
    "floor": OnlineDefaults(0.5, 1.0, 164.0, 1.0, batch_size=64, n_rounds=1, n_sweeps=1),
    "averaging": OnlineDefaults(0.16, 500.0, 16.0, 1e-3, batch_size=64, n_rounds=2, n_sweeps=1),
}
_ALPHA_OF_LABELS = 0.2  # unless "averaging": a document has few words for each of its labels
_POSITIVE = 3.0  # factor on positive labels with "averaging" and a second stage; 8 is too large


def update(state: State, examples: Examples, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch, [Shi17] Algorithm 1 ("averaging") or 2 ("gibbs"); equation numbers are theirs.

    q_{t+1} = argmin KL(q || q_t) - E ln p(words, z) + 2c sum_d loss_d(q), eq. 17, with q = q(z, lambda)
    q(phi) q(w).
    """
    state = online.fade(state, p.decay**examples.n_docs, p, each)  # q_t^r q_0^(1 - r) replaces q_t
    state, batch = online.read_labels(state, examples, p, seed)
    run = OnlineRun(batch, p, seed, each)
    state = online.score_batch(state, examples, run)  # as new documents; the second stage learns
    state, counts = one_vs_all.sample(sample, state, run) if p.separate else sample(state, run)
    return online.add_counts(state, batch, counts)  # q(phi_k) = Dir(Delta_k + counts_k), eq. 19


def sample(state: State, run: OnlineRun) -> tuple[State, F64]:
    """q(w) after the rounds over a mini-batch, and the counts of its tokens."""
    p, chain = run.p, rounds.begin(state, run)
    for n in range(p.n_rounds):
        chain = rounds.start_round(chain, n)  # E[ln phi] and q(w) of the last round, lambda = 1
        for j in range(p.n_sweeps):
            # z | lambda: (C_dk + alpha_k) exp(E ln phi_kv) tilt_k, eq. 25 or 29
            chain = rounds.draw_topics(chain, j)
            chain = rounds.add_sweep(chain, j)  # counts and zbar after the burn-in
            chain = rounds.draw_lambda(
                chain, j
            )  # 1 / lambda ~ IG(1 / (c sqrt(E gap^2)), 1), eq. 30
        chain = rounds.update_weights(chain)  # the dual, eq. 21 and 22; or N(P^-1 b, P^-1), eq. 28
    return rounds.posterior(chain)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDAClassifier(  # type: ignore[override]
    OnlineMargin, Classifier, Streaming, Topics, OnlineMarginParameters, Estimator
):
    """Max-margin topic model for classes, or several labels per document, that learns from a stream.

    Parameters
    ----------
    classifier : {"gibbs", "averaging"} or None
        The posterior of the weights, max-margin both. "gibbs" has the expected loss and keeps a precision
        matrix per task, "averaging" the loss of the mean and no covariance. Default: "gibbs" unless tasks x
        topics^2 is over a million at the first document. Two defaults below are those of "gibbs" and of
        "averaging".
    n_topics : int or None
        Number of topics [K]. Default: 20 for two classes. Otherwise twice the number of classes, or the
        number of labels, from 40 to 400, as known at the first document.
    alpha : float, array of one number per topic, or None
        Prior of a document's topics. Default: 0.5 (0.2 for several labels per document) or 0.16. Few sweeps
        need a large one, because documents would keep their first topics.
    beta : float
        Prior of a topic's terms. Below 0.1, a topic almost never gets a term that it does not have yet.
    loss : {"hinge", "logistic"}
        The loss of a score f of a label y = +1 or -1: 2 (margin - y f)_+, or ln(1 + exp(-y f)) [Zhu14], which
        has "gibbs" only and is not a max-margin model.
    cost : float or None
        Weight of the loss against the words [c]. Default: 1 or 500; 1000 of the logistic loss.
    margin : float or None
        Score from which a document has no hinge loss. Default: 164 or 16.
    variance : float or None
        Prior variance of a weight [sigma^2]. Default: 20 or 0.001. With shared topics and "gibbs", cost x
        variance / margin must not be small: at the published 1 / 164, weights freeze before topics settle.
        With "one-vs-all" and "gibbs" the default is 1, with the logistic loss 0.003.
    positive_cost : float or None
        Factor on the cost of labels that a document has. Default: 1. For several labels per document, the
        default is 3 with "averaging" and a second stage. With "gibbs" it is the ratio of documents without
        the label to documents with it, from 1 to 8.
    multi_class : {"shared", "one-vs-all"}
        Whether all tasks share `n_topics` topics, or each task has `n_topics` topics of its own, as the
        published experiments have. "one-vs-all" takes as many times as long.
    weight_floor : float, "auto" or None
        Lower bound on b = cost x distance to the margin, for "gibbs". A document has weight 1 / b in the
        update of the weights. None is the max-margin posterior. A floor departs from it. From four times cost
        x margin on, all documents weigh the same and all tasks share one precision matrix: weights are ridge
        regressions, not max-margin. "auto" is 6.1 x cost x margin. With a floor, the default of `variance` is
        1, and that of `n_sweeps` is 1.
    refit : bool or None
        Whether predictions use weights of a second stage: logistic regressions along the stream on the topics
        of each document by its words alone, before it is learned. Several labels are then assigned above the
        threshold with the best micro-F1 so far, and probabilities need no further calibration. Default: only
        for several labels per document.
    prediction : {"mean", "sampled"}
        "mean": average topics by CVB0 under the mean topics, and mean weights. "sampled": as published, one
        draw of the topics, average topics of ten sweeps of Gibbs sampling after ten others, and with "gibbs"
        one draw of the weights. Draws are keyed by the seed and a document's words: the same call gives the
        same result. `transform` and `explain` use means.
    token_order, tf : {"random", "term"}, {"log", "none", "binary"}
        Order in which the tokens of a document are drawn, and damping of counts.
    idf : bool
        Whether terms that are rare in the documents so far weigh more in a document's average topics.
    batch_size : int or None
        Documents in a mini-batch. Default: 64. The size of the corpus, with `n_rounds` of about 30 and
        "averaging", is batch MedLDA by collapsed sampling.
    n_passes : int
        Passes of `fit`; `partial_fit` makes one. From the third pass on, documents are overcounted.
    n_rounds, n_sweeps, burn_in : int
        Rounds over a mini-batch, sweeps per round, and first sweeps that are discarded. Default: 1 and 2, or
        2 and 1. "averaging" needs two rounds: in the first, labels do not reach the topics. "gibbs" needs its
        first sweep, in which labels are strongest: leave burn_in at 0.
    ghost_factor : float
        Number of copies that each document counts as.
    decay : float
        Share of a document that is left after each further document, for streams that drift: the model holds
        about the last 1 / (1 - decay) documents. 1 keeps everything.
    max_time : float or None
        Seconds after which `fit` starts no further block of about a thousand documents.
    random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    state_ : State
        Everything the next mini-batch needs; saved with the model.
    weights_ : float64 array (topics, tasks)
        Binary: one column; positive weights favour ``classes_[1]``.

    Examples
    --------
    >>> from bayou import OnlineMedLDAClassifier
    >>> from bayou.data.synthetic import sample_med_lda
    >>> corpus, truth = sample_med_lda(300, n_topics=4, n_terms=60, n_classes=2, seed=1)
    >>> model = OnlineMedLDAClassifier(n_topics=4, random_state=0)
    >>> for start in range(0, 300, 100):
    ...     model = model.partial_fit(corpus[start : start + 100])
    >>> model.score(corpus) > 0.7
    True
    """

    classifier: str | None = param(None, choices=POSTERIORS)
    loss: str = param("hinge", choices=CLASSIFICATION_LOSSES)
    margin: float | None = param(None, gt=0.0)
    positive_cost: float | None = param(None, gt=0.0)
    multi_class: str = param("shared", choices=("shared", "one-vs-all"))

    algorithm: ClassVar[Stream] = Stream(
        State, Examples, update, move_terms=online_state.move_terms, later=online_margin.later_passes
    )  # fmt: skip
    saved: ClassVar[tuple[Saved, ...]] = (STREAM, CLASSES, check_on_load(online_state.check_arrays))

    @classmethod
    def published(cls, classifier: str = "averaging", **settings: Any) -> Self:
        """The settings of [Shi17] for classes; ``settings`` are exceptions."""
        one_of("classifier", classifier, POSTERIORS)
        n_topics = int(settings.get("n_topics", 40))
        plain: dict[str, Any] = {
            "classifier": classifier, "n_topics": n_topics, "alpha": 1.0 / n_topics, "beta": 0.45,
            "tf": "none", "idf": False, "positive_cost": 1.0, "n_passes": 1, "weight_floor": None,
            "refit": False, "prediction": "sampled", "token_order": "term",
            "multi_class": "one-vs-all",
        }  # fmt: skip
        own = {
            "averaging": {"variance": 1e-3, "batch_size": 1, "n_rounds": 2, "n_sweeps": 3},
            "gibbs": {"variance": 1.0, "batch_size": 512, "n_rounds": 1, "n_sweeps": 2},
        }
        return cls(**{**plain, **own[classifier], **settings})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        Everything learned before is discarded; `partial_fit` continues.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : vector, label lists, indicator matrix, or None
            None takes the labels of the corpus. None or NaN for a document: its labels are not known, and
            its words still count. See `bayou.data.supervision.read_labels`.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count once. A document of weight 0 is left out.
        """
        online_margin.fit_labels(self, X, y, sample_weight)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more documents, one or many, in the order given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call decides whether documents have one class or several labels.
        classes : array-like, optional
            All classes, at the first call. Default: the classes in ``y``. Later, classes to add: a class
            without documents does not change the topics, so the model is as if it had been given at the
            first call (unless there were two classes, which are one task).
        """
        online_margin.stream_labels(self, X, y, classes, sample_weight)
        return self

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed."""
        super().check_params()
        self.resolve()

    def resolve(self) -> Settings:
        """The parameters of one run."""
        several = bool(getattr(self, "multi_label_", False))
        n_topics = self._default_topics()
        posterior = online_settings.choose_posterior(
            self, len(getattr(self, "_classes", ())), self.n_topics or n_topics
        )
        defaults = online_settings.select_defaults(
            _DEFAULTS, posterior, self.weight_floor, logistic=self.loss == "logistic"
        )
        defaults = defaults._replace(n_topics=n_topics)
        if several and posterior == "gibbs":
            defaults = defaults._replace(alpha=_ALPHA_OF_LABELS)
        separate = self.multi_class == "one-vs-all"
        if separate and posterior == "gibbs":
            defaults = defaults._replace(variance=1.0)
        refit = online_settings.resolve_refit(self, several and not separate)
        if refit and separate:
            raise ValueError("refit needs topics that all tasks share; leave it at None")
        task = OnlineTask("classifier", posterior, loss_by_name(self.loss), self.margin, refit)
        begun = self.n_topics is None and hasattr(self, "state_")
        size = self.state_.mean.shape[1] if begun else None
        p = online_settings.resolve(self, task, defaults, size)._replace(separate=separate)
        if p.separate and p.shared:
            raise ValueError("weight_floor of ridge regressions needs topics that all tasks share")
        factor = online_settings.positive_factor(
            self.positive_cost, p, multi_label=several, refit_factor=_POSITIVE
        )
        return p._replace(positive=factor)

    def _default_topics(self) -> int:
        alone = self.multi_class == "one-vs-all"
        if alone or not hasattr(self, "_classes") or stream_classes.kind_of(self) == "binary":
            return 20
        return int(np.clip((1 if self.multi_label_ else 2) * len(self._classes), 40, 400))

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now, with probabilities fitted to documents scored before they were learned."""
        kind = stream_classes.kind_of(self)
        return online_response.class_response(self._current(), self.resolve(), kind, self._classes)

    def _rule(self) -> Response:
        kind = stream_classes.kind_of(self)
        return online_response.class_rule(self._current(), self.resolve(), kind, self._classes)
