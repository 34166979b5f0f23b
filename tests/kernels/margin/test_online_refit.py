"""Kernels of the second stage of a stream against sums written out."""

import numpy as np
from scipy.special import logit
from tests.reference import online_refit as reference

from bayou.kernels.margin import refit as kernels

RNG = np.random.default_rng(5)
N_DOCS, N_TASKS, N_TOPICS = 9, 4, 3
ZBAR = RNG.dirichlet(np.ones(N_TOPICS), N_DOCS)
Y = RNG.choice([-1.0, 1.0], (N_DOCS, N_TASKS))
WEIGHT = np.r_[0.0, RNG.random(N_DOCS - 1)]
MEAN = RNG.normal(size=(N_TASKS, N_TOPICS))


def test_scores():
    out = np.zeros((N_DOCS, N_TASKS))
    kernels.score_rows(out, ZBAR, MEAN, 2, 6)
    assert np.allclose(out[2:6], (ZBAR @ MEAN.T)[2:6])
    assert not out[:2].any()
    assert not out[6:].any()


def test_sums_of_a_regression():
    gram, linear = np.eye(N_TOPICS), np.ones(N_TOPICS)
    kernels.add_gram(gram, ZBAR, WEIGHT)
    kernels.add_linear(linear, ZBAR, Y[:, 0], WEIGHT)
    assert np.allclose(gram, np.eye(N_TOPICS) + ZBAR.T @ (WEIGHT[:, None] * ZBAR))
    assert np.allclose(linear, 1.0 + ZBAR.T @ (WEIGHT * Y[:, 0]))


def test_slope_and_curvature_of_the_likelihood():
    scores = ZBAR @ MEAN.T
    slope, bend = np.zeros((N_TASKS, N_TOPICS)), np.ones(N_TASKS)
    kernels.add_logistic(slope, bend, scores, ZBAR, Y, WEIGHT, 0, 3)
    want, curved = reference.logistic(ZBAR, scores, Y, WEIGHT)
    assert np.allclose(slope[:3], want[:3])
    assert np.allclose(bend[:3], 1.0 + curved[:3])
    assert not slope[3].any()

    def likelihood(mean):
        u = ZBAR @ mean
        return WEIGHT @ (np.where(Y[:, 1] > 0, u, 0.0) - np.logaddexp(0.0, u))

    eps = 1e-6
    for k, unit in enumerate(np.eye(N_TOPICS)):
        rise = likelihood(MEAN[1] + eps * unit) - likelihood(MEAN[1] - eps * unit)
        assert np.isclose(slope[1, k], rise / (2 * eps), rtol=1e-5)


def test_a_curve_knows_what_every_threshold_would_have_given():
    p = RNG.random((40, 5))
    y, weight = RNG.choice([-1.0, 1.0], (40, 5)), RNG.random(40)
    shown = np.array([True, True, False, True, True])
    curve = np.zeros((4, 20))
    kernels.add_curve(curve, logit(p), y, weight, shown)
    labels, right, docs, hits = curve
    p, y = p[:, shown], y[:, shown]
    for j in range(1, 20):
        given, met = labels[j:].sum() + docs[:j].sum(), right[j:].sum() + hits[:j].sum()
        found = 2.0 * met / (given + right.sum())
        assert np.isclose(found, reference.micro_f1(p, y, weight, j / 20))
