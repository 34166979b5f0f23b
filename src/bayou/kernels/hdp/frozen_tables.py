"""Documents of a Pitman-Yor process under frozen topics and a frozen root: topics and tables of tokens.

With a discount a > 0 tables cannot be summed out of a document as they can with a = 0. A token is a head of a
table or not, and which tokens are heads has no meaning (`kernels.hdp.franchise`). With the token taken out,
m_d tables in the document and frozen g_k and phi_vk, the weights of topic k are

    join   U^n_m (n - m + 1) / (n + 1) phi_vk          open   (b1 + a m_d) g_k W^n_m (m + 1) / (n + 1) phi_vk

where a topic that the document does not have can only be opened, with the factor 1. With a = 0 the topics
have the law of `kernels.lda.frozen_sweep`.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.hdp.tables import factor
from bayou.kernels.rng import BATCH_TABLES, key, uniform
from bayou.kernels.token import pick


@jit
def _without_own(phi, own, beta, vbeta):
    """phi_vk without one count, worth ``own`` = 1 / (n_k + V beta), if the topics contain the document."""
    below = max(1.0 - own, vbeta * own)
    return min(max(phi - own, beta * own) / below, phi)


@jit
def _weigh(weight, opens, rows, v, n, m, n_tables, prior, stirling):
    """Weights of all topics for term v, and of these what opens a table; returns the sum."""
    share, b1, a = prior
    ratios, factors = stirling
    total = 0.0
    for k in range(share.size):
        opens[k] = (b1 + a * n_tables) * share[k]
        joins = 0.0
        if n[k] > 0:
            opens[k] *= factor(factors, ratios, n[k], m[k], 0, a)
            joins = factor(factors, ratios, n[k], m[k], 1, a)
        weight[k] = (opens[k] + joins) * rows[v, k]
        opens[k] *= rows[v, k]
        total += weight[k]
    return total


@jit
def seat_docs(counts, opened, powers, tokens, rows, own, prior, stirling, rate, words):
    """Sample all documents; conditionals, tables and powers of the kept sweeps are added up.

    ``counts`` (the batch's terms x topics) += p(z_i = k), ``opened[k]`` += m_dk, ``powers[0]`` +=
    sum_{i < m_d} b1 / (b1 + i a), the expected number of factors b1 in prod_{i < m_d} (b1 + i a). The first
    pass draws each token given those before it; ``rate`` = (sweeps after that, kept ones of them).
    ``own`` = (worth of one count of phi_k or zero, beta, V beta); ``prior`` = (g, b1, a); ``words`` = (seed,
    sweep) of the keys.
    """
    indptr, terms = tokens
    share, b1, a = prior
    n_sweeps, n_kept = rate
    worth, beta, vbeta = own
    n, m = np.empty(share.size, np.int64), np.empty(share.size, np.int64)
    weight, opens, stream = np.empty(share.size), np.empty(share.size), np.empty(1, np.uint64)
    for d in range(indptr.size - 1):
        lo, hi, n_tables = indptr[d], indptr[d + 1], 0
        z = np.full(hi - lo, -1, np.int64)
        n[:] = 0
        m[:] = 0
        for sweep in range(n_sweeps + 1):
            stream[0] = key(words[0], BATCH_TABLES, words[1] + sweep, d)
            keep = sweep > n_sweeps - n_kept
            for i in range(lo, hi):
                v, old, left = terms[i], z[i - lo], 1.0
                if old >= 0:
                    head = np.int64(uniform(stream) * n[old] < m[old])
                    if head == 1 and m[old] == 1 and n[old] > 1:  # others sit at this table
                        if keep:
                            counts[v, old] += 1.0
                        continue
                    n[old] -= 1
                    m[old] -= head
                    n_tables -= head
                    if worth[old] > 0.0:
                        left = _without_own(rows[v, old], worth[old], beta, vbeta) / rows[v, old]
                total = _weigh(weight, opens, rows, v, n, m, n_tables, prior, stirling)
                if left < 1.0:
                    total -= (1.0 - left) * weight[old]
                    weight[old] *= left
                    opens[old] *= left
                if keep:
                    for k in range(share.size):
                        counts[v, k] += weight[k] / total
                k = np.int64(pick(weight, uniform(stream) * total))
                head = np.int64(uniform(stream) * weight[k] < opens[k])
                z[i - lo] = k
                n[k] += 1
                m[k] += head
                n_tables += head
            if keep:
                for k in range(share.size):
                    opened[k] += m[k]
                for i in range(n_tables):
                    powers[0] += b1 / (b1 + i * a)
