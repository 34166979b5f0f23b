"""Gibbs sampling of a mini-batch with births of topics: truncation-free [Wang12].

Topics known before have counts n_vk (of the corpus), tables M_k and a share g_k of the root; the batch's
own counts c_vk come on top, topics integrated out. Without the token itself a token of term v has

    topic k        (b1 g_k + n_dk) (c_vk + n_vk + beta) / (c_k + n_k + V beta)
    a new topic    b1 g_rest / V

A birth takes a Beta(1, b0) piece of the rest; a newborn topic that loses its last token gives its share
back. After each sweep tables s_dk are drawn, and (g, g_rest) ~ Dir(M_k + s_k, ..., b0), where a newborn has
M_k = 0: shares of topics that were appended as they came, and deleted when empty. The sticks with a prior
of 1 that are in print belong to topics which keep their places when empty, and would be wrong here.

[Wang12] Wang, Blei. Truncation-free online variational inference for Bayesian nonparametric models.
NIPS 2012.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.draw import draw_beta, draw_dirichlet_into
from bayou.kernels.hdp.tables import draw_tables, expected_tables
from bayou.kernels.rng import BATCH_BIRTHS, BATCH_ROOT, BATCH_TABLES, key, uniform
from bayou.kernels.token import count_document

FREE, KNOWN, NEWBORN = 0, 1, 2


@jit
def _first_free(kind):
    """The first slot without a topic, or -1."""
    for k in range(kind.size):
        if kind[k] == FREE:
            return k
    return -1


@jit
def _weigh(weight, topics, doc_row, share, own, before, v, prior):
    """Weights of all topics and, last, of a new one (zero if there is no slot for it)."""
    kind, _ = topics
    counts, totals = own
    known, known_totals = before
    b1, beta, n_terms = prior
    for k in range(kind.size):
        weight[k] = 0.0
        if kind[k] != FREE:
            phi = (counts[v, k] + known[v, k] + beta) / (
                totals[k] + known_totals[k] + n_terms * beta
            )
            weight[k] = (b1 * share[k] + doc_row[k]) * phi
    weight[kind.size] = 0.0
    if _first_free(kind) >= 0:
        weight[kind.size] = b1 * share[kind.size] / n_terms


@jit
def _pick(stream, weight):
    """Draw a topic by weight; the last one is a new topic."""
    total = 0.0
    for k in range(weight.size):
        total += weight[k]
    target = uniform(stream) * total
    last = 0
    for k in range(weight.size):
        if weight[k] > 0.0:
            last = k
            if target < weight[k]:
                return k
            target -= weight[k]
    return last


@jit
def _bear(stream, topics, share, b0):
    """A new topic in the first free slot, with its part of the share of unseen topics; returns the slot."""
    kind, _ = topics
    k = _first_free(kind)
    kind[k] = NEWBORN
    piece = draw_beta(stream, 1.0, b0) * share[kind.size]
    share[k] = piece
    share[kind.size] -= piece
    return k


@jit
def _leave(k, topics, share, totals):
    """After a token has left a topic: an empty new topic dies and returns its share."""
    kind, died = topics
    if kind[k] == NEWBORN and totals[k] == 0:
        kind[k] = FREE
        died[k] = True
        share[kind.size] += share[k]
        share[k] = 0.0


@jit
def seat_tokens(z, tokens, topics, share, own, before, prior, b0, seed, sweep):
    """Draw the topic of every token of the batch in turn; tokens with z = -1 have none yet.

    ``topics`` = (what a slot holds, which topics died), ``share`` = g with the rest last, ``own`` = (c_vk,
    c_k), ``before`` = (n_vk, n_k), ``prior`` = (b1, beta, terms of the vocabulary).
    """
    indptr, terms = tokens
    counts, totals = own
    weight = np.empty(share.size)
    doc_row = np.zeros(share.size)
    stream = np.empty(1, np.uint64)
    for d in range(indptr.size - 1):
        stream[0] = key(seed, BATCH_BIRTHS, sweep, d)
        for k in range(doc_row.size):
            doc_row[k] = 0.0
        for i in range(indptr[d], indptr[d + 1]):
            if z[i] >= 0:
                doc_row[z[i]] += 1.0
        for i in range(indptr[d], indptr[d + 1]):
            v, k = terms[i], z[i]
            if k >= 0:
                doc_row[k] -= 1.0
                counts[v, k] -= 1.0
                totals[k] -= 1.0
                _leave(k, topics, share, totals)
            _weigh(weight, topics, doc_row, share, own, before, v, prior)
            k = _pick(stream, weight)
            if k == share.size - 1:
                k = _bear(stream, topics, share, b0)
            z[i] = k
            doc_row[k] += 1.0
            counts[v, k] += 1.0
            totals[k] += 1.0


@jit
def draw_shares(share, z, indptr, known_tables, b1, b0, seed, sweep):
    """Tables of every document given its topics, then g and the rest given all tables."""
    n_topics = share.size - 1
    mass = np.zeros(share.size)
    doc_row = np.empty(n_topics, np.int64)
    stream = np.empty(1, np.uint64)
    for k in range(n_topics):
        mass[k] = known_tables[k]
    mass[n_topics] = b0
    for d in range(indptr.size - 1):
        stream[0] = key(seed, BATCH_TABLES, sweep, d)
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        for k in range(n_topics):
            if doc_row[k] > 0:
                mass[k] += draw_tables(stream, doc_row[k], b1 * share[k])
    stream[0] = key(seed, BATCH_ROOT, sweep, 0)
    draw_dirichlet_into(share, stream, mass)


@jit
def count_tables(out, z, indptr, share, b1):
    """``out[k]`` += E[s_dk] of all documents given their topics and g."""
    doc_row = np.empty(out.size, np.int64)
    for d in range(indptr.size - 1):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        for k in range(out.size):
            if doc_row[k] > 0:
                out[k] += expected_tables(np.float64(doc_row[k]), b1 * share[k])
