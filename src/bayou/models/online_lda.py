"""Latent Dirichlet allocation on a stream of documents.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

The state holds expected counts n_vk over a corpus of D documents. A mini-batch is inferred under the current
topics. Its counts, scaled to the corpus, are blended in with rho_t = (tau + t)^-kappa
(`inference.lda.stream`). Memory does not grow with the stream.

[Hoffman10] Hoffman, Blei, Bach. Online learning for latent Dirichlet allocation. NIPS 2010.
[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Mimno12] Mimno, Hoffman, Blei. Sparse stochastic inference for latent Dirichlet allocation. ICML 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.passes import check_n_topics, fit_to_rest, read_first, read_more
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topics import Topics
from bayou.data.checks import MAX_TOPICS
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array, Number
from bayou.inference.lda import columns, documents, hybrid, prior, stream
from bayou.inference.lda.arrays import F32, F64, I64, Each, topic_totals
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import solve as spectral
from bayou.results.posterior import Posterior
from bayou.run.shards import Workers


class Settings(NamedTuple):
    """The parameters of one run."""

    n_terms: int
    n_topics: int
    alpha: F64
    beta: float
    inference: str
    start: str
    n_passes: int
    batch_size: int
    burn_in: int
    n_samples: int
    n_docs: int | None
    tau: float
    kappa: float
    learn_alpha: bool
    tol: float

    @property
    def phase(self) -> str:
        """What progress reports call a step."""
        return self.inference


class State(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    raw: Annotated[F32, Array("terms", "topics")]  # n_vk / scale
    scale: Annotated[float, Number(gt=0.0)]
    topic: Annotated[F64, Array("topics")]  # n_k
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    beta: Annotated[float, Number(gt=0.0)]
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # after passes of `fit`
    score_steps: Annotated[I64, Array("scores")]


def check_topics(state: State) -> None:
    """Refuse a state of a file that has no topics."""
    if not len(state.topic):
        raise ModelFileError("the file has no topics; train the model again")


def init(batch: Pairs, p: Settings, seed: int, each: Each) -> State:
    """Topics from noise around the documents' distribution of terms, or from their moments."""
    n_tokens = max(batch.n_tokens, 1.0)
    mass = n_tokens * (p.n_docs or batch.n_docs) / batch.n_docs
    if p.start == "spectral":
        raw = spectral.lda_start(batch, p.n_terms, p.n_topics, seed)
        scale = mass / n_tokens
        g = stream.StreamCounts(raw, scale, scale * topic_totals(raw))
    else:
        g = stream.start(batch, p.n_terms, p.n_topics, mass, seed, each)
    none = np.zeros(0), np.zeros(0, np.int64)
    return State(0, 0, g.raw, g.scale, g.topic, p.alpha, p.beta, *none)


