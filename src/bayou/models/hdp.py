"""Topics without a number given beforehand: the hierarchical Dirichlet process.

    g ~ GEM(gamma)      phi_k ~ Dir(beta)      theta_d ~ DP(alpha, g)      z_di ~ theta_d      w_di ~ phi_z

theta, phi and (but for ``direct``) g are integrated out. Documents are restaurants of a franchise: m_dk
tables of document d serve topic k, and tables are the customers of the root [Teh06]. Three samplers of one
posterior:

``tables``  topic and table of a token together, all topics weighed [Chen11]; exact, O(K) a token
``alias``   the same, drawn from the document's own topics and a kept stock of draws for the term, and
            accepted or refused [Li14]: O(topics of the document) a token
``direct``  g drawn, topics given g, then tables as sums of coins [Teh06]; exact, O(K) a token

A discount makes the processes Pitman-Yor processes: many small topics beside few large ones. Beside the
sweeps over tokens, whole topics are split in two and pairs made one (`kernels.hdp.split_merge`).

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
[Chen11] Chen, Du, Buntine. Sampling table configurations for the hierarchical Poisson-Dirichlet process.
ECML 2011.
[Li14] Li, Ahmed, Ravi, Smola. Reducing the sampling complexity of topic models. KDD 2014.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.topic_estimator import TopicEstimator
from bayou.data.checks import MAX_TOPICS, check_parameters, number, one_of, optional, whole
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.inference.hdp import franchise, initial_topics
from bayou.inference.hdp.franchise import (
    U8,
    DrawStore,
    FranchiseChain,
    FranchiseCounts,
    FranchisePrior,
)
from bayou.inference.lda import arrays as lda_arrays
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.kernels.rng import MEMBER, key
from bayou.results.posterior import Posterior, check_arrays
from bayou.run import checkpoint as checkpoints
from bayou.run import loop
from bayou.run.loop import Info
from bayou.run.shards import Workers

APART = 5  # sweeps between two that are kept
CHECK = 10  # sweeps between two scores
SETTLE = 10  # sweeps before concentrations are learned
N_MOVES = 20  # splits and merges tried after each sweep
N_PROPOSALS = 1  # of the alias sampler for each token
LEAST, MOST = 1e-6, 1e6  # concentrations beyond are one topic for all, or one for each token
ANSWER = ("answer", "answer_mass", "answer_ids", "answer_both")
LARGE = (0.001, 50)  # share of all tokens, and tokens, from which on a topic is counted as large


class State(NamedTuple):
    """All that the next sweep needs, and what is kept of earlier ones. A topic lives in a slot."""

    step: int
    z: U16  # slot of each token
    heads: U8  # whether it opened a table
    term_topic: F32  # n_vk, terms x slots
    topic: F64  # n_k
    tables: I64  # M_k
    ids: I64  # permanent number of the slot's topic, or -1
    sizes: I64  # tables, topics, and the next topic's number
    stale: F32  # weights from which the stock of each term was drawn, terms x slots
    total: F64
    drawn: U16
    used: I64
    alpha: float  # b1
    gamma: float  # b0
    kept: F32  # sum of n_vk over kept sweeps of the slot's present topic
    kept_mass: F64  # sum of alpha E[g_k]
    times: I64  # how many those were
    n_kept: int
    trace: I64  # chain, topics and large topics after every sweep
    scores: F64  # ln p(w, z) per token
    score_steps: I64
    answer: F32  # n_vk of the first chain's topics, terms x topics, the most used first; none before its end
    answer_mass: F64  # alpha E[g_k]
    answer_ids: I64
    answer_both: F64  # alpha and gamma


def chain_seed(seed: int, chain: int) -> int:
    """The seed of one of several chains; the first has the model's own."""
    return seed if chain == 0 else int(key(seed, MEMBER, 0, chain)) & 0xFFFFFFFF


