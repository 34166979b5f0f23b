"""Moments: the sums over documents are what listing all positions gives."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import moments as reference

from bayou.inference.lda.documents import pairs_of
from bayou.inference.spectral import moments, solve, tensor
from bayou.kernels.spectral.moments import count_terms

RNG = np.random.default_rng(5)
COUNTS = RNG.integers(0, 4, (12, 5))
COUNTS[:3] = [[0, 0, 0, 0, 0], [1, 0, 1, 0, 0], [0, 3, 0, 0, 0]]
LENGTHS = COUNTS.sum(axis=1)
FIT = LENGTHS >= 3


def sums_of(counts, basis, by_tokens=True):
    pairs = pairs_of(csr_array(np.asarray(counts, np.float32)))
    weights = moments.document_weights(pairs, by_tokens, None)
    return moments.add(moments.empty(basis), pairs, weights)


def test_known_terms_are_counted_over_all_documents_short_ones_too():
    known = np.arange(5.0)
    count_terms(known, tuple(pairs_of(csr_array(np.asarray(COUNTS, np.float32)))))
    np.testing.assert_array_equal(known, np.arange(5) + COUNTS.sum(axis=0))


@pytest.mark.parametrize("by_tokens", [True, False])
def test_moments_equal_averages_over_positions(by_tokens):
    basis = RNG.normal(size=(5, 4))
    sums = sums_of(COUNTS, basis, by_tokens)
    weights = LENGTHS[FIT] if by_tokens else np.ones(FIT.sum())
    first, second, third = reference.corpus_moments(COUNTS[FIT], weights)
    seen = moments.second_moment(sums)
    np.testing.assert_allclose(seen.first, first, atol=1e-14)
    np.testing.assert_allclose(seen.back, second @ basis, atol=1e-14)
    np.testing.assert_allclose(seen.second, basis.T @ second @ basis, atol=1e-13)
    whiten = RNG.normal(size=(4, 3))
    w = basis @ whiten
    expected = np.einsum("abc,ai,bj,ck->ijk", third, w, w, w)
    np.testing.assert_allclose(moments.third_moment(sums, whiten), expected, atol=1e-12)
    assert (sums.n_docs, sums.n_short, sums.n_bursty) == (FIT.sum(), (~FIT).sum(), 0)


@pytest.mark.parametrize("length", [3, 4, 5])
def test_moments_are_unbiased(length):
    weights, topics = np.array([0.3, 0.7]), RNG.dirichlet(np.ones(3), 2)
    found = [0.0, 0.0, 0.0]
    for counts, p in reference.sequences(weights, topics, length):
        for i, part in enumerate(reference.moments_by_positions(counts)):
            found[i] = found[i] + p * part
    for got, expected in zip(found, reference.population(weights, topics), strict=True):
        np.testing.assert_allclose(got, expected, atol=1e-14)
    np.testing.assert_allclose(found[2].sum(axis=2), found[1], atol=1e-14)
    np.testing.assert_allclose(found[1].sum(axis=1), found[0], atol=1e-14)


def test_lda_moments_have_the_form_of_single_topics():
    alpha, topics = np.array([0.2, 0.5, 0.3]), RNG.dirichlet(np.ones(4), 3)
    first, second, third = reference.lda_moments(alpha, topics)
    a0, basis, whiten = alpha.sum(), np.eye(4), RNG.normal(size=(4, 2))
    sums = _exact(first, second, third, basis)
    seen = moments.second_moment(sums, a0)
    np.testing.assert_allclose(
        seen.back, reference.population(alpha / (a0 * (a0 + 1)), topics)[1], atol=1e-14
    )
    expected = reference.population(2 * alpha / (a0 * (a0 + 1) * (a0 + 2)), topics)[2]
    got = moments.third_moment(sums, whiten, a0)
    np.testing.assert_allclose(
        got, np.einsum("abc,ai,bj,ck->ijk", expected, whiten, whiten, whiten), atol=1e-14
    )


def _exact(first, second, third, basis):
    """Sums whose moments are exactly these: no term is ever taken twice, so nothing is subtracted."""
    d, r = basis.shape
    seen = np.hstack([second @ basis, np.zeros((d, r))])
    whole = np.einsum("abc,ai,bj,ck->ijk", third, basis, basis, basis, optimize=True)
    cube = [whole[i, j, k] for i in range(r) for j in range(i + 1) for k in range(j + 1)]
    once = np.column_stack([np.zeros(d), np.zeros(d), first])
    return moments.Moments(basis, seen, np.array(cube), once, 1.0, 1, 0, 0)


@pytest.mark.parametrize("method", tensor.METHODS)
@pytest.mark.parametrize("k", [1, 3, 20])
def test_exact_moments_give_back_the_model(method, k):
    d = 60
    weights, topics = RNG.dirichlet(20 * np.ones(k)), RNG.dirichlet(0.05 * np.ones(d), k)
    basis = np.linalg.qr(RNG.normal(size=(d, 2 * k)))[0]
    sums = _exact(*reference.population(weights, topics), basis)
    found = solve.solve(sums, k, method, 0)
    order = np.argsort(-weights)
    np.testing.assert_allclose(found.weights, weights[order], atol=1e-7)
    np.testing.assert_allclose(found.rows.T, topics[order], atol=1e-6)
    assert found.diagnosis.doubts(k, found.weights) == []
    assert found.diagnosis.residual < 1e-6


def test_exact_moments_of_lda_give_back_alpha():
    alpha, topics = np.array([0.1, 0.5, 0.9]), RNG.dirichlet(0.3 * np.ones(12), 3)
    sums = _exact(*reference.lda_moments(alpha, topics), np.eye(12))
    found = solve.solve(sums, 3, "symmetric", 0, alpha0=alpha.sum())
    np.testing.assert_allclose(found.weights * alpha.sum(), alpha[::-1], atol=1e-9)
    np.testing.assert_allclose(found.rows.T, topics[::-1], atol=1e-9)


def test_no_alpha_is_the_single_topic_model():
    sums = sums_of(RNG.integers(0, 3, (50, 6)), np.eye(6))
    one = solve.solve(sums, 2, "symmetric", 0)
    other = solve.solve(sums, 2, "symmetric", 0, alpha0=1e-7)
    np.testing.assert_allclose(other.rows, one.rows, atol=1e-4)


def test_shards_add_up():
    basis = RNG.normal(size=(5, 3))
    whole = sums_of(COUNTS, basis)
    both = moments.merge_sums(sums_of(COUNTS[:6], basis), sums_of(COUNTS[6:], basis))
    for got, expected in zip(both, whole, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match="same basis"):
        moments.merge_sums(whole, sums_of(COUNTS, basis + 1))


def test_any_basis_of_the_same_space_gives_the_same_topics():
    counts = RNG.integers(0, 3, (300, 6))
    basis = RNG.normal(size=(6, 4))
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    one, other = (solve.solve(sums_of(counts, b), 2, "symmetric", 0) for b in (basis, basis @ turn))
    np.testing.assert_allclose(other.rows, one.rows, atol=1e-8)
    np.testing.assert_allclose(other.weights, one.weights, atol=1e-8)


def test_products_without_the_tensor_are_those_of_the_tensor():
    counts = RNG.integers(0, 3, (40, 6))
    pairs = pairs_of(csr_array(counts.astype(np.float32)))
    weights = moments.document_weights(pairs, True, None)
    whiten, v = RNG.normal(size=(6, 3)), RNG.normal(size=(3, 2))
    third = moments.third_moment(sums_of(counts, np.eye(6)), whiten)
    got = tensor.implicit(pairs, weights, whiten)(v)
    np.testing.assert_allclose(got, np.einsum("abc,bk,ck->ak", third, v, v), atol=1e-12)
    np.testing.assert_allclose(tensor.dense(third)(v), got, atol=1e-12)


@pytest.mark.parametrize("n_terms", [40, 300])
def test_main_directions_are_eigenvectors_by_algebraic_value(n_terms):
    counts = RNG.integers(0, 2, (60, n_terms))
    pairs = pairs_of(csr_array(counts.astype(np.float32)))
    weights = moments.document_weights(pairs, False, None)
    second = _second(counts[weights > 0])
    q = moments.main_directions(pairs, weights, n_terms, 3, 0)
    top = np.linalg.eigvalsh(second)[::-1][:3]
    np.testing.assert_allclose(np.diag(q.T @ second @ q), top, rtol=1e-3)
    np.testing.assert_allclose(q.T @ q, np.eye(3), atol=1e-8)


def _second(counts):
    length = counts.sum(axis=1)
    b = 1.0 / (length * (length - 1.0)) / len(counts)
    return np.einsum("d,da,db->ab", b, counts, counts) - np.diag(counts.T @ b)


def test_long_documents_of_one_term_are_left_out():
    counts = np.zeros((3, 4), np.float32)
    counts[0, 0], counts[1] = 40, 10
    counts[2, :2] = [2, 1]  # short: two of three tokens may well be alike
    pairs = pairs_of(csr_array(counts))
    assert moments.document_weights(pairs, True, 0.4).tolist() == [-1.0, 40.0, 3.0]
    assert moments.document_weights(pairs, True, None).tolist() == [40.0, 40.0, 3.0]


@pytest.mark.parametrize("n_docs", [1, 3, 8])
def test_directions_of_very_few_documents(n_docs):
    counts = np.random.default_rng(n_docs).poisson(0.4, (n_docs, 900))
    pairs = pairs_of(csr_array(counts.astype(np.float32)))
    q = moments.main_directions(pairs, np.ones(n_docs), 900, 20, 0)
    np.testing.assert_allclose(q.T @ q, np.eye(20), atol=1e-8)
    assert (q[counts.sum(axis=0) == 0] == 0).all()


def test_directions_by_subspace_iteration():
    values = np.array([5.0, 3.0, 2.0, 0.1, -1.0, -2.0])
    turn = np.linalg.qr(RNG.normal(size=(6, 6)))[0]
    matrix = turn * values @ turn.T
    got = moments._subspace(lambda x: matrix @ x, 2.5, RNG.normal(size=(6, 3)))
    np.testing.assert_allclose(np.abs(np.diag(got.T @ turn[:, :3])), 1.0, atol=1e-4)
