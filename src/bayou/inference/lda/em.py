"""Factorised EM and CVB0 for LDA: online passes, then batch sweeps, on distinct pairs (`kernels.lda.em`)."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64, Each, topic_totals
from bayou.inference.lda.documents import PairIndex, Pairs, index_pairs
from bayou.kernels import rng
from bayou.kernels.lda import em
from bayou.kernels.token import LANES


class EMBatch(NamedTuple):
    """Documents lo .. hi with their pairs grouped by term."""

    lo: int
    hi: int
    by_term: PairIndex


class Scratch(NamedTuple):
    """Arrays of the size of the largest batch, reused by every batch."""

    theta: F32  # documents x topics, up to a whole number of `LANES`
    sub: F32
    ratio: F32  # one per pair
    ratio_sub: F32


class EMPass(NamedTuple):
    """What the batches of a pass share."""

    pairs: Pairs
    batches: list[EMBatch]
    scratch: Scratch
    alpha: F64
    beta: float
    each: Each


def make_batches(pairs: Pairs, n_batches: int, n_terms: int) -> list[EMBatch]:
    """Cut the documents into batches of about equal numbers of documents."""
    n_batches = max(1, min(n_batches, pairs.n_docs))
    cuts = np.linspace(0, pairs.n_docs, n_batches + 1).astype(np.int64)
    return [
        EMBatch(int(lo), int(hi), index_pairs(pairs, int(lo), int(hi), n_terms))
        for lo, hi in pairwise(cuts)
    ]


def make_scratch(batches: list[EMBatch], n_topics: int) -> Scratch:
    """Arrays for the largest batch."""
    docs = max((b.hi - b.lo for b in batches), default=0)
    most = max((len(b.by_term.at) for b in batches), default=0)
    width = n_topics + -n_topics % LANES
    return Scratch(
        np.zeros((docs, width), np.float32),
        np.zeros((docs, width), np.float32),
        np.empty(most, np.float32),
        np.empty(most, np.float32),
    )


def noise_start(pairs: Pairs, n_terms: int, n_topics: int, seed: int, each: Each) -> F32:
    """Counts of topics from noise around the corpus' distribution of terms."""
    mean = np.bincount(pairs.terms, weights=pairs.counts, minlength=n_terms) / n_topics
    out = np.empty((n_terms, n_topics), np.float32)

    def work(lo: int, hi: int) -> None:
        em.noise_terms(out, mean, lo, hi, seed)

    each(work, np.arange(n_terms + 1, dtype=np.int64), 10.0 * n_topics)
    return out


def document_start(pairs: Pairs, n_terms: int, n_topics: int, seed: int) -> F32:
    """Counts of topics that are each the mean of one document and the corpus' distribution of terms.

    Documents of at least 20 tokens are preferred. With fewer documents than topics some are used twice.
    """
    unigram = np.bincount(pairs.terms, weights=pairs.counts, minlength=n_terms)
    total = unigram.sum()
    lengths = np.add.reduceat(np.append(pairs.counts, 0.0), pairs.indptr[:-1])
    lengths[np.diff(pairs.indptr) == 0] = 0.0
    fit = np.flatnonzero(lengths >= min(20.0, lengths.max(initial=0.0)))
    order = rng.permutation(len(fit), np.uint64(rng.key(seed, rng.INIT, 1, 0)))
    docs = fit[order[np.arange(n_topics) % len(fit)]]
    mass = total / n_topics
    out = np.repeat((0.5 * mass * unigram / max(total, 1.0))[:, None], n_topics, axis=1)
    for k, d in enumerate(docs):
        span = slice(pairs.indptr[d], pairs.indptr[d + 1])
        share = pairs.counts[span] / max(lengths[d], 1e-30)
        out[pairs.terms[span], k] += 0.5 * mass * share
    return out.astype(np.float32)


def level_documents(pairs: Pairs, n_topics: int) -> F32:
    """n_dk with the tokens of each document spread evenly over the topics."""
    docs = np.repeat(np.arange(pairs.n_docs), np.diff(pairs.indptr))
    lengths = np.bincount(docs, weights=pairs.counts, minlength=pairs.n_docs)
    return np.repeat((lengths / n_topics).astype(np.float32)[:, None], n_topics, axis=1)


def _masses(pairs: Pairs, batches: list[EMBatch]) -> list[float]:
    """Number of tokens of each batch."""
    ends = np.concatenate([[0.0], np.cumsum(pairs.counts, dtype=np.float64)])[pairs.indptr]
    return [float(ends[last] - ends[first]) for first, last, _ in batches]


def online_pass(
    term_topic: F32, doc_topic: F32, shared: EMPass, done: int, n_inner: int = 5
) -> None:
    """One pass of stochastic updates n_vk <- (1 - rho) n_vk + rho (N / N_B) batch, in place.

    rho_t = (1 + t)^-0.6, t counted from ``done`` batches. All rows decay by one common factor, so that a
    batch writes only the rows of its own terms.
    """
    pairs, batches, (theta, _, ratio, _), alpha, beta, each = shared
    b32, n_terms, total, scale = np.float32(beta), len(term_topic), pairs.n_tokens, 1.0
    topic, p, a32 = topic_totals(term_topic), tuple(pairs), alpha.astype(np.float32)
    masses = _masses(pairs, batches)
    for t, ((first, last, index), mass) in enumerate(zip(batches, masses, strict=True), done + 1):
        if mass <= 0:
            continue
        rho = (1.0 + t) ** -0.6
        both = (a32, (1.0 / (topic + n_terms * beta)).astype(np.float32))
        s32, gain = np.float32(scale), np.float32(rho * total / mass / (scale * (1.0 - rho)))

        def docs(lo: int, hi: int, f=first, s=s32, b=both) -> None:  # type: ignore[no-untyped-def]
            where = (theta, ratio, p, f, f + lo, f + hi)
            em.plain_docs(doc_topic, *where, term_topic, s, b32, b, n_inner)

        def terms(lo: int, hi: int, x=tuple(index), s=s32, g=gain) -> None:  # type: ignore[no-untyped-def]
            em.plain_terms(term_topic, x, lo, hi, theta, ratio, term_topic, s, b32, g)

        each(docs, pairs.indptr[first : last + 1], 0.5 * n_inner * len(alpha))
        each(terms, index.termptr, 0.3 * len(alpha))
        topic = (1.0 - rho) * topic + rho * total / mass * _totals(doc_topic, first, last)
        scale = _fold(term_topic, scale * (1.0 - rho), each)
    rescale(term_topic, scale, each)


