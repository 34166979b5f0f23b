"""What a tracker remembers after a slice: its topics, their strength, and what is usual for terms."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from bayou.parts import judging, prior, slots, tracking
from bayou.parts.slots import State
from bayou.parts.topics import F32, F64, Pairs


def remembered(counts: F32, phi: F64) -> F64:
    """Counts as distributions; a topic without tokens is remembered as its prior has it."""
    totals = counts.sum(axis=0, dtype=np.float64)
    return np.asarray(np.where(totals > 0, slots.normalised(counts), phi), np.float64)


def moved(
    state: State,
    found: tracking.Found,
    known: tracking.Prior,
    pairs: Pairs,
    odds: tuple[F64, F64],
    p: SimpleNamespace,
) -> State:
    """The memory after a slice: m <- (1 - rho) m + rho (n + S m) / (N + S), and what is usual.

    The floor beta is left out of what is remembered: it would be added anew in every slice, and a topic
    that was absent would fade into it.
    """
    n_topics = len(state.ids)
    counts = found.term_topic[:, :n_topics]
    tokens = counts.sum(axis=0, dtype=np.float64)
    held = np.arange(n_topics) < state.n_fixed
    rho = np.where(held, 0.0, 1.0 / p.window if p.window else p.rho)
    memory, past, pull = state.memory, state.past, state.strength
    if p.scale == "counts":
        moved = (1.0 - rho) * memory + rho * counts
        memory = np.where(held, memory, moved).astype(np.float32)
        pull = float(memory.sum(axis=0).mean())
    else:
        seen = _posterior_mean(counts, memory, pull)
        if p.window:
            past = np.concatenate([past, seen[None].astype(np.float32)])[-p.window :]
            memory = np.where(held, memory, past.mean(axis=0)).astype(np.float32)
        else:
            memory = tracking.blend(memory, seen, rho)
    step = rho * tokens / np.maximum(pull + tokens, 1e-12)
    doubt = (1.0 - step) ** 2 * state.doubt + step**2 / np.maximum(tokens, 1.0)
    strength = state.strength
    if p.strength == "estimate" and tokens.sum() > 0:
        free = ~held
        strength = tracking.estimated_strength(counts[:, free], state.memory[:, free], state.beta)
    alpha = state.alpha
    if p.learn_alpha:
        learned = prior.learned_alpha(alpha, found.doc_topic[:, :n_topics])
        alpha = (1.0 - p.rho) * alpha + p.rho * learned
    state = state._replace(
        memory=memory, past=past, rows=tracking.topic_rows(counts, known).astype(np.float32),
        doubt=np.where(held, 0.0, doubt), tokens=tokens, strength=strength, alpha=alpha,
        step=state.step + 1, n_seen=state.n_seen + pairs.n_docs,
    )  # fmt: skip
    return judging.usual(counted(state, pairs, p.rho), odds, p.rho)


def _posterior_mean(counts: F32, memory: F32, strength: float) -> F64:
    """(n + S m) / (N + S); the memory itself where both are nothing."""
    mass = counts.sum(axis=0, dtype=np.float64) + strength
    mean = (counts + strength * memory.astype(np.float64)) / np.maximum(mass, 1e-300)
    return np.asarray(np.where(mass > 0, mean, memory), np.float64)


def counted(state: State, pairs: Pairs, rho: float) -> State:
    """Usual shares of terms among tokens and documents, and when each was met last."""
    n_terms = len(state.usual)
    if not pairs.n_tokens:
        return state
    shares = np.bincount(pairs.terms, weights=pairs.counts, minlength=n_terms) / pairs.n_tokens
    docs = np.bincount(pairs.terms, minlength=n_terms) / pairs.n_docs
    return state._replace(
        usual=(1.0 - rho) * state.usual + rho * shares,
        spread=(1.0 - rho) * state.spread + rho * docs,
        doc_doubt=(1.0 - rho) ** 2 * state.doc_doubt + rho**2 / pairs.n_docs,
        last=np.where(docs > 0, state.step, state.last),
    )
