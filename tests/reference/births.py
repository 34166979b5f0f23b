"""Slow twin of a mini-batch with births, and the exact law of what its chain visits."""

import itertools
import math

import numpy as np
from tests.reference.frozen import stirling

from bayou.kernels.draw import draw_beta, draw_dirichlet_into
from bayou.kernels.hdp.tables import draw_tables
from bayou.kernels.rng import BATCH_BIRTHS, BATCH_ROOT, BATCH_TABLES, key, uniform

REST = "rest"


def stream_of(seed, purpose, sweep, d):
    return np.array([key(seed, purpose, sweep, d)], np.uint64)


def sweep(z, docs, g, known, b1, b0, beta, n_terms, n_slots, seed, number):
    """One sweep over lists of terms; z is a dict of (document, place). Counts are made anew for every token.

    ``known`` maps slots to (counts of terms, tables); g maps slots and REST to shares. Both topics of the
    corpus and newborn ones are weighed in the order of their slots, a new one last.
    """
    newborn = {k for k in g if k not in known and k != REST}
    for d, terms in enumerate(docs):
        stream = stream_of(seed, BATCH_BIRTHS, number, d)
        for i, v in enumerate(terms):
            old = z.pop((d, i), None)
            if old in newborn and old not in z.values():
                g[REST] += g.pop(old)
                newborn.discard(old)
            slots = sorted(k for k in g if k != REST)
            weights = [
                (b1 * g[k] + sum(z.get((d, j)) == k for j in range(len(terms))))
                * phi(k, v, z, docs, known, beta, n_terms)
                for k in slots
            ]
            free = [k for k in range(n_slots) if k not in slots]
            weights.append(b1 * g[REST] / n_terms if free else 0.0)
            target, at = uniform(stream) * sum(weights), 0
            while target >= weights[at] and at < len(weights) - 1:
                target -= weights[at]
                at += 1
            if at == len(slots):
                piece = draw_beta(stream, 1.0, b0) * g[REST]
                newborn.add(free[0])
                g[free[0]] = piece
                g[REST] -= piece
                z[d, i] = free[0]
            else:
                z[d, i] = slots[at]


def phi(k, v, z, docs, known, beta, n_terms):
    """(c_vk + n_vk + beta) / (c_k + n_k + V beta)."""
    mine = [docs[d][i] for (d, i), topic in z.items() if topic == k]
    counts = known[k][0] if k in known else np.zeros(n_terms)
    return (mine.count(v) + counts[v] + beta) / (len(mine) + counts.sum() + n_terms * beta)


def shares(z, docs, g, known, b1, b0, n_slots, seed, number):
    """Tables of every document, then the root."""
    mass = np.zeros(n_slots + 1)
    mass[n_slots] = b0
    for k, (_, tables) in known.items():
        mass[k] = tables
    for d, terms in enumerate(docs):
        stream = stream_of(seed, BATCH_TABLES, number, d)
        n_d = np.bincount([z[d, i] for i in range(len(terms))], minlength=n_slots)
        for k in np.flatnonzero(n_d):
            mass[k] += draw_tables(stream, n_d[k], b1 * g[k])
    out = np.empty(n_slots + 1)
    draw_dirichlet_into(out, stream_of(seed, BATCH_ROOT, number, 0), mass)
    return {k: out[k] for k in range(n_slots) if mass[k] > 0} | {REST: out[n_slots]}


def partitions(n, n_known):
    """Assignments of n tokens to topics 0 .. n_known - 1 and newborn ones, numbered as they appear."""
    for z in itertools.product(range(n_known + n), repeat=n):
        fresh = list(dict.fromkeys(k for k in z if k >= n_known))
        if fresh == list(range(n_known, n_known + len(fresh))):
            yield z


def named(z, n_known):
    """The same with newborn topics numbered as they appear."""
    names = {k: k for k in range(n_known)}
    for k in z:
        names.setdefault(int(k), len(names))
    return tuple(names[int(k)] for k in z)


def law(docs, known, b1, b0, beta, n_terms):
    """p(z | words) over `partitions`: tables and shares of the root summed out, topics integrated out."""
    flat = [(d, v) for d, terms in enumerate(docs) for v in terms]
    s = stirling(len(flat))
    states = list(partitions(len(flat), len(known)))
    mass = []
    for z in states:
        n_dk = np.zeros((len(docs), max(z) + 1), int)
        for (d, _), k in zip(flat, z, strict=True):
            n_dk[d, k] += 1
        total = words(z, flat, known, beta, n_terms)
        mass.append(total * seatings(n_dk, known, b1, b0, s))
    mass = np.array(mass)
    return dict(zip(states, mass / mass.sum(), strict=True))


def words(z, flat, known, beta, n_terms):
    """p(words | z) as a product of predictive probabilities."""
    counts = {k: c.astype(float).copy() for k, (c, _) in known.items()}
    total = 1.0
    for (_, v), k in zip(flat, z, strict=True):
        c = counts.setdefault(k, np.zeros(n_terms))
        total *= (c[v] + beta) / (c.sum() + n_terms * beta)
        c[v] += 1
    return total


def seatings(n_dk, known, b1, b0, s):
    """Sum over table counts of b1^m prod S(n, m) times E[prod_k g_k^m_k], g ~ Dir(M_k.., b0) with births."""
    used = [(d, k) for d, k in itertools.product(*map(range, n_dk.shape)) if n_dk[d, k]]
    held = sum(t for _, t in known.values())
    total = 0.0
    for m in itertools.product(*(range(1, n_dk[d, k] + 1) for d, k in used)):
        by_topic = np.zeros(n_dk.shape[1], int)
        weight = b1 ** sum(m)
        for (d, k), tables in zip(used, m, strict=True):
            by_topic[k] += tables
            weight *= s[n_dk[d, k], tables]
        for k, tables in enumerate(by_topic):
            if k in known:
                weight *= math.gamma(known[k][1] + tables) / math.gamma(known[k][1])
            elif tables:
                weight *= b0 * math.gamma(tables)
        total += weight * math.gamma(held + b0) / math.gamma(held + b0 + sum(m))
    return total
