"""Slow twin of a variational mini-batch: the decay is written out on every cell."""

import numpy as np
from tests.reference import em

DOC_TAU, DOC_KAPPA = 10.0, 0.9


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
