"""Kernels of mixtures against plain NumPy."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import moments as reference

from bayou.inference.lda.documents import pairs_of
from bayou.inference.spectral.mixture import random_start
from bayou.kernels.rng import MIXTURE
from bayou.kernels.spectral import mixture

RNG = np.random.default_rng(8)
COUNTS = RNG.integers(0, 3, (17, 6)).astype(np.float64)
COUNTS[4] = 0
PAIRS = tuple(pairs_of(csr_array(COUNTS.astype(np.float32))))
TOPICS = RNG.dirichlet(np.ones(6), 3)
WEIGHTS = np.array([0.2, 0.3, 0.5])


def test_posteriors():
    out, loglik = np.empty((17, 3)), np.empty(17)
    mixture.posterior_docs(out, loglik, PAIRS, 0, 17, np.log(TOPICS.T).copy(), np.log(WEIGHTS))
    resp, expected = reference.responsibilities(COUNTS, WEIGHTS, TOPICS)
    np.testing.assert_allclose(out, resp, atol=1e-12)
    np.testing.assert_allclose(loglik, expected, atol=1e-12)
    np.testing.assert_allclose(out[4], WEIGHTS)


def test_predictive_probabilities():
    theta, value = RNG.dirichlet(np.ones(3), 17), np.empty(17)
    mixture.predictive_docs(value, theta, PAIRS, 0, 17, TOPICS.T.copy())
    np.testing.assert_allclose(value, (COUNTS * np.log(theta @ TOPICS)).sum(axis=1), atol=1e-12)


def _start(n_terms=6, n_topics=3):
    share = np.full(n_topics, 1 / n_topics)
    length = share * 5.0
    raw = random_start(n_terms, n_topics, 1) * length
    return raw, share, length, np.zeros(n_terms), np.array([1.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize("size", [1, 4, 30])
@pytest.mark.parametrize(("exponent", "pseudo"), [(0.5, 0.0), (0.7, 2.0), (1.0, 6.0)])
def test_stepwise_em(size, exponent, pseudo):
    raw, share, length, known, totals = _start()
    expected = reference.stepwise(COUNTS, share, raw.T, size, exponent, pseudo, 0.01)
    mixture.stepwise_docs(
        raw, share, length, known, totals, PAIRS, 0, 17, size, exponent, (pseudo, 0.01)
    )
    np.testing.assert_allclose(share, expected[0], rtol=1e-9)
    np.testing.assert_allclose(totals[0] * raw, expected[1].T, rtol=1e-9)
    np.testing.assert_allclose(length, totals[0] * raw.sum(axis=0), rtol=1e-9)
    assert totals[1:].tolist() == [-(-17 // size), 17, COUNTS.sum()]


def test_statistics_that_have_decayed_are_folded():
    raw, share, length, known, totals = _start()
    many = tuple(pairs_of(csr_array(np.tile(COUNTS, (60, 1)).astype(np.float32))))
    for _ in range(3):
        mixture.stepwise_docs(raw, share, length, known, totals, many, 0, 1020, 1, 0.5, (1.0, 0.01))
    assert 1e-7 < totals[0] <= 1.0
    np.testing.assert_allclose(length, totals[0] * raw.sum(axis=0), rtol=1e-9)


@pytest.mark.parametrize("pseudo", [0.0, 3.0])
def test_the_first_pass_of_incremental_em_is_stepwise_with_exponent_one(pseudo):
    one, other = _start(), _start()
    resp, order = np.zeros((17, 3)), np.arange(17)
    mixture.incremental_docs(*one, resp, order, PAIRS, 1, (pseudo, 0.01))
    mixture.stepwise_docs(*other, PAIRS, 0, 17, 1, 1.0, (pseudo, 0.01))
    np.testing.assert_allclose(one[0] / 18, other[4][0] * other[0], rtol=1e-9)
    np.testing.assert_allclose(one[1] / 18, other[1], rtol=1e-9)
    np.testing.assert_allclose(one[3], other[3])


def test_incremental_em_replaces_what_a_document_gave():
    raw, share, length, known, totals = _start()
    begin = raw.copy(), share.copy()
    resp = np.zeros((17, 3))
    for n in range(4):
        order = np.random.default_rng(n).permutation(17)
        mixture.incremental_docs(
            raw, share, length, known, totals, resp, order, PAIRS, 5, (2.0, 0.01)
        )
    np.testing.assert_allclose(raw, begin[0] + COUNTS.T @ resp, rtol=1e-9)
    np.testing.assert_allclose(share, begin[1] + resp.sum(axis=0), rtol=1e-9)
    np.testing.assert_allclose(known, COUNTS.sum(axis=0))
    assert totals[2:].tolist() == [17, COUNTS.sum()]


def test_topics_are_drawn_as_often_as_they_are_likely():
    theta = np.tile(WEIGHTS, (3000, 1))
    out = np.zeros_like(theta)
    mixture.draw_topics(out, theta, np.arange(3000, dtype=np.uint64), 0, MIXTURE, 0)
    assert (out.sum(axis=1) == 1).all()
    np.testing.assert_allclose(out.mean(axis=0), WEIGHTS, atol=0.03)
