"""The hierarchical Dirichlet process on a stream of documents: topics are born and die below a ceiling.

    G0 ~ DP(gamma, H)      G_d ~ DP(alpha, G0)      H: phi ~ Dir(beta)      z_di ~ G_d      w_di ~ phi_z

The state holds expected counts n_vk and expected tables M_k (how often documents have opened topic k), both
over a corpus of D documents, and the two concentrations. Over at most K topics G0 is Dir(gamma / K, ...) with
mean g_k = (M_k + gamma / K) / (M + gamma). While the topics are frozen, a document's table indicators can
be summed out of the hybrid variational-Gibbs algorithm [Burkhardt17], which extends that of LDA [Mimno12].
What remains is the Polya form

    p(z_di = k) ~ (n_dk + alpha g_k) phi_vk

of `lda.hybrid`, and tables enter in expectation only, alpha g_k (psi(alpha g_k + n_dk) - psi(alpha g_k)).
With a discount tables are sampled (`hdp.discounted`). The truncation-free variant [Wang12] samples a
mini-batch with births instead (`hdp.births`).

[Burkhardt17] Burkhardt, Kramer. Online sparse collapsed hybrid variational-Gibbs algorithm for hierarchical
Dirichlet process topic models. ECML PKDD 2017.
[Mimno12] Mimno, Hoffman, Blei. Sparse stochastic inference for latent Dirichlet allocation. ICML 2012.
[Wang12] Wang, Blei. Truncation-free online variational inference for Bayesian nonparametric models.
NIPS 2012.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.passes import check_n_topics, fit_to_rest, hold_out, read_first, read_more
from bayou.api.streaming import STREAM, Stream, Streaming
from bayou.api.topic_number import TopicNumber
from bayou.api.topics import Topics
from bayou.data.checks import MAX_TOPICS
from bayou.data.schema import Array, Number
from bayou.inference.hdp import local_step, merge, root
from bayou.inference.hdp.concentration import LEAST, MOST
from bayou.inference.hdp.held_out_alpha import estimate_alpha, n_held_out
from bayou.inference.hdp.initial_topics import mean_length
from bayou.inference.hdp.root import TopicIds
from bayou.inference.lda import columns, documents, stream
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.lda.stream import BatchSettings, StreamCounts
from bayou.results.posterior import Posterior
from bayou.run.shards import Workers

HYBRID, BIRTHS = "hybrid", "truncation-free"
WIDE = 5.0  # mean length of a document over the first concentration


class Settings(NamedTuple):
    """The parameters of one run."""

    n_terms: int
    n_topics: int
    alpha: float | None
    gamma: float
    beta: float
    discount: float
    inference: str
    learn_alpha: bool
    learn_gamma: bool
    merge: bool
    n_passes: int
    batch_size: int
    burn_in: int
    n_samples: int
    n_docs: int | None
    tau: float
    kappa: float
    tol: float
    phase: str  # what progress reports call a step


class State(NamedTuple):
    """What the next mini-batch needs. A topic occupies a slot."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    raw: Annotated[F32, Array("terms", "slots")]  # n_vk / scale
    scale: Annotated[float, Number(gt=0.0)]
    topic: Annotated[F64, Array("slots")]  # n_k
    tables: Annotated[F64, Array("slots")]  # M_k
    alpha: Annotated[float, Number(gt=0.0)]  # b1
    gamma: Annotated[float, Number(gt=0.0)]  # b0
    beta: Annotated[float, Number(gt=0.0)]
    ids: Annotated[I64, Array("slots", ge=root.SPARE)]  # id of the slot's topic, or root.SPARE
    n_born: int
    n_died: int
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # after passes of `fit`
    score_steps: Annotated[I64, Array("scores")]


def init(batch: Pairs, p: Settings, seed: int, each: Each) -> State:
    """A topic of noise around the first mini-batch in each slot; truncation-free: no topic."""
    length, n_docs = mean_length(documents.tokens_of(batch)), p.n_docs or batch.n_docs
    alpha = max(length / WIDE, 1.0) if p.alpha is None else float(p.alpha)
    if p.inference == BIRTHS:
        g, tables, topics = local_step.start_empty(p.n_topics, p.n_terms)
    else:
        sizes = p.n_topics, p.n_terms, n_docs
        g, tables, topics = local_step.start_with_noise(batch, *sizes, alpha, seed, each)
    none = np.zeros(0), np.zeros(0, np.int64)
    return State(0, 0, *g, tables, alpha, float(p.gamma), p.beta, *topics, *none)


