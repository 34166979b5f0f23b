"""A symmetric K x K x K tensor as sum_k lambda_k v_k (x) v_k (x) v_k with orthonormal v_k.

``symmetric``  all vectors at once: V <- polar(T(V, V)), from several starts (the default)
``deflation``  one vector after the other by the robust power method [Anandkumar14], each subtracted
``jacobi``     joint diagonalisation of all slices by plane rotations [Cardoso96]
``jennrich``   eigenvectors of one random combination of slices: the fastest and the noisiest

The first two need only products T(I, v, v) of the tensor, which can be computed from documents (`implicit`).

[Anandkumar14] Anandkumar, Ge, Hsu, Kakade, Telgarsky. Tensor decompositions for learning latent variable
models. JMLR 15, 2014.
[Cardoso96] Cardoso, Souloumiac. Jacobi angles for simultaneous diagonalization. SIAM Journal on Matrix
Analysis and Applications 17, 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F64
from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral.moments import normals
from bayou.kernels.rng import STARTS

METHODS = ("symmetric", "deflation", "jacobi", "jennrich")
N_STARTS, N_STEPS, TOL = 4, 200, 1e-10
_TRIES = 20  # random combinations of slices for `jennrich`
_ROTATIONS = 100  # most rounds of `jacobi`
_BLOCK = 4096  # documents at a time

Product = Callable[[F64], F64]  # V to the matrix with columns T(I, v_k, v_k)


class TensorParts(NamedTuple):
    """lambda in falling order, and the vectors as columns."""

    values: F64
    vectors: F64


def dense(tensor: F64) -> Product:
    """Products of a given tensor."""
    k = len(tensor)
    flat = tensor.reshape(k * k, k)

    def product(v: F64) -> F64:
        half = (flat @ v).reshape(k, k, v.shape[1])
        return np.asarray(np.einsum("abk,bk->ak", half, v))

    return product


def implicit(pairs: Pairs, weights: F64, whiten: F64) -> Product:
    """Products of the whitened third moment of documents, without the tensor.

    With z = Wx and p_j = C z^j, T(I, x, x) = W'[C'(a (p1^2 - p2)) - 2 C'(a p1) z + 2 (C'a) z^2]: the cost
    of a product is one pass over the documents, for any number of topics.
    """
    n_terms = len(whiten)
    shape = (pairs.n_docs, n_terms)
    counts: Any = csr_array(
        (pairs.counts.astype(np.float64), pairs.terms, pairs.indptr), shape=shape
    )
    length: F64 = np.asarray(counts.sum(axis=1), np.float64).ravel()
    fit = weights > 0
    a = np.zeros(pairs.n_docs)
    a[fit] = weights[fit] / (length[fit] * (length[fit] - 1.0) * (length[fit] - 2.0))
    a /= weights[fit].sum()

    def product(v: F64) -> F64:
        z = whiten @ v
        out = 2.0 * (counts.T @ a)[:, None] * z**2
        for lo in range(0, pairs.n_docs, _BLOCK):
            part, w = counts[lo : lo + _BLOCK], a[lo : lo + _BLOCK, None]
            once, twice = part @ z, part @ z**2
            out += part.T @ (w * (once**2 - twice)) - 2.0 * (part.T @ (w * once)) * z
        return np.asarray(whiten.T @ out, np.float64)

    return product


def decompose(
    product: Product, k: int, method: str, seed: int, tensor: F64 | None = None
) -> TensorParts:
    """The components of a tensor given by its products; two of the methods need the tensor itself."""
    if k == 0:
        return TensorParts(np.zeros(0), np.zeros((0, 0)))
    if method == "symmetric":
        return _order_parts(_symmetric(product, k, seed), product)
    if method == "deflation":
        return _deflation(product, k, seed)
    if tensor is None:
        raise ValueError(f"{method!r} needs the tensor itself; use 'symmetric' for {k} topics")
    vectors = _jacobi(tensor) if method == "jacobi" else _jennrich(tensor, product, seed)
    return _order_parts(vectors, product)


def residual(tensor: F64, parts: TensorParts) -> float:
    """||T - sum lambda v (x) v (x) v|| / ||T||; 0 for a tensor of zeros."""
    v = parts.vectors
    left = tensor - np.einsum("ak,bk,ck->abc", v * parts.values, v, v)
    size = float(np.linalg.norm(tensor))
    return float(np.linalg.norm(left)) / size if size else 0.0


def _order_parts(vectors: F64, product: Product) -> TensorParts:
    """Components with lambda = T(v, v, v) not negative, the largest first."""
    return _sort_parts(vectors, np.einsum("ak,ak->k", vectors, product(vectors)))


def _sort_parts(vectors: F64, values: F64) -> TensorParts:
    """Components with lambda not negative, the largest first."""
    vectors = vectors * np.where(values < 0, -1.0, 1.0)
    order = np.argsort(-np.abs(values), kind="stable")
    return TensorParts(np.abs(values)[order], vectors[:, order])


def _polar(matrix: F64) -> F64:
    """The orthonormal matrix nearest to a square one."""
    left, _, right = np.linalg.svd(matrix)
    return np.asarray(left @ right, np.float64)


def _symmetric(product: Product, k: int, seed: int) -> F64:
    best, top = np.eye(k), -np.inf
    for start in range(N_STARTS):
        v = _polar(normals((k, k), seed, STARTS, start))
        for _ in range(N_STEPS):
            before, v = v, _polar(product(v))
            if np.abs(v - before).max() < TOL:
                break
        total = float(np.einsum("ak,ak->", v, product(v)))
        if total > top:
            best, top = v, total
    return best


def _deflation(product: Product, k: int, seed: int) -> TensorParts:
    """The robust power method [Anandkumar14]; lambda is the value of the tensor that is left."""
    found = np.zeros((k, 0))
    values = np.zeros(0)
    n_starts = max(10, 2 * k)

    def deflate(v: F64) -> F64:
        return product(v) - found @ (values[:, None] * (found.T @ v) ** 2)

    for i in range(k):
        v = _unit(normals((k, n_starts), seed, STARTS, N_STARTS + i))
        for _ in range(30):
            v = _unit(deflate(v))
        best = v[:, [int(np.argmax(np.einsum("ak,ak->k", v, deflate(v))))]]
        for _ in range(N_STEPS):
            before, best = best, _unit(deflate(best))
            if np.abs(best - before).max() < TOL:
                break
        value = np.einsum("ak,ak->k", best, deflate(best))
        found, values = np.hstack([found, best]), np.append(values, value)
    return _sort_parts(found, values)


def _unit(v: F64) -> F64:
    size = np.linalg.norm(v, axis=0)
    return np.asarray(v / np.where(size > 0, size, 1.0), np.float64)


def _jennrich(tensor: F64, product: Product, seed: int) -> F64:
    k = len(tensor)
    best, top = np.eye(k), -np.inf
    for i in range(_TRIES):
        slices = tensor @ normals((k,), seed, STARTS, 1000 + i)
        v = np.asarray(np.linalg.eigh(0.5 * (slices + slices.T))[1])
        captured = float((np.einsum("ak,ak->k", v, product(v)) ** 2).sum())
        if captured > top:
            best, top = v, captured
    return best


def _jacobi(tensor: F64) -> F64:
    """Rotate pairs of axes until all slices are as diagonal as possible."""
    k = len(tensor)
    slices, v = tensor.copy(), np.eye(k)
    for _ in range(_ROTATIONS):
        largest = 0.0
        for p in range(k - 1):
            for q in range(p + 1, k):
                c, s = _angle(slices[:, p, p] - slices[:, q, q], 2.0 * slices[:, p, q])
                largest = max(largest, abs(s))
                turn = np.array([[c, -s], [s, c]])
                slices[:, [p, q], :] = np.einsum("ab,nbk->nak", turn.T, slices[:, [p, q], :])
                slices[:, :, [p, q]] = slices[:, :, [p, q]] @ turn
                v[:, [p, q]] = v[:, [p, q]] @ turn
        if largest < TOL:
            break
    return v


def _angle(differences: F64, sums: F64) -> tuple[float, float]:
    """Cosine and sine of the rotation that makes 2 x 2 blocks jointly most diagonal [Cardoso96]."""
    on = float(differences @ differences - sums @ sums)
    off = float(2.0 * differences @ sums)
    theta = 0.5 * np.arctan2(off, on + np.hypot(on, off))
    return float(np.cos(theta)), float(np.sin(theta))
