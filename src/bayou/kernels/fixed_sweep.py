"""Gibbs sampling of each document's topics while the topic-term rows stand still.

Given rows phi_v the documents are independent and the conditional of a token is
(n_dk + a_k) phi_vk, with the token removed from n_d. This serves new documents (phi a posterior), the
local step of online models, and whole sweeps against a snapshot of the word counts: there the token's
own count is taken out of its row exactly, phi_vk becoming (phi_vk - s_k) / (1 - s_k) at its old topic,
s_k = 1 / (n_k + V beta).
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import GOLDEN, INIT, key, mix, unit
from bayou.kernels.token import count_document, pick, weigh_fixed_into

_ONE = np.float32(1.0)
SPARSE = 3  # a document in fewer than one topic in this many is walked through its own topics


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
def _list_topics(active, place, doc_row):
    """Topics that the document uses, and where each stands in that list; gives their number."""
    n = 0
    for k in range(doc_row.size):
        if doc_row[k] > 0.0:
            active[n] = k
            place[k] = n
            n += 1
    return n


@jit
def _unlist(active, place, n, k):
    """Take topic k off the list; the last one moves into its place."""
    last = active[n - 1]
    active[place[k]] = last
    place[last] = place[k]
    return n - 1


@jit
def _draw_among(weight, doc_row, alpha, row, old, own, u, few):
    """`_draw_token` in two parts: n_dk phi_vk over the document's topics, a_k phi_vk over all.

    The second sum is known (``slack``) and rarely drawn from, so its terms are seldom looked at.
    """
    active, n_active, slack = few
    phi_old = max(row[old] - own, np.float32(0.0)) / (_ONE - own)
    total = np.float32(0.0)
    for j in range(n_active):
        k = active[j]
        phi = phi_old if k == old else row[k]
        total += doc_row[k] * phi
        weight[j] = total
    target = np.float32(u) * (total + slack + alpha[old] * (phi_old - row[old]))
    for j in range(n_active):
        if target < weight[j]:
            return np.int64(active[j])
    return _draw_prior(weight, alpha, row, old, phi_old, target - total)


@jit
def _draw_prior(weight, alpha, row, old, phi_old, target):
    """The topic at which the running sum of a_k phi_vk passes ``target``."""
    for k in range(alpha.size):
        weight[k] = alpha[k] * row[k]
    weight[old] = alpha[old] * phi_old
    return pick(weight, target)


@jit
def sweep_docs(z, tokens, ids, lo, hi, rows, slack, own, alpha, seed, purpose, sweep):
    """One Gibbs sweep over the tokens of documents lo .. hi against fixed rows (terms x topics).

    ``ids`` names each document in the keys of its draws, ``slack`` is `slack_terms` of the rows. ``own``
    (s_k) is all zero when the rows do not contain these documents. All of these are float32.
    A document in few of the topics is walked through those few, any other through all.
    """
    indptr, terms = tokens
    n_topics = alpha.size
    doc_row = np.zeros(n_topics, np.float32)
    weight = np.empty(n_topics, np.float32)
    active = np.empty(n_topics, np.int32)
    place = np.empty(n_topics, np.int32)
    for d in range(lo, hi):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        n_active = _list_topics(active, place, doc_row)
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            old, row, v = z[i], rows[terms[i]], terms[i]
            doc_row[old] -= _ONE
            if doc_row[old] == 0.0:
                n_active = _unlist(active, place, n_active, old)
            at += GOLDEN
            if SPARSE * n_active < n_topics:
                few = (active, n_active, slack[v])
                k = _draw_among(weight, doc_row, alpha, row, old, own[old], unit(at), few)
            else:
                k = _draw_token(weight, doc_row, alpha, row, old, own[old], unit(at))
            z[i] = k
            if doc_row[k] == 0.0:
                active[n_active] = k
                place[k] = n_active
                n_active += 1
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


@fast_jit
def slack_terms(out, rows, lo, hi, alpha):
    """``out[v] = sum_k a_k phi_vk`` for terms lo .. hi."""
    for v in range(lo, hi):
        row = rows[v]
        total = np.float32(0.0)
        for k in range(alpha.size):
            total += alpha[k] * row[k]
        out[v] = total


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
