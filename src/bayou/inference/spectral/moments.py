"""Moments in a fixed basis: sums over documents from which topics can be solved.

For a mixture with topics phi_k and weights w_k, two and three different tokens of a document have the moments
M2 = sum w phi phi' and M3 = sum w phi (x) phi (x) phi. Any basis Q in which the topics stay independent is
sufficient: Q'M2Q and M3(Q, Q, Q) are sums over documents, and so are the terms x r products that lead from
the basis to terms. Statistics of two shards add up. No matrix of size terms x terms is computed.

[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from bayou.data.errors import ModelFileError
from bayou.data.schema import Array
from bayou.inference.lda.arrays import F64
from bayou.inference.lda.documents import Pairs
from bayou.kernels.rng import BASIS
from bayou.kernels.spectral import moments as kernels

DENSE = 256  # most terms for which the second moment is computed as a dense matrix
LONG = 30.0  # least tokens of a document that is left out if it is mostly one term
_BLOCK = 4096  # terms at a time
_TOL, _STEPS = 1e-2, 20  # of eigenvectors; a basis near them is as good
_ORTHONORMAL = 1e-6  # largest difference of Q'Q from the unit matrix in a file


class Moments(NamedTuple):
    """Sums over documents of weight w_t, in a basis Q of r columns. See `kernels.spectral.moments`."""

    basis: Annotated[F64, Array("terms", "rank", ge=None)]  # Q, terms x r
    seen: Annotated[F64, Array("terms", "both", ge=None)]  # terms x 2r: sum b c y', sum a c y'
    cube: Annotated[F64, Array("cells", ge=None)]  # r (r + 1) (r + 2) / 6: sum a y (x) y (x) y
    once: Annotated[F64, Array("terms", 3, ge=None)]  # sum b c, sum a c, sum w c / L
    weight: float  # sum of w_t
    n_docs: int  # documents in the sums
    n_short: int  # documents of under three tokens, which have no third moment
    n_bursty: int  # long documents that are mostly one term


def empty(basis: F64) -> Moments:
    """No documents yet."""
    n_terms, r = basis.shape
    size = r * (r + 1) * (r + 2) // 6
    return Moments(
        basis, np.zeros((n_terms, 2 * r)), np.zeros(size), np.zeros((n_terms, 3)), 0.0, 0, 0, 0
    )


def check(sums: Moments) -> None:
    """Refuse moments of a file whose basis is not orthonormal, or whose sizes do not follow from its rank."""
    r = sums.basis.shape[1]
    if sums.seen.shape[1] != 2 * r or len(sums.cube) != r * (r + 1) * (r + 2) // 6:
        raise ModelFileError(
            "the moments in the file do not fit their basis; train the model again"
        )
    if not np.allclose(sums.basis.T @ sums.basis, np.eye(r), rtol=0.0, atol=_ORTHONORMAL):
        raise ModelFileError(
            "the basis of the moments in the file is not orthonormal; train the model again"
        )


def document_weights(pairs: Pairs, by_tokens: bool, max_share: float | None) -> F64:
    """w_t of each document: its tokens or 1; 0 and -1 mark documents that are left out."""
    weights = np.empty(pairs.n_docs)
    share = np.inf if max_share is None else max_share
    kernels.weigh_docs(weights, tuple(pairs), 0, pairs.n_docs, by_tokens, share, LONG)
    return weights


def add(sums: Moments, pairs: Pairs, weights: F64) -> Moments:
    """Add documents in their order. The arrays change in place."""
    kernels.add_docs(
        sums.seen, sums.cube, sums.once, tuple(pairs), 0, pairs.n_docs, sums.basis, weights
    )
    in_order = np.cumsum(np.concatenate([[sums.weight], weights[weights > 0]]))
    return sums._replace(
        weight=float(in_order[-1]),
        n_docs=sums.n_docs + int((weights > 0).sum()),
        n_short=sums.n_short + int((weights == 0).sum()),
        n_bursty=sums.n_bursty + int((weights < 0).sum()),
    )


def scale_sums(sums: Moments, factor: float) -> Moments:
    """All sums times a factor, in place, to reduce the weight of older documents."""
    for array in (sums.seen, sums.cube, sums.once):
        np.multiply(array, factor, out=array)
    return sums._replace(weight=sums.weight * factor)


def merge_sums(one: Moments, other: Moments) -> Moments:
    """The sums over both sets of documents, in the same basis."""
    if one.basis.shape != other.basis.shape or not np.array_equal(one.basis, other.basis):
        raise ValueError("moments add up only in the same basis; give both the same one")
    return Moments(
        one.basis, one.seen + other.seen, one.cube + other.cube, one.once + other.once,
        one.weight + other.weight, one.n_docs + other.n_docs,
        one.n_short + other.n_short, one.n_bursty + other.n_bursty,
    )  # fmt: skip


def normals(shape: tuple[int, ...], seed: int, purpose: int, number: int) -> F64:
    """Keyed standard normal numbers."""
    out = np.empty(int(np.prod(shape)))
    kernels.normals_into(out, seed, purpose, number)
    return out.reshape(shape)


def main_directions(pairs: Pairs, weights: F64, n_terms: int, r: int, seed: int) -> F64:
    """The r directions in which the second moment of these documents is largest, as columns.

    Largest by algebraic value: without its diagonal part the empirical moment has large negative eigenvalues
    without meaning. Without documents there are no columns.
    """
    used = np.flatnonzero(weights > 0)
    if not len(used):
        return np.zeros((n_terms, 0))
    counts: Any = csr_array(
        (pairs.counts.astype(np.float64), pairs.terms, pairs.indptr), shape=(pairs.n_docs, n_terms)
    )[used]
    there = np.flatnonzero(np.bincount(counts.indices, minlength=n_terms))
    counts = csr_array(counts[:, there])
    length: F64 = np.asarray(counts.sum(axis=1), np.float64).ravel()
    b = weights[used] / (length * (length - 1.0))
    b /= weights[used].sum()
    found = _eigenvectors(counts, b, min(r, len(there)), seed)
    out = np.zeros((n_terms, found.shape[1]))
    out[there] = found
    return out


def _eigenvectors(counts: Any, b: F64, r: int, seed: int) -> F64:
    """The r leading eigenvectors of C' diag(b) C without its diagonal part."""
    n_terms = counts.shape[1]
    diagonal = np.asarray(counts.T @ b, np.float64)
    if n_terms <= DENSE or r >= n_terms - 1:
        second = (counts.T @ (counts * b[:, None])).toarray() - np.diag(diagonal)
        return np.asarray(np.linalg.eigh(second)[1][:, ::-1][:, :r], np.float64)
    turned: Any = csr_array(counts.T)

    def product(x: F64) -> F64:
        scaled = b * (counts @ x) if x.ndim == 1 else b[:, None] * (counts @ x)
        own = diagonal * x if x.ndim == 1 else diagonal[:, None] * x
        return np.asarray(turned @ scaled - own, np.float64)

    operator = LinearOperator(
        (n_terms, n_terms), matvec=lambda x: product(x.ravel()), dtype=np.float64
    )
    start = normals((n_terms,), seed, BASIS, 0)
    try:
        values, vectors = eigsh(operator, k=r, which="LA", tol=_TOL, v0=start)
    except ArpackError:  # too few documents for r directions: most eigenvalues are equal
        return _subspace(product, float(diagonal.max()), normals((n_terms, r), seed, BASIS, 1))
    return np.asarray(vectors[:, np.argsort(-values)], np.float64)


