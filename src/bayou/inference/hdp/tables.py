"""Tables of a franchise of restaurants (documents): shared Stirling ratios, and table counts."""

from __future__ import annotations

import threading

import numpy as np

from bayou.inference.lda.arrays import F64, I64, U64
from bayou.kernels.hdp import tables
from bayou.kernels.rng import TABLES

_lock = threading.Lock()
_shared: dict[float, F64] = {}
_shared_factors: dict[float, F64] = {}


def ratios(n: int, m: int, discount: float = 0.0) -> F64:
    """V^n_m = S^n_m / S^n_{m-1} up to at least n customers and m tables; shared and read-only.

    The ratios depend on the discount only. A larger request makes a larger array, under a lock; earlier
    arrays stay valid. The numbers do not depend on how an array has grown.
    """
    have = _shared.get(discount)
    if have is not None and have.shape[0] > n and have.shape[1] > m:
        return have
    with _lock:
        have = _shared.get(discount, np.zeros((2, 2)))
        if have.shape[0] > n and have.shape[1] > m:
            return have
        shape = tuple(max(_roomy(size), had) for size, had in zip((n, m), have.shape, strict=True))
        grown = np.zeros(shape)
        grown[: have.shape[0], : have.shape[1]] = have
        tables.fill_ratios(grown, *have.shape, discount)
        grown.setflags(write=False)
        _shared[discount] = grown
        return grown


def factors(n: int, m: int, discount: float = 0.0) -> F64:
    """Weights of the next customer (`kernels.hdp.tables.fill_factors`), shared and grown like `ratios`."""
    have = _shared_factors.get(discount)
    if have is not None and have.shape[0] > n and have.shape[1] > m:
        return have
    known = ratios(n + 1, m + 1, discount)
    with _lock:
        had = _shared_factors.get(discount, np.zeros((2, 2, 2))).shape
        grown = np.zeros((max(n + 1, had[0]), max(m + 1, had[1]), 2))
        tables.fill_factors(grown, known, discount)
        grown.setflags(write=False)
        _shared_factors[discount] = grown
        return grown


def _roomy(size: int) -> int:
    """The next power of two above a size, so that arrays rarely grow."""
    return 1 << max(int(size) + 1, 4).bit_length()


def expected_tables(counts: F64, mass: F64) -> F64:
    """E[m_dk] = x_k (psi(x_k + n_dk) - psi(x_k)) of counts (rows x topics), x = b1 g."""
    out = np.empty(counts.shape)
    tables.expected_tables_into(out, counts, mass)
    return out


def draw_tables(counts: I64, mass: F64, ids: U64, seed: int, sweep: int) -> I64:
    """Table counts of rows (documents) given topic counts, P(m_dk) ~ S^n_m x_k**m, x = b1 g."""
    out = np.empty(counts.shape, np.int64)
    tables.tables_into(out, counts, mass, ids, seed, TABLES, sweep)
    return out
