"""Diagnosis of a solution, normalisation, starts of LDA, and defaults that depend on other parameters."""

from itertools import permutations

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import moments as reference

from bayou import SpectralLDA, SpectralLeader
from bayou.inference.lda.documents import pairs_of
from bayou.inference.spectral import moments, solve, tensor

RNG = np.random.default_rng(8)
NO_DOUBT = solve.Diagnosis(np.array([4.0, 2.0, 0.5, -0.1]), 2, 0.1, 1.0, np.ones(2), 0.0, 100, 0, 0)
EVEN = np.array([0.5, 0.5])


@pytest.mark.parametrize(("rank", "gap"), [(1, 2.0), (2, 4.0), (3, np.inf), (4, np.inf)])
def test_the_gap_is_the_last_eigenvalue_in_use_over_the_next(rank, gap):
    assert NO_DOUBT._replace(rank=rank).gap == gap
    assert np.isnan(NO_DOUBT._replace(rank=0).gap)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_docs": 0}, "no document has three tokens"),
        ({"rank": 1}, "support 1 topics, not 2"),
        ({"eigenvalues": np.array([4.0, 2.0, 1.01])}, "only 1.98 times"),
        ({"weight_sum": 1.21}, "sum to 1.21"),
        ({"weight_sum": 0.79}, "sum to 0.79"),
        ({"column_sums": np.array([1.0, 0.7])}, "1 topics do not sum to 1"),
        ({"residual": 0.51}, "51% of the third moment"),
        ({"n_bursty": 12}, "12 documents are mostly one term"),
    ],
)
def test_each_doubt_is_a_sentence(change, message):
    (doubt,) = NO_DOUBT._replace(**change).doubts(2, EVEN)
    assert message in doubt


@pytest.mark.parametrize(
    "change",
    [
        {"eigenvalues": np.array([4.0, 2.0, 1.0])},
        {"weight_sum": 1.19},
        {"weight_sum": 0.81},
        {"column_sums": np.array([1.19, 0.81])},
        {"residual": 0.5},
        {"n_bursty": 11},
    ],
    ids=str,
)
def test_there_is_no_doubt_within_the_limits(change):
    assert NO_DOUBT._replace(**change).doubts(2, EVEN) == []


def test_small_topics_are_doubted_beside_those_that_are_missing():
    assert NO_DOUBT.doubts(2, np.array([0.949, 0.051])) == []
    (doubt,) = NO_DOUBT.doubts(2, np.array([0.951, 0.049]))
    assert doubt.startswith("1 topics are very small")
    few = NO_DOUBT._replace(rank=1).doubts(2, np.array([1.0, 1e-9]))
    assert len(few) == 1, "a topic that the documents do not support is not small as well"


def sums_of(counts):
    pairs = pairs_of(csr_array(np.asarray(counts, np.float32)))
    weights = moments.document_weights(pairs, True, None)
    return moments.add(moments.empty(np.eye(counts.shape[1])), pairs, weights)


def test_topics_are_clipped_ordered_and_filled_up():
    sums = sums_of(RNG.integers(0, 3, (30, 3)))
    columns = np.array([[0.5, 0.9], [0.7, 0.4], [-0.2, -0.1]])
    values = np.array([3.0, 2.0, 1.0])
    found = solve._finish(sums, 3, values, 0.25, np.array([0.2, 0.7]), columns)
    np.testing.assert_allclose(found.rows[:, 0], [0.9 / 1.3, 0.4 / 1.3, 0.0])
    np.testing.assert_allclose(found.rows[:, 1], [0.5 / 1.2, 0.7 / 1.2, 0.0])
    np.testing.assert_allclose(found.rows[:, 2], sums.once[:, 2] / sums.weight)
    np.testing.assert_allclose(found.weights, [7 / 9, 2 / 9, 1e-9], atol=1e-8)
    d = found.diagnosis
    assert (d.rank, d.residual, d.weight_sum) == (2, 0.25, pytest.approx(0.9))
    assert d.negative == pytest.approx(0.2 / 1.2)
    np.testing.assert_allclose(d.column_sums, [1.0, 1.2])


