"""The hierarchical Dirichlet process: the number of topics is learned.

    g ~ GEM(gamma)      phi_k ~ Dir(beta)      theta_d ~ DP(alpha, g)      z_di ~ theta_d      w_di ~ phi_z

theta, phi and (except in ``direct``) g are integrated out. Documents are restaurants of a franchise: m_dk
tables of document d serve topic k, and tables are the customers of the root [Teh06]. Three samplers:

``tables``  topic and table of a token jointly, over all topics [Chen11]; exact, O(K) per token
``alias``   the same conditional by Metropolis-Hastings [Li14], with proposals from the document's topics and
            from stored draws per term: O(topics of the document) per token
``direct``  g drawn, topics given g, then tables as sums of coins [Teh06]; exact, O(K) per token

With a discount the processes are Pitman-Yor processes: many small topics beside few large ones. Besides the
sweeps over tokens, the topics of whole tables are drawn (`kernels.hdp.dishes`), topics are split and merged
by tables (`kernels.hdp.table_moves`), and topics with the same words are folded (`kernels.hdp.split_merge`).
Warm-up also merges topics whenever that raises the joint (`inference.hdp.warm_up`).

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
[Chen11] Chen, Du, Buntine. Sampling table configurations for the hierarchical Poisson-Dirichlet process.
ECML 2011.
[Li14] Li, Ahmed, Ravi, Smola. Reducing the sampling complexity of topic models. KDD 2014.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np

from bayou.api.estimator import Estimator, Saved
from bayou.api.params import param, settings
from bayou.api.topic_number import TRACE, TopicNumber
from bayou.api.topics import POSTERIOR, Topics
from bayou.api.training import Path, score_of, training
from bayou.data.checks import MAX_TOPICS
from bayou.data.errors import DoubtWarning
from bayou.data.schema import Array, Number
from bayou.inference.hdp import agreement, chains, kept_topics, root, rounds, warm_up
from bayou.inference.hdp.concentration import LEAST, MOST
from bayou.inference.hdp.franchise import SAMPLERS, U8, FranchiseData, FranchisePrior
from bayou.inference.hdp.scores import log_joint, log_words
from bayou.inference.hdp.sweeps import SweepSettings, draw_chain
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each, topic_rows, topic_totals
from bayou.results.posterior import Posterior
from bayou.run.loop import Info

APART, CHECK = 5, 10  # sweeps between two that are kept, and between two scores
N_MOVES = 20  # folds and scatters per sweep; splits and merges per sweep over tables


class Settings(NamedTuple):
    """The parameters of one `fit`."""

    n_topics: int | None
    alpha: float | None
    gamma: float
    beta: float
    discount: float
    start: str
    n_sweeps: int
    burn_in: int | None
    n_chains: int
    how: SweepSettings
    ends: tuple[int, ...]  # sweeps of each chain at the end of each round


class State(NamedTuple):
    """The current chain, and the result of the first chain. A topic occupies a slot."""

    step: int
    z: Annotated[U16, Array("tokens", below="slots")]  # slot of each token
    heads: Annotated[U8, Array("tokens", le=1)]  # whether it opened a table
    term_topic: Annotated[F32, Array("terms", "slots")]  # n_vk
    topic: Annotated[F64, Array("slots")]  # n_k
    tables: Annotated[I64, Array("slots")]  # M_k
    ids: Annotated[I64, Array("slots", ge=-1)]  # permanent id of the slot's topic, or -1
    sizes: Annotated[I64, Array(3)]  # number of tables, number of topics, next id
    stale: Annotated[F32, Array("stocked", "slots")]  # weights that draws were stored from
    total: Annotated[F64, Array("stocked")]
    drawn: Annotated[U16, Array("stock", below="slots")]
    used: Annotated[I64, Array("terms")]
    alpha: Annotated[float, Number(gt=0.0)]  # b1
    gamma: Annotated[float, Number(gt=0.0)]  # b0
    kept: Annotated[F32, Array("terms", "kept_slots")]  # sums over kept sweeps: n_vk
    kept_mass: Annotated[F64, Array("kept_slots")]  # alpha E[g_k]
    times: Annotated[I64, Array("kept_slots")]  # number of sweeps in these sums
    n_kept: int
    trace: Annotated[I64, Array("sweeps", 3)]  # chain, topics and large topics after each sweep
    fits: Annotated[F64, Array("sweeps", ge=None)]  # ln p(w | z) per token after each sweep
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]  # ln p(w, z) per token
    score_steps: Annotated[I64, Array("scores")]
    answer: Annotated[F32, Array("terms", "topics")]  # mean n_vk of the first chain, at its end
    answer_mass: Annotated[F64, Array("topics")]  # alpha E[g_k]
    answer_ids: Annotated[I64, Array("topics")]
    answer_both: Annotated[F64, Array(2)]  # alpha and gamma
    waiting_z: Annotated[U16, Array("chains", "tokens")]  # chains that wait for their turn
    waiting_heads: Annotated[U8, Array("chains", "tokens", le=1)]
    waiting_ids: Annotated[I64, Array("chains", "most", ge=-1)]
    waiting_numbers: Annotated[F64, Array("chains", 3)]  # alpha, gamma, next id


def init(data: FranchiseData, p: Settings, seed: int, each: Each) -> State:
    """The first chain at its first topics."""
    chain, prior = chains.start_chain(data, p, seed, each, 0)
    waiting = rounds.none_waits(p.n_chains, len(data.tokens.terms))
    return State(
        step=0, **chains.fields_of(chain), alpha=prior.alpha, gamma=prior.gamma,
        **kept_topics.fields_of(kept_topics.none(data.n_terms)), trace=np.zeros((0, 3), np.int64),
        fits=np.zeros(0), scores=np.zeros(0), score_steps=np.zeros(0, np.int64),
        **kept_topics.no_answer(data.n_terms), **rounds.fields_of(waiting),
    )  # fmt: skip


def sweep(state: State, data: FranchiseData, p: Settings, seed: int, each: Each) -> State:
    """One sweep of the chain whose turn it is."""
    turn = rounds.find_turn(state.step, p.ends, p.n_chains)
    if turn.is_first and state.step:
        state = with_answer(state, data, p) if rounds.current_chain(state, p) == 0 else state
        fields = rounds.exchange_chains(state, turn, data, p, seed, each)
        state = state._replace(**fields, **kept_topics.fields_of(kept_topics.none(data.n_terms)))
    prior = FranchisePrior(state.alpha, state.gamma, p.discount, p.beta)
    chain, before = chains.chain_of(state, data), state.ids.copy()  # ids change in place
    warm_up = turn.end // 2 if p.burn_in is None else p.burn_in
    keys = chains.chain_seed(seed, turn.chain), turn.sweep
    chain, prior, old = draw_chain(chain, data, prior, p.how, turn.sweep <= warm_up, *keys)
    kept = kept_topics.follow_topics(kept_topics.sums_of(state), before, old, chain.counts.ids)
    if turn.chain == 0 and turn.sweep > warm_up and (turn.end - turn.sweep) % APART == 0:
        kept = kept_topics.keep_sweep(kept, chain.counts, prior)
    row = [turn.chain, chain.counts.sizes[1], root.n_large(chain.counts.topic)]
    state = state._replace(
        step=state.step + 1, **chains.fields_of(chain), alpha=prior.alpha, gamma=prior.gamma,
        **kept_topics.fields_of(kept), trace=np.concatenate([state.trace, np.array([row], np.int64)]),
        fits=np.append(state.fits, log_words(chain.counts, p.beta)),
    )  # fmt: skip
    if turn.chain > 0 or (turn.sweep % CHECK and turn.sweep < turn.end):
        return state
    score = log_joint(chain, data, prior)
    steps = np.append(state.score_steps, state.step)
    return state._replace(scores=np.append(state.scores, score), score_steps=steps)


def with_answer(state: State, data: FranchiseData, p: Settings) -> State:
    """Store the topics of the first chain, the most used first, averaged over the kept sweeps."""
    prior = FranchisePrior(state.alpha, state.gamma, p.discount, p.beta)
    counts, kept = chains.chain_of(state, data).counts, kept_topics.sums_of(state)
    return state._replace(**kept_topics.answer_fields(kept_topics.average(kept, counts, prior)))


def posterior(state: State, p: Settings, names: Any, each: Each) -> Posterior:
    """The topics of the first chain, with alpha E[g_k] as the prior of a document's topics."""
    return Posterior(
        rows=topic_rows(state.answer, p.beta, each), alpha=state.answer_mass, beta=p.beta, vocabulary=names,
        topic_tokens=topic_totals(state.answer), scores=state.scores, score_steps=state.score_steps,
    )  # fmt: skip


