"""The tokens of one topic divided between two sides, as a proposal whose probability is known.

[Jain04] Jain, Neal. A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture
model. Journal of Computational and Graphical Statistics 13, 2004.
[Dahl05] Dahl. Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet process
mixture models. Technical report, Texas A&M University, 2005.
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.hdp.tables import expected_tables
from bayou.kernels.rng import below, uniform

N_SCANS = 3  # over tokens, between the first division of documents and the proposal [Jain04]


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
def _shift_block(counts, totals, terms, starts, d, side, by):
    for s in range(starts[d], starts[d + 1]):
        counts[side, terms[s]] += by
    totals[side] += by * (starts[d + 1] - starts[d])


@jit
def allocate(side, counts, totals, terms, starts, anchors, beta, stream):
    """Each document as a whole, in random order, to a side as it predicts the document's terms [Dahl05].

    The documents of the two anchors come first, one for each side; a document that holds both anchors is
    divided between them token by token.
    """
    n_docs = starts.size - 1
    vbeta = beta * counts.shape[1]
    order = np.arange(n_docs)
    for j in range(n_docs - 1, 0, -1):
        other = below(stream, j + 1)
        order[j], order[other] = order[other], order[j]
    home = np.searchsorted(starts, anchors, side="right") - 1
    for b in range(2):
        if home[0] != home[1]:
            side[starts[home[b]] : starts[home[b] + 1]] = b
            _shift_block(counts, totals, terms, starts, home[b], b, 1.0)
        else:
            counts[b, terms[anchors[b]]] += 1.0
            totals[b] += 1.0
            side[anchors[b]] = b
    for d in order:
        if d == home[0] or d == home[1]:
            continue
        gain = 0.0
        for s in range(starts[d], starts[d + 1]):
            gain += math.log(
                (counts[0, terms[s]] + beta) * (totals[1] + vbeta)
                / ((counts[1, terms[s]] + beta) * (totals[0] + vbeta))
            )  # fmt: skip
        b = 0 if uniform(stream) * (1.0 + math.exp(-gain)) < 1.0 else 1
        side[starts[d] : starts[d + 1]] = b
        _shift_block(counts, totals, terms, starts, d, b, 1.0)
    if home[0] == home[1]:
        d = home[0]
        for s in range(starts[d], starts[d + 1]):
            if s != anchors[0] and s != anchors[1]:
                side[s] = below(stream, 2)
                counts[side[s], terms[s]] += 1.0
                totals[side[s]] += 1.0


@jit
def scan(side, counts, totals, terms, starts, anchors, mass, beta, forced, stream):
    """One Gibbs scan over all tokens except the anchors; returns the log-probability of its outcome.

    ``forced`` (empty, or a side for each token) is where they are made to go.
    """
    vbeta = beta * counts.shape[1]
    log_q = 0.0
    for d in range(starts.size - 1):
        own = np.zeros(2)
        for s in range(starts[d], starts[d + 1]):
            own[side[s]] += 1.0
        for s in range(starts[d], starts[d + 1]):
            if s == anchors[0] or s == anchors[1]:
                continue
            b, v = side[s], terms[s]
            own[b] -= 1.0
            counts[b, v] -= 1.0
            totals[b] -= 1.0
            p0 = (own[0] + mass[0]) * (counts[0, v] + beta) * (totals[1] + vbeta)
            p1 = (own[1] + mass[1]) * (counts[1, v] + beta) * (totals[0] + vbeta)
            if forced.size > 0:
                b = forced[s]
            else:
                b = 0 if uniform(stream) * (p0 + p1) < p0 else 1
            log_q += math.log((p0 if b == 0 else p1) / (p0 + p1))
            side[s] = b
            own[b] += 1.0
            counts[b, v] += 1.0
            totals[b] += 1.0
    return log_q


@jit
def sides_tables(side, starts, mass):
    """Expected tables of both sides when each has half of the mass."""
    out = np.zeros(2)
    for d in range(starts.size - 1):
        own = np.zeros(2)
        for s in range(starts[d], starts[d + 1]):
            own[side[s]] += 1.0
        for b in range(2):
            out[b] += expected_tables(own[b], 0.5 * mass)
    return out


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
def log_beta_density(x, a, b):
    """Log density of Beta(a, b) at x."""
    return (
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
        + (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x)
    )  # fmt: skip


@jit
def log_gain(side, counts, starts, share, mass, g, b0, beta):
    """Log of p(z, g, w) of two sides over that of one topic, with the Jacobian of g -> shares."""
    words = log_words(counts, 0, beta) + log_words(counts, 1, beta) - log_words(counts, -1, beta)
    seats = log_seats(side, starts, share * mass, (1.0 - share) * mass)
    roots = math.log(b0) - math.log(share) - math.log1p(-share)  # -ln g1 - ln g2 + ln g, + ln g
    return words + seats + roots


@jit
def propose_sides(terms, starts, anchors, mass, beta, n_terms, forced, stream):
    """Divide the tokens of a topic; returns sides, counts, and log q of the proposal and its share."""
    side = np.zeros(terms.size, np.int64)
    counts, totals, none = np.zeros((2, n_terms)), np.zeros(2), np.zeros(0, np.int64)
    allocate(side, counts, totals, terms, starts, anchors, beta, stream)
    half = np.full(2, 0.5 * mass)
    for _ in range(N_SCANS):
        scan(side, counts, totals, terms, starts, anchors, half, beta, none, stream)
    log_q = scan(side, counts, totals, terms, starts, anchors, half, beta, forced, stream)
    return side, counts, log_q
