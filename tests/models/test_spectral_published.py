"""SpectralLeader as published is Algorithm 1 of its paper, on all documents so far or on a uniform sample."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import moments as reference

from bayou import SpectralLeader
from bayou.data.synthetic import sample_mixture

CORPUS, TRUTH = sample_mixture(160, 3, 8, doc_length=8, weights=[0.5, 0.3, 0.2], beta=0.3, seed=3)
COUNTS = CORPUS.counts.toarray().astype(int)
COUNTS = COUNTS[COUNTS.sum(axis=1) >= 3]


def assert_algorithm_one(model, counts):
    weights, topics = reference.spectral_method(counts, 3)
    order = np.argsort(-weights)
    weights, topics = weights[order], np.maximum(topics[order], 0.0)
    np.testing.assert_allclose(model.weights_, weights / weights.sum(), atol=1e-5)
    np.testing.assert_allclose(
        model.components_, topics / topics.sum(axis=1, keepdims=True), atol=1e-4
    )


def test_at_every_step_the_answer_is_that_of_all_documents_so_far():
    model = SpectralLeader.published(n_topics=3, random_state=0)
    for lo, hi in ((0, 60), (60, 61), (61, len(COUNTS))):
        model.partial_fit(COUNTS[lo:hi])
        assert_algorithm_one(model, COUNTS[:hi])
    assert model.state_.now.waiting.pairs.n_docs == len(COUNTS)


def test_the_reservoir_is_algorithm_one_on_its_sample():
    model = SpectralLeader.published("reservoir", n_topics=3, reservoir=70, random_state=1)
    for lo in range(0, len(COUNTS), 20):
        model.partial_fit(COUNTS[lo : lo + 20])
    kept = model.state_.pool.pairs
    shape = (kept.n_docs, COUNTS.shape[1])
    sample = csr_array((kept.counts, kept.terms, kept.indptr), shape=shape).toarray().astype(int)
    assert kept.n_docs == 70
    assert_algorithm_one(model, sample)


def test_nothing_that_came_later_is_on():
    plain = SpectralLeader.published().get_params()
    assert (plain["n_polish"], plain["smoothing"], plain["max_share"]) == (0, 0.0, None)
    assert (plain["half_life"], plain["weighting"]) == (None, "documents")
    assert SpectralLeader.published("reservoir").reservoir == 10_000, "as in the experiments"
    assert SpectralLeader.published(smoothing=5.0).smoothing == 5.0
    with pytest.raises(ValueError, match="mode must be one of 'history', 'reservoir'"):
        SpectralLeader.published("basis")
    default = SpectralLeader(n_topics=3, random_state=0).partial_fit(COUNTS)
    published = SpectralLeader.published(n_topics=3, random_state=0).partial_fit(COUNTS)
    assert np.abs(default.components_ - published.components_).max() > 1e-3
