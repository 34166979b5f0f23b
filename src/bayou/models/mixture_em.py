"""Online EM for mixtures of multinomials: stepwise and incremental.

    y_d ~ w      w_di ~ phi_y      (all tokens of a document have one topic)

Stepwise EM blends the expected statistics of a mini-batch into those of all before with a weight of
(t + 2)^-exponent [Cappe09, Liang09]: one pass, constant memory, an exponent to choose. Incremental EM
remembers what each document contributed and replaces it when the document comes round again [Neal98]; its
first pass is stepwise EM with an exponent of 1.

[Cappe09] Cappe, Moulines. On-line expectation-maximization algorithm for latent data models. JRSS B 71, 2009.
[Liang09] Liang, Klein. Online EM for unsupervised models. NAACL 2009.
[Neal98] Neal, Hinton. A view of the EM algorithm that justifies incremental, sparse, and other variants. In
Learning in Graphical Models, 1998.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.mixture_estimator import MixtureEstimator
from bayou.data.checks import check_parameters, number, optional
from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.inference.lda import columns, documents
from bayou.inference.lda.arrays import F64, I64
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import mixture
from bayou.kernels import rng
from bayou.kernels.spectral import mixture as kernels
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint, loop
from bayou.run.loop import Info

LEAST_LENGTH = 1e-100  # of a topic that has lost all its terms: it is divided by


class State(NamedTuple):
    """What the next mini-batch needs: statistics, of a document on average or of all in sum."""

    raw: F64  # S_vk / scale, terms x topics
    share: F64  # s_k
    length: F64  # S_k
    known: F64  # counts of terms
    totals: F64  # scale, steps, documents, tokens

    @property
    def n_seen(self) -> int:
        """Documents so far, as often as they came."""
        return int(self.totals[2])


def init(pairs: Pairs, n_terms: int, p: SimpleNamespace, seed: int) -> State:
    """Random topics, as the statistics of one document of average length."""
    rows = mixture.random_start(n_terms, p.n_topics, seed)
    share = np.full(p.n_topics, 1.0 / p.n_topics)
    length = share * max(pairs.n_tokens / max(pairs.n_docs, 1), 1.0)
    return State(rows * length, share, length, np.zeros(n_terms), np.array([1.0, 0.0, 0.0, 0.0]))


def prior(p: SimpleNamespace, n_terms: int) -> tuple[float, float]:
    """Pseudo-tokens of the distribution of all terms in a topic, and of each term in that."""
    return float(n_terms if p.smoothing is None else p.smoothing), float(p.beta)


def update(state: State, pairs: Pairs, p: SimpleNamespace) -> State:
    """Mini-batches of a stream; the arrays are changed in place."""
    kernels.stepwise_docs(
        *state, tuple(pairs), 0, pairs.n_docs, p.batch_size, float(p.exponent),
        prior(p, len(state.raw)),
    )  # fmt: skip
    return state


def with_terms(state: State, keep: I64, n_new: int) -> tuple[State, float]:
    """Terms ``keep``, then ``n_new`` without statistics; and how often the others were met."""
    gone = columns.others(keep, len(state.raw))
    raw, known = (
        columns.move_rows(state.raw, keep, n_new),
        columns.move_rows(state.known, keep, n_new),
    )
    length, totals, tokens = state.length, state.totals.copy(), float(state.known[gone].sum())
    if len(gone):
        length = np.maximum(totals[0] * raw.sum(axis=0), LEAST_LENGTH)
        totals[3] = known.sum()
    return State(raw, state.share, length, known, totals), tokens


def posterior(state: State, p: SimpleNamespace, names: Any, n_docs: float) -> Posterior:
    """Smoothed topics; ``n_docs`` documents stand behind the statistics, one of them made up."""
    unigram = mixture.unigram_of(state.known, p.beta)
    rows = state.totals[0] * state.raw / state.length
    pseudo = prior(p, len(rows))[0]
    rows = mixture.smooth_rows(rows, state.length * n_docs, unigram, pseudo)
    weights = np.maximum(state.share / state.share.sum(), 1e-12)
    return Posterior(
        rows=mixture.as_rows(rows), alpha=weights, beta=float(p.beta),
        topic_tokens=state.length / state.length.sum() * state.known.sum(),
        scores=np.zeros(0), score_steps=np.zeros(0, np.int64), vocabulary=names, single=True,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class StepwiseEM(MixtureEstimator):
    """A mixture of multinomials by stepwise EM, in memory that does not grow.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    batch_size : int
        Documents in a mini-batch [m].
    exponent : float
        Mini-batch t weighs (t + 2)^-exponent [alpha], from 0.5 to 1. Small values forget the start soon and
        never come to rest; at 0.5 itself convergence is not guaranteed.
    n_passes : int
        Passes of `fit` over its documents, each in its own keyed order; `partial_fit` makes one.
    smoothing : float or None
        Pseudo-tokens of the distribution of all terms in each topic; None is as many as there are terms.
    beta : float
        Tokens of each term added to the distribution of all terms.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    weights_ : float64 array (topics,)
        Share of the documents in each topic.
    state_ : State
        Everything the next mini-batch needs.

    Examples
    --------
    >>> from bayou import StepwiseEM
    >>> from bayou.data.synthetic import sample_mixture
    >>> corpus, truth = sample_mixture(200, 3, 40, seed=1)
    >>> model = StepwiseEM(n_topics=3, batch_size=10, random_state=0).fit(corpus)
    >>> model.predict_proba(corpus).shape, int(model.state_.totals[1])
    ((200, 3), 20)
    """

    n_topics: int = 10
    batch_size: int = 100
    exponent: float = 0.7
    n_passes: int = 1
    smoothing: float | None = None
    beta: float = 0.01

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes; what was learned before is forgotten."""
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        self.state_ = self._begin(corpus, p)
        pairs = documents.pairs_of(corpus.counts)
        with loop.progress_bar(self.progress, "StepwiseEM") as bar:

            def step(done: int) -> tuple[int, Info | None]:
                if done == p.n_passes:
                    return done, None
                order = _order(corpus.n_docs, done, self.seed_)
                self.state_ = update(self.state_, documents.select(pairs, order), p)
                return done + 1, Info(done + 1, p.n_passes, "pass", math.nan, 0.0)

            callbacks = [*bar, *self._callbacks()]
            self.n_iter_ = loop.run(0, step, callbacks=callbacks, max_time=p.max_time)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the order given, `batch_size` at a time."""
        p = self._checked_parameters()
        first = not hasattr(self, "state_")
        corpus = self._corpus(X, reset=first)
        if first:
            self.state_ = self._begin(corpus, p)
        elif len(self.state_.share) != p.n_topics:
            raise ValueError(
                f"n_topics is {p.n_topics} but this stream has learned {len(self.state_.share)}; "
                "begin another model for another number of topics"
            )
        self.state_ = update(self.state_, documents.pairs_of(corpus.counts), p)
        self.n_iter_ = 1
        return self

    def _begin(self, corpus: Corpus, p: SimpleNamespace) -> State:
        self.seed_ = self._resolve_seed()
        self._names = corpus.vocabulary
        return init(documents.pairs_of(corpus.counts), corpus.n_terms, p, self.seed_)

    def _checked_parameters(self) -> SimpleNamespace:
        p = _checked(self._parameters())
        number("exponent", p.exponent, 0.5, 1.0)
        return p

    def _with_terms(self, keep: I64, n_new: int) -> float:
        self.state_, gone = with_terms(self.state_, keep, n_new)
        return gone

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "state_")

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now."""
        check_is_fitted(self)
        return posterior(
            self.state_, self._parameters(), self._names, float(self.state_.totals[2]) + 1.0
        )

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        return checkpoint.arrays_of(self.state_) | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(State, arrays)
        shape = np.shape(state.raw) if np.ndim(state.raw) == 2 else (-1, -1)
        check_arrays("raw", state.raw, np.float64, shape)
        check_arrays("known", state.known, np.float64, shape[:1])
        check_arrays("totals", state.totals, np.float64, (4,))
        for name in ("share", "length"):
            check_arrays(name, getattr(state, name), np.float64, shape[1:])
        if shape[1] < 1 or not (state.length > 0).all() or not state.totals[0] > 0:
            raise ModelFileError("the model file's statistics must be positive; save it again")
        self._names = unpack_vocabulary(arrays.get("vocabulary"), shape[0])
        self.state_ = state


