"""Online EM for mixtures of multinomials: stepwise and incremental.

    y_d ~ w      w_di ~ phi_y      (all tokens of a document have one topic)

Stepwise EM blends the expected statistics of a mini-batch into those of all documents before it, with a
weight of (t + 2)^-exponent [Cappe09, Liang09]: one pass, constant memory, an exponent to choose. Incremental
EM stores the contribution of each document and replaces it in the next pass [Neal98]. Its first pass is
stepwise EM with an exponent of 1.

[Cappe09] Cappe, Moulines. On-line expectation-maximization algorithm for latent data models. JRSS B 71, 2009.
[Liang09] Liang, Klein. Online EM for unsupervised models. NAACL 2009.
[Neal98] Neal, Hinton. A view of the EM algorithm that justifies incremental, sparse, and other variants. In
Learning in Graphical Models, 1998.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou.api.estimator import Estimator, Saved
from bayou.api.mixture import Mixture
from bayou.api.params import param, settings
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topics import POSTERIOR, Topics
from bayou.data.checks import MAX_TOPICS
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array
from bayou.inference.lda import columns, documents
from bayou.inference.lda.arrays import F64, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture
from bayou.kernels.spectral import mixture as kernels
from bayou.results.posterior import Posterior
from bayou.run import batches, loop
from bayou.run.loop import Info

LEAST_LENGTH = 1e-100  # tokens of a topic that has lost all its terms; a divisor


class Settings(NamedTuple):
    """The parameters of one run."""

    n_terms: int
    n_topics: int
    batch_size: int
    n_passes: int
    exponent: float
    smoothing: float  # pseudo-tokens of the distribution of all terms in a topic
    beta: float  # tokens of each term added to the distribution of all terms
    phase: str = "mini-batch"


class State(NamedTuple):
    """Expected statistics: means per document (stepwise EM), or sums over documents (incremental EM)."""

    raw: Annotated[F64, Array("terms", "topics")]  # S_vk / scale
    share: Annotated[F64, Array("topics")]  # s_k
    length: Annotated[F64, Array("topics", gt=0.0)]  # S_k
    known: Annotated[F64, Array("terms")]  # counts of terms
    totals: Annotated[F64, Array(4)]  # scale, mini-batches, documents, tokens

    @property
    def step(self) -> int:
        """Mini-batches so far."""
        return int(self.totals[1])

    @property
    def n_seen(self) -> int:
        """Documents so far; a document counts once per pass."""
        return int(self.totals[2])


def check(state: State) -> None:
    """Refuse statistics of a file whose scale or number of topics is 0."""
    if not len(state.share) or not min(state.totals[0], state.share.sum()) > 1e-30:
        raise ModelFileError("the model file's statistics must be positive; train the model again")


def init(batch: Pairs, p: Settings, seed: int, each: Each | None = None) -> State:
    """Random topics, as the statistics of one document of average length."""
    rows = mixture.random_start(p.n_terms, p.n_topics, seed)
    share, totals = np.full(p.n_topics, 1.0 / p.n_topics), np.array([1.0, 0.0, 0.0, 0.0])
    length = share * max(batch.n_tokens / max(batch.n_docs, 1), 1.0)
    return State(rows * length, share, length, np.zeros(p.n_terms), totals)


def update(state: State, docs: Pairs, p: Settings, seed: int, each: Each | None = None) -> State:
    """Stepwise EM: S <- (1 - eta_t) S + eta_t E[statistics of mini-batch t], eta_t = (t + 2)^-exponent.

    ``docs`` may be several mini-batches. The arrays of the state change in place.
    """
    size, smooth = p.batch_size, (p.smoothing, p.beta)
    kernels.stepwise_docs(*state, tuple(docs), 0, docs.n_docs, size, p.exponent, smooth)
    return state


def move_terms(state: State, keep: I64, n_new: int) -> tuple[State, float]:
    """Terms ``keep``, then ``n_new`` without statistics; and the tokens of the other terms."""
    gone = columns.others(keep, len(state.raw))
    raw, known = (columns.move_rows(part, keep, n_new) for part in (state.raw, state.known))
    length, totals, tokens = state.length, state.totals.copy(), float(state.known[gone].sum())
    if len(gone):
        length = np.maximum(totals[0] * raw.sum(axis=0), LEAST_LENGTH)
        totals[3] = known.sum()
    return State(raw, state.share, length, known, totals), tokens


def posterior(state: State, p: Settings, vocabulary: Any, n_docs: float) -> Posterior:
    """Smoothed topics. The statistics are worth ``n_docs`` documents, one of them the start."""
    unigram = mixture.unigram_of(state.known, p.beta)
    rows = state.totals[0] * state.raw / state.length
    rows = mixture.smooth_rows(rows, state.length * n_docs, unigram, p.smoothing)
    weights = np.maximum(state.share / state.share.sum(), 1e-12)
    return Posterior(
        rows=mixture.as_rows(rows), alpha=weights, beta=p.beta,
        topic_tokens=state.length / state.length.sum() * state.known.sum(),
        scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=vocabulary, single=True,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class StepwiseEM(Mixture, Streaming, Topics, Estimator):
    """A mixture of multinomials by stepwise EM, in constant memory.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    batch_size : int
        Documents in a mini-batch [m].
    exponent : float
        Mini-batch t has the weight (t + 2)^-exponent [alpha], from 0.5 to 1. With small values the start
        loses its influence soon and the topics never come to rest. At 0.5 convergence is not guaranteed.
    n_passes : int
        Passes of `fit` over its documents, each in its own keyed order. `partial_fit` makes one.
    smoothing : float or None
        Pseudo-tokens of the distribution of all terms in each topic. Default: the number of terms.
    beta : float
        Tokens of each term added to the distribution of all terms.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    weights_ : float64 array (topics,)
        Share of the documents in each topic.
    state_, pending_ : State or None, Pairs
        Statistics after the last full mini-batch of a stream (None before it), and the documents after it.

    Examples
    --------
    >>> from bayou import StepwiseEM
    >>> from bayou.data.synthetic import sample_mixture
    >>> corpus, truth = sample_mixture(200, 3, 40, seed=1)
    >>> model = StepwiseEM(n_topics=3, batch_size=10, random_state=0).fit(corpus)
    >>> model.predict_proba(corpus).shape, model.state_.step
    ((200, 3), 20)
    """

    n_topics: int = param(10, ge=1, le=MAX_TOPICS)
    batch_size: int = param(100, ge=1)
    exponent: float = param(0.7, ge=0.5, le=1.0)
    n_passes: int = param(1, ge=1)
    smoothing: float | None = param(None, ge=0.0)
    beta: float = param(0.01, gt=0.0)

    algorithm: ClassVar[Stream] = Stream(
        State, Pairs, update, init, move_terms, omit_empty=True, check=check
    )
    saved: ClassVar[tuple[Saved, ...]] = (STREAM,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes. Everything learned before is discarded."""
        corpus = self._begin(X)
        p, pairs = self.resolve(), documents.pairs_of(corpus.counts)
        self.state_ = init(pairs, p, self.seed_)
        with loop.progress_bar(self.progress, "StepwiseEM") as bar:

            def step(done: int) -> tuple[int, Info | None]:
                if done == p.n_passes:
                    return done, None
                order = batches.order(self.seed_, corpus.n_docs, done)
                self.state_ = update(self.state_, pairs.take(order), p, self.seed_)
                return done + 1, Info(done + 1, p.n_passes, "pass", math.nan, 0.0)

            callbacks = [*bar, *self._callbacks()]
            self.n_iter_ = loop.run(0, step, callbacks=callbacks, max_time=self.max_time)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the order given, `batch_size` at a time.

        The last documents wait until their mini-batch is full; predictions include what they teach.
        """
        first = not self.__sklearn_is_fitted__()
        corpus = self._begin(X) if first else self._corpus(X, reset=False)
        self._learn_stream(documents.pairs_of(corpus.counts), self.resolve())
        self.n_iter_ = 1
        return self

    def _begin(self, X: Any) -> Corpus:
        """Check the parameters and the first documents, and discard what was learned before."""
        self.check_params()
        corpus = self._corpus(X, reset=True)
        self.seed_, self._names = self._resolve_seed(), corpus.vocabulary
        self.state_, self.pending_ = None, Pairs.none()
        return corpus

    def resolve(self) -> Settings:
        """The parameters of one run, checked against what was learned."""
        self.check_params()
        state = self.state_
        if state is not None and len(state.share) != self.n_topics:
            raise ValueError(
                f"n_topics is {self.n_topics} but this stream has {len(state.share)} topics; "
                "start another model for another number of topics"
            )
        return _settings(self, self.n_features_in_, float(self.exponent))

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now, with what the pending documents teach."""
        check_is_fitted(self)
        state, p = self._current(), _settings(self, self.n_features_in_, float(self.exponent))
        return posterior(state, p, self._names, float(state.totals[2]) + 1.0)


