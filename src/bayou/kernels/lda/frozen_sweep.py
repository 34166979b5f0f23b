"""The local step of online models: Gibbs sampling of documents under frozen topics, and its expected counts.

The conditional of a token is (n_dk + a_k) phi_vk, with the token removed from n_d. It is drawn in two
parts, n_dk phi_vk over the few topics of the document, and a_k phi_vk over all topics: the second does
not change while the topics are frozen, so that one alias table a term draws from it exactly.

After a kept sweep the conditionals themselves are added up, not the topics that were drawn from them: the
average over all next draws, with far less noise than one of them. With T the sum of (n_dk + a_k) phi_vk over
all topics, the tokens of a term v in a document d contribute

    sum_i [(n_dk + a_k) phi_vk - 1(z_i = k) phi_vk] / (T - phi_v,z_i)

and the part in a_k, dense in k, is the same for all documents up to a factor: it is added once a term.

A document that was read before is itself in the topics. There a token's own count is taken out of the row
of its present topic, as collapsed Gibbs sampling does: phi_vk becomes (n_vk - 1 + beta) / (n_k - 1 + V beta),
where neither n - 1 is let fall below 0.
"""

import numpy as np

from bayou.kernels.alias import build_alias_into
from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.hdp.tables import expected_tables
from bayou.kernels.lda.fixed_sweep import weigh_list, weigh_prior
from bayou.kernels.rng import GOLDEN, key, unit
from bayou.kernels.token import pick


@fast_jit
def rows_into(out, raw, terms, lo, hi, scale, beta, inv):
    """``out[i, k] = (scale raw_vk + beta) inv_k`` for lo .. hi of a batch's ``terms``, v the i-th."""
    for i in range(lo, hi):
        v = terms[i]
        for k in range(inv.size):
            out[i, k] = (raw[v, k] * scale + beta) * inv[k]


@jit
def sum_terms(out, raw, terms):
    """``out[k] += sum of raw_vk`` over ``terms`` in their order, in double precision."""
    for i in range(terms.size):
        v = terms[i]
        for k in range(out.size):
            out[k] += raw[v, k]


@jit
def _pick_place(weight, n, target):
    """The position in the list at which the running sum of weights passes ``target``."""
    j = 0
    while j < n - 1 and target >= weight[j]:
        target -= weight[j]
        j += 1
    return j


@jit
def pick_prior(x, tables, v, scratch, alpha, rows):
    """A topic from a_k phi_vk by a number x in [0, 1): by the term's table or, without one, by a scan.

    ``tables`` = (row of the term's table or -1, probabilities, aliases).
    """
    at, prob, alias = tables
    t = at[v]
    if t < 0:
        return np.int64(pick(scratch, x * weigh_prior(scratch, alpha, rows, v)))
    cell = x * prob.shape[1]
    k = max(min(np.int64(cell), prob.shape[1] - 1), 0)  # for any x, also for NaN
    if cell - k < prob[t, k]:
        return k
    return np.int64(alias[t, k])


@jit
def build_tables(tables, terms, lo, hi, rows, alpha):
    """Alias tables of a_k phi_vk for the terms lo .. hi of ``terms``, the i-th in row i of the tables."""
    _, prob, alias = tables
    weight = np.empty(alpha.size, rows.dtype)
    small, large = np.empty(alpha.size, np.int32), np.empty(alpha.size, np.int32)
    for i in range(lo, hi):
        weigh_prior(weight, alpha, rows, terms[i])
        build_alias_into(prob[i], alias[i], weight, small, large)


@jit
def _remaining_share(phi, unit_count, beta, vbeta):
    """The share of phi_vk that is left without one count, worth ``unit_count`` = 1 / (n_k + V beta)."""
    below = max(1.0 - unit_count, vbeta * unit_count)
    return min(max(phi - unit_count, beta * unit_count) / (phi * below), 1.0)


@jit
def _pick_whole(u, weight, active, n, old, left, scratch, alpha, rows, v):
    """A topic from both parts at once, ``weight`` the list's; of the prior of ``old`` a share is left."""
    total = weigh_prior(scratch, alpha, rows, v)
    total -= (1.0 - left) * scratch[old]
    scratch[old] *= left
    for j in range(n):
        scratch[active[j]] += weight[j]
        total += weight[j]
    return np.int64(pick(scratch, u * total))