def update(state: State, batch: Pairs, p: Settings, seed: int, each: Each) -> State:
    """One mini-batch: local inference, n <- (1 - rho) n + rho (D/|M|) n_M, births and deaths."""
    tokens, in_slots = documents.tokens_of(batch), p.inference == HYBRID
    pace = stream.pace(state.step, state.n_seen, batch.n_docs, p)
    alpha, gamma, sweeps = state.alpha, state.gamma, (p.burn_in, p.n_samples)
    topics = TopicIds(state.ids, state.n_born, state.n_died)
    known = local_step.RootState(state.tables, topics, alpha, gamma, p.discount)
    local = BatchSettings(np.array([alpha]), state.beta, *sweeps, seed, pace.step, pace.again)
    learn = local_step.learn_slots if in_slots else local_step.learn_births
    g = StreamCounts(state.raw, state.scale, state.topic)
    g, tables, opened = learn(g, known, tokens, local, pace, each)
    if p.learn_alpha and not pace.again:
        lengths = np.diff(tokens.indptr).astype(np.float64)
        found = root.document_concentration(alpha, opened, lengths, pace.gain)
        alpha = (1.0 - pace.rho) * alpha + pace.rho * found
    if in_slots:
        ripe = root.is_ripe(pace.step, p.tau, p.kappa)
        topics = merge.settle_slots(g, tables, topics, state.beta, ripe=ripe, merging=p.merge)
    else:
        topics = merge.settle_births(g, tables, topics)
    if p.learn_gamma:
        n_topics = None if in_slots else int((topics.ids != root.SPARE).sum())
        gamma = root.root_concentration(gamma, tables, n_topics)
    return State(
        pace.step, pace.n_seen, *g, tables, alpha, gamma, state.beta, *topics, state.scores,
        state.score_steps,
    )  # fmt: skip


def learn_alpha(state: State, held_out: Pairs, p: Settings, seed: int, each: Each) -> State:
    """The state with the concentration estimated from held-out documents."""
    g = StreamCounts(state.raw, state.scale, state.topic)
    share = root.shares(state.tables, state.gamma)
    local = BatchSettings(share, state.beta, p.burn_in, p.n_samples, seed, state.step)
    tokens = documents.tokens_of(held_out)
    return state._replace(alpha=estimate_alpha(g, state.alpha, share, tokens, local, each))


def move_terms(state: State, keep: I64, n_new: int) -> tuple[State, float]:
    """Columns ``keep``, then ``n_new`` that have the prior only; and the tokens of the other columns."""
    raw, topic, gone = columns.move_counts(state.raw, state.scale, state.topic, keep, n_new)
    tables = columns.limit_tables(state.tables, state.topic, topic)
    return state._replace(raw=raw, topic=topic, tables=tables), gone


def live_slots(state: State) -> I64:
    """The slots of the topics in use, the most used first."""
    return root.living(TopicIds(state.ids, 0, 0), state.tables, state.topic)


