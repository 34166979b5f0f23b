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

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from bayou.kernels import fixed_sweep, prior_sweep
from bayou.kernels.rng import TOKEN
from bayou.parts import sampler
from bayou.parts.prior import learned_floor
from bayou.parts.topics import F32, F64, TOKEN_COST, U16, Each, Tokens, prior_mass, topic_totals

APART = 5  # sweeps between two that are kept, as in LDA
_LEAST_S, _MOST_S = 1e-2, 1e8  # pseudo-tokens that evidence is looked for between


class Prior(NamedTuple):
    """What is known about the topics of a slice before its documents."""

    rows: F64  # b_vk, terms x topics; the distribution itself where a topic is fixed
    mass: F64  # sums of the columns; 1 where fixed
    gain: F64  # 1, or 0 where a topic is fixed
    beta: float  # what of the rows is no memory


class How(NamedTuple):
    """How a slice is learned."""

    alpha: F64
    n_sweeps: int
    burn_in: int  # sweeps of a sampler before any is kept
    inference: str
    learns: bool  # beta follows the counts


class Found(NamedTuple):
    """What a slice has taught: means over the kept sweeps, and the last sweep itself."""

    term_topic: F32
    doc_topic: F32
    z: U16


def flat_prior(n_terms: int, n_topics: int, beta: float) -> Prior:
    """Topics of which nothing is known: LDA."""
    rows = np.full((n_terms, n_topics), beta)
    return Prior(rows, np.full(n_topics, n_terms * beta), np.ones(n_topics), beta)


def make_prior(memory: F32, strength: F64, beta: float, fixed: NDArray[np.bool_]) -> Prior:
    """beta + S_k m_k, or m_k itself for topics that are fixed and have an infinite strength."""
    frozen = fixed & np.isinf(strength)
    pull = np.where(frozen, 1.0, strength)
    rows = np.where(frozen, 0.0, beta) + memory.astype(np.float64, order="C") * pull
    return Prior(rows, rows.sum(axis=0), np.where(frozen, 0.0, 1.0), beta)


def with_spares(prior: Prior, n_spares: int) -> Prior:
    """Further topics at the end that know nothing."""
    flat = flat_prior(len(prior.rows), n_spares, prior.beta)
    rows, gain = np.hstack([prior.rows, flat.rows]), np.concatenate([prior.gain, flat.gain])
    return Prior(rows, np.concatenate([prior.mass, flat.mass]), gain, prior.beta)


def learned(prior: Prior, counts: F32, n_terms: int) -> Prior:
    """The prior with the beta that the counts of a slice make more probable: a few steps towards it.

    Of the ``n_terms`` terms, rows without counts may be left out of both.
    """
    at, topic = np.nonzero(counts * prior.gain.astype(np.float32))
    free = prior.gain > 0
    totals = counts.sum(axis=0, dtype=np.float64)[free]
    seen = counts[at, topic], prior.rows[at, topic] - prior.beta
    beta = learned_floor(prior.beta, *seen, totals, prior.mass[free], n_terms)
    by = (beta - prior.beta) * prior.gain
    return Prior(prior.rows + by, prior.mass + n_terms * by, prior.gain, beta)


