"""The Chinese restaurant franchise written out: exact Stirling numbers, joint densities, one token's law."""

from functools import lru_cache
from itertools import product
from math import comb, exp, lgamma, log

import numpy as np

from bayou.kernels.rng import GOLDEN, SEATING, key, mix, unit


@lru_cache
def stirling(n_max, discount):
    """Generalised Stirling numbers S^n_m as exact numbers, rows n = 0 .. n_max."""
    rows = [[1] + [0] * (n_max + 1)]
    for n in range(n_max):
        last = rows[-1]
        rows.append([0] + [last[m - 1] + (n - m * discount) * last[m] for m in range(1, n_max + 2)])
    return rows


def partitions(n):
    """All ways to give n tokens topics, topics numbered by first use."""
    out = [()]
    for _ in range(n):
        out = [(*z, k) for z in out for k in range(max(z, default=-1) + 2)]
    return out


def canonical(z):
    """Topics renumbered by first use."""
    names = {}
    return tuple(names.setdefault(int(k), len(names)) for k in z)


def log_words(z, terms, n_terms, beta):
    """ln p(w | z) with topics integrated out."""
    total = 0.0
    for k in set(z):
        mine = [v for v, j in zip(terms, z, strict=True) if j == k]
        total += lgamma(n_terms * beta) - lgamma(n_terms * beta + len(mine))
        total += sum(lgamma(beta + mine.count(v)) - lgamma(beta) for v in set(mine))
    return total


def doc_counts(z, docs):
    """n_jk as a dictionary."""
    out = {}
    for j, k in zip(docs, z, strict=True):
        out[j, k] = out.get((j, k), 0) + 1
    return out


def log_seating(counts, m, b1, b0, a):
    """ln p(z, m) of given n_jk and m_jk: the franchise with tables, Pitman-Yor if a > 0."""
    ks = {k for _, k in counts}
    js = {j for j, _ in counts}
    total = sum(log(b0 + i * a) for i in range(len(ks)))
    n_tables = sum(m.values())
    total += lgamma(b0) - lgamma(b0 + n_tables)
    for k in ks:
        served = sum(m[j, i] for j, i in counts if i == k)
        total += sum(log(i - a) for i in range(1, served))
    for j in js:
        n = sum(c for (i, _), c in counts.items() if i == j)
        mine = sum(m[i, k] for i, k in counts if i == j)
        total += sum(log(b1 + i * a) for i in range(mine)) + lgamma(b1) - lgamma(b1 + n)
    return total + sum(log(float(stirling(n, a)[n][m[at]])) for at, n in counts.items())


def table_counts(counts):
    """All possible m_jk."""
    places = list(counts)
    for chosen in product(*(range(1, counts[at] + 1) for at in places)):
        yield dict(zip(places, chosen, strict=True))


def posterior(docs, terms, n_terms, prior):
    """p(z | w) of every partition of a tiny corpus, by summing over tables."""
    b1, b0, a, beta = prior
    weight = {}
    for z in partitions(len(terms)):
        counts = doc_counts(z, docs)
        seats = sum(exp(log_seating(counts, m, b1, b0, a)) for m in table_counts(counts))
        weight[z] = seats * exp(log_words(z, terms, n_terms, beta))
    total = sum(weight.values())
    return {z: w / total for z, w in weight.items()}


def distance(found, law):
    """Total variation of a list of partitions from their law."""
    tally = {}
    for z in found:
        tally[z] = tally.get(z, 0) + 1
    assert set(tally) <= set(law)
    return 0.5 * sum(abs(tally.get(z, 0) / len(found) - p) for z, p in law.items())


# -- states (z, m) and the law of one token ------------------------------------------------------------


def states(docs, terms, n_terms, prior):
    """Every (z, m) of a tiny corpus with its posterior probability."""
    b1, b0, a, beta = prior
    out = {}
    for z in partitions(len(terms)):
        counts = doc_counts(z, docs)
        words = log_words(z, terms, n_terms, beta)
        for m in table_counts(counts):
            out[z, frozenset(m.items())] = exp(words + log_seating(counts, m, b1, b0, a))
    total = sum(out.values())
    return {state: w / total for state, w in out.items()}


def _choices(z, m, i, docs, terms, n_terms, prior):
    """Weights of (topic, head) for token i, which is in no count of ``z`` (None there) and ``m``."""
    b1, b0, a, beta = prior
    rest = [(j, k, v) for j, k, v in zip(docs, z, terms, strict=True) if k is not None]
    n_tables, mine = sum(m.values()), sum(c for (j, _), c in m.items() if j == docs[i])
    live = {k for _, k, _ in rest}
    strength = (b1 + a * mine) / (n_tables + b0)
    out = {}
    for k in live:
        inside = sum(1 for j, t, _ in rest if j == docs[i] and t == k)
        word = sum(1 for _, t, v in rest if t == k and v == terms[i]) + beta
        word /= sum(1 for _, t, _ in rest if t == k) + n_terms * beta
        root = sum(c for (_, t), c in m.items() if t == k) - a
        if inside == 0:
            out[k, 1] = strength * root * word
            continue
        s, c = stirling(inside + 1, a), m[docs[i], k]
        join, wide = s[inside + 1][c] / s[inside][c], s[inside + 1][c + 1] / s[inside][c]
        out[k, 0] = join * (inside - c + 1) / (inside + 1) * word
        out[k, 1] = strength * root * wide * (c + 1) / (inside + 1) * word
    out[max(live, default=-1) + 1, 1] = strength * (b0 + a * len(live)) / n_terms
    return out


