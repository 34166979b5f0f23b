"""Average topics of documents (zbar), the features that max-margin models score."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I32, I64, U16, Each, writable
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.kernels.lda import cavity
from bayou.kernels.margin import response

N_PASSES = 5  # of CVB0 per document; more change nothing

Zbar = tuple[I64, I32, U16, F32]  # rows of non-zeros: (start, number, topics, values)


def token_weights(tokens: Tokens, term_weight: F32) -> F32:
    """rho of each token: the weight of its term, scaled so that the tokens of a document sum to one."""
    weights = term_weight[tokens.terms]
    sizes = np.diff(tokens.indptr)
    docs = np.repeat(np.arange(tokens.n_docs), sizes)
    sums = np.bincount(docs, weights=weights, minlength=tokens.n_docs)
    return (weights / sums[docs]).astype(np.float32)


def token_zbar(z: U16, rho: F32, indptr: I64, n_topics: int, each: Each) -> Zbar:
    """zbar of every document from the topics of its tokens, zbar_k = sum of rho_n with z_n = k."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.minimum(np.diff(indptr), n_topics))])
    rows = (
        ends[:-1].copy(),
        np.zeros(len(ends) - 1, np.int32),
        np.zeros(ends[-1], np.uint16),
        np.zeros(ends[-1], np.float32),
    )

    def work(lo: int, hi: int) -> None:
        response.zbar_rows(rows, z, rho, indptr, n_topics, lo, hi)

    each(work, indptr, 5.0)
    return rows


def zbar(rows: F32, alpha: F64, term_weight: F32, pairs: Pairs, each: Each) -> F32:
    """Average topics of documents with topics fixed (documents x topics); rows sum to one."""
    out = np.empty((pairs.n_docs, len(alpha)), np.float32)
    rows, term_weight, a32 = writable(rows), writable(term_weight), alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        cavity.zbar_docs(out, tuple(pairs), lo, hi, rows, a32, term_weight, N_PASSES)

    each(work, pairs.indptr, 5.0 * len(alpha))
    return out


def term_shares(rows: F32, alpha: F64, term_weight: F32, pairs: Pairs) -> F32:
    """What each (document, term) pair adds to the `zbar` of its document (pairs x topics)."""
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
    """Leave-one-out `zbar`: each document under counts without its own tokens, which labels have shaped.

    ``counted`` = (n_vk, n_k), ``own`` = (tokens of the documents, their topics).
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
