"""Global counts that follow a stream: n <- (1 - rho) n + rho (D / |M|) (counts of the mini-batch M).

All cells decay by the same factor, so it is kept as one number (``scale``) and a batch writes only the
rows of its own terms. Two local steps give the counts of a batch under the topics as they are:

``hybrid``  a few Gibbs sweeps of each document against fixed rows, some of them kept [Burkhardt18]
``scvb0``   stochastic collapsed variational passes over each document [Foulds13]

[Burkhardt18] Burkhardt, Kramer. Online multi-label dependency topic models for text classification.
Machine Learning 107, 2018.
[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.kernels import em as kernels
from bayou.kernels import fixed_sweep
from bayou.kernels.rng import BATCH
from bayou.parts import em
from bayou.parts.topics import (
    F32,
    F64,
    TOKEN_COST,
    U16,
    Each,
    Pairs,
    Tokens,
    index_pairs,
    index_tokens,
    prior_mass,
    topic_totals,
)

_FOLD = 1e-6  # scale below which it is multiplied into the counts
_DOC_TAU, _DOC_KAPPA = 10.0, 0.9  # step sizes within a document, as in the SCVB0 paper


class Global(NamedTuple):
    """n_vk = scale * raw, and n_k."""

    raw: F32
    scale: float
    topic: F64


class Local(NamedTuple):
    """How the documents of a batch are worked on."""

    alpha: F64
    beta: float
    burn_in: int
    n_samples: int
    seed: int
    step: int


def start(pairs: Pairs, n_terms: int, n_topics: int, mass: float, seed: int, each: Each) -> Global:
    """Noise around the first batch's distribution of terms, with the mass of the whole corpus."""
    raw = em.noise_start(pairs, n_terms, n_topics, seed, each)
    scale = mass / max(pairs.n_tokens, 1.0)
    return Global(raw, scale, scale * topic_totals(raw))


def hybrid_step(
    g: Global, tokens: Tokens, p: Local, rho: float, gain: float, each: Each
) -> tuple[Global, F32]:
    """Sampled local step and global update; gives the documents' mean counts too."""
    n_terms = len(g.raw)
    index = index_tokens(tokens, n_terms)
    slot = np.zeros(n_terms, np.uint32)
    slot[index.terms] = np.arange(len(index.terms), dtype=np.uint32)
    local = Tokens(tokens.indptr, slot[tokens.terms])
    inv = (1.0 / (g.topic + n_terms * p.beta)).astype(np.float32)
    rows = (g.raw[index.terms] * np.float32(g.scale) + np.float32(p.beta)) * inv
    drawn, doc_topic = _draw(local, rows, p, each)
    share = rho * gain / p.n_samples
    scale = g.scale * (1.0 - rho)

    def terms(lo: int, hi: int) -> None:
        for z in drawn:
            fixed_sweep.count_terms(g.raw, z, tuple(index), lo, hi, np.float32(share / scale))

    each(terms, index.termptr, 5.0 * p.n_samples)
    return _moved(g, rho * gain * topic_totals(doc_topic), rho, scale, each), doc_topic


def _draw(tokens: Tokens, rows: F32, p: Local, each: Each) -> tuple[U16, F32]:
    """Topics of every token at each kept sweep, and mean counts of the documents."""
    a32, own = p.alpha.astype(np.float32), np.zeros(len(p.alpha), np.float32)
    ids = np.arange(tokens.n_docs, dtype=np.uint64)
    z = np.empty(len(tokens.terms), np.uint16)
    kept = np.empty((p.n_samples, len(z)), np.uint16)
    doc_topic = np.zeros((tokens.n_docs, len(p.alpha)), np.float32)
    toks, base = tuple(tokens), p.step * 65_536
    slack = prior_mass(rows, a32)

    def docs(lo: int, hi: int) -> None:
        span = slice(tokens.indptr[lo], tokens.indptr[hi])
        fixed_sweep.start_docs(z, toks, ids, lo, hi, rows, a32, p.seed, BATCH, base)
        for i in range(p.burn_in + p.n_samples):
            fixed_sweep.sweep_docs(
                z, toks, ids, lo, hi, rows, slack, own, a32, p.seed, BATCH, base + i + 1
            )
            if i >= p.burn_in:
                kept[i - p.burn_in, span] = z[span]
                fixed_sweep.count_docs(
                    doc_topic, z, tokens.indptr, lo, hi, np.float32(1.0 / p.n_samples)
                )

    each(docs, tokens.indptr, TOKEN_COST * (p.burn_in + p.n_samples))
    return kept, doc_topic


def scvb0_step(
    g: Global, pairs: Pairs, p: Local, rho: float, gain: float, each: Each
) -> tuple[Global, F32]:
    """Variational local step and global update; gives the documents' expected counts too."""
    n_terms, n_topics = g.raw.shape
    index = index_pairs(pairs, 0, pairs.n_docs, n_terms)
    doc_topic = em.level_documents(pairs, n_topics)
    theta = np.empty_like(doc_topic)
    ratio = np.empty(len(pairs.terms), np.float32)
    inv = (1.0 / (g.topic + n_terms * p.beta)).astype(np.float32)
    both = (p.alpha.astype(np.float32), inv)
    s32, b32 = np.float32(g.scale), np.float32(p.beta)
    rate = (p.burn_in + p.n_samples, _DOC_TAU, _DOC_KAPPA)
    scale = g.scale * (1.0 - rho)

    def docs(lo: int, hi: int) -> None:
        kernels.scvb0_docs(
            doc_topic, theta, ratio, tuple(pairs), 0, lo, hi, g.raw, s32, b32, both, rate
        )

    def terms(lo: int, hi: int) -> None:
        share = np.float32(rho * gain / scale)
        kernels.plain_terms(g.raw, tuple(index), lo, hi, theta, ratio, g.raw, s32, b32, share)

    each(docs, pairs.indptr, 1.5 * n_topics * rate[0])
    before = topic_totals(g.raw[index.terms])
    each(terms, index.termptr, 0.3 * n_topics)
    # n_k gains what n_vk gains: the documents' counts are averages over passes and would let it drift
    gained = scale * (topic_totals(g.raw[index.terms]) - before)
    return _moved(g, gained, rho, scale, each), doc_topic


def _moved(g: Global, gained: F64, rho: float, scale: float, each: Each) -> Global:
    """The totals after a batch, and the scale multiplied in before it gets too small."""
    topic = (1.0 - rho) * g.topic + gained
    if scale < _FOLD:
        em.rescale(g.raw, scale, each)
        scale = 1.0
    return Global(g.raw, scale, topic)
