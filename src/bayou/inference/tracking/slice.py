"""A slice from its documents to the next state: inference, measures of change, lineage, memory."""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each, topic_totals
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import solve
from bayou.inference.tracking import cvb0, evidence, lineage, memory, memory_update, prior
from bayou.inference.tracking import state as slots
from bayou.inference.tracking.evidence import SliceEvidence
from bayou.inference.tracking.lineage import Event, TopicMeasures
from bayou.inference.tracking.prior import SliceDocuments
from bayou.inference.tracking.state import TrackerState
from bayou.kernels import rng

SWEEPS = {"fast": 4, "snapshot": 100, "gibbs": 100}  # over a slice, unless told
FROM_NOISE = 8  # times as many passes over a first slice, which has no memory to start at
FIRST_BETA = 0.01  # where learning it begins
SPARE = 0.1  # most that a document expects of a spare topic beforehand, in tokens
BIRTH = 0.5  # of an average topic's share: what a spare topic must have to be kept


class SliceResult(NamedTuple):
    """What came of a slice."""

    state: TrackerState
    before: TrackerState  # as it was, with the slice's terms
    seen: TopicMeasures
    judged: SliceEvidence | None  # None for the first slice
    doc_topic: F32
    events: list[Event]
    born: dict[int, int]  # column of a spare -> permanent id


def slice_seed(seed: int, step: int, start: int = 0) -> int:
    """The seed of a slice; that of the first is the model's own, so that one slice is LDA."""
    if step == start == 0:
        return seed
    return int(rng.key(seed, rng.SLICE, step, start)) & 0xFFFFFFFF


def first(
    pairs: Pairs, alpha: F64, fixed: F32, p: SimpleNamespace, seed: int, each: Each, step: int = 0
) -> SliceResult:
    """The first slice that has any tokens: LDA, with topics held fixed where there are any.

    ``fixed`` is terms x fixed topics; ``step`` is how many slices without tokens came before.
    """
    here, n_topics, n_fixed = prior.slice_documents(pairs, len(fixed)), len(alpha), fixed.shape[1]
    beta = FIRST_BETA if p.beta is None else float(p.beta)
    known = prior.flat_prior(len(here.terms), n_topics, beta, here.n_terms)
    if n_fixed:
        known = _with_fixed_topics(known, fixed[here.terms], p, here.n_terms)
    begin = (known.rows / known.mass).astype(np.float32) if n_fixed else None
    if p.start == "spectral":
        solved = solve.lda_start(pairs, here.n_terms, n_topics - n_fixed, seed)
        rows = solved / np.maximum(solved.sum(axis=0), np.float32(1e-30))
        begin = np.ascontiguousarray(np.hstack([fixed, rows])[here.terms], dtype=np.float32)
    how = _how(alpha, p)._replace(learns_alpha=p.alpha is None)
    seeds = [slice_seed(seed, step, start) for start in range(p.n_starts)]
    found, known = _best(here, known, how, begin, seeds, p, each)
    state = _first_state(found, known, fixed, here, p)
    state = memory_update.update_term_shares(state, here, 1.0)
    seen, (logit, doubt) = evidence.measure_shares(found, here)
    state = state._replace(logit=logit, logit_doubt=doubt, n_seen=pairs.n_docs, step=step + 1)
    return SliceResult(state, state, seen, None, found.doc_topic, [], {})


def _best(
    here: SliceDocuments,
    known: prior.SlicePrior,
    how: prior.TrackingSettings,
    begin: F32 | None,
    seeds: list[int],
    p: SimpleNamespace,
    each: Each,
) -> tuple[prior.SliceTopics, prior.SlicePrior]:
    """A first slice as the best of several starts has it."""
    if p.inference != "fast":
        tries = [prior.infer(here, known, how, begin, seed, each) for seed in seeds]
        if len(tries) == 1:
            return tries[0]
        scores = [evidence.likelihood(*one, here, each) for one in tries]
        return tries[int(np.argmax(scores))]
    if p.n_sweeps is None:
        how = how._replace(n_sweeps=FROM_NOISE * how.n_sweeps)
    return cvb0.best(here, known, how, begin, seeds, each)


def _how(alpha: F64, p: SimpleNamespace) -> prior.TrackingSettings:
    n_sweeps = p.n_sweeps or SWEEPS[p.inference]
    burn_in = n_sweeps // 2 if p.burn_in is None else p.burn_in
    return prior.TrackingSettings(alpha, n_sweeps, burn_in, p.inference, p.beta is None)


