"""Sampling with a prior for every topic: twins, the joint, and LDA where the prior is flat."""

import itertools

import numpy as np
import pytest
from scipy.special import digamma
from tests.reference import lda
from tests.reference import tracking as twin

from bayou.inference.lda import sampler
from bayou.inference.lda.documents import Tokens
from bayou.inference.tracking import prior as tracking
from bayou.kernels.lda import sweep
from bayou.kernels.tracking import prior_sweep
from bayou.run.shards import Workers


def corpus(seed, n_topics=4, n_terms=7, lengths=(7, 0, 1, 12, 4)):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = rng.integers(0, n_terms, indptr[-1]).astype(np.uint32)
    z = rng.integers(0, n_topics, indptr[-1]).astype(np.uint16)
    prior = rng.gamma(0.5, 1.0, (n_terms, n_topics)) + 0.01
    return indptr, terms, z, rng.gamma(1.0, 0.5, n_topics) + 0.01, prior


def live(z, indptr, terms, n_topics, n_terms):
    _, n_vk, n_k = lda.counts(z, indptr, terms, n_topics, n_terms)
    return n_vk.astype(np.float32), n_k


@pytest.mark.parametrize("fixed", [(), (0, 2)])
def test_sweep_is_its_twin_draw_for_draw(fixed):
    indptr, terms, z, alpha, prior = corpus(1)
    gain = np.ones(4)
    gain[list(fixed)] = 0.0
    prior[:, list(fixed)] /= prior[:, list(fixed)].sum(axis=0)
    n_vk, n_k = live(z, indptr, terms, 4, 7)
    expected = z.copy()
    for step in range(3):
        both = (prior, prior.sum(axis=0), gain)
        prior_sweep.gibbs_sweep(z, (indptr, terms), n_vk, n_k, alpha, both, 5, step)
        expected = twin.prior_gibbs_sweep(expected, indptr, terms, alpha, prior, gain, 5, step)
        np.testing.assert_array_equal(z, expected)
        np.testing.assert_array_equal(n_vk, live(z, indptr, terms, 4, 7)[0])


def test_conditional_is_the_ratio_of_the_joint():
    """Every topic of every token: the weight is the joint with that topic, up to a factor."""
    indptr, terms, z, alpha, prior = corpus(2, n_topics=3, n_terms=4, lengths=(3, 2))
    gain = np.array([1.0, 0.0, 1.0])
    prior[:, 1] /= prior[:, 1].sum()
    for i, d in ((0, 0), (2, 0), (4, 1)):
        n_dk, n_vk, n_k = lda.counts(z, indptr, terms, 3, 4, without=i)
        word = (gain * n_vk[terms[i]] + prior[terms[i]]) / (gain * n_k + prior.sum(axis=0))
        weight = (n_dk[d] + alpha) * word
        logs = []
        for k in range(3):
            other = z.copy()
            other[i] = k
            logs.append(twin.log_joint(other, indptr, terms, alpha, prior, gain))
        joint = np.exp(np.array(logs) - max(logs))
        np.testing.assert_allclose(weight / weight.sum(), joint / joint.sum(), rtol=1e-10)


@pytest.mark.slow
def test_chain_visits_what_the_posterior_says():
    indptr, terms = np.array([0, 2, 4]), np.array([0, 1, 1, 2], np.uint32)
    alpha, gain = np.array([0.4, 0.8]), np.array([1.0, 0.0])
    prior = np.array([[0.3, 0.2], [0.6, 0.5], [0.2, 0.3]])
    states = list(itertools.product(range(2), repeat=4))
    exact = np.array(
        [twin.log_joint(np.array(s), indptr, terms, alpha, prior, gain) for s in states]
    )
    exact = np.exp(exact - exact.max())
    z = np.zeros(4, np.uint16)
    n_vk, n_k = live(z, indptr, terms, 2, 3)
    seen = np.zeros(len(states))
    both = (prior, prior.sum(axis=0), gain)
    for step in range(60_000):
        prior_sweep.gibbs_sweep(z, (indptr, terms), n_vk, n_k, alpha, both, 3, step)
        seen[int("".join(map(str, z)), 2)] += 1
    np.testing.assert_allclose(seen / seen.sum(), exact / exact.sum(), atol=0.01)


def test_a_flat_prior_draws_as_lda_does():
    indptr, terms, z, alpha, _ = corpus(3, lengths=(30, 0, 25, 40))
    flat = tracking.flat_prior(7, 4, 0.3)
    one, two = z.copy(), z.copy()
    n_vk, n_k = live(z, indptr, terms, 4, 7)
    m_vk, m_k = live(z, indptr, terms, 4, 7)
    with Workers(1) as workers:
        chain = sampler.make_chain(Tokens(indptr, terms), 7, 9)
        three, four = z.copy()[:, None], z.copy()
        for step in range(1, 6):
            sweep.gibbs_sweep(one, (indptr, terms), n_vk, n_k, alpha, 0.3, 9, step)
            prior_sweep.gibbs_sweep(two, (indptr, terms), m_vk, m_k, alpha, flat[:3], 9, step)
            np.testing.assert_array_equal(one, two)
            sampler.snapshot(three, chain, alpha, 0.3, step, workers.each)
            single = flat.rows.astype(np.float32)
            tracking.snapshot(four, chain, alpha, flat, single, step, workers.each)
            np.testing.assert_array_equal(three[:, 0], four)


