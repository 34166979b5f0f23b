"""The hierarchical Dirichlet process on a stream of documents: the number of topics is learned too.

    G0 ~ DP(gamma, H)      G_d ~ DP(alpha, G0)      H: phi ~ Dir(beta)      z_di ~ G_d      w_di ~ phi_z

Kept are expected counts n_vk, expected tables M_k (how often documents have opened topic k anew), both over
a corpus of D documents, and the two concentrations. Over at most K topics G0 is Dir(gamma / K, ...) with
mean g_k = (M_k + gamma / K) / (M + gamma). While the topics are frozen, a document's table indicators can
be summed out of the hybrid variational-Gibbs algorithm [Burkhardt18b]: what remains is the Polya form

    p(z_di = k) ~ (n_dk + alpha g_k) phi_vk

of `lda.hybrid`, and tables enter in expectation alone, alpha g_k (psi(alpha g_k + n_dk) - psi(alpha g_k)).
The truncation-free variant [Wang12] samples a mini-batch with births instead (`inference.hdp.births`).

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz 2018.
[Wang12] Wang, Blei. Truncation-free online variational inference for Bayesian nonparametric models.
NIPS 2012.
[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_stream import TopicStream, check_state
from bayou.data.checks import number, one_of, optional
from bayou.data.container import pack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import ModelFileError
from bayou.inference.hdp import births, held_out_alpha, merge, root
from bayou.inference.hdp.tables import expected_tables
from bayou.inference.lda import columns, documents, hybrid, stream
from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.results.posterior import Posterior, check_arrays, unpack_vocabulary
from bayou.run import checkpoint

HYBRID, BIRTHS = "hybrid", "truncation-free"
_UNRIPE = 7  # renewals of the stream's memory before topics are merged or given up: young ones are all alike
_WIDE = 5.0  # length of a document over the concentration to begin with
_KEPT_OUT = (20, 100)  # one document in so many, and how many at most
_LEAST, _MOST = 1e-6, 1e6  # concentrations beyond are one topic for all, or one for each token


class State(NamedTuple):
    """What the next mini-batch needs."""

    step: int  # mini-batches so far
    n_seen: int  # documents so far
    raw: F32  # n_vk / scale, terms x slots
    scale: float
    topic: F64  # n_k
    tables: F64  # M_k
    alpha: float  # b1
    gamma: float  # b0
    beta: float
    ids: I64  # the name of every slot's topic, or root.SPARE
    n_born: int
    n_died: int
    scores: F64  # log-likelihood per token of a sample of documents, after each pass of `fit`
    score_steps: I64


def init(corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """Every slot a topic of noise around the first mini-batch; truncation-free, no topic at all."""
    pairs, n_docs = documents.pairs_of(corpus.counts), p.n_docs or corpus.n_docs
    alpha, gamma = _first_alpha(corpus, p), float(p.gamma)
    if p.inference == BIRTHS:
        raw = np.zeros((corpus.n_terms, p.n_topics), np.float32)
        g = stream.StreamCounts(raw, 1.0, np.zeros(p.n_topics))
        names = root.TopicIds(np.full(p.n_topics, root.SPARE, np.int64), 0, 0)
        tables = np.zeros(p.n_topics)
    else:
        mass = max(corpus.n_tokens, 1.0) * n_docs / corpus.n_docs
        g = stream.start(pairs, corpus.n_terms, p.n_topics, mass, seed, each)
        names = root.first_names(p.n_topics)
        length = np.array([[corpus.n_tokens / corpus.n_docs]])
        opened = float(expected_tables(length, np.array([alpha])).sum())
        tables = np.full(p.n_topics, n_docs * opened / p.n_topics)
    none = np.zeros(0), np.zeros(0, np.int64)
    return State(0, 0, *g, tables, alpha, gamma, float(p.beta), *names, *none)


def _first_alpha(corpus: Corpus, p: SimpleNamespace) -> float:
    if p.alpha is not None:
        return float(p.alpha)
    n_docs = int((corpus.doc_lengths() > 0).sum())
    return max(corpus.n_tokens / max(n_docs, 1) / _WIDE, 1.0)


def update(state: State, corpus: Corpus, p: SimpleNamespace, seed: int, each: Each) -> State:
    """One mini-batch: local inference under the topics as they are, the blend, births and deaths."""
    pace = stream.pace(state.step, state.n_seen, corpus.n_docs, p)
    tokens = documents.Tokens(*corpus.tokens())
    local = stream.BatchSettings(
        np.array([state.alpha]), state.beta, p.burn_in, p.n_samples, seed, pace.step, pace.again
    )
    after, tables, opened = _read(state, tokens, local, pace, p, each)
    alpha = state.alpha
    if p.learn_alpha and not pace.again:
        lengths = np.diff(tokens.indptr).astype(np.float64)
        found = root.document_concentration(alpha, opened, lengths, pace.gain)
        alpha = (1.0 - pace.rho) * alpha + pace.rho * found
    names = _settled(state, after, tables, p, pace.step)
    gamma = state.gamma
    if p.learn_gamma:
        n_topics = int((names.ids != root.SPARE).sum()) if p.inference == BIRTHS else None
        gamma = root.root_concentration(gamma, tables, n_topics)
    return State(
        pace.step, pace.n_seen, *after, tables, alpha, gamma, state.beta, *names, state.scores,
        state.score_steps,
    )  # fmt: skip


def _read(
    state: State,
    tokens: documents.Tokens,
    local: stream.BatchSettings,
    pace: stream.StreamPace,
    p: SimpleNamespace,
    each: Each,
) -> tuple[stream.StreamCounts, F64, float]:
    """Counts and tables with those of the batch blended in, and how many tables the batch has opened."""
    before, rho, gain = (
        stream.StreamCounts(state.raw, state.scale, state.topic),
        pace.rho,
        pace.gain,
    )
    if p.inference == BIRTHS:
        # where nothing is known yet, nothing is lost and the batch stands for the corpus
        rates = (rho, rho * gain) if state.n_born else (0.0, gain)
        known = (state.tables, state.ids != root.SPARE, state.gamma)
        after, opened = births.step(before, known, tokens, local, rates, each)
    else:
        rates, mass = (rho, rho * gain), state.alpha * root.shares(state.tables, state.gamma)
        after, lists = hybrid.step(before, tokens, local._replace(alpha=mass), rho, gain, each)
        opened = hybrid.doc_tables(lists, tokens, mass)
    return after, (1.0 - rates[0]) * state.tables + rates[1] * opened, float(opened.sum())


def _settled(
    state: State, g: stream.StreamCounts, tables: F64, p: SimpleNamespace, step: int
) -> root.TopicIds:
    """Who is born and who dies, and who become one; what the dead still have is cleared in place."""
    names, dead = root.settle_topics(root.TopicIds(state.ids, state.n_born, state.n_died), tables)
    if p.inference == BIRTHS:
        dead = np.flatnonzero(names.ids == root.SPARE)  # here no topic waits to be born
    renewed = [int(stream.renewals(t, p.tau, p.kappa)) for t in (step - 1, step)]
    ripe = p.inference == HYBRID and renewed[1] > max(renewed[0], _UNRIPE)
    if ripe:
        names, few = root.drop_small_topics(names, tables)
        dead = np.append(dead, few)
    g.raw[:, dead], g.topic[dead], tables[dead] = 0.0, 0.0, 0.0
    if ripe and p.merge:
        names = merge.merge_topics(
            g, tables, names, root.living(names, tables, g.topic), state.beta
        )
    return names


def posterior(state: State, vocabulary: Any) -> Posterior:
    """The topics in use, the most used first, each with alpha g_k as the prior of a document's share."""
    live = live_slots(state)
    rows, totals = stream.rows_of(np.ascontiguousarray(state.raw[:, live]), state.scale, state.beta)
    return Posterior(
        rows=rows, alpha=state.alpha * root.shares(state.tables, state.gamma)[live], beta=state.beta,
        topic_tokens=totals, scores=state.scores, score_steps=state.score_steps, vocabulary=vocabulary,
    )  # fmt: skip


