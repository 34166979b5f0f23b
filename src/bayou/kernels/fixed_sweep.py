"""Gibbs sampling of each document's topics while the topic-term rows stand still.

Given rows phi_v the documents are independent and the conditional of a token is
(n_dk + a_k) phi_vk, with the token removed from n_d. This serves new documents (phi a posterior), the
local step of online models, and whole sweeps against a snapshot of the word counts: there the token's
own count is taken out of its row exactly, phi_vk becoming (phi_vk - s_k) / (1 - s_k) at its old topic,
s_k = 1 / (n_k + V beta).
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, INIT, key, mix, unit
from bayou.kernels.token import count_document, pick, weigh_fixed_into

_ONE = np.float32(1.0)


@jit
def _draw_token(weight, doc_row, alpha, row, old, own, u):
    """A topic for a token that has left its document; ``own`` = s_k of its old topic."""
    total = weigh_fixed_into(weight, doc_row, alpha, row)
    if own > 0.0:
        without = (doc_row[old] + alpha[old]) * max(row[old] - own, np.float32(0.0)) / (_ONE - own)
        total += without - weight[old]
        weight[old] = without
    return pick(weight, np.float32(u) * total)


@jit
def sweep_docs(z, tokens, ids, lo, hi, rows, own, alpha, seed, purpose, sweep):
    """One Gibbs sweep over the tokens of documents lo .. hi against fixed rows (terms x topics).

    ``ids`` names each document in the keys of its draws. ``own`` (s_k) is all zero when the rows do
    not contain these documents. Rows, own and alpha are float32.
    """
    indptr, terms = tokens
    doc_row = np.zeros(alpha.size, np.float32)
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            old = z[i]
            doc_row[old] -= _ONE
            at += GOLDEN
            row = rows[terms[i]]
            k = _draw_token(weight, doc_row, alpha, row, old, own[old], unit(at))
            z[i] = k
            doc_row[k] += _ONE


@jit
def start_docs(z, tokens, ids, lo, hi, rows, alpha, seed, purpose, sweep):
    """First topics, token after token from what the document's earlier tokens predict."""
    indptr, terms = tokens
    doc_row = np.zeros(alpha.size, np.float32)
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        for k in range(alpha.size):
            doc_row[k] = 0
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            total = weigh_fixed_into(weight, doc_row, alpha, rows[terms[i]])
            k = pick(weight, np.float32(unit(at)) * total)
            z[i] = k
            doc_row[k] += _ONE


@jit
def count_docs(out, z, indptr, lo, hi, gain):
    """``out[d] += gain * n_d`` for documents lo .. hi."""
    for d in range(lo, hi):
        for i in range(indptr[d], indptr[d + 1]):
            out[d, z[i]] += gain


@jit
def count_terms(out, z, by_term, lo, hi, gain):
    """``out[v] += gain * n_v`` for the terms lo .. hi of ``by_term`` = (terms, termptr, at)."""
    terms, termptr, at = by_term
    for i in range(lo, hi):
        row = out[terms[i]]
        for j in range(termptr[i], termptr[i + 1]):
            row[z[at[j]]] += gain


@jit
def count_topics(topic, z, lo, hi):
    """``topic[k] +=`` number of tokens lo .. hi in topic k."""
    for i in range(lo, hi):
        topic[z[i]] += 1


@jit
def content_ids(out, pairs, lo, hi):
    """A hash of each document's (term, count) pairs: equal documents have equal draws anywhere."""
    indptr, terms, counts = pairs
    for d in range(lo, hi):
        h = np.uint64(0)
        for j in range(indptr[d], indptr[d + 1]):
            h = mix((h ^ np.uint64(terms[j])) + GOLDEN)
            h = mix((h ^ np.uint64(counts[j] * 1024.0)) + GOLDEN)
        out[d] = h


@jit
def start_uniform(z, indptr, lo, hi, n_topics, seed):
    """Topics at random for the tokens of documents lo .. hi."""
    for d in range(lo, hi):
        at = key(seed, INIT, 2, d)
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            z[i] = np.int64(unit(at) * n_topics)


@jit
def start_expected(z, tokens, lo, hi, rows, doc_topic, alpha, seed):
    """Topics drawn from expected counts: p(z = k) is proportional to (n_dk + alpha_k) phi_vk."""
    indptr, terms = tokens
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        at = key(seed, INIT, 3, d)
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            total = weigh_fixed_into(weight, doc_topic[d], alpha, rows[terms[i]])
            z[i] = pick(weight, np.float32(unit(at)) * total)


@jit
def log_joint_docs(z, indptr, lo, hi, alpha):
    """sum_d ln p(z_d | alpha) of documents lo .. hi, topics' proportions integrated out."""
    n_topics = alpha.size
    doc_row = np.zeros(n_topics)
    mass = 0.0
    for k in range(n_topics):
        mass += alpha[k]
    total = 0.0
    for d in range(lo, hi):
        for i in range(indptr[d], indptr[d + 1]):
            k = z[i]
            total += math.log(doc_row[k] + alpha[k]) - math.log(mass + (i - indptr[d]))
            doc_row[k] += 1
        for i in range(indptr[d], indptr[d + 1]):
            doc_row[z[i]] = 0
    return total


@jit
def log_joint_terms(term_topic, topic, beta):
    """ln p(w | z, beta), topics integrated out; cells without tokens contribute nothing."""
    vbeta = beta * term_topic.shape[0]
    total = 0.0
    for k in range(topic.size):
        total += math.lgamma(vbeta) - math.lgamma(topic[k] + vbeta)
    at_zero = math.lgamma(beta)
    for v in range(term_topic.shape[0]):
        for k in range(topic.size):
            if term_topic[v, k] > 0:
                total += math.lgamma(term_topic[v, k] + beta) - at_zero
    return total
