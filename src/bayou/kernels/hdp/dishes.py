"""Gibbs sampling of the topics of whole tables.

A table of document d holds tokens of one topic. Given the tables, an HDP is a Dirichlet process mixture whose
observations are tables: bags of terms. With M_k tables of topic k and the table itself taken out,

    p(topic of the table = k | rest)  ~  M_k f(terms | counts of k)        new topic: b0 f(terms | no counts)

where f is the Dirichlet-multinomial of all its tokens [Teh06]. A topic can gain or lose all tokens of a
document in one step, which takes many sweeps over single tokens.

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.hdp.franchise import LIVE, NEXT
from bayou.kernels.rng import DISHES, SEATS, below, key, uniform
from bayou.kernels.token import sum_of

RESCALE = 8  # tokens between two divisions by the largest weight
TABULATED = 256  # counts whose log-gammas are tabulated


@jit
def seat_tokens(order, ends, z, indptr, mass, seed, sweep):
    """Draw the table of every token given topics and root, mass = b1 g; returns the number of tables.

    ``order`` gets all tokens, table after table, and ``ends[t]`` the end of table t. Within a table tokens
    keep their order. The i-th token of a topic in a document opens a table with probability x / (x + i),
    or joins the table of one of the i tokens before it.
    """
    longest = 1
    for d in range(indptr.size - 1):
        longest = max(longest, indptr[d + 1] - indptr[d])
    seen = np.zeros(mass.size, np.int64)  # tokens of the topic so far
    last = np.empty(mass.size, np.int64)  # the latest of them
    before = np.empty(longest, np.int64)  # the one before it, within the topic
    table, size = np.empty(longest, np.int64), np.empty(longest, np.int64)
    member = np.empty(longest, np.int64)
    stream = np.empty(1, np.uint64)
    n_all, done = 0, 0
    for d in range(indptr.size - 1):
        lo, n_tables = indptr[d], 0
        n = indptr[d + 1] - lo
        stream[0] = key(seed, SEATS, sweep, d)
        for i in range(n):
            k = z[lo + i]
            if seen[k] == 0 or uniform(stream) * (mass[k] + seen[k]) < mass[k]:
                table[i] = n_tables
                size[n_tables] = 1
                n_tables += 1
            else:
                at = last[k]
                for _ in range(below(stream, seen[k])):
                    at = before[at]
                table[i] = table[at]
                size[table[i]] += 1
            before[i] = last[k]
            last[k] = i
            seen[k] += 1
        for i in range(n):
            seen[z[lo + i]] = 0
        for t in range(n_tables):
            member[t] = done
            done += size[t]
            ends[n_all + t] = done
        for i in range(n):
            order[member[table[i]]] = lo + i
            member[table[i]] += 1
        n_all += n_tables
    return n_all


@jit
def mark_heads(heads, tables, z, order, ends, n_tables):
    """Heads and numbers of tables per topic from the tables of all tokens."""
    heads[:] = 0
    tables[:] = 0
    lo = 0
    for t in range(n_tables):
        heads[order[lo]] = 1
        tables[z[order[lo]]] += 1
        lo = ends[t]


@fast_jit
def _multiply(weight, under, row, total, more, seen):
    """Predictive probability of one more token: ``seen`` of its term and ``more`` in all; divided later."""
    for k in range(weight.size):
        weight[k] *= row[k] + seen
        under[k] *= total[k] + more


@jit
def _largest(weight):
    most = weight[0]
    for k in range(1, weight.size):
        most = max(most, weight[k])
    return most


@fast_jit
def _divide(weight, under):
    for k in range(weight.size):
        weight[k] /= under[k]


@fast_jit
def _scale(weight, under, by):
    for k in range(weight.size):
        weight[k] *= by
        under[k] = 1.0


@jit
def _shift_table(counts, terms, order, lo, hi, k, by):
    term_topic, topic, tables, _, _ = counts
    for s in range(lo, hi):
        term_topic[terms[order[s]], k] += by
    topic[k] += by * (hi - lo)
    tables[k] += np.int64(by)


@jit
def sweep_dishes(z, order, ends, n_tables, terms, counts, prior, seed, sweep, first):
    """Draw the topic of every table from table ``first`` on given all others.

    Returns the table at which it stopped for want of a free slot, or the number of tables.
    """
    term_topic, topic, tables, ids, sizes = counts
    _, b0, _, beta = prior
    n_slots, vbeta = topic.size, beta * term_topic.shape[0]
    weight, under, stream = np.empty(n_slots), np.ones(n_slots), np.empty(1, np.uint64)
    seen = np.zeros(term_topic.shape[0])  # tokens of the table so far, per term
    for t in range(first, n_tables):
        free = -1
        for k in range(n_slots):
            if topic[k] == 0:
                free = k
                break
        if free < 0:
            return t
        lo, hi = (ends[t - 1] if t > 0 else 0), ends[t]
        k = np.int64(z[order[lo]])
        _shift_table(counts, terms, order, lo, hi, k, -1.0)
        if tables[k] == 0:
            free = k
        for j in range(n_slots):
            weight[j] = tables[j]
        weight[free] = b0
        for s in range(lo, hi):
            v = terms[order[s]]
            _multiply(weight, under, term_topic[v], topic, vbeta + (s - lo), beta + seen[v])
            seen[v] += 1.0
            if (s - lo) % RESCALE == RESCALE - 1:
                _divide(weight, under)
                _scale(weight, under, 1.0 / _largest(weight))
        _divide(weight, under)
        under[:] = 1.0
        for s in range(lo, hi):
            seen[terms[order[s]]] = 0.0
        stream[0] = key(seed, DISHES, sweep, t)
        target = uniform(stream) * sum_of(weight, 0, n_slots)
        new = free
        for j in range(n_slots):
            if weight[j] > 0.0:
                new = j
                target -= weight[j]
                if target < 0.0:
                    break
        if new != k:
            if tables[k] == 0:
                ids[k] = -1
                sizes[LIVE] -= 1
            if tables[new] == 0:
                ids[new] = sizes[NEXT]
                sizes[NEXT] += 1
                sizes[LIVE] += 1
            for s in range(lo, hi):
                z[order[s]] = new
        _shift_table(counts, terms, order, lo, hi, new, 1.0)
    return n_tables


@jit
def log_words(term_topic, topic, beta):
    """ln p(w | z) with topics integrated out: the sum of the Dirichlet-multinomials of all slots."""
    n_terms, n_slots = term_topic.shape
    known = np.empty(TABULATED)
    for n in range(TABULATED):
        known[n] = math.lgamma(beta + n) - math.lgamma(beta)
    value, vbeta = 0.0, beta * n_terms
    for v in range(n_terms):
        for k in range(n_slots):
            n = np.int64(term_topic[v, k])
            if n > 0:
                value += known[n] if n < TABULATED else math.lgamma(beta + n) - math.lgamma(beta)
    for k in range(n_slots):
        value += math.lgamma(vbeta) - math.lgamma(vbeta + topic[k])
    return value
