"""A slice compared with the memory of its topics: repeated terms, divergences, leading terms."""

import math

import numpy as np

from bayou.kernels.alias import build_alias_into
from bayou.kernels.compile import jit
from bayou.kernels.tracking.quiet import divergence, divergences

_TINY = 1e-280  # least product of probabilities before its logarithm is taken
_FEW = 12  # most factors of a ratio of gammas that are multiplied
_GOLD, _NEAR = 0.6180339887498949, 0.02  # golden section, and the accuracy of ln A
_LEAST = 1e-12  # probability of a term that the memory does not have


@jit
def repeats_into(times, shares, lengths, z, tokens, memory, scale):
    """How often documents repeat a term in a topic; equal terms of a document are adjacent.

    ``times`` and ``shares`` get the number of tokens and the memory's probability of each term that a
    document has more than once in a topic, ``lengths`` (topics x documents) its tokens in the topic. Gives
    how many of the first there are, the number of terms used once, and the sum of their ln probabilities.
    Topics without a column in ``memory`` x ``scale`` are left out.
    """
    indptr, terms = tokens
    n_known = lengths.shape[0]
    own = np.zeros(z.max() + 1 if z.size else 1, np.int64)
    m, n_once, once, product = 0, 0, 0.0, 1.0
    for d in range(indptr.size - 1):
        lo = indptr[d]
        while lo < indptr[d + 1]:
            v, hi = terms[lo], lo
            while hi < indptr[d + 1] and terms[hi] == v:
                own[z[hi]] += 1
                hi += 1
            for i in range(lo, hi):
                k = np.int64(z[i])
                n, own[k] = own[k], 0
                if n == 0 or k >= n_known:
                    continue
                lengths[k, d] += n
                q = max(memory[v, k] * scale[k], _LEAST)
                if n > 1:
                    times[m], shares[m] = n, q
                    m += 1
                else:
                    n_once += 1
                    product *= q
                    if product < _TINY:
                        once += math.log(product)
                        product = 1.0
            lo = hi
    return m, n_once, once + math.log(product)


@jit
def _urn_log_lik(log_a, times, shares, seldom, sizes, many):
    """ln p of documents whose urns have the concentration A, without terms that do not depend on A.

    ``seldom`` = how many terms were used once, and the sum of the logarithms of their shares.
    """
    a, total = math.exp(log_a), seldom[0] * log_a + seldom[1]
    for i in range(times.size):
        x = a * shares[i]
        if times[i] > _FEW:
            total += math.lgamma(x + times[i]) - math.lgamma(x)
        else:
            product = x
            for j in range(1, times[i]):
                product *= x + j
            total += math.log(product)
    for i in range(sizes.size):
        total += many[i] * (math.lgamma(a) - math.lgamma(a + sizes[i]))
    return total


@jit
def likeliest_burst(times, shares, seldom, sizes, many, bounds):
    """The maximum-likelihood concentration A between exp(``bounds``), by golden section search.

    ``sizes`` and ``many``: numbers of tokens of a document in a topic, and how often each occurs.
    """
    low, high = bounds
    left, right = high - _GOLD * (high - low), low + _GOLD * (high - low)
    at_left = _urn_log_lik(left, times, shares, seldom, sizes, many)
    at_right = _urn_log_lik(right, times, shares, seldom, sizes, many)
    while high - low > _NEAR:
        if at_left < at_right:
            low, left, at_left = left, right, at_right
            right = low + _GOLD * (high - low)
            at_right = _urn_log_lik(right, times, shares, seldom, sizes, many)
        else:
            high, right, at_right = right, left, at_left
            left = high - _GOLD * (high - low)
            at_left = _urn_log_lik(left, times, shares, seldom, sizes, many)
    return math.exp(0.5 * (low + high))


@jit
def cells_into(cells, counts, begin, memory, scale, sizes, term_topic, place):
    """The cells of every topic's divergence: terms that the memory expects at least once, then the rest.

    Topic k has the entries ``begin[k] ..`` of ``cells`` (probabilities, that sum to one) and ``counts``;
    gives how many. Term v has the row ``place[v]`` of ``term_topic``; -1 if the slice does not have it.
    """
    n_topics = sizes.size
    n, known = np.zeros(n_topics, np.int64), np.zeros(n_topics)
    seen = np.zeros(n_topics)
    for v in range(memory.shape[0]):
        row = place[v]
        for k in range(n_topics):
            q = memory[v, k] * scale[k]
            if q * sizes[k] >= 1.0:
                at = begin[k] + n[k]
                cells[at], counts[at] = q, term_topic[row, k] if row >= 0 else 0.0
                known[k] += q
                seen[k] += counts[at]
                n[k] += 1
    for k in range(n_topics):
        at, rest = begin[k] + n[k], max(1.0 - known[k], 1e-9)
        cells[at], counts[at] = rest, sizes[k] - seen[k]
        for i in range(begin[k], at + 1):
            cells[i] /= known[k] + rest
        n[k] += 1
    return n


@jit
def drift_topics(
    out, lo, hi, begin, n_cells, cells, counts, lengths, burst, drawn, most, keys, ids
):
    """Divergence of topics lo .. hi; its mean and the deviation of its ln without change; Hellinger distance.

    Columns of ``out`` do not change for topics without tokens. ``drawn`` is a buffer for the slices without
    change of every topic, of which at most ``most[k]`` are drawn. ``keys`` is (seed, slice, `tol` of
    `divergences`).
    """
    seed, slice_, tol = keys
    for k in range(lo, hi):
        some = lengths[k][lengths[k] > 0]
        total, n = some.sum(), n_cells[k]
        if total == 0:
            continue
        q, mine = cells[begin[k] : begin[k] + n], counts[begin[k] : begin[k] + n]
        prob, other = np.empty(n), np.empty(n, np.int64)
        build_alias_into(prob, other, q, np.empty(n, np.int64), np.empty(n, np.int64))
        m = divergences(
            drawn[k, : most[k]], some, q, (prob, other), burst, seed, slice_, ids[k], tol
        )
        null, affinity = drawn[k, :m], 0.0
        logs = np.log(np.maximum(null, _LEAST))
        for i in range(n):
            affinity += math.sqrt(mine[i] / total * q[i])
        out[0, k] = divergence(mine, total, q)
        out[1, k], out[2, k] = null.mean(), max(logs.std(), 1e-3)
        out[3, k] = math.sqrt(max(1.0 - affinity, 0.0))


@jit
def mix_into(out, memory, keep, floor, found, place, add):
    """``out[v] = keep_k m_vk + floor_k + add_k n_vk``; n_v is ``found[place[v]]``, none for -1."""
    for v in range(memory.shape[0]):
        row = place[v]
        for k in range(keep.size):
            x = keep[k] * memory[v, k] + floor[k]
            if row >= 0:
                x += add[k] * found[row, k]
            out[v, k] = x


@jit
def largest_into(places, values, rows):
    """Places and values (columns x n) of the n largest entries of every column of ``rows``.

    The largest is first; among equal entries the first.
    """
    n_wanted = places.shape[1]
    values[:] = -np.inf
    for v in range(rows.shape[0]):
        for k in range(rows.shape[1]):
            x = rows[v, k]
            if x > values[k, n_wanted - 1]:
                i = n_wanted - 1
                while i > 0 and x > values[k, i - 1]:
                    values[k, i], places[k, i] = values[k, i - 1], places[k, i - 1]
                    i -= 1
                values[k, i], places[k, i] = x, v
