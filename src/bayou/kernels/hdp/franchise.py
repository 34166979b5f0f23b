"""Topics and tables of an HDP: documents are restaurants, topics are dishes.

A token sits at a table of its document; ``heads`` marks the m_jk tokens of topic k in document j that opened
one. Which of the n_jk tokens they are has no meaning (all placements are equally likely), so only counts
are worked with. A topic lives in a slot; slots without tokens are free, and a birth takes the free slot on
top of a stack, which carries the weight of a topic that is not there yet.

With the token taken out, M tables in all and c = (b1 + a m_j) / (M + b0), the weights of topic k are

    join   U^n_m (n - m + 1) / (n + 1) P_vk             open   c (M_k - a) W^n_m (m + 1) / (n + 1) P_vk

with U = W = n = m = 0, and (m + 1) / (n + 1) W = 1, where the document does not have the topic; a topic that
is not there yet has c (b0 + a K) / V [Chen11] (table indicators, with the root's own integrated out).

``counts`` and ``store`` are the arrays of `FranchiseCounts` and `DrawStore` in `inference.hdp.franchise`, as
plain tuples.

[Chen11] Chen, Du, Buntine. Sampling table configurations for the hierarchical Poisson-Dirichlet process.
ECML 2011.
"""

import numpy as np

from bayou.kernels.alias import build_alias_into, draw_alias
from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.hdp.tables import draw_tables, factor
from bayou.kernels.prefetch import prefetch
from bayou.kernels.rng import BIRTH, GOLDEN, SEATING, TABLES, below, key, mix, uniform, unit
from bayou.kernels.token import pick, sum_of

ALL, LIVE, NEXT = (
    0,
    1,
    2,
)  # places in Counts.sizes: tables in all, topics in use, the next topic's id


@jit
def _restock(store, v, term_topic, slope, spare, beta, renew, stream):
    """Compute the weights of term v in an empty document, and fill its store with draws from them.

    Without ``renew`` the weights of the last time are drawn from again. Slots that are empty get the weight
    of a birth, whichever of them it may go to: a topic that is born later must be within reach of tokens that
    draw from here.
    """
    n_slots = slope.size
    stale, total, drawn, starts, used = store
    weight, prob, alias = np.empty(n_slots), np.empty(n_slots), np.empty(n_slots, np.int64)
    small, large = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    anew = renew or total[v] == 0.0
    for k in range(n_slots):
        if anew:
            stale[v, k] = (term_topic[v, k] + beta) * max(slope[k], spare)
        weight[k] = stale[v, k]
    total[v] = build_alias_into(prob, alias, weight, small, large)
    for at in range(starts[v], starts[v + 1]):
        drawn[at] = draw_alias(stream, prob, alias)
    used[v] = 0


@fast_jit
def _weigh_into(weight, term_topic, v, beta, opened, joined, times):
    for k in range(weight.size):
        weight[k] = (term_topic[v, k] + beta) * (opened[k] + joined[k] * times)
    return sum_of(weight, 0, weight.size)


@jit
def _pick_place(weight, target, n):
    """The position at which the running sum of the first n weights passes ``target``."""
    for s in range(n - 1):
        target -= weight[s]
        if target < 0.0:
            return s
    return n - 1