@dataclass(kw_only=True, eq=False, repr=False)
class HDP(TopicNumber, Topics, Estimator):
    """The hierarchical Dirichlet process by Gibbs sampling: as many topics as the documents need.

    The result is the topics at the end, the most used first, each averaged over the kept sweeps in which it
    lived. The number of large topics is more certain than the number of all topics.

    Parameters
    ----------
    n_topics : int or None
        Number of topics at the start; more than expected. Default: half the square root of the tokens.
    alpha : float or None
        Concentration of a document's topics around those of the corpus [b1]; its start if it is learned.
        Default: a sixteenth of the mean document length, at least 1; 1 if fixed or if the start is random.
    gamma : float
        Concentration of the corpus' topics [b0]; its start if it is learned. Larger means more topics.
    beta : float
        Prior of a topic's terms. Larger means fewer, broader topics.
    discount : float
        0 for Dirichlet processes; in (0, 1) the discount of Pitman-Yor processes at both levels.
    start : {"fast", "random"} or None
        Sixty sweeps of a cheap sampler of LDA, or random. Default: fast; random with a discount.
    sampler : {"alias", "tables", "direct"}
        See the module's docstring. ``direct`` has no discount.
    n_sweeps : int
        Largest number of sweeps of each chain over all tokens.
    burn_in : int or None
        Sweeps of each chain before the first is kept. Default: half of its sweeps; then `fit` ends early if
        the chains agree. Every fifth later sweep of the first chain is kept.
    n_moves : int or None
        Splits and merges per sweep, and draws of whole tables. Default: 20; 0 with a discount.
    n_chains : int
        Chains after the first, which is the model, start from 1.5 times, a quarter, 2.25 times, a 16th, ...
        as many topics. They show whether the number of topics still depends on the start.
    learn_alpha, learn_gamma : bool
        Whether the concentrations are drawn, under Gamma(1, 1) priors.
    max_time, random_state, n_threads, progress, callbacks
        As in `LDA`. Only the start uses several threads, and neither `max_time` nor callbacks stop it.

    Attributes
    ----------
    n_topics_, n_large_ : int
        Number of topics at the end, and of those that hold a thousandth of all tokens and at least 50.
    topic_ids_ : int64 array (topics,)
        Permanent id of each topic. Ids of dead topics are not given again.
    trace_ : int64 array (sweeps, 3)
        Chain, number of topics and number of large topics after each sweep.
    concentrations_ : (float, float)
        alpha and gamma at the end.
    rhats_ : (float, float, float)
        Split R-hat over all chains of the number of topics, of large topics, and of ln p(w | z). `fit` warns
        if one is above 1.1 and the chains' means are more than 20 %, 10 % or 0.02 nats per token apart.
    topic_recurrence_ : float array (topics,)
        Bhattacharyya coefficient of each topic with its match in the other chains; NaN with one chain.

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

    n_topics: int | None = param(None, ge=1, le=MAX_TOPICS)
    alpha: float | None = param(None, ge=LEAST, le=MOST)
    gamma: float = param(1.0, ge=LEAST, le=MOST)
    beta: float = param(0.05, gt=0.0)
    discount: float = param(0.0, ge=0.0, le=0.99)
    start: str | None = param(None, choices=("fast", "random"))
    sampler: str = param("alias", choices=SAMPLERS)
    n_sweeps: int = param(160, ge=1)
    burn_in: int | None = param(None, ge=0, lt="n_sweeps")
    n_moves: int | None = param(None, ge=0)
    n_chains: int = param(2, ge=1)
    learn_alpha: bool = True
    learn_gamma: bool = True

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR, TRACE)

    def fit(
        self, X: Any, y: Any = None, *, checkpoint: Path | None = None, checkpoint_every: int = 10
    ) -> Self:
        """Learn topics from documents, as `LDA.fit` does. Fractional counts are rounded."""
        p, corpus = self.resolve(), self._corpus(X, reset=True)
        data, most = chains.make_data(corpus, p.how.sampler), p.n_sweeps * p.n_chains
        self.seed_ = self._resolve_seed()
        arrays = corpus.counts.indptr, corpus.counts.indices, corpus.counts.data

        def step(state: State) -> tuple[State, Info | None]:
            if rounds.is_finished(state, p):
                return state, None
            state = sweep(state, data, p, self.seed_, run.each)
            return state, Info(state.step, most, f"{state.sizes[1]} topics", score_of(state), 0.0)

        with training(self, lambda: arrays, checkpoint, checkpoint_every) as run:
            state = run.run(
                State, lambda: init(data, p, self.seed_, run.each), step, dims=chains.dims_of(data),
                check=lambda state: rounds.check_state(state, data, p),
            )  # fmt: skip
            if rounds.current_chain(state, p) == 0:
                state = with_answer(state, data, p)
            self.posterior_ = posterior(state, p, corpus.vocabulary, run.each)
            others = (topic_rows(n, p.beta, run.each) for n in rounds.other_counts(state, data, p))
            self.topic_recurrence_ = agreement.recurrence(self.posterior_.rows, others)
        self.topic_ids_, self.trace_, self.n_iter_ = state.answer_ids, state.trace, state.step
        self.concentrations_ = (float(state.answer_both[0]), float(state.answer_both[1]))
        self.rhats_ = agreement.rhats(state.trace, state.fits, p.burn_in)
        found = state.trace, state.fits, p.burn_in
        if p.n_chains > 1 and corpus.n_tokens and not agreement.is_agreed(*found):
            warnings.warn(agreement.describe(*found), DoubtWarning, stacklevel=2)
        return self

    def resolve(self) -> Settings:
        """The parameters of one `fit`, checked."""
        self.check_params()
        start, n_moves = ("random", 0) if self.discount > 0 else ("fast", N_MOVES)
        n_moves = n_moves if self.n_moves is None else self.n_moves
        merges = warm_up.last_merges(self.n_sweeps, self.burn_in)
        return settings(
            Settings, self, alpha=None if self.alpha is None else float(self.alpha),
            gamma=float(self.gamma), beta=float(self.beta), discount=float(self.discount),
            start=self.start or start, ends=rounds.ends(self.n_sweeps, self.n_chains, self.burn_in),
            how=SweepSettings(self.sampler, n_moves, self.learn_alpha, self.learn_gamma, merges),
        )  # fmt: skip

    def check_params(self) -> None:
        """Refuse parameters whose values are not allowed, alone or together."""
        super().check_params()
        if self.discount > 0 and self.sampler == "direct":
            raise ValueError("sampler 'direct' has no discount; give 'alias' or 'tables'")
        if self.discount > 0 and self.n_moves:
            raise ValueError("splits and merges have no discount; give n_moves=0 or leave it out")

    @property
    def topic_number_(self) -> agreement.TraceNumber:
        """The number of topics in the sweeps after warm-up of all chains."""
        return agreement.TraceNumber(self.trace_, self.burn_in)
