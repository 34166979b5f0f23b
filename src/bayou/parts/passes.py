"""A slice by CVB0: a point estimate from a few passes over distinct pairs, for topics that have priors.

As in `parts.em`, with n_vk + b_vk for n_vk + beta; topics that are held fixed are their own b. A slice starts
at its memory, so it comes to rest soon; one without a memory starts from noise, in mini-batches at first.
Rows are those of the terms that the slice has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.kernels import em as kernels
from bayou.kernels import fixed_sweep
from bayou.parts import em, sampler, topics
from bayou.parts.topics import F32, F64, U16, Each, Pairs
from bayou.parts.tracking import Found, How, Prior, learned, snapshot

ONLINE = 3  # passes in mini-batches of a slice that starts from noise
BATCHES = 64  # of such a pass, at most
RESTED = 0.005  # share of the tokens that move in a pass at rest
LEARN, MOST = 3, 2  # passes between two steps of beta, and such steps; one more comes at the end
SETTLE = 2  # sampled sweeps that make one draw of the tokens from the estimate
DRAWS = 12  # sampled sweeps whose mean is the answer
FOLD = 5  # steps of a document under the topics that it starts with


class Work(NamedTuple):
    """What every pass uses again."""

    pairs: Pairs
    batch: em.Batch
    scratch: em.Scratch
    docs: F32  # n_dk


def infer(
    pairs: Pairs, known: Prior, how: How, begin: F32 | None, seed: int, each: Each
) -> tuple[Found, Prior]:
    """Topics of a slice, and the prior that they were found under: beta may have been learned.

    ``begin`` (terms x topics) are topics that documents start under; None is noise.
    """
    n_terms, n_topics = known.rows.shape
    there, terms = np.unique(pairs.terms, return_inverse=True)
    ends, times = topics.writable(pairs.indptr), topics.writable(pairs.counts)
    mine = Pairs(ends, terms.astype(np.int32), times)
    inner = known._replace(rows=known.rows[there])
    (batch,) = em.make_batches(mine, 1, len(there))
    scratch = em.make_scratch([batch], n_topics)
    if begin is None:
        work = Work(mine, batch, scratch, em.level_documents(mine, n_topics))
        counts = _from_noise(work, inner, how, seed, each)
    else:
        rows = _apart(begin[there], seed)
        docs = topics.expected_counts(rows, how.alpha, mine, each, max_iter=FOLD)
        work = Work(mine, batch, scratch, docs)
        counts = _pass(work, rows, np.ones(n_topics), how.alpha, each)
    chain = sampler.make_chain(topics.tokens_of(mine), len(there), seed)
    for i in range(how.n_sweeps):
        if how.learns and i % LEARN == LEARN - 1 and i < MOST * LEARN:
            z = _drawn(chain, work, counts, inner, how.alpha, each)
            inner = _learned(z, chain, inner, n_terms, each)
        before = counts
        counts = _pass(work, *_smoothed(before, inner), how.alpha, each)
        if float(np.abs(counts - before).sum(dtype=np.float64)) < 2 * RESTED * pairs.n_tokens:
            break
    z = _drawn(chain, work, counts, inner, how.alpha, each)
    if how.learns:
        inner = _learned(z, chain, inner, n_terms, each)
    counts, docs = _sampled(z, chain, inner, how.alpha, each)
    out = np.zeros((n_terms, n_topics), np.float32)
    out[there] = counts
    by = (inner.beta - known.beta) * known.gain
    known = Prior(known.rows + by, inner.mass, known.gain, inner.beta)
    return Found(out, docs, z), known


def _learned(z: U16, chain: sampler.Chain, known: Prior, n_terms: int, each: Each) -> Prior:
    """The prior with a beta that fits the tokens better."""
    counts = sampler.count_terms(z[:, None], chain, len(known.mass), each)
    return learned(known, counts, n_terms)


def _sampled(z: U16, chain: sampler.Chain, known: Prior, alpha: F64, each: Each) -> tuple[F32, F32]:
    """Means of n_vk and n_dk over a few sampled sweeps, which move ``z``.

    A point estimate gives a little of every token to topics that have nothing to do with it.
    """
    n_topics, n_docs = len(alpha), chain.tokens.n_docs
    single, share = known.rows.astype(np.float32), np.float32(1.0 / DRAWS)
    counts = np.zeros((chain.n_terms, n_topics), np.float32)
    docs = np.zeros((n_docs, n_topics), np.float32)
    for step in range(DRAWS):
        if step:
            snapshot(z, chain, alpha, known, single, SETTLE + step, each)
        sampler.count_terms(z[:, None], chain, n_topics, each, counts)
        fixed_sweep.count_docs(docs, z, chain.tokens.indptr, 0, n_docs, share)
    return counts * share, docs


def _smoothed(counts: F32, known: Prior) -> tuple[F32, F64]:
    """n_vk + b_vk, and one over its sums over all terms."""
    totals = counts.sum(axis=0, dtype=np.float64)
    rows = counts * known.gain.astype(np.float32) + known.rows.astype(np.float32)
    return rows, 1.0 / (known.gain * totals + known.mass)


def _apart(rows: F32, seed: int) -> F32:
    """Topics to start under; several that know nothing get some noise, else they would stay the same."""
    flat = np.flatnonzero(rows.min(axis=0) == rows.max(axis=0))
    if len(flat) > 1:
        noise = np.empty((len(rows), len(flat)), np.float32)
        kernels.noise_terms(noise, np.ones(len(rows)), 0, len(rows), seed)
        rows[:, flat] *= noise
    return rows


def _from_noise(work: Work, known: Prior, how: How, seed: int, each: Each) -> F32:
    """n_vk after a few passes in mini-batches from topics that are noise."""
    pairs, (n_terms, n_topics) = work.pairs, known.rows.shape
    counts = em.noise_start(pairs, n_terms, n_topics, seed, each)
    batches = em.make_batches(pairs, int(np.clip(pairs.n_docs // 16, 1, BATCHES)), n_terms)
    scratch, both = em.make_scratch(batches, n_topics), (how.alpha, known.beta)
    for i in range(ONLINE):
        done = i * len(batches)
        em.online_pass(counts, work.docs, pairs, batches, scratch, both, done, each)
    return counts


def _pass(work: Work, smooth: F32, inverse: F64, alpha: F64, each: Each) -> F32:
    """One CVB0 pass: every document, then n_vk; ``smooth`` is n_vk + b_vk, ``inverse`` 1 / its sums."""
    pairs, (_, _, index), (theta, sub, ratio, ratio_sub), doc_topic = work
    both = (alpha.astype(np.float32), inverse.astype(np.float32))
    out, p, by_term = np.zeros_like(smooth), tuple(pairs), tuple(index)
    one = np.float32(1.0)

    def docs(lo: int, hi: int) -> None:
        kernels.cavity_docs(doc_topic, theta, sub, ratio, ratio_sub, p, 0, lo, hi, smooth, both)

    def terms(lo: int, hi: int) -> None:
        kernels.cavity_terms(out, by_term, lo, hi, theta, sub, ratio, ratio_sub, smooth, one)

    each(docs, pairs.indptr, 1.5 * len(alpha))
    each(terms, index.termptr, 0.6 * len(alpha))
    return out


def _drawn(
    chain: sampler.Chain, work: Work, counts: F32, known: Prior, alpha: F64, each: Each
) -> U16:
    """Topics of single tokens, near the estimate: expected counts are no counts of anything."""
    smooth, inverse = _smoothed(counts, known)
    rows = smooth * inverse.astype(np.float32)
    z = np.ascontiguousarray(sampler.start_from(chain, rows, work.docs, alpha, 0, each)[:, 0])
    single = known.rows.astype(np.float32)
    for step in range(1, SETTLE + 1):
        snapshot(z, chain, alpha, known, single, step, each)
    return z