def update(state: State, batch: Pairs, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch: local inference under the current topics, then n <- (1 - rho) n + rho (D/|M|) n_M."""
    step, n_seen, rho, gain, again = stream.pace(state.step, state.n_seen, batch.n_docs, p)
    local = stream.BatchSettings(state.alpha, state.beta, p.burn_in, p.n_samples, seed, step, again)
    before = stream.StreamCounts(state.raw, state.scale, state.topic)
    if p.inference == "hybrid":
        tokens = documents.tokens_of(batch)
        after, lists = hybrid.step(before, tokens, local, rho, gain, each)
        if p.learn_alpha:
            doc_topic = hybrid.doc_topic(lists, tokens, len(state.alpha), each)
    else:
        after, doc_topic = stream.scvb0_step(before, batch, local, rho, gain, each)
    alpha = state.alpha
    if p.learn_alpha:
        alpha = (1.0 - rho) * alpha + rho * prior.estimate_alpha(alpha, doc_topic)
    return State(step, n_seen, *after, alpha, state.beta, state.scores, state.score_steps)


def move_terms(state: State, keep: I64, n_new: int) -> tuple[State, float]:
    """Columns ``keep``, then ``n_new`` that have the prior only; and the tokens of the other columns."""
    raw, topic, gone = columns.move_counts(state.raw, state.scale, state.topic, keep, n_new)
    return state._replace(raw=raw, topic=topic), gone


def posterior(state: State, vocabulary: Any) -> Posterior:
    """Topics from the current counts."""
    rows, totals = stream.rows_of(state.raw, state.scale, state.beta)
    return Posterior(
        rows=rows, alpha=state.alpha, beta=state.beta, topic_tokens=totals, scores=state.scores,
        score_steps=state.score_steps, vocabulary=vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLDA(Streaming, Topics, Estimator):
    """Latent Dirichlet allocation learned from mini-batches, in memory that does not grow.

    Parameters
    ----------
    n_topics : int
        Number of topics [K].
    alpha : float, array (topics,) or None
        Prior of a document's topics. Default: min(0.1, 50 / K).
    beta : float
        Prior of a topic's terms.
    inference : {"scvb0", "hybrid"}
        Local inference of a mini-batch: variational passes or Gibbs sweeps over each document. Sampling gives
        better topics. It needs whole counts and rounds fractional ones.
    start : {"noise", "spectral"}
        Initialisation: noise around the first mini-batch, or topics computed from moments. `fit` uses the
        moments of all its documents, a stream those of its first mini-batch.
    n_passes : int
        Passes of `fit` over its documents. `partial_fit` makes one.
    batch_size : int or None
        Documents per mini-batch. None: a fortieth of the documents given to `fit`, or of `n_docs`, from 8 to
        128; 64 on a stream of unknown length.
    burn_in, n_samples : int
        Passes over each document before its topics count, and after.
    n_docs : int or None
        Size of the whole corpus [D]. It sets the weight of the topics against their prior. Default: the
        number of documents given to `fit`; on a stream the number of documents so far, including repeats.
    tau, kappa : float
        Step sizes (tau + t)^-kappa; tau at least 0.001, kappa in (0.5, 1].
    learn_alpha : bool
        Whether alpha is estimated during training.
    tol : float
        `fit` scores a sample of its documents after each pass. It ends when a pass gained less than this in
        log-likelihood per token.
    max_time : float or None
        Seconds after which `fit` starts no further mini-batch.
    random_state, n_threads, progress, callbacks
        As in `LDA`. Callbacks are called after each mini-batch.

    Attributes
    ----------
    state_ : State or None
        Everything known after the last full mini-batch, saved with the model. None before the first.
    pending_ : Pairs
        Documents of the mini-batch that is not full yet. Predictions include them.

    Examples
    --------
    >>> from bayou import OnlineLDA
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=200, n_topics=3, n_terms=30, seed=1)
    >>> model = OnlineLDA(n_topics=3, batch_size=50, random_state=0)
    >>> for start in range(0, 200, 50):
    ...     model = model.partial_fit(corpus[start : start + 50])
    >>> model.state_.n_seen, model.components_.shape
    (200, (3, 30))
    """

    n_topics: int = param(50, ge=1, le=MAX_TOPICS)
    alpha: float | ArrayLike | None = None
    beta: float = param(0.01, gt=0.0)
    inference: str = param("scvb0", choices=("scvb0", "hybrid"))
    start: str = param("noise", choices=("noise", "spectral"))
    n_passes: int = param(3, ge=1)
    batch_size: int | None = param(256, ge=1)
    burn_in: int = param(3, ge=0)
    n_samples: int = param(2, ge=1)
    n_docs: int | None = param(None, ge=1)
    tau: float = param(10.0, ge=stream.LEAST_TAU)
    kappa: float = param(0.6, gt=0.5, le=1.0)
    learn_alpha: bool = False
    tol: float = param(5e-4, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(
        State, Pairs, update, init, move_terms, omit_empty=True, chunk=1, check=check_topics
    )
    saved: ClassVar[tuple[Saved, ...]] = (STREAM,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents in `n_passes` passes, each in its own keyed order.

        Everything learned before is discarded; `partial_fit` continues.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
        y : ignored
        """
        corpus = read_first(self, X, whole=self.inference == "hybrid")
        n_docs = self.n_docs or corpus.n_docs
        size = self.batch_size or stream.batch_size(corpus.n_docs)
        p, state = self.resolve()._replace(n_docs=n_docs, batch_size=size), None
        if p.start == "spectral":
            with Workers(self.n_threads) as workers:
                pairs = documents.pairs_of(corpus.counts)
                state = init(pairs, p, self.seed_, workers.each)
        fit_to_rest(self, corpus, p, patience=1, state=state)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, in the given order, `batch_size` at a time.

        The last documents wait until their mini-batch is full. Predictions include them. The result does not
        depend on how a stream is cut into calls.
        """
        corpus = read_more(self, X, whole=self.inference == "hybrid")
        self._learn_stream(documents.pairs_of(corpus.counts), self.resolve())
        return self

    def resolve(self) -> Settings:
        """The parameters of one run, checked against what was learned."""
        self.check_params()
        check_n_topics(self)
        return settings(
            Settings, self, n_terms=self.n_features_in_, beta=float(self.beta),
            alpha=prior.resolve_alpha(self.alpha, self.n_topics),
            batch_size=self.batch_size or stream.batch_size(self.n_docs),
        )  # fmt: skip

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed."""
        super().check_params()
        prior.resolve_alpha(self.alpha, self.n_topics)

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The current topics, including the pending documents."""
        return posterior(self._current(), self._names)
