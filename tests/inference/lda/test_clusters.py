"""Clusters of documents as a start for topics."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou.inference.lda import clusters, documents
from bayou.run import shards


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def separate(n_docs=60, n_clusters=3, width=8, seed=0):
    """Documents of one cluster each, every cluster with terms of its own and one term for all."""
    rng = np.random.default_rng(seed)
    own = np.arange(n_docs) % n_clusters
    X = np.zeros((n_docs, n_clusters * width + 1), np.float32)
    for d, k in enumerate(own):
        X[d, k * width : (k + 1) * width] = rng.poisson(2.0, width)
    X[:, -1] = 5
    return own, documents.pairs_of(csr_array(X))


def clustered(pairs, n_clusters, n_terms, each=serial, seed=0):
    index = documents.index_pairs(pairs, 0, pairs.n_docs, n_terms)
    return clusters.cluster_documents(pairs, index, n_clusters, seed, each)


@pytest.mark.parametrize("seed", range(5))
def test_documents_that_share_no_terms_are_never_together(seed):
    """The term that all documents have weighs nothing."""
    own, pairs = separate(seed=seed)
    chosen = clustered(pairs, 6, 25, seed=seed)
    assert (chosen >= 0).any()
    for k in range(6):
        assert len(set(own[chosen == k])) <= 1


def test_every_document_is_with_the_nearest_centre_of_its_cluster():
    """The dense twin: one more round from the final clusters moves next to nothing."""
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, (200, 40)).astype(np.float32)
    pairs = documents.pairs_of(csr_array(X))
    chosen = clustered(pairs, 4, 40)
    weights = np.log1p(X) * np.log(201.0 / ((X > 0).sum(axis=0) + 1.0))
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-30)
    centres = np.array([weights[chosen == k].sum(axis=0) for k in range(4)])
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    assert (np.argmax(weights @ centres.T, axis=1) == chosen).mean() > 0.9


def test_the_start_holds_the_mass_of_the_corpus():
    _, pairs = separate()
    start = clusters.cluster_start(pairs, 25, 3, 0, serial)
    np.testing.assert_allclose(start.sum(), pairs.n_tokens, rtol=0.3)
    assert (start >= 0).all()


def test_corpora_with_little_in_them():
    for X in (np.zeros((3, 4)), np.eye(1, 4), np.ones((6, 4)), np.zeros((0, 4))):
        pairs = documents.pairs_of(csr_array(X.astype(np.float32)))
        start = clusters.cluster_start(pairs, 4, 5, 0, serial)
        assert start.shape == (4, 5)
        assert np.isfinite(start).all()
        if pairs.n_tokens:  # topics that nothing tells apart would stay the same forever
            assert len({tuple(column) for column in start.T}) == 5


def test_threads_do_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(shards, "_PIECE", 1e-6)
    monkeypatch.setattr(shards, "_LEAST", 0)
    _, pairs = separate()
    expected = clusters.cluster_start(pairs, 25, 3, 0, serial)
    for n_threads in (2, 4):
        with shards.Workers(n_threads) as workers:
            actual = clusters.cluster_start(pairs, 25, 3, 0, workers.each)
        np.testing.assert_array_equal(actual, expected)
