"""Small dense linear systems, solved in place by scalar loops: equal results on all machines and threads."""

import numpy as np

from bayou.kernels.compile import jit


@jit
def factor_into(a, n):
    """Cholesky factor of the first n rows of a, in its lower triangle; a = I + a semidefinite matrix.

    No pivot is therefore below 1; a pivot that is smaller by rounding is raised to 1.
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
