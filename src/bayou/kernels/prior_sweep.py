"""Sampling LDA when every topic has a prior of its own over the terms: phi_k ~ Dir(b_k).

    p(z = k | rest)  is proportional to  (n_dk + a_k) (g_k n_vk + b_vk) / (g_k n_k + sum_v b_vk)

with the token removed from the counts. g_k is 1 for a topic that is learned. For one that is held fixed it
is 0 and b_k is its distribution, so that the word factor is phi_vk itself.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import GOLDEN, TOKEN, key, unit
from bayou.kernels.token import count_document, pick, shift

_ONE = np.float32(1.0)


@fast_jit
def _weigh_into(weight, doc_row, alpha, counts, v, topic, prior):
    """Weights of all topics for a token of term v; ``prior`` = (b, its column sums, g)."""
    term_topic, (rows, mass, gain) = counts, prior
    total = 0.0
    for k in range(weight.size):
        word = (gain[k] * term_topic[v, k] + rows[v, k]) / (gain[k] * topic[k] + mass[k])
        w = (doc_row[k] + alpha[k]) * word
        weight[k] = w
        total += w
    return total


@jit
def gibbs_sweep(z, tokens, term_topic, topic, alpha, prior, seed, sweep):
    """Draw every token's topic from its conditional given all others, live counts; b in float64."""
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
def _asymptotic(x):
    """psi(x) for x of six and more."""
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
def rise(counts, rows, gain, by):
    """sum_vk [psi(n_vk + b_vk) - psi(b_vk)] of whole counts, b = ``rows`` + ``by``.

    Topics that are held fixed (gain 0) are left out.
    """
    total = 0.0
    for v in range(counts.shape[0]):
        for k in range(gain.size):
            n = np.int64(counts[v, k])
            if n > 0 and gain[k] > 0.0:
                total += _rise(n, rows[v, k] + by)
    return total
