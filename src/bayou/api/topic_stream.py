"""The base of topic models that learn from mini-batches without labels: passes, cuts, what is scored."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import check_parameters, number, whole
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.inference.lda import columns, stream
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.results.posterior import check_arrays
from bayou.run import batches, loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

LEAST_TAU = 1e-3  # at 0 the first step would be 1, and nothing that was known be left to scale
N_SCORED = (500, 65_536)  # documents whose score ends `fit`, and tokens of theirs, or one document


@dataclass(kw_only=True, eq=False, repr=False)
class TopicStream(TopicEstimator, abstract=True):
    """Topics that follow a stream; a model gives the first state and what a mini-batch makes of one.

    A state is a NamedTuple with at least `step`, `n_seen`, `raw`, `scale`, `topic`, `beta`, `scores` and
    `score_steps`, as `OnlineLDA` has them.

    Attributes
    ----------
    state_ : State
        Everything the next mini-batch needs; saved with the model, so that a loaded model goes on as if it
        had never been away.
    """

    n_topics: int = 50
    beta: float = 0.01
    n_passes: int = 3
    batch_size: int | None = 256
    burn_in: int = 3
    n_samples: int = 2
    n_docs: int | None = None
    tau: float = 10.0
    kappa: float = 0.6
    tol: float = 5e-4
    inference: str = ""

    _patience: ClassVar[int] = 1  # passes in a row without gain after which `fit` ends

    # -- what a model says about itself --------------------------------------------------------

    def _begin(self, corpus: Corpus, p: SimpleNamespace, each: Each) -> Any:
        """The state before the first mini-batch."""
        raise TypeError(f"{type(self).__name__} does not say where it begins")

    def _advance(self, state: Any, corpus: Corpus, p: SimpleNamespace, each: Each) -> Any:
        """The state after a mini-batch; the one given is used up."""
        raise TypeError(f"{type(self).__name__} does not say what a mini-batch teaches")

    def _opening(self, corpus: Corpus, first: Corpus, p: SimpleNamespace) -> Corpus:
        """The documents to begin from: by default the first mini-batch of those at hand."""
        return first

    def _n_kept_out(self, n_docs: int, p: SimpleNamespace) -> int:
        """How many documents `fit` keeps out of its passes, for a model to judge itself by."""
        return 0

    def _after_fit(self, state: Any, p: SimpleNamespace, each: Each) -> Any:
        """The state after the passes of `fit`; ``p.kept_out`` are the documents kept out, or None."""
        return state

    def _samples(self, p: SimpleNamespace) -> bool:
        """Whether single tokens are drawn, which needs whole counts."""
        return True

    # -- learning ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        What was learned before is forgotten; `partial_fit` goes on.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : ignored
        """
        p = self._checked_parameters()
        corpus = self._documents(X, p, reset=True)
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        given, n_out = corpus, self._n_kept_out(corpus.n_docs, p)
        n_docs, p.kept_out = p.n_docs or corpus.n_docs, None
        p.n_docs = n_docs - n_out
        if n_out:
            mixed = self._order(corpus.n_docs, p.n_passes + 1)
            corpus, p.kept_out = given[np.sort(mixed[n_out:])], given[np.sort(mixed[:n_out])]
        if self.batch_size is None:
            p.batch_size = stream.batch_size(corpus.n_docs)
        per_pass = -(-corpus.n_docs // p.batch_size)
        order = lru_cache(maxsize=1)(lambda n: self._order(corpus.n_docs, n))

        def batch(i: int) -> Corpus:
            n, at = divmod(i, per_pass)
            return corpus[order(n)[at * p.batch_size : (at + 1) * p.batch_size]]

        sample = _sample(corpus, self._order(corpus.n_docs, p.n_passes))
        begin = self._opening(corpus, batch(0), p)
        self._learn(begin, p.n_passes * per_pass, batch, p, (per_pass, sample))
        learned = self.__dict__["state_"]
        self.state_ = learned._replace(n_seen=corpus.n_docs)  # however often each was seen
        if p.kept_out is not None:
            p.n_docs = n_docs
            self._partial(p.kept_out, p)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the order given, `batch_size` at a time.

        All of them: `max_time` and callbacks end `fit` alone, and who gives documents from a stream ends it
        by giving no more.
        """
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._documents(X, p, reset=first)
        if first:
            self.seed_ = self._resolve_seed()
            self._names = corpus.vocabulary
        elif self.state_.raw.shape[1] != p.n_topics:
            raise ValueError(
                f"n_topics is {p.n_topics} but this stream has learned {self.state_.raw.shape[1]}; "
                "begin another model for another number of topics"
            )

        self._partial(corpus, p)
        return self

    def _partial(self, corpus: Corpus, p: SimpleNamespace) -> None:
        """One pass in the order given, to its end."""

        def batch(i: int) -> Corpus:
            return corpus[i * p.batch_size : (i + 1) * p.batch_size]

        n_batches = -(-corpus.n_docs // p.batch_size)
        begin = getattr(self, "state_", None)
        if begin is None:
            begin = self._opening(corpus, batch(0), p)
        self._learn(begin, n_batches, batch, p, whole=True)

    def _documents(self, X: Any, p: SimpleNamespace, *, reset: bool) -> Corpus:
        """The documents; for sampling in whole counts, with one warning for all mini-batches."""
        corpus = self._corpus(X, reset=reset)
        return corpus.rounded() if self._samples(p) else corpus

    def _learn(
        self,
        state: Any,
        n_batches: int,
        batch_of: Callable[[int], Corpus],
        p: SimpleNamespace,
        watch: tuple[int, Corpus] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        """Learn from so many mini-batches, from a state or from one made of documents.

        ``watch`` = after how many to score which documents; ``whole``: nobody may end it early.
        """
        with (
            Workers(self.n_threads) as workers,
            loop.progress_bar(self.progress, type(self).__name__) as bar,
        ):
            if isinstance(state, Corpus):
                state = self._begin(state, p, workers.each)
            begin = state
            last = begin.step + n_batches

            def step(state: Any) -> tuple[Any, Info | None]:
                if state.step == last or (
                    watch is not None and _at_rest(state, p.tol, self._patience)
                ):
                    return state, None
                batch, score = batch_of(state.step - begin.step), math.nan
                state = self._advance(state, batch, p, workers.each)
                self.state_ = state  # counts change in place: an error later on must not part them
                if watch is not None and (state.step - begin.step) % watch[0] == 0:
                    score = self.log_likelihood(watch[1])
                    scores = np.append(state.scores, score)
                    steps = np.append(state.score_steps, state.step)
                    self.state_ = state = state._replace(scores=scores, score_steps=steps)
                return state, Info(state.step, last, p.inference, score, 0.0)

            callbacks = [*bar, *self._callbacks()]
            loop.run(begin, step, callbacks=callbacks, max_time=p.max_time, whole=whole)
            if watch is not None:
                self.state_ = self._after_fit(self.state_, p, workers.each)
        self.n_iter_ = self.state_.step

    def _with_terms(self, keep: I64, n_new: int) -> float:
        s = self.state_
        gone = columns.counts_of(s.raw, s.scale, columns.others(keep, len(s.raw)))
        totals = np.maximum(s.topic - gone, 0.0)
        self.state_ = s._replace(raw=columns.move_rows(s.raw, keep, n_new), topic=totals)
        return float(gone.sum())

    def _order(self, n_docs: int, n: int) -> NDArray[np.int64]:
        return batches.order(self.seed_, n_docs, n)

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        check_parameters(p, ("n_topics", "n_passes", "n_samples", "n_docs"), ("beta", "max_time"))
        if p.batch_size is None:
            p.batch_size = stream.batch_size(p.n_docs)
        whole("batch_size", p.batch_size, 1)
        whole("burn_in", p.burn_in, 0)
        number("tau", p.tau, LEAST_TAU)
        number("tol", p.tol, 0.0)
        number("kappa", p.kappa, 0.5, 1.0)
        if p.kappa == 0.5:
            raise ValueError("kappa must be above 0.5, or the steps never come to rest; got 0.5")
        return p

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")  # `posterior_` would be computed only to be thrown away

    @property
    def scores_(self) -> F64:
        """Log-likelihood per token of a sample of documents after each pass of `fit`."""
        check_is_fitted(self)
        return np.asarray(self.state_.scores, np.float64)


def _sample(corpus: Corpus, order: I64) -> Corpus:
    """The documents that are scored after each pass: those first in ``order``, as many as it takes."""
    first = order[: N_SCORED[0]]
    lengths = np.asarray(corpus[first].counts.sum(axis=1), np.float64).ravel()
    n = int(np.searchsorted(np.cumsum(lengths), N_SCORED[1], side="right"))
    return corpus[np.sort(first[: max(n, 1)])]


def check_state(state: Any) -> tuple[int, int]:
    """Refuse a state of a model file whose counts cannot be what they are called; gives their shape."""
    shape = np.shape(state.raw) if np.ndim(state.raw) == 2 else (-1, -1)
    check_arrays("raw", state.raw, np.float32, shape)
    check_arrays("topic", state.topic, np.float64, shape[1:])
    check_arrays("scores", state.scores, np.float64, np.shape(state.score_steps), finite=False)
    check_arrays("score_steps", state.score_steps, np.int64, (np.size(state.scores),))
    whole, real = (state.step, state.n_seen), (state.scale, state.beta)
    if not all(type(n) is int and n >= 0 for n in whole):
        raise ModelFileError("the model file's step and n_seen must be whole; save it again")
    if not all(type(x) is float and 0.0 < x < math.inf for x in real):
        raise ModelFileError("the model file's scale and beta must be positive; save it again")
    return int(shape[0]), int(shape[1])


def _at_rest(state: Any, tol: float, patience: int) -> bool:
    """Whether each of the last scores, the last of them just taken, gained less than ``tol``."""
    fresh = len(state.scores) > patience and state.score_steps[-1] == state.step
    return bool(fresh and (np.diff(state.scores[-patience - 1 :]) < tol).all())
