"""Cholesky factors of small dense matrices, and triangular systems solved in place.

`factor_into` sums in the order of the columns, the same on every machine, and bounds its pivots.
`factor_fast_into` sums with vector instructions and bounds nothing. Their last bits differ, and saved models
depend on them, so each caller keeps the one it has. Both write the lower triangle only.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit


@jit
def factor_into(a, n):
    """Cholesky factor of the first n rows of a, in its lower triangle; a is I + a semidefinite matrix.

    So no pivot is below 1. Rounding can say otherwise where documents are equal and cost much.
    """
    for j in range(n):
        for k in range(j):
            total = a[j, k]
            for m in range(k):
                total -= a[j, m] * a[k, m]
            a[j, k] = total / a[k, k]
        total = a[j, j]
        for m in range(j):
            total -= a[j, m] * a[j, m]
        a[j, j] = np.sqrt(max(total, 1.0))


@fast_jit
def _dot_before(a, i, j, n):
    total = 0.0
    for k in range(n):
        total += a[i, k] * a[j, k]
    return total


@jit
def factor_fast_into(a):
    """Cholesky factor of a positive definite matrix, in its lower triangle."""
    for i in range(a.shape[0]):
        for j in range(i):
            a[i, j] = (a[i, j] - _dot_before(a, i, j, j)) / a[j, j]
        a[i, i] = math.sqrt(a[i, i] - _dot_before(a, i, i, i))


@jit
def forward_into(v, a, n):
    """Solve L v' = v for the lower triangle L of a."""
    for j in range(n):
        total = v[j]
        for m in range(j):
            total -= a[j, m] * v[m]
        v[j] = total / a[j, j]


@jit
def backward_into(v, a, n):
    """Solve L'v' = v for the lower triangle L of a."""
    for j in range(n - 1, -1, -1):
        v[j] /= a[j, j]
        for m in range(j):
            v[m] -= a[j, m] * v[j]
