"""The state after a slice: memories of topics, their strength, and usual shares of terms."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import prior as lda_prior
from bayou.inference.lda.arrays import F32, F64, topic_totals
from bayou.inference.tracking import evidence
from bayou.inference.tracking.evidence import InferredSlice, SliceEvidence
from bayou.inference.tracking.memory import all_rows, blend, estimate_strength, strength_of_weight
from bayou.inference.tracking.prior import SliceDocuments, SliceTopics
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.state import TrackerState


def strength(state: TrackerState, n_tokens: float, p: TrackerSettings) -> float:
    """Pseudo-tokens S of the memory in a slice of ``n_tokens`` tokens."""
    if p.scale == "counts":
        return 1.0
    if p.strength == "estimate":
        if state.strength > 0.0:  # 0 until the second slice with tokens
            return state.strength
    elif p.strength is not None:
        return float(p.strength)
    n_free = len(state.ids) - state.n_fixed
    return strength_of_weight(n_tokens, max(n_free, 1), p.weight)


def first_memory(found: SliceTopics, rows: F32, here: SliceDocuments, p: TrackerSettings) -> F32:
    """The memory after the first slice: its counts as distributions, or as counts (``scale``).

    The memory of a topic without tokens is its prior, which is in ``rows``.
    """
    if p.scale == "counts":
        return here.spread(found.term_topic * np.float32(p.rho))
    totals = topic_totals(found.term_topic)
    inverse = np.where(totals > 0, 1.0 / np.maximum(totals, 1e-30), 0.0).astype(np.float32)
    counts = here.spread(found.term_topic * inverse)
    return np.where(totals > 0, counts, rows)


def advance_state(
    state: TrackerState, seen: InferredSlice, judged: SliceEvidence, p: TrackerSettings
) -> TrackerState:
    """The state after a slice: memories, their error, usual shares, and phi of the slice.

    beta is left out of the memory. It would be added again in every slice, and an absent topic would
    become uniform.
    """
    n_topics, here, found = len(state.ids), seen.documents, seen.topics
    counts = np.ascontiguousarray(found.term_topic[:, :n_topics])
    tokens, held = topic_totals(counts), np.arange(n_topics) < state.n_fixed
    rho = np.where(held, 0.0, 1.0 / p.window if p.window else p.rho)
    memory, past, weight = _move_memory(state, counts, here, rho, p)
    doubt = (1.0 - weight) ** 2 * state.doubt + weight**2 / np.maximum(tokens, 1.0)
    after, alpha = state.strength, state.alpha
    if p.strength == "estimate" and tokens.sum() > 0:
        free, before = ~held, state.memory
        after = estimate_strength(here.spread(counts)[:, free], before[:, free], state.beta)
    if p.learn_alpha:
        estimate = lda_prior.estimate_alpha(alpha, found.doc_topic[:, :n_topics])
        alpha = (1.0 - p.rho) * alpha + p.rho * estimate
    state = state._replace(
        memory=memory, past=past, rows=_slice_rows(state, counts, here, judged, p),
        doubt=np.where(held, 0.0, doubt), tokens=tokens, strength=after, alpha=alpha,
        step=state.step + 1, n_seen=state.n_seen + here.pairs.n_docs,
    )  # fmt: skip
    spared = 1.0 - float(tokens.sum()) / max(float(topic_totals(found.term_topic).sum()), 1e-12)
    state = update_term_shares(state, here, p.rho)
    return evidence.update_topic_shares(state, seen, p.rho, spared)


def _move_memory(
    state: TrackerState, counts: F32, here: SliceDocuments, rho: F64, p: TrackerSettings
) -> tuple[F32, F32, F64]:
    """The memory after a slice, the estimates of a window, and the weight of the slice in each memory."""
    memory, past, pull, tokens = state.memory, state.past, state.strength, topic_totals(counts)
    if p.scale == "counts":  # C <- (1 - rho) C + rho n
        memory = memory * (1.0 - rho).astype(np.float32)
        memory[here.terms] += counts * rho.astype(np.float32)
        return memory, past, rho * tokens / np.maximum(topic_totals(memory), 1e-12)
    weight = rho * tokens / np.maximum(pull + tokens, 1e-12)
    if not p.window:
        return blend(memory, counts, here, pull, rho), past, weight
    now = blend(memory, counts, here, pull, np.ones(len(rho)))
    past = np.concatenate([past, now[None]])[-p.window :]
    held = np.arange(len(rho)) < state.n_fixed
    return np.where(held, memory, past.mean(axis=0)).astype(np.float32), past, weight


def _slice_rows(
    state: TrackerState,
    counts: F32,
    here: SliceDocuments,
    judged: SliceEvidence,
    p: TrackerSettings,
) -> F32:
    """phi of the slice from counts and memory.

    A given strength is used here too. Otherwise the weight of each memory follows from its stability.
    """
    by_stability = p.strength is None and p.scale == "strength"
    pull = (
        evidence.memory_weights(state, judged, topic_totals(counts))
        if by_stability
        else state.strength
    )
    held = np.arange(len(state.ids)) < state.n_fixed
    gain = np.ones(len(held))
    if p.fixed_strength is None:
        gain[held] = 0.0
    pull = np.where(held, p.fixed_strength or 0.0, pull)
    return all_rows(counts, here, state.memory, pull, state.beta, gain)


def update_term_shares(state: TrackerState, here: SliceDocuments, rho: float) -> TrackerState:
    """The state with usual shares of terms among tokens and documents, and their last slices."""
    pairs = here.pairs
    if not pairs.n_tokens:
        return state
    shares = np.bincount(pairs.terms, weights=pairs.counts) / pairs.n_tokens
    docs = np.bincount(pairs.terms) / pairs.n_docs
    usual, spread, last = (1.0 - rho) * state.usual, (1.0 - rho) * state.spread, state.last.copy()
    usual[here.terms] += rho * shares
    spread[here.terms] += rho * docs
    last[here.terms] = state.step
    doubt = (1.0 - rho) ** 2 * state.doc_doubt + rho**2 / pairs.n_docs
    return state._replace(usual=usual, spread=spread, doc_doubt=doubt, last=last)
