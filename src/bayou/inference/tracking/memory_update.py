"""What a tracker remembers after a slice: its topics, their strength, and what is usual for terms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from bayou.inference.lda import prior
from bayou.inference.lda.arrays import F32, F64, topic_totals
from bayou.inference.tracking import evidence
from bayou.inference.tracking import prior as tracking
from bayou.inference.tracking.memory import all_rows, blend, estimate_strength
from bayou.inference.tracking.prior import SliceDocuments
from bayou.inference.tracking.state import TrackerState


def first_memory(
    found: tracking.SliceTopics, rows: F32, here: SliceDocuments, p: SimpleNamespace
) -> F32:
    """The memory after the first slice: its counts, as distributions unless they are the scale.

    A topic without tokens is remembered as its prior has it, which is in ``rows``.
    """
    if p.scale == "counts":
        return here.spread(found.term_topic * np.float32(p.rho))
    totals = topic_totals(found.term_topic)
    inverse = np.where(totals > 0, 1.0 / np.maximum(totals, 1e-30), 0.0).astype(np.float32)
    counts = here.spread(found.term_topic * inverse)
    return np.where(totals > 0, counts, rows)


def update_memory(
    state: TrackerState,
    found: tracking.SliceTopics,
    here: SliceDocuments,
    judged: evidence.SliceEvidence,
    odds: tuple[F64, F64],
    p: SimpleNamespace,
) -> TrackerState:
    """The memory after a slice: m <- (1 - rho) m + rho (n + S m) / (N + S), and what is usual.

    The floor beta is left out of what is remembered: it would be added anew in every slice, and a topic
    that was absent would fade into it.
    """
    n_topics = len(state.ids)
    counts = np.ascontiguousarray(found.term_topic[:, :n_topics])
    tokens = topic_totals(counts)
    held = np.arange(n_topics) < state.n_fixed
    rho = np.where(held, 0.0, 1.0 / p.window if p.window else p.rho)
    memory, past, pull = state.memory, state.past, state.strength
    if p.scale == "counts":
        memory = memory * (1.0 - rho).astype(np.float32)
        memory[here.terms] += counts * rho.astype(np.float32)
        pull = float(memory.sum(axis=0).mean())
    elif p.window:
        now = blend(memory, counts, here, pull, np.ones(n_topics))
        past = np.concatenate([past, now[None]])[-p.window :]
        memory = np.where(held, memory, past.mean(axis=0)).astype(np.float32)
    else:
        memory = blend(memory, counts, here, pull, rho)
    step = rho * tokens / np.maximum(pull + tokens, 1e-12)
    doubt = (1.0 - step) ** 2 * state.doubt + step**2 / np.maximum(tokens, 1.0)
    strength = state.strength
    if p.strength == "estimate" and tokens.sum() > 0:
        free, before = ~held, state.memory
        strength = estimate_strength(here.spread(counts)[:, free], before[:, free], state.beta)
    alpha = state.alpha
    if p.learn_alpha:
        learned = prior.estimate_alpha(alpha, found.doc_topic[:, :n_topics])
        alpha = (1.0 - p.rho) * alpha + p.rho * learned
    state = state._replace(
        memory=memory, past=past, rows=_slice_rows(state, counts, here, judged, p),
        doubt=np.where(held, 0.0, doubt), tokens=tokens, strength=strength, alpha=alpha,
        step=state.step + 1, n_seen=state.n_seen + here.pairs.n_docs,
    )  # fmt: skip
    spared = 1.0 - float(tokens.sum()) / max(float(topic_totals(found.term_topic).sum()), 1e-12)
    return evidence.usual(update_term_shares(state, here, p.rho), odds, p.rho, spared)


def _slice_rows(
    state: TrackerState,
    counts: F32,
    here: SliceDocuments,
    judged: evidence.SliceEvidence,
    p: SimpleNamespace,
) -> F32:
    """phi of the slice: counts and memory together.

    A strength that is given is that of the memory here too; otherwise each topic has what it has earned.
    """
    earned = p.strength is None and p.scale == "strength"
    pull = (
        evidence.memory_weights(state, judged, topic_totals(counts)) if earned else state.strength
    )
    held = np.arange(len(state.ids)) < state.n_fixed
    gain = np.ones(len(held))
    if p.fixed_strength is None:
        gain[held] = 0.0
    pull = np.where(held, p.fixed_strength or 0.0, pull)
    return all_rows(counts, here, state.memory, pull, state.beta, gain)


def update_term_shares(state: TrackerState, here: SliceDocuments, rho: float) -> TrackerState:
    """Usual shares of terms among tokens and documents, and when each was met last."""
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
