"""What a slice looks like in which nothing has changed: documents drawn anew, and tails of counts."""

import math

import numpy as np

from bayou.kernels.alias import pick_alias
from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, QUIET, RESAMPLE, key, unit

_SMALL = 8  # counts of a cell whose part of a divergence is looked up


@jit
def _part(count, total, q):
    """What a cell adds to the divergence in bits: (p ln 2p/(p+q) + q ln 2q/(p+q)) / 2, q / 2 for p = 0."""
    if count == 0:
        return 0.5 * q
    p = count / total
    middle = 0.5 * (p + q)
    out = 0.5 * p * math.log2(p / middle)
    if q > 0.0:
        out += 0.5 * q * math.log2(q / middle)
    return out


@jit
def divergence(counts, total, expected):
    """JSD in bits between counts / total and ``expected``."""
    out = 0.0
    for i in range(expected.size):
        out += _part(counts[i], total, expected[i])
    return out


@jit
def _parts_into(parts, total, expected):
    """Parts of the divergence for the small counts of every cell: few logarithms serve all slices."""
    for i in range(expected.size):
        for c in range(_SMALL):
            parts[i, c] = _part(c, total, expected[i])


@jit
def divergences(out, lengths, expected, table, burst, seed, slice_, topic):
    """JSD of slices in which nothing has changed, one for each entry of ``out``.

    Every document of ``lengths`` tokens is drawn from an urn over the cells of ``expected``: a new draw
    with probability A / (A + i), else one of its own i tokens again, A = ``burst``. ``table`` is an
    alias table of ``expected``.
    """
    prob, alias = table
    longest, total = 1, 0
    for d in range(lengths.size):
        longest = max(longest, lengths[d])
        total += lengths[d]
    total = max(total, 1)
    urn, counts = np.empty(longest, np.int64), np.zeros(expected.size, np.int64)
    parts = np.empty((expected.size, _SMALL))
    _parts_into(parts, total, expected)
    for r in range(out.size):
        at = key(seed, QUIET, slice_ * 65_536 + r, topic)
        for d in range(lengths.size):
            for i in range(lengths[d]):
                at += GOLDEN
                u = unit(at) * (burst + i)
                if u < burst:
                    cell = pick_alias(u / burst, prob, alias)
                else:
                    cell = urn[min(np.int64(u - burst), i - 1)]
                urn[i] = cell
                counts[cell] += 1
        value = 0.0
        for i in range(expected.size):
            c = counts[i]
            value += parts[i, c] if c < _SMALL else _part(c, total, expected[i])
            counts[i] = 0
        out[r] = value


@jit
def resample(n_docs, seed, number):
    """How often each document is drawn when as many as there are are drawn with replacement."""
    out = np.zeros(n_docs)
    at = key(seed, RESAMPLE, number, 0)
    for _ in range(n_docs):
        at += GOLDEN
        out[np.int64(unit(at) * n_docs)] += 1.0
    return out


@jit
def upper_tails(out, at, counts, n, a, b):
    """P(X >= count) for X ~ BetaBinomial(n, a_i, b_i) at the places ``at``, into ``out`` there.

    Terms are summed upwards from the count, each the one before times a ratio, until they add nothing.
    """
    for i in range(at.size):
        k = int(counts[at[i]])
        x, y = a[i], b[i]
        log_p = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
        log_p += math.lgamma(k + x) + math.lgamma(n - k + y) - math.lgamma(n + x + y)
        log_p += math.lgamma(x + y) - math.lgamma(x) - math.lgamma(y)
        p = math.exp(log_p)
        total = 0.0
        for j in range(k, n + 1):
            total += p
            step = (n - j) * (j + x) / ((j + 1.0) * (n - j - 1.0 + y)) if j < n else 0.0
            p *= step
            if step < 1.0 and p < 1e-16 * total:
                break
        out[at[i]] = total
