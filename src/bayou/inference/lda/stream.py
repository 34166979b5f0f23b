"""Global counts of an online model: n <- (1 - rho) n + rho (D / |M|) (counts of the mini-batch M).

All cells decay by the same factor, stored as one number (``scale``), so that a batch writes only the rows of
its own terms. A local step gives the counts of a batch under the current topics: stochastic collapsed
variational passes over each document [Foulds13] here, Gibbs sweeps in `inference.lda.hybrid`.

[Foulds13] Foulds, Boyles, DuBois, Smyth, Welling. Stochastic collapsed variational Bayesian inference for
latent Dirichlet allocation. KDD 2013.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np

from bayou.inference.lda import em
from bayou.inference.lda.arrays import F32, F64, Each, topic_totals
from bayou.inference.lda.documents import Pairs, index_pairs
from bayou.kernels.lda import em as kernels

LEAST_TAU = 1e-3  # at 0 the first step would be 1, and nothing would be left of the start to scale
_FOLD = 1e-6  # scale below which it is multiplied into the counts
_DOC_TAU, _DOC_KAPPA = 10.0, 0.9  # step sizes within a document, as in the SCVB0 paper


class StreamCounts(NamedTuple):
    """n_vk = scale * raw, and n_k."""

    raw: F32
    scale: float
    topic: F64


class BatchSettings(NamedTuple):
    """Settings of the local step of one mini-batch."""

    alpha: F64
    beta: float
    burn_in: int
    n_samples: int
    seed: int
    step: int
    again: bool = False  # whether the topics include these documents already


class StreamPace(NamedTuple):
    """Position of a stream after one more mini-batch, and the weight of that mini-batch."""

    step: int
    n_seen: int
    rho: float
    gain: float  # D / |M|
    again: bool  # more documents than D: these were read before


class Schedule(Protocol):
    """The settings that step sizes depend on."""

    @property
    def n_docs(self) -> int | None:
        """Size of the whole corpus [D]. None: the number of documents so far."""

    @property
    def tau(self) -> float:
        """Delay of the step sizes."""

    @property
    def kappa(self) -> float:
        """Exponent of the step sizes."""


def pace(step: int, n_seen: int, n_batch: int, p: Schedule) -> StreamPace:
    """The next step of a stream: rho_t = (tau + t)^-kappa, D as given or the number of documents so far."""
    seen, next_step = n_seen + n_batch, step + 1
    gain = (p.n_docs or seen) / n_batch
    again = p.n_docs is not None and n_seen >= p.n_docs
    return StreamPace(next_step, seen, (p.tau + next_step) ** -p.kappa, gain, again)


def batch_size(n_docs: int | None) -> int:
    """Default number of documents per mini-batch: a fortieth of the corpus, from 8 to 128.

    A pass of few steps would leave the topics near their random start. 64 if the size of the corpus is not
    known.
    """
    return 64 if n_docs is None else min(max(n_docs // 40, 8), 128)


def renewals(step: int, tau: float, kappa: float) -> float:
    """Number of times a stream has replaced its counts: the sum of rho_t up to a step, by its integral."""
    ends = np.array([tau, tau + step])
    powers = np.log(ends) if kappa == 1.0 else ends ** (1.0 - kappa) / (1.0 - kappa)
    return float(powers[1] - powers[0])


def start(
    pairs: Pairs, n_terms: int, n_topics: int, mass: float, seed: int, each: Each
) -> StreamCounts:
    """Noise around the first batch's distribution of terms, with the mass of the whole corpus."""
    raw = em.noise_start(pairs, n_terms, n_topics, seed, each)
    scale = mass / max(pairs.n_tokens, 1.0)
    return StreamCounts(raw, scale, scale * topic_totals(raw))


def scvb0_step(
    g: StreamCounts, pairs: Pairs, p: BatchSettings, rho: float, gain: float, each: Each
) -> tuple[StreamCounts, F32]:
    """Variational local step and global update; also returns the documents' expected counts."""
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
    # n_k gains what n_vk gains: the documents' counts are averages over passes and would make it drift
    gained = scale * (topic_totals(g.raw[index.terms]) - before)
    return update_totals(g, gained, rho, scale, each), doc_topic


def update_totals(
    g: StreamCounts, gained: F64, rho: float, scale: float, each: Each
) -> StreamCounts:
    """The totals after a batch; a scale that is too small is multiplied into the counts."""
    topic = (1.0 - rho) * g.topic + gained
    if scale < _FOLD:
        em.rescale(g.raw, scale, each)
        scale = 1.0
    return StreamCounts(g.raw, scale, topic)


def rows_of(raw: F32, scale: float, beta: float) -> tuple[F32, F64]:
    """phi (terms x topics) and n_k from counts.

    n_k is summed again, because it and the single-precision n_vk round differently along a stream.
    """
    totals = scale * topic_totals(raw)
    inv = (1.0 / (totals + len(raw) * beta)).astype(np.float32)
    return (raw * np.float32(scale) + np.float32(beta)) * inv, totals
