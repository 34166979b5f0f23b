"""Gibbs sampling of a document's topics under its words and its labels, O(K) a token.

p(z = k | rest) is (n_dk + alpha_k) (n_vk + beta) / (n_k + V beta) exp(g_k), with the token itself removed;
g_k is in `tilt`. Word counts are live (`LIVE`: exact, one document after the other), or stand still during a
pass and only the token's own count is taken out of them (`STILL`), so that documents do not wait for each
other; or the topics are given, phi_vk in place of counts with beta = 0 and 1 / n_k = 1 (`GIVEN`).
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.margin.tilt import (
    add_row,
    exp_into,
    largest,
    lay_out,
    lean_into,
    leave_into,
    row_into,
)
from bayou.kernels.prefetch import LINE, prefetch
from bayou.kernels.rng import GOLDEN, INIT, ORDER, below, key, unit
from bayou.kernels.token import count_document, pick, sum_of

STILL, LIVE, GIVEN = 0, 1, 2
_ONE, _ZERO = np.float32(1.0), np.float32(0.0)


@fast_jit
def weigh_into(weight, power, doc_row, alpha, counts, v, beta, inv):
    """Weights exp(g_k) times what the document's and the topics' words say; gives their sum."""
    for k in range(weight.size):
        word = (counts[v, k] + beta) * inv[k]
        weight[k] = weight[k] * power[k] * (doc_row[k] + alpha[k]) * word
    return sum_of(weight, 0, weight.size)


@jit
def level(weight, power):
    """exp(g) = 1 for all topics: no labels."""
    for k in range(weight.size):
        weight[k] = _ONE
        power[k] = _ONE


@jit
def open_document(h, gram, made, zbar, eta, spread, omega, d):
    """h = G zbar from scratch, with the rows of G that it takes; the others are marked as not made."""
    for k in range(h.size):
        h[k] = _ZERO
        made[k] = False
    for k in range(h.size):
        if zbar[k] != _ZERO:
            row_into(gram, k, eta, spread, omega, d)
            made[k] = True
            add_row(h, gram, k, zbar[k])


@jit
def sweep_docs(z, tokens, rho, lo, hi, words, mode, prior, labels, seed, purpose, sweep):
    """One sweep over the tokens of documents lo .. hi.

    ``tokens`` = (indptr, terms, ids), ``rho`` a weight for each token, ``words`` = (n_vk, n_k, 1 / (n_k + V
    beta)), ``prior`` = (alpha, beta), ``labels`` = (omega, kappa, eta, spread), ``spread`` the covariance of
    each task's weights, of all tasks, or of none; all numbers are float32. With `LIVE` the words follow; else
    the caller counts the moves.
    """
    indptr, terms, ids = tokens
    counts, topic, inv = words
    alpha, beta = prior
    omega, kappa, eta, spread = labels
    n_topics = alpha.size
    vbeta = beta * np.float32(counts.shape[0])
    doc_row, zbar = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    weight, h = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    lean, diag = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    gram, made = np.empty((n_topics, n_topics), np.float32), np.zeros(n_topics, np.bool_)
    bits = np.empty(n_topics, np.int32)
    power = bits.view(np.float32)
    last = indptr[hi] - 1
    for d in range(lo, hi):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        tilted = lean_into(lean, diag, eta, spread, omega, kappa, d)
        if tilted:
            lay_out(zbar, z, rho, indptr[d], indptr[d + 1])
            open_document(h, gram, made, zbar, eta, spread, omega, d)
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            s, v = np.int64(z[i]), terms[i]
            ahead = terms[min(i + 1, last)]
            for k in range(0, n_topics, LINE):
                prefetch(counts, ahead, k)
            doc_row[s] -= _ONE
            if mode == LIVE:
                counts[v, s] -= _ONE
                topic[s] -= _ONE
                inv[s] = _ONE / (topic[s] + vbeta)
            if tilted:
                leave_into(weight, h, gram, s, rho[i], lean, diag)
                exp_into(weight, largest(weight), bits)
            else:
                level(weight, power)
            if mode == STILL:  # the token is still among the counts of topic s
                own = (counts[v, s] - _ONE + beta) / (topic[s] - _ONE + vbeta)
                weight[s] *= own / ((counts[v, s] + beta) * inv[s])
            total = weigh_into(weight, power, doc_row, alpha, counts, v, beta, inv)
            at += GOLDEN
            t = pick(weight, np.float32(unit(at)) * total)
            z[i] = t
            doc_row[t] += _ONE
            if mode == LIVE:
                counts[v, t] += _ONE
                topic[t] += _ONE
                inv[t] = _ONE / (topic[t] + vbeta)
            if tilted:
                if not made[t]:
                    row_into(gram, t, eta, spread, omega, d)
                    made[t] = True
                add_row(h, gram, t, rho[i])


@jit
def count_moves(counts, topic, terms, before, z, lo, hi):
    """Carry the moves of tokens lo .. hi (from ``before`` to ``z``) over to the word counts."""
    for i in range(lo, hi):
        s, t = before[i], z[i]
        if s != t:
            v = terms[i]
            counts[v, s] -= _ONE
            counts[v, t] += _ONE
            topic[s] -= _ONE
            topic[t] += _ONE


@jit
def count_tokens(counts, topic, terms, z):
    """Word counts from scratch, added to ``counts`` and ``topic``."""
    for i in range(z.size):
        counts[terms[i], z[i]] += _ONE
        topic[z[i]] += _ONE


@jit
def start_uniform(z, indptr, ids, lo, hi, n_topics, seed):
    """Topics at random for the tokens of documents lo .. hi."""
    for d in range(lo, hi):
        at = key(seed, INIT, 6, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            z[i] = np.int64(unit(at) * n_topics)


@jit
def shuffle_tokens(terms, indptr, ids, seed):
    """Shuffle the tokens of each document by its key (Fisher-Yates)."""
    stream = np.empty(1, np.uint64)
    for d in range(ids.size):
        stream[0] = key(seed, ORDER, 1, ids[d])
        lo = indptr[d]
        for i in range(indptr[d + 1] - lo - 1, 0, -1):
            j = below(stream, i + 1)
            terms[lo + i], terms[lo + j] = terms[lo + j], terms[lo + i]