def first_topics(p: SimpleNamespace, n_tokens: int, chain: int) -> int:
    """Topics that a chain begins with: those asked for, or twice, half, four times, ... as many.

    More than will be left: a topic too many is given up sooner than one too few is found.
    """
    asked = p.n_topics or max(1, round(math.sqrt(n_tokens) / 2))
    factor = 2.0 ** ((chain + 1) // 2 * (1 if chain % 2 else -1))
    return int(min(max(1, round(asked * factor)), max(n_tokens, 1), MAX_TOPICS // 2))


def first_alpha(corpus: franchise.FranchiseData, p: SimpleNamespace) -> float:
    """The concentration of documents that a chain begins with."""
    if p.alpha is None and p.learn_alpha and p.start == "fast":
        return max(initial_topics.mean_length(corpus.tokens) / initial_topics.NARROW, 1.0)
    return 1.0 if p.alpha is None else float(p.alpha)


def init(corpus: franchise.FranchiseData, p: SimpleNamespace, seed: int) -> State:
    """The first chain, which is the model, at its first topics."""
    return begin_chain(corpus, p, seed, 0)


def begin_chain(
    corpus: franchise.FranchiseData, p: SimpleNamespace, seed: int, chain_no: int
) -> State:
    """A chain from its beginning."""
    prior = FranchisePrior(first_alpha(corpus, p), float(p.gamma), float(p.discount), float(p.beta))
    n_topics, seed = first_topics(p, len(corpus.tokens.terms), chain_no), chain_seed(seed, chain_no)
    given = p.drawn(n_topics, seed) if p.start == "fast" and len(corpus.tokens.terms) else None
    chain = franchise.start(corpus, n_topics, prior, seed, given)
    n_slots, store = len(chain.counts.topic), chain.store
    return State(
        0, chain.z, chain.heads, *chain.counts, store.stale, store.total, store.drawn, store.used,
        prior.alpha, prior.gamma, kept=np.zeros((corpus.n_terms, n_slots), np.float32),
        kept_mass=np.zeros(n_slots), times=np.zeros(n_slots, np.int64), n_kept=0,
        trace=np.zeros((0, 3), np.int64), scores=np.zeros(0), score_steps=np.zeros(0, np.int64),
        answer=np.zeros((corpus.n_terms, 0), np.float32), answer_mass=np.zeros(0),
        answer_ids=np.zeros(0, np.int64), answer_both=np.zeros(2),
    )  # fmt: skip


def _next_chain(
    state: State, corpus: franchise.FranchiseData, p: SimpleNamespace, seed: int, chain_no: int
) -> State:
    """A further chain from its beginning. What was counted, and the first chain's answer, stay."""
    if chain_no == 1:
        state = with_answer(state, p)
    names = ("step", "trace", "scores", "score_steps", *ANSWER)
    stays: dict[str, Any] = {name: getattr(state, name) for name in names}
    return begin_chain(corpus, p, seed, chain_no)._replace(**stays)


def _with_chain(state: State, chain: FranchiseChain) -> State:
    stale, total, drawn, _, used = chain.store
    return state._replace(
        z=chain.z, heads=chain.heads, **chain.counts._asdict(), stale=stale, total=total,
        drawn=drawn, used=used,
    )  # fmt: skip


def _chain_of(state: State, corpus: franchise.FranchiseData) -> FranchiseChain:
    counts = FranchiseCounts(state.term_topic, state.topic, state.tables, state.ids, state.sizes)
    store = DrawStore(state.stale, state.total, state.drawn, corpus.starts, state.used)
    return FranchiseChain(state.z, state.heads, counts, store)


def sweep(state: State, corpus: franchise.FranchiseData, p: SimpleNamespace, seed: int) -> State:
    """All tokens, then a few moves of whole topics, then the concentrations."""
    which, inner = divmod(state.step, p.n_sweeps)
    if inner == 0 and which > 0:
        state = _next_chain(state, corpus, p, seed, which)
    seed, step = chain_seed(seed, which), inner + 1
    prior = FranchisePrior(state.alpha, state.gamma, float(p.discount), float(p.beta))
    chain, named = _chain_of(state, corpus), state.ids.copy()  # slots are renamed in place
    if p.sampler == "direct":
        root = franchise.draw_root(chain, prior, seed, step)
        chain, root, old = franchise.sweep_direct(chain, corpus, root, prior, seed, step)
    else:
        how = (N_PROPOSALS if p.sampler == "alias" else 0, step <= p.burn_in)
        chain, old = franchise.sweep_tables(chain, corpus, prior, how, seed, step)
        root = franchise.draw_root(chain, prior, seed, step)
    if p.n_moves:
        franchise.move_topics(chain, corpus, root, prior, p.n_moves, seed, step)
    if p.n_moves or p.sampler == "direct":
        franchise.seat(chain, corpus, root, prior, seed, step)
    if step > SETTLE:
        learned = (p.learn_alpha, p.learn_gamma)
        prior = franchise.draw_concentrations(chain, corpus, prior, learned, seed, step)
    state = _remembered(_with_chain(state, chain), named, old)
    state = state._replace(step=state.step + 1, alpha=prior.alpha, gamma=prior.gamma)
    return _noted(state, chain, corpus, prior, p, which)


def _remembered(state: State, named: I64, old: I64) -> State:
    """What was kept of each slot's topic, forgotten where another topic lives there now."""
    other = franchise.move_slots(named, old, -1) != state.ids
    if not np.array_equal(old, np.arange(len(named))):
        moved = [franchise.move_slots(a, old) for a in (state.kept, state.kept_mass, state.times)]
        kept, mass, times = np.ascontiguousarray(moved[0]), moved[1], moved[2]
        state = state._replace(kept=kept, kept_mass=mass, times=times)
    if state.n_kept and other.any():
        state.kept[:, other] = 0.0
        state.kept_mass[other] = 0.0
        state.times[other] = 0
    return state


def _noted(
    state: State,
    chain: FranchiseChain,
    corpus: franchise.FranchiseData,
    prior: FranchisePrior,
    p: SimpleNamespace,
    which: int,
) -> State:
    """Count the topics; keep the sweep if it is time to; score it now and then."""
    step = state.step - which * p.n_sweeps
    n_tokens = len(state.z)
    large = int((state.topic >= max(LARGE[0] * n_tokens, LARGE[1])).sum())
    row = np.array([[which, state.sizes[1], large]], np.int64)
    state = state._replace(trace=np.concatenate([state.trace, row]))
    if step > p.burn_in and ((p.n_sweeps - step) % APART == 0):
        state.kept[...] += state.term_topic
        state.kept_mass[...] += franchise.mass_of(chain.counts, prior)
        state.times[...] += state.topic > 0
        state = state._replace(n_kept=state.n_kept + 1)
    if which == 0 and (step % CHECK == 0 or step == p.n_sweeps):
        value = franchise.log_joint(chain, corpus, prior)
        state = state._replace(
            scores=np.append(state.scores, value),
            score_steps=np.append(state.score_steps, state.step),
        )
    return state


def with_answer(state: State, p: SimpleNamespace) -> State:
    """The chain's topics, most used first, averaged over the sweeps that were kept."""
    live = np.flatnonzero(state.topic > 0)
    prior = FranchisePrior(state.alpha, state.gamma, float(p.discount), float(p.beta))
    held = FranchiseCounts(state.term_topic, state.topic, state.tables, state.ids, state.sizes)
    counts, mass, ids = state.term_topic, franchise.mass_of(held, prior), state.ids
    if state.n_kept:
        fresh = state.times == 0  # born after the last sweep that was kept
        times = np.maximum(state.times, 1).astype(np.float32)
        counts = np.where(fresh, counts, state.kept / times)
        mass = np.where(fresh, mass, state.kept_mass / state.n_kept)
    order = live[np.argsort(-counts[:, live].sum(axis=0, dtype=np.float64), kind="stable")]
    if len(order) == 0:  # no token anywhere: a topic that knows nothing
        order, mass, ids = np.zeros(1, np.int64), np.full(1, state.alpha), np.zeros(1, np.int64)
    return state._replace(
        answer=np.ascontiguousarray(counts[:, order], np.float32), answer_mass=mass[order],
        answer_ids=ids[order], answer_both=np.array([state.alpha, state.gamma]),
    )  # fmt: skip


def posterior(state: State, p: SimpleNamespace, names: Any, each: Each) -> Posterior:
    """What the first chain has found; ``state`` has its answer."""
    return Posterior(
        rows=lda_arrays.topic_rows(state.answer, float(p.beta), each), alpha=state.answer_mass,
        beta=float(p.beta), topic_tokens=lda_arrays.topic_totals(state.answer), scores=state.scores,
        score_steps=state.score_steps, vocabulary=names,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class HDP(TopicEstimator):
    """Topics, as many as the documents need: the hierarchical Dirichlet process by Gibbs sampling.

    Topics are born and die as tokens move. What users see are the topics at the end, each averaged over the
    sweeps in which it lived, the most used first. How many there are comes with an interval; the number of
    *large* ones, which hold a thousandth of all tokens and 50 at least, is known better than that of all.

    Parameters
    ----------
    n_topics : int or None
        Topics to begin with, a start and not a limit. None is half the square root of the number of tokens.
        It should be more than are expected: one too many is given up sooner than one too few is found.
    alpha : float or None
        Concentration of a document's topics around those of the corpus [b1]; where to begin if it is learned,
        and better there too large than too small. None is a sixteenth of the mean length of a document, at
        least 1; and 1 where it is not learned or the chain begins anywhere.
    gamma : float
        Concentration of the corpus' topics [b0]: the larger, the more of them; where to begin.
    beta : float
        Prior of a topic's terms. The larger, the broader the topics and the fewer of them.
    discount : float
        0 for Dirichlet processes; in (0, 1) Pitman-Yor processes of that discount at both levels.
    start : {"fast", "random"} or None
        Where the chain begins: at what sixty sweeps of a cheap sampler of LDA find for as many topics, from
        where it needs far fewer of its own; or anywhere. None is the first, or the second with a discount:
        of topics that are found twice, splits and merges make one, and they know no discount.
    sampler : {"alias", "tables", "direct"}
        See the head of this module. ``direct`` has no discount.
    n_sweeps : int
        Sweeps over all tokens.
    burn_in : int or None
        Sweeps before any is kept; None is half of them. Every fifth one after it is kept.
    n_moves : int or None
        Splits and merges of whole topics tried after each sweep. None is 20, or 0 with a discount, which they
        do not know.
    n_chains : int
        With more than one, chains begun from twice, half, four times, ... as many topics run after the one
        that is the model; they only widen the interval of the number of topics to what it is worth.
    learn_alpha, learn_gamma : bool
        Whether the concentrations are drawn along the way, under Gamma(1, 1) priors.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. A chain goes token after token, so one thread does all the work but for what it begins
        with, which neither `max_time` nor callbacks reach.

    Attributes
    ----------
    n_topics_ : int
        Topics at the end; the rows of `components_`.
    n_large_ : int
        Those of them that hold a thousandth of all tokens, and 50 at least.
    topic_ids_ : int64 array (topics,)
        The permanent number of each topic; numbers of the dead are not given again.
    trace_ : int64 array (sweeps, 3)
        Chain, topics and large topics after every sweep.
    concentrations_ : (float, float)
        alpha and gamma at the end.
    scores_ : float64 array
        Joint log-likelihood per token, every tenth sweep of the chain that is the model.

    Examples
    --------
    >>> from bayou import HDP
    >>> from bayou.data.synthetic import sample_lda
    >>> corpus, truth = sample_lda(n_docs=100, n_topics=3, n_terms=30, seed=1)
    >>> model = HDP(random_state=0, n_sweeps=60).fit(corpus)
    >>> model.components_.shape == (model.n_topics_, 30), model.n_topics_ < 12
    (True, True)
    >>> low, high = model.n_topics_interval(level=0.9)
    >>> 1 <= low <= high
    True
    """

    n_topics: int | None = None
    alpha: float | None = None
    gamma: float = 1.0
    beta: float = 0.05
    discount: float = 0.0
    start: str | None = None
    sampler: str = "alias"
    n_sweeps: int = 200
    burn_in: int | None = None
    n_moves: int | None = None
    n_chains: int = 1
    learn_alpha: bool = True
    learn_gamma: bool = True

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: int = 10,
    ) -> Self:
        """Learn topics from documents.

        Parameters
        ----------
        X : Corpus or matrix (documents, terms) of counts
            Fractional counts are rounded.
        y : ignored
        checkpoint : path, optional
            As in `LDA.fit`.
        """
        p = self._checked_parameters()
        whole("checkpoint_every", checkpoint_every, 1)
        if checkpoint is not None and self.random_state is None:
            raise ValueError("a checkpoint needs a random_state to go on from; give an integer")
        given = self._corpus(X, reset=True)
        corpus = _tokens_of(given, p)
        self.seed_ = self._resolve_seed()
        saved = checkpoints.Saver(checkpoint, checkpoint_every, lambda: self._describe(given))
        most = p.n_sweeps * p.n_chains

        def step(state: State) -> tuple[State, Info | None]:
            if state.step >= most:
                return state, None
            state = sweep(state, corpus, p, self.seed_)
            fresh = len(state.score_steps) > 0 and state.score_steps[-1] == state.step
            score = float(state.scores[-1]) if fresh else math.nan
            return state, Info(state.step, most, f"{state.sizes[1]} topics", score, 0.0)

        with Workers(self.n_threads) as workers, loop.progress_bar(self.progress, "HDP") as bar:
            each = workers.each
            pairs = documents.pairs_of(given.counts)
            p.drawn = lambda k, seed: initial_topics.draw_initial_topics(
                pairs, corpus.tokens, corpus.n_terms, k, float(p.beta), seed, each
            )
            state = _resumed(saved, corpus) or init(corpus, p, self.seed_)
            state = loop.run(
                state, step, callbacks=[*bar, *self._callbacks()], after=saved.after,
                stopped=saved.save_on_stop, max_time=p.max_time,
            )  # fmt: skip
            if not len(state.answer_ids):
                state = with_answer(state, p)
            self.posterior_ = posterior(state, p, given.vocabulary, each)
        self.topic_ids_, self.trace_, self.n_iter_ = state.answer_ids, state.trace, state.step
        self.concentrations_ = (float(state.answer_both[0]), float(state.answer_both[1]))
        return self

    def _checked_parameters(self) -> SimpleNamespace:
        p = self._parameters()
        begin = p.n_topics
        p.n_topics = 1 if begin is None else begin
        check_parameters(p, ("n_topics", "n_sweeps", "n_chains"), ("gamma", "beta", "max_time"))
        p.n_topics = begin
        optional("alpha", p.alpha, LEAST, MOST)
        number("gamma", p.gamma, LEAST, MOST)
        number("discount", p.discount, 0.0, 0.99)
        if p.start is None:
            p.start = "random" if p.discount > 0 else "fast"
        one_of("start", p.start, ("fast", "random"))
        one_of("sampler", p.sampler, franchise.SAMPLERS)
        if p.discount > 0 and p.sampler == "direct":
            raise ValueError("sampler 'direct' knows no discount; take 'alias' or 'tables'")
        if p.n_moves is None:
            p.n_moves = 0 if p.discount > 0 else N_MOVES
        whole("n_moves", p.n_moves, 0)
        if p.n_moves and p.discount > 0:
            raise ValueError("splits and merges know no discount; give n_moves=0 or leave it out")
        if p.burn_in is None:
            p.burn_in = p.n_sweeps // 2
        whole("burn_in", p.burn_in, 0)
        if p.burn_in >= p.n_sweeps:
            raise ValueError(f"burn_in must be under n_sweeps = {p.n_sweeps}; got {p.burn_in!r}")
        return p

    # -- how many topics -----------------------------------------------------------------------

    @property
    def n_topics_(self) -> int:
        """Topics at the end: the rows of `components_`."""
        check_is_fitted(self)
        return self.posterior_.n_topics

    @property
    def n_large_(self) -> int:
        """Topics that hold a thousandth of all tokens, and 50 at least, at the end."""
        check_is_fitted(self)
        return int(self.trace_[self.trace_[:, 0] == 0][-1, 2])

    @property
    def scores_(self) -> F64:
        """Joint log-likelihood per token where it was measured."""
        check_is_fitted(self)
        return self.posterior_.scores

    def n_topics_interval(self, *, level: float = 0.9, large: bool = False) -> tuple[int, int]:
        """Ends between which the number of topics lay in that share of the sweeps after burn-in.

        ``large`` counts those that hold a thousandth of all tokens, and 50 at least. One chain tells what it
        has seen; that another start would have ended elsewhere is in it with `n_chains` of 3 or more.
        """
        check_is_fitted(self)
        number("level", level, 0.0, 1.0)
        burnt = self._checked_parameters().burn_in
        seen = np.concatenate([
            part[burnt:] if len(part) > burnt else part[-1:]
            for part in (self.trace_[self.trace_[:, 0] == c] for c in np.unique(self.trace_[:, 0]))
        ])  # fmt: skip
        ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
        low, high = np.quantile(seen[:, 2 if large else 1], ends, method="inverted_cdf")
        least = 0 if large else 1  # a model has a topic even where there is no token
        return max(int(low), least), max(int(high), least)

    # -- files ---------------------------------------------------------------------------------

    def _describe(self, corpus: Corpus) -> dict[str, Any]:
        """What a checkpoint must agree with: parameters, seed and the data themselves."""
        counts = corpus.counts
        data = checkpoints.digest((counts.indptr, counts.indices, counts.data))
        manifest = {**self._manifest("checkpoint"), "data": data}
        del manifest["learned"]
        return {**manifest, "seed": self.seed_}

    def _payload(self) -> dict[str, NDArray[Any]]:
        return super()._payload() | {
            "hdp.ids": self.topic_ids_,
            "hdp.trace": self.trace_,
            "hdp.concentrations": np.array(self.concentrations_),
        }

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._restore(arrays)
        ids, trace, both = (
            arrays.get(f"hdp.{name}", np.zeros(0)) for name in ("ids", "trace", "concentrations")
        )
        check_arrays("ids", ids, np.int64, (self.posterior_.n_topics,))
        check_arrays("trace", trace, np.int64, (max(len(trace), 1), 3))
        check_arrays("concentrations", both, np.float64, (2,))
        self.topic_ids_, self.trace_ = ids, trace
        self.concentrations_ = (float(both[0]), float(both[1]))


def _tokens_of(corpus: Corpus, p: SimpleNamespace) -> franchise.FranchiseData:
    """Tokens of the corpus, refused where a table of Stirling ratios would not do."""
    tokens = documents.Tokens(*corpus.tokens())
    longest = int(np.diff(tokens.indptr).max(initial=0))
    if p.sampler != "direct" and longest > franchise.MOST_TOKENS:
        raise DataError(
            f"a document has {longest:,} tokens and sampler {p.sampler!r} takes up to "
            f"{franchise.MOST_TOKENS:,}; divide it, or take sampler 'direct'"
        )
    return franchise.make_corpus(tokens, corpus.n_terms, p.sampler)


def _resumed(saved: checkpoints.Saver, corpus: franchise.FranchiseData) -> State | None:
    """The state in a checkpoint, if there is one and kernels can rely on it."""
    state = saved.read(State)
    if state is None:
        return None
    n_slots, n_tokens = len(state.topic), len(corpus.tokens.terms)
    shape, flat = (corpus.n_terms, n_slots), (n_slots,)
    fits = (
        all(a.shape == shape for a in (state.term_topic, state.kept))
        and all(a.shape == flat for a in (state.tables, state.ids, state.kept_mass, state.times))
        and state.z.shape == state.heads.shape == (n_tokens,)
        and int(state.z.max(initial=0)) < n_slots
        and state.sizes.shape == (3,)
        and _fits_store(state, corpus)
        and state.trace.shape[1:] == (3,)
        and state.answer.shape == (corpus.n_terms, len(state.answer_ids))
        and len(state.answer_mass) == len(state.answer_ids)
        and state.answer_both.shape == (2,)
    )
    if not fits:
        raise ModelFileError(f"the checkpoint {saved.path} holds impossible numbers; begin again")
    return state


def _fits_store(state: State, corpus: franchise.FranchiseData) -> bool:
    """Whether the draws kept for each term are those of this corpus and these slots."""
    n_slots, room = len(state.topic), np.diff(corpus.starts)
    n_terms = len(room) if corpus.starts[-1] else 0
    return bool(
        state.drawn.shape == (corpus.starts[-1],)
        and int(state.drawn.max(initial=0)) < n_slots
        and state.stale.shape == (n_terms, n_slots)
        and state.total.shape == (n_terms,)
        and state.used.shape == room.shape
        and ((state.used >= 0) & (state.used <= room)).all()
    )