def _settled(z, m, docs):
    """A state with topics renumbered by first use."""
    names = {}
    new = tuple(names.setdefault(k, len(names)) for k in z)
    return new, frozenset(((j, names[k]), c) for (j, k), c in m.items() if c > 0)


def token_moves(state, i, docs, terms, n_terms, prior, kernel=None):
    """Where token i may go and how probably: the blocked head stays, the rest draws anew.

    ``kernel`` (weights, present topic, what to know topics by) -> probabilities of topics stands for a draw
    from the weights.
    """
    z, m = list(state[0]), dict(state[1])
    j, k = docs[i], z[i]
    n = doc_counts(state[0], docs)[j, k]
    out = {}
    for head in (0, 1):
        chance = m[j, k] / n if head else 1 - m[j, k] / n
        if chance == 0:
            continue
        if head and m[j, k] == 1 and n > 1:
            out[state] = out.get(state, 0.0) + chance
            continue
        rest_z, rest = [*z[:i], None, *z[i + 1 :]], {**m, (j, k): m[j, k] - head}
        rest = {at: c for at, c in rest.items() if c > 0}
        weights = _choices(rest_z, rest, i, docs, terms, n_terms, prior)
        total = sum(weights.values())
        chances = {at: w / total for at, w in weights.items()}
        if kernel is not None:
            topics = {t: sum(w for (s, _), w in weights.items() if s == t) for t, _ in weights}
            now = k if k in topics else max(topics)
            others = [(t, o) for o, t in enumerate(rest_z) if t is not None]
            names = {t: min((o for s, o in others if s == t), default=-1) for t in topics}
            moved = kernel(topics, now, names)
            chances = {at: moved[at[0]] * w / topics[at[0]] for at, w in weights.items()}
        for (t, u), p in chances.items():
            after = {**rest, (j, t): rest.get((j, t), 0) + u}
            new = _settled([*z[:i], t, *z[i + 1 :]], after, docs)
            out[new] = out.get(new, 0.0) + chance * p
    return out


# -- a sweep as the kernel makes it, draw for draw -------------------------------------------------------


def seat_sweep(z, heads, docs, terms, n_terms, n_slots, prior, seed, sweep):
    """`kernels.hdp.franchise.seat_sweep` without proposals, in plain words."""
    free = [k for k in range(n_slots - 1, -1, -1) if k not in z]
    for d in sorted(set(docs)):
        at_doc = [i for i, j in enumerate(docs) if j == d]
        for i in at_doc:
            at = mix(_step(key(seed, SEATING, sweep, d), i - at_doc[0]))
            k, mine = z[i], [t for t in at_doc if z[t] == z[i]]
            m = sum(heads[t] for t in mine)
            head = unit(_step(at, 0)) * len(mine) < m
            if head and m == 1 and len(mine) > 1:
                continue
            _swap_heads(heads, mine, i, head)
            if z.count(k) == 1:
                free.append(k)
            weights = _slot_weights(z, heads, i, docs, terms, n_terms, prior, free[-1])
            both = np.array([sum(weights.get((s, u), 0.0) for u in (0, 1)) for s in range(n_slots)])
            target = unit(_step(at, 1)) * both.sum()
            k = int(np.searchsorted(np.cumsum(both), target, side="right"))
            if k == free[-1]:
                free.pop()
            coin = unit(_step(at, -1))
            z[i], heads[i] = k, int(coin * both[k] < weights.get((k, 1), 0.0))


def _step(at, by):
    """A place in a key's stream, some numbers on."""
    return np.uint64((int(at) + by * int(GOLDEN)) % 2**64)


def _swap_heads(heads, mine, i, head):
    """Let token i be a head or not; another of its topic takes the mark."""
    if heads[i] != head:
        other = next(t for t in mine if t != i and heads[t] != heads[i])
        heads[i], heads[other] = heads[other], heads[i]


def _slot_weights(z, heads, i, docs, terms, n_terms, prior, birth):
    """Weights in the unit of the kernel, c = (b1 + a m_j) / (M + b0)."""
    rest_z = [None if t == i else k for t, k in enumerate(z)]
    m = {}
    for t, k in enumerate(rest_z):
        if k is not None and heads[t]:
            m[docs[t], k] = m.get((docs[t], k), 0) + 1
    found = _choices(rest_z, m, i, docs, terms, n_terms, prior)
    new = max((k for k in rest_z if k is not None), default=-1) + 1
    n_tables, mine = sum(m.values()), sum(c for (j, _), c in m.items() if j == docs[i])
    unit_of = (prior[0] + prior[2] * mine) / (n_tables + prior[1])
    return {(birth if k == new else k, u): w / unit_of for (k, u), w in found.items()}


def combinations(counts, m):
    """How many placements of heads share these counts."""
    out = 1
    for at, n in counts.items():
        out *= comb(n, m[at])
    return out
