"""Max-margin LDA on a stream: online Bayesian passive-aggressive learning of topics and weights.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c loss(y_di, f_di))

What is known is q(phi) q(w) = prod_k Dir(Delta_k) prod_i N(mu_i, S_i). A mini-batch is sampled under it,
labels and words together, and what it teaches is added (`margin.online`). Documents are then forgotten:
memory does not grow with the stream. Two posteriors of the weights:

``gibbs``      the expected loss: precisions grow, steps become smaller by themselves
``averaging``  the loss of the mean: passive where a document is right, aggressive where not

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from bayou.api.online_classifier import OnlineClassifier
from bayou.data.checks import one_of

_CLASSES: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 0.5, "cost": 1.0, "margin": 164.0, "variance": 1.0, "batch_size": 64,
        "n_rounds": 1, "n_sweeps": 1,
    },
    "averaging": {
        "alpha": 0.16, "cost": 500.0, "margin": 16.0, "variance": 1e-3, "batch_size": 64,
        "n_rounds": 2, "n_sweeps": 1,
    },
}  # fmt: skip
_ALPHA_OF_LABELS = 0.2  # of "gibbs" for several labels a document, which has few words for each


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDAClassifier(OnlineClassifier):
    """Max-margin topic model for classes, or several labels a document, that learns from a stream.

    Parameters
    ----------
    classifier : {"gibbs", "averaging"}
        The posterior of the weights. "gibbs" is faster, "averaging" more accurate on several labels. What
        is None below depends on it.
    n_topics : int or None
        Number of topics [K]. None: 20 for two classes, else the larger of 40 and twice the classes (once the
        labels), 400 at most; of the classes known at the first document.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 0.5 (0.2 for several labels a document) or 0.16. Few sweeps
        need a large one: documents would stay in the topics they began in.
    beta : float
        Prior of a topic's terms. Below 0.1 a term that a topic has not seen yet is all but shut out of it.
    cost : float or None
        Weight of the loss against the words [c]; None is 1 or 500.
    margin : float or None
        How far on the right side a score must be; None is 164 or 16.
    variance : float or None
        Variance of a weight before the first document [sigma^2]; None is 1 or 0.001.
    positive_cost : float or None
        Factor on the cost of labels that a document has. None is 1, but for several labels a document: 3
        with "averaging" and a second stage; under the floor of "gibbs", where every document weighs the
        same, by how much the documents without the label outnumber those with it so far, from 1 to 8, and
        a factor on how far the score should be.
    weight_floor : float, "auto" or None
        Least b = cost x distance to the margin at which documents are weighed (1 / b) in the weights of
        "gibbs". None is the posterior as it is stated, a precision matrix for each task; documents that
        happen to meet the margin then weigh so much that the weights freeze before the topics have settled.
        "auto" is 6.1 x cost x margin, 1000 by default. From four times cost x margin on every document weighs
        the same, and one precision matrix serves all tasks: weights are ridge regressions.
    refit : bool or None
        Whether predictions are by weights of a second stage, logistic regressions along the stream on topics
        that no label has shaped: those of each document by its words alone, before it is learned. Several
        labels are then given above the threshold that would have been best so far (micro-F1), and
        probabilities need no further calibration. None: for several labels a document.
    tf : {"log", "none", "binary"}
        How counts are damped before anything else.
    idf : bool
        Whether rare terms, by the documents so far, weigh more in a document's average topics.
    batch_size : int or None
        Documents that are learned together; None is 64. As many as the corpus has, with `n_rounds` of
        30 or so and "averaging", is batch MedLDA by collapsed sampling.
    n_passes : int
        Passes of `fit`; `partial_fit` makes one. From the third on documents are overcounted.
    n_rounds, n_sweeps, burn_in : int
        Rounds over a mini-batch, sweeps of each, and those of them at first that do not count. None is 1 and
        1, or 2 and 1. "averaging" needs two rounds: in the first, labels do not reach the topics. "gibbs"
        needs its first sweep, where labels are strongest: leave burn_in at 0.
    ghost_factor : float
        How often each document counts, as if it came so many times.
    decay : float
        What is left of a document when the next one has come, for streams that drift: the model knows about
        the last 1 / (1 - decay) documents. 1 forgets nothing.
    max_time : float or None
        Seconds after which `fit` begins no further thousand documents.
    random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    classes_ : array
    state_ : State
        Everything the next mini-batch needs; saved with the model, which goes on as if never away.
    weights_ : float64 array (topics, tasks)
        Two classes are one task, which speaks for the second.

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

    @classmethod
    def published(cls, classifier: str = "averaging", **settings: Any) -> Self:
        """The settings of [Shi17], without what was found to help since; ``settings`` are exceptions."""
        one_of("classifier", classifier, ("averaging", "gibbs"))
        n_topics = int(settings.get("n_topics", 40))
        plain: dict[str, Any] = {
            "classifier": classifier, "n_topics": n_topics, "alpha": 1.0 / n_topics, "beta": 0.45,
            "tf": "none", "idf": False, "positive_cost": 1.0, "n_passes": 1, "weight_floor": None,
            "refit": False,
        }  # fmt: skip
        own = {
            "averaging": {"batch_size": 1, "n_rounds": 2, "n_sweeps": 3},
            "gibbs": {"batch_size": 512, "n_rounds": 1, "n_sweeps": 2},
        }
        return cls(**{**plain, **own[classifier], **settings})

    def _defaults(self) -> dict[str, Any]:
        found = _CLASSES[self.classifier]
        if self.classifier == "gibbs" and getattr(self, "multi_label_", False):
            return found | {"alpha": _ALPHA_OF_LABELS}
        return found

    def _default_topics(self) -> int:
        if self._kind() == "binary":
            return 20
        return int(np.clip((1 if self.multi_label_ else 2) * len(self._classes), 40, 400))