def fresh_pass(term_topic: F32, doc_topic: F32, smooth: F32, shared: EMPass, rates: F64) -> None:
    """One pass of CVB0 in which every batch sees the topics that the previous batch has changed.

    n_vk <- (1 - rho) n_vk + rho (N / N_B) batch in place, with one rho per batch from ``rates``. Rows of
    ``smooth`` (terms x topics) are overwritten.
    """
    pairs, batches, (th, sb, rt, rs), alpha, beta, each = shared
    b32, n_terms, total, scale = np.float32(beta), len(term_topic), pairs.n_tokens, 1.0
    topic, p, a32 = topic_totals(term_topic), tuple(pairs), alpha.astype(np.float32)
    masses = _masses(pairs, batches)
    for (first, last, index), mass, rho in zip(batches, masses, rates, strict=True):
        if mass <= 0:
            continue
        both = (a32, (1.0 / (topic + n_terms * beta)).astype(np.float32))
        s32, gain = np.float32(scale), np.float32(rho * total / mass / (scale * (1.0 - rho)))

        def rows(lo: int, hi: int, t=index.terms, s=s32) -> None:  # type: ignore[no-untyped-def]
            em.smooth_terms(smooth, t, lo, hi, term_topic, s, b32)

        def docs(lo: int, hi: int, f=first, b=both) -> None:  # type: ignore[no-untyped-def]
            em.cavity_docs(doc_topic, th, sb, rt, rs, p, f, f + lo, f + hi, smooth, b)

        def terms(lo: int, hi: int, x=tuple(index), g=gain) -> None:  # type: ignore[no-untyped-def]
            em.cavity_terms(term_topic, x, lo, hi, th, sb, rt, rs, smooth, g)

        each(rows, np.arange(len(index.terms) + 1), 0.5 * len(alpha))
        each(docs, pairs.indptr[first : last + 1], 1.5 * len(alpha))
        each(terms, index.termptr, 0.6 * len(alpha))
        topic = (1.0 - rho) * topic + rho * total / mass * _totals(doc_topic, first, last)
        scale = _fold(term_topic, scale * (1.0 - rho), each)
    rescale(term_topic, scale, each)


def _totals(doc_topic: F32, first: int, last: int) -> F64:
    """n_k of documents first .. last."""
    out = np.zeros(doc_topic.shape[1])
    em.column_sums(out, doc_topic, first, last)
    return out


def _fold(term_topic: F32, scale: float, each: Each) -> float:
    """The scale; if it is too small, 1 after it is multiplied into the counts."""
    if scale >= 1e-6:
        return scale
    rescale(term_topic, scale, each)
    return 1.0


def rescale(term_topic: F32, scale: float, each: Each, shift: float = 0.0) -> None:
    """n <- scale n + shift in every cell."""

    def work(lo: int, hi: int) -> None:
        em.affine_terms(term_topic, lo, hi, np.float32(scale), np.float32(shift))

    each(work, _every_row(term_topic), 0.5 * term_topic.shape[1])


def _every_row(matrix: F32) -> I64:
    return np.arange(len(matrix) + 1, dtype=np.int64)


def cavity_sweep(term_topic: F32, doc_topic: F32, new: F32, shared: EMPass, step: float) -> None:
    """One CVB0 sweep over the whole corpus in place; ``new`` (terms x topics) is zero before and after.

    ``step`` above 1 over-relaxes: n <- max(0, n + step (new - n)).
    """
    pairs, batches, (th, sb, rt, rs), alpha, beta, each = shared
    b32, n_terms = np.float32(beta), len(term_topic)
    inv = (1.0 / (topic_totals(term_topic) + n_terms * beta)).astype(np.float32)
    both, p = (alpha.astype(np.float32), inv), tuple(pairs)
    rescale(term_topic, 1.0, each, beta)
    for first, last, index in batches:

        def docs(lo: int, hi: int, f=first) -> None:  # type: ignore[no-untyped-def]
            em.cavity_docs(doc_topic, th, sb, rt, rs, p, f, f + lo, f + hi, term_topic, both)

        def terms(lo: int, hi: int, x=tuple(index)) -> None:  # type: ignore[no-untyped-def]
            em.cavity_terms(new, x, lo, hi, th, sb, rt, rs, term_topic, np.float32(1.0))

        each(docs, pairs.indptr[first : last + 1], 1.5 * len(alpha))
        each(terms, index.termptr, 0.6 * len(alpha))

    def relax(lo: int, hi: int) -> None:
        em.relax_terms(term_topic, new, lo, hi, b32, np.float32(step))

    each(relax, _every_row(term_topic), 0.7 * len(alpha))
