"""Mixtures of multinomials: a document has one topic. Posteriors in log space, and online EM.

Stepwise EM keeps mean statistics of a document: s_k = E[z = k], S_vk = E[c_v, z = k] [Cappe09]. A mini-batch
moves them by eta_t = (t + 2)^-exponent. All cells of S decay alike, so that is one number, ``scale``.

[Cappe09] Cappe, Moulines. On-line expectation-maximization algorithm for latent data models. JRSS B 71, 2009.
[Neal98] Neal, Hinton. A view of the EM algorithm that justifies incremental, sparse, and other variants. In
Learning in Graphical Models, 1998.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit
from bayou.kernels.rng import key, unit

_LEAST = 1e-300  # least probability
_FOLD = 1e-6  # scale below which it is multiplied into the statistics


@jit
def _normalise(out):
    """Turn log weights into probabilities; the log of their sum."""
    top = -math.inf
    for k in range(out.size):
        top = max(top, out[k])
    total = 0.0
    for k in range(out.size):
        out[k] = math.exp(out[k] - top)
        total += out[k]
    for k in range(out.size):
        out[k] /= total
    return top + math.log(total)


@fast_jit
def posterior_docs(out, loglik, pairs, lo, hi, log_rows, log_weights):
    """p(topic | document) for documents lo .. hi, and ln p(document)."""
    indptr, terms, counts = pairs
    for d in range(lo, hi):
        for k in range(out.shape[1]):
            out[d, k] = log_weights[k]
        for j in range(indptr[d], indptr[d + 1]):
            c = np.float64(counts[j])
            v = terms[j]
            for k in range(out.shape[1]):
                out[d, k] += c * log_rows[v, k]
        loglik[d] = _normalise(out[d])


@jit
def predictive_docs(value, theta, pairs, lo, hi, rows):
    """``value[d]`` = sum over tokens of ln sum_k theta_dk phi_kv."""
    indptr, terms, counts = pairs
    for d in range(lo, hi):
        total = 0.0
        for j in range(indptr[d], indptr[d + 1]):
            p = 0.0
            for k in range(theta.shape[1]):
                p += theta[d, k] * rows[terms[j], k]
            total += counts[j] * math.log(p)
        value[d] = total


@jit
def draw_topics(out, theta, ids, seed, purpose, sample):
    """``out[d, k]`` = 1 for one topic k ~ theta_d, keyed by the document's number."""
    for d in range(len(theta)):
        left = unit(key(seed, purpose, sample, ids[d]))
        chosen = theta.shape[1] - 1
        for k in range(theta.shape[1]):
            left -= theta[d, k]
            if left < 0.0:
                chosen = k
                break
        out[d, chosen] = 1.0


@jit
def start_rows(out, lo, hi, seed, purpose):
    """Exponential numbers: normalised over terms, columns are Dirichlet(1)."""
    for v in range(lo, hi):
        for k in range(out.shape[1]):
            out[v, k] = -math.log(1.0 - unit(key(seed, purpose, v, k)))


@fast_jit
def _estimate_into(out, raw, scale, length, smooth, known, v):
    """``out[k]`` = phi_kv: the topic's tokens so far, with pseudo-tokens of the unigram.

    ``known`` counts terms, ``smooth`` = (pseudo-tokens, unigram's prior, documents, tokens, terms).
    """
    pseudo, beta, n_docs, n_tokens, n_terms = smooth
    unigram = (known[v] + beta) / (n_tokens + beta * n_terms)
    for k in range(out.size):
        tokens = length[k] * n_docs
        phi = scale * raw[v, k] / length[k]
        out[k] = (tokens * phi + pseudo * unigram) / (tokens + pseudo)


