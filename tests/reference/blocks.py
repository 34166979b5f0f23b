"""Corpora whose topics are known exactly: blocks of terms that no two topics share."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from bayou import Corpus


def block_corpus(n_docs=240, n_topics=3, block=10, length=60, seed=0):
    """Documents of mostly one topic over `n_topics` blocks of `block` terms; gives the topics too."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(n_topics), np.ones(block) / block)
    theta = rng.dirichlet(np.full(n_topics, 0.1), n_docs)
    counts = np.array([rng.multinomial(length, t @ topics) for t in theta])
    names = [f"t{v}" for v in range(n_topics * block)]
    return Corpus.from_matrix(counts, vocabulary=names), topics


def matched_hellinger(found, true):
    """Largest Hellinger distance between topics after the best matching."""
    gaps = 1.0 - np.sqrt(found)[:, None, :] @ np.sqrt(true).T[None]
    distance = np.sqrt(np.clip(gaps[:, 0, :], 0.0, 1.0))
    return distance[linear_sum_assignment(distance)].max()
