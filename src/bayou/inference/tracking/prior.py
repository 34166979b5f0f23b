"""One slice of a stream: LDA whose topics have priors of their own, and the memory those come from.

    phi_tk ~ Dir(beta + S m_tk)        m_t+1,k = (1 - rho) m_tk + rho phi_tk

S is a number of pseudo-tokens: with N tokens of the slice in the topic, its terms are S / (S + N) memory. A
topic that a slice has no tokens of gives back its prior, so it keeps its memory.

[Burkhardt18b] Burkhardt. Online multi-label text classification using topic models. PhD thesis, Mainz, 2018,
chapter 6.
[AlSumait08] AlSumait, Barbara, Domeniconi. On-line LDA: adaptive topic models for mining text streams with
applications to topic detection and tracking. ICDM 2008.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda import sampler
from bayou.inference.lda.arrays import (
    F32,
    F64,
    I32,
    I64,
    TOKEN_COST,
    U16,
    A,
    Each,
    topic_totals,
    writable,
)
from bayou.inference.lda.documents import Pairs, Tokens, tokens_of
from bayou.inference.lda.fold_in import prior_mass
from bayou.inference.lda.prior import clip_parameter
from bayou.kernels.lda import fixed_sweep
from bayou.kernels.rng import TOKEN
from bayou.kernels.tracking import prior_sweep

APART = 5  # sweeps between two that are kept, as in LDA
N_STEPS = 5  # of the fixed point of Minka, each time that beta is learned


class SliceDocuments(NamedTuple):
    """The documents of a slice in the numbers of the terms that it has: all that is learned is in those."""

    terms: I64  # their columns in the model
    place: I32  # of every column of the model among those; -1 where the slice has none of it
    pairs: Pairs
    tokens: Tokens

    @property
    def n_terms(self) -> int:
        """Terms of the model."""
        return len(self.place)

    def spread(self, rows: A) -> A:
        """Rows of the slice's terms among those of all terms, which have nothing."""
        out = np.zeros((self.n_terms, *rows.shape[1:]), rows.dtype)
        out[self.terms] = rows
        return cast(A, out)


def slice_documents(pairs: Pairs, n_terms: int) -> SliceDocuments:
    """The documents of a slice, which are given in the columns of the model."""
    terms = np.flatnonzero(np.bincount(pairs.terms, minlength=n_terms))
    place = np.full(n_terms, -1, np.int32)
    place[terms] = np.arange(len(terms), dtype=np.int32)
    mine = Pairs(writable(pairs.indptr), place[pairs.terms], writable(pairs.counts))
    return SliceDocuments(terms, place, mine, tokens_of(mine))


class SlicePrior(NamedTuple):
    """What is known about the topics of a slice before its documents."""

    rows: F64  # b_vk, terms of the slice x topics; the distribution itself where a topic is fixed
    mass: F64  # sums of b over all terms of the model; 1 where fixed
    gain: F64  # 1, or 0 where a topic is fixed
    beta: float  # what of the rows is no memory


class TrackingSettings(NamedTuple):
    """How a slice is learned."""

    alpha: F64
    n_sweeps: int
    burn_in: int  # sweeps of a sampler before any is kept
    inference: str
    learns: bool  # beta follows the counts
    learns_alpha: bool = False  # one number for all topics


class SliceTopics(NamedTuple):
    """What a slice has taught: means over the kept sweeps, and the last sweep itself."""

    term_topic: F32  # terms of the slice x topics
    doc_topic: F32
    z: U16
    alpha: F64  # that it was found under


def flat_prior(n_rows: int, n_topics: int, beta: float, n_terms: int | None = None) -> SlicePrior:
    """Topics of which nothing is known: LDA. Of ``n_terms`` terms ``n_rows`` are in the slice."""
    rows, mass = np.full((n_rows, n_topics), beta), beta * (n_rows if n_terms is None else n_terms)
    return SlicePrior(rows, np.full(n_topics, mass), np.ones(n_topics), beta)


