"""Splits and merges of topics whose units are whole tables, as Metropolis-Hastings moves.

Given the tables an HDP is a Dirichlet process mixture of bags of terms (`kernels.hdp.dishes`), so that a
split-merge move of mixtures applies [Jain04], [Wang12b]. The tables of a topic are divided between two
sides. A launch state is made that does not depend on the present division: tables in random order to the
side that predicts them better [Dahl05], then restricted Gibbs scans. One more scan is the proposal, whose
probability is known. Two anchor tables hold the sides apart. The target is

    p(topics of tables, w | tables)  ~  b0^K prod_k Gamma(M_k) DM_k

with M_k tables of topic k and DM_k the Dirichlet-multinomial of its terms.

[Jain04] Jain, Neal. A split-merge Markov chain Monte Carlo procedure for the Dirichlet process mixture
model. Journal of Computational and Graphical Statistics 13, 2004.
[Dahl05] Dahl. Sequentially-allocated merge-split sampler for conjugate and nonconjugate Dirichlet process
mixture models. Technical report, Texas A&M University, 2005.
[Wang12b] Wang, Blei. A split-merge MCMC algorithm for the hierarchical Dirichlet process.
arXiv:1201.1657, 2012.
"""

import math

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.hdp.divide import log_words
from bayou.kernels.hdp.franchise import LIVE, NEXT
from bayou.kernels.hdp.split_merge import choose_pair
from bayou.kernels.rng import TABLE_SPLIT, below, key, uniform

N_SCANS = 2  # restricted Gibbs scans before the one that is the proposal
CHUNK = 16  # factors multiplied before a logarithm is taken


@jit
def list_tables(at, start, z, order, ends, n_tables):
    """Tables by topic: those of topic k are ``at[start[k] : start[k + 1]]``."""
    start[:] = 0
    lo = 0
    for t in range(n_tables):
        start[np.int64(z[order[lo]]) + 1] += 1
        lo = ends[t]
    for k in range(start.size - 1):
        start[k + 1] += start[k]
    fill = start.copy()
    lo = 0
    for t in range(n_tables):
        k = np.int64(z[order[lo]])
        at[fill[k]] = t
        fill[k] += 1
        lo = ends[t]


@jit
def _table_ends(ends, t):
    return (ends[t - 1] if t > 0 else 0), ends[t]


@jit
def _log_odds(counts, totals, sizes, terms, order, lo, hi, beta, seen):
    """Log of the probability of side 0 over that of side 1, for a table that is on neither."""
    vbeta = beta * counts.shape[1]
    value, top, under = 0.0, sizes[0], sizes[1]
    for s in range(lo, hi):
        v, more = terms[order[s]], s - lo
        top *= (counts[0, v] + beta + seen[v]) * (totals[1] + vbeta + more)
        under *= (counts[1, v] + beta + seen[v]) * (totals[0] + vbeta + more)
        seen[v] += 1.0
        if more % CHUNK == CHUNK - 1:
            value += math.log(top / under)
            top, under = 1.0, 1.0
    for s in range(lo, hi):
        seen[terms[order[s]]] = 0.0
    return value + math.log(top / under)


@jit
def _put(counts, totals, sizes, terms, order, lo, hi, b, by):
    for s in range(lo, hi):
        counts[b, terms[order[s]]] += by
    totals[b] += by * (hi - lo)
    sizes[b] += by


@jit
def _choose(odds, forced, stream):
    """A side by its log odds, or the one that is forced (>= 0), and the log-probability of it."""
    p0 = 1.0 / (1.0 + math.exp(-odds)) if odds > -700.0 else 0.0
    b = forced
    if forced < 0:
        b = 0 if uniform(stream) < p0 else 1
    signed = odds if b == 0 else -odds
    log_p = -math.log1p(math.exp(-signed)) if signed > -30.0 else signed
    return b, log_p