def test_no_moments_give_the_distribution_of_all_terms():
    sums = sums_of(np.array([[2, 1, 0], [0, 2, 1]]))
    found = solve.nothing(sums, 2)
    np.testing.assert_allclose(found.rows[:, 1], sums.once[:, 2] / sums.once[:, 2].sum())
    np.testing.assert_allclose(found.weights, 0.5)
    bare = solve.nothing(moments.empty(np.eye(4)), 2)
    np.testing.assert_allclose(bare.rows, 0.25)


def test_a_sample_is_sorted_and_has_no_document_twice():
    assert solve.sample_of(30, 30, 1) is None
    some = solve.sample_of(31, 30, 1)
    assert len(set(some)) == 30 == len(some)
    assert (np.diff(some) > 0).all()
    assert not np.array_equal(some, solve.sample_of(31, 30, 2))


def test_a_start_of_lda_is_the_solution_mixed_with_all_terms():
    topics = RNG.dirichlet(0.2 * np.ones(8), 2)
    counts = np.array([RNG.multinomial(25, topics[int(RNG.random() < 0.4)]) for _ in range(400)])
    counts[7] = [20, 10, 10, 0, 0, 0, 0, 0]  # half of one term, so left out of the moments
    pairs = pairs_of(csr_array(counts.astype(np.float32)))
    start = solve.lda_start(pairs, 8, 2, 3)
    weight = moments.document_weights(pairs, True, 0.4)
    assert weight[7] < 0
    sums = solve.from_documents(pairs, weight, 8, 4, None, 3)
    answer = solve.solve(sums, 2, "symmetric", 3, 1.0)
    unigram = counts.sum(axis=0) / counts.sum()
    mixed = 0.8 * answer.rows + 0.2 * unigram[:, None]
    share = np.maximum(answer.weights, 0.05)
    np.testing.assert_allclose(start, counts.sum() * share / share.sum() * mixed, rtol=1e-5)
    assert start.sum() == pytest.approx(counts.sum(), rel=1e-5)


@pytest.mark.parametrize(("n_topics", "most"), [(2, 10_000), (12, 12_000)])
def test_a_start_of_lda_chooses_its_directions_from_a_sample(n_topics, most, monkeypatch):
    asked = []
    monkeypatch.setattr(solve, "sample_of", lambda n, most, seed: asked.append((n, most)))
    counts = RNG.multinomial(20, RNG.dirichlet(np.ones(9)), 40).astype(np.float32)
    solve.lda_start(pairs_of(csr_array(counts)), 9, n_topics, 3)
    assert asked == [(40, most)]


@pytest.mark.parametrize(("k", "n_starts"), [(2, 10), (6, 12)])
def test_deflation_starts_ten_times_or_twice_per_component(k, n_starts, monkeypatch):
    drawn, normals = [], tensor.normals
    monkeypatch.setattr(
        tensor, "normals", lambda shape, *key: drawn.append(shape) or normals(shape, *key)
    )
    vectors = np.linalg.qr(RNG.normal(size=(k, k)))[0]
    whole = np.einsum("k,ak,bk,ck->abc", np.linspace(3.0, 1.0, k), vectors, vectors, vectors)
    tensor.decompose(tensor.dense(whole), k, "deflation", 0, whole)
    assert drawn == [(k, n_starts)] * k


def test_topics_that_are_not_supported_start_as_noise():
    counts = RNG.multinomial(20, RNG.dirichlet(np.ones(9)), 300).astype(np.float32)
    start = solve.lda_start(pairs_of(csr_array(counts)), 9, 6, 3)
    columns = start / start.sum(axis=0)
    assert start.sum() == pytest.approx(counts.sum(), rel=1e-5)
    gaps = np.abs(columns[:, :, None] - columns[:, None, :]).sum(axis=0)
    assert gaps[~np.eye(6, dtype=bool)].min() > 0.05, "no two topics are equal"
    assert start.sum(axis=0).min() > 0.01 * counts.sum(), "none is without tokens"