def make_prior(
    memory: F32,
    strength: F64,
    beta: float,
    fixed: NDArray[np.bool_],
    whole: tuple[F64, int] | None = None,
) -> SlicePrior:
    """beta + S_k m_k, or m_k itself for topics that are fixed and have an infinite strength.

    Where ``memory`` has rows of some terms only, ``whole`` is the sums of its columns over all terms and
    how many these are.
    """
    frozen = fixed & np.isinf(strength)
    pull, floor = np.where(frozen, 1.0, strength), np.where(frozen, 0.0, beta)
    sums, n_terms = (topic_totals(memory), len(memory)) if whole is None else whole
    rows = floor + memory.astype(np.float64, order="C") * pull
    return SlicePrior(rows, n_terms * floor + sums * pull, np.where(frozen, 0.0, 1.0), beta)


def with_spares(prior: SlicePrior, n_spares: int, n_terms: int) -> SlicePrior:
    """Further topics at the end that know nothing."""
    flat = flat_prior(len(prior.rows), n_spares, prior.beta, n_terms)
    rows, gain = np.hstack([prior.rows, flat.rows]), np.concatenate([prior.gain, flat.gain])
    return SlicePrior(rows, np.concatenate([prior.mass, flat.mass]), gain, prior.beta)


def estimate_beta(prior: SlicePrior, counts: F32, n_terms: int) -> SlicePrior:
    """The prior with the beta that whole counts of a slice make more probable: a few steps towards it.

    beta <- beta sum_vk [psi(n_vk + b_vk) - psi(b_vk)] / (V sum_k [psi(N_k + B_k) - psi(B_k)]). Of the
    ``n_terms`` terms, rows without counts may be left out of both.
    """
    free, beta = prior.gain > 0, prior.beta
    totals, held = topic_totals(counts)[free], prior.mass[free] - n_terms * prior.beta
    if not totals.sum() > 0:
        return prior
    room = min(int(totals.sum()), counts.size)  # for cells that have anything
    n, b = np.empty(room), np.empty(room)
    m = prior_sweep.list_cells(n, b, counts, prior.rows, prior.gain)
    for _ in range(N_STEPS):
        rise = prior_sweep.rise(n[:m], b[:m], beta - prior.beta)
        fall = n_terms * prior_sweep.rise(totals, held, n_terms * beta)
        beta = clip_parameter(beta * rise / (fall + 1.0))
    by = (beta - prior.beta) * prior.gain
    return SlicePrior(prior.rows + by, prior.mass + n_terms * by, prior.gain, beta)


def estimate_alpha(how: TrackingSettings, docs: F32) -> TrackingSettings:
    """How, with the one alpha of all topics that whole counts of documents x topics make more probable."""
    free = how.alpha > 0
    n_topics, alpha = np.count_nonzero(free), float(how.alpha[free].mean())
    lengths = docs.sum(axis=1, dtype=np.float64)
    lengths, some = lengths[lengths > 0], docs[docs > 0]
    none = np.zeros(max(len(some), len(lengths)))
    for _ in range(N_STEPS):
        rise = prior_sweep.rise(some, none[: len(some)], alpha)
        fall = n_topics * prior_sweep.rise(lengths, none[: len(lengths)], n_topics * alpha)
        alpha = clip_parameter(alpha * rise / (fall + 1.0))
    return how._replace(alpha=np.where(free, alpha, 0.0))


