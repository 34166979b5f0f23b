"""Dirichlet parameters from counts: what was planted comes back, and the evidence rises."""

import numpy as np
import pytest
from tests.reference.em import evidence

from bayou.inference.lda.prior import estimate_alpha, estimate_beta


def planted(alpha, lengths, seed):
    rng = np.random.default_rng(seed)
    theta = rng.dirichlet(alpha, len(lengths))
    return np.array(
        [rng.multinomial(n, t) for n, t in zip(lengths, theta, strict=True)], np.float32
    )


@pytest.mark.parametrize("alpha", [[0.1, 0.5, 2.0], [0.05] * 6, [3.0, 1.0]])
def test_planted_alpha_comes_back(alpha):
    alpha = np.array(alpha)
    lengths = np.random.default_rng(0).integers(20, 120, 4000)
    learned = estimate_alpha(np.full(len(alpha), 0.7), planted(alpha, lengths, 1), n_iter=400)
    print("planted", alpha, "learned", learned.round(4))
    np.testing.assert_allclose(learned, alpha, rtol=0.08)


@pytest.mark.parametrize("beta", [0.02, 0.3, 1.5])
def test_planted_beta_comes_back(beta):
    counts = planted(np.full(300, beta), np.full(40, 3000), 2).T
    learned = estimate_beta(0.1, counts, n_iter=400)
    print("planted", beta, "learned", round(learned, 4))
    assert learned == pytest.approx(beta, rel=0.08)


def penalised(counts, alpha):
    """The evidence with the Exp(1) prior on each parameter, which the fixed point climbs."""
    return evidence(counts.astype(float), alpha) - np.sum(alpha)


def test_every_step_raises_the_evidence():
    counts = planted(np.array([0.2, 0.9, 0.1, 0.4]), np.full(60, 40), 3)
    alpha = np.array([1.0, 0.05, 2.0, 0.4])
    values = [penalised(counts, alpha)]
    for _ in range(30):
        alpha = estimate_alpha(alpha, counts, n_iter=1)
        values.append(penalised(counts, alpha))
    assert np.diff(values).min() > -1e-8
    assert values[-1] - values[0] > 10


def test_every_step_raises_the_evidence_of_beta():
    counts = planted(np.full(50, 0.3), np.full(8, 200), 4).T
    beta, values = 2.0, []
    for _ in range(30):
        values.append(evidence(counts.T.astype(float), np.full(50, beta)) - beta)
        beta = estimate_beta(beta, counts, n_iter=1)
    assert np.diff(values).min() > -1e-8
    assert values[-1] - values[0] > 10


def test_the_fixed_point_is_where_the_gradient_vanishes():
    counts = planted(np.array([0.2, 0.9, 0.4]), np.full(60, 40), 5)
    alpha = estimate_alpha(np.ones(3), counts, n_iter=3000)
    for k in range(3):
        step = 1e-5 * np.eye(3)[k]
        slope = (penalised(counts, alpha + step) - penalised(counts, alpha - step)) / 2e-5
        assert abs(slope) < 1e-3


def test_unused_topics_stay_small_and_positive():
    counts = planted(np.array([0.2, 0.9]), np.full(60, 40), 6)
    counts = np.hstack([counts, np.zeros((60, 3), np.float32)])
    alpha = estimate_alpha(np.full(5, 0.5), counts, n_iter=200)
    assert np.isfinite(alpha).all()
    assert (alpha > 0).all()
    assert alpha[2:].max() < 1e-3
    again = estimate_alpha(
        alpha, counts, n_iter=200
    )  # from the smallest value there is no overflow
    assert np.isfinite(again).all()


def test_corners():
    alpha = np.array([0.3, 0.4])
    np.testing.assert_array_equal(estimate_alpha(alpha, np.zeros((5, 2), np.float32)), alpha)
    np.testing.assert_array_equal(estimate_alpha(alpha, np.zeros((0, 2), np.float32)), alpha)
    assert estimate_beta(0.2, np.zeros((4, 2), np.float32)) == 0.2
    one = np.zeros((3, 2), np.float32)
    one[1, 0] = 7  # one topic, one document: evidence has no inner maximum
    assert np.isfinite(estimate_alpha(alpha, one, n_iter=500)).all()
    assert np.isfinite(estimate_beta(0.2, one, n_iter=500))
    empty_too = np.vstack([one, np.zeros((4, 2), np.float32)])
    np.testing.assert_array_equal(estimate_alpha(alpha, one), estimate_alpha(alpha, empty_too))
    huge = np.full((50, 4), 1e4, np.float32)  # all topics alike everywhere: alpha runs to infinity
    assert np.isfinite(estimate_alpha(np.ones(4), huge, n_iter=500)).all()
