"""Held-out measures against enumeration, slow twins and laws of the split."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse
from tests.reference import metrics as twin

from bayou.metrics import (
    completion_halves,
    document_completion,
    left_to_right,
    log_likelihood_rows,
)

COUNTS = hnp.arrays(
    np.int64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 5)
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def topics(rng):
    return rng.dirichlet(np.full(8, 0.5), size=3)


@pytest.fixture
def X(rng):
    return rng.poisson(1.5, size=(12, 8))


@given(COUNTS, st.integers(0, 100))
def test_halves_add_up_and_are_equal(X, seed):
    observed, scored = completion_halves(X, seed)
    np.testing.assert_array_equal((observed + scored).toarray(), X)
    n = X.sum(axis=1)
    np.testing.assert_array_equal(observed.sum(axis=1), n - n // 2)
    np.testing.assert_array_equal(scored.sum(axis=1), n // 2)


def test_fractional_documents_are_halved_and_others_dealt(X):
    mixed = X.astype(float)
    mixed[3, 0] += 0.5
    observed, scored = (half.toarray() for half in completion_halves(mixed, 0))
    np.testing.assert_array_equal(observed[3], mixed[3] / 2)
    np.testing.assert_array_equal(scored[3], mixed[3] / 2)
    whole = completion_halves(X, 0)[0].toarray()
    np.testing.assert_array_equal(np.delete(observed, 3, 0), np.delete(whole, 3, 0))


def test_halves_depend_on_content_and_seed_only(X):
    order = np.random.default_rng(1).permutation(len(X))
    observed = completion_halves(X, 5)[0].toarray()
    np.testing.assert_array_equal(completion_halves(X[order], 5)[0].toarray(), observed[order])
    np.testing.assert_array_equal(completion_halves(X[:1], 5)[0].toarray(), observed[:1])
    assert (completion_halves(X, 6)[0].toarray() != observed).any()


def test_halves_do_not_depend_on_how_the_matrix_is_stored(X):
    coo = sparse.coo_array(X)
    order = np.random.default_rng(2).permutation(coo.nnz)
    rows, columns = coo.coords[0][order], coo.coords[1][order]
    double = sparse.coo_array(
        (np.tile(coo.data[order] / 2, 2), (np.tile(rows, 2), np.tile(columns, 2))), shape=X.shape
    )
    expected = completion_halves(X, 0)[0].toarray()
    np.testing.assert_array_equal(completion_halves(double, 0)[0].toarray(), expected)


def test_every_token_is_as_often_scored():
    X = np.array([[3, 1, 4, 2]])
    scored = sum(completion_halves(X, seed)[1].toarray()[0] for seed in range(4000))
    np.testing.assert_allclose(scored / 4000, X[0] / 2, atol=0.06)


def test_halves_leave_the_input_alone(X):
    csr = sparse.csr_matrix(X.astype(np.float64))
    before = csr.copy()
    completion_halves(csr)
    np.testing.assert_array_equal(csr.data, before.data)


@pytest.mark.parametrize("alpha", [0.1, [0.5, 0.01, 2.0]])
def test_completion_by_em_equals_its_twin(topics, X, alpha):
    observed, scored = (half.toarray() for half in completion_halves(X, 3))
    expected = twin.completion(topics, np.broadcast_to(alpha, 3), observed, scored, 7)
    value = document_completion(topics, alpha, X, n_iter=7, seed=3)
    assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_completion_by_gibbs_uses_the_exact_posterior_mean(topics, seed):
    X = np.array([[2, 0, 1, 0, 3, 0, 0, 2]])
    alpha = np.array([0.3, 0.5, 0.2])
    observed, scored = (half.toarray()[0] for half in completion_halves(X, seed))
    theta = twin.exact_proportions(topics, alpha, np.repeat(np.arange(8), observed.astype(int)))
    expected = scored @ np.log(theta @ topics) / scored.sum()
    given = {"inference": "gibbs", "n_samples": 300_000, "seed": seed}
    value = document_completion(topics, alpha, X, **given)
    assert value == pytest.approx(expected, abs=5e-3)  # topics of some halves change seldom


@pytest.mark.parametrize("inference", ["em", "gibbs"])
def test_completion_does_not_depend_on_rows(topics, X, inference):
    order = np.random.default_rng(1).permutation(len(X))
    value = document_completion(topics, 0.1, X, inference=inference)
    again = document_completion(topics, 0.1, X[order], inference=inference)
    assert again == pytest.approx(value, rel=1e-12)
    padded = np.vstack([X, np.zeros((2, 8), int), np.eye(8, dtype=int)])
    assert document_completion(topics, 0.1, padded, inference=inference) == pytest.approx(value)


def test_completion_prefers_the_topics_that_made_the_text(rng):
    topics = rng.dirichlet(np.full(50, 0.05), size=4)
    theta = rng.dirichlet(np.full(4, 0.2), size=60)
    X = np.stack([rng.multinomial(80, p / p.sum()) for p in theta @ topics])
    smooth = 0.99 * topics + 0.01 / 50
    other = 0.99 * rng.dirichlet(np.full(50, 0.05), size=4) + 0.01 / 50
    for inference in ("em", "gibbs"):
        good = document_completion(smooth, 0.2, X, inference=inference)
        assert good > document_completion(other, 0.2, X, inference=inference) + 0.5


def test_completion_without_anything_to_score(topics):
    assert np.isnan(document_completion(topics, 0.1, np.zeros((3, 8))))
    assert np.isnan(document_completion(topics, 0.1, np.zeros((0, 8))))
    assert np.isnan(document_completion(topics, 0.1, np.eye(8), inference="gibbs"))


def test_a_term_that_no_topic_has(topics):
    hole = topics.copy()
    hole[:, 0] = 0
    hole /= hole.sum(axis=1, keepdims=True)
    X = np.array([[4, 1, 1, 1, 1, 0, 0, 0]])
    for inference in ("em", "gibbs"):
        assert document_completion(hole, 0.1, X, inference=inference) == -np.inf
    assert left_to_right(hole, 0.1, X)[0] == -np.inf


def test_log_likelihood_of_rows(topics, X, rng):
    theta = rng.dirichlet(np.ones(3), size=len(X))
    scores = log_likelihood_rows(topics, theta, sparse.csr_matrix(X))
    np.testing.assert_allclose(scores.sums, (X * np.log(theta @ topics)).sum(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(scores.counts, X.sum(axis=1))


@pytest.mark.parametrize("n_particles", [1, 4])
@pytest.mark.parametrize("tokens", [[0], [1, 1], [0, 1, 2], [2, 2, 0, 1, 0, 2]])
def test_left_to_right_is_unbiased(tokens, n_particles):
    topics = np.array([[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]])
    alpha = np.array([0.3, 0.1])
    exact = twin.exact_evidence(topics, alpha, tokens)
    X = np.bincount(tokens, minlength=3)[None]
    runs = np.exp(
        [left_to_right(topics, alpha, X, n_particles=n_particles, seed=s)[0] for s in range(3000)]
    )
    error = runs.std() / np.sqrt(len(runs))
    assert abs(runs.mean() - exact) < 4.5 * error + 1e-12 * exact


def test_left_to_right_with_many_particles_is_exact(topics):
    tokens = [0, 3, 3, 5, 7, 1]
    alpha = np.array([0.3, 0.5, 0.2])
    exact = np.log(twin.exact_evidence(topics, alpha, tokens))
    X = np.bincount(tokens, minlength=8)[None]
    value = left_to_right(topics, alpha, X, n_particles=20_000)[0]
    assert value == pytest.approx(exact, abs=0.02)


def test_left_to_right_depends_on_content_only(topics, X):
    order = np.random.default_rng(1).permutation(len(X))
    values = left_to_right(topics, 0.1, X)
    np.testing.assert_array_equal(left_to_right(topics, 0.1, X[order]), values[order])
    assert (left_to_right(topics, 0.1, X, seed=1) != values).any()
    assert left_to_right(topics, 0.1, np.zeros((1, 8)))[0] == 0.0


def test_a_topic_without_prior_stays_empty(topics):
    alpha = np.array([0.5, 0.0, 0.5])
    X = np.array([[1, 2, 0, 1, 0, 0, 1, 0]])
    two = topics[[0, 2]]
    value = document_completion(topics, alpha, X)
    assert value == pytest.approx(document_completion(two, 0.5, X), rel=1e-12)
    exact = np.log(twin.exact_evidence(two, np.full(2, 0.5), [0, 1, 1, 3, 6]))
    assert left_to_right(topics, alpha, X, n_particles=5000)[0] == pytest.approx(exact, abs=0.05)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topics": np.ones((3, 8))}, "sum to 1"),
        ({"topics": np.ones(8) / 8}, "matrix"),
        ({"topics": np.array([[1.5, -0.5]])}, "non-negative"),
        ({"alpha": [0.1, 0.1]}, "one entry for each of 3"),
        ({"alpha": -1.0}, "non-negative"),
        ({"alpha": 0.0}, "not all zero"),
        ({"X": np.ones((2, 5))}, "5 columns but topics have 8"),
        ({"X": -np.ones((2, 8))}, "non-negative"),
        ({"X": np.full((2, 8), np.nan)}, "finite"),
        ({"X": np.ones(8)}, "matrix"),
        ({"seed": -1}, "seed must be"),
        ({"seed": 0.5}, "seed must be"),
    ],
)
@pytest.mark.parametrize("measure", [document_completion, left_to_right])
def test_bad_input_is_named(measure, topics, X, change, message):
    given = {"topics": topics, "alpha": 0.1, "X": X} | change
    with pytest.raises(ValueError, match=message):
        measure(**given)


def test_bad_options_are_named(topics, X):
    with pytest.raises(ValueError, match="inference must be"):
        document_completion(topics, 0.1, X, inference="vb")
    with pytest.raises(ValueError, match="n_iter"):
        document_completion(topics, 0.1, X, n_iter=0)
    with pytest.raises(ValueError, match="n_samples"):
        document_completion(topics, 0.1, X, inference="gibbs", n_samples=0)
    with pytest.raises(ValueError, match="n_particles"):
        left_to_right(topics, 0.1, X, n_particles=0)
    with pytest.raises(ValueError, match="whole counts"):
        left_to_right(topics, 0.1, X + 0.5)
    with pytest.raises(ValueError, match="whole counts"):
        document_completion(topics, 0.1, X + 0.5, inference="gibbs")
    with pytest.raises(ValueError, match="doc_topics must have shape"):
        log_likelihood_rows(topics, np.ones((1, 3)) / 3, X)
