"""CVB0 in one slice: a point estimate from a few passes over distinct pairs, for topics with priors.

As in `lda.em`, with n_vk + b_vk for n_vk + beta; a fixed topic is its own b. A slice starts from the memory,
so it converges soon. The first slice starts from noise, in mini-batches at first. Rows are the terms of the
slice.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda import arrays, em, fold_in, sampler
from bayou.inference.lda.arrays import F32, F64, U16, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking.expectations import sample_means
from bayou.inference.tracking.prior import (
    APART,
    SliceDocuments,
    SlicePrior,
    SliceSettings,
    SliceTopics,
    gibbs,
    snapshot,
    update_priors,
)
from bayou.kernels.lda import em as kernels
from bayou.kernels.tracking import prior_sweep

ONLINE = 2  # passes in mini-batches over a slice that starts from noise
BATCHES = 64  # most mini-batches of such a pass
RESTED = 0.005  # share of the tokens that move in a pass after convergence
ALONE = 2**17  # pairs x topics below which passes run on one thread
EARLY = 3  # passes over a first slice before the best of several starts is chosen and priors are learned
SETTLE = 2  # sampled sweeps that draw the tokens' topics from the estimate
LEVEL = 50  # exact sweeps over a first slice in which alpha is learned
FOLD = 5  # steps of a document under the topics that it starts with


class PassWorkspace(NamedTuple):
    """Buffers that every pass reuses."""

    pairs: Pairs
    batch: em.EMBatch
    scratch: em.Scratch
    docs: F32  # n_dk


class PointEstimate(NamedTuple):
    """A point estimate after some passes over a slice, and the settings of further passes."""

    work: PassWorkspace
    counts: F32  # n_vk
    known: SlicePrior
    how: SliceSettings
    seed: int


def infer(
    here: SliceDocuments,
    known: SlicePrior,
    how: SliceSettings,
    begin: F32,
    seed: int,
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """Topics of a slice, and the prior they were found under, whose beta may have been learned.

    Documents start under the topics ``begin`` (terms x topics).
    """
    batches = SliceBatches(whole_slice(here), [])
    estimate = start_estimate(here, batches, *_pad_topics(known, how, begin), seed, each)
    estimate = run_passes(estimate, each, how.n_sweeps)
    chain = sampler.make_chain(here.tokens, len(known.rows), seed)
    return _drop_padding(*sample_estimate(estimate, chain, here, each), len(how.alpha))


def _pad_topics(
    known: SlicePrior, how: SliceSettings, begin: F32
) -> tuple[SlicePrior, SliceSettings, F32]:
    """Add topics that no token can have, so that loops over topics are whole vector instructions."""
    rows, begin = arrays.pad_columns(known.rows), arrays.pad_columns(begin)
    more = rows.shape[1] - len(how.alpha)
    mass, gain = np.append(known.mass, np.ones(more)), np.append(known.gain, np.zeros(more))
    how = how._replace(alpha=np.append(how.alpha, np.zeros(more)))
    return SlicePrior(rows, mass, gain, known.beta), how, begin


def _pad_estimate(now: PointEstimate) -> PointEstimate:
    """The same for an estimate after some passes."""
    known, how, counts = _pad_topics(now.known, now.how, now.counts)
    batch, scratch = now.work.batch, em.make_scratch([now.work.batch], len(how.alpha))
    work = PassWorkspace(now.work.pairs, batch, scratch, arrays.pad_columns(now.work.docs))
    return PointEstimate(work, counts, known, how, now.seed)


def _drop_padding(found: SliceTopics, known: SlicePrior, n: int) -> tuple[SliceTopics, SlicePrior]:
    """The first ``n`` topics, and their prior."""
    counts, docs = (np.ascontiguousarray(part[:, :n]) for part in found[:2])
    known = SlicePrior(known.rows[:, :n], known.mass[:n], known.gain[:n], known.beta)
    return SliceTopics(counts, docs, found.z, found.alpha[:n]), known


class SliceBatches(NamedTuple):
    """The documents of a slice as one batch, and in mini-batches for a start from noise."""

    whole: em.EMBatch
    few: list[em.EMBatch]


def whole_slice(here: SliceDocuments) -> em.EMBatch:
    """All documents of a slice as one batch."""
    (batch,) = em.make_batches(here.pairs, 1, len(here.terms))
    return batch


def infer_first(
    here: SliceDocuments,
    known: SlicePrior,
    how: SliceSettings,
    begin: F32 | None,
    seeds: list[int],
    each: Each,
) -> tuple[SliceTopics, SlicePrior]:
    """The same for a first slice: the best of several starts, from noise if there is no ``begin``."""
    cuts = int(np.clip(here.pairs.n_docs // 16, 1, BATCHES))
    few = em.make_batches(here.pairs, cuts, len(known.rows)) if begin is None else []
    batches = SliceBatches(whole_slice(here), few)
    starts = [start_estimate(here, batches, known, how, begin, seed, each) for seed in seeds]
    starts = [run_passes(_pad_estimate(one), each, min(EARLY, how.n_sweeps)) for one in starts]
    scores = [log_likelihood(one, each) for one in starts] if len(starts) > 1 else [0.0]
    best, n_topics = starts[int(np.argmax(scores))], len(how.alpha)
    known, how = best.known, best.how
    chain = sampler.make_chain(here.tokens, len(known.rows), best.seed)
    if how.learns_beta or how.learns_alpha:
        z = _draw_topics(best, chain, each)
        known, how = update_priors(z, chain, known, how, here.n_terms, each)
    best = run_passes(best._replace(known=known, how=how), each, max(how.n_sweeps - EARLY, 0))
    return _drop_padding(*sample_estimate(best, chain, here, each), n_topics)


def start_estimate(
    here: SliceDocuments,
    batches: SliceBatches,
    known: SlicePrior,
    how: SliceSettings,
    begin: F32 | None,
    seed: int,
    each: Each,
) -> PointEstimate:
    """First counts, from the topics ``begin``, or from noise and passes in mini-batches."""
    n_topics = known.rows.shape[1]
    batch, scratch = batches.whole, em.make_scratch([batches.whole], n_topics)
    if begin is None:
        work = PassWorkspace(here.pairs, batch, scratch, em.level_documents(here.pairs, n_topics))
        counts = _counts_from_noise(work, batches.few or [batch], known, how, seed, each)
    else:
        rows = _separate_flat_topics(begin, seed)
        docs = fold_in.expected_counts(rows, how.alpha, here.pairs, each, max_iter=FOLD)
        work = PassWorkspace(here.pairs, batch, scratch, docs)
        counts = _pass(work, rows, np.ones(n_topics), how.alpha, each)
    return PointEstimate(work, counts, known, how, seed)


def run_passes(now: PointEstimate, each: Each, n: int) -> PointEstimate:
    """The estimate after at most ``n`` passes; fewer if it converges."""
    work, counts, known, how, _ = now
    least = 2 * RESTED * work.pairs.n_tokens
    single = known.rows.astype(np.float32)
    if len(work.pairs.terms) * len(how.alpha) < ALONE:
        prior = how.alpha.astype(np.float32), known.gain.astype(np.float32), known.mass
        plain, index = tuple(work.pairs), tuple(work.batch.by_term)
        args = (counts, work.docs, tuple(work.scratch), plain, index, single, prior, n, least)
        return now._replace(counts=prior_sweep.passes(*args))
    for _ in range(n):
        before = counts
        counts = _pass(work, *_smooth_counts(before, known, single), how.alpha, each)
        if prior_sweep.total_distance(counts, before) < least:
            break
    return now._replace(counts=counts)


def sample_estimate(
    now: PointEstimate, chain: sampler.SamplerChain, here: SliceDocuments, each: Each
) -> tuple[SliceTopics, SlicePrior]:
    """The mean of a few sampled sweeps that start from the point estimate."""
    known, how = now.known, now.how
    z = _draw_topics(now, chain, each)
    known, how = update_priors(z, chain, known, how, here.n_terms, each)
    step = SETTLE
    while how.learns_alpha and step < LEVEL:
        step += 1
        gibbs(z, chain, how.alpha, known, step, each)
        if step % APART == 0:
            known, how = update_priors(z, chain, known, how, here.n_terms, each)
    counts, docs = sample_means(z, chain, known, how.alpha, step, each)
    return SliceTopics(counts, docs, z, how.alpha), known


def _smooth_counts(counts: F32, known: SlicePrior, single: F32) -> tuple[F32, F64]:
    """n_vk + b_vk, and one over its sums over all terms; ``single`` is b_vk in single precision."""
    rows, totals = np.empty_like(counts), np.zeros(counts.shape[1])
    prior_sweep.smooth_into(rows, totals, counts, single, known.gain.astype(np.float32))
    return rows, 1.0 / (known.gain * totals + known.mass)


def _separate_flat_topics(rows: F32, seed: int) -> F32:
    """Topics to start under. Several uniform topics get noise; otherwise they would stay equal."""
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


def _counts_from_noise(
    work: PassWorkspace,
    batches: list[em.EMBatch],
    known: SlicePrior,
    how: SliceSettings,
    seed: int,
    each: Each,
) -> F32:
    """n_vk after a few passes in mini-batches that start from noise."""
    pairs, (n_terms, n_topics) = work.pairs, known.rows.shape
    counts = em.noise_start(pairs, n_terms, n_topics, seed, each)
    scratch = em.make_scratch(batches, n_topics)
    shared = em.EMPass(pairs, batches, scratch, how.alpha, known.beta, each)
    for i in range(ONLINE):
        em.online_pass(counts, work.docs, shared, i * len(batches))
    return counts


def _pass(work: PassWorkspace, smooth: F32, inverse: F64, alpha: F64, each: Each) -> F32:
    """One CVB0 pass over all documents, then n_vk. ``smooth`` = n_vk + b_vk, ``inverse`` = 1 / its sums."""
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


def _draw_topics(now: PointEstimate, chain: sampler.SamplerChain, each: Each) -> U16:
    """Topics of single tokens, drawn near the estimate, because learning priors needs whole counts."""
    work, counts, known, how, _ = now
    single = known.rows.astype(np.float32)
    smooth, inverse = _smooth_counts(counts, known, single)
    rows = smooth * inverse.astype(np.float32)
    z = np.ascontiguousarray(sampler.start_from(chain, rows, work.docs, how.alpha, 0, each)[:, 0])
    for step in range(1, SETTLE + 1):
        snapshot(z, chain, how.alpha, known, single, step, each)
    return z


def log_likelihood(now: PointEstimate, each: Each) -> float:
    """ln p(w) of a slice under the point estimate, to choose between starts."""
    smooth, inverse = _smooth_counts(now.counts, now.known, now.known.rows.astype(np.float32))
    theta = now.work.docs + now.how.alpha.astype(np.float32)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = smooth * inverse.astype(np.float32)
    return float(np.nansum(fold_in.log_likelihoods(rows, theta, now.work.pairs, each)))
