"""Topic proportions of documents under fixed topics, each token without its own count (CVB0) [Asuncion09].

gamma_vk is proportional to phi_vk (sum_u c_u gamma_uk - gamma_vk + alpha_k): the expectation of the Gibbs
conditional to zeroth order, on distinct terms. What comes out is zbar_k = sum_v c_v rho_v gamma_vk with
sum_v c_v rho_v = 1, the features of a classifier; a document without terms gets the prior mean.

[Asuncion09] Asuncion, Welling, Smyth, Teh. On smoothing and inference for topic models. UAI 2009.
"""

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.lda.em import longest

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)


@fast_jit
def _cavity_pass(gamma, phi, counts, lo, n, total, fresh, alpha):
    """One pass over n terms: responsibilities from ``total``, their sum into ``fresh``."""
    n_topics = alpha.size
    for k in range(n_topics):
        fresh[k] = _ZERO
    for j in range(n):
        for k in range(n_topics):
            rest = max(total[k] - gamma[j, k] + alpha[k], np.float32(1e-10))
            gamma[j, k] = phi[j, k] * rest
        mass = _ZERO
        for k in range(n_topics):
            mass += gamma[j, k]
        inverse, c = _ONE / mass, counts[lo + j]
        for k in range(n_topics):
            g = gamma[j, k] * inverse
            gamma[j, k] = g
            fresh[k] += c * g


@fast_jit
def _open(gamma, phi, counts, lo, n, total, alpha):
    """Responsibilities under the prior alone, and their sum."""
    n_topics = alpha.size
    for k in range(n_topics):
        total[k] = _ZERO
    for j in range(n):
        for k in range(n_topics):
            gamma[j, k] = phi[j, k] * alpha[k]
        mass = _ZERO
        for k in range(n_topics):
            mass += gamma[j, k]
        inverse, c = _ONE / mass, counts[lo + j]
        for k in range(n_topics):
            g = gamma[j, k] * inverse
            gamma[j, k] = g
            total[k] += c * g


@fast_jit
def _settle(out, d, gamma, phi, pairs, lo, n, totals, alpha, term_weight, n_iter):
    """Iterate on one document whose rows phi are laid out, and write its zbar."""
    _, terms, counts = pairs
    n_topics = alpha.size
    total, fresh = totals[0], totals[1]
    _open(gamma, phi, counts, lo, n, total, alpha)
    for _ in range(n_iter):
        _cavity_pass(gamma, phi, counts, lo, n, total, fresh, alpha)
        for k in range(n_topics):
            total[k] = fresh[k]
    mass = _ZERO
    for j in range(n):
        mass += counts[lo + j] * term_weight[terms[lo + j]]
    inverse = _ONE / mass if mass > _ZERO else _ZERO
    for k in range(n_topics):
        out[d, k] = _ZERO
    for j in range(n):
        w = counts[lo + j] * term_weight[terms[lo + j]] * inverse
        for k in range(n_topics):
            out[d, k] += w * gamma[j, k]
    if not mass > _ZERO:
        prior = _ZERO
        for k in range(n_topics):
            prior += alpha[k]
        for k in range(n_topics):
            out[d, k] = alpha[k] / prior


@jit
def zbar_docs(out, pairs, lo, hi, rows, alpha, term_weight, n_iter):
    """``out[d]`` = zbar for documents lo .. hi under the topics ``rows`` (terms x topics)."""
    indptr, terms, _ = pairs
    n_topics = alpha.size
    n_rows = longest(indptr, lo, hi)
    gamma, phi = (
        np.empty((n_rows, n_topics), np.float32),
        np.empty((n_rows, n_topics), np.float32),
    )
    totals = np.empty((2, n_topics), np.float32)
    for d in range(lo, hi):
        a, n = indptr[d], indptr[d + 1] - indptr[d]
        for j in range(n):
            v = terms[a + j]
            for k in range(n_topics):
                phi[j, k] = rows[v, k]
        _settle(out, d, gamma, phi, pairs, a, n, totals, alpha, term_weight, n_iter)


@jit
def share_docs(out, pairs, lo, hi, rows, alpha, term_weight, n_iter):
    """``out[j]`` = what pair j adds to the zbar of its document, for the pairs of documents lo .. hi."""
    indptr, terms, counts = pairs
    n_topics = alpha.size
    n_rows = longest(indptr, lo, hi)
    gamma, phi = (
        np.empty((n_rows, n_topics), np.float32),
        np.empty((n_rows, n_topics), np.float32),
    )
    totals, whole = np.empty((2, n_topics), np.float32), np.empty((1, n_topics), np.float32)
    for d in range(lo, hi):
        a, n = indptr[d], indptr[d + 1] - indptr[d]
        mass = _ZERO
        for j in range(n):
            mass += counts[a + j] * term_weight[terms[a + j]]
            for k in range(n_topics):
                phi[j, k] = rows[terms[a + j], k]
        _settle(whole, 0, gamma, phi, pairs, a, n, totals, alpha, term_weight, n_iter)
        for j in range(n):
            w = counts[a + j] * term_weight[terms[a + j]] / mass
            for k in range(n_topics):
                out[a + j, k] = w * gamma[j, k]


@jit
def _place(terms, lo, hi, v):
    """Position of term v among the sorted terms lo .. hi."""
    while hi - lo > 1:
        mid = (lo + hi) // 2
        if terms[mid] <= v:
            lo = mid
        else:
            hi = mid
    return lo


@jit
def zbar_without(out, pairs, lo, hi, counted, own, alpha, beta, term_weight, n_iter):
    """``out[d]`` = zbar under topics that have not seen document d (leave one out), without its labels.

    ``counted`` = (n_vk, n_k); ``own`` = (indptr, terms, z) are the documents' own tokens among them.
    """
    indptr, terms, _ = pairs
    term_topic, topic = counted
    at, words, z = own
    n_topics = alpha.size
    vbeta = beta * np.float32(term_topic.shape[0])
    n_rows = longest(indptr, lo, hi)
    gamma, phi = (
        np.empty((n_rows, n_topics), np.float32),
        np.empty((n_rows, n_topics), np.float32),
    )
    totals, inv = np.empty((2, n_topics), np.float32), np.empty(n_topics, np.float32)
    for d in range(lo, hi):
        a, n = indptr[d], indptr[d + 1] - indptr[d]
        for k in range(n_topics):
            inv[k] = topic[k] + vbeta
        for i in range(at[d], at[d + 1]):
            inv[z[i]] -= _ONE
        for k in range(n_topics):
            inv[k] = _ONE / max(inv[k], vbeta)
        for j in range(n):
            v = terms[a + j]
            for k in range(n_topics):
                phi[j, k] = term_topic[v, k] + beta
        for i in range(at[d], at[d + 1]):
            phi[_place(terms, a, a + n, words[i]) - a, z[i]] -= _ONE
        for j in range(n):
            for k in range(n_topics):
                phi[j, k] = max(phi[j, k], beta) * inv[k]
        _settle(out, d, gamma, phi, pairs, a, n, totals, alpha, term_weight, n_iter)