@jit
def seat_sweep(z, heads, tokens, counts, store, stirling, prior, how, seed, sweep, first):
    """Draw topic and head of every token from ``first`` on.

    ``how`` is (proposals, whether the store is renewed). Without proposals all slots are weighed: exact,
    O(slots) a token. With them, each is drawn from the document's own topics (what they weigh beyond an empty
    document, fresh) and the term's store (what topics weighed in an empty document, stale),
    c(k) = p(k) - p_empty(k) + stale(k), and accepted with min(1, p(t) c(s) / (p(s) c(t))): O(topics of the
    document) a token, and right for any store that stays as it is.

    Gives the token at which it stopped for want of a free slot, or the number of tokens.
    """
    indptr, terms = tokens
    term_topic, topic, tables, ids, sizes = counts
    stale, stale_total, drawn, starts, used = store
    b1, b0, a, beta = prior
    ratios, factors = stirling
    n_proposals, renew = how
    n_slots, vbeta = topic.size, beta * term_topic.shape[0]
    n, m, place = (
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
    )
    listed, free = np.empty(n_slots, np.int64), np.empty(n_slots, np.int64)
    opened, joined, slope = np.zeros(n_slots), np.zeros(n_slots), np.zeros(n_slots)
    weight, stream = np.empty(n_slots), np.empty(1, np.uint64)
    over, join = np.empty(n_slots), np.empty(n_slots)  # of the topics listed, in their order
    n_free = 0
    for k in range(n_slots - 1, -1, -1):
        if topic[k] > 0:
            slope[k] = (tables[k] - a) / (topic[k] + vbeta)
        else:
            free[n_free] = k
            n_free += 1
        opened[k] = slope[k]
    if (
        n_proposals > 0
    ):  # stale weights differ from slot to slot, so chance must say which one is taken
        stream[0] = key(seed, BIRTH, sweep, first)
        for j in range(n_free - 1, 0, -1):
            s = below(stream, j + 1)
            free[j], free[s] = free[s], free[j]
    n_all, n_live = sizes[ALL], sizes[LIVE]
    top = free[n_free - 1] if n_free > 0 else 0
    if n_free > 0:
        slope[top] = opened[top] = (b0 + a * n_live) / vbeta
    for d in range(np.searchsorted(indptr, first, side="right") - 1, indptr.size - 1):
        lo, hi = indptr[d], indptr[d + 1]
        n_listed, n_tables = 0, 0
        for i in range(lo, hi):
            k = np.int64(z[i])
            if n[k] == 0:
                listed[n_listed] = k
                place[k] = n_listed
                n_listed += 1
            n[k] += 1
            m[k] += heads[i]
            n_tables += heads[i]
        for s in range(n_listed):
            k = listed[s]
            opened[k] = slope[k] * factor(factors, ratios, n[k], m[k], 0, a)
            joined[k] = factor(factors, ratios, n[k], m[k], 1, a) / (topic[k] + vbeta)
            over[s], join[s] = opened[k] - slope[k], joined[k]
        base = key(seed, SEATING, sweep, d)
        stop = -1
        for i in range(max(lo, first), hi):
            if n_free == 0:
                stop = i
                break
            at = mix(base + np.uint64(i - lo) * GOLDEN)
            v, k = terms[i], np.int64(z[i])
            head = np.int64(unit(at) * n[k] < m[k])
            if head == 1 and m[k] == 1 and n[k] > 1:
                continue  # the others at the table would be left without one
            # -- the token leaves
            n[k] -= 1
            m[k] -= head
            tables[k] -= head
            n_all -= head
            n_tables -= head
            term_topic[v, k] -= 1
            topic[k] -= 1
            if n[k] == 0:
                n_listed -= 1
                last = listed[n_listed]
                s = place[k]
                listed[s], over[s], join[s] = last, over[n_listed], join[n_listed]
                place[last] = s
                joined[k] = 0.0
            if topic[k] > 0:
                inv = 1.0 / (topic[k] + vbeta)
                slope[k] = opened[k] = (tables[k] - a) * inv
                if n[k] > 0:
                    opened[k] *= factor(factors, ratios, n[k], m[k], 0, a)
                    joined[k] = factor(factors, ratios, n[k], m[k], 1, a) * inv
                    over[place[k]], join[place[k]] = opened[k] - slope[k], joined[k]
            else:  # a death
                slope[top] = opened[top] = 0.0
                n_live -= 1
                ids[k] = -1
                top = k
                free[n_free] = k
                n_free += 1
                slope[k] = opened[k] = (b0 + a * n_live) / vbeta
            # -- and draws
            times = (n_all + b0) / (b1 + a * n_tables)
            if n_proposals == 0:
                total = _weigh_into(weight, term_topic, v, beta, opened, joined, times)
                k = pick(weight, unit(at + GOLDEN) * total)
            else:
                if i + 1 < hi and terms[i + 1] != v:
                    for s in range(n_listed):
                        prefetch(term_topic, terms[i + 1], listed[s])
                stream[0] = at
                fresh = 0.0
                for s in range(n_listed):
                    w = (term_topic[v, listed[s]] + beta) * (over[s] + join[s] * times)
                    weight[s] = w
                    fresh += w
                near = np.float64(term_topic[v, k] + beta)
                p_now = near * (opened[k] + joined[k] * times)
                for _ in range(n_proposals):
                    if used[v] == starts[v + 1] - starts[v]:
                        spare = (b0 + a * n_live) / vbeta
                        _restock(store, v, term_topic, slope, spare, beta, renew, stream)
                    target = uniform(stream) * (fresh + stale_total[v])
                    if target < fresh:
                        t = listed[_pick_place(weight, target, n_listed)]
                    else:
                        t = np.int64(drawn[starts[v] + used[v]])
                        used[v] += 1
                    if t == k:
                        continue
                    far = np.float64(term_topic[v, t] + beta)
                    p_new = far * (opened[t] + joined[t] * times)
                    c_now = p_now - near * slope[k] + stale[v, k]
                    c_new = p_new - far * slope[t] + stale[v, t]
                    if uniform(stream) * p_now * c_new < p_new * c_now:
                        k, near, p_now = t, far, p_new
            head = np.int64(unit(at - GOLDEN) * (opened[k] + joined[k] * times) < opened[k])
            # -- and enters
            z[i] = k
            term_topic[v, k] += 1
            tables[k] += head
            n_all += head
            n_tables += head
            if topic[k] == 0:  # a birth
                ids[k] = sizes[NEXT]
                sizes[NEXT] += 1
                n_live += 1
                n_free -= 1
                if n_free > 0:
                    top = free[n_free - 1]
                    slope[top] = opened[top] = (b0 + a * n_live) / vbeta
            topic[k] += 1
            if n[k] == 0:
                listed[n_listed] = k
                place[k] = n_listed
                n_listed += 1
            n[k] += 1
            m[k] += head
            inv = 1.0 / (topic[k] + vbeta)
            slope[k] = (tables[k] - a) * inv
            opened[k] = slope[k] * factor(factors, ratios, n[k], m[k], 0, a)
            joined[k] = factor(factors, ratios, n[k], m[k], 1, a) * inv
            over[place[k]], join[place[k]] = opened[k] - slope[k], joined[k]
        # -- which tokens are heads does not matter: the first of each topic
        for i in range(lo, hi):
            k = np.int64(z[i])
            heads[i] = 1 if m[k] > 0 else 0
            m[k] -= heads[i]
        for s in range(n_listed):
            k = listed[s]
            n[k] = 0
            opened[k] = slope[k]
            joined[k] = 0.0
        sizes[ALL], sizes[LIVE] = n_all, n_live
        if stop >= 0:
            return stop
    return terms.size


