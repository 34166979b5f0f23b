"""Slow twins of a mini-batch: the decay is written out on every cell, every token is drawn alone."""

import numpy as np
from tests.reference import em, lda

BATCH = 8
DOC_TAU, DOC_KAPPA = 10.0, 0.9


def hybrid_draws(n_vk, indptr, terms, p):
    """Topics of all tokens at each kept sweep, under the topics as they were."""
    rows = em.topic_rows(n_vk, p.beta).astype(np.float32)
    alpha = p.alpha.astype(np.float32)
    ids, first = range(len(indptr) - 1), p.step * 65_536
    z = lda.start_docs(indptr, terms, ids, rows, alpha, p.seed, BATCH, first)
    kept = []
    for i in range(1, p.burn_in + p.n_samples + 1):
        z = lda.fixed_sweep(z, indptr, terms, ids, rows, alpha, p.seed, BATCH, first + i)
        kept.append(z)
    return np.array(kept[p.burn_in :])


def hybrid_step(n_vk, indptr, terms, p, rho, gain):
    """(n_vk, n_dk): blended counts, and the documents' mean counts."""
    drawn = hybrid_draws(n_vk, indptr, terms, p)
    found = [lda.counts(z, indptr, terms, n_vk.shape[1], len(n_vk)) for z in drawn]
    n_dk, by_term = (np.mean([f[i] for f in found], axis=0) for i in (0, 1))
    return (1 - rho) * n_vk + rho * gain * by_term, n_dk


def scvb0_step(n_vk, X, p, rho, gain):
    """(n_vk, n_dk): blended counts, and the documents' counts after their passes."""
    rows, n_topics = em.topic_rows(n_vk, p.beta), n_vk.shape[1]
    passes = p.burn_in + p.n_samples
    n_dk = np.array(
        [
            em.scvb0_document(
                x, np.full(n_topics, x.sum() / n_topics), rows, p.alpha, passes, DOC_TAU, DOC_KAPPA
            )
            for x in X
        ]
    )
    _, by_term = em.sums(X, em.responsibilities(n_dk, rows, p.alpha))
    return (1 - rho) * n_vk + rho * gain * by_term, n_dk
