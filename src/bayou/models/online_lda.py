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
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.vocabulary import Vocabulary
from bayou.estimator import Estimator, check_parameters, number, one_of, resolve_alpha, whole
from bayou.kernels import rng
from bayou.parts import prior, stream, topics
from bayou.parts.topics import F32, F64, Each
from bayou.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint, loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

LEAST_TAU = 1e-3  # at 0 the first step would be 1, and nothing that was known be left to scale


class State(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    raw: F32  # n_vk / scale, terms x topics
    scale: float
    topic: F64  # n_k
    alpha: F64
    beta: float


def init(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """Topics that are noise around the first mini-batch."""
    pairs = topics.pairs_of(corpus.counts)
    mass = max(corpus.n_tokens, 1.0) * (p.n_docs or corpus.n_docs) / corpus.n_docs
    g = stream.start(pairs, corpus.n_terms, p.n_topics, mass, seed, each)
    alpha = resolve_alpha(p.alpha, p.n_topics)
    return State(0, 0, g.raw, g.scale, g.topic, alpha, float(p.beta))


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
    return State(step, n_seen, *after, alpha, state.beta)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLDA(Estimator):
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
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    batch_size : int
        Documents in a mini-batch.
    burn_in, n_samples : int
        Passes over each document before its topics count, and after.
    n_docs : int or None
        Size of the whole corpus [D], which sets how strong the topics are against their prior; None is as
        many as have been seen.
    tau, kappa : float
        Step sizes (tau + t)^-kappa; tau at least 0.001, kappa in (0.5, 1].
    learn_alpha : bool
        Whether alpha is fitted along the way.
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
    n_passes: int = 3
    batch_size: int = 256
    burn_in: int = 3
    n_samples: int = 2
    n_docs: int | None = None
    tau: float = 10.0
    kappa: float = 0.6
    learn_alpha: bool = False

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
        batches = [
            corpus[order[i : i + p.batch_size]]
            for order in (self._order(corpus.n_docs, n) for n in range(p.n_passes))
            for i in range(0, corpus.n_docs, p.batch_size)
        ]
        self._learn(None, batches, p)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the order given, `batch_size` at a time."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._documents(X, p, reset=first)
        if first:
            self.seed_ = self._resolve_seed()
            self._names = corpus.vocabulary
        batches = [corpus[i : i + p.batch_size] for i in range(0, corpus.n_docs, p.batch_size)]
        self._learn(None if first else self.state_, batches, p)
        return self

    def _documents(self, X: Any, p: SimpleNamespace, *, reset: bool) -> Corpus:
        """The documents; for sampling in whole counts, with one warning for all mini-batches."""
        corpus = self._corpus(X, reset=reset)
        if p.inference != "hybrid" or not corpus.is_fractional:
            return corpus
        corpus.tokens()  # warns
        rounded = corpus.counts.copy()
        np.rint(rounded.data, out=rounded.data)
        return Corpus.from_matrix(rounded, vocabulary=corpus.vocabulary)

    def _learn(self, state: State | None, batches: list[Corpus], p: SimpleNamespace) -> None:
        with (
            Workers(self.n_threads) as workers,
            loop.progress_bar(self.progress, "OnlineLDA") as bar,
        ):
            begin = init(batches[0], p, self.seed_, workers.each) if state is None else state
            last = begin.step + len(batches)

            def step(state: State) -> tuple[State, Info | None]:
                if state.step == last:
                    return state, None
                batch = batches[state.step - begin.step]
                state = update(state, batch, p, self.seed_, workers.each)
                self.state_ = state  # counts change in place: an error later on must not part them
                return state, Info(state.step, last, p.inference, math.nan, 0.0)

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
        one_of("inference", p.inference, ("scvb0", "hybrid"))
        whole("burn_in", p.burn_in, 0)
        number("tau", p.tau, LEAST_TAU)
        number("kappa", p.kappa, 0.5, 1.0)
        if p.kappa == 0.5:
            raise ValueError("kappa must be above 0.5, or the steps never come to rest; got 0.5")
        return p

    @property
    def vocabulary_(self) -> Vocabulary | None:
        """The terms by name, or None."""
        return self._names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")  # `posterior_` would be computed only to be thrown away

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now."""
        if not hasattr(self, "state_"):
            raise AttributeError("posterior_: nothing has been fitted yet")
        s = self.state_
        # summed anew: along a stream n_k and the single-precision n_vk round differently
        totals = s.scale * topics.topic_totals(s.raw)
        inv = (1.0 / (totals + len(s.raw) * s.beta)).astype(np.float32)
        rows = (s.raw * np.float32(s.scale) + np.float32(s.beta)) * inv
        none = np.zeros(0)
        return Posterior(
            rows=rows, alpha=s.alpha, beta=s.beta, topic_tokens=totals,
            scores=none, score_steps=none.astype(np.int64), vocabulary=self._names,
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
        for name in ("step", "n_seen", "scale", "beta"):
            check_arrays(name, np.array(getattr(state, name), np.float64), np.float64, ())
        self._names = unpack_vocabulary(arrays.get("vocabulary"), shape[0])
        self.state_ = state
