"""Latent Dirichlet allocation on a stream of documents.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

The topics are kept as expected counts n_vk over a corpus of D documents. A mini-batch is inferred under
the topics as they are, and its counts, scaled to the corpus, are blended in with
rho_t = (tau + t)^-kappa (`parts.stream`). Nothing else is kept: memory does not grow with the stream.

[Hoffman10] Hoffman, Blei, Bach. Online learning for latent Dirichlet allocation. NIPS 2010.
[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.data.vocabulary import Vocabulary
from bayou.kernels import rng
from bayou.parameters import check_parameters, number, one_of, resolve_alpha, whole
from bayou.parts import prior, spectral, stream, topics
from bayou.parts.topics import F32, F64, I64, Each
from bayou.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint, loop
from bayou.run.loop import Info
from bayou.run.shards import Workers
from bayou.topic_estimator import TopicEstimator

LEAST_TAU = 1e-3  # at 0 the first step would be 1, and nothing that was known be left to scale


N_SCORED = 500  # documents whose score ends `fit`


class State(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    raw: F32  # n_vk / scale, terms x topics
    scale: float
    topic: F64  # n_k
    alpha: F64
    beta: float
    scores: F64  # log-likelihood per token of a sample of documents, after each pass of `fit`
    score_steps: I64


def init(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """Topics that are noise around the first documents, or solved for from their moments."""
    pairs = topics.pairs_of(corpus.counts)
    mass = max(corpus.n_tokens, 1.0) * (p.n_docs or corpus.n_docs) / corpus.n_docs
    if p.start == "spectral":
        raw = spectral.lda_start(pairs, corpus.n_terms, p.n_topics, seed)
        scale = mass / max(corpus.n_tokens, 1.0)
        g = stream.Global(raw, scale, scale * topics.topic_totals(raw))
    else:
        g = stream.start(pairs, corpus.n_terms, p.n_topics, mass, seed, each)
    alpha = resolve_alpha(p.alpha, p.n_topics)
    none = np.zeros(0), np.zeros(0, np.int64)
    return State(0, 0, g.raw, g.scale, g.topic, alpha, float(p.beta), *none)


def update(state: State, corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """One mini-batch: local inference under the current topics, then the blend."""
    n_seen, step = state.n_seen + corpus.n_docs, state.step + 1
    rho = (p.tau + step) ** -p.kappa
    gain = (p.n_docs or n_seen) / corpus.n_docs
    local = stream.Local(state.alpha, state.beta, p.burn_in, p.n_samples, seed, step)
    before = stream.Global(state.raw, state.scale, state.topic)
    if p.inference == "hybrid":
        tokens = topics.Tokens(*corpus.tokens())
        after, doc_topic = stream.hybrid_step(before, tokens, local, rho, gain, each)
    else:
        pairs = topics.pairs_of(corpus.counts)
        after, doc_topic = stream.scvb0_step(before, pairs, local, rho, gain, each)
    alpha = state.alpha
    if p.learn_alpha:
        alpha = (1.0 - rho) * alpha + rho * prior.learned_alpha(alpha, doc_topic)
    return State(step, n_seen, *after, alpha, state.beta, state.scores, state.score_steps)


def _at_rest(state: State, tol: float) -> bool:
    """Whether the score just taken gained less than ``tol`` over the one before."""
    fresh = len(state.scores) > 1 and state.score_steps[-1] == state.step
    return bool(fresh and state.scores[-1] - state.scores[-2] < tol)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLDA(TopicEstimator):
    """Latent Dirichlet allocation learned from mini-batches, in memory that does not grow.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha : float, array of one number a topic, or None
        Prior of a document's topics; None is min(0.1, 50 / K).
    beta : float
        Prior of a topic's terms.
    inference : {"scvb0", "hybrid"}
        How a mini-batch is inferred: variational passes, or Gibbs sweeps, over each document. Sampling
        needs whole counts and rounds fractional ones.
    start : {"noise", "spectral"}
        Where topics begin: at noise around the first mini-batch, or solved for from the moments of the
        documents given to `fit` or first given to `partial_fit`.
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    batch_size : int
        Documents in a mini-batch.
    burn_in, n_samples : int
        Passes over each document before its topics count, and after.
    n_docs : int or None
        Size of the whole corpus [D], which sets how strong the topics are against their prior; None is the
        corpus given to `fit`, and on a stream as many documents as have come, repeats included.
    tau, kappa : float
        Step sizes (tau + t)^-kappa; tau at least 0.001, kappa in (0.5, 1].
    learn_alpha : bool
        Whether alpha is fitted along the way.
    tol : float
        `fit` scores a sample of its documents after each pass and makes no further one when the gain in
        log-likelihood per token was below this.
    max_time : float or None
        Seconds after which `fit` begins no further mini-batch.
    random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    state_ : State
        Everything the next mini-batch needs; saved with the model, so that a loaded model goes on as if it
        had never been away.

    Examples
    --------
    >>> from bayou import OnlineLDA
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=200, n_topics=3, n_terms=30, seed=1)
    >>> model = OnlineLDA(n_topics=3, random_state=0)
    >>> for start in range(0, 200, 50):
    ...     model = model.partial_fit(corpus[start : start + 50])
    >>> model.state_.n_seen, model.components_.shape
    (200, (3, 30))
    """

    n_topics: int = 50
    alpha: float | ArrayLike | None = None
    beta: float = 0.01
    inference: str = "scvb0"
    start: str = "noise"
    n_passes: int = 3
    batch_size: int = 256
    burn_in: int = 3
    n_samples: int = 2
    n_docs: int | None = None
    tau: float = 10.0
    kappa: float = 0.6
    learn_alpha: bool = False
    tol: float = 5e-4

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
        p.n_docs = p.n_docs or corpus.n_docs
        per_pass = -(-corpus.n_docs // p.batch_size)
        order = lru_cache(maxsize=1)(lambda n: self._order(corpus.n_docs, n))

        def batch(i: int) -> Corpus:
            n, at = divmod(i, per_pass)
            return corpus[order(n)[at * p.batch_size : (at + 1) * p.batch_size]]

        sample = corpus[np.sort(self._order(corpus.n_docs, p.n_passes)[:N_SCORED])]
        first = corpus if p.start == "spectral" else batch(0)
        self._learn(first, p.n_passes * per_pass, batch, p, (per_pass, sample))
        learned: State = self.__dict__["state_"]
        self.state_ = learned._replace(n_seen=corpus.n_docs)  # however often each was seen
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the order given, `batch_size` at a time."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._documents(X, p, reset=first)
        if first:
            self.seed_ = self._resolve_seed()
            self._names = corpus.vocabulary
        elif len(self.state_.alpha) != p.n_topics:
            raise ValueError(
                f"n_topics is {p.n_topics} but this stream has learned {len(self.state_.alpha)}; "
                "begin another model for another number of topics"
            )

        def batch(i: int) -> Corpus:
            return corpus[i * p.batch_size : (i + 1) * p.batch_size]

        n_batches = -(-corpus.n_docs // p.batch_size)
        begin = corpus if p.start == "spectral" else batch(0)
        self._learn(begin if first else self.state_, n_batches, batch, p)
        return self

    def _documents(self, X: Any, p: SimpleNamespace, *, reset: bool) -> Corpus:
        """The documents; for sampling in whole counts, with one warning for all mini-batches."""
        corpus = self._corpus(X, reset=reset)
        return corpus.rounded() if p.inference == "hybrid" else corpus

    def _learn(
        self,
        state: State | Corpus,
        n_batches: int,
        batch_of: Callable[[int], Corpus],
        p: SimpleNamespace,
        watch: tuple[int, Corpus] | None = None,
    ) -> None:
        """Learn from so many mini-batches, from a state or from one made of documents.

        ``watch`` = after how many to score which documents.
        """
        with (
            Workers(self.n_threads) as workers,
            loop.progress_bar(self.progress, "OnlineLDA") as bar,
        ):
            if isinstance(state, Corpus):
                state = init(state, p, self.seed_, workers.each)
            begin = state
            last = begin.step + n_batches

            def step(state: State) -> tuple[State, Info | None]:
                if state.step == last or _at_rest(state, p.tol):
                    return state, None
                batch, score = batch_of(state.step - begin.step), math.nan
                state = update(state, batch, p, self.seed_, workers.each)
                self.state_ = state  # counts change in place: an error later on must not part them
                if watch is not None and (state.step - begin.step) % watch[0] == 0:
                    score = self.log_likelihood(watch[1])
                    scores = np.append(state.scores, score)
                    steps = np.append(state.score_steps, state.step)
                    self.state_ = state = state._replace(scores=scores, score_steps=steps)
                return state, Info(state.step, last, p.inference, score, 0.0)

            callbacks = [*bar, *self._callbacks()]
            loop.run(begin, step, callbacks=callbacks, max_time=p.max_time)
        self.n_iter_ = self.state_.step

    def _order(self, n_docs: int, n: int) -> NDArray[np.int64]:
        key = np.uint64(rng.key(self.seed_, rng.SHUFFLE, n, 0))
        return np.asarray(rng.shuffled(n_docs, key), np.int64)

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        check_parameters(
            p, ("n_topics", "n_passes", "batch_size", "n_samples", "n_docs"), ("beta", "max_time")
        )
        resolve_alpha(p.alpha, p.n_topics)
        one_of("inference", p.inference, ("scvb0", "hybrid"))
        one_of("start", p.start, ("noise", "spectral"))
        whole("burn_in", p.burn_in, 0)
        number("tau", p.tau, LEAST_TAU)
        number("tol", p.tol, 0.0)
        number("kappa", p.kappa, 0.5, 1.0)
        if p.kappa == 0.5:
            raise ValueError("kappa must be above 0.5, or the steps never come to rest; got 0.5")
        return p

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """The terms by name, or None."""
        check_is_fitted(self)
        return self._names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")  # `posterior_` would be computed only to be thrown away

    @property
    def scores_(self) -> F64:
        """Log-likelihood per token of a sample of documents after each pass of `fit`."""
        check_is_fitted(self)
        return np.asarray(self.state_.scores, np.float64)

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now."""
        check_is_fitted(self)
        s = self.state_
        # summed anew: along a stream n_k and the single-precision n_vk round differently
        totals = s.scale * topics.topic_totals(s.raw)
        inv = (1.0 / (totals + len(s.raw) * s.beta)).astype(np.float32)
        rows = (s.raw * np.float32(s.scale) + np.float32(s.beta)) * inv
        return Posterior(
            rows=rows, alpha=s.alpha, beta=s.beta, topic_tokens=totals,
            scores=s.scores, score_steps=s.score_steps,
            vocabulary=self._names,
        )  # fmt: skip

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        return checkpoint.arrays_of(self.state_) | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(State, arrays)
        shape = np.shape(state.raw) if np.ndim(state.raw) == 2 else (-1, -1)
        check_arrays("raw", state.raw, np.float32, shape)
        check_arrays("topic", state.topic, np.float64, shape[1:])
        check_arrays("alpha", state.alpha, np.float64, shape[1:])
        check_arrays("scores", state.scores, np.float64, np.shape(state.score_steps), finite=False)
        check_arrays("score_steps", state.score_steps, np.int64, (np.size(state.scores),))
        whole, real = (state.step, state.n_seen), (state.scale, state.beta)
        if not all(type(n) is int and n >= 0 for n in whole):
            raise ModelFileError("the model file's step and n_seen must be whole; save it again")
        if not all(type(x) is float and 0.0 < x < math.inf for x in real):
            raise ModelFileError("the model file's scale and beta must be positive; save it again")
        if shape[1] < 1 or not (state.alpha > 0).all():
            raise ModelFileError("the model file's priors must be positive; save it again")
        self._names = unpack_vocabulary(arrays.get("vocabulary"), shape[0])
        self.state_ = state