@jit
def sample_docs(kept, lists, tokens, ids, lo, hi, rows, slack, own, tables, alpha, rate, words):
    """Topics of the tokens of documents lo .. hi, and each document's list of topics, at every kept sweep.

    The first pass draws each token given those before it; ``rate`` = (sweeps after that, how many of them,
    the last, are kept). ``kept`` is sweeps x tokens, ``lists`` = (topics, counts, sizes): sweeps x tokens, of
    which a document uses the first entries of its span, and sweeps x documents. ``own`` = (one count's worth
    of phi_k, or zero where the topics do not contain these documents; beta; V beta). ``words`` = (seed,
    purpose, step) of the keys, ``slack[v]`` = sum_k a_k phi_vk.

    In one piece, and with rows read as (matrix, row number), for the reasons given at `sweep_docs`.
    """
    indptr, terms = tokens
    topics, counts, sizes = lists
    n_sweeps, n_kept = rate
    unit_count, beta, vbeta = own
    one = counts.dtype.type(1.0)
    weight = np.empty(alpha.size + 1, rows.dtype)
    scratch = np.empty(alpha.size, rows.dtype)
    active = np.empty(alpha.size + 1, np.uint32)
    count = np.empty(alpha.size + 1, counts.dtype)
    place = np.full(alpha.size, -1, np.int32)
    longest = 0
    for d in range(lo, hi):
        longest = max(longest, indptr[d + 1] - indptr[d])
    z = np.empty(longest, np.uint16)
    for d in range(lo, hi):
        n, first = 0, indptr[d]
        for sweep in range(n_sweeps + 1):
            at = key(words[0], words[1], words[2] + sweep, ids[d])
            for i in range(first, indptr[d + 1]):
                v, hole, old, left = terms[i], -1, -1, 1.0
                if sweep > 0:
                    old = np.int64(z[i - first])
                    hole = place[old]
                    count[hole] -= one
                total = weigh_list(weight, active, count, n, rows, v)
                if sweep > 0 and unit_count[old] > 0:
                    left = _remaining_share(rows[v, old], unit_count[old], beta, vbeta)
                    gone = weight[hole] * rows.dtype.type(1.0 - left)
                    weight[hole] -= gone
                    total -= gone
                at += GOLDEN
                target = unit(at) * (total + slack[v])
                if target < total:
                    k = np.int64(active[_pick_place(weight, n, target)])
                else:
                    x = (target - total) / slack[v]
                    k = pick_prior(x, tables, v, scratch, alpha, rows)
                    if k == old and left < 1.0:
                        at += (
                            GOLDEN  # a table knows nothing of the count taken out: reject its share
                        )
                        if unit(at) >= left:
                            at += GOLDEN
                            k = _pick_whole(
                                unit(at), weight, active, n, old, left, scratch, alpha, rows, v
                            )
                z[i - first] = k
                if place[k] < 0:
                    active[n] = k
                    count[n] = 0
                    place[k] = n
                    n += 1
                count[place[k]] += one
                if hole >= 0 and count[hole] == 0:
                    n -= 1
                    place[active[hole]] = -1
                    if hole < n:
                        active[hole] = active[n]
                        count[hole] = count[n]
                        place[active[n]] = hole
            s = sweep - n_sweeps + n_kept - 1
            if s >= 0:
                for i in range(first, indptr[d + 1]):
                    kept[s, i] = z[i - first]
                for j in range(n):
                    topics[s, first + j] = active[j]
                    counts[s, first + j] = count[j]
                sizes[s, d] = n
        for j in range(n):
            place[active[j]] = -1


@jit
def _expect_sweep(acc, s, kept, lists, by_token, span, rows, v, slack, own, alpha):
    """Add one kept sweep's conditionals of a term's tokens to ``acc``, but for the part in a_k.

    That part is what is given back times a_k phi_vk. ``by_token`` = (places of the tokens, document of
    every token, where documents begin).
    """
    topics, counts, sizes = lists
    places, doc_of, indptr = by_token
    unit_count, beta, vbeta = own
    factor, j, hi = 0.0, span[0], span[1]
    while j < hi:
        d = doc_of[places[j]]
        first, last = indptr[d], indptr[d] + sizes[s, d]
        total = np.float64(slack)
        for m in range(first, last):
            total += counts[s, m] * rows[v, topics[s, m]]
        share = 0.0
        while j < hi and doc_of[places[j]] == d:
            k = kept[s, places[j]]
            gone = np.float64(rows[v, k])
            if unit_count[k] > 0:
                m = first
                while topics[s, m] != k:
                    m += 1
                rest = (counts[s, m] - 1.0 + alpha[k]) * rows[v, k]
                gone += rest * (1.0 - _remaining_share(rows[v, k], unit_count[k], beta, vbeta))
            r = 1.0 / (total - gone)
            acc[k] -= r * gone
            share += r
            j += 1
        for m in range(first, last):
            acc[topics[s, m]] += share * counts[s, m] * rows[v, topics[s, m]]
        factor += share
    return factor


@jit
def expect_terms(out, kept, lists, by_term, docs, lo, hi, rows, slack, own, alpha, gain):
    """``out[v] += gain * n_v`` for a batch's terms lo .. hi, n_v the mean of the kept sweeps' conditionals.

    ``by_term`` = (terms, termptr, places); rows and slack are in the order of ``terms``. ``docs`` =
    (document of every token, where documents begin).
    """
    terms, termptr, places = by_term
    by_token = (places, docs[0], docs[1])
    acc = np.empty(alpha.size)
    share = gain / kept.shape[0]
    for i in range(lo, hi):
        for k in range(alpha.size):
            acc[k] = 0.0
        factor = 0.0
        span = (termptr[i], termptr[i + 1])
        for s in range(kept.shape[0]):
            factor += _expect_sweep(
                acc, s, kept, lists, by_token, span, rows, i, slack[i], own, alpha
            )
        v = terms[i]
        for k in range(alpha.size):
            out[v, k] += share * max(acc[k] + factor * alpha[k] * rows[i, k], 0.0)


@jit
def count_lists(out, lists, indptr, lo, hi):
    """``out[d]`` += mean counts of the kept sweeps for documents lo .. hi."""
    topics, counts, sizes = lists
    share = np.float32(1.0 / topics.shape[0])
    for d in range(lo, hi):
        for s in range(topics.shape[0]):
            for m in range(indptr[d], indptr[d] + sizes[s, d]):
                out[d, topics[s, m]] += share * counts[s, m]


@jit
def count_tables(out, lists, indptr, mass):
    """``out[k]`` += expected tables of all documents, mean over the kept sweeps; ``mass`` = b1 g_k."""
    topics, counts, sizes = lists
    share = 1.0 / topics.shape[0]
    for d in range(sizes.shape[1]):
        for s in range(topics.shape[0]):
            for m in range(indptr[d], indptr[d] + sizes[s, d]):
                k = topics[s, m]
                out[k] += share * expected_tables(np.float64(counts[s, m]), mass[k])
