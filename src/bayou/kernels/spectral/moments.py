"""Moments of two and three different tokens of a document, in a basis of r columns.

With c the counts of a document, L their sum, y = Q'c and weights b = w / L(L-1), a = b / (L-2), a document
adds b c y' and a c y' (terms x r), b c, a c and w c / L (terms), and a y (x) y (x) y, of which the entries
i >= j >= k are kept in a row. Pairs of a token with itself are subtracted when moments are used
(`spectral.moments`). These corrections follow from the same sums.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import GOLDEN, key, unit


@jit
def weigh_docs(weights, pairs, lo, hi, by_tokens, max_share, least):
    """w_t = L_t or 1; 0 for documents under three tokens, -1 for long ones that are mostly one term."""
    indptr, _, counts = pairs
    for d in range(lo, hi):
        length = 0.0
        top = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            length += counts[j]
            top = max(top, counts[j])
        if length < 3.0:
            weights[d] = 0.0
        elif length >= least and top > max_share * length:
            weights[d] = -1.0
        elif by_tokens:
            weights[d] = length
        else:
            weights[d] = 1.0


@jit
def count_terms(known, pairs):
    """Add the counts of all documents, term by term."""
    indptr, terms, counts = pairs
    for j in range(indptr[0], indptr[-1]):
        known[terms[j]] += counts[j]


@fast_jit
def _project_into(y, pairs, d, basis):
    """``y`` = Q'c_d; the length of the document."""
    indptr, terms, counts = pairs
    length = 0.0
    for i in range(y.size):
        y[i] = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        c = np.float64(counts[j])
        length += c
        v = terms[j]
        for i in range(y.size):
            y[i] += c * basis[v, i]
    return length


@fast_jit
def _add_cube(cube, y, a):
    """``cube`` += a y_i y_j y_k for i >= j >= k, in that order."""
    at = 0
    for i in range(y.size):
        first = a * y[i]
        for j in range(i + 1):
            both = first * y[j]
            for k in range(j + 1):
                cube[at + k] += both * y[k]
            at += j + 1


@fast_jit
def add_docs(seen, cube, once, pairs, lo, hi, basis, weights):
    """Add documents lo .. hi; ``seen`` holds b c y' and a c y' side by side, ``once`` b c, a c, w c / L."""
    indptr, terms, counts = pairs
    r = basis.shape[1]
    y = np.empty(r)
    for d in range(lo, hi):
        w = weights[d]
        if w <= 0.0:
            continue
        length = _project_into(y, pairs, d, basis)
        b = w / (length * (length - 1.0))
        a = b / (length - 2.0)
        for j in range(indptr[d], indptr[d + 1]):
            v = terms[j]
            c = np.float64(counts[j])
            for i in range(r):
                seen[v, i] += b * c * y[i]
                seen[v, r + i] += a * c * y[i]
            once[v, 0] += b * c
            once[v, 1] += a * c
            once[v, 2] += w * c / length
        _add_cube(cube, y, a)


@jit
def unpack_into(tensor, cube):
    """The whole symmetric tensor from its entries i >= j >= k."""
    at = 0
    for i in range(len(tensor)):
        for j in range(i + 1):
            for k in range(j + 1):
                x = cube[at]
                at += 1
                tensor[i, j, k] = tensor[i, k, j] = tensor[j, i, k] = x
                tensor[j, k, i] = tensor[k, i, j] = tensor[k, j, i] = x


@jit
def normals_into(out, seed, purpose, number):
    """Standard normal numbers by the cosine form of Box and Muller, two uniforms each."""
    k = key(seed, purpose, number, 0)
    for i in range(out.size):
        u = unit(k + np.uint64(2 * i + 1) * GOLDEN)
        v = unit(k + np.uint64(2 * i + 2) * GOLDEN)
        out[i] = np.sqrt(-2.0 * np.log(1.0 - u)) * np.cos(2.0 * np.pi * v)
