"""Fast point estimate of LDA, scored on held-out documents.

Phases: online EM passes, then CVB0 sweeps until the score no longer rises. From `MANY` topics on, topics
start from documents, and a sampled phase comes between. A large corpus of short documents starts from
clusters of documents and is sampled to the end, because a sampler gains more there in the same time.

A small part of the documents, the guard, is kept out and scored by document completion after each pass. The
answer is the state with the best score. A run has overfitted if its score stays below that of the
distribution of terms, or falls well below its own best score. Such a run continues as a sampler from a random
start, and the better of the two states is the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from bayou.data.schema import Array, Number
from bayou.inference.lda import arrays, clusters, documents, em, fold_in, prior, sampler
from bayou.inference.lda import guard as guards
from bayou.inference.lda.arrays import F32, F64, I64, U16, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.lda.resume import refuse
from bayou.inference.lda.schedule import MANY, CorpusSize, FastSchedule, guard_size
from bayou.kernels import rng

ONLINE, CAVITY, SAMPLED, RESCUE, DONE = range(5)
PHASES = ("online", "cvb0", "sampled", "rescue", "done")

FIRST_RATE, LARGEST_RATE = 0.1, 0.6  # weights of a batch: of the first, and of any
RELAXED, STRIDE = 40, 1.5  # the first CVB0 sweeps over-relax by this much
PATIENCE = 3  # scores without a gain of `tol` each that end a phase
FELL = 0.01  # nats a token under the best score so far: overfitting
EVERY = 5  # sampled sweeps between two scores
COARSE = 16  # batches of a CVB0 sweep: a bound on memory, not on learning
FORGET = {SAMPLED: 0.3, RESCUE: 0.1}  # least share of the newest draw in a running mean


class FastState(NamedTuple):
    """What the next pass needs. Arrays that a phase does not use have no rows."""

    step: int  # passes made
    phase: int
    since: int  # the step at which the phase began
    term_topic: Annotated[F32, Array("terms", "topics")]  # n_vk
    doc_topic: Annotated[F32, Array("docs", "topics")]  # n_dk, expected
    tokens: Annotated[U16, Array(("tokens", 0), "columns", below="topics")]  # topic, then proposals
    alpha: Annotated[F64, Array("topics", gt=0.0)]
    beta: Annotated[float, Number(gt=0.0)]
    answer: Annotated[F32, Array(("terms", 0), "topics")]  # n_vk of the best score so far
    answer_alpha: Annotated[F64, Array("topics", gt=0.0)]  # the priors it was scored with
    answer_beta: Annotated[float, Number(gt=0.0)]
    best: Annotated[float, Number(ge=None, finite=False)]
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]
    score_steps: Annotated[I64, Array("scores")]

    def check_relations(self) -> None:
        """Refuse a state of a checkpoint that lacks the tokens of its phase."""
        if self.phase > DONE or self.since > self.step:
            refuse("phase", "is unknown")
        sampled = self.phase in (SAMPLED, RESCUE)
        if self.tokens.shape[1] not in (1, 1 + sampler.N_PROPOSALS) or sampled > len(self.tokens):
            refuse("tokens", "does not fit the phase")


class FastSetup(NamedTuple):
    """What corpus and parameters determine. It never changes during training."""

    pairs: Pairs  # training documents, shuffled
    cut: Callable[[int], tuple[list[em.EMBatch], em.Scratch]]  # into N batches
    guard: Pairs  # documents kept out of training
    halves: tuple[Pairs, Pairs]  # of each document of the guard: observed, scored
    floor: float  # score of the corpus' distribution of terms
    chain: Callable[[], sampler.SamplerChain]  # made at the first call
    new: F32  # terms x topics, zero between sweeps
    whole: bool  # counts are whole numbers, so there are tokens to sample
    plan: FastSchedule
    each: Each
    seed: int


def make_setup(
    pairs: Pairs,
    shape: tuple[int, int],
    plan: Callable[[CorpusSize], FastSchedule],
    beta: float,
    seed: int,
    each: Each,
) -> FastSetup:
    """Shuffle the documents, keep the guard out, and group the rest by term, batch by batch.

    ``shape`` is the number of terms and topics.
    """
    n_terms, n_topics = shape
    order = rng.permutation(pairs.n_docs, np.uint64(rng.key(seed, rng.SHUFFLE, 0, 0)))
    n_guard = guard_size(pairs.n_docs)
    guard = documents.select(pairs, np.sort(order[:n_guard]))
    train = documents.select(pairs, order[n_guard:])
    whole = bool((train.counts == np.rint(train.counts)).all())
    size = CorpusSize(train.n_docs, len(train.terms), train.n_tokens, n_terms, whole)
    chosen = plan(size)
    halves = guards.split_tokens(guard, n_terms)

    @lru_cache(maxsize=1)  # a phase uses one cut, again and again
    def cut(n_batches: int) -> tuple[list[em.EMBatch], em.Scratch]:
        batches = em.make_batches(train, n_batches, n_terms)
        return batches, em.make_scratch(batches, n_topics)

    return FastSetup(
        pairs=train,
        cut=cut,
        guard=guard,
        halves=halves,
        floor=guards.unigram_score(train, halves[1], n_terms, beta),
        chain=cache(lambda: sampler.make_chain(documents.tokens_of(train), n_terms, seed)),
        new=np.zeros((n_terms, n_topics), np.float32),
        whole=whole,
        plan=chosen,
        each=each,
        seed=seed,
    )


def start(setup: FastSetup, alpha: F64, beta: float, given: F32 | None = None) -> FastState:
    """The state before the first pass, from counts that are given or from the documents."""
    n_terms, n_topics = setup.new.shape
    if given is not None:
        term_topic = given
    elif n_topics >= MANY:
        term_topic = em.document_start(setup.pairs, n_terms, n_topics, setup.seed)
    else:
        begin = clusters.cluster_start if setup.plan.clustered else em.noise_start
        term_topic = begin(setup.pairs, n_terms, n_topics, setup.seed, setup.each)
    blank = np.zeros((0, n_topics), np.float32)
    doc_topic = em.level_documents(setup.pairs, n_topics)
    none = np.zeros((0, 1 + sampler.N_PROPOSALS), np.uint16)
    return FastState(
        0, ONLINE, 0, term_topic, doc_topic, none, alpha, beta,
        blank, alpha, beta, -math.inf, np.zeros(0), np.zeros(0, np.int64),
    )  # fmt: skip


def advance(state: FastState, setup: FastSetup) -> FastState:
    """One pass over the corpus, its score, and the phase that follows from it."""
    step, both, plan = state.step, (state.alpha, state.beta), setup.plan
    if state.phase == ONLINE:
        _online(state, setup)
        if not plan.cavity and step + 1 == plan.online:
            state = _learn(state, plan)
    elif state.phase == CAVITY:
        cut = setup.cut(min(plan.n_batches, COARSE))
        stride = STRIDE if step - state.since < RELAXED else 1.0
        shared = em.EMPass(setup.pairs, *cut, *both, setup.each)
        em.cavity_sweep(state.term_topic, state.doc_topic, setup.new, shared, stride)
        if (step - state.since) % PATIENCE == 0:
            state = _learn(state, plan)
    else:
        one = sampler.metropolis if state.tokens.shape[1] > 1 else sampler.snapshot
        one(state.tokens, setup.chain(), *both, step, setup.each)
        if (step + 1 - state.since) % EVERY:
            return _next(state._replace(step=step + 1), setup)
        state = _count_samples(state, setup)
    state = state._replace(step=step + 1)
    return _next(_score(state, setup), setup)


def _online(state: FastState, setup: FastSetup) -> None:
    """One pass in mini-batches. In a clustered run their weights fall from the first rate to 1 / n."""
    batches, scratch = setup.cut(setup.plan.n_batches)
    shared = em.EMPass(setup.pairs, batches, scratch, state.alpha, state.beta, setup.each)
    n = len(batches)
    if not setup.plan.clustered:
        return em.online_pass(state.term_topic, state.doc_topic, shared, state.step * n)
    done = (state.step + np.arange(n) / n) / setup.plan.online
    rates = FIRST_RATE * (1.0 / n / FIRST_RATE) ** done
    rates = np.minimum(rates, LARGEST_RATE)
    em.fresh_pass(state.term_topic, state.doc_topic, setup.new, shared, rates)
    setup.new[:] = 0.0
    return None


def _count_samples(state: FastState, setup: FastSetup) -> FastState:
    """n_vk of the tokens, or their running mean if no CVB0 follows: single draws score worse."""
    chain, each, n_topics = setup.chain(), setup.each, setup.new.shape[1]
    if state.phase == SAMPLED and setup.plan.cavity:
        state.term_topic[:] = 0.0
        sampler.count_terms(state.tokens, chain, n_topics, each, state.term_topic)
        return state
    n_before = int((state.score_steps > state.since).sum())
    share = np.float32(max(1.0 / (n_before + 1), FORGET[state.phase]))
    drawn = sampler.count_terms(state.tokens, chain, n_topics, each)
    state.term_topic[:] += share * (drawn - state.term_topic)
    if state.phase == SAMPLED and (setup.plan.learn_alpha or setup.plan.learn_beta):
        doc_topic = sampler.count_docs(state.tokens, chain, n_topics, each)
        state = _learn(state._replace(doc_topic=doc_topic), setup.plan)
    return state


def answer(state: FastState, setup: FastSetup) -> tuple[F32, FastState]:
    """n_vk of the best state with the guard's documents added, and that state's priors in the state."""
    counts = state.term_topic
    if len(state.answer):
        counts = state.answer
        state = state._replace(alpha=state.answer_alpha, beta=state.answer_beta)
    counts = counts.copy()
    guards.add_documents(counts, setup.guard, state.alpha, state.beta, setup.each)
    return counts, state


def dims_of(setup: FastSetup) -> dict[str, int]:
    """Sizes that the arrays of a state must have."""
    n_terms, n_topics = setup.new.shape
    n_tokens = round(setup.pairs.n_tokens)
    return {"terms": n_terms, "topics": n_topics, "docs": setup.pairs.n_docs, "tokens": n_tokens}


def _score(state: FastState, setup: FastSetup) -> FastState:
    """Score the guard, and store the counts unless earlier ones were clearly better.

    If scores differ by less than `tol`, the latest state is taken: later sweeps have converged further.
    """
    rows = arrays.topic_rows(state.term_topic, state.beta, setup.each)
    value = fold_in.completion(rows, state.alpha, *setup.halves, setup.each)
    scores = np.append(state.scores, value)
    steps = np.append(state.score_steps, state.step)
    if value > state.best - max(setup.plan.tol, 0.0):
        if len(state.answer):
            state.answer[:] = state.term_topic
        else:
            state = state._replace(answer=state.term_topic.copy())
        state = state._replace(
            best=max(value, state.best), answer_alpha=state.alpha, answer_beta=state.beta
        )
    return state._replace(scores=scores, score_steps=steps)


def _next(state: FastState, setup: FastSetup) -> FastState:
    """Stay in the phase, or enter the next one if the scores or the schedule end this one."""
    plan, since = setup.plan, state.step - state.since
    mine = state.scores[state.score_steps > state.since]
    fell = len(mine) > 1 and mine[-1] < mine.max() - FELL
    flat = len(mine) > PATIENCE and mine[-1] - mine[-1 - PATIENCE] < PATIENCE * plan.tol
    idle = len(mine) > 1 and mine[-1] < mine[-2] + plan.tol  # a further pass gained nothing
    if state.phase == ONLINE and (since >= plan.online or idle):
        if plan.sampled and setup.whole:
            return _enter(state, setup, SAMPLED)
        return _enter(state, setup, CAVITY if plan.cavity else _last(state, setup, fell))
    if state.phase == SAMPLED and (since >= plan.sampled or flat):
        return _enter(state, setup, CAVITY if plan.cavity else _last(state, setup, fell))
    if state.phase == CAVITY and (since >= plan.cavity or flat or fell):
        return _enter(state, setup, _last(state, setup, fell))
    if state.phase == RESCUE and (flat or state.step >= _most(plan)):
        return _enter(state, setup, DONE)
    return state


def _last(state: FastState, setup: FastSetup, fell: bool) -> int:
    """Done, or the rescue if the run has overfitted and has passes left."""
    lost = state.best < setup.floor or fell
    return RESCUE if lost and setup.whole and state.step < _most(setup.plan) else DONE


def _most(plan: FastSchedule) -> int:
    """The most passes there can be."""
    return plan.online + plan.sampled + plan.cavity + plan.rescue


def _enter(state: FastState, setup: FastSetup, phase: int) -> FastState:
    """Start a phase: bring the state into the form that the phase works on."""
    n_topics, each = setup.new.shape[1], setup.each
    state = state._replace(phase=phase, since=state.step)
    if phase == SAMPLED:
        rows = arrays.topic_rows(state.term_topic, state.beta, each)
        n_proposals = sampler.N_PROPOSALS if n_topics >= MANY else 0
        tokens = sampler.start_from(
            setup.chain(), rows, state.doc_topic, state.alpha, n_proposals, each
        )
        return state._replace(tokens=tokens)
    if phase == RESCUE:
        tokens = sampler.start(setup.chain(), n_topics, sampler.N_PROPOSALS, each)
        return state._replace(tokens=tokens)
    if len(state.tokens) and phase == CAVITY:
        state.term_topic[:] = 0.0
        sampler.count_terms(state.tokens, setup.chain(), n_topics, each, state.term_topic)
        doc_topic = sampler.count_docs(state.tokens, setup.chain(), n_topics, each)
        return state._replace(doc_topic=doc_topic, tokens=state.tokens[:0])
    return state


def _learn(state: FastState, plan: FastSchedule) -> FastState:
    if plan.learn_alpha:
        state = state._replace(alpha=prior.estimate_alpha(state.alpha, state.doc_topic))
    if plan.learn_beta:
        state = state._replace(beta=prior.estimate_beta(state.beta, state.term_topic))
    return state
