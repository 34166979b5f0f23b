"""Metropolis-Hastings sampling of topics under words and labels in O(1) steps (LightMedLDA) [Zheng15].

The target of a token with itself removed is D_k W_k exp(g_k), D_k = n_dk + alpha_k,
W_k = (n_vk + beta) / (n_k + V beta), g_k as in `tilt`. There are three kinds of proposal:

    document   k with weight n_dk + alpha_k: the topic of a random token of the document, or a draw from alpha
    word       k with weight n_vk + beta: the topic of a random token of the term, or any topic
    label      k with weight exp(lean_k / N): what the labels would like, from an alias table

and accepts it by the ratio of target and proposal. A document or word proposal may pick the token itself.
The step then proposes to stay, so proposals have the weights n_dk + alpha_k and n_vk + beta without the
token, whether counts are live or stand still. A proposal of the topic that the token had when the pass began
would depend on the state that the step starts from, and the chain would have another stationary law. The
label table depends on weights and labels alone.

The steps of a token draw one of the kinds of proposal at random, or take the kinds in turn.

[Zheng15] Zheng, Yu, Xing. Linear time samplers for supervised topic models using compositional proposals.
KDD 2015.
"""

import math

import numpy as np

from bayou.kernels.alias import build_alias_into, pick_alias
from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.margin.tilt import add_row, lay_out, lean_into, row_into
from bayou.kernels.prefetch import prefetch
from bayou.kernels.rng import GOLDEN, TOKEN, key, unit
from bayou.kernels.token import count_document

DOCUMENT, WORD, LABEL = 0, 1, 2  # kinds of proposal
_ONE, _HALF, _ZERO = np.float32(1.0), np.float32(0.5), np.float32(0.0)


@fast_jit
def _by_task(eta_t, k, rho, u, omega, d):
    """g_k from the tasks: u_i = kappa_i - omega_i m_i with the token removed from m_i = eta_i . zbar."""
    half = _HALF * rho
    total = _ZERO
    for i in range(u.size):
        e = eta_t[k, i]
        total += e * (u[i] - half * omega[d, i] * e)
    return rho * total


@fast_jit
def _shift_tasks(u, eta_t, k, rho, omega, d):
    """Put a token of weight rho into topic k, as the tasks see it (rho < 0: take it out)."""
    for i in range(u.size):
        u[i] -= omega[d, i] * rho * eta_t[k, i]


@fast_jit
def _open_tasks(u, zbar, eta_t, omega, kappa, d):
    for i in range(u.size):
        u[i] = kappa[d, i]
    for k in range(zbar.size):
        if zbar[k] != _ZERO:
            for i in range(u.size):
                u[i] -= omega[d, i] * zbar[k] * eta_t[k, i]


@jit
def _make_row(gram, made, k, eta, none, omega, d):
    if not made[k]:
        row_into(gram, k, eta, none, omega, d)
        made[k] = True


@jit
def _open_rows(h, gram, made, zbar, eta, none, omega, d):
    """h = G zbar from scratch; only rows of topics in use are made."""
    for k in range(h.size):
        h[k] = _ZERO
        made[k] = False
    for k in range(h.size):
        if zbar[k] != _ZERO:
            _make_row(gram, made, k, eta, none, omega, d)
            add_row(h, gram, k, zbar[k])


@jit
def _label_table(wish, table, lean, scale):
    """Alias table of exp(lean_k scale), and its logarithm for the ratio."""
    prob, other, weight, small, large = table
    top = lean[0]
    for k in range(lean.size):
        top = max(top, lean[k])
    for k in range(lean.size):
        wish[k] = max((lean[k] - top) * scale, np.float32(-30.0))
        weight[k] = math.exp(wish[k])
    build_alias_into(prob, other, weight, small, large)


@jit
def _word(counts, topic, v, k, own, beta, vbeta):
    """Numerator and denominator of W_k without the token; ``own``: its topic in counts at rest, or -1."""
    less = _ONE if k == own else _ZERO
    return counts[v, k] - less + beta, topic[k] - less + vbeta