@jit
def propose_sides(mine, anchors, tables_of, terms, beta, n_terms, forced, stream):
    """Divide tables ``mine`` between two sides; returns sides, counts, and log q of the last scan.

    ``forced`` (empty, or a side for each table) is what the last scan is made to give.
    ``tables_of`` is (order, ends).
    """
    order, ends = tables_of
    n = mine.size
    side = np.full(n, -1, np.int64)
    counts, totals, sizes = np.zeros((2, n_terms)), np.zeros(2), np.zeros(2)
    seen = np.zeros(n_terms)
    for b in range(2):
        side[anchors[b]] = b
        lo, hi = _table_ends(ends, mine[anchors[b]])
        _put(counts, totals, sizes, terms, order, lo, hi, b, 1.0)
    turn = np.arange(n)
    for j in range(n - 1, 0, -1):
        other = below(stream, j + 1)
        turn[j], turn[other] = turn[other], turn[j]
    log_q = 0.0
    for scan in range(N_SCANS + 2):
        log_q = 0.0
        for j in turn:
            if j == anchors[0] or j == anchors[1]:
                continue
            lo, hi = _table_ends(ends, mine[j])
            if side[j] >= 0:
                _put(counts, totals, sizes, terms, order, lo, hi, side[j], -1.0)
            odds = _log_odds(counts, totals, sizes, terms, order, lo, hi, beta, seen)
            wanted = forced[j] if forced.size > 0 and scan == N_SCANS + 1 else -1
            side[j], log_p = _choose(odds, wanted, stream)
            log_q += log_p
            _put(counts, totals, sizes, terms, order, lo, hi, side[j], 1.0)
    return side, counts, sizes, log_q


@jit
def _log_gain(counts, sizes, b0, beta):
    """Log of the target of two sides over that of one topic."""
    words = log_words(counts, 0, beta) + log_words(counts, 1, beta) - log_words(counts, -1, beta)
    seats = math.lgamma(sizes[0]) + math.lgamma(sizes[1]) - math.lgamma(sizes[0] + sizes[1])
    return math.log(b0) + words + seats


@jit
def _move_table(z, order, ends, terms, counts, t, k, to):
    """Move one table from slot k to another."""
    term_topic, topic, tables, _, _ = counts
    lo, hi = _table_ends(ends, t)
    for s in range(lo, hi):
        i = order[s]
        z[i] = to
        term_topic[terms[i], k] -= 1
        term_topic[terms[i], to] += 1
    topic[k] -= hi - lo
    topic[to] += hi - lo
    tables[k] -= 1
    tables[to] += 1


@jit
def _slot(topic, wanted):
    """The ``wanted``-th live slot; the first free one if -1; -1 if there is none."""
    for k in range(topic.size):
        if wanted < 0 and topic[k] == 0:
            return k
        if wanted >= 0 and topic[k] > 0:
            if wanted == 0:
                return k
            wanted -= 1
    return -1


@jit
def _first(z, tables_of, counts, by_tables, n_tables, stream):
    """A topic: each with the same probability, or in proportion to its tables."""
    if by_tables:
        lo, _ = _table_ends(tables_of[1], below(stream, n_tables))
        return np.int64(z[tables_of[0][lo]])
    return _slot(counts[1], below(stream, counts[4][LIVE]))


@jit
def _log_choice(n, n0, n_live, by_tables):
    """Log probability of a merge's first topic (n0 tables) over that of a split's topic (n tables)."""
    if by_tables:
        return math.log(n0) - math.log(n)
    return math.log(n_live) - math.log(n_live + 1.0)


