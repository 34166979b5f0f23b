"""Measures of topics alone, against twins, scipy and cases with a known answer."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import jensenshannon
from tests.reference import metrics as twin

from bayou.metrics import diversity, exclusivity, frex, top_terms, topic_distances


@pytest.fixture
def topics():
    return np.random.default_rng(0).dirichlet(np.full(30, 0.3), size=5)


@pytest.mark.parametrize("n", [1, 7, 30])
def test_top_terms(topics, n):
    expected = np.argsort(-topics, axis=1, kind="stable")[:, :n]
    np.testing.assert_array_equal(top_terms(topics, n), expected)
    names = [chr(65 + v) for v in range(30)]
    assert top_terms(topics, n, names) == [[names[v] for v in row] for row in expected]


def test_ties_go_to_the_lower_column():
    topics = np.array([[0.25, 0.25, 0.25, 0.25], [0.1, 0.4, 0.1, 0.4]])
    np.testing.assert_array_equal(top_terms(topics, 3), [[0, 1, 2], [1, 3, 0]])


def test_diversity(topics):
    blocks = np.kron(np.eye(4), np.full(5, 0.2))
    assert diversity(blocks, 5) == 1.0
    assert diversity(np.tile(topics[0], (4, 1)), 5) == 0.25
    seen = {v for row in np.argsort(-topics)[:, :6] for v in row}
    assert diversity(topics, 6) == len(seen) / 30


def test_exclusivity(topics):
    blocks = np.kron(np.eye(4), np.full(5, 0.2))
    np.testing.assert_allclose(exclusivity(blocks, 5), 1)
    np.testing.assert_allclose(exclusivity(np.tile(topics[0], (4, 1)), 5), 0.25)
    expected = [
        np.mean([topics[k, v] / topics[:, v].sum() for v in np.argsort(-topics[k])[:6]])
        for k in range(5)
    ]
    np.testing.assert_allclose(exclusivity(topics, 6), expected)


@pytest.mark.parametrize("weight", [0.0, 0.3, 0.5, 1.0])
def test_frex_equals_its_twin(topics, weight):
    np.testing.assert_allclose(frex(topics, weight), twin.frex(topics, weight), rtol=1e-12)


def test_frex_shrinks_the_shares_of_rare_terms(topics):
    rng = np.random.default_rng(1)
    X = rng.poisson(0.3, size=(10, 30))
    X[:, 0] = 0
    shares = topics / topics.sum(axis=0)
    shrunk = np.stack([twin.shrunk_share(shares[:, v], X[:, v].sum()) for v in range(30)], axis=1)
    # Weight 1 leaves the rank of exclusivity alone.
    expected = [[np.mean(row <= value + 1e-12) for value in row] for row in shrunk]
    np.testing.assert_allclose(frex(topics, 1.0, X), expected)
    np.testing.assert_array_equal(frex(topics, 0.5, X.sum(axis=0)), frex(topics, 0.5, X))
    np.testing.assert_array_equal(frex(topics, 0.5, sparse.csr_matrix(X)), frex(topics, 0.5, X))
    many = np.full(30, 1e12)
    np.testing.assert_allclose(frex(topics, 0.5, many), frex(topics, 0.5))


def test_frex_of_terms_without_mass():
    topics = np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])
    assert np.isfinite(frex(topics)).all()
    np.testing.assert_allclose(exclusivity(topics, 3), [(1 / 3 + 1 + 0.5) / 3, (2 / 3 + 0.5) / 3])


@pytest.mark.parametrize("metric", ["jsd", "hellinger", "cosine"])
def test_distances_are_distances(topics, metric):
    topics = np.vstack([topics, topics[:1], topics[:1] * (1 + 1e-15)])
    distances = topic_distances(topics, metric)
    np.testing.assert_array_equal(distances, distances.T)
    np.testing.assert_array_equal(np.diag(distances), 0)
    assert ((distances >= 0) & (distances <= 1)).all()
    assert distances[0, 5] < 1e-7
    assert distances[0, 6] < 1e-7
    np.testing.assert_allclose(topic_distances(np.eye(3), metric), 1 - np.eye(3))
    assert topic_distances(topics[:1], metric).shape == (1, 1)


def test_distances_equal_their_definitions(topics):
    topics[0, :10] = 0
    topics[0] /= topics[0].sum()
    for i in range(5):
        for j in range(5):
            p, q = topics[i], topics[j]
            jsd = 0.0 if i == j else jensenshannon(p, q, base=2)
            hellinger = np.sqrt(max(0, 1 - np.sqrt(p * q).sum()))
            cosine = 1 - p @ q / np.sqrt((p @ p) * (q @ q))
            assert topic_distances(topics)[i, j] == pytest.approx(jsd, abs=1e-9)
            assert topic_distances(topics, "hellinger")[i, j] == pytest.approx(hellinger, abs=1e-7)
            assert topic_distances(topics, "cosine")[i, j] == pytest.approx(cosine, abs=1e-12)


def test_bad_input_is_named(topics):
    for measure in (top_terms, diversity, exclusivity, frex, topic_distances):
        with pytest.raises(ValueError, match="sum to 1"):
            measure(topics * 2)
        with pytest.raises(ValueError, match="matrix"):
            measure(np.empty((0, 4)))
        with pytest.raises(ValueError, match="NaN"):
            measure(np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="between 1 and 30"):
        top_terms(topics, 31)
    with pytest.raises(ValueError, match="top_n"):
        diversity(topics, 0)
    with pytest.raises(ValueError, match="top_n"):
        exclusivity(topics, 31)
    with pytest.raises(ValueError, match="vocabulary has 1"):
        top_terms(topics, 3, ["a"])
    with pytest.raises(ValueError, match="weight"):
        frex(topics, 2.0)
    with pytest.raises(ValueError, match="term_counts cover 2"):
        frex(topics, 0.5, [1, 2])
    with pytest.raises(ValueError, match="non-negative"):
        frex(topics, 0.5, np.full(30, -1))
    with pytest.raises(ValueError, match="metric must be"):
        topic_distances(topics, "l1")
