"""Mixtures of multinomials: smoothing, batch EM, and the start of online EM.

    y_d ~ w      w_di ~ phi_y

[Liang09] Liang, Klein. Online EM for unsupervised models. NAACL 2009.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.lda.documents import Pairs
from bayou.kernels.rng import MIXTURE
from bayou.kernels.spectral import mixture as kernels
from bayou.results.posterior import logs

_TINY = 1e-300


def unigram_of(known: F64, beta: float) -> F64:
    """The distribution of all terms; ``beta`` tokens of each are added, so that every term is possible."""
    return np.asarray((known + beta) / (known.sum() + beta * len(known)), np.float64)


def smooth_rows(rows: F64, tokens: F64, unigram: F64, pseudo: float) -> F64:
    """phi_k, learned from ``tokens[k]`` tokens, mixed with ``pseudo`` pseudo-tokens of the unigram."""
    return np.asarray(
        (rows * tokens + pseudo * unigram[:, None]) / np.maximum(tokens + pseudo, _TINY), np.float64
    )


def responsibilities(pairs: Pairs, rows: F64 | F32, weights: F64, each: Each) -> tuple[F64, F64]:
    """p(topic | document), documents x topics, and ln p(document)."""
    log_rows, log_weights = logs(rows, weights)
    out = np.empty((pairs.n_docs, len(weights)))
    loglik = np.empty(pairs.n_docs)

    def work(lo: int, hi: int) -> None:
        kernels.posterior_docs(out, loglik, tuple(pairs), lo, hi, log_rows, log_weights)

    each(work, pairs.indptr, 1.0 * len(weights))
    return out, loglik


def em_steps(
    pairs: Pairs, rows: F64, weights: F64, n_steps: int, unigram: F64, pseudo: float, each: Each
) -> tuple[F64, F64]:
    """``n_steps`` EM steps over documents, with the given smoothing."""
    shape = (pairs.n_docs, len(rows))
    counts = csr_array((pairs.counts.astype(np.float64), pairs.terms, pairs.indptr), shape=shape)
    for _ in range(n_steps):
        resp, _ = responsibilities(pairs, rows, weights, each)
        tally = np.asarray(counts.T @ resp, np.float64)
        tokens = tally.sum(axis=0)
        rows = smooth_rows(tally / np.maximum(tokens, _TINY), tokens, unigram, pseudo)
        # a topic without documents may get some later
        share = resp.sum(axis=0) + 1.0 / len(weights)
        weights = share / share.sum()
    return rows, weights


def predictive_log_likelihood(pairs: Pairs, theta: F64, rows: F32, each: Each) -> F64:
    """sum over a document's tokens of ln sum_k theta_dk phi_kv, for each document."""
    value = np.empty(pairs.n_docs)
    known = np.maximum(rows.astype(np.float64), _TINY)

    def work(lo: int, hi: int) -> None:
        kernels.predictive_docs(value, theta, tuple(pairs), lo, hi, known)

    each(work, pairs.indptr, 1.0 * rows.shape[1])
    return value


def random_start(n_terms: int, n_topics: int, seed: int) -> F64:
    """Topics drawn from Dir(1), as columns."""
    out = np.empty((n_terms, n_topics))
    kernels.start_rows(out, 0, n_terms, seed, MIXTURE)
    return np.asarray(out / out.sum(axis=0), np.float64)


def as_rows(rows: F64) -> F32:
    """Topics of a posterior: single precision, positive, columns that sum to one."""
    rows = np.maximum(rows, 1e-30)
    return np.ascontiguousarray(rows / rows.sum(axis=0), dtype=np.float32)