def _with_fixed_topics(
    known: prior.SlicePrior, fixed: F32, p: SimpleNamespace, n_terms: int
) -> prior.SlicePrior:
    rows, mass, gain = (np.array(part) for part in known[:3])
    n = fixed.shape[1]
    pull = np.full(n, np.inf if p.fixed_strength is None else p.fixed_strength)
    whole = np.ones(n), n_terms
    held = prior.make_prior(fixed, pull, known.beta, np.ones(n, bool), whole)
    rows[:, :n], mass[:n], gain[:n] = held.rows, held.mass, held.gain
    return prior.SlicePrior(rows, mass, gain, known.beta)


def _first_state(
    found: prior.SliceTopics,
    known: prior.SlicePrior,
    fixed: F32,
    here: SliceDocuments,
    p: SimpleNamespace,
) -> TrackerState:
    n_terms, n_topics = here.n_terms, found.term_topic.shape[1]
    n_fixed, tokens = fixed.shape[1], topic_totals(found.term_topic)
    before = np.hstack([fixed, np.zeros((n_terms, n_topics - n_fixed), np.float32)])
    pull = np.where(np.arange(n_topics) < n_fixed, p.fixed_strength or 0.0, 0.0)
    rows = memory.all_rows(found.term_topic, here, before, pull, known.beta, known.gain)
    kept = memory_update.first_memory(found, rows, here, p)
    kept[:, :n_fixed] = fixed
    zeros, whole = np.zeros(n_topics), np.zeros(n_topics, np.int64)
    return TrackerState(
        step=0, n_seen=0, n_ids=n_topics, n_fixed=n_fixed, strength=0.0, doc_doubt=1.0, beta=known.beta,
        spared=0.0, memory=kept, past=kept[None][: 1 if p.window else 0], rows=rows, alpha=found.alpha,
        ids=np.arange(n_topics), silent=whole,
        doubt=np.where(np.arange(n_topics) < n_fixed, 0.0, 1.0 / np.maximum(tokens, 1.0)), tokens=tokens,
        logit=zeros, logit_doubt=zeros, alarmed=whole, leaning=whole, near=whole - 1,
        usual=np.zeros(n_terms), spread=np.zeros(n_terms), last=np.zeros(n_terms, np.int64),
        hot=np.zeros(n_terms, np.int64), archive=np.zeros((n_terms, 0), np.float32),
        archive_ids=np.zeros(0, np.int64), archive_logit=np.zeros(0), ratios=np.zeros(0),
        swings=np.zeros(0), surprise=np.zeros(0),
    )  # fmt: skip


def following(
    state: TrackerState, pairs: Pairs, p: SimpleNamespace, seed: int, each: Each
) -> SliceResult:
    """A slice after the first: everything is measured against the memory before that moves on."""
    n_topics, here = len(state.ids), prior.slice_documents(pairs, len(state.memory))
    if not len(here.tokens.terms):
        return _nothing(state, pairs)
    known = _prior(state, here, p)
    state = state._replace(strength=_pull(state, pairs.n_tokens, p))
    known = prior.with_spares(known, _n_spares(state, p), here.n_terms)
    shy = min(float(state.alpha.mean()), SPARE)
    alpha = np.append(state.alpha, np.full(len(known.mass) - n_topics, shy))
    begin, own = evidence.smooth_memory(state, here, len(alpha)), slice_seed(seed, state.step)
    infer = cvb0.infer if p.inference == "fast" else prior.infer
    found, known = infer(here, known, _how(alpha, p), begin, own, each)
    state = state._replace(beta=known.beta)
    seen, odds = evidence.measure_shares(found, here)
    judged = evidence.judge(state, here, found, seen, odds, begin, p, (seed, state.step), each)
    after = memory_update.update_memory(state, found, here, judged, odds, p)
    after = evidence.record_scores(after, judged, p.rho)
    after, events, born = _lives(state, after, seen, found, p)
    return SliceResult(after, state, seen, judged, found.doc_topic, events, born)


def _nothing(state: TrackerState, pairs: Pairs) -> SliceResult:
    """A slice without tokens: it counts, and teaches nothing."""
    n_terms, n_topics = state.memory.shape
    missing = np.full(n_topics, np.nan)
    none = np.zeros((0, n_topics), np.float32), np.zeros(0, np.int64), n_terms, np.zeros(n_topics)
    seen = TopicMeasures(*none, missing, missing, missing)
    after = state._replace(step=state.step + 1, n_seen=state.n_seen + pairs.n_docs)
    return SliceResult(
        after, state, seen, None, np.zeros((pairs.n_docs, n_topics), np.float32), [], {}
    )


