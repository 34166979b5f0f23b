"""Factorised EM against dense responsibilities; results do not depend on how work is cut."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import em as twin
from tests.reference import lda

from bayou.inference.lda.documents import index_pairs, pairs_of
from bayou.kernels.lda import em

F = np.float32
BETA = 0.3


def problem(seed, n_docs=12, n_terms=20, n_topics=5, fractional=False):
    """A corpus with empty and one-token documents, and counts of any size to start from."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.6, (n_docs, n_terms)).astype(float)
    if fractional:
        X *= rng.uniform(0.05, 1.5, X.shape)
    X[3], X[4] = 0, 0
    X[4, 7] = 1
    X = X.astype(F)
    alpha = rng.gamma(2.0, 0.2, n_topics).astype(F)
    n_dk = rng.gamma(1.0, 1.0, (n_docs, n_topics)).astype(F)
    n_vk = rng.gamma(1.0, 2.0, (n_terms, n_topics)).astype(F)
    inv = (1.0 / (n_vk.sum(axis=0, dtype=float) + n_terms * BETA)).astype(F)
    return X, pairs_of(csr_array(X)), n_dk, n_vk, (alpha, inv)


def plain(pairs, n_dk, n_vk, prior, *, scale=1.0, n_inner=1, cuts=(), beta=BETA, gain=1.0):
    """Documents then terms, each in the pieces that ``cuts`` makes; gives (n_dk, n_vk)."""
    n_docs, n_terms = len(n_dk), len(n_vk)
    n_dk, out = n_dk.copy(), np.zeros_like(n_vk)
    theta, ratio = np.empty_like(n_dk), np.empty(len(pairs.terms), F)
    for lo, hi in pieces(n_docs, cuts):
        em.plain_docs(
            n_dk, theta, ratio, tuple(pairs), 0, lo, hi, n_vk, F(scale), F(beta), prior, n_inner
        )
    index = index_pairs(pairs, 0, n_docs, n_terms)
    for lo, hi in pieces(len(index.terms), cuts):
        em.plain_terms(out, tuple(index), lo, hi, theta, ratio, n_vk, F(scale), F(beta), F(gain))
    return n_dk, out


def cavity(pairs, n_dk, n_vk, prior, cuts=()):
    n_docs, n_terms = len(n_dk), len(n_vk)
    n_dk, out, smooth = n_dk.copy(), np.zeros_like(n_vk), n_vk + F(BETA)
    theta, sub = np.empty_like(n_dk), np.empty_like(n_dk)
    ratio, ratio_sub = np.empty(len(pairs.terms), F), np.empty(len(pairs.terms), F)
    for lo, hi in pieces(n_docs, cuts):
        em.cavity_docs(n_dk, theta, sub, ratio, ratio_sub, tuple(pairs), 0, lo, hi, smooth, prior)
    index = index_pairs(pairs, 0, n_docs, n_terms)
    for lo, hi in pieces(len(index.terms), cuts):
        em.cavity_terms(out, tuple(index), lo, hi, theta, sub, ratio, ratio_sub, smooth, F(1.0))
    return n_dk, out


def pieces(n, cuts):
    ends = [0, *[c for c in cuts if c < n], n]
    return list(itertools.pairwise(ends))[::-1]


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("fractional", [False, True])
def test_plain_kernels_are_one_dense_em_step(fractional):
    X, pairs, n_dk, n_vk, prior = problem(1, fractional=fractional)
    docs, terms = plain(pairs, n_dk, n_vk, prior)
    expected = twin.em_step(X.astype(float), n_dk, n_vk.astype(float), prior[0], BETA)
    close(docs, expected[0])
    close(terms, expected[1])
    assert not docs[3].any()


def test_inner_steps_move_documents_and_leave_topics():
    X, pairs, n_dk, n_vk, prior = problem(2)
    docs, terms = plain(pairs, n_dk, n_vk, prior, n_inner=4)
    rows, expected = twin.topic_rows(n_vk.astype(float), BETA), n_dk.astype(float)
    for _ in range(4):
        r = twin.responsibilities(expected, rows, prior[0])
        expected, by_term = twin.sums(X.astype(float), r)
    close(docs, expected)
    close(terms, by_term)


