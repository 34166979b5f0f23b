"""The base of models of labels that learn from a stream: mini-batches, and labels that come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from bayou.api.streamed_labels import StreamedLabels
from bayou.data.checks import number, optional, whole
from bayou.data.corpus import Corpus
from bayou.data.label_forms import MULTI_LABEL, Labels, is_indicator
from bayou.data.supervision import merge_classes, read_labels
from bayou.inference.labels import documents as label_documents
from bayou.inference.labels import progress
from bayou.inference.labels import state as label_state
from bayou.inference.labels.documents import Documents
from bayou.inference.labels.state import LabelStreamSettings, LabelStreamState
from bayou.inference.lda import features
from bayou.run import batches, loop
from bayou.run.batches import BatchPlan
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabelEstimator(StreamedLabels, abstract=True):
    """Terms of labels, and topics over labels, that learn from mini-batches.

    What is learned is a function of the documents in their order and of nothing else: however a stream is
    cut into calls of `partial_fit`, mini-batches are cut every `batch_size` documents. Documents of a batch
    that is not full yet wait; predictions know what they teach, and it is taken back when the next come.
    Documents without labels are counted and teach nothing. A call of `partial_fit` learns all that it is
    given: `max_time` and callbacks end `fit` alone.
    """

    beta: float = 0.01
    batch_size: int = 256
    n_passes: int = 1
    n_rounds: int = 2
    n_docs: int | None = None
    step_scale: float = 10.0
    tau: float = 1000.0
    kappa: float = 0.9

    # -- the door ------------------------------------------------------------------------------

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        self._check_labels(p)
        for name in ("batch_size", "n_passes", "n_rounds"):
            whole(name, getattr(p, name), 1)
        for name in ("n_docs", "n_threads"):
            if getattr(p, name) not in (None, -1 if name == "n_threads" else None):
                whole(name, getattr(p, name), 1)
        number("beta", p.beta, 1e-30)
        optional("max_time", p.max_time, 1e-30)
        number("step_scale", p.step_scale, 1e-12)
        number("tau", p.tau, 0.0)
        number("kappa", p.kappa, 0.5, 1.0)
        return p

    def _rate(self, p: SimpleNamespace) -> tuple[float, float, float]:
        return float(p.step_scale), float(p.tau), float(p.kappa)

    def _begin(self, corpus: Corpus, several: bool, p: SimpleNamespace) -> None:
        """Nothing known, no label."""
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        state = label_state.start(corpus.n_terms, *self._layers(p))
        sizes = np.zeros((2, corpus.n_terms if p.rule == "cardinality" else 0))
        tally = progress.start(len(self._mixtures()))
        fresh = state._replace(scored=tally, sizes=sizes)
        self._hold(fresh, label_documents.none(), {}, several)

    def _documents(self, corpus: Corpus, labels: Labels, announced: list[Any]) -> Documents:
        """The documents with the numbers of their labels.

        Labels that are announced are there from now on; others come with the mini-batch that holds them, and
        have their numbers in the order in which documents do.
        """
        self._announce(announced)
        place = {name: i for i, name in self._label_names.items()}
        names, of = labels.classes.tolist(), labels.indicator
        _, first = np.unique(of.indices, return_index=True)
        for column in of.indices[np.sort(first)].tolist():
            if names[column] not in place:
                place[names[column]] = self._named(names[column])
        ids = np.array([place.get(name, -1) for name in names], np.int64)
        return label_documents.make(features.damp_counts(corpus.counts, self.tf), of, ids)

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        What was learned before is forgotten; `partial_fit` goes on.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : label lists, indicator matrix, vector of classes, or None
            None takes the corpus' labels. None or NaN for a document: nothing is known of it, and nothing is
            learned from it. See `bayou.data.supervision.read_labels`.
        """
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        labels = read_labels(y, corpus.n_docs, corpus=X if isinstance(X, Corpus) else None)
        self._begin(corpus, labels.kind == MULTI_LABEL, p)
        documents = self._documents(corpus, labels, labels.classes.tolist())
        n = corpus.n_docs
        order = lru_cache(maxsize=1)(lambda i: batches.order(self.seed_, n, i))
        sizes = label_documents.labelled_sizes(documents)
        sizes *= (p.n_docs or sizes[2]) / max(sizes[2], 1.0)
        how = self._how(p, float(sizes[2]) or None)
        self._learn(
            p,
            how,
            BatchPlan(n, p.batch_size, p.n_passes),
            lambda i, lo, hi: label_documents.take(documents, order(i)[lo:hi]),
            whole=False,
        )
        # however often each was seen
        doubt = np.divide(1.0, sizes, out=np.zeros(3), where=sizes > 0.0)
        self.state_ = self.state_._replace(n_seen=n, doubt=doubt)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from more documents, one or many, in the order given.

        All of them: `max_time` and callbacks end `fit` alone. Where a callback fails, those not yet learned
        wait in `pending_`, and the next call begins with them.

        Parameters
        ----------
        X, y
            As in `fit`. The first call settles whether documents have one class or several labels. Labels
            that were not there before become labels of the model.
        classes : array-like, optional
            Labels there are, of this and of later calls; of an indicator matrix, names of further columns.
        """
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._corpus(X, reset=first)
        own = corpus if isinstance(X, Corpus) else None
        if first:
            labels = read_labels(y, corpus.n_docs, corpus=own, classes=classes)
            self._begin(corpus, labels.kind == MULTI_LABEL, p)
        else:
            self._check_stream(p)
            every = merge_classes(self._known_names(), classes, in_order=True)
            labels = read_labels(
                y, corpus.n_docs, corpus=own, classes=every, multi_label=self._several, others=True
            )
        columns = labels.classes if y is None or is_indicator(y) else classes
        documents = self._documents(corpus, labels, [] if columns is None else list(columns))
        waiting = label_documents.join(self.pending_, documents)
        n = waiting.n_docs // p.batch_size * p.batch_size
        self.pending_ = label_documents.take(waiting, np.arange(n, waiting.n_docs))
        seen = self.state_.n_seen
        try:
            self._learn(
                p, self._how(p, p.n_docs), BatchPlan(n, p.batch_size),
                lambda _, lo, hi: label_documents.take(waiting, np.arange(lo, hi)), whole=True,
            )  # fmt: skip
        finally:
            done = self.state_.n_seen - seen
            if done < n:  # a callback failed: the others wait
                self.pending_ = label_documents.take(waiting, np.arange(done, waiting.n_docs))
        return self

    def _learn(
        self,
        p: SimpleNamespace,
        how: LabelStreamSettings,
        cut: BatchPlan,
        batch: Callable[[int, int, int], Documents],
        *,
        whole: bool,
    ) -> None:
        """Learn whole chunks of mini-batches until they are through or, of `fit`, somebody says stop."""
        name = type(self).__name__
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, name) as bar:

            def learn(state: LabelStreamState, n: int, first: int, end: int) -> LabelStreamState:
                for lo, hi in cut.batches(first, end):
                    self.state_ = state = self._step(state, batch(n, lo, hi), how, workers.each)
                return state

            told = [*bar, *self._callbacks()]
            batches.run(
                self.state_, cut, learn, "stream", callbacks=told, max_time=p.max_time, whole=whole
            )
        self.n_iter_ = self.state_.step
