"""Average topics of documents (zbar), the features that max-margin models score."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, U16, Each, writable
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.kernels.lda import cavity

N_PASSES = 5  # of CVB0 on a document; more change nothing


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