@jit
def seat(heads, tables, z, indptr, mass, seed, sweep):
    """Draw the tables of every document and topic given g, mass = b1 g; all of ``heads`` is written."""
    n, m = np.zeros(mass.size, np.int64), np.zeros(mass.size, np.int64)
    stream = np.empty(1, np.uint64)
    tables[:] = 0
    for d in range(indptr.size - 1):
        stream[0] = key(seed, TABLES, sweep, d)
        for i in range(indptr[d], indptr[d + 1]):
            n[z[i]] += 1
        for i in range(indptr[d], indptr[d + 1]):
            k = z[i]
            if n[k] > 0:
                m[k] = draw_tables(stream, n[k], mass[k])
                tables[k] += m[k]
                n[k] = 0
            heads[i] = 1 if m[k] > 0 else 0
            m[k] -= heads[i]


@jit
def most_tables(z, heads, indptr, n_slots):
    """Largest number of tables of one topic in one document."""
    m, most = np.zeros(n_slots, np.int64), 0
    for d in range(indptr.size - 1):
        for i in range(indptr[d], indptr[d + 1]):
            m[z[i]] += heads[i]
        for i in range(indptr[d], indptr[d + 1]):
            most = max(most, m[z[i]])
            m[z[i]] = 0
    return most


@jit
def count(term_topic, terms, z):
    """Add tokens to n_vk."""
    for i in range(z.size):
        term_topic[terms[i], z[i]] += 1


@jit
def count_heads(out, heads, indptr):
    """Number of tables of each document."""
    for d in range(indptr.size - 1):
        for i in range(indptr[d], indptr[d + 1]):
            out[d] += heads[i]
