"""Classes, or several labels a document, learned from a stream together with the topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bayou.api.online_supervised import OnlineSupervised
from bayou.api.supervised import TopicClassifier
from bayou.data.checks import optional
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.supervision import growth, merge_classes, read_labels, responses
from bayou.inference.margin import online_refit, online_stream
from bayou.kernels.margin.response import HINGE
from bayou.results.response import Response

# factor on a yes of "averaging" where weights are refitted; 8 draws topics to rare labels
YES = 3.0


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineClassifier(OnlineSupervised, TopicClassifier, abstract=True):  # type: ignore[override]
    """What online max-margin classifiers share, whatever they know of the number of topics."""

    classifier: str = "gibbs"
    margin: float | None = None
    positive_cost: float | None = None
    refit: bool | None = None

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
        self._learn_all(self._checked_parameters(), examples)  # some follow from the labels
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
            every = merge_classes(self._classes, classes, in_order=self.multi_label_)
            labels = read_labels(
                y, corpus.n_docs, corpus=own, classes=every, multi_label=self.multi_label_
            )
            examples = self._examples(corpus, responses(labels), sample_weight, p, some=False)
            self._grow(every)
        self._learn_more(self._checked_parameters(), examples)
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

    def _refits(self) -> bool:
        return self.multi_label_ if self.refit is None else bool(self.refit)

    def _unit(self, p: SimpleNamespace) -> float:
        return float(p.margin)

    def _loss(self, p: SimpleNamespace) -> tuple[int, float, float, bool]:
        adapts = self.multi_label_ and p.gibbs and p.out_of_reach
        plain = YES if self.multi_label_ and not p.gibbs and self._refits() else 1.0
        factor = p.positive_cost or (0.0 if adapts else plain)
        return HINGE, float(p.margin), float(factor), True

    def _checked_parameters(self) -> SimpleNamespace:
        optional("margin", self.margin, 1e-30)
        optional("positive_cost", self.positive_cost, 1e-30)
        return super()._checked_parameters()

    def _rule(self) -> Response:
        state, kind = self._current(), self._kind()
        n = len(state.mean) - 1  # the last task is what a class to come has seen
        none = np.zeros((0, len(state.topic), len(state.topic)))
        weights, intercept = state.mean, 0.0
        if len(state.bend):
            weights = state.refitted
        if len(state.bend) and kind == "multi-label":
            level = online_refit.threshold(state.curve)
            intercept = float(np.log1p(-level) - np.log(level))
        return Response(
            kind=kind, classes=self._classes, weights=np.ascontiguousarray(weights[:n].T),
            intercept=np.full(n, intercept), term_weight=self._term_weight(state), slope=np.ones(n),
            offset=np.zeros(n), share=1.0, noise=np.zeros(n), covariance=none,
            draws=np.zeros((0, len(state.topic), n), np.float32), centre=np.zeros(len(state.topic)),
        )  # fmt: skip

    @property
    def response_(self) -> Response:  # type: ignore[override]
        """Weights as they are now; probabilities fitted to documents scored before they were learned.

        So is the intercept of two classes: the border is where each has probability 1/2.
        """
        rule, state = self._rule(), self._current()
        if len(state.bend) and rule.kind != "multi-class":  # scores are log-odds as they are
            return replace(rule, slope=np.ones(rule.n_tasks), offset=-rule.intercept)
        slope, offset = online_stream.fit_calibration(state, rule.kind, rule.n_tasks)
        return replace(rule, slope=slope, offset=offset).balance_border()

    def _payload(self) -> dict[str, NDArray[Any]]:
        return super()._payload() | pack_classes(self._classes, self.multi_label_)

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._classes, self.multi_label_ = unpack_classes(arrays)
        super()._restore(arrays)
        n_tasks = 1 if self._kind() == "binary" else len(self._classes)
        if len(self.state_.mean) != n_tasks + 1 or self.state_.moments.size:
            raise ModelFileError("the model file's classes and weights disagree; save it again")
