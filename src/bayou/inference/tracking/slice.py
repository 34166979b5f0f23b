"""Parts of the slice step of a tracker: priors, starts, the first state, and what a slice results in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each, topic_totals
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import solve
from bayou.inference.tracking import cvb0, evidence, memory, memory_update, prior
from bayou.inference.tracking.evidence import SliceEvidence
from bayou.inference.tracking.lineage import Event, TopicMeasures
from bayou.inference.tracking.prior import SliceDocuments, SlicePrior, SliceSettings, SliceTopics
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.state import TrackerState
from bayou.kernels import rng

FIRST_BETA = 0.01  # where learning beta starts
SPARE = 0.1  # most prior tokens of a spare topic per document


class SliceResult(NamedTuple):
    """The state after a slice, and what was found on the way."""

    state: TrackerState
    before: TrackerState  # the state before the slice, but with S and beta of the slice
    seen: TopicMeasures
    judged: SliceEvidence | None  # None for the first slice and for slices without tokens
    doc_topic: F32
    events: list[Event]
    born: dict[int, int]  # column of a spare topic -> permanent id


def slice_seed(seed: int, step: int, start: int = 0) -> int:
    """The seed of a slice. The first slice has the seed of the model, so that one slice is LDA."""
    if step == start == 0:
        return seed
    return int(rng.key(seed, rng.SLICE, step, start)) & 0xFFFFFFFF


def slice_settings(alpha: F64, p: TrackerSettings) -> SliceSettings:
    """Settings of the inference in slices after the first."""
    return SliceSettings(alpha, p.n_sweeps, p.burn_in, p.inference, p.beta is None)


def first_slice(
    state: TrackerState | None, pairs: Pairs, fixed: F32, p: TrackerSettings, seed: int, each: Each
) -> SliceResult:
    """The first slice with tokens: LDA, with ``fixed`` (terms x topics) as the first topics.

    ``state`` is the state after earlier slices without tokens.
    """
    step, n_seen = (0, 0) if state is None else (state.step, state.n_seen)
    here = prior.slice_documents(pairs, len(fixed))
    known = first_prior(here, fixed, p)
    start = first_start(pairs, here, known, fixed, p, seed)
    seeds = [slice_seed(seed, step, n) for n in range(p.n_starts)]
    found, known = infer_first(here, known, start, p, seeds, each)
    seen = evidence.measure_shares(found, here)
    after = first_state(found, known, here, fixed, p)
    after = memory_update.update_term_shares(after, here, 1.0)._replace(
        logit=seen.logit, logit_doubt=seen.variance, step=step + 1, n_seen=n_seen + pairs.n_docs
    )
    return SliceResult(after, after, seen.measures, None, found.doc_topic, [], {})


def first_prior(here: SliceDocuments, fixed: F32, p: TrackerSettings) -> SlicePrior:
    """The prior of LDA; ``fixed`` (terms x fixed topics) are the first columns."""
    beta = FIRST_BETA if p.beta is None else float(p.beta)
    known = prior.flat_prior(len(here.terms), len(p.alpha), beta, here.n_terms)
    n = fixed.shape[1]
    if not n:
        return known
    rows, mass, gain = (np.array(part) for part in known[:3])
    pull = np.full(n, np.inf if p.fixed_strength is None else p.fixed_strength)
    whole = np.ones(n), here.n_terms
    held = prior.make_prior(fixed[here.terms], pull, beta, np.ones(n, bool), whole)
    rows[:, :n], mass[:n], gain[:n] = held.rows, held.mass, held.gain
    return SlicePrior(rows, mass, gain, beta)


def first_start(
    pairs: Pairs, here: SliceDocuments, known: SlicePrior, fixed: F32, p: TrackerSettings, seed: int
) -> F32 | None:
    """Topics (terms x topics) that the first slice starts from. None starts from noise."""
    n_fixed = fixed.shape[1]
    if p.start == "spectral":
        counts = solve.lda_start(pairs, here.n_terms, len(p.alpha) - n_fixed, seed)
        rows = counts / np.maximum(counts.sum(axis=0), np.float32(1e-30))
        return np.ascontiguousarray(np.hstack([fixed, rows])[here.terms], dtype=np.float32)
    return (known.rows / known.mass).astype(np.float32) if n_fixed else None


def infer_first(
    here: SliceDocuments,
    known: SlicePrior,
    begin: F32 | None,
    p: TrackerSettings,
    seeds: list[int],
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """The topics of the first slice: the best of several starts, and the prior they were found under."""
    how = slice_settings(p.alpha, p)._replace(learns_alpha=p.learns_alpha)
    if p.inference == "fast":
        how = how._replace(n_sweeps=p.n_first_sweeps)
        return cvb0.infer_first(here, known, how, begin, seeds, each)
    starts = [prior.infer(here, known, how, begin, seed, each) for seed in seeds]
    if len(starts) == 1:
        return starts[0]
    scores = [evidence.likelihood(*one, here, each) for one in starts]
    return starts[int(np.argmax(scores))]


def first_state(
    found: SliceTopics, known: SlicePrior, here: SliceDocuments, fixed: F32, p: TrackerSettings
) -> TrackerState:
    """The state after the first slice, before its shares are recorded."""
    n_terms, n_topics = here.n_terms, found.term_topic.shape[1]
    n_fixed, tokens = fixed.shape[1], topic_totals(found.term_topic)
    before = np.hstack([fixed, np.zeros((n_terms, n_topics - n_fixed), np.float32)])
    held = np.arange(n_topics) < n_fixed
    pull = np.where(held, p.fixed_strength or 0.0, 0.0)
    rows = memory.all_rows(found.term_topic, here, before, pull, known.beta, known.gain)
    kept = memory_update.first_memory(found, rows, here, p)
    kept[:, :n_fixed] = fixed
    zeros, whole = np.zeros(n_topics), np.zeros(n_topics, np.int64)
    return TrackerState(
        step=0, n_seen=0, n_ids=n_topics, n_fixed=n_fixed, strength=0.0, doc_doubt=1.0, beta=known.beta,
        spared=0.0, memory=kept, past=kept[None][: 1 if p.window else 0], rows=rows, alpha=found.alpha,
        ids=np.arange(n_topics), silent=whole,
        doubt=np.where(held, 0.0, 1.0 / np.maximum(tokens, 1.0)), tokens=tokens,
        logit=zeros, logit_doubt=zeros, alarmed=whole, leaning=whole, near=whole - 1,
        usual=np.zeros(n_terms), spread=np.zeros(n_terms), last=np.zeros(n_terms, np.int64),
        hot=np.zeros(n_terms, np.int64), archive=np.zeros((n_terms, 0), np.float32),
        archive_ids=np.zeros(0, np.int64), archive_logit=np.zeros(0), ratios=np.zeros(0),
        swings=np.zeros(0), surprise=np.zeros(0),
    )  # fmt: skip


def memory_prior(
    state: TrackerState, here: SliceDocuments, p: TrackerSettings
) -> tuple[SlicePrior, F64]:
    """Dir(beta + S m_k) for the topics of the state and Dir(beta) for spare topics; alpha of all of them."""
    n_topics = len(state.ids)
    held = np.arange(n_topics) < state.n_fixed
    pull = np.full(n_topics, state.strength)
    pull[held] = np.inf if p.fixed_strength is None else p.fixed_strength
    whole = topic_totals(state.memory), here.n_terms
    known = prior.make_prior(state.memory[here.terms], pull, state.beta, held, whole)
    n_spares = max(min(p.n_spare, p.max_topics + state.n_fixed - n_topics), 0)
    small = min(float(state.alpha.mean()), SPARE)
    alpha = np.append(state.alpha, np.full(n_spares, small))
    return prior.add_spares(known, n_spares, here.n_terms), alpha


def empty_slice(state: TrackerState, pairs: Pairs) -> SliceResult:
    """A slice without tokens: it counts, and nothing else changes."""
    n_terms, n_topics = state.memory.shape
    missing = np.full(n_topics, np.nan)
    none = np.zeros((0, n_topics), np.float32), np.zeros(0, np.int64), n_terms, np.zeros(n_topics)
    seen = TopicMeasures(*none, missing, missing, missing)
    after = state._replace(step=state.step + 1, n_seen=state.n_seen + pairs.n_docs)
    docs = np.zeros((pairs.n_docs, n_topics), np.float32)
    return SliceResult(after, state, seen, None, docs, [], {})
