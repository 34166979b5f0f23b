"""Documents as classifiers see them: damped counts, weights of terms, averages of topics."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from bayou.kernels import cavity
from bayou.parts.topics import F32, F64, U16, Each, Pairs, Tokens, writable

DAMPINGS = ("log", "none", "binary")
N_PASSES = 5  # of CVB0 on a document; more change nothing


def damped(counts: csr_array, tf: str) -> csr_array:
    """Counts n as ceil(ln(1 + n)) ("log": a term said ten times is not ten facts), min(n, 1) or n."""
    if tf == "none":
        return counts
    data = counts.data
    data = np.ceil(np.log1p(data)) if tf == "log" else np.minimum(data, np.float32(1.0))
    parts = (data.astype(np.float32), counts.indices, counts.indptr)
    return csr_array(parts, shape=counts.shape)


def inverse_frequency(counts: csr_array) -> F32:
    """1 + ln((1 + D) / (1 + df)) of each term."""
    seen = np.bincount(counts.indices, minlength=counts.shape[1])
    return np.asarray(1.0 + np.log((1.0 + counts.shape[0]) / (1.0 + seen)), np.float32)


def token_weights(tokens: Tokens, term_weight: F32) -> F32:
    """rho of each token: its term's weight, scaled so that a document's tokens add up to one."""
    weights = term_weight[tokens.terms]
    sizes = np.diff(tokens.indptr)
    docs = np.repeat(np.arange(tokens.n_docs), sizes)
    sums = np.bincount(docs, weights=weights, minlength=tokens.n_docs)
    return (weights / sums[docs]).astype(np.float32)


def zbar(rows: F32, alpha: F64, term_weight: F32, pairs: Pairs, each: Each) -> F32:
    """Average topics of documents with topics fixed (documents x topics); rows sum to one."""
    out = np.empty((pairs.n_docs, len(alpha)), np.float32)
    rows, term_weight, a32 = writable(rows), writable(term_weight), alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        cavity.zbar_docs(out, tuple(pairs), lo, hi, rows, a32, term_weight, N_PASSES)

    each(work, pairs.indptr, 5.0 * len(alpha))
    return out


def term_shares(rows: F32, alpha: F64, term_weight: F32, pairs: Pairs) -> F32:
    """What each (document, term) pair adds to its document's `zbar` (pairs x topics)."""
    out = np.empty((len(pairs.terms), len(alpha)), np.float32)
    a32 = alpha.astype(np.float32)
    cavity.share_docs(out, tuple(pairs), 0, pairs.n_docs, rows, a32, term_weight, N_PASSES)
    return out


def zbar_without(
    counted: tuple[F32, F64],
    own: tuple[Tokens, U16],
    alpha: F64,
    beta: float,
    term_weight: F32,
    pairs: Pairs,
    each: Each,
) -> F32:
    """As `zbar`, each document under topics whose counts have forgotten it: no label has shaped it.

    ``counted`` = (n_vk, n_k) and ``own`` = the documents' tokens in it with their topics.
    """
    out = np.empty((pairs.n_docs, len(alpha)), np.float32)
    a32, b32 = alpha.astype(np.float32), np.float32(beta)
    tokens, z = own
    mine = (tokens.indptr, tokens.terms, z)

    def work(lo: int, hi: int) -> None:
        cavity.zbar_without(
            out, tuple(pairs), lo, hi, counted, mine, a32, b32, term_weight, N_PASSES
        )

    each(work, pairs.indptr, 10.0 * len(alpha))
    return out


def unit_words(counts: csr_array, term_weight: F32) -> csr_array:
    """(1 + ln n) x weight of the term, each document of length one: words as a linear model likes them."""
    data = (1.0 + np.log(np.maximum(counts.data, 1e-30))) * term_weight[counts.indices]
    data = np.maximum(data, 0.0)
    docs = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    length = np.sqrt(np.bincount(docs, weights=data * data, minlength=counts.shape[0]))
    data = data / np.where(length > 0, length, 1.0)[docs]
    return csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
