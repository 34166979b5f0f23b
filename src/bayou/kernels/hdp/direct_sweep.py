"""Topics of an HDP given a draw of the root's probabilities [Teh06].

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.draw import draw_beta
from bayou.kernels.hdp.franchise import LIVE, NEXT
from bayou.kernels.rng import BIRTH, GOLDEN, SEATING, key, unit
from bayou.kernels.token import pick, shift, weigh_into


@jit
def direct_sweep(z, tokens, counts, root, prior, seed, sweep, first):
    """Draw the topics of the tokens from ``first`` on given the root's probabilities g [Teh06].

    Weights (n_jk + b1 g_k) P_vk, and b1 g_u / V for a topic that is not there yet. ``root`` holds g of
    every slot and, last, g_u of all topics without tokens; a birth breaks a Beta(1, b0) share off g_u,
    a death gives its g back.
    """
    indptr, terms = tokens
    term_topic, topic, _, ids, sizes = counts
    b1, b0, _, beta = prior
    n_slots = topic.size
    vbeta = beta * term_topic.shape[0]
    doc_row, weight, mass = np.zeros(n_slots), np.empty(n_slots), b1 * root[:n_slots]
    stream = np.empty(1, np.uint64)
    empty = np.flatnonzero(topic == 0)[::-1]
    free, n_free = np.empty(n_slots, np.int64), empty.size
    free[:n_free] = empty  # with room for all of them: more topics may die than are born
    for d in range(np.searchsorted(indptr, first, side="right") - 1, indptr.size - 1):
        lo, hi = indptr[d], indptr[d + 1]
        doc_row[:] = 0.0
        for i in range(lo, hi):
            doc_row[z[i]] += 1
        at = key(seed, SEATING, sweep, d)
        for i in range(max(lo, first), hi):
            if n_free == 0:
                return i
            v, k = terms[i], z[i]
            shift(doc_row, term_topic, v, topic, k, -1.0)
            if topic[k] == 0:
                root[n_slots] += root[k]
                root[k] = mass[k] = 0.0
                ids[k] = -1
                sizes[LIVE] -= 1
                free[n_free] = k
                n_free += 1
            top = free[n_free - 1]
            mass[top] = b1 * root[n_slots]
            total = weigh_into(weight, doc_row, mass, term_topic, v, beta, topic, vbeta)
            k = pick(weight, unit(at + np.uint64(i - lo) * GOLDEN) * total)
            mass[top] = 0.0
            if topic[k] == 0:
                stream[0] = key(seed, BIRTH, sweep, i)  # a sweep may stop within a document
                root[k] = draw_beta(stream, 1.0, b0) * root[n_slots]
                root[n_slots] -= root[k]
                mass[k] = b1 * root[k]
                ids[k] = sizes[NEXT]
                sizes[NEXT] += 1
                sizes[LIVE] += 1
                n_free -= 1
            z[i] = k
            shift(doc_row, term_topic, v, topic, k, 1.0)
    return terms.size
