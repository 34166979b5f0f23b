"""Slices without change: divergences of documents drawn from the memory, and tails of counts."""

import math

import numpy as np

from bayou.kernels.alias import pick_alias
from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, QUIET, key, unit

_SMALL = 8  # counts below this have their part of the divergence in a table
_FEWEST = 4  # least number of slices without change that are drawn


@jit
def _part(count, total, q):
    """The part of a cell in the divergence, in bits: (p ln 2p/(p+q) + q ln 2q/(p+q)) / 2, q / 2 for p = 0."""
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
    """A table of parts of the divergence for small counts of every cell, used for all slices."""
    for i in range(expected.size):
        for c in range(_SMALL):
            parts[i, c] = _part(c, total, expected[i])


@jit
def divergences(out, lengths, expected, table, burst, seed, slice_, topic, tol):
    """JSD of slices without change, one per entry of ``out``; gives how many were drawn.

    Drawing ends when the mean of their logarithms is accurate enough. ``tol`` = (largest ratio of its error
    to the standard deviation of a score, other part of that standard deviation).

    Every document of ``lengths`` tokens is drawn from an urn over the cells of ``expected``: a new draw with
    probability A / (A + i), else one of its own i tokens again, A = ``burst``. ``table`` is an alias table of
    ``expected``.
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
    mean, squares = 0.0, 0.0
    for r in range(out.size):
        at = key(seed, QUIET, slice_ * 65_536 + r, topic)
        for d in range(lengths.size):
            for i in range(lengths[d]):
                at += GOLDEN
                u = unit(at) * (burst + i)
                if u < burst:
                    cell = pick_alias(u / burst, prob, alias)
                else:
                    cell = urn[max(min(np.int64(u - burst), i - 1), 0)]
                urn[i] = cell
                counts[cell] += 1
        value = 0.0
        for i in range(expected.size):
            c = counts[i]
            value += parts[i, c] if c < _SMALL else _part(c, total, expected[i])
            counts[i] = 0
        out[r] = value
        step = math.log(max(value, 1e-12)) - mean
        mean += step / (r + 1)
        squares += step * step * r / (r + 1)
        spread = squares / (r + 1)
        if r + 1 >= _FEWEST and spread < tol[0] ** 2 * (r + 1) * (tol[1] ** 2 + spread):
            return r + 1
    return out.size


@jit
def _log_chance(k, n, x, y):
    """ln P(X = k) for X ~ BetaBinomial(n, x, y)."""
    out = math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
    out += math.lgamma(k + x) + math.lgamma(n - k + y) - math.lgamma(n + x + y)
    return out + math.lgamma(x + y) - math.lgamma(x) - math.lgamma(y)


@jit
def _tail(p, k, n, x, y):
    """P(X >= k) from ``p`` = P(X = k), by ratios of successive probabilities.

    Below the mean it is one minus the other tail, because P(X = k) may underflow there.
    """
    total = 0.0
    if k * (x + y) < n * x:
        for j in range(k, 0, -1):
            p *= j * (n - j + y) / ((n - j + 1.0) * (j - 1.0 + x))
            total += p
            if p < 1e-16 * total:
                break
        return 1.0 - min(total, 1.0)
    for j in range(k, n + 1):
        total += p
        step = (n - j) * (j + x) / ((j + 1.0) * (n - j - 1.0 + y)) if j < n else 0.0
        p *= step
        if step < 1.0 and p < 1e-16 * total:
            break
    return min(total, 1.0)


@jit
def upper_tails(out, at, counts, n, a, b):
    """P(X >= count) for X ~ BetaBinomial(n, a_i, b_i) at the places ``at``, into ``out`` there."""
    for i in range(at.size):
        k = int(counts[at[i]])
        out[at[i]] = _tail(math.exp(_log_chance(k, n, a[i], b[i])), k, n, a[i], b[i])


@jit
def middle_tails(out, at, counts, n, a, b):
    """P(X > count) + P(X = count) / 2 for X ~ BetaBinomial(n, a_i, b_i), one for each place of ``at``."""
    for i in range(at.size):
        k = int(counts[at[i]])
        p = math.exp(_log_chance(k, n, a[i], b[i]))
        out[i] = _tail(p, k, n, a[i], b[i]) - 0.5 * p