def infer(
    here: SliceDocuments,
    prior: SlicePrior,
    how: TrackingSettings,
    begin: F32 | None,
    seed: int,
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """Sample the topics of a slice's tokens; with them, the prior, whose beta may have been learned.

    Exact Gibbs sampling goes token after token, otherwise documents see the word counts of the sweep
    before. Tokens start at random, or as the topics ``begin`` (terms x topics) draw them: a weak prior
    alone may not lead topics back to their places.
    """
    n_topics, tokens = len(how.alpha), here.tokens
    chain = sampler.make_chain(tokens, len(here.terms), seed)
    if begin is None:
        state = sampler.start(chain, n_topics, 0, each)
    else:
        state = sampler.start_from_topics(chain, begin, how.alpha, 0, each)
    z = np.ascontiguousarray(state[:, 0])
    kept, n_kept = np.zeros((chain.n_terms, n_topics), np.float32), 0
    docs = np.zeros((tokens.n_docs, n_topics), np.float32)
    single = prior.rows.astype(np.float32)
    for step in range(1, how.n_sweeps + 1):
        if how.inference == "gibbs":
            gibbs(z, chain, how.alpha, prior, step, each)
        else:
            snapshot(z, chain, how.alpha, prior, single, step, each)
        since = step - how.burn_in
        if since <= 0 and (step % APART == 0 or since == 0):
            prior, how = update_priors(z, chain, prior, how, here.n_terms, each)
            single = prior.rows.astype(np.float32)
        if since > 0 and (since % APART == 0 or step == how.n_sweeps):
            sampler.count_terms(z[:, None], chain, n_topics, each, kept)
            fixed_sweep.count_docs(docs, z, tokens.indptr, 0, tokens.n_docs, np.float32(1.0))
            n_kept += 1
    share = np.float32(max(n_kept, 1))
    return SliceTopics(kept / share, docs / share, z, how.alpha), prior


def update_priors(
    z: U16,
    chain: sampler.SamplerChain,
    prior: SlicePrior,
    how: TrackingSettings,
    n_terms: int,
    each: Each,
) -> tuple[SlicePrior, TrackingSettings]:
    """The prior and alpha that fit the topics of the tokens better, as far as they are learned."""
    if how.learns:
        counts = sampler.count_terms(z[:, None], chain, len(how.alpha), each)
        prior = estimate_beta(prior, counts, n_terms)
    if how.learns_alpha:
        how = estimate_alpha(how, sampler.count_docs(z[:, None], chain, len(how.alpha), each))
    return prior, how


def gibbs(
    z: U16, chain: sampler.SamplerChain, alpha: F64, prior: SlicePrior, step: int, each: Each
) -> None:
    """An exact sweep, one token after the other, in place."""
    counts = sampler.count_terms(z[:, None], chain, len(alpha), each)
    known, topic = tuple(prior[:3]), topic_totals(counts)
    prior_sweep.gibbs_sweep(z, tuple(chain.tokens), counts, topic, alpha, known, chain.seed, step)


def standing_rows(
    z: U16, chain: sampler.SamplerChain, prior: SlicePrior, single: F32, each: Each
) -> tuple[F32, F32]:
    """phi_vk as tokens have it before a sweep, and what a token itself adds to it (s_k)."""
    topic = np.zeros(len(prior.mass), np.int64)
    fixed_sweep.count_topics(topic, z, 0, len(z))
    inv = (1.0 / (prior.gain * topic + prior.mass)).astype(np.float32)
    gain = prior.gain.astype(np.float32)
    rows = np.empty_like(single)

    def terms(lo: int, hi: int) -> None:
        prior_sweep.count_rows(rows, z, tuple(chain.by_term), lo, hi, single, gain, inv)

    each(terms, chain.by_term.termptr, 10.0)
    return rows, inv * gain


def snapshot(
    z: U16,
    chain: sampler.SamplerChain,
    alpha: F64,
    prior: SlicePrior,
    single: F32,
    step: int,
    each: Each,
) -> None:
    """A sweep of every document against the word counts before it, in place."""
    rows, own = standing_rows(z, chain, prior, single, each)
    a32, toks = alpha.astype(np.float32), tuple(chain.tokens)
    slack = prior_mass(rows, a32)

    def docs(lo: int, hi: int) -> None:
        fixed_sweep.sweep_docs(
            z, toks, chain.ids, lo, hi, rows, slack, own, a32, chain.seed, TOKEN, step
        )

    each(docs, chain.tokens.indptr, TOKEN_COST)


def topic_rows(found: F32, prior: SlicePrior) -> F32:
    """phi_vk = (n_vk + b_vk) / (n_k + mass_k) of a slice's terms, the distribution itself where fixed."""
    inverse = 1.0 / (topic_totals(found) * prior.gain + prior.mass)
    rows = found * (prior.gain * inverse).astype(np.float32)
    rows += (prior.rows * inverse).astype(np.float32)
    return rows