def live_slots(state: State) -> I64:
    """The slots of the topics in use, the most used first."""
    return root.living(root.TopicIds(state.ids, 0, 0), state.tables, state.topic)


@dataclass(kw_only=True, eq=False, repr=False)
class OnlineHDP(TopicStream):
    """Topics of a stream, as many as it needs: the hierarchical Dirichlet process from mini-batches.

    Topics die when the stream no longer uses them, and are born in the slots that are free. What users see
    (`components_`, `transform`, reports) are the topics in use, the most used first; `topic_ids_` says which
    is which as they change places.

    Parameters
    ----------
    n_topics : int
        How many topics there can be at most [K]: a ceiling, not the answer, which is `n_topics_`. Memory is
        terms x `n_topics`. If the answer comes near it, raise it.
    alpha : float or None
        Concentration of a document's topics around those of the corpus [b1]; where to begin if it is learned,
        and better there too large than too small: under a small one documents keep to the first topics they
        meet. None is a fifth of the mean length of the documents it begins with, at least 1.
    gamma : float
        Concentration of the corpus' topics [b0]: the larger, the more of them; where to begin.
    beta : float
        Prior of a topic's terms.
    inference : {"hybrid", "truncation-free"}
        How a mini-batch is inferred: Gibbs sweeps over each document with topics frozen, from as many topics
        as there can be; or exact Gibbs sampling of the whole mini-batch with births, from none. The second is
        there to compare with: slower, serial, and it stays with fewer topics.
    learn_alpha, learn_gamma : bool
        Whether the concentrations are learned: gamma along the way, alpha from documents that are read for
        the first time. `fit` keeps one in twenty out, a hundred at most, judges alpha by them in the end,
        and learns from them last.
    merge : bool
        Whether two topics whose words are better explained by one become one. Without it topics that are
        alike share a theme for ever, and their number is closer to the ceiling than to the truth.
    n_passes : int
        Passes of `fit` over its documents; `partial_fit` makes one.
    batch_size : int or None
        Documents in a mini-batch. None is a fortieth of the documents given to `fit`, or of `n_docs`, from 8
        to 128; 64 on a stream of unknown length. The fewer steps there are, the longer topics stay alike.
    burn_in, n_samples : int
        Sweeps over each document before its topics count, and after.
    n_docs : int or None
        Size of the whole corpus [D], which sets how strong the topics are against their prior, and what is
        a topic in use; None is the corpus given to `fit`, and on a stream as many documents as have come.
        More documents than this are taken to be the same ones again.
    tau, kappa : float
        Step sizes (tau + t)^-kappa; tau at least 0.001, kappa in (0.5, 1].
    tol : float
        `fit` scores a sample of its documents after each pass and makes no further one when the gain in
        log-likelihood per token was below this.
    max_time : float or None
        Seconds after which `fit` begins no further mini-batch.
    random_state, n_threads, progress, callbacks
        As in `LDA`.

    Attributes
    ----------
    n_topics_ : int
        Topics in use: a corpus of D documents more likely than not uses them. The rows of `components_`.
    n_large_ : int
        Those of them that hold a thousandth of all tokens, and 50 at least.
    topic_ids_ : int64 array (topics,)
        The permanent number of each topic; numbers of the dead are not given again.
    concentrations_ : (float, float)
        alpha and gamma as they are now.
    state_ : State
        Everything the next mini-batch needs; saved with the model, so that a loaded model goes on as if it
        had never been away.

    Examples
    --------
    >>> from bayou import OnlineHDP
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=300, n_topics=3, n_terms=30, seed=1)
    >>> model = OnlineHDP(n_topics=20, random_state=0, batch_size=20, tol=0.0).fit(corpus)
    >>> model.n_topics_ < 20, model.components_.shape == (model.n_topics_, 30)
    (True, True)
    """

    n_topics: int = 300
    alpha: float | None = None
    gamma: float = 1.0
    beta: float = 0.01
    inference: str = HYBRID
    learn_alpha: bool = True
    learn_gamma: bool = True
    merge: bool = True
    n_passes: int = 10
    batch_size: int | None = None
    burn_in: int = 3
    n_samples: int = 2
    n_docs: int | None = None
    tau: float = 1.0
    kappa: float = 0.7
    tol: float = 5e-4

    _patience: ClassVar[int] = 2  # a merge costs a little before it pays

    def _begin(self, corpus: Corpus, p: SimpleNamespace, each: Each) -> State:
        return init(corpus, p, self.seed_, each)

    def _advance(self, state: State, corpus: Corpus, p: SimpleNamespace, each: Each) -> State:
        return update(state, corpus, p, self.seed_, each)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        optional("alpha", p.alpha, _LEAST, _MOST)
        number("gamma", p.gamma, _LEAST, _MOST)
        one_of("inference", p.inference, (HYBRID, BIRTHS))
        return p

    def _n_kept_out(self, n_docs: int, p: SimpleNamespace) -> int:
        return min(n_docs // _KEPT_OUT[0], _KEPT_OUT[1]) if p.learn_alpha else 0

    def _after_fit(self, state: State, p: SimpleNamespace, each: Each) -> State:
        if p.kept_out is None:
            return state
        tokens, share = (
            documents.Tokens(*p.kept_out.tokens()),
            root.shares(state.tables, state.gamma),
        )
        g = stream.StreamCounts(state.raw, state.scale, state.topic)
        local = stream.BatchSettings(
            share, state.beta, p.burn_in, p.n_samples, self.seed_, state.step
        )
        alpha = held_out_alpha.estimate_alpha(g, state.alpha, share, tokens, local, each)
        return state._replace(alpha=alpha)

    def _with_terms(self, keep: I64, n_new: int) -> float:
        before = self.state_.topic
        gone = super()._with_terms(keep, n_new)
        tables = columns.limit_tables(self.state_.tables, before, self.state_.topic)
        self.state_ = self.state_._replace(tables=tables)
        return gone

    @property
    def posterior_(self) -> Posterior:  # type: ignore[override]
        """The topics in use as they are now, the most used first."""
        check_is_fitted(self)
        return posterior(self.state_, self._names)

    @property
    def n_topics_(self) -> int:
        """How many topics are in use."""
        check_is_fitted(self)
        return len(live_slots(self.state_))

    @property
    def n_large_(self) -> int:
        """How many topics hold a thousandth of all tokens, and 50 at least."""
        tokens = self.posterior_.topic_tokens
        return int((tokens >= root.least_large(tokens)).sum())

    @property
    def concentrations_(self) -> tuple[float, float]:
        """alpha and gamma as they are now."""
        check_is_fitted(self)
        return self.state_.alpha, self.state_.gamma

    @property
    def topic_ids_(self) -> I64:
        """The permanent number of each topic, in the order of `components_`."""
        check_is_fitted(self)
        return np.asarray(self.state_.ids[live_slots(self.state_)], np.int64)

    def n_topics_interval(self, *, level: float = 0.9, large: bool = False) -> tuple[int, int]:
        """Ends between which the number of topics in use lies, in a corpus of D documents.

        ``large`` counts those that hold a thousandth of all tokens, and 50 at least. Given what was learned:
        that another seed or other documents would have taught otherwise is not in it.
        """
        check_is_fitted(self)
        number("level", level, 0.0, 1.0)
        tables, tokens = self.state_.tables, self.state_.topic
        chances = root.large(tables, tokens) if large else root.in_use(tables)
        low, high = root.interval(root.how_many(chances), level)
        least = 0 if large else 1  # a model has a topic even where no document uses any
        return max(low, least), max(high, least)

    def _payload(self) -> dict[str, NDArray[Any]]:
        names = {} if self._names is None else {"vocabulary": pack_strings(self._names)}
        return checkpoint.arrays_of(self.state_) | names

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        state = checkpoint.state_of(State, arrays)
        shape = check_state(state)
        check_arrays("tables", state.tables, np.float64, shape[1:])
        check_arrays("ids", state.ids, np.int64, shape[1:], signed=True)
        named = state.ids[state.ids != root.SPARE]
        ends = (state.n_born, state.n_died)
        if (
            not all(type(n) is int and n >= 0 for n in ends)
            or len(set(named)) != len(named)
            or (len(named) and not 0 <= named.min() <= named.max() < state.n_born)
        ):
            raise ModelFileError("the model file's topics have impossible numbers; save it again")
        if shape[1] < 1 or not all(type(x) is float and 0 < x < math.inf for x in state[6:8]):
            raise ModelFileError("the model file's priors must be positive; save it again")
        self._names = unpack_vocabulary(arrays.get("vocabulary"), shape[0])
        self.state_ = state