@dataclass(kw_only=True, eq=False, repr=False)
class IncrementalEM(MixtureEstimator):
    """A mixture of multinomials by incremental EM over documents that fit in memory.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    batch_size : int
        Documents whose share is replaced at once.
    n_passes : int
        Passes over the documents, each in its own keyed order; the first learns, the others improve.
    tol : float
        No further pass is made when the log-likelihood per token gained less than this.
    smoothing : float or None
        Pseudo-tokens of the distribution of all terms in each topic; None is as many as there are terms.
    beta : float
        Tokens of each term added to the distribution of all terms.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`.

    Examples
    --------
    >>> from bayou import IncrementalEM
    >>> from bayou.data.synthetic import sample_mixture
    >>> corpus, truth = sample_mixture(200, 3, 40, seed=1)
    >>> IncrementalEM(n_topics=3, random_state=0).fit(corpus).weights_.shape
    (3,)
    """

    n_topics: int = 10
    batch_size: int = 1
    n_passes: int = 10
    tol: float = 1e-4
    smoothing: float | None = None
    beta: float = 0.01

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes."""
        p = self._checked_parameters()
        corpus = self._corpus(X, reset=True)
        self.seed_ = self._resolve_seed()
        pairs = documents.pairs_of(corpus.counts)
        state = init(pairs, corpus.n_terms, p, self.seed_)
        resp = np.zeros((corpus.n_docs, p.n_topics))
        n_tokens, scores = max(pairs.n_tokens, 1.0), [-math.inf]
        with loop.progress_bar(self.progress, "IncrementalEM") as bar:

            def step(done: int) -> tuple[int, Info | None]:
                rest = done > 1 and scores[-1] - scores[-2] < p.tol
                if done == p.n_passes or rest:
                    return done, None
                order = _order(corpus.n_docs, done, self.seed_)
                both = prior(p, corpus.n_terms)
                kernels.incremental_docs(*state, resp, order, tuple(pairs), p.batch_size, both)
                self.posterior_ = posterior(state, p, corpus.vocabulary, 1.0)
                scores.append(float(self.score_samples(corpus).sum()) / n_tokens)
                return done + 1, Info(done + 1, p.n_passes, "pass", scores[-1], 0.0)

            callbacks = [*bar, *self._callbacks()]
            self.n_iter_ = loop.run(0, step, callbacks=callbacks, max_time=p.max_time)
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = _checked(self._parameters())
        number("tol", p.tol, 0.0)
        return p


def _checked(p: SimpleNamespace) -> SimpleNamespace:
    check_parameters(p, ("n_topics", "batch_size", "n_passes"), ("beta", "max_time"))
    optional("smoothing", p.smoothing, 0.0)
    return p


def _order(n_docs: int, n: int, seed: int) -> NDArray[np.int64]:
    return np.asarray(
        rng.permutation(n_docs, np.uint64(rng.key(seed, rng.SHUFFLE, n, 0))), np.int64
    )
