"""A slice by CVB0: a point estimate from a few passes over distinct pairs, for topics that have priors.

As in `lda.em`, with n_vk + b_vk for n_vk + beta; topics that are held fixed are their own b. A slice starts
at its memory, so it comes to rest soon; one without a memory starts from noise, in mini-batches at first.
Rows are those of the terms that the slice has.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda import arrays, em, fold_in, sampler
from bayou.inference.lda.arrays import F32, F64, I64, TOKEN_COST, U16, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking.prior import (
    APART,
    SliceDocuments,
    SlicePrior,
    SliceTopics,
    TrackingSettings,
    gibbs,
    snapshot,
    standing_rows,
    update_priors,
)
from bayou.kernels.lda import em as kernels
from bayou.kernels.tracking import prior_sweep

ONLINE = 2  # passes in mini-batches of a slice that starts from noise
BATCHES = 64  # of such a pass, at most
RESTED = 0.005  # share of the tokens that move in a pass at rest
ALONE = 2**17  # pairs x topics under which passes are not worth sharing out
EARLY = 3  # passes over a first slice before the best of several starts is chosen, and priors are learned
SETTLE = 2  # sampled sweeps that make one draw of the tokens from the estimate
LEVEL = 50  # exact sweeps over a first slice in which alpha is learned
DRAWS = 2  # sampled sweeps whose mean is the answer
BLOCK, MOST_BLOCKS = (
    25_000,
    16,
)  # least tokens of a block of documents that has sums of its own; how many
MOST_CELLS = 2**24  # of those sums together
FOLD = 5  # steps of a document under the topics that it starts with


class PassWorkspace(NamedTuple):
    """What every pass uses again."""

    pairs: Pairs
    batch: em.EMBatch
    scratch: em.Scratch
    docs: F32  # n_dk


class PointEstimate(NamedTuple):
    """Where the passes over a slice are: a point estimate, and how to go on."""

    work: PassWorkspace
    counts: F32  # n_vk
    known: SlicePrior
    how: TrackingSettings
    seed: int


def infer(
    here: SliceDocuments,
    known: SlicePrior,
    how: TrackingSettings,
    begin: F32,
    seed: int,
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """Topics of a slice, and the prior that they were found under: beta may have been learned.

    ``begin`` (terms x topics) are topics that documents start under.
    """
    rest = start_estimate(here, whole(here), *_pad_topics(known, how, begin), seed, each)
    rest = run_passes(rest, each, how.n_sweeps)
    chain = sampler.make_chain(here.tokens, len(known.rows), seed)
    return _cut(*sample_estimate(rest, chain, here, each), len(how.alpha))


def _pad_topics(
    known: SlicePrior, how: TrackingSettings, begin: F32
) -> tuple[SlicePrior, TrackingSettings, F32]:
    """With topics that nothing can have, so that loops over topics are whole vector instructions."""
    rows, begin = arrays.pad_columns(known.rows), arrays.pad_columns(begin)
    more = rows.shape[1] - len(how.alpha)
    mass, gain = np.append(known.mass, np.ones(more)), np.append(known.gain, np.zeros(more))
    how = how._replace(alpha=np.append(how.alpha, np.zeros(more)))
    return SlicePrior(rows, mass, gain, known.beta), how, begin


def _wide(rest: PointEstimate) -> PointEstimate:
    """The same for passes that have begun."""
    known, how, counts = _pad_topics(rest.known, rest.how, rest.counts)
    batch, scratch = rest.work.batch, em.make_scratch([rest.work.batch], len(how.alpha))
    work = PassWorkspace(rest.work.pairs, batch, scratch, arrays.pad_columns(rest.work.docs))
    return PointEstimate(work, counts, known, how, rest.seed)


def _cut(found: SliceTopics, known: SlicePrior, n: int) -> tuple[SliceTopics, SlicePrior]:
    """What was found of the first ``n`` topics, and their prior."""
    counts, docs = (np.ascontiguousarray(part[:, :n]) for part in found[:2])
    known = SlicePrior(known.rows[:, :n], known.mass[:n], known.gain[:n], known.beta)
    return SliceTopics(counts, docs, found.z, found.alpha[:n]), known


def whole(here: SliceDocuments) -> em.EMBatch:
    """All documents of a slice as one batch."""
    (batch,) = em.make_batches(here.pairs, 1, len(here.terms))
    return batch


def best(
    here: SliceDocuments,
    known: SlicePrior,
    how: TrackingSettings,
    begin: F32 | None,
    seeds: list[int],
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """The same for a first slice: the best of several starts, from noise where there is no ``begin``."""
    cuts = int(np.clip(here.pairs.n_docs // 16, 1, BATCHES))
    few = em.make_batches(here.pairs, cuts, len(known.rows)) if begin is None else []
    batch = whole(here)
    rests = [start_estimate(here, batch, known, how, begin, seed, each, few) for seed in seeds]
    rests = [run_passes(_wide(rest), each, min(EARLY, how.n_sweeps)) for rest in rests]
    scores = [log_likelihood(rest, each) for rest in rests] if len(rests) > 1 else [0.0]
    rest, n_topics = rests[int(np.argmax(scores))], len(how.alpha)
    known, how = rest.known, rest.how
    chain = sampler.make_chain(here.tokens, len(known.rows), rest.seed)
    if how.learns or how.learns_alpha:
        known, how = update_priors(
            _draw_topics(rest, chain, each), chain, known, how, here.n_terms, each
        )
    rest = run_passes(rest._replace(known=known, how=how), each, max(how.n_sweeps - EARLY, 0))
    return _cut(*sample_estimate(rest, chain, here, each), n_topics)


def start_estimate(
    here: SliceDocuments,
    batch: em.EMBatch,
    known: SlicePrior,
    how: TrackingSettings,
    begin: F32 | None,
    seed: int,
    each: Each,
    batches: list[em.EMBatch] | None = None,
) -> PointEstimate:
    """Counts to begin with, from the topics ``begin`` or from noise and passes over ``batches``.

    ``batch`` is all documents.
    """
    n_topics = known.rows.shape[1]
    scratch = em.make_scratch([batch], n_topics)
    if begin is None:
        work = PassWorkspace(here.pairs, batch, scratch, em.level_documents(here.pairs, n_topics))
        counts = _from_noise(work, batches or [batch], known, how, seed, each)
    else:
        rows = _apart(begin, seed)
        docs = fold_in.expected_counts(rows, how.alpha, here.pairs, each, max_iter=FOLD)
        work = PassWorkspace(here.pairs, batch, scratch, docs)
        counts = _pass(work, rows, np.ones(n_topics), how.alpha, each)
    return PointEstimate(work, counts, known, how, seed)


def run_passes(rest: PointEstimate, each: Each, n: int) -> PointEstimate:
    """The estimate after ``n`` passes, or as many as move anything."""
    work, counts, known, how, _ = rest
    least = 2 * RESTED * work.pairs.n_tokens
    single = known.rows.astype(np.float32)
    if len(work.pairs.terms) * len(how.alpha) < ALONE:
        prior = how.alpha.astype(np.float32), known.gain.astype(np.float32), known.mass
        plain, index = tuple(work.pairs), tuple(work.batch.by_term)
        args = (counts, work.docs, tuple(work.scratch), plain, index, single, prior, n, least)
        return rest._replace(counts=prior_sweep.passes(*args))
    for _ in range(n):
        before = counts
        counts = _pass(work, *_smooth_counts(before, known, single), how.alpha, each)
        if prior_sweep.total_distance(counts, before) < least:
            break
    return rest._replace(counts=counts)


def sample_estimate(
    rest: PointEstimate, chain: sampler.SamplerChain, here: SliceDocuments, each: Each
) -> tuple[SliceTopics, SlicePrior]:
    """The mean of a few sampled sweeps that begin at the point estimate."""
    known, how = rest.known, rest.how
    z = _draw_topics(rest, chain, each)
    known, how = update_priors(z, chain, known, how, here.n_terms, each)
    step = SETTLE
    while how.learns_alpha and step < LEVEL:
        step += 1
        gibbs(z, chain, how.alpha, known, step, each)
        if step % APART == 0:
            known, how = update_priors(z, chain, known, how, here.n_terms, each)
    counts, docs = _sample_means(z, chain, known, how.alpha, step, each)
    return SliceTopics(counts, docs, z, how.alpha), known


def _sample_means(
    z: U16, chain: sampler.SamplerChain, known: SlicePrior, alpha: F64, done: int, each: Each
) -> tuple[F32, F32]:
    """Means of n_vk and n_dk over a few sampled sweeps, which move ``z``.

    A point estimate gives a little of every token to topics that have nothing to do with it. What is added
    up are the probabilities that tokens are drawn by. Documents go in blocks that have sums of their own, so
    that no order of threads shows in them.
    """
    tokens, n_topics = chain.tokens, len(alpha)
    ends = _blocks(tokens.indptr, chain.n_terms * n_topics)
    sums = np.zeros((len(ends) - 1, chain.n_terms, n_topics), np.float32)
    docs = np.zeros((tokens.n_docs, n_topics), np.float32)
    single, a32, toks = known.rows.astype(np.float32), alpha.astype(np.float32), tuple(tokens)
    for step in range(done + 1, done + 1 + DRAWS):
        rows, own = standing_rows(z, chain, known, single, each)

        def blocks(lo: int, hi: int, rows: F32 = rows, own: F32 = own, step: int = step) -> None:
            for b in range(lo, hi):
                prior_sweep.sweep_expectations(
                    z, toks, chain.ids, ends[b], ends[b + 1], rows, own, a32, chain.seed, step,
                    sums[b], docs,
                )  # fmt: skip

        each(blocks, tokens.indptr[ends], 2.0 * TOKEN_COST)
    share = np.float32(1.0 / DRAWS)
    docs *= share
    counts = sums[0] if len(sums) == 1 else sums.sum(axis=0)
    counts *= share
    return counts, docs


def _blocks(indptr: I64, n_cells: int) -> I64:
    """Where blocks of documents begin, and the end: as many as their sums and their tokens are worth."""
    n_tokens = int(indptr[-1])
    n = max(min(n_tokens // BLOCK, MOST_CELLS // max(n_cells, 1), MOST_BLOCKS), 1)
    if n == 1:
        return np.array([0, len(indptr) - 1])
    inner = np.searchsorted(indptr, n_tokens * np.arange(1, n) / n)
    return np.unique(np.concatenate([[0], inner, [len(indptr) - 1]])).astype(np.int64)


def _smooth_counts(counts: F32, known: SlicePrior, single: F32) -> tuple[F32, F64]:
    """n_vk + b_vk, and one over its sums over all terms; ``single`` is b_vk in single precision."""
    rows, totals = np.empty_like(counts), np.zeros(counts.shape[1])
    prior_sweep.smooth_into(rows, totals, counts, single, known.gain.astype(np.float32))
    return rows, 1.0 / (known.gain * totals + known.mass)


def _apart(rows: F32, seed: int) -> F32:
    """Topics to start under; several that know nothing get some noise, else they would stay the same."""
    if not len(rows):
        return rows
    flat = np.flatnonzero((rows[0] == rows[-1]) & (rows[0] > 0))  # few, if any
    flat = flat[(rows[:, flat] == rows[0, flat]).all(axis=0)]
    if len(flat) > 1:
        noise = np.empty((len(rows), len(flat)), np.float32)
        kernels.noise_terms(noise, np.ones(len(rows)), 0, len(rows), seed)
        rows = rows.copy()
        rows[:, flat] *= noise
    return rows


def _from_noise(
    work: PassWorkspace,
    batches: list[em.EMBatch],
    known: SlicePrior,
    how: TrackingSettings,
    seed: int,
    each: Each,
) -> F32:
    """n_vk after a few passes in mini-batches from topics that are noise."""
    pairs, (n_terms, n_topics) = work.pairs, known.rows.shape
    counts = em.noise_start(pairs, n_terms, n_topics, seed, each)
    scratch, both = em.make_scratch(batches, n_topics), (how.alpha, known.beta)
    for i in range(ONLINE):
        done = i * len(batches)
        em.online_pass(counts, work.docs, pairs, batches, scratch, both, done, each)
    return counts


def _pass(work: PassWorkspace, smooth: F32, inverse: F64, alpha: F64, each: Each) -> F32:
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


def _draw_topics(rest: PointEstimate, chain: sampler.SamplerChain, each: Each) -> U16:
    """Topics of single tokens, near the estimate: expected counts are no counts of anything."""
    work, counts, known, how, _ = rest
    single = known.rows.astype(np.float32)
    smooth, inverse = _smooth_counts(counts, known, single)
    rows = smooth * inverse.astype(np.float32)
    z = np.ascontiguousarray(sampler.start_from(chain, rows, work.docs, how.alpha, 0, each)[:, 0])
    for step in range(1, SETTLE + 1):
        snapshot(z, chain, how.alpha, known, single, step, each)
    return z


def log_likelihood(rest: PointEstimate, each: Each) -> float:
    """ln p(w) of a slice under the point estimate, to choose between starts."""
    smooth, inverse = _smooth_counts(rest.counts, rest.known, rest.known.rows.astype(np.float32))
    theta = rest.work.docs + rest.how.alpha.astype(np.float32)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = smooth * inverse.astype(np.float32)
    return float(np.nansum(fold_in.log_likelihoods(rows, theta, rest.work.pairs, each)))