def posterior(state: State, vocabulary: Any) -> Posterior:
    """The topics in use, the most used first, with alpha g_k as the prior of a document's topics."""
    live = live_slots(state)
    rows, totals = stream.rows_of(np.ascontiguousarray(state.raw[:, live]), state.scale, state.beta)
    return Posterior(
        rows=rows, alpha=state.alpha * root.shares(state.tables, state.gamma)[live], beta=state.beta,
        topic_tokens=totals, scores=state.scores, score_steps=state.score_steps, vocabulary=vocabulary,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineHDP(Streaming, TopicNumber, Topics, Estimator):
    """The hierarchical Dirichlet process from mini-batches: topics are born and die below a ceiling.

    Topics die when the stream no longer uses them; new ones are born in free slots. The most used come first.

    Parameters
    ----------
    n_topics : int
        Largest number of topics [K], on which the number in use depends. Memory is terms x `n_topics`.
    alpha : float or None
        Concentration of a document's topics around those of the corpus [b1]; its start if it is learned.
        Default: a fifth of the mean document length, at least 1.
    gamma : float
        Concentration of the corpus' topics [b0]; its start if it is learned. Larger means more topics.
    beta : float
        Prior of a topic's terms.
    discount : float
        In (0, 1) documents are Pitman-Yor processes: slower, one thread, and `fit` holds out no documents.
    inference : {"hybrid", "truncation-free"}
        Gibbs sweeps over each document under frozen topics, starting from `n_topics` topics; or exact Gibbs
        sampling of the mini-batch with births, from none: for comparison, slower, serial, fewer topics.
    learn_alpha, learn_gamma : bool
        Whether the concentrations are learned; alpha from documents that are read for the first time. `fit`
        holds out one in twenty, at most 100, estimates alpha on them, and learns from them last.
    merge : bool
        Whether two topics are merged if one explains their words better; else there are more.
    n_passes, batch_size, burn_in, n_samples, n_docs, tau, kappa, tol, max_time
        As in `OnlineLDA`. `fit` ends after two passes in a row that gained less than `tol`. `n_docs` also
        decides which topics are in use; further documents are taken as repeats.
    random_state, n_threads, progress, callbacks
        As in `LDA`. Callbacks are called after each mini-batch.

    Attributes
    ----------
    n_topics_, n_large_ : int
        Number of topics that D documents use with probability above 1/2, and of large topics.
    topic_ids_ : int64 array (topics,)
        Permanent id of each topic. Ids of dead topics are not given again.
    concentrations_ : (float, float)
        Current alpha and gamma.
    state_, pending_
        As in `OnlineLDA`.

    Examples
    --------
    >>> from bayou import OnlineHDP
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=300, n_topics=3, n_terms=30, seed=1)
    >>> model = OnlineHDP(n_topics=20, random_state=0, batch_size=20, tol=0.0).fit(corpus)
    >>> model.n_topics_ < 20, model.components_.shape == (model.n_topics_, 30)
    (True, True)
    """

    n_topics: int = param(300, ge=1, le=MAX_TOPICS)
    alpha: float | None = param(None, ge=LEAST, le=MOST)
    gamma: float = param(1.0, ge=LEAST, le=MOST)
    beta: float = param(0.01, gt=0.0)
    discount: float = param(0.0, ge=0.0, le=0.99)
    inference: str = param(HYBRID, choices=(HYBRID, BIRTHS))
    learn_alpha: bool = True
    learn_gamma: bool = True
    merge: bool = True
    n_passes: int = param(10, ge=1)
    batch_size: int | None = param(None, ge=1)
    burn_in: int = param(3, ge=0)
    n_samples: int = param(2, ge=1)
    n_docs: int | None = param(None, ge=1)
    tau: float = param(1.0, ge=stream.LEAST_TAU)
    kappa: float = param(0.7, gt=0.5, le=1.0)
    tol: float = param(5e-4, ge=0.0)

    algorithm: ClassVar[Stream] = Stream(
        State, Pairs, update, init, move_terms, omit_empty=True, chunk=1,
        check=lambda state: root.check_ids(state.ids, state.n_born),
    )  # fmt: skip
    saved: ClassVar[tuple[Saved, ...]] = (STREAM,)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from documents as `OnlineLDA.fit` does, last from those held out for alpha."""
        corpus = read_first(self, X, whole=True)
        n_docs, p = self.n_docs or corpus.n_docs, self.resolve()
        n_out = n_held_out(corpus.n_docs) if p.learn_alpha and not p.discount else 0
        train, held_out = hold_out(corpus, n_out, self.seed_, p.n_passes + 1)
        size = self.batch_size or stream.batch_size(train.n_docs)
        p = p._replace(n_docs=n_docs - n_out, batch_size=size)
        fit_to_rest(self, train, p, patience=2)  # a merge costs a little before it pays
        if n_out:
            rest, p = documents.pairs_of(held_out.counts), p._replace(n_docs=n_docs)
            with Workers(self.n_threads) as workers:
                self.state_ = learn_alpha(self.state_, rest, p, self.seed_, workers.each)
            self._learn_passes(rest, p, 1, lambda _: np.arange(n_out), whole=True)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from more documents, as `OnlineLDA.partial_fit` does."""
        corpus = read_more(self, X, whole=True)
        self._learn_stream(documents.pairs_of(corpus.counts), self.resolve())
        return self

    def resolve(self) -> Settings:
        """The parameters of one run, checked against what was learned."""
        self.check_params()
        check_n_topics(self)
        if self.discount > 0 and self.inference == BIRTHS:
            raise ValueError(f"inference {BIRTHS!r} has no discount; give {HYBRID!r}")
        size, n_terms = self.batch_size or stream.batch_size(self.n_docs), self.n_features_in_
        own = {"n_terms": n_terms, "beta": float(self.beta), "phase": self.inference}
        return settings(Settings, self, batch_size=size, **own)

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics in use, the most used first, including the pending documents."""
        return posterior(self._current(), self._names)

    @property
    def topic_number_(self) -> root.RootNumber:
        """The number of topics in use given the learned counts; other seeds and ceilings are left out."""
        state = self._current()
        return root.RootNumber(state.tables, state.topic, self.posterior_.topic_tokens)

    @property
    def concentrations_(self) -> tuple[float, float]:
        """Current alpha and gamma."""
        return self._current().alpha, self._current().gamma

    @property
    def topic_ids_(self) -> I64:
        """The permanent id of each topic, in the order of `components_`."""
        return np.asarray(self._current().ids[live_slots(self._current())], np.int64)
