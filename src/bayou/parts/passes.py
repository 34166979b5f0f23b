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
from bayou.parts.tracking import APART, Found, Here, How, Prior, gibbs, relearned, snapshot

ONLINE = 3  # passes in mini-batches of a slice that starts from noise
BATCHES = 64  # of such a pass, at most
RESTED = 0.005  # share of the tokens that move in a pass at rest
EARLY = 3  # passes over a first slice before the best of several starts is chosen, and priors are learned
SETTLE = 2  # sampled sweeps that make one draw of the tokens from the estimate
LEVEL = 50  # exact sweeps over a first slice in which alpha is learned
DRAWS = 12  # sampled sweeps whose mean is the answer
FOLD = 5  # steps of a document under the topics that it starts with


class Work(NamedTuple):
    """What every pass uses again."""

    pairs: Pairs
    batch: em.Batch
    scratch: em.Scratch
    docs: F32  # n_dk


class Rest(NamedTuple):
    """Where the passes over a slice are: a point estimate, and how to go on."""

    work: Work
    chain: sampler.Chain
    counts: F32  # n_vk
    known: Prior
    how: How


def infer(
    here: Here, known: Prior, how: How, begin: F32, seed: int, each: Each
) -> tuple[Found, Prior]:
    """Topics of a slice, and the prior that they were found under: beta may have been learned.

    ``begin`` (terms x topics) are topics that documents start under.
    """
    rest = started(here, known, how, begin, seed, each)
    return sampled(passed(rest, each, how.n_sweeps), here, each)