@jit
def split(z, tables_of, listed, terms, counts, prior, by_tables, stream):
    """Propose a split of a topic; returns whether it was accepted."""
    order, ends = tables_of
    at, start = listed
    term_topic, topic, tables, ids, sizes = counts
    _, b0, _, beta = prior
    n_live = sizes[LIVE]
    k, free = _first(z, tables_of, counts, by_tables, at.size, stream), _slot(topic, -1)
    n = tables[k]
    if n < 2 or free < 0:
        return False
    anchors = np.empty(2, np.int64)
    anchors[0] = below(stream, n)
    anchors[1] = (anchors[0] + 1 + below(stream, n - 1)) % n
    mine = at[start[k] : start[k + 1]].copy()
    side, both, n_side, log_q = propose_sides(
        mine, anchors, tables_of, terms, beta, term_topic.shape[0], np.zeros(0, np.int64), stream
    )
    for j in range(n):
        if side[j] == 1:
            _move_table(z, order, ends, terms, counts, mine[j], k, free)
    _, log_pair = choose_pair(term_topic, topic, k, stream, free)
    log_a = _log_gain(both, n_side, b0, beta) - log_q
    log_a += log_pair + _log_choice(n, n_side[0], n_live, by_tables)
    log_a += math.log(n) + math.log(n - 1.0) - math.log(n_side[0]) - math.log(n_side[1])
    if math.log1p(-uniform(stream)) < log_a:
        ids[free] = sizes[NEXT]
        sizes[NEXT] += 1
        sizes[LIVE] += 1
        return True
    for j in range(n):
        if side[j] == 1:
            _move_table(z, order, ends, terms, counts, mine[j], free, k)
    return False


@jit
def merge(z, tables_of, listed, terms, counts, prior, by_tables, stream):
    """Propose a merge of two topics; returns whether it was accepted."""
    order, ends = tables_of
    at, start = listed
    term_topic, topic, tables, ids, sizes = counts
    _, b0, _, beta = prior
    n_live = sizes[LIVE]
    if n_live < 2:
        return False
    k = _first(z, tables_of, counts, by_tables, at.size, stream)
    other, log_pair = choose_pair(term_topic, topic, k, stream, -1)
    n0, n1 = tables[k], tables[other]
    n = n0 + n1
    mine, forced = np.empty(n, np.int64), np.zeros(n, np.int64)
    mine[:n0], mine[n0:] = at[start[k] : start[k + 1]], at[start[other] : start[other + 1]]
    forced[n0:] = 1
    anchors = np.empty(2, np.int64)
    anchors[0], anchors[1] = below(stream, n0), n0 + below(stream, n1)
    _, both, n_side, log_q = propose_sides(
        mine, anchors, tables_of, terms, beta, term_topic.shape[0], forced, stream
    )
    log_a = log_q - _log_gain(both, n_side, b0, beta)
    log_a -= log_pair + _log_choice(n, n0, n_live - 1, by_tables)
    log_a += math.log(n0) + math.log(n1) - math.log(n) - math.log(n - 1.0)
    if not math.log1p(-uniform(stream)) < log_a:
        return False
    for j in range(n0, n):
        _move_table(z, order, ends, terms, counts, mine[j], other, k)
    ids[other] = -1
    sizes[LIVE] -= 1
    return True


@jit
def split_merge_tables(z, order, ends, n_tables, terms, counts, prior, n_moves, seed, sweep):
    """Splits and merges at even odds; returns the numbers of tried and accepted splits and merges."""
    stream, done = np.empty(1, np.uint64), np.zeros(4, np.int64)
    listed = (np.empty(n_tables, np.int64), np.zeros(counts[1].size + 1, np.int64))
    list_tables(listed[0], listed[1], z, order, ends, n_tables)
    for move in range(n_moves):
        stream[0] = key(seed, TABLE_SPLIT, sweep, move)
        is_split = uniform(stream) < 0.5
        if is_split:
            accepted = split(z, (order, ends), listed, terms, counts, prior, move % 2 == 1, stream)
        else:
            accepted = merge(z, (order, ends), listed, terms, counts, prior, move % 2 == 1, stream)
        done[0 if is_split else 2] += 1
        if accepted:
            done[1 if is_split else 3] += 1
            list_tables(listed[0], listed[1], z, order, ends, n_tables)
    return done