@pytest.mark.parametrize(
    ("given", "burn_in", "generation"),
    [
        ({"n_topics": 3}, 1000, None),
        ({"n_topics": 10}, 1000, None),
        ({"n_topics": 11}, 1100, None),
        ({"n_topics": 3, "burn_in": 7}, 7, None),
        ({"n_topics": 3, "half_life": 400}, 1000, 1000),
        ({"n_topics": 3, "half_life": 600}, 1000, 1200),
        ({"n_topics": 3, "half_life": 600, "generation": 5000}, 1000, 5000),
        ({"n_topics": 3, "half_life": 600, "mode": "history"}, 1000, None),
    ],
    ids=str,
)
def test_defaults_follow_from_other_parameters(given, burn_in, generation):
    p = SpectralLeader(**given).resolve()
    assert (p.burn_in, p.generation, p.alpha0) == (burn_in, generation, 0.0)
    assert SpectralLDA().resolve().alpha0 == 1.0


@pytest.mark.parametrize("k", [2, 6])
def test_a_noisy_tensor_is_decomposed_as_well_by_each_method(k):
    """Orthogonal components with noise of a twentieth of the smallest value."""
    vectors, values = np.linalg.qr(RNG.normal(size=(k, k)))[0], np.linspace(3.0, 1.0, k)
    draws = RNG.normal(size=(k, k, k)) * 0.05 / k**1.5
    noise = sum(draws.transpose(order) for order in permutations(range(3))) / 6
    noisy = np.einsum("k,ak,bk,ck->abc", values, vectors, vectors, vectors) + noise
    for method in tensor.METHODS:
        parts = tensor.decompose(tensor.dense(noisy), k, method, 0, noisy)
        off = 0.15 if method == "jennrich" else 0.06
        np.testing.assert_allclose(parts.values, values, atol=off)
        assert (np.abs(parts.vectors.T @ vectors).max(axis=1) > 1 - off).all()
        assert tensor.residual(noisy, parts) < 0.1
        assert (np.diff(parts.values) <= 0).all()


def test_deflation_takes_each_value_from_what_is_left():
    """Vectors that are not orthogonal: the second value is that of the tensor without the first part."""
    a, b = np.array([1.0, 0.0]), np.array([0.3, 1.0]) / np.hypot(0.3, 1.0)
    whole = 5 * np.einsum("i,j,k->ijk", a, a, a) + 2 * np.einsum("i,j,k->ijk", b, b, b)
    parts = tensor.decompose(tensor.dense(whole), 2, "deflation", 0, whole)
    v, w = parts.vectors.T
    first = np.einsum("ijk,i,j,k->", whole, v, v, v)
    left = whole - first * np.einsum("i,j,k->ijk", v, v, v)
    assert parts.values[0] == pytest.approx(first)
    assert parts.values[1] == pytest.approx(np.einsum("ijk,i,j,k->", left, w, w, w))
    assert abs(parts.values[1] - np.einsum("ijk,i,j,k->", whole, w, w, w)) > 1e-3


def test_values_below_one_are_clamped_for_one_topic_per_document_only():
    parts = tensor.TensorParts(np.array([2.0, 0.5]), np.eye(2))
    weights, columns = solve._parameters(parts, np.eye(2), 0.0)
    np.testing.assert_allclose(weights, [0.25, 1.0])
    np.testing.assert_allclose(columns, np.diag([2.0, 1.0]))
    weights, columns = solve._parameters(parts, np.eye(2), 2.0)
    np.testing.assert_allclose(weights, 4 * 3 / (16 * np.array([4.0, 0.25])))
    np.testing.assert_allclose(columns, np.diag([4.0, 1.0]))


def test_moments_of_a_sample_are_in_its_directions():
    counts = RNG.integers(0, 3, (60, 7)) + 1
    pairs = pairs_of(csr_array(counts.astype(np.float32)))
    weights = moments.document_weights(pairs, False, None)
    sample = np.arange(0, 60, 2)
    sums = solve.from_documents(pairs, weights, 7, 3, sample, 0)
    second = reference.corpus_moments(counts[sample], np.ones(30))[1]
    top = np.linalg.eigvalsh(second)[::-1][:3]
    np.testing.assert_allclose(np.diag(sums.basis.T @ second @ sums.basis), top, rtol=1e-6)
    assert sums.n_docs == 60, "the sums are over all documents"