def test_scale_stands_for_a_rescaled_matrix():
    """Counts stored as n / scale with the scale beside them give the same step."""
    _, pairs, n_dk, n_vk, prior = problem(3)
    docs, terms = plain(pairs, n_dk, n_vk, prior, gain=0.7)
    small = plain(pairs, n_dk, n_vk / F(0.01), prior, scale=0.01, gain=0.7)
    close(small[0], docs)
    close(small[1], terms)


def test_terms_may_be_written_over_themselves():
    _, pairs, n_dk, n_vk, prior = problem(4)
    theta, ratio = np.empty_like(n_dk), np.empty(len(pairs.terms), F)
    both = (F(1), F(BETA))
    em.plain_docs(n_dk, theta, ratio, tuple(pairs), 0, 0, len(n_dk), n_vk, *both, prior, 1)
    index = tuple(index_pairs(pairs, 0, len(n_dk), len(n_vk)))
    apart, own = n_vk.copy(), n_vk.copy()
    em.plain_terms(apart, index, 0, len(index[0]), theta, ratio, n_vk, *both, F(0.5))
    em.plain_terms(own, index, 0, len(index[0]), theta, ratio, own, *both, F(0.5))
    np.testing.assert_array_equal(own, apart)


@pytest.mark.parametrize("fractional", [False, True])
def test_cavity_kernels_are_the_dense_one_sided_cvb0(fractional):
    """Removal of a token's own share from its document; a count below one removes itself alone."""
    X, pairs, n_dk, n_vk, prior = problem(5, fractional=fractional)
    assert ((X > 0) & (X < 1)).any() == fractional
    docs, terms = cavity(pairs, n_dk, n_vk, prior)
    expected = twin.cavity_step(X.astype(float), n_dk, n_vk.astype(float), prior[0], BETA)
    close(docs, expected[0])
    close(terms, expected[1])
    np.testing.assert_allclose(docs.sum(axis=1), X.sum(axis=1), rtol=1e-4, atol=1e-5)


def test_cavity_of_a_single_token_is_the_prior_times_the_row():
    """Without itself a one-token document knows nothing but alpha."""
    _, pairs, n_dk, n_vk, prior = problem(6)
    docs, _ = cavity(pairs, n_dk, n_vk, prior)
    weights = prior[0] * twin.topic_rows(n_vk.astype(float), BETA)[7]
    close(docs[4], weights / weights.sum())


@pytest.mark.parametrize("step", [plain, cavity])
def test_any_cut_of_the_work_gives_the_same_bits(step):
    _, pairs, n_dk, n_vk, prior = problem(7)
    whole = step(pairs, n_dk, n_vk, prior)
    for cuts in ((1,), (5, 6, 9), tuple(range(1, 20))):
        cut = step(pairs, n_dk, n_vk, prior, cuts=cuts)
        np.testing.assert_array_equal(cut[0], whole[0])
        np.testing.assert_array_equal(cut[1], whole[1])


def test_a_run_of_documents_has_its_own_scratch():
    """Rows of theta and entries of ratio count from the first document of the batch."""
    _, pairs, n_dk, n_vk, prior = problem(8)
    whole = plain(pairs, n_dk, n_vk, prior)[0]
    theta, ratio = np.empty((4, 5), F), np.empty(len(pairs.terms), F)
    em.plain_docs(n_dk, theta, ratio, tuple(pairs), 6, 7, 10, n_vk, F(1), F(BETA), prior, 1)
    np.testing.assert_array_equal(n_dk[7:10], whole[7:10])
    index = index_pairs(pairs, 6, 10, 20)
    mine = pairs.terms[pairs.indptr[6] : pairs.indptr[10]]
    np.testing.assert_array_equal(mine[index.at], np.repeat(index.terms, np.diff(index.termptr)))
    owner = np.repeat(np.arange(4), np.diff(pairs.indptr[6:11]))
    np.testing.assert_array_equal(owner[index.at], index.rows)


