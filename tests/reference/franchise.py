"""The Chinese restaurant franchise written out: exact Stirling numbers, joint densities, enumerations."""

from functools import lru_cache


@lru_cache
def stirling(n_max, discount):
    """Generalised Stirling numbers S^n_m as exact numbers, rows n = 0 .. n_max."""
    rows = [[1] + [0] * (n_max + 1)]
    for n in range(n_max):
        last = rows[-1]
        rows.append([0] + [last[m - 1] + (n - m * discount) * last[m] for m in range(1, n_max + 2)])
    return rows
