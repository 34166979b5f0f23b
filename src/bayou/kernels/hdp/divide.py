"""The tokens of one topic divided between two sides: counts of documents and log-probabilities."""

import math

import numpy as np

from bayou.kernels.compile import jit


@jit
def gather(z, indptr, first, second):
    """Tokens of two topics in document order, and the offsets of their documents."""
    n = 0
    for i in range(z.size):
        n += z[i] == first or z[i] == second
    at, starts = np.empty(n, np.int64), np.zeros(min(n, indptr.size - 1) + 1, np.int64)
    n, n_docs = 0, 0
    for d in range(indptr.size - 1):
        begin = n
        for i in range(indptr[d], indptr[d + 1]):
            if z[i] == first or z[i] == second:
                at[n] = i
                n += 1
        if n > begin:
            n_docs += 1
            starts[n_docs] = n
    return at, starts[: n_docs + 1]


@jit
def log_words(counts, side, beta):
    """Log of the Dirichlet-multinomial of one side's terms, or of both together (side -1)."""
    total, value = 0.0, 0.0
    lg = math.lgamma(beta)
    for v in range(counts.shape[1]):
        c = counts[0, v] + counts[1, v] if side < 0 else counts[side, v]
        if c > 0:
            value += math.lgamma(c + beta) - lg
            total += c
    vbeta = beta * counts.shape[1]
    return value + math.lgamma(vbeta) - math.lgamma(total + vbeta)


@jit
def log_seats(side, starts, mass0, mass1):
    """sum_j of log rising factorials: both sides apart less both together."""
    value = 0.0
    mass = mass0 + mass1
    base0, base1, base = math.lgamma(mass0), math.lgamma(mass1), math.lgamma(mass)
    for d in range(starts.size - 1):
        n = starts[d + 1] - starts[d]
        n1 = 0
        for s in range(starts[d], starts[d + 1]):
            n1 += side[s]
        if n1 < n:
            value += math.lgamma(mass0 + n - n1) - base0
        if n1 > 0:
            value += math.lgamma(mass1 + n1) - base1
        value -= math.lgamma(mass + n) - base
    return value


@jit
def log_gain(side, counts, starts, share, mass, g, b0, beta):
    """Log of p(z, g, w) of two sides over that of one topic, with the Jacobian of g -> shares."""
    words = log_words(counts, 0, beta) + log_words(counts, 1, beta) - log_words(counts, -1, beta)
    seats = log_seats(side, starts, share * mass, (1.0 - share) * mass)
    roots = math.log(b0) - math.log(share) - math.log1p(-share)  # -ln g1 - ln g2 + ln g, + ln g
    return words + seats + roots