def _subspace(product: Callable[[F64], F64], shift: float, start: F64) -> F64:
    """Subspace iteration on the moment plus its largest diagonal entry, which makes it positive."""
    x = np.linalg.qr(start)[0]
    for _ in range(_STEPS):
        x = np.linalg.qr(product(x) + shift * x)[0]
    values, turn = np.linalg.eigh(x.T @ product(x))
    return np.asarray(x @ turn[:, np.argsort(-values)], np.float64)


class MixtureMoments(NamedTuple):
    """Moments of a mixture in the basis: means over documents, without pairs of a token with itself."""

    back: F64  # M2 Q, terms x r
    second: F64  # Q'M2Q, r x r
    first: F64  # M1, terms


def second_moment(sums: Moments, alpha0: float = 0.0) -> MixtureMoments:
    """M1 and M2; for LDA with sum(alpha) = alpha0, M2 without the dependence through one theta."""
    r = sums.basis.shape[1]
    first = sums.once[:, 2] / sums.weight
    back = (sums.seen[:, :r] - sums.once[:, :1] * sums.basis) / sums.weight
    if alpha0 > 0.0:
        back = back - (alpha0 / (alpha0 + 1.0)) * np.outer(first, sums.basis.T @ first)
    second = sums.basis.T @ back
    return MixtureMoments(back, 0.5 * (second + second.T), first)


def third_moment(sums: Moments, whiten: F64, alpha0: float = 0.0) -> F64:
    """M3(W, W, W) with W = Q ``whiten``: K x K x K."""
    r, k = whiten.shape
    whole = np.empty((r, r, r))
    kernels.unpack_into(whole, sums.cube)
    for _ in range(3):  # contract the first mode; the contracted mode becomes the last
        whole = np.tensordot(whole, whiten, axes=(0, 0))
    tensor = whole - _symmetric(_twice(sums, whiten)) + 2.0 * _thrice(sums, whiten)
    tensor /= sums.weight
    if alpha0 > 0.0:
        raw = second_moment(sums)
        q = whiten.T @ (sums.basis.T @ raw.first)
        pair = whiten.T @ raw.second @ whiten
        tensor -= (alpha0 / (alpha0 + 2.0)) * _symmetric(np.multiply.outer(pair, q))
        both = 2.0 * alpha0**2 / ((alpha0 + 1.0) * (alpha0 + 2.0))
        tensor += both * np.multiply.outer(np.outer(q, q), q)
    return np.asarray(tensor.reshape(k, k, k), np.float64)


def _twice(sums: Moments, whiten: F64) -> F64:
    """sum_v W_v (x) W_v (x) h_v: one term at two of the three places."""
    r, k = whiten.shape
    out = np.zeros((k * k, k))
    for lo in range(0, len(sums.basis), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        w = sums.basis[rows] @ whiten
        out += (w[:, :, None] * w[:, None, :]).reshape(len(w), -1).T @ (
            sums.seen[rows, r:] @ whiten
        )
    return out.reshape(k, k, k)


def _thrice(sums: Moments, whiten: F64) -> F64:
    """sum_v s_v W_v (x) W_v (x) W_v: one term at all three places."""
    k = whiten.shape[1]
    out = np.zeros((k * k, k))
    for lo in range(0, len(sums.basis), _BLOCK):
        rows = slice(lo, lo + _BLOCK)
        w = sums.basis[rows] @ whiten
        out += (w[:, :, None] * w[:, None, :]).reshape(len(w), -1).T @ (sums.once[rows, 1:2] * w)
    return out.reshape(k, k, k)


def _symmetric(tensor: F64) -> F64:
    """The three ways to place the last mode of a tensor that is symmetric in its first two."""
    return tensor + tensor.transpose(0, 2, 1) + tensor.transpose(2, 1, 0)