def test_rise_is_the_sum_of_differences_of_digammas():
    rng = np.random.default_rng(0)
    counts = rng.poisson(4.0, (30, 3)).astype(np.float32)
    counts[0, 1], counts[:5] = 3000.0, 0.0
    counts[7, 1] = 3000.0
    rows, gain = rng.gamma(0.2, 1.0, (30, 3)) + 1e-3, np.array([1.0, 1.0, 0.0])
    b = rows[:, :2] + 0.02
    expected = (digamma(counts[:, :2] + b) - digamma(b)).sum()
    n, prior = np.empty(90), np.empty(90)
    m = prior_sweep.list_cells(n, prior, counts, rows, gain)
    assert m == (counts[:, :2] > 0).sum()
    assert prior_sweep.rise(n[:m], prior[:m], 0.02) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("fixed", [(), (2,)])
def test_an_expected_sweep_is_its_twin_draw_for_draw(fixed):
    indptr, terms, z, alpha, prior = corpus(3)
    gain, mass = np.ones(4), prior.sum(axis=0)
    gain[list(fixed)] = 0.0
    expected, ids = z.copy(), np.arange(5, dtype=np.uint64)
    n_vk, n_dk = np.zeros((7, 4), np.float32), np.zeros((5, 4), np.float32)
    sums = np.zeros((7, 4)), np.zeros((5, 4))
    chain = sampler.make_chain(Tokens(indptr, terms), 7, 5)
    for step in range(3):
        with Workers(1) as workers:
            known = tracking.SlicePrior(prior, mass, gain, 0.1)
            single = prior.astype(np.float32)
            rows, own = tracking.standing_rows(z, chain, known, single, workers.each)
        a32 = alpha.astype(np.float32)
        args = (z, (indptr, terms), ids, 0, 5, rows, own, a32, 5, step, n_vk, n_dk)
        prior_sweep.sweep_expectations(*args)
        expected = twin.expected_sweep(
            expected, indptr, terms, alpha, (prior, mass, gain), 5, step, sums
        )
        np.testing.assert_array_equal(z, expected)
    np.testing.assert_allclose(n_vk, sums[0], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(n_dk, sums[1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(n_dk.sum(axis=1), 3 * np.diff(indptr), rtol=1e-5)


def test_probabilities_of_a_sweep_have_the_mean_of_its_draws():
    """Over many sweeps from the same tokens both sums agree, and that of probabilities strays less."""
    indptr, terms, z, alpha, prior = corpus(4, lengths=(9, 6, 5))
    chain = sampler.make_chain(Tokens(indptr, terms), 7, 5)
    known = tracking.SlicePrior(prior, prior.sum(axis=0), np.ones(4), 0.1)
    with Workers(1) as workers:
        rows, own = tracking.standing_rows(z, chain, known, prior.astype(np.float32), workers.each)
    soft, hard = np.zeros((2000, 4)), np.zeros((2000, 4))
    for step in range(2000):
        one, n_vk, n_dk = z.copy(), np.zeros((7, 4), np.float32), np.zeros((3, 4), np.float32)
        a32 = alpha.astype(np.float32)
        args = (one, (indptr, terms), chain.ids, 0, 3, rows, own, a32, 5, step, n_vk, n_dk)
        prior_sweep.sweep_expectations(*args)
        soft[step], hard[step] = n_dk[0], np.bincount(one[:9], minlength=4)
    error = hard.std(axis=0) / np.sqrt(2000)
    assert (np.abs(soft.mean(axis=0) - hard.mean(axis=0)) < 4 * error).all()
    assert (soft.std(axis=0) < hard.std(axis=0)).all()


def test_rows_that_are_smoothed_and_how_far_they_moved():
    rng = np.random.default_rng(1)
    counts, other = rng.gamma(1.0, 1.0, (2, 8, 3)).astype(np.float32)
    prior, gain = rng.random((8, 3)).astype(np.float32), np.array([1.0, 0.0, 1.0], np.float32)
    rows, totals = np.empty((8, 3), np.float32), np.zeros(3)
    prior_sweep.smooth_into(rows, totals, counts, prior, gain)
    np.testing.assert_allclose(rows, gain * counts + prior, rtol=1e-6)
    np.testing.assert_allclose(totals, counts.sum(axis=0), rtol=1e-6)
    gap = float(np.abs(counts - other).sum())
    assert prior_sweep.total_distance(counts, other) == pytest.approx(gap, rel=1e-5)


@pytest.mark.parametrize("beta", [1e-6, 1e-8, 1e-12])
@pytest.mark.parametrize("n_topics", [1, 4])
def test_a_token_is_one_token_where_next_to_nothing_but_itself_speaks_for_its_topic(beta, n_topics):
    """Its own part of the sum is taken out, and what is left is beyond single precision."""
    indptr, terms = np.array([0, 6, 12]), np.arange(12, dtype=np.uint32)
    z = (np.arange(12) % n_topics).astype(np.uint16)
    z[:5] = 0
    chain = sampler.make_chain(Tokens(indptr, terms), 12, 5)
    prior, alpha = np.full((12, n_topics), beta), np.full(n_topics, 0.01, np.float32)
    known = tracking.SlicePrior(prior, prior.sum(axis=0), np.ones(n_topics), beta)
    n_vk, n_dk = np.zeros((12, n_topics), np.float32), np.zeros((2, n_topics), np.float32)
    with Workers(1) as workers:
        rows, own = tracking.standing_rows(z, chain, known, prior.astype(np.float32), workers.each)
    args = (z, (indptr, terms), chain.ids, 0, 2, rows, own, alpha, 5, 1, n_vk, n_dk)
    prior_sweep.sweep_expectations(*args)
    np.testing.assert_allclose(n_vk.sum(axis=1), np.ones(12), rtol=1e-5)
    np.testing.assert_allclose(n_dk.sum(axis=1), [6, 6], rtol=1e-5)
