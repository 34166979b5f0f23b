"""LDA in one slice of a stream, where every topic has its own prior over the terms.

    phi_tk ~ Dir(beta + S m_tk)        m_t+1,k = (1 - rho) m_tk + rho (n_tk + S m_tk) / (N_tk + S)

S is a number of pseudo-tokens: with N tokens of the slice in the topic, the memory has the weight
S / (S + N). A topic without tokens in a slice gives back its prior, so it keeps its memory.

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
N_STEPS = 5  # steps of Minka's fixed point each time beta is learned


class SliceDocuments(NamedTuple):
    """The documents of a slice, over the terms that occur in it. Inference uses these terms only."""

    terms: I64  # columns of the slice's terms in the model
    place: (
        I32  # of every column of the model, its place in `terms`; -1 if the slice does not have it
    )
    pairs: Pairs
    tokens: Tokens

    @property
    def n_terms(self) -> int:
        """Number of terms of the model."""
        return len(self.place)

    def spread(self, rows: A) -> A:
        """Rows of the slice's terms as rows of all terms; the others are 0."""
        out = np.zeros((self.n_terms, *rows.shape[1:]), rows.dtype)
        out[self.terms] = rows
        return cast(A, out)


def slice_documents(pairs: Pairs, n_terms: int) -> SliceDocuments:
    """The documents of a slice from pairs in the columns of the model."""
    terms = np.flatnonzero(np.bincount(pairs.terms, minlength=n_terms))
    place = np.full(n_terms, -1, np.int32)
    place[terms] = np.arange(len(terms), dtype=np.int32)
    mine = Pairs(writable(pairs.indptr), place[pairs.terms], writable(pairs.counts))
    return SliceDocuments(terms, place, mine, tokens_of(mine))


class SlicePrior(NamedTuple):
    """The prior of the topics of a slice."""

    rows: F64  # b_vk, terms of the slice x topics; the distribution itself if a topic is fixed
    mass: F64  # sums of b over all terms of the model; 1 if fixed
    gain: F64  # 1, or 0 if a topic is fixed
    beta: float  # the part of the rows that is not memory


class SliceSettings(NamedTuple):
    """Settings of the inference in a slice."""

    alpha: F64
    n_sweeps: int
    burn_in: int  # sweeps of a sampler before any is kept
    inference: str
    learns_beta: bool
    learns_alpha: bool = False  # one number for all topics


class SliceTopics(NamedTuple):
    """The topics found in a slice: means over the kept sweeps, and the last sweep itself."""

    term_topic: F32  # terms of the slice x topics
    doc_topic: F32
    z: U16
    alpha: F64  # the prior under which they were found


def flat_prior(n_rows: int, n_topics: int, beta: float, n_terms: int | None = None) -> SlicePrior:
    """The prior of LDA: beta for every term. ``n_rows`` of the ``n_terms`` terms are in the slice."""
    rows, mass = np.full((n_rows, n_topics), beta), beta * (n_rows if n_terms is None else n_terms)
    return SlicePrior(rows, np.full(n_topics, mass), np.ones(n_topics), beta)


def make_prior(
    memory: F32,
    strength: F64,
    beta: float,
    fixed: NDArray[np.bool_],
    whole: tuple[F64, int] | None = None,
) -> SlicePrior:
    """beta + S_k m_k, or m_k itself for fixed topics of infinite strength.

    If ``memory`` has rows of some terms only, ``whole`` holds the sums of its columns over all terms, and
    the number of all terms.
    """
    frozen = fixed & np.isinf(strength)
    pull, flat = np.where(frozen, 1.0, strength), np.where(frozen, 0.0, beta)
    sums, n_terms = (topic_totals(memory), len(memory)) if whole is None else whole
    rows = flat + memory.astype(np.float64, order="C") * pull
    return SlicePrior(rows, n_terms * flat + sums * pull, np.where(frozen, 0.0, 1.0), beta)


def add_spares(prior: SlicePrior, n_spares: int, n_terms: int) -> SlicePrior:
    """The prior with more topics at the end, which have the flat prior."""
    flat = flat_prior(len(prior.rows), n_spares, prior.beta, n_terms)
    rows, gain = np.hstack([prior.rows, flat.rows]), np.concatenate([prior.gain, flat.gain])
    return SlicePrior(rows, np.concatenate([prior.mass, flat.mass]), gain, prior.beta)


def estimate_beta(prior: SlicePrior, counts: F32, n_terms: int) -> SlicePrior:
    """The prior after a few steps of beta towards the maximum of its evidence in whole counts of a slice.

    beta <- beta sum_vk [psi(n_vk + b_vk) - psi(b_vk)] / (1 + V sum_k [psi(N_k + B_k) - psi(B_k)]). The 1 is
    the prior Exp(1) of beta. Rows without counts may be left out of both; ``n_terms`` is V.
    """
    free, beta = prior.gain > 0, prior.beta
    totals, held = topic_totals(counts)[free], prior.mass[free] - n_terms * prior.beta
    if not totals.sum() > 0:
        return prior
    most = min(int(totals.sum()), counts.size)  # cells above zero
    n, b = np.empty(most), np.empty(most)
    m = prior_sweep.list_cells(n, b, counts, prior.rows, prior.gain)
    for _ in range(N_STEPS):
        rise = prior_sweep.rise(n[:m], b[:m], beta - prior.beta)
        fall = n_terms * prior_sweep.rise(totals, held, n_terms * beta)
        beta = clip_parameter(beta * rise / (fall + 1.0))
    by = (beta - prior.beta) * prior.gain
    return SlicePrior(prior.rows + by, prior.mass + n_terms * by, prior.gain, beta)


def estimate_alpha(how: SliceSettings, docs: F32) -> SliceSettings:
    """The settings after a few steps of the one alpha of all topics, from counts of documents x topics."""
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
    how: SliceSettings,
    begin: F32 | None,
    seed: int,
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """Sample the topics of a slice's tokens. Returns them and the prior, whose beta may have been learned.

    "gibbs" samples one token after the other; "snapshot" uses the word counts of the last sweep. Tokens
    start at random, or are drawn from the topics ``begin`` (terms x topics), because a weak prior alone
    may not lead topics back to their columns.
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
    how: SliceSettings,
    n_terms: int,
    each: Each,
) -> tuple[SlicePrior, SliceSettings]:
    """The prior and the settings with beta and alpha updated from the topics of the tokens, if learned."""
    if how.learns_beta:
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
    """phi_vk before a sweep, and what one token adds to it (s_k)."""
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
    """A sweep over all documents, given the word counts before the sweep, in place."""
    rows, own = standing_rows(z, chain, prior, single, each)
    a32, toks = alpha.astype(np.float32), tuple(chain.tokens)
    slack = prior_mass(rows, a32)

    def docs(lo: int, hi: int) -> None:
        fixed_sweep.sweep_docs(
            z, toks, chain.ids, lo, hi, rows, slack, own, a32, chain.seed, TOKEN, step
        )

    each(docs, chain.tokens.indptr, TOKEN_COST)


def topic_rows(found: F32, prior: SlicePrior) -> F32:
    """phi_vk = (n_vk + b_vk) / (n_k + mass_k) of a slice's terms; the distribution itself if fixed."""
    inverse = 1.0 / (topic_totals(found) * prior.gain + prior.mass)
    rows = found * (prior.gain * inverse).astype(np.float32)
    rows += (prior.rows * inverse).astype(np.float32)
    return rows