def test_relaxation_steps_past_the_new_counts_and_stops_at_zero():
    rng = np.random.default_rng(0)
    old, new = rng.gamma(1, 1, (6, 4)).astype(F), rng.gamma(1, 1, (6, 4)).astype(F)
    smooth, fresh = old + F(BETA), new.copy()
    em.relax_terms(smooth, fresh, 0, 6, F(BETA), F(1.5))
    np.testing.assert_allclose(smooth, np.maximum(old + 1.5 * (new - old), 0), atol=1e-5)
    assert (smooth == 0).any()
    assert not fresh.any()
    smooth = old + F(BETA)
    em.relax_terms(smooth, new.copy(), 0, 6, F(BETA), F(1))
    np.testing.assert_allclose(smooth, new, atol=1e-6)


def test_plain_em_never_lowers_the_posterior_density():
    """Full-batch EM: ln p(w, theta, phi | alpha + 1, beta + 1) rises until it rests."""
    X, pairs, n_dk, n_vk, (alpha, _) = problem(9, n_docs=30)
    values = []
    for _ in range(60):
        inv = (1.0 / (n_vk.sum(axis=0, dtype=float) + len(n_vk) * BETA)).astype(F)
        n_dk, n_vk = plain(pairs, n_dk, n_vk, (alpha, inv))
        values.append(twin.objective(X.astype(float), n_dk.astype(float), n_vk, alpha, BETA))
    rises = np.diff(values)
    assert rises.min() > -1e-5 * abs(values[-1])
    assert values[-1] - values[0] > 1
    assert rises[-1] < 0.05 * rises[0]


@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize("fractional", [False, True])
def test_scvb0_is_its_sequential_twin(fractional, scale):
    X, pairs, n_dk, n_vk, prior = problem(10, fractional=fractional)
    start, cut = n_dk.copy(), n_dk.copy()
    theta, ratio = np.empty_like(n_dk), np.empty(len(pairs.terms), F)
    args = (n_vk / F(scale), F(scale), F(BETA), prior, (3, 10.0, 0.9))
    em.scvb0_docs(n_dk, theta, ratio, tuple(pairs), 0, 0, len(n_dk), *args)
    rows = twin.topic_rows(n_vk.astype(float), BETA)
    for d, x in enumerate(X.astype(float)):
        close(n_dk[d], twin.scvb0_document(x, start[d].astype(float), rows, prior[0], 3, 10.0, 0.9))
    # The statistics of the terms are those of the final proportions.
    index, out = index_pairs(pairs, 0, len(n_dk), len(n_vk)), np.zeros_like(n_vk)
    em.plain_terms(out, tuple(index), 0, len(index.terms), theta, ratio, *args[:3], F(1))
    close(out, twin.em_step(X.astype(float), n_dk, n_vk.astype(float), prior[0], BETA)[1])
    for lo, hi in pieces(len(cut), (2, 3, 8)):
        em.scvb0_docs(cut, theta, ratio, tuple(pairs), 0, lo, hi, *args)
    np.testing.assert_array_equal(cut, n_dk)


def test_noise_is_exponential_around_the_mean_and_keyed_by_term():
    mean, out = np.array([2.0, 0.0, 5.0]), np.empty((3, 400), F)
    em.noise_terms(out, mean, 1, 3, 6)
    em.noise_terms(out, mean, 0, 1, 6)
    for v in range(3):
        stream = lda.Stream(6, lda.INIT, 0, v)
        u = np.array([stream.next() for _ in range(400)])
        np.testing.assert_allclose(out[v], -np.log1p(-u) * mean[v], rtol=1e-6)


def test_small_matrix_kernels():
    n_vk = np.random.default_rng(0).gamma(1, 1, (6, 4)).astype(F)
    inv, rows = (1 / (n_vk.sum(axis=0) + 6 * BETA)).astype(F), np.empty_like(n_vk)
    em.rows_into(rows, n_vk, 0, 6, F(BETA), inv)
    np.testing.assert_allclose(rows, twin.topic_rows(n_vk, BETA), rtol=1e-5)
    totals = np.zeros(4)
    em.column_sums(totals, n_vk, 0, 6)
    np.testing.assert_allclose(totals, n_vk.sum(axis=0, dtype=float), rtol=1e-12)
    changed = n_vk.copy()
    em.affine_terms(changed, 2, 5, F(0.5), F(1.0))
    np.testing.assert_allclose(changed[2:5], 0.5 * n_vk[2:5] + 1, rtol=1e-6)
    np.testing.assert_array_equal(changed[[0, 1, 5]], n_vk[[0, 1, 5]])
