"""Collapsed Gibbs sampling of LDA, one token after another with current counts: exact, O(K) per token."""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import GOLDEN, TOKEN, key, unit
from bayou.kernels.token import count_document, pick, shift, weigh_into


@jit
def gibbs_sweep(z, tokens, term_topic, topic, alpha, beta, seed, sweep):
    """Draw every token's topic from its conditional given all others; counts are kept up to date.

    ``tokens`` = (indptr, terms), ``term_topic`` is n_vk and ``topic`` n_k. Counts are whole numbers,
    so float32 holds them exactly up to 2**24.
    """
    indptr, terms = tokens
    n_topics = alpha.size
    vbeta = beta * term_topic.shape[0]
    doc_row = np.zeros(n_topics)
    weight = np.empty(n_topics)
    for d in range(indptr.size - 1):
        count_document(doc_row, z, indptr[d], indptr[d + 1])
        at = key(seed, TOKEN, sweep, d)
        for i in range(indptr[d], indptr[d + 1]):
            v = terms[i]
            shift(doc_row, term_topic, v, topic, z[i], -1.0)
            total = weigh_into(weight, doc_row, alpha, term_topic, v, beta, topic, vbeta)
            at += GOLDEN
            k = pick(weight, unit(at) * total)
            z[i] = k
            shift(doc_row, term_topic, v, topic, k, 1.0)