def _n_spares(state: TrackerState, p: SimpleNamespace) -> int:
    most = 2 * p.n_topics if p.max_topics is None else p.max_topics
    return int(max(min(p.n_spare, most + state.n_fixed - len(state.ids)), 0))


def _pull(state: TrackerState, n_tokens: float, p: SimpleNamespace) -> float:
    """Pseudo-tokens of the memory in this slice."""
    if p.scale == "counts":
        return 1.0
    if p.strength == "estimate":
        if state.strength > 0.0:  # none was estimated while slices were empty
            return state.strength
    elif p.strength is not None:
        return float(p.strength)
    n_free = len(state.ids) - state.n_fixed
    return memory.weighted_strength(n_tokens, max(n_free, 1), p.weight)


def _prior(state: TrackerState, here: SliceDocuments, p: SimpleNamespace) -> prior.SlicePrior:
    held = np.arange(len(state.ids)) < state.n_fixed
    pull = np.full(len(held), _pull(state, here.pairs.n_tokens, p))
    pull[held] = np.inf if p.fixed_strength is None else p.fixed_strength
    whole = topic_totals(state.memory), here.n_terms
    return prior.make_prior(state.memory[here.terms], pull, state.beta, held, whole)


def _lives(
    before: TrackerState,
    after: TrackerState,
    seen: TopicMeasures,
    found: prior.SliceTopics,
    p: SimpleNamespace,
) -> tuple[TrackerState, list[Event], dict[int, int]]:
    """The lineage of a slice: who sleeps, wakes, dies, merges, and which spare topics are kept."""
    silent, events, gone = lineage.sleepers(before, seen, p.dead_after, p.min_tokens)
    if len(gone) == len(before.ids):  # the last topic sleeps on: without any there is no model
        last = max(gone, key=lambda k: before.logit[k])
        gone = [k for k in gone if k != last]
        events = [e for e in events if e.column != last]
    events, taken = lineage.find_absorptions(before, seen, events, p.min_tokens)
    near, merged, given_up = lineage.mergers(before, seen, p.min_tokens)
    given_up += [k for k in taken if k not in given_up]
    for k in gone:
        after = slots.archive_topic(after, k)
    asleep = silent > 0  # what is usual for a topic is what it is when awake
    after = after._replace(
        silent=silent, near=near, logit=np.where(asleep, before.logit, after.logit),
        logit_doubt=np.where(asleep, before.logit_doubt, after.logit_doubt),
    )  # fmt: skip
    events += [e for e in merged if e.column not in (*gone, *taken)]
    left = {*gone, *given_up}
    keep = np.array([k for k in range(len(before.ids)) if k not in left], np.int64)
    if len(keep) < len(before.ids):
        after = slots.take_topics(after, keep)
    born = {}
    for j in range(len(before.ids), len(seen.share)):
        n_free = max(len(before.ids) - before.n_fixed, 1)  # all of them may have died
        if seen.tokens[j] >= p.min_tokens and seen.low[j] >= BIRTH / n_free:
            after, event = _add_spare_topic(after, seen, j, found)
            events.append(event)
            born[j] = event.id
    return after, events, born


def _add_spare_topic(
    state: TrackerState, seen: TopicMeasures, j: int, found: prior.SliceTopics
) -> tuple[TrackerState, Event]:
    """A spare topic becomes one of the state: a new one, or one of the archive."""
    counts, total = seen.of(j), float(seen.tokens[j])
    kind, at, gap = lineage.origin(state, counts)
    share = float(seen.share[j])
    parent, before, id_ = -1, 0.0, state.n_ids
    if kind == "revived":
        id_ = int(state.archive_ids[at])
        before = float(lineage.usual_share(state.archive_logit[at]))
        state = slots.drop_archive_entry(state, at)
    elif kind == "split":
        parent = int(state.ids[at])
    logit = float(np.log(max(share, evidence.LEAST_SHARE) / max(1.0 - share, evidence.LEAST_SHARE)))
    floor = (counts + state.beta) / (total + len(counts) * state.beta)
    memory_ = slots.normalise_columns(counts)
    state = slots.add_topic(
        state, memory=memory_, rows=floor, ids=id_, doubt=1.0 / max(total, 1.0), tokens=total,
        logit=logit, logit_doubt=0.25, alpha=state.alpha.mean(),
    )  # fmt: skip
    state = state._replace(n_ids=max(state.n_ids, id_ + 1))
    return state, Event(kind, id_, j, before, share, parent, gap)
