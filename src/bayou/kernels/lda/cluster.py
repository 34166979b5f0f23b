"""Spherical k-means of documents on weighted (document, term) pairs [Dhillon01].

[Dhillon01] Dhillon, Modha. Concept decompositions for large sparse text data using clustering. Machine
Learning 42, 2001.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import key, unit


@jit
def weigh_docs(weights, pairs, idf, lo, hi):
    """``weights`` = ln(1 + count) idf of each pair, of unit length in each document lo .. hi."""
    indptr, terms, counts = pairs
    for d in range(lo, hi):
        total = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            w = np.log1p(counts[j]) * idf[terms[j]]
            weights[j] = w
            total += w * w
        scale = 1.0 / np.sqrt(total) if total > 0.0 else 0.0
        for j in range(indptr[d], indptr[d + 1]):
            weights[j] *= scale


@jit
def spread_seeds(seeds, pairs, weights, n_docs, n_terms, seed, purpose):
    """Seeds as in k-means++: each drawn with the square of its distance to the earlier ones."""
    indptr, terms, _ = pairs
    far = np.ones(n_docs)
    row = np.zeros(n_terms, np.float32)
    for k in range(seeds.size):
        total = 0.0
        for d in range(n_docs):
            total += far[d] * far[d]
        at = unit(key(seed, purpose, 2, k))
        chosen = np.int64(at * n_docs)
        if total > 0.0:
            left = at * total
            for d in range(n_docs):
                left -= far[d] * far[d]
                if left < 0.0:
                    chosen = d
                    break
        seeds[k] = chosen
        for j in range(indptr[chosen], indptr[chosen + 1]):
            row[terms[j]] = weights[j]
        for d in range(n_docs):
            same = 0.0
            for j in range(indptr[d], indptr[d + 1]):
                same += weights[j] * row[terms[j]]
            far[d] = min(far[d], max(1.0 - same, 0.0))
        far[chosen] = 0.0
        for j in range(indptr[chosen], indptr[chosen + 1]):
            row[terms[j]] = 0.0


@fast_jit
def nearest(chosen, pairs, weights, lo, hi, centres):
    """The most similar centre of documents lo .. hi; -1 if it shares no term with any."""
    indptr, terms, _ = pairs
    acc = np.empty(centres.shape[1], np.float32)
    for d in range(lo, hi):
        for k in range(acc.size):
            acc[k] = np.float32(0.0)
        for j in range(indptr[d], indptr[d + 1]):
            w, v = weights[j], terms[j]
            for k in range(acc.size):
                acc[k] += w * centres[v, k]
        best, top = -1, np.float32(0.0)
        for k in range(acc.size):
            if acc[k] > top:
                best, top = k, acc[k]
        chosen[d] = best


@jit
def gather_terms(out, by_term, lo, hi, chosen, values):
    """``out[v, k]`` = sum of ``values`` over the pairs of v in documents of cluster k."""
    terms, termptr, rows, at = by_term
    for i in range(lo, hi):
        row = out[terms[i]]
        for k in range(row.size):
            row[k] = np.float32(0.0)
        for j in range(termptr[i], termptr[i + 1]):
            k = chosen[rows[j]]
            if k >= 0:
                row[k] += values[at[j]]


@jit
def column_squares(out, matrix):
    """``out[k]`` += sum of squares of a column, in double precision, rows in order."""
    for i in range(len(matrix)):
        for k in range(out.size):
            out[k] += np.float64(matrix[i, k]) * matrix[i, k]
