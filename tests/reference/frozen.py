"""Slow twins of sampling under frozen topics: every count is made anew, every conditional written out."""

import itertools

import numpy as np
from tests.reference import em, lda

BATCH = 8


def own_rows(row, k, unit_count, beta, vbeta):
    """The row of a token's term without the token's own count in topic k, if the topics contain it."""
    row = np.array(row, np.float64)
    if k is not None and unit_count[k] > 0:
        mass = 1.0 / float(unit_count[k])  # n_k + V beta
        n_vk = row[k] * mass - beta
        row[k] = min(row[k], (max(n_vk - 1, 0) + beta) / (max(mass - vbeta - 1, 0) + vbeta))
    return row


def conditional(n_d, row, alpha, old, own):
    """(n_dk + a_k) phi_vk of one token, itself removed, not normalised."""
    return (n_d + alpha) * own_rows(row, old, *own)


def alias_topic(x, prob, alias):
    """The topic that a number in [0, 1) falls on in an alias table."""
    cell = x * len(prob)
    k = min(int(cell), len(prob) - 1)
    return k if cell - k < prob[k] else int(alias[k])


def prior_topic(x, weights, table):
    """The same from the term's table, or by a scan of all weights."""
    return lda.pick(weights, x) if table is None else alias_topic(x, *table)


def sample(indptr, terms, rows, alpha, own, n_sweeps, n_kept, words, tables):
    """Topics of all tokens at each kept sweep. ``tables[v]`` is an alias table or None.

    The number line has two parts, the document's topics in the order of their list, then the prior. A topic
    drawn from the prior that is the token's old one is taken with the share that is left of its row, and
    else a topic is drawn from all there is.
    """
    kept = np.zeros((n_kept, len(terms)), np.int64)
    for d, span in enumerate(lda.spans(indptr)):
        z, listed = {}, []
        for sweep in range(n_sweeps + 1):
            stream = lda.Stream(*words[:2], words[2] + sweep, d)
            for i in span:
                old, v = z.pop(i, None), terms[i]
                n_d = np.bincount(list(z.values()), minlength=len(alpha))
                row = own_rows(rows[v], old, *own)
                listed_part, slack = (n_d * row)[listed], float((alpha * rows[v]).sum())
                target = stream.next() * (listed_part.sum() + slack)
                if target < listed_part.sum():
                    k = listed[lda.pick(listed_part, target / listed_part.sum())]
                else:
                    x = (target - listed_part.sum()) / slack
                    k = prior_topic(x, alpha * rows[v], tables[v])
                    if k == old and row[k] < rows[v][k] and stream.next() >= row[k] / rows[v][k]:
                        k = lda.pick((n_d + alpha) * row, stream.next())
                z[i] = k
                if k not in listed:
                    listed.append(k)
                if old is not None and old not in z.values():
                    listed[listed.index(old)] = listed[-1]
                    listed.pop()
            if sweep > n_sweeps - n_kept:
                kept[sweep - n_sweeps + n_kept - 1, list(span)] = [z[i] for i in span]
    return kept


def expected(kept, indptr, terms, rows, alpha, own):
    """n_vk as the mean over kept sweeps of every token's conditional given all others."""
    out = np.zeros(rows.shape)
    for z in kept:
        for span in lda.spans(indptr):
            for i in span:
                n_d = np.bincount([z[j] for j in span if j != i], minlength=len(alpha))
                p = conditional(n_d, rows[terms[i]], alpha, z[i], own)
                out[terms[i]] += p / p.sum()
    return out / len(kept)


def doc_counts(kept, indptr, n_topics):
    """n_dk as the mean over kept sweeps."""
    n = [
        [np.bincount(z[list(s)], minlength=n_topics) for s in lda.spans(indptr)]
        for z in np.asarray(kept)
    ]
    return np.mean(n, axis=0)


def step(n_vk, indptr, terms, p, rho, gain):
    """(n_vk, kept): blended counts, and the topics of the kept sweeps; scans only."""
    rows = em.topic_rows(n_vk, p.beta)
    unit_count = float(p.again) / (n_vk.sum(axis=0) + len(n_vk) * p.beta)
    words, own = (p.seed, BATCH, p.step * 65_536), (unit_count, p.beta, len(n_vk) * p.beta)
    n_sweeps, scan = p.burn_in + p.n_samples, [None] * len(n_vk)
    kept = sample(indptr, terms, rows, p.alpha, own, n_sweeps, p.n_samples, words, scan)
    counts = expected(kept, indptr, terms, rows, p.alpha, own)
    return (1 - rho) * n_vk + rho * gain * counts, kept


def stirling(n_max):
    """Unsigned Stirling numbers of the first kind."""
    s = np.zeros((n_max + 1, n_max + 1))
    s[0, 0] = 1.0
    for n in range(n_max):
        for m in range(1, n + 2):
            s[n + 1, m] = s[n, m - 1] + n * s[n, m]
    return s


def table_indicator_margin(terms, rows, g, b1):
    """q*(z) of one document by enumeration: tables summed out of b1^m prod_k g_k^m_k S(n_k, m_k) prod f.

    Indicators are summed in closed form: C(n, m) placements, each with weight 1 / C(n, m).
    """
    n, n_topics = len(terms), len(g)
    s = stirling(n)
    states = list(itertools.product(range(n_topics), repeat=n))
    mass = []
    for z in states:
        n_k = np.bincount(z, minlength=n_topics)
        factor = np.prod([rows[v, k] for v, k in zip(terms, z, strict=True)])
        for k in range(n_topics):
            factor *= sum((b1 * g[k]) ** m * s[n_k[k], m] for m in range(n_k[k] + 1))
        mass.append(factor)
    mass = np.array(mass)
    return states, mass / mass.sum()