def best(
    here: Here, known: Prior, how: How, begin: F32 | None, seeds: list[int], each: Each
) -> tuple[Found, Prior]:
    """The same for a first slice: the best of several starts, from noise where there is no ``begin``."""
    cuts = int(np.clip(here.pairs.n_docs // 16, 1, BATCHES))
    few = em.make_batches(here.pairs, cuts, len(known.rows)) if begin is None else []
    rests = [started(here, known, how, begin, seed, each, few) for seed in seeds]
    rests = [passed(rest, each, min(EARLY, how.n_sweeps)) for rest in rests]
    scores = [log_likelihood(rest, each) for rest in rests] if len(rests) > 1 else [0.0]
    rest = rests[int(np.argmax(scores))]
    if how.learns or how.learns_alpha:
        known, how = relearned(_drawn(rest, each), rest.chain, known, how, here.n_terms, each)
    rest = passed(rest._replace(known=known, how=how), each, max(how.n_sweeps - EARLY, 0))
    return sampled(rest, here, each)


def started(
    here: Here,
    known: Prior,
    how: How,
    begin: F32 | None,
    seed: int,
    each: Each,
    batches: list[em.Batch] | None = None,
) -> Rest:
    """Counts to begin with, from the topics ``begin`` or from noise and passes over ``batches``."""
    n_rows, n_topics = known.rows.shape
    (batch,) = em.make_batches(here.pairs, 1, n_rows)
    scratch = em.make_scratch([batch], n_topics)
    if begin is None:
        work = Work(here.pairs, batch, scratch, em.level_documents(here.pairs, n_topics))
        counts = _from_noise(work, batches or [batch], known, how, seed, each)
    else:
        rows = _apart(begin, seed)
        docs = topics.expected_counts(rows, how.alpha, here.pairs, each, max_iter=FOLD)
        work = Work(here.pairs, batch, scratch, docs)
        counts = _pass(work, rows, np.ones(n_topics), how.alpha, each)
    return Rest(work, sampler.make_chain(here.tokens, n_rows, seed), counts, known, how)


def passed(rest: Rest, each: Each, n: int) -> Rest:
    """The estimate after ``n`` passes, or as many as move anything."""
    work, _, counts, known, how = rest
    least = 2 * RESTED * work.pairs.n_tokens
    for _ in range(n):
        before = counts
        counts = _pass(work, *_smoothed(before, known), how.alpha, each)
        if float(np.abs(counts - before).sum()) < least:
            break
    return rest._replace(counts=counts)


def sampled(rest: Rest, here: Here, each: Each) -> tuple[Found, Prior]:
    """The mean of a few sampled sweeps that begin at the point estimate."""
    _, chain, _, known, how = rest
    z = _drawn(rest, each)
    known, how = relearned(z, chain, known, how, here.n_terms, each)
    step = SETTLE
    while how.learns_alpha and step < LEVEL:
        step += 1
        gibbs(z, chain, how.alpha, known, step, each)
        if step % APART == 0:
            known, how = relearned(z, chain, known, how, here.n_terms, each)
    counts, docs = _sampled(z, chain, known, how.alpha, step, each)
    return Found(counts, docs, z, how.alpha), known


def _sampled(
    z: U16, chain: sampler.Chain, known: Prior, alpha: F64, done: int, each: Each
) -> tuple[F32, F32]:
    """Means of n_vk and n_dk over a few sampled sweeps, which move ``z``.

    A point estimate gives a little of every token to topics that have nothing to do with it.
    """
    n_topics, n_docs = len(alpha), chain.tokens.n_docs
    single, share = known.rows.astype(np.float32), np.float32(1.0 / DRAWS)
    counts = np.zeros((chain.n_terms, n_topics), np.float32)
    docs = np.zeros((n_docs, n_topics), np.float32)
    for step in range(DRAWS):
        if step:
            snapshot(z, chain, alpha, known, single, done + step, each)
        sampler.count_terms(z[:, None], chain, n_topics, each, counts)
        fixed_sweep.count_docs(docs, z, chain.tokens.indptr, 0, n_docs, share)
    return counts * share, docs


def _smoothed(counts: F32, known: Prior) -> tuple[F32, F64]:
    """n_vk + b_vk, and one over its sums over all terms."""
    totals = topics.topic_totals(counts)
    rows = counts * known.gain.astype(np.float32) + known.rows.astype(np.float32)
    return rows, 1.0 / (known.gain * totals + known.mass)


def _apart(rows: F32, seed: int) -> F32:
    """Topics to start under; several that know nothing get some noise, else they would stay the same."""
    if not len(rows):
        return rows
    flat = np.flatnonzero(rows.min(axis=0) == rows.max(axis=0))
    if len(flat) > 1:
        noise = np.empty((len(rows), len(flat)), np.float32)
        kernels.noise_terms(noise, np.ones(len(rows)), 0, len(rows), seed)
        rows = rows.copy()
        rows[:, flat] *= noise
    return rows


def _from_noise(
    work: Work, batches: list[em.Batch], known: Prior, how: How, seed: int, each: Each
) -> F32:
    """n_vk after a few passes in mini-batches from topics that are noise."""
    pairs, (n_terms, n_topics) = work.pairs, known.rows.shape
    counts = em.noise_start(pairs, n_terms, n_topics, seed, each)
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


def _drawn(rest: Rest, each: Each) -> U16:
    """Topics of single tokens, near the estimate: expected counts are no counts of anything."""
    work, chain, counts, known, how = rest
    smooth, inverse = _smoothed(counts, known)
    rows = smooth * inverse.astype(np.float32)
    z = np.ascontiguousarray(sampler.start_from(chain, rows, work.docs, how.alpha, 0, each)[:, 0])
    single = known.rows.astype(np.float32)
    for step in range(1, SETTLE + 1):
        snapshot(z, chain, how.alpha, known, single, step, each)
    return z


def log_likelihood(rest: Rest, each: Each) -> float:
    """ln p(w) of a slice under the point estimate, to choose between starts."""
    smooth, inverse = _smoothed(rest.counts, rest.known)
    theta = rest.work.docs + rest.how.alpha.astype(np.float32)
    theta /= theta.sum(axis=1, keepdims=True)
    rows = smooth * inverse.astype(np.float32)
    return float(np.nansum(topics.log_likelihoods(rows, theta, rest.work.pairs, each)))
