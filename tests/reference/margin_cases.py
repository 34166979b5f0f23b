"""A corpus with every oddity: a document of one token, an empty one, three tasks, costs other than one."""

import numpy as np
from tests.reference import margin


def even_weights(indptr):
    """1 / N_d for every token."""
    sizes = np.diff(indptr)
    return np.repeat(1.0 / np.maximum(sizes, 1), sizes)


def corpus(seed, n_topics=4, lengths=(5, 1, 0, 7), n_terms=6, even=False):
    """(indptr, terms, rho, alpha, beta, n_terms) and topics of the tokens."""
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = rng.integers(0, n_terms, indptr[-1]).astype(np.uint32)
    rho = even_weights(indptr)
    if not even:
        idf = rng.uniform(1, 4, n_terms)[terms]
        docs = np.repeat(np.arange(len(lengths)), lengths)
        rho = idf / np.bincount(docs, idf, len(lengths))[docs]
    alpha = rng.gamma(2.0, 0.3, n_topics) + 0.05
    z = rng.integers(0, n_topics, indptr[-1]).astype(np.uint16)
    return (indptr, terms, rho, alpha, 0.3, n_terms), z


def task(seed, loss, n_docs=4, n_tasks=3):
    """(loss, cost, width, y, variance) with weights (tasks x topics) and auxiliary variables."""
    rng = np.random.default_rng(seed + 100)
    cost = rng.uniform(0.4, 3.0, (n_docs, n_tasks))
    y = rng.choice([-1.0, 1.0], (n_docs, n_tasks))
    if loss == "insensitive":
        y = rng.normal(size=(n_docs, n_tasks))
    width = {"hinge": 5.0, "insensitive": 0.3, "logistic": 0.0, "smooth-hinge": 2.5}[loss]
    aug = rng.gamma(2.0, 1.0, (n_docs, n_tasks, 2))
    return (loss, cost, width, y, 1.7), aug


def pseudo_all(given, aug):
    """(omega, kappa) of all documents and tasks."""
    loss, cost, width, y, _ = given
    both = [
        [margin.pseudo(loss, cost[d, i], width, y[d, i], aug[d, i]) for i in range(y.shape[1])]
        for d in range(len(y))
    ]
    found = np.array(both)
    return found[..., 0], found[..., 1]
