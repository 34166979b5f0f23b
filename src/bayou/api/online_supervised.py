"""The base of topic models that learn topics and weights from a stream: mini-batches, what waits, files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from sklearn.utils.validation import check_is_fitted

from bayou.api.supervised import SupervisedEstimator
from bayou.data.checks import one_of
from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.supervision import document_weights
from bayou.inference.lda import arrays as lda_arrays
from bayou.inference.lda import columns as lda_columns
from bayou.inference.lda import documents, features
from bayou.inference.lda.arrays import F32, I64, Each
from bayou.inference.margin import batch as online_batch
from bayou.inference.margin import columns, online, online_settings, online_state, online_stream
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.growth import TopicGrowth
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.passive_aggressive import Examples
from bayou.results.posterior import Posterior, unpack_vocabulary
from bayou.run import batches, checkpoint, loop
from bayou.run.batches import BatchPlan
from bayou.run.shards import Workers


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineSupervised(SupervisedEstimator, abstract=True):
    """Topics and weights that learn from mini-batches together.

    What is learned is a function of the documents in their order and of nothing else: however a stream is
    cut into calls of `partial_fit`, mini-batches are cut every `batch_size` documents. Documents of a batch
    that is not full yet wait; predictions know what they teach, and it is taken back when the next come.
    A call of `partial_fit` learns all that it is given: `max_time` and callbacks end `fit` alone.

    Attributes
    ----------
    state_ : State
        Everything known after the last full mini-batch.
    pending_ : Examples
        The documents after it: fewer than `batch_size`, or more where a callback of `partial_fit` failed.
    """

    n_topics: int | None = None
    alpha: float | ArrayLike | None = None
    beta: float = 0.1
    cost: float | None = None
    variance: float | None = None
    idf: bool = True
    batch_size: int | None = None
    n_passes: int = 2
    n_rounds: int | None = None
    n_sweeps: int | None = None
    burn_in: int = 0
    ghost_factor: float = 1.0
    decay: float = 1.0
    weight_floor: float | str | None = "auto"

    # -- what a model says about itself --------------------------------------------------------

    def _posterior_kind(self) -> tuple[str, str]:
        """The name and the value of the parameter that chooses between the two posteriors."""
        raise TypeError(f"{type(self).__name__} does not say which posterior it has")

    def _defaults(self) -> dict[str, Any]:
        """What parameters left at None are."""
        raise TypeError(f"{type(self).__name__} does not say what its defaults are")

    def _loss(self, p: SimpleNamespace) -> tuple[int, float, float, bool]:
        """Kind of loss, its width, the factor of a yes, and whether a cost is the same for all tasks."""
        raise TypeError(f"{type(self).__name__} does not say what it loses")

    def _unit(self, p: SimpleNamespace) -> float:
        """What a score is when it is right."""
        raise TypeError(f"{type(self).__name__} does not say how large its scores are")

    def _refits(self) -> bool:
        """Whether there is a second stage."""
        return False

    def _default_topics(self) -> int:
        """Number of topics where none was given."""
        raise TypeError(f"{type(self).__name__} does not say how many topics it has")

    # -- the door ------------------------------------------------------------------------------

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        name, posterior = self._posterior_kind()
        one_of(name, posterior, ("averaging", "gibbs"))
        p.gibbs = posterior == "gibbs"
        online_settings.check(p, self._defaults())
        online_settings.set_floor(p, name, self._unit(p))
        return p

    def _how(self, p: SimpleNamespace) -> OnlineMarginSettings:
        """The settings of a step, once it is known what kind of responses there are."""
        return online_settings.step_settings(
            p, self._n_topics(p), self._loss(p), self._growth(p), self._refits()
        )

    def _growth(self, p: SimpleNamespace) -> TopicGrowth | None:
        """How topics are born; None where there are as many as were asked for."""
        return None

    def _n_topics(self, p: SimpleNamespace) -> int:
        if p.n_topics is not None:
            return int(p.n_topics)
        if hasattr(self, "state_"):
            return len(self.state_.topic)
        return len(p.alpha) if np.ndim(p.alpha) else self._default_topics()

    def _documents(self, X: Any, *, reset: bool) -> Corpus:
        corpus = self._corpus(X, reset=reset)
        if reset:
            self._names = corpus.vocabulary
        if self.tf == "none" and corpus.is_fractional:
            corpus.tokens()  # warns that counts are rounded
        return corpus

    def _examples(
        self, corpus: Corpus, y: NDArray[Any], sample_weight: Any, p: SimpleNamespace, some: bool
    ) -> Examples:
        """All documents: those without a response still teach topics."""
        counts = corpus.counts
        costs = p.cost * document_weights(sample_weight, corpus.n_docs, some=some)
        parts = (counts.indptr.astype(np.int64), counts.indices.astype(np.int64))
        return Examples(*parts, counts.data.astype(np.float64), y, costs)

    def _check_stream(self, how: OnlineMarginSettings, n_tasks: int) -> None:
        """Refuse to go on with parameters that the state was not made for."""
        state, wanted = self.state_, (1 if how.shared else n_tasks) if how.gibbs else 0
        fits = len(state.topic) == len(how.alpha) and bool(state.tables.size) == bool(how.growth)
        same = len(state.precision) == wanted and bool(len(state.bend)) == how.refit
        if not same or not fits:
            raise ValueError(
                "n_topics, refit, the posterior and what its precision depends on (weight_floor, cost, "
                "margin) cannot change within a stream; begin another model"
            )

    # -- learning ------------------------------------------------------------------------------

    def _learn_all(self, p: SimpleNamespace, examples: Examples) -> None:
        """`n_passes` over the documents, each in its own keyed order."""
        how, n = self._how(p), examples.n_docs
        order = lru_cache(maxsize=1)(lambda i: batches.order(self.seed_, n, i))
        self.pending_ = pa.no_examples(examples.y)
        self.state_ = online_state.start(self.n_features_in_, examples.y.shape[1], how)
        cut = BatchPlan(n, p.batch_size, p.n_passes)
        self._learn(p, how, cut, lambda i, lo, hi: pa.take(examples, order(i)[lo:hi]), whole=False)

    def _learn_more(self, p: SimpleNamespace, examples: Examples) -> None:
        """The documents in the order given, behind those that wait for their batch to be full."""
        how = self._how(p)
        if not hasattr(self, "state_"):
            self.state_ = online_state.start(self.n_features_in_, examples.y.shape[1], how)
            self.pending_ = pa.no_examples(examples.y)
        waiting = pa.join(self.pending_, examples)
        n = waiting.n_docs // p.batch_size * p.batch_size
        self.pending_ = pa.take(waiting, np.arange(n, waiting.n_docs))
        seen = self.state_.n_seen
        try:
            cut = BatchPlan(n, p.batch_size)
            self._learn(
                p, how, cut, lambda _, lo, hi: pa.take(waiting, np.arange(lo, hi)), whole=True
            )
        finally:
            done = self.state_.n_seen - seen
            if done < n:  # a callback failed: the others wait
                self.pending_ = pa.take(waiting, np.arange(done, waiting.n_docs))

    def _learn(
        self,
        p: SimpleNamespace,
        how: OnlineMarginSettings,
        cut: BatchPlan,
        batch: Callable[[int, int, int], Examples],
        *,
        whole: bool,
    ) -> None:
        """Learn whole chunks of mini-batches until they are through or, of `fit`, somebody says stop."""
        kind, name = self._posterior_kind()[1], type(self).__name__
        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, name) as bar:

            def learn(state: OnlineMarginState, n: int, first: int, end: int) -> OnlineMarginState:
                now = how._replace(fresh=n == 0)
                for lo, hi in cut.batches(first, end):
                    # counts change in place: an error later on must not part them from the rest
                    self.state_ = state = online.learn(
                        state, batch(n, lo, hi), now, self.seed_, workers.each
                    )
                return state

            told = [*bar, *self._callbacks()]
            batches.run(
                self.state_, cut, learn, kind, callbacks=told, max_time=p.max_time, whole=whole
            )
        self.n_iter_ = self.state_.step

    def _with_terms(self, keep: I64, n_new: int) -> float:
        s, n_terms = self.state_, len(self.state_.raw)
        gone = lda_columns.counts_of(s.raw, s.scale, lda_columns.others(keep, n_terms))
        topic = np.maximum(s.topic - gone, 0.0)
        self.pending_ = columns.move_examples(self.pending_, keep, n_terms)
        self.state_ = s._replace(
            raw=lda_columns.move_rows(s.raw, keep, n_new), topic=topic,
            seen_in=lda_columns.move_rows(s.seen_in, keep, n_new),
            tables=lda_columns.limit_tables(s.tables, s.topic, topic) if len(s.tables) else s.tables,
        )  # fmt: skip
        return float(gone.sum())

    # -- what is known now ---------------------------------------------------------------------

    def _current(self) -> OnlineMarginState:
        """The state with what the documents that wait teach."""
        check_is_fitted(self)
        return batches.state_with_pending(self, self._with_pending)

    def _with_pending(self) -> OnlineMarginState:
        p = self._checked_parameters()
        how, state, n = self._how(p), online_state.copy(self.state_), self.pending_.n_docs
        with Workers(1) as workers:
            for lo, hi in BatchPlan(n, p.batch_size).batches(0, n):
                some = pa.take(self.pending_, np.arange(lo, hi))
                state = online.learn(state, some, how, self.seed_, workers.each)
        return state

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now."""
        state, how = self._current(), self._how(self._checked_parameters())
        known = online_state.topics_of(state, how)
        totals = state.scale * lda_arrays.topic_totals(state.raw)
        # summed anew: along a stream n_k and the single-precision n_vk round differently
        with Workers(1) as workers:
            every = np.arange(len(state.raw), dtype=np.int64)
            rows = online_batch.mean_rows(known._replace(topic=totals), every, workers.each)
        return Posterior(
            rows=rows, alpha=online_state.prior(state, how), beta=how.beta, topic_tokens=totals,
            scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=self._names,
        )  # fmt: skip

    def _features(self, counts: csr_array, each: Each) -> F32:
        """Average topics of documents, from the rows of their own terms alone."""
        state, how = self._current(), self._how(self._checked_parameters())
        terms, places = np.unique(counts.indices, return_inverse=True)
        damped = features.damp_counts(counts, how.tf)
        pairs = documents.pairs_of(damped)._replace(terms=places.astype(np.int32))
        rows = online_batch.mean_rows(
            online_state.topics_of(state, how), terms.astype(np.int64), each
        )
        weight = online_state.term_weight(state.mass, state.seen_in[terms], how.idf)
        return online_batch.averages(rows, online_state.prior(state, how), weight, pairs, each)

    def _term_weight(self, state: OnlineMarginState) -> F32:
        return online_state.term_weight(state.mass, state.seen_in, bool(self.idf))

    # -- files ---------------------------------------------------------------------------------

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        waiting = checkpoint.arrays_of(self.pending_, "pending")
        return checkpoint.arrays_of(self.state_) | waiting | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(OnlineMarginState, arrays)
        pending = checkpoint.state_of(Examples, arrays, "pending")
        if not online_stream.sound(state, pending):
            raise ModelFileError("the model file's arrays do not fit each other; save it again")
        self.state_, self.pending_ = state, pending
        try:
            how = self._how(self._checked_parameters())
            self._check_stream(how, len(state.mean))
        except (TypeError, ValueError) as error:
            raise ModelFileError(f"the model file's parameters cannot be used: {error}") from None
        self._names = unpack_vocabulary(arrays.get("vocabulary"), len(state.raw))

    def _n_columns(self) -> int:
        return len(self.state_.raw)
