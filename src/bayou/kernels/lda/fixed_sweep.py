"""Gibbs sampling of each document's topics under fixed topic-term rows.

Given rows phi_v the documents are independent and the conditional of a token is
(n_dk + a_k) phi_vk, with the token removed from n_d. This serves new documents (phi a posterior), the
local step of online models, and whole sweeps against a snapshot of the word counts: there the token's
own count is taken out of its row exactly, phi_vk becoming (phi_vk - s_k) / (1 - s_k) at its old topic,
s_k = 1 / (n_k + V beta).
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.draw import draw_dirichlet_into, draw_log_gamma
from bayou.kernels.rng import GOLDEN, INIT, PROPORTIONS, TOPICS, key, mix, unit
from bayou.kernels.token import pick, sum_of, weigh_rows_into

_ONE = np.float32(1.0)


@jit
def _list_topics(active, count, place, z, lo, hi):
    """The topics of tokens lo .. hi, their counts, and the position of each topic (-1: not in it).

    ``place`` is all -1 before; gives the length of the list.
    """
    n = 0
    for i in range(lo, hi):
        k = z[i]
        if place[k] < 0:
            active[n] = k
            count[n] = _ONE
            place[k] = n
            n += 1
        else:
            count[place[k]] += _ONE
    return n


@jit
def weigh_list(weight, active, count, n, rows, v):
    """n_dk phi_vk of the document's topics in the order of the list; gives their sum."""
    total = np.float32(0.0)
    for j in range(n):
        w = count[j] * rows[v, active[j]]
        weight[j] = w
        total += w
    return total


@fast_jit
def weigh_prior(weight, alpha, rows, v):
    """a_k phi_vk of all topics; gives their sum."""
    for k in range(alpha.size):
        weight[k] = alpha[k] * rows[v, k]
    return sum_of(weight, 0, alpha.size)


@jit
def sweep_docs(z, tokens, ids, lo, hi, rows, slack, own, alpha, seed, purpose, sweep):
    """One Gibbs sweep over the tokens of documents lo .. hi against fixed rows (terms x topics).

    A token's weight has two parts, n_dk phi_vk over the document's topics and a_k phi_vk over all. The
    sum of the second is known (``slack`` = `slack_terms`) and rarely drawn from, so its terms are
    seldom looked at. ``ids`` names each document in the keys of its draws. ``own`` (s_k) is all zero when
    the rows do not contain these documents. All of these are float32.

    The body is in one piece, and rows are read as (matrix, row number): a view for each token, or a
    call with a dozen arrays, costs more than the draw itself.
    """
    indptr, terms = tokens
    weight = np.empty(alpha.size, np.float32)
    active = np.empty(alpha.size + 1, np.uint32)
    count = np.empty(alpha.size + 1, np.float32)
    place = np.full(alpha.size, -1, np.int32)
    for d in range(lo, hi):
        n = _list_topics(active, count, place, z, indptr[d], indptr[d + 1])
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            old, v = z[i], terms[i]
            hole = place[old]
            left = count[hole] - _ONE
            count[hole] = left
            total = weigh_list(weight, active, count, n, rows, v)
            full = rows[v, old]
            change = max(full - own[old], np.float32(0.0)) / (_ONE - own[old]) - full
            weight[hole] += left * change
            total += left * change
            at += GOLDEN
            target = np.float32(unit(at)) * (total + slack[v] + alpha[old] * change)
            if target < total:
                j = 0
                while j < n - 1 and target >= weight[j]:
                    target -= weight[j]
                    j += 1
                k = np.int64(active[j])
            else:
                weigh_prior(weight, alpha, rows, v)
                weight[old] += alpha[old] * change
                k = pick(weight, target - total)
            z[i] = k
            if place[k] < 0:
                active[n] = k
                count[n] = np.float32(0.0)
                place[k] = n
                n += 1
            count[place[k]] += _ONE
            if count[hole] == 0.0:
                n -= 1
                active[hole] = active[n]
                count[hole] = count[n]
                place[active[n]] = hole
                place[old] = -1
        for j in range(n):
            place[active[j]] = -1


@jit
def start_docs(z, tokens, ids, lo, hi, rows, alpha, seed, purpose, sweep):
    """First topics, token by token, given the topics of the document's earlier tokens."""
    indptr, terms = tokens
    doc_row = np.zeros(alpha.size, np.float32)
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        for k in range(alpha.size):
            doc_row[k] = 0
        at = key(seed, purpose, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            total = weigh_rows_into(weight, doc_row, alpha, rows, terms[i])
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
        v = terms[i]
        for j in range(termptr[i], termptr[i + 1]):
            out[v, z[at[j]]] += gain


@jit
def count_rows(rows, z, by_term, lo, hi, beta, inv_topic):
    """``rows[v] = (n_vk + beta) / (n_k + V beta)`` counted from the tokens of terms lo .. hi."""
    terms, termptr, at = by_term
    for i in range(lo, hi):
        v = terms[i]
        for k in range(inv_topic.size):
            rows[v, k] = beta
        for j in range(termptr[i], termptr[i + 1]):
            rows[v, z[at[j]]] += _ONE
        for k in range(inv_topic.size):
            rows[v, k] *= inv_topic[k]


@jit
def draw_topics(out, term_topic, lo, hi, beta, seed, sweep):
    """``out[v, k]`` = ln of a Gamma(n_vk + beta) draw for terms lo .. hi: a Dirichlet draw, unscaled.

    With a small beta most draws of empty cells are far below the smallest float.
    """
    stream = np.empty(1, np.uint64)
    for v in range(lo, hi):
        stream[0] = key(seed, TOPICS, sweep, v)
        for k in range(out.shape[1]):
            out[v, k] = draw_log_gamma(stream, term_topic[v, k] + beta)


@jit
def draw_proportions(out, doc_topic, ids, lo, hi, alpha, seed, sweep):
    """``out[d]`` ~ Dir(n_d + alpha) for documents lo .. hi."""
    stream, mass = np.empty(1, np.uint64), np.empty(alpha.size)
    for d in range(lo, hi):
        stream[0] = key(seed, PROPORTIONS, sweep, ids[d])
        for k in range(alpha.size):
            mass[k] = doc_topic[d, k] + alpha[k]
        draw_dirichlet_into(out[d], stream, mass)


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
def start_from_counts(z, tokens, lo, hi, rows, doc_topic, alpha, seed):
    """Topics drawn from expected counts: p(z = k) is proportional to (n_dk + alpha_k) phi_vk."""
    indptr, terms = tokens
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        at = key(seed, INIT, 3, d)
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            total = weigh_rows_into(weight, doc_topic[d], alpha, rows, terms[i])
            z[i] = pick(weight, np.float32(unit(at)) * total)


@jit
def start_from_proportions(z, tokens, ids, lo, hi, rows, doc_topic, alpha, seed, purpose):
    """`start_from_counts` with draws that are keyed by ``ids`` in place of positions."""
    indptr, terms = tokens
    weight = np.empty(alpha.size, np.float32)
    for d in range(lo, hi):
        at = key(seed, purpose, 0, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            total = weigh_rows_into(weight, doc_topic[d], alpha, rows, terms[i])
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
