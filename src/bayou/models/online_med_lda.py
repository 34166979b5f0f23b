"""Max-margin LDA on a stream: online Bayesian passive-aggressive learning of topics and weights.

    phi_k ~ Dir(beta)   theta_d ~ Dir(alpha)   z_dn ~ theta_d   w_dn ~ phi_z   w_i ~ N(0, sigma^2 I)
    zbar_d = sum_n rho_n e_z,   f_di = w_i . zbar_d,   times exp(-2c loss(y_di, f_di))

What is known is q(phi) q(w) = prod_k Dir(Delta_k) prod_i N(mu_i, S_i). A mini-batch is sampled under it,
labels and words together, and what it teaches is added (`parts.online_margin`). Documents are then forgotten:
memory does not grow with the stream. Two posteriors of the weights:

``gibbs``      the expected loss: precisions grow, steps become smaller by themselves
``averaging``  the loss of the mean: passive where a document is right, aggressive where not

[Shi17] Shi, Zhu. Online Bayesian passive-aggressive learning. JMLR 18, 2017.
[Zhu14] Zhu, Chen, Perkins, Zhang. Gibbs max-margin topic models with data augmentation. JMLR 15, 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.supervision import growth, merged_classes, read_labels, read_targets, responses
from bayou.kernels.response import HINGE, INSENSITIVE
from bayou.online_supervised import OnlineSupervised
from bayou.parameters import number, one_of
from bayou.parts import online_state, online_stream
from bayou.parts.topics import F64
from bayou.response import Response
from bayou.supervised import TopicClassifier, TopicRegressor

_LARGEST_TARGET = 1e30  # squares of larger ones would not be finite

_CLASSES: dict[str, dict[str, Any]] = {
    "gibbs": {
        "alpha": 0.5, "cost": 1.0, "margin": 164.0, "variance": 1.0, "batch_size": 64,
        "n_rounds": 1, "n_sweeps": 1,
    },
    "averaging": {
        "alpha": 0.16, "cost": 500.0, "margin": 16.0, "variance": 1e-3, "batch_size": 32,
        "n_rounds": 2, "n_sweeps": 2,
    },
}  # fmt: skip
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
class OnlineMedLDAClassifier(TopicClassifier, OnlineSupervised):
    """Max-margin topic model for classes, or several labels a document, that learns from a stream.

    Parameters
    ----------
    classifier : {"gibbs", "averaging"}
        The posterior of the weights. "gibbs" is three times faster; "averaging" a little more accurate. What
        is None below depends on it.
    n_topics : int or None
        Number of topics [K]. None: 20 for two classes, else the larger of 40 and twice the classes (once the
        labels), 400 at most; of the classes known at the first document.
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is 0.5 or 0.16. Few sweeps need a large one: documents would stay
        in the topics they began in.
    beta : float
        Prior of a topic's terms. Below 0.1 a term that a topic has not seen yet is all but shut out of it.
    cost : float or None
        Weight of the loss against the words [c]; None is 1 or 500.
    margin : float or None
        How far on the right side a score must be; None is 164 or 16.
    variance : float or None
        Variance of a weight before the first document [sigma^2]; None is 1 or 0.001.
    positive_cost : float or None
        Factor on the cost of labels that a document has. None is 1; but for several labels a document under
        the floor of "gibbs", where every document weighs the same, it is by how much the documents without
        the label outnumber those with it so far, from 1 to 8, and a factor on how far the score should be.
    weight_floor : float, "auto" or None
        Least b = cost x distance to the margin at which documents are weighed (1 / b) in the weights of
        "gibbs". None is the posterior as it is stated, a precision matrix for each task; documents that
        happen to meet the margin then weigh so much that the weights freeze before the topics have settled.
        "auto" is 6.1 x cost x margin, 1000 by default. From four times cost x margin on every document weighs
        the same, and one precision matrix serves all tasks: weights are ridge regressions.
    tf : {"log", "none", "binary"}
        How counts are damped before anything else.
    idf : bool
        Whether rare terms, by the documents so far, weigh more in a document's average topics.
    batch_size : int or None
        Documents that are learned together; None is 64 or 32. As many as the corpus has, with `n_rounds` of
        30 or so and "averaging", is batch MedLDA by collapsed sampling.
    n_passes : int
        Passes of `fit`; `partial_fit` makes one. From the third on documents are overcounted.
    n_rounds, n_sweeps, burn_in : int
        Rounds over a mini-batch, sweeps of each, and those of them at first that do not count. None is 1 and
        1, or 2 and 2. "averaging" needs two rounds: in the first, labels do not reach the topics. "gibbs"
        needs its first sweep, where labels are strongest: leave burn_in at 0.
    ghost_factor : float
        How often each document counts, as if it came so many times.
    decay : float
        What is left of a document when the next one has come, for streams that drift: the model knows about
        the last 1 / (1 - decay) documents. 1 forgets nothing.
    max_time : float or None
        Seconds after which no further thousand documents are begun.
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

    classifier: str = "gibbs"
    margin: float | None = None
    positive_cost: float | None = None

    @classmethod
    def published(cls, classifier: str = "averaging", **settings: Any) -> Self:
        """The settings of [Shi17], without what was found to help since; ``settings`` are exceptions."""
        one_of("classifier", classifier, ("averaging", "gibbs"))
        n_topics = int(settings.get("n_topics", 40))
        plain: dict[str, Any] = {
            "classifier": classifier, "n_topics": n_topics, "alpha": 1.0 / n_topics, "beta": 0.45,
            "tf": "none", "idf": False, "positive_cost": 1.0, "n_passes": 1, "weight_floor": None,
        }  # fmt: skip
        own = {
            "averaging": {"batch_size": 1, "n_rounds": 2, "n_sweeps": 3},
            "gibbs": {"batch_size": 512, "n_rounds": 1, "n_sweeps": 2},
        }
        return cls(**{**plain, **own[classifier], **settings})

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        What was learned before is forgotten; `partial_fit` goes on.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : vector, label lists, indicator matrix, or None
            None takes the corpus' labels. None or NaN for a document: nothing is known of it, and its words
            still shape the topics. See `bayou.data.supervision.read_labels`.
        sample_weight : array (documents,), optional
            Factors on the cost of documents; their words count as before.
        """
        p = self._checked_parameters()
        corpus = self._documents(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        examples = self._examples(corpus, responses(labels), sample_weight, p, some=True)
        self.seed_ = self._resolve_seed()
        self.__dict__.pop("state_", None)
        self._classes, self.multi_label_ = labels.classes, labels.kind == "multi-label"
        self._learn_all(p, examples)
        return self

    def partial_fit(
        self, X: Any, y: Any = None, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more documents, one or many, in the order given.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. The first call settles whether documents have one class or several labels.
        classes : array-like, optional
            All classes, at the first call; left out, they are those in ``y``. Later, classes to add: a class
            that no document had so far has no say in the topics, so that the model is then as if it had been
            given at the first call (unless there were two classes, which are one task).
        """
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._documents(X, reset=first)
        own = corpus if isinstance(X, Corpus) else None
        if first:
            labels = read_labels(y, corpus.n_docs, corpus=own, classes=classes)
            self._classes, self.multi_label_ = labels.classes, labels.kind == "multi-label"
            examples = self._examples(corpus, responses(labels), sample_weight, p, some=False)
            self.seed_ = self._resolve_seed()
        else:
            self._check_stream(self._how(p), len(self.state_.mean))
            every = merged_classes(self._classes, classes, in_order=self.multi_label_)
            labels = read_labels(
                y, corpus.n_docs, corpus=own, classes=every, multi_label=self.multi_label_
            )
            examples = self._examples(corpus, responses(labels), sample_weight, p, some=False)
            self._grow(every)
        self._learn_more(p, examples)
        return self

    def _grow(self, every: NDArray[Any]) -> None:
        """A task for every class, in the weights and in the documents that wait."""
        if len(every) == len(self._classes):
            return
        source, sign = growth(self._classes, every, self._kind() == "binary")
        y = np.ascontiguousarray(self.pending_.y[:, source] * sign.astype(np.int8))
        self.pending_ = self.pending_._replace(y=y)
        self.state_ = online_stream.regroup(self.state_, source, sign)
        self._classes = every

    def _kind(self) -> str:
        if self.multi_label_:
            return "multi-label"
        return "binary" if len(self._classes) == 2 else "multi-class"

    def _posterior_kind(self) -> tuple[str, str]:
        return "classifier", self.classifier

    def _defaults(self) -> dict[str, Any]:
        return _CLASSES[self.classifier]

    def _unit(self, p: SimpleNamespace) -> float:
        return float(p.margin)

    def _loss(self, p: SimpleNamespace) -> tuple[int, float, float, bool]:
        adapts = self.multi_label_ and p.gibbs and p.out_of_reach
        factor = p.positive_cost or (0.0 if adapts else 1.0)
        return HINGE, float(p.margin), float(factor), True

    def _default_topics(self) -> int:
        if self._kind() == "binary":
            return 20
        return int(np.clip((1 if self.multi_label_ else 2) * len(self._classes), 40, 400))

    def _checked_parameters(self) -> SimpleNamespace:
        if self.margin is not None:
            number("margin", self.margin, 1e-30)
        if self.positive_cost is not None:
            number("positive_cost", self.positive_cost, 1e-30)
        return super()._checked_parameters()

    def _rule(self) -> Response:
        state, kind = self._current(), self._kind()
        n = len(state.mean) - 1  # the last task is what a class to come has seen
        none = np.zeros((0, len(state.topic), len(state.topic)))
        return Response(
            kind=kind, classes=self._classes, weights=np.ascontiguousarray(state.mean[:n].T),
            intercept=np.zeros(n), term_weight=self._term_weight(state), slope=np.ones(n),
            offset=np.zeros(n), share=1.0, noise=np.zeros(n), covariance=none,
            draws=np.zeros((0, len(state.topic), n), np.float32), centre=np.zeros(len(state.topic)),
        )  # fmt: skip

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now; probabilities fitted to documents scored before they were learned."""
        rule, state = self._rule(), self._current()
        slope, offset = online_stream.calibrated(state, rule.kind, rule.n_tasks)
        return replace(rule, slope=slope, offset=offset)

    def _payload(self) -> dict[str, NDArray[Any]]:
        return super()._payload() | pack_classes(self._classes, self.multi_label_)

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._classes, self.multi_label_ = unpack_classes(arrays)
        super()._restore(arrays)
        n_tasks = 1 if self._kind() == "binary" else len(self._classes)
        if len(self.state_.mean) != n_tasks + 1 or self.state_.moments.size:
            raise ModelFileError("the model file's classes and weights disagree; save it again")


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineMedLDARegressor(TopicRegressor, OnlineSupervised):
    """Max-margin topic model for numbers, one or several a document, that learns from a stream.

    Targets are brought to mean 0 and deviation 1 by those that have come so far, so that ``cost``,
    ``epsilon`` and ``variance`` mean the same for all of them. They pull on the topics of the documents that
    weights are learned from, and nothing pulls on those of a new document: predictions are corrected by a
    line fitted to what was predicted of the latest documents before they were learned.

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
        targets = _bounded(
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
        targets = _bounded(read_targets(y, corpus.n_docs, corpus=own, partial=True))
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
        return Response(
            kind="regression", classes=np.arange(n),
            weights=np.ascontiguousarray((state.mean * scale[:, None]).T),
            intercept=centre * slope + offset, term_weight=self._term_weight(state),
            slope=np.ones(n), offset=np.zeros(n), share=1.0, noise=noise,
            covariance=online_stream.covariance(state, scale),
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


def _bounded(targets: F64) -> F64:
    """Refuse numbers whose squares are not finite."""
    largest = np.abs(targets[~np.isnan(targets)]).max(initial=0.0)
    if largest > _LARGEST_TARGET:
        raise DataError(f"y holds {largest:.3g}, more than {_LARGEST_TARGET:.0e}; scale it down")
    return targets