@jit
def sweep_docs(
    z, seen, tokens, by_term, rho, lo, hi, words, live, prior, labels, by_task, steps, seed, sweep
):
    """One sweep of Metropolis-Hastings steps over documents lo .. hi.

    Arguments as in `tilted_sweep.sweep_docs`; ``seen`` are the topics that word proposals look at (``z``
    itself where counts are live, else the topics when the pass began), ``by_term`` = (termptr, at) the
    places of each term's tokens, ``prior`` = (alpha, its sum, alias table of alpha, beta), ``labels`` =
    (omega, kappa, eta, eta'), ``by_task``: look labels up task by task, else by rows of G, ``steps`` = (kinds
    of proposal in documents with labels, kinds in documents without, whether they take turns, steps).
    """
    indptr, terms, ids = tokens
    termptr, at_term = by_term
    counts, topic = words
    alpha, mass, table, beta = prior
    omega, kappa, eta, eta_t = labels
    tilted_kinds, plain_kinds, in_turn, n_steps = steps
    n_topics, n_tasks = alpha.size, eta.shape[0]
    vbeta, kbeta = beta * np.float32(counts.shape[0]), beta * np.float32(n_topics)
    doc_row, zbar = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    h, u = np.empty(n_topics, np.float32), np.empty(n_tasks, np.float32)
    lean, diag = np.empty(n_topics, np.float32), np.empty(n_topics, np.float32)
    none = np.empty((0, 0, 0), np.float32)  # weights are drawn, so they have no covariance
    n_rows = 1 if by_task else n_topics
    gram, made = np.empty((n_rows, n_topics), np.float32), np.zeros(n_topics, np.bool_)
    wish, weight = np.empty(n_topics, np.float32), np.empty(n_topics)
    wished = (np.empty(n_topics, np.float32), np.empty(n_topics, np.int64), weight,
              np.empty(n_topics, np.int64), np.empty(n_topics, np.int64))  # fmt: skip
    for d in range(lo, hi):
        start, end = indptr[d], indptr[d + 1]
        count_document(doc_row, z, start, end)
        tilted = lean_into(lean, diag, eta, none, omega, kappa, d)
        if tilted:
            lay_out(zbar, z, rho, start, end)
            _label_table(wish, wished, lean, _ONE / np.float32(max(end - start, 1)))
            if by_task:
                _open_tasks(u, zbar, eta_t, omega, kappa, d)
            else:
                _open_rows(h, gram, made, zbar, eta, none, omega, d)
        kinds = tilted_kinds if tilted else plain_kinds
        point = key(seed, TOKEN, sweep, ids[d])
        for i in range(start, end):
            ahead = terms[min(i + 1, end - 1)]
            prefetch(counts, ahead, 0)
            o, v, r = np.int64(z[i]), terms[i], rho[i]
            half = _HALF * r * r
            s = o
            own = -1 if live else o
            doc_row[o] -= _ONE
            if live:
                counts[v, o] -= _ONE
                topic[o] -= _ONE
            g_s = _ZERO
            if tilted and by_task:
                _shift_tasks(u, eta_t, o, -r, omega, d)
                g_s = _by_task(eta_t, s, r, u, omega, d)
            elif tilted:
                g_s = r * (lean[s] - h[s] + r * gram[o, s]) - half * diag[s]
            n_s, m_s = _word(counts, topic, v, s, own, beta, vbeta)
            for step in range(n_steps):
                point += GOLDEN
                turn = step % kinds.size if in_turn else np.int64(unit(point) * kinds.size)
                which = kinds[turn]
                point += GOLDEN
                x = unit(point)
                t = s
                if which == DOCUMENT:
                    x *= np.float64(end - start) + mass
                    if x < end - start:
                        t = np.int64(z[start + np.int64(x)])
                    else:
                        point += GOLDEN
                        t = pick_alias(unit(point), table[0], table[1])
                elif which == WORD:
                    size = termptr[v + 1] - termptr[v]
                    x *= size + kbeta
                    if x < size:
                        other = at_term[termptr[v] + np.int64(x)]
                        if other != i:
                            t = np.int64(seen[other])
                    else:
                        point += GOLDEN
                        t = np.int64(unit(point) * n_topics)
                elif tilted:
                    t = pick_alias(x, wished[0], wished[1])
                else:  # no label prefers a topic
                    t = np.int64(x * n_topics)
                if t == s:
                    continue
                n_t, m_t = _word(counts, topic, v, t, own, beta, vbeta)
                ratio = m_s / m_t
                if which != WORD:
                    ratio *= n_t / n_s
                if which != DOCUMENT:
                    ratio *= (doc_row[t] + alpha[t]) / (doc_row[s] + alpha[s])
                g_t = _ZERO
                if tilted:
                    if by_task:
                        g_t = _by_task(eta_t, t, r, u, omega, d)
                    else:
                        g_t = r * (lean[t] - h[t] + r * gram[o, t]) - half * diag[t]
                    gain = g_t - g_s
                    if which == LABEL:
                        gain += wish[s] - wish[t]
                    ratio *= math.exp(min(gain, np.float32(80.0)))
                point += GOLDEN
                if unit(point) < ratio:
                    s, g_s, n_s, m_s = t, g_t, n_t, m_t
                    z[i] = s
            doc_row[s] += _ONE
            if live:
                counts[v, s] += _ONE
                topic[s] += _ONE
            if tilted and by_task:
                _shift_tasks(u, eta_t, s, r, omega, d)
            elif tilted and s != o:
                _make_row(gram, made, s, eta, none, omega, d)
                add_row(h, gram, o, -r)
                add_row(h, gram, s, r)
