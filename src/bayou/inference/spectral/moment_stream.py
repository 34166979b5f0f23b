"""Moments along a stream: documents wait until a basis can be chosen from them, then only sums are kept.

Document t has 2^(t / h) times the weight of the first, with h the half-life. The sums are rescaled by powers
of two, so that the weights neither overflow nor round. With a half-life a basis becomes outdated. A new
generation with its own basis begins every `generation` documents, and replaces the current one when the next
generation begins. What is kept depends on the documents and their order, not on how the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.lda.documents import Pairs, select
from bayou.inference.spectral import mixture, moments, reservoir, solve
from bayou.inference.spectral.blas import one_thread
from bayou.inference.spectral.moments import Moments
from bayou.inference.spectral.reservoir import Reservoir, slice_pairs
from bayou.inference.spectral.settings import MomentSettings
from bayou.inference.spectral.solve import Diagnosis, Solution
from bayou.kernels.spectral.moments import count_terms

_HALVINGS = 64  # of the first document's weight, before the sums are scaled


class MomentGeneration(NamedTuple):
    """One generation: documents that wait for a basis, or sums."""

    since: int  # number of its first document
    origin: int  # the document that counts once; later ones count for more
    sums: Moments  # a basis without columns until there is one
    waiting: Reservoir


def begin_generation(since: int, n_terms: int, p: MomentSettings) -> MomentGeneration:
    """A generation without documents."""
    span = _HALVINGS * (p.half_life or 1)
    origin = since - since % span
    return MomentGeneration(since, origin, moments.empty(np.zeros((n_terms, 0))), reservoir.none())


def weights_of(stream: MomentGeneration, pairs: Pairs, first: int, p: MomentSettings) -> F64:
    """w_t of documents ``first`` and on; 0 or less for documents that are left out."""
    weights = moments.document_weights(pairs, p.weighting == "tokens", p.max_share)
    if p.half_life:
        times = first - stream.origin + np.arange(pairs.n_docs)
        weights = np.where(weights > 0, weights * np.exp2(times / p.half_life), weights)
    return weights


def _move_origin(stream: MomentGeneration, now: int, p: MomentSettings) -> MomentGeneration:
    """Move the origin by whole half-lives if the weights have become large."""
    span = _HALVINGS * (p.half_life or 0)
    if not span or now - stream.origin < span:
        return stream
    times = (now - stream.origin) // span
    sums = moments.scale_sums(stream.sums, 2.0 ** (-_HALVINGS * times))
    return stream._replace(origin=stream.origin + times * span, sums=sums)


def _pieces(first: int, n_docs: int, p: MomentSettings) -> Iterator[tuple[int, int]]:
    """Documents cut where the sums are rescaled, however the stream itself is cut."""
    span = _HALVINGS * (p.half_life or 0)
    lo = 0
    while lo < n_docs:
        hi = n_docs if not span else min(n_docs, lo + span - (first + lo) % span)
        yield lo, hi
        lo = hi


def take(
    stream: MomentGeneration, pairs: Pairs, first: int, p: MomentSettings, seed: int
) -> MomentGeneration:
    """Learn from documents, the first of which has this number in the stream."""
    if stream.sums.basis.shape[1]:
        return _add_pairs(stream, pairs, first, p)
    missing = p.burn_in - stream.waiting.pairs.n_docs
    if p.mode == "history" or pairs.n_docs < missing:
        return stream._replace(waiting=reservoir.append_pairs(stream.waiting, pairs))
    waiting = reservoir.join_pairs(stream.waiting.pairs, slice_pairs(pairs, 0, missing))
    rest = slice_pairs(pairs, missing, pairs.n_docs)
    stream = _add_pairs(with_basis(stream, waiting, p, seed), waiting, stream.since, p)
    if stream.sums.basis.shape[1]:
        return _add_pairs(stream, rest, first + missing, p)
    return take(
        stream._replace(since=first + missing), rest, first + missing, p, seed
    )  # no document had moments


def with_basis(
    stream: MomentGeneration, pairs: Pairs, p: MomentSettings, seed: int, sample: I64 | None = None
) -> MomentGeneration:
    """The generation with a basis chosen from documents, which then wait no longer."""
    some = pairs if sample is None else select(pairs, sample)
    weights = moments.document_weights(some, p.weighting == "tokens", p.max_share)
    n_terms = len(stream.sums.basis)
    with one_thread():
        rank = min(2 * p.n_topics, n_terms)
        basis = moments.main_directions(some, weights, n_terms, rank, seed)
    old = stream.sums
    sums = moments.empty(basis)._replace(n_short=old.n_short, n_bursty=old.n_bursty)
    return stream._replace(sums=sums, waiting=reservoir.none())


def _add_pairs(
    stream: MomentGeneration, pairs: Pairs, first: int, p: MomentSettings
) -> MomentGeneration:
    for lo, hi in _pieces(first, pairs.n_docs, p):
        piece = slice_pairs(pairs, lo, hi)
        stream = _move_origin(stream, first + lo, p)
        weights = weights_of(stream, piece, first + lo, p)
        stream = stream._replace(sums=moments.add(stream.sums, piece, weights))
    return stream


def sums_of(stream: MomentGeneration, p: MomentSettings, seed: int) -> Moments:
    """The moments so far. While documents still wait, they are computed in the main directions of those."""
    if stream.sums.basis.shape[1]:
        return stream.sums
    waiting, n_terms = stream.waiting.pairs, len(stream.sums.basis)
    weights = moments.document_weights(waiting, p.weighting == "tokens", p.max_share)
    sums = solve.from_documents(waiting, weights, n_terms, 2 * p.n_topics, None, seed)
    if not p.half_life:
        return sums
    times = np.arange(waiting.n_docs) - waiting.n_docs  # the newest counts once
    faded = np.where(weights > 0, weights * np.exp2(times / p.half_life), weights)
    return moments.add(moments.empty(sums.basis), waiting, faded)


class MomentStreamState(NamedTuple):
    """What the next document needs."""

    n_seen: int
    known: F64  # counts of terms
    now: MomentGeneration  # the generation that is solved
    next: MomentGeneration | None  # the generation that replaces it
    pool: Reservoir  # a uniform sample of all documents; with a half-life, the latest documents


class MomentAnswer(NamedTuple):
    """Smoothed topics, with a diagnosis of the solution."""

    alpha: F64  # Dirichlet parameters of LDA, or the shares of documents
    rows: F32  # terms x topics
    diagnosis: Diagnosis


def init(n_terms: int, p: MomentSettings) -> MomentStreamState:
    """No documents yet."""
    return MomentStreamState(
        0, np.zeros(n_terms), begin_generation(0, n_terms, p), None, reservoir.none()
    )


def choose_basis(
    state: MomentStreamState, pairs: Pairs, p: MomentSettings, seed: int
) -> MomentStreamState:
    """Choose the basis from a sample of all documents, if there is one basis for all of them."""
    if p.mode != "basis" or p.half_life:
        return state
    sample = solve.sample_of(pairs.n_docs, 4 * p.burn_in, seed)
    return state._replace(now=with_basis(state.now, pairs, p, seed, sample))


def update(
    state: MomentStreamState, pairs: Pairs, p: MomentSettings, seed: int, each: Each
) -> MomentStreamState:
    """Add documents in their order, and begin a new generation where one is due."""
    lo, turn = 0, p.generation
    while lo < pairs.n_docs:
        if turn and state.n_seen and state.n_seen % turn == 0:
            ready = state.next is not None and state.next.sums.basis.shape[1] > 0
            now = state.next if ready and state.next is not None else state.now
            state = state._replace(
                now=now, next=begin_generation(state.n_seen, len(state.known), p)
            )
        hi = min(pairs.n_docs, lo + turn - state.n_seen % turn) if turn else pairs.n_docs
        state = _take_pairs(state, slice_pairs(pairs, lo, hi), p, seed)
        lo = hi
    return state


def _take_pairs(
    state: MomentStreamState, pairs: Pairs, p: MomentSettings, seed: int
) -> MomentStreamState:
    first, now, later, pool = state.n_seen, state.now, state.next, state.pool
    known = state.known.copy()
    count_terms(known, tuple(pairs))
    if p.mode != "reservoir":
        now = take(now, pairs, first, p, seed)
    if later is not None:
        later = take(later, pairs, first, p, seed)
    if p.half_life and p.mode == "basis" and p.n_polish:  # EM must not see faded documents
        pool = reservoir.latest(pool, pairs, min(p.reservoir, 2 * p.half_life))
    elif p.mode == "reservoir" or (p.mode == "basis" and p.n_polish):
        pool = reservoir.sample_pairs(pool, pairs, p.reservoir, seed)
    return MomentStreamState(first + pairs.n_docs, known, now, later, pool)


def generation_to_solve(state: MomentStreamState, p: MomentSettings) -> MomentGeneration:
    """The generation to solve: the current one, or the documents of the uniform sample."""
    return state.now._replace(waiting=state.pool) if p.mode == "reservoir" else state.now


def smooth(state: MomentStreamState, found: Solution, p: MomentSettings) -> tuple[F64, F64, float]:
    """Topics mixed with pseudo-tokens of the unigram; the unigram, and how many pseudo-tokens."""
    unigram = mixture.unigram_of(state.known, p.beta)
    pseudo = float(len(unigram) if p.smoothing is None else p.smoothing)
    tokens = found.weights * state.known.sum() * (found.diagnosis.rank > 0)
    return mixture.smooth_rows(found.rows, tokens, unigram, max(pseudo, 1e-9)), unigram, pseudo
