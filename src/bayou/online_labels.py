"""The base of models of labels that learn from a stream: mini-batches, and labels that come and go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.label_forms import Labels, listed_classes
from bayou.data.supervision import merged_classes, read_labels
from bayou.kernels import rng
from bayou.parameters import number, whole
from bayou.parts import features, label_documents, label_progress, label_state, open_labels
from bayou.parts.label_documents import Documents
from bayou.parts.label_state import How, State
from bayou.parts.topics import I64
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers
from bayou.streamed_labels import StreamedLabels

CHUNK = 1024  # documents between two calls of the callbacks, in whole mini-batches


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLabelEstimator(StreamedLabels, abstract=True):
    """Terms of labels, and topics over labels, that learn from mini-batches.

    What is learned is a function of the documents in their order and of nothing else: however a stream is
    cut into calls of `partial_fit`, mini-batches are cut every `batch_size` documents. Documents of a batch
    that is not full yet wait; predictions know what they teach, and it is taken back when the next come.
    Documents without labels are counted and teach nothing.
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
        if p.max_time is not None:
            number("max_time", p.max_time, 1e-30)
        number("step_scale", p.step_scale, 1e-12)
        number("tau", p.tau, 0.0)
        number("kappa", p.kappa, 0.5, 1.0)
        return p

    def _rate(self, p: SimpleNamespace) -> tuple[float, float, float]:
        return float(p.step_scale), float(p.tau), float(p.kappa)

    def _documents(self, corpus: Corpus, labels: Labels) -> Documents:
        """The documents with the numbers of their labels."""
        counts = features.damped(corpus.counts, self.tf)
        return label_documents.make(counts, labels.indicator, self.state_.ids)

    def _begin(self, corpus: Corpus, labels: Labels, p: SimpleNamespace) -> None:
        """Nothing known but the labels' names."""
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        state = label_state.start(corpus.n_terms, *self._layers(p))
        sizes = np.zeros((2, corpus.n_terms if p.rule == "cardinality" else 0))
        tally = label_progress.start(len(self._mixtures()))
        fresh = open_labels.arranged(state, np.full(len(labels.classes), -1))
        self.state_ = fresh._replace(scored=tally, sizes=sizes)
        self.pending_ = label_documents.none()
        self._classes, self._kind = labels.classes, labels.kind

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
        self._begin(corpus, labels, p)
        documents, n = self._documents(corpus, labels), corpus.n_docs
        order = lru_cache(maxsize=1)(lambda i: self._order(n, i))
        n_docs = p.n_docs or max(int((np.diff(documents.label_ptr) > 0).sum()), 1)
        how = self._how(p, float(n_docs))
        self._learn(
            p,
            how,
            n,
            p.n_passes,
            lambda i, lo, hi: label_documents.take(documents, order(i)[lo:hi]),
        )
        state = self.state_
        lengths = np.append(state.lengths, 1.0) * n_docs  # however often each was seen
        doubt = np.divide(1.0, lengths, out=np.zeros(3), where=lengths > 0.0)
        self.state_ = state._replace(n_seen=n, doubt=doubt)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """Learn from more documents, one or many, in the order given.

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
            self._begin(corpus, labels, p)
        else:
            self._check_stream(p)
            every = merged_classes(self._classes, classes, in_order=True)
            labels = read_labels(
                y,
                corpus.n_docs,
                corpus=own,
                classes=every,
                multi_label=self.multi_label_,
                others=True,
            )
            self._grow(labels.classes)
        documents = self._documents(corpus, labels)
        waiting = label_documents.join(self.pending_, documents)
        n = waiting.n_docs // p.batch_size * p.batch_size
        self.pending_ = label_documents.take(waiting, np.arange(n, waiting.n_docs))
        self._learn(
            p, self._how(p, p.n_docs), n, 1,
            lambda _, lo, hi: label_documents.take(waiting, np.arange(lo, hi)),
        )  # fmt: skip
        return self

    def _grow(self, every: NDArray[Any]) -> None:
        """Columns for every label; in the order of the classes, which may be sorted in."""
        if len(every) == len(self._classes):
            return
        place = {label: i for i, label in enumerate(self._classes.tolist())}
        source = np.array([place.get(label, -1) for label in every.tolist()], np.int64)
        self.state_ = open_labels.arranged(self.state_, source)
        self._classes = every
        if self._kind == "binary" and len(every) > 2:
            self._kind = "multi-class"

    def _order(self, n_docs: int, n: int) -> I64:
        key = np.uint64(rng.key(self.seed_, rng.SHUFFLE, n, 0))
        return np.asarray(rng.shuffled(n_docs, key), np.int64)

    def _learn(
        self,
        p: SimpleNamespace,
        how: How,
        n_docs: int,
        n_passes: int,
        batch: Callable[[int, int, int], Documents],
    ) -> None:
        """Learn whole chunks of mini-batches until they are through or somebody says stop."""
        begin, name = self.state_, type(self).__name__
        size = max(CHUNK // p.batch_size, 1) * p.batch_size
        todo = iter([(n, lo) for n in range(n_passes) for lo in range(0, n_docs, size)])
        last = begin.step + n_passes * -(-n_docs // p.batch_size)
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, name) as bar:

            def step(state: State) -> tuple[State, Info | None]:
                job = next(todo, None)
                if job is None:
                    return state, None
                n, first = job
                for lo in range(first, min(first + size, n_docs), p.batch_size):
                    some = batch(n, lo, min(lo + p.batch_size, n_docs))
                    self.state_ = state = self._step(state, some, how, workers.each)
                return state, Info(state.step, last, "stream", np.nan, 0.0)

            loop.run(begin, step, callbacks=[*bar, *self._callbacks()], max_time=p.max_time)
        self.n_iter_ = self.state_.step

    # -- open sets of labels -------------------------------------------------------------------

    def add_labels(self, names: Any) -> Self:
        """Labels that documents may have from now on.

        Documents that come with a label which is not there yet add it by themselves.
        """
        check_is_fitted(self)
        self._grow(merged_classes(self._classes, names, in_order=self.multi_label_))
        return self

    def remove_labels(self, names: Any) -> Self:
        """Forget labels and all that was learned of them; what is known of the others stays.

        Documents that wait for their mini-batch to be full are learned first, as in `merge_labels` and
        `split_label`.
        """
        gone = self._columns(names)
        keep = np.setdiff1d(np.arange(self.state_.n_labels), gone)
        if len(keep) < (1 if self.multi_label_ else 2):
            raise DataError(f"{len(keep)} labels would be left; keep one, or two classes")
        self._settle()
        self.state_ = open_labels.removed(self.state_, gone)
        self._rename([self._classes.tolist()[i] for i in keep])
        return self

    def merge_labels(self, names: Any, into: Any) -> Self:
        """Make one label of several, with all that was learned of them.

        Parameters
        ----------
        names : array-like of labels
        into : label
            What it is called: one of ``names``, whose number it keeps, or a new one, under a new number.
        """
        parts = self._columns(names)
        every = self._classes.tolist()
        own = [i for i in parts.tolist() if every[i] == into]
        if len(parts) < 2 or (not own and into in every):
            raise DataError("merge_labels takes two labels or more, into one of them or a new one")
        if not self.multi_label_ and len(every) - len(parts) < 1:
            raise DataError("one class would be left; keep two")
        self._settle()
        first = own[0] if own else int(parts[0])
        order = np.array([first, *(i for i in parts.tolist() if i != first)])
        self.state_ = open_labels.merged(self.state_, order, fresh=not own)
        every[first] = into
        self._rename([name for i, name in enumerate(every) if i not in order[1:]])
        return self

    def split_label(self, name: Any, into: Sequence[Any], noise: float = 0.5) -> Self:
        """Make several labels of one, each with its even part of what was learned.

        Parameters
        ----------
        name : label
        into : sequence of labels
            New names, two or more; the parts stand behind the other labels, under new numbers.
        noise : float
            By which the parts' terms differ at first, so that documents to come can tell them apart.
        """
        number("noise", noise, 0.0, 1.0)
        label, parts = int(self._columns([name])[0]), list(into)
        every = self._classes.tolist()
        taken = set(every) - {name}
        if len(parts) < 2 or len(set(parts)) < len(parts) or taken & set(parts):
            raise DataError("split_label takes two new names or more, none of them taken")
        self._settle()
        self.state_ = open_labels.split(self.state_, label, len(parts), float(noise), self.seed_)
        self._rename([one for one in every if one != name] + parts)
        return self

    def _columns(self, names: Any) -> I64:
        """Where labels stand."""
        check_is_fitted(self)
        given = [names] if isinstance(names, str) else list(names)
        place = {label: i for i, label in enumerate(self._classes.tolist())}
        strange = [name for name in given if name not in place]
        if strange or not given or len(set(given)) < len(given):
            what = f"{strange[0]!r} is not" if strange else f"{given!r:.60} are not distinct names"
            raise DataError(f"{what} among the {len(place)} labels of the model")
        return np.array([place[name] for name in given], np.int64)

    def _settle(self) -> None:
        """Learn the documents that wait, in a batch of their own."""
        self.state_ = self._current()
        self.pending_ = label_documents.none()

    def _rename(self, names: list[Any]) -> None:
        """The labels' names in the order of columns; classes are brought into theirs."""
        self._classes = listed_classes(names)
        if not self.multi_label_:
            order = np.argsort(self._classes)
            self.state_ = open_labels.arranged(self.state_, order)
            self._classes = self._classes[order]
            self._kind = "binary" if len(order) == 2 else "multi-class"
