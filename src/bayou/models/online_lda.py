"""Latent Dirichlet allocation on a stream of documents.

    phi_k ~ Dir(beta)      theta_d ~ Dir(alpha)      z_di ~ theta_d      w_di ~ phi_z

The topics are kept as expected counts n_vk over a corpus of D documents. A mini-batch is inferred under
the topics as they are, and its counts, scaled to the corpus, are blended in with
rho_t = (tau + t)^-kappa (`inference.lda.stream`). Nothing else is kept: memory does not grow with the stream.

[Hoffman10] Hoffman, Blei, Bach. Online learning for latent Dirichlet allocation. NIPS 2010.
[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_stream import TopicStream, check_state
from bayou.data.checks import one_of
from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.inference.lda import arrays as lda_arrays
from bayou.inference.lda import documents, hybrid, prior, stream
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.lda.prior import resolve_alpha
from bayou.inference.spectral import solve
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint


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
    pairs = documents.pairs_of(corpus.counts)
    mass = max(corpus.n_tokens, 1.0) * (p.n_docs or corpus.n_docs) / corpus.n_docs
    if p.start == "spectral":
        raw = solve.lda_start(pairs, corpus.n_terms, p.n_topics, seed)
        scale = mass / max(corpus.n_tokens, 1.0)
        g = stream.StreamCounts(raw, scale, scale * lda_arrays.topic_totals(raw))
    else:
        g = stream.start(pairs, corpus.n_terms, p.n_topics, mass, seed, each)
    alpha = resolve_alpha(p.alpha, p.n_topics)
    none = np.zeros(0), np.zeros(0, np.int64)
    return State(0, 0, g.raw, g.scale, g.topic, alpha, float(p.beta), *none)


def update(state: State, corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """One mini-batch: local inference under the current topics, then the blend."""
    step, n_seen, rho, gain, again = stream.pace(state.step, state.n_seen, corpus.n_docs, p)
    local = stream.BatchSettings(state.alpha, state.beta, p.burn_in, p.n_samples, seed, step, again)
    before = stream.StreamCounts(state.raw, state.scale, state.topic)
    if p.inference == "hybrid":
        tokens = documents.Tokens(*corpus.tokens())
        after, lists = hybrid.step(before, tokens, local, rho, gain, each)
        if p.learn_alpha:
            doc_topic = hybrid.doc_topic(lists, tokens, len(state.alpha), each)
    else:
        pairs = documents.pairs_of(corpus.counts)
        after, doc_topic = stream.scvb0_step(before, pairs, local, rho, gain, each)
    alpha = state.alpha
    if p.learn_alpha:
        alpha = (1.0 - rho) * alpha + rho * prior.estimate_alpha(alpha, doc_topic)
    return State(step, n_seen, *after, alpha, state.beta, state.scores, state.score_steps)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineLDA(TopicStream):
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
        gives the better topics; it needs whole counts and rounds fractional ones.
    start : {"noise", "spectral"}
        Where topics begin: at noise around the first mini-batch, or solved for from the moments of the
        documents given to `fit` or first given to `partial_fit`.
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    batch_size : int or None
        Documents in a mini-batch. None is a fortieth of the documents given to `fit`, or of `n_docs`, from 8
        to 128; 64 on a stream of unknown length.
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
    batch_size: int | None = 256
    burn_in: int = 3
    n_samples: int = 2
    n_docs: int | None = None
    tau: float = 10.0
    kappa: float = 0.6
    learn_alpha: bool = False
    tol: float = 5e-4

    def _begin(self, corpus: Corpus, p: SimpleNamespace, each: Each) -> State:
        return init(corpus, p, self.seed_, each)

    def _advance(self, state: State, corpus: Corpus, p: SimpleNamespace, each: Each) -> State:
        return update(state, corpus, p, self.seed_, each)

    def _opening(self, corpus: Corpus, first: Corpus, p: SimpleNamespace) -> Corpus:
        return corpus if p.start == "spectral" else first

    def _samples(self, p: SimpleNamespace) -> bool:
        return bool(p.inference == "hybrid")

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        resolve_alpha(p.alpha, p.n_topics)
        one_of("inference", p.inference, ("scvb0", "hybrid"))
        one_of("start", p.start, ("noise", "spectral"))
        return p

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics as they are now."""
        check_is_fitted(self)
        s = self.state_
        rows, totals = stream.rows_of(s.raw, s.scale, s.beta)
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
        shape = check_state(state)
        check_arrays("alpha", state.alpha, np.float64, shape[1:])
        if shape[1] < 1 or not (state.alpha > 0).all():
            raise ModelFileError("the model file's priors must be positive; save it again")
        self._names = unpack_vocabulary(arrays.get("vocabulary"), shape[0])
        self.state_ = state
