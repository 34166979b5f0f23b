"""Gibbs sampling of topics under words and labels where topics are born and die, O(K) a token.

A topic k in use has a stick pi_k, and what no topic has is the rest, rest + sum_k pi_k = 1. With the token
itself removed, p(z = k | rest) is

    (n_dk + alpha pi_k) (n_vk + beta) / (n_k + V beta) exp(g_k)     for a topic in use,
    alpha rest / V exp(g_new)                                       for a new one [Teh06],

g_k as in `tilt`. Both are one formula: of the topics not in use the next has ``a_k`` = alpha rest, counts of
zero, and the weights of a topic that nobody has seen; the others have a_k = 0 and are never drawn. A birth
breaks Beta(1, gamma) off the rest. A mortal topic that loses its last token gives its stick back and is the
next to be born, so that a death can be undone by the very next draw. Topics that are not mortal stay: what
was learned of them before is not in these tokens.

``roots`` = (a, stick, rest, own, mortal, free, n_free, born): a_k and pi_k of every topic, the rest (one
number), n_k of these tokens alone, who may die, a stack of topics not in use with its height (one number),
and who was born since the marks were last wiped.

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.draw import draw_log_gamma
from bayou.kernels.hdp.tables import draw_tables, expected_tables
from bayou.kernels.margin.tilt import (
    add_row,
    exp_into,
    largest,
    lay_out,
    lean_into,
    leave_into,
    row_into,
)
from bayou.kernels.margin.tilted_sweep import level, open_document, weigh_into
from bayou.kernels.prefetch import LINE, prefetch
from bayou.kernels.rng import GOLDEN, STICKS, TABLES, key, unit
from bayou.kernels.token import count_document, pick, shift

_ONE = np.float32(1.0)


@jit
def offer(roots, alpha):
    """Let the topic on top of the stack be the one that stands for all new ones."""
    a, _, rest, _, _, free, n_free, _ = roots
    if n_free[0] > 0:
        a[free[n_free[0] - 1]] = alpha * rest[0]


@jit
def release(roots, k, alpha):
    """Topic k has lost its last token: its stick goes back to the rest, and it is the next to be born."""
    a, stick, rest, _, _, free, n_free, _ = roots
    if n_free[0] > 0:
        a[free[n_free[0] - 1]] = 0.0
    rest[0] += stick[k]
    stick[k] = 0.0
    free[n_free[0]] = k
    n_free[0] += 1
    offer(roots, alpha)


@jit
def bear(roots, k, alpha, gamma, u):
    """Topic k, the next, is born: a Beta(1, gamma) part of the rest, from the uniform number ``u``."""
    a, stick, rest, _, mortal, _, n_free, born = roots
    part = -math.expm1(math.log1p(-u) / gamma)
    stick[k] = part * rest[0]
    rest[0] -= stick[k]
    a[k] = alpha * stick[k]
    mortal[k] = True
    born[k] = True
    n_free[0] -= 1
    offer(roots, alpha)


@jit
def _leave(roots, s, alpha):
    """A token has left topic s; its last token takes a mortal topic with it."""
    own, mortal = roots[3], roots[4]
    own[s] -= 1
    if own[s] == 0 and mortal[s]:
        release(roots, s, alpha)


@jit
def _enter(roots, t, alpha, gamma, u):
    """A token enters topic t, which is born if it was the next free one."""
    own, free, n_free = roots[3], roots[5], roots[6]
    if n_free[0] > 0 and free[n_free[0] - 1] == t:
        bear(roots, t, alpha, gamma, u)
    own[t] += 1


@jit
def sweep_docs(z, tokens, rho, words, prior, roots, labels, seed, purpose, sweep):
    """One sweep over all tokens, one after the other with live counts.

    ``tokens`` = (indptr, terms, ids), ``rho`` a weight for each token, ``words`` = (n_vk, n_k) with what was
    known before, ``prior`` = (alpha, gamma, beta, V beta), ``labels`` as in `tilted_sweep.sweep_docs`.
    """
    indptr, terms, ids = tokens
    counts, topic = words
    alpha, gamma, beta, vbeta = prior
    omega, kappa, eta, spread = labels
    a = roots[0]
    n_topics = a.size
    beta32 = np.float32(beta)
    inv = np.empty(n_topics, np.float32)
    for k in range(n_topics):
        inv[k] = 1.0 / (topic[k] + vbeta)
    doc_row, zbar = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    weight, h = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    lean, diag = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    gram, made = np.empty((n_topics, n_topics), np.float32), np.zeros(n_topics, np.bool_)
    bits = np.empty(n_topics, np.int32)
    power = bits.view(np.float32)
    last = terms.size - 1
    for d in range(ids.size):
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
            shift(doc_row, counts, v, topic, s, -_ONE)
            inv[s] = 1.0 / (topic[s] + vbeta)
            _leave(roots, s, alpha)
            if tilted:
                leave_into(weight, h, gram, s, rho[i], lean, diag)
                exp_into(weight, largest(weight), bits)
            else:
                level(weight, power)
            total = weigh_into(weight, power, doc_row, a, counts, v, beta32, inv)
            t = pick(weight, np.float32(unit(at + GOLDEN)) * total)
            _enter(roots, t, alpha, gamma, unit(at + GOLDEN + GOLDEN))
            at += GOLDEN + GOLDEN
            z[i] = t
            shift(doc_row, counts, v, topic, t, _ONE)
            inv[t] = 1.0 / (topic[t] + vbeta)
            if tilted:
                if not made[t]:
                    row_into(gram, t, eta, spread, omega, d)
                    made[t] = True
                add_row(h, gram, t, rho[i])


@jit
def seat_docs(out, z, indptr, ids, mass, drawn, seed, sweep):
    """Add to ``out`` the tables of every topic in all documents: drawn, or their expectation.

    ``mass`` is alpha pi_k. P(s_dk) ~ S(n_dk, s_dk) mass_k**s_dk, E[s_dk] = mass (psi(mass + n) - psi(mass)).
    """
    row = np.zeros(out.size, np.int64)
    stream = np.empty(1, np.uint64)
    for d in range(ids.size):
        stream[0] = key(seed, TABLES, sweep, ids[d])
        for i in range(indptr[d], indptr[d + 1]):
            row[z[i]] += 1
        for i in range(indptr[d], indptr[d + 1]):
            k = z[i]
            if row[k] > 0:
                if drawn:
                    out[k] += draw_tables(stream, row[k], mass[k])
                else:
                    out[k] += expected_tables(np.float64(row[k]), mass[k])
                row[k] = 0


@jit
def draw_sticks(roots, tables, alpha, gamma, seed, sweep):
    """(pi_1, ..., pi_K, rest) ~ Dir(tables_1, ..., tables_K, gamma) over the topics in use.

    The same law as sticks Beta(tables_k, gamma + tables of later topics) one after the other, in any order.
    """
    a, stick, rest, own, mortal = roots[0], roots[1], roots[2], roots[3], roots[4]
    stream = np.empty(1, np.uint64)
    stream[0] = key(seed, STICKS, sweep, 0)
    top = draw_log_gamma(stream, gamma)
    rest[0] = top
    for k in range(a.size):
        if own[k] > 0 or not mortal[k]:
            stick[k] = draw_log_gamma(stream, tables[k])
            top = max(top, stick[k])
        else:
            stick[k] = -math.inf
    rest[0] = math.exp(rest[0] - top)
    total = rest[0]
    for k in range(a.size):
        stick[k] = math.exp(stick[k] - top)
        total += stick[k]
    rest[0] /= total
    for k in range(a.size):
        stick[k] /= total
        a[k] = alpha * stick[k]
    offer(roots, alpha)
