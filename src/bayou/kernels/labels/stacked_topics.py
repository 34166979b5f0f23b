"""Two stacked hierarchical Dirichlet processes without labels: super-topics and sub-topics of words.

Given the roots g and h, a token of term v has super-topic s and sub-topic k with probability

    (n_ds + b1 g_s) (n_sk + c1 h_k) / (n_s + c1) (n_vk + beta) / (n_k + V beta)

up to a factor, itself taken out of all counts. Both are drawn together: s with k summed out, then k.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, LABEL_TOPICS, STACK_TOKEN, key, unit
from bayou.kernels.token import count_document, pick


@jit
def start_pairs(upper, lower, indptr, n_upper, n_lower, seed):
    """Super-topics and sub-topics at random for the tokens of all documents."""
    for d in range(indptr.size - 1):
        at = key(seed, LABEL_TOPICS, 0, d)
        for i in range(indptr[d], indptr[d + 1]):
            at += GOLDEN
            upper[i] = np.int64(unit(at) * n_upper)
            at += GOLDEN
            lower[i] = np.int64(unit(at) * n_lower)


@jit
def count_pairs(term_lower, lower_upper, terms, upper, lower):
    """``term_lower`` = n_vk and ``lower_upper`` = n_ks; both are overwritten."""
    term_lower[:] = 0
    lower_upper[:] = 0
    for i in range(terms.size):
        term_lower[terms[i], lower[i]] += 1
        lower_upper[lower[i], upper[i]] += 1


@jit
def _weigh_upper(weight, word, counts, doc_row, prior):
    """Weights of super-topics with the sub-topic summed out; ``word`` = (n_vk + beta) / (n_k + V beta)."""
    lower_upper, upper_total = counts
    alpha, mass, whole = prior
    base = 0.0
    for k in range(mass.size):
        base += mass[k] * word[k]
    for s in range(alpha.size):
        weight[s] = base
    for k in range(mass.size):
        for s in range(alpha.size):
            weight[s] += lower_upper[k, s] * word[k]
    total = 0.0
    for s in range(alpha.size):
        weight[s] *= (doc_row[s] + alpha[s]) / (upper_total[s] + whole)
        total += weight[s]
    return total


@jit
def pair_sweep(upper, lower, tokens, term_lower, lower_total, counts, prior, beta, seed, sweep):
    """Draw super-topic and sub-topic of every token given all others; counts are kept up to date.

    ``tokens`` = (indptr, terms), ``counts`` = (n_ks, n_s), ``prior`` = (b1 g, c1 h, c1).
    """
    indptr, terms = tokens
    lower_upper, upper_total = counts
    alpha, mass, _ = prior
    vbeta = beta * term_lower.shape[0]
    doc_row, weight = np.zeros(alpha.size), np.empty(alpha.size)
    word, inner = np.empty(mass.size), np.empty(mass.size)
    for d in range(indptr.size - 1):
        count_document(doc_row, upper, indptr[d], indptr[d + 1])
        at = key(seed, STACK_TOKEN, sweep, d)
        for i in range(indptr[d], indptr[d + 1]):
            v, s, k = terms[i], upper[i], lower[i]
            doc_row[s] -= 1
            upper_total[s] -= 1
            lower_upper[k, s] -= 1
            lower_total[k] -= 1
            term_lower[v, k] -= 1
            for j in range(mass.size):
                word[j] = (term_lower[v, j] + beta) / (lower_total[j] + vbeta)
            total = _weigh_upper(weight, word, counts, doc_row, prior)
            at += GOLDEN
            s = pick(weight, unit(at) * total)
            total = 0.0
            for j in range(mass.size):
                inner[j] = (lower_upper[j, s] + mass[j]) * word[j]
                total += inner[j]
            at += GOLDEN
            k = pick(inner, unit(at) * total)
            upper[i], lower[i] = s, k
            doc_row[s] += 1
            upper_total[s] += 1
            lower_upper[k, s] += 1
            lower_total[k] += 1
            term_lower[v, k] += 1