@dataclass(kw_only=True, eq=False, repr=False)
class IncrementalEM(Mixture, Topics, Estimator):
    """A mixture of multinomials by incremental EM over documents that fit in memory.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    batch_size : int
        Documents whose contribution is replaced at once.
    n_passes : int
        Passes over the documents, each in its own keyed order.
    tol : float
        Training ends when the log-likelihood per token gains less than this in a pass.
    smoothing, beta, max_time, random_state, n_threads, progress, callbacks
        As in `StepwiseEM`.

    Examples
    --------
    >>> from bayou import IncrementalEM
    >>> from bayou.data.synthetic import sample_mixture
    >>> corpus, truth = sample_mixture(200, 3, 40, seed=1)
    >>> IncrementalEM(n_topics=3, random_state=0).fit(corpus).weights_.shape
    (3,)
    """

    n_topics: int = param(10, ge=1, le=MAX_TOPICS)
    batch_size: int = param(1, ge=1)
    n_passes: int = param(10, ge=1)
    tol: float = param(1e-4, ge=0.0)
    smoothing: float | None = param(None, ge=0.0)
    beta: float = param(0.01, gt=0.0)

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in at most `n_passes` passes."""
        self.check_params()
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        p, pairs = _settings(self, corpus.n_terms, 1.0), documents.pairs_of(corpus.counts)
        state, resp = init(pairs, p, self.seed_), np.zeros((corpus.n_docs, p.n_topics))
        n_tokens, scores = max(pairs.n_tokens, 1.0), [-math.inf]
        with loop.progress_bar(self.progress, "IncrementalEM") as bar:

            def step(done: int) -> tuple[int, Info | None]:
                rest = done > 1 and scores[-1] - scores[-2] < self.tol
                if done == p.n_passes or rest:
                    return done, None
                order, smooth = (
                    batches.order(self.seed_, corpus.n_docs, done),
                    (p.smoothing, p.beta),
                )
                kernels.incremental_docs(*state, resp, order, tuple(pairs), p.batch_size, smooth)
                self.posterior_ = posterior(state, p, corpus.vocabulary, 1.0)
                scores.append(float(self.score_samples(corpus).sum()) / n_tokens)
                return done + 1, Info(done + 1, p.n_passes, "pass", scores[-1], 0.0)

            callbacks = [*bar, *self._callbacks()]
            self.n_iter_ = loop.run(0, step, callbacks=callbacks, max_time=self.max_time)
        return self


def _settings(model: StepwiseEM | IncrementalEM, n_terms: int, exponent: float) -> Settings:
    smoothing = float(n_terms if model.smoothing is None else model.smoothing)
    own = {"exponent": exponent, "smoothing": smoothing, "beta": float(model.beta)}
    return settings(Settings, model, n_terms=n_terms, phase="mini-batch", **own)
