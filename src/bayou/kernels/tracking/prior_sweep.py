"""Sampling of LDA in which every topic has its own prior over the terms: phi_k ~ Dir(b_k).

    p(z = k | rest)  is proportional to  (n_dk + a_k) (g_k n_vk + b_vk) / (g_k n_k + sum_v b_vk)

with the token removed from the counts. g_k is 1 for a topic that is learned. For a fixed topic it is 0 and
b_k is its distribution, so that the word factor is phi_vk itself.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.lda.em import cavity_docs, cavity_terms
from bayou.kernels.rng import GOLDEN, TOKEN, key, unit
from bayou.kernels.token import count_document, fixed_weights_into, pick, shift, sum_of

_ONE = np.float32(1.0)
_EPSILON = np.float32(2.0**-23)  # spacing of single precision at one


@fast_jit
def _weigh_into(weight, doc_row, alpha, counts, v, topic, prior):
    """Weights of all topics for a token of term v; ``prior`` = (b, its column sums, g)."""
    term_topic, (rows, mass, gain) = counts, prior
    for k in range(weight.size):
        word = (gain[k] * term_topic[v, k] + rows[v, k]) / (gain[k] * topic[k] + mass[k])
        weight[k] = (doc_row[k] + alpha[k]) * word
    return sum_of(weight, 0, weight.size)


@jit
def gibbs_sweep(z, tokens, term_topic, topic, alpha, prior, seed, sweep):
    """Draw every token's topic given all others, with counts updated after each token; b in float64."""
    indptr, terms = tokens
    doc_row, weight = np.zeros(alpha.size), np.empty(alpha.size)
    for d in range(indptr.size - 1):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        at = key(seed, TOKEN, sweep, d)
        for i in range(indptr[d], indptr[d + 1]):
            v = terms[i]
            shift(doc_row, term_topic, v, topic, z[i], -1.0)
            total = _weigh_into(weight, doc_row, alpha, term_topic, v, topic, prior)
            at += GOLDEN
            k = pick(weight, unit(at) * total)
            z[i] = k
            shift(doc_row, term_topic, v, topic, k, 1.0)


@jit
def count_rows(rows, z, by_term, lo, hi, prior, gain, inv_topic):
    """``rows[v] = (g_k n_vk + b_vk) / (g_k n_k + mass_k)`` counted from the tokens of terms lo .. hi."""
    terms, termptr, at = by_term
    for i in range(lo, hi):
        v = terms[i]
        for k in range(inv_topic.size):
            rows[v, k] = prior[v, k]
        for j in range(termptr[i], termptr[i + 1]):
            k = z[at[j]]
            rows[v, k] += gain[k]
        for k in range(inv_topic.size):
            rows[v, k] *= inv_topic[k]


@jit
def smooth_into(rows, totals, counts, prior, gain):
    """``rows[v] = g_k n_vk + b_vk``; ``totals`` gets the sums of n_k in double precision added."""
    for v in range(counts.shape[0]):
        for k in range(gain.size):
            n = counts[v, k]
            totals[k] += n
            rows[v, k] = gain[k] * n + prior[v, k]


@fast_jit
def total_distance(one, other):
    """Sum of the distances between the entries of two matrices."""
    total = 0.0
    for v in range(one.shape[0]):
        part = np.float32(0.0)
        for k in range(one.shape[1]):
            part += abs(one[v, k] - other[v, k])
        total += part
    return total


@jit
def passes(counts, docs, scratch, pairs, by_term, single, prior, n, least):
    """At most ``n`` CVB0 passes over a slice from ``counts`` (n_vk) and ``docs`` (n_dk); gives n_vk.

    Ends when a pass moves less than ``least``. For slices that are too small for several threads. ``prior`` =
    (alpha, g, sums of b over all terms), ``single`` is b_vk.
    """
    alpha, gain, mass = prior
    theta, sub, ratio, ratio_sub = scratch
    rows, n_docs, n_terms = np.empty_like(single), docs.shape[0], by_term[0].size
    for _ in range(n):
        totals = np.zeros(gain.size)
        smooth_into(rows, totals, counts, single, gain)
        inverse = (1.0 / (gain * totals + mass)).astype(np.float32)
        new = np.zeros_like(counts)
        both = (alpha, inverse)
        cavity_docs(docs, theta, sub, ratio, ratio_sub, pairs, 0, 0, n_docs, rows, both)
        cavity_terms(new, by_term, 0, n_terms, theta, sub, ratio, ratio_sub, rows, _ONE)
        change = total_distance(new, counts)
        counts = new
        if change < least:
            break
    return counts


@fast_jit
def _add_shares(terms_out, v, docs_out, d, weight, inverse):
    """Add the weights of a token, as probabilities, to its term's and its document's row."""
    for k in range(weight.size):
        share = weight[k] * inverse
        terms_out[v, k] += share
        docs_out[d, k] += share


@jit
def sweep_expectations(z, tokens, ids, lo, hi, rows, own, alpha, seed, sweep, terms_out, docs_out):
    """`fixed_sweep.sweep_docs` of documents lo .. hi that adds up probabilities of draws, not draws.

    A token's probabilities given all others are the mean of its draw, so their sums have less variance and
    the same mean. They are added to ``terms_out`` (n_vk) and ``docs_out`` (n_dk).
    """
    indptr, terms = tokens
    doc_row, weight = np.zeros(alpha.size, np.float32), np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        at = key(seed, TOKEN, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            old, v = z[i], terms[i]
            doc_row[old] -= _ONE
            fixed_weights_into(weight, doc_row, alpha, rows, v)
            full = rows[v, old]
            # summed afterwards: the token's own part may be almost all of the sum
            rest = max(full - own[old], _EPSILON * full) / max(_ONE - own[old], _EPSILON)
            weight[old] = (doc_row[old] + alpha[old]) * rest
            total = sum_of(weight, 0, weight.size)
            at += GOLDEN
            k = pick(weight, np.float32(unit(at)) * total)
            _add_shares(terms_out, v, docs_out, d, weight, _ONE / total)
            z[i] = k
            doc_row[k] += _ONE


@jit
def _asymptotic(x):
    """psi(x) for x >= 6."""
    y = 1.0 / (x * x)
    series = y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y / 240.0)))
    return math.log(x) - 0.5 / x - series


@jit
def _rise(n, b):
    """psi(n + b) - psi(b) for a whole n: 1 / b + ... + 1 / (b + n - 1)."""
    total, few = 0.0, min(n, 8)
    for i in range(few):
        total += 1.0 / (b + i)
    return total if n <= 8 else total + _asymptotic(b + n) - _asymptotic(b + 8)


@jit
def list_cells(n, b, counts, rows, gain):
    """Counts above zero and their b_vk, of topics that are not fixed; gives how many."""
    m = 0
    for v in range(counts.shape[0]):
        for k in range(gain.size):
            if counts[v, k] > 0.0 and gain[k] > 0.0:
                n[m], b[m] = counts[v, k], rows[v, k]
                m += 1
    return m


@jit
def rise(counts, prior, by):
    """sum_i [psi(n_i + b_i) - psi(b_i)] of whole counts, b = ``prior`` + ``by``."""
    total = 0.0
    for i in range(counts.size):
        total += _rise(np.int64(counts[i]), prior[i] + by)
    return total