def infer(
    tokens: Tokens, prior: Prior, how: How, begin: F32 | None, seed: int, each: Each
) -> tuple[Found, Prior]:
    """Sample the topics of a slice's tokens; with them, the prior, whose beta may have been learned.

    Exact Gibbs sampling goes token after token, otherwise documents see the word counts of the sweep
    before. Tokens start at random, or as the topics ``begin`` (terms x topics) draw them: a weak prior
    alone may not lead topics back to their places.
    """
    (n_terms, n_topics), alpha = prior.rows.shape, how.alpha
    chain = sampler.make_chain(tokens, n_terms, seed)
    if begin is None:
        state = sampler.start(chain, n_topics, 0, each)
    else:
        state = sampler.start_under(chain, begin, alpha, 0, each)
    z = np.ascontiguousarray(state[:, 0])
    counts = sampler.count_terms(state, chain, n_topics, each)
    kept, docs, n_kept = np.zeros_like(counts), np.zeros((tokens.n_docs, n_topics), np.float32), 0
    single = prior.rows.astype(np.float32)
    for step in range(1, how.n_sweeps + 1):
        if how.inference == "gibbs":
            known, topic = tuple(prior[:3]), topic_totals(counts)
            prior_sweep.gibbs_sweep(z, tuple(tokens), counts, topic, alpha, known, seed, step)
        else:
            snapshot(z, chain, alpha, prior, single, step, each)
        since = step - how.burn_in
        if how.learns and since <= 0 and step % APART == 0:
            drawn = sampler.count_terms(z[:, None], chain, n_topics, each)
            prior = learned(prior, drawn, n_terms)
            single = prior.rows.astype(np.float32)
        if since > 0 and (since % APART == 0 or step == how.n_sweeps):
            sampler.count_terms(z[:, None], chain, n_topics, each, kept)
            fixed_sweep.count_docs(docs, z, tokens.indptr, 0, tokens.n_docs, np.float32(1.0))
            n_kept += 1
    share = np.float32(max(n_kept, 1))
    return Found(kept / share, docs / share, z), prior


def snapshot(
    z: U16, chain: sampler.Chain, alpha: F64, prior: Prior, single: F32, step: int, each: Each
) -> None:
    """A sweep of every document against the word counts before it, in place."""
    topic = np.zeros(len(alpha), np.int64)
    fixed_sweep.count_topics(topic, z, 0, len(z))
    inv = (1.0 / (prior.gain * topic + prior.mass)).astype(np.float32)
    gain = prior.gain.astype(np.float32)
    rows = np.empty_like(single)

    def terms(lo: int, hi: int) -> None:
        prior_sweep.count_rows(rows, z, tuple(chain.by_term), lo, hi, single, gain, inv)

    each(terms, chain.by_term.termptr, 10.0)
    a32, own, toks = alpha.astype(np.float32), inv * gain, tuple(chain.tokens)
    slack = prior_mass(rows, a32)

    def docs(lo: int, hi: int) -> None:
        fixed_sweep.sweep_docs(
            z, toks, chain.ids, lo, hi, rows, slack, own, a32, chain.seed, TOKEN, step
        )

    each(docs, chain.tokens.indptr, TOKEN_COST)


def topic_rows(found: F32, prior: Prior) -> F64:
    """phi_vk = (n_vk + b_vk) / (n_k + mass_k), and the distribution itself where a topic is fixed."""
    counts = found * prior.gain
    return np.asarray((counts + prior.rows) / (counts.sum(axis=0) + prior.mass), np.float64)


def weighted_strength(n_tokens: float, n_topics: int, weight: float) -> float:
    """S = N_k w / (1 - w) at the average topic of the slice: memory then weighs w in it."""
    return max(n_tokens / n_topics, 1.0) * weight / (1.0 - weight)


def evidence(counts: F32, memory: F32, beta: float, strength: float) -> float:
    """sum_k ln p(n_k | beta + S m_k), Dirichlet-multinomial."""
    at, topic = np.nonzero(counts > 0)
    n = counts[at, topic].astype(np.float64)
    a = beta + strength * memory[at, topic].astype(np.float64)
    mass = len(memory) * beta + strength * memory.sum(axis=0, dtype=np.float64)
    totals = counts.sum(axis=0, dtype=np.float64)
    out = (gammaln(mass) - gammaln(mass + totals)).sum() + (gammaln(a + n) - gammaln(a)).sum()
    return float(out)


def estimated_strength(counts: F32, memory: F32, beta: float) -> float:
    """The S under which the counts of all topics are most probable given their memories."""
    found = minimize_scalar(
        lambda s: -evidence(counts, memory, beta, math.exp(s)),
        bounds=(math.log(_LEAST_S), math.log(_MOST_S)),
        method="bounded",
        options={"xatol": 1e-3},
    )
    return float(math.exp(found.x))


def blend(memory: F32, phi: F64, rho: F64) -> F32:
    """m <- (1 - rho_k) m_k + rho_k phi_k; columns sum to one."""
    out = (1.0 - rho) * memory.astype(np.float64) + rho * phi
    return np.asarray(out / out.sum(axis=0), np.float32)