@jit
def _responsibilities_into(out, row, pairs, d, raw, scale, share, length, smooth, known):
    """p(topic | document d) under the current statistics; gives the document's length."""
    indptr, terms, counts = pairs
    total = 0.0
    for k in range(out.size):
        total += share[k]
    for k in range(out.size):
        out[k] = math.log(share[k] / total)
    tokens = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        c = np.float64(counts[j])
        tokens += c
        _estimate_into(row, raw, scale, length, smooth, known, terms[j])
        for k in range(out.size):
            out[k] += c * math.log(max(row[k], _LEAST))
    _normalise(out)
    return tokens


@jit
def _fold(raw, scale):
    if scale >= _FOLD:
        return scale
    for v in range(raw.shape[0]):
        for k in range(raw.shape[1]):
            raw[v, k] *= scale
    return 1.0


@jit
def stepwise_docs(raw, share, length, known, totals, pairs, lo, hi, size, exponent, prior):
    """Mini-batches of ``size`` documents. ``totals`` = (scale, steps, documents, tokens), updated.

    ``share`` is s, ``length`` the column sums of S, ``known`` counts of terms, ``prior`` (pseudo, beta).
    """
    n_topics = share.size
    resp = np.empty((size, n_topics))
    row = np.empty(n_topics)
    for first in range(lo, hi, size):
        n = min(size, hi - first)
        smooth = (prior[0], prior[1], totals[2] + 1.0, totals[3], np.float64(len(raw)))
        tokens = 0.0
        for i in range(n):
            tokens += _responsibilities_into(
                resp[i], row, pairs, first + i, raw, totals[0], share, length, smooth, known
            )
        eta = (totals[1] + 2.0) ** -exponent
        for k in range(n_topics):
            share[k] *= 1.0 - eta
            length[k] *= 1.0 - eta
        totals[0] = _fold(raw, totals[0] * (1.0 - eta))
        step = eta / n
        for i in range(n):
            _gain(raw, share, length, known, resp[i], pairs, first + i, step, step / totals[0])
        totals[1] += 1.0
        totals[2] += n
        totals[3] += tokens


@jit
def _gain(raw, share, length, known, change, pairs, d, step, raw_step):
    """Add a document's statistics, weighted by ``change`` in each topic."""
    indptr, terms, counts = pairs
    tokens = 0.0
    for j in range(indptr[d], indptr[d + 1]):
        c = np.float64(counts[j])
        tokens += c
        v = terms[j]
        known[v] += c
        for k in range(change.size):
            raw[v, k] += raw_step * c * change[k]
    for k in range(change.size):
        share[k] += step * change[k]
        length[k] += step * tokens * change[k]


@jit
def incremental_docs(raw, share, length, known, totals, resp, order, pairs, size, prior):
    """Documents in ``order``, ``size`` at a time: the contribution of each is replaced [Neal98].

    The sums are over all documents, ``totals`` = (1, steps, documents, tokens). A new document has
    responsibilities of zero.
    """
    indptr, _, counts = pairs
    new = np.empty((size, share.size))
    row = np.empty(share.size)
    none = np.zeros(len(raw))
    for first in range(0, order.size, size):
        n = min(size, order.size - first)
        n_docs = totals[2] + 1.0
        # the estimate reads means per document times documents: here sums times one
        smooth = (prior[0], prior[1], 1.0, totals[3], np.float64(len(raw)))
        for i in range(n):
            d = order[first + i]
            _responsibilities_into(new[i], row, pairs, d, raw, 1.0, share, length, smooth, known)
        for i in range(n):
            d = order[first + i]
            fresh = 0.0
            for k in range(share.size):
                fresh += resp[d, k]
                resp[d, k] = new[i, k] - resp[d, k]
            if fresh == 0.0:
                _gain(raw, share, length, known, resp[d], pairs, d, 1.0, 1.0)
                n_docs += 1.0
                for j in range(indptr[d], indptr[d + 1]):
                    totals[3] += counts[j]
            else:
                _gain(raw, share, length, none, resp[d], pairs, d, 1.0, 1.0)
            for k in range(share.size):
                resp[d, k] = new[i, k]
        totals[1] += 1.0
        totals[2] = n_docs - 1.0
