"""Noise and covariance behind prediction intervals: degrees of freedom, and the scale of targets."""

import numpy as np
import pytest

from bayou.inference.margin import linear, refit, tasks


@pytest.mark.parametrize(("n", "k"), [(16, 6), (16, 1)])
def test_noise_has_the_degrees_of_freedom_that_weights_and_intercept_leave(n, k):
    """Noise of deviation 30 around numbers near 1000: the mean estimate is its variance, in few documents."""
    rng = np.random.default_rng(n + k)
    features = rng.normal(size=(n, k))
    y = 1000 + features @ rng.normal(0, 50, (k, 1)) + 30 * rng.normal(size=(n, 800))
    _, _, noise, _ = linear.fit_numbers(features, y, np.ones(n), 1e-6)
    # the standard error of this mean is sqrt(2 / (n - k - 1) / 800), at most 1.7 %
    assert noise.mean() / 900 == pytest.approx(1.0, abs=0.045)


def test_the_covariance_of_weights_is_that_of_weights_fitted_again():
    rng = np.random.default_rng(3)
    features = rng.dirichlet(np.ones(4), 40)
    truth = np.array([[5.0], [-3.0], [9.0], [0.0]])
    y = features @ truth + 0.4 * rng.normal(size=(40, 1000))
    weights, _, _, covariance = linear.fit_numbers(features, y, np.ones(40), 1e-3)
    z = features[:5] - features.mean(axis=0)
    expected = (z @ weights).var(axis=1)
    got = np.einsum("dk,tkj,dj->td", z, covariance, z).mean(axis=0)
    np.testing.assert_allclose(got, expected, rtol=0.1)


def evidence(zbar, y, chain, draws):
    n_docs, n_terms = len(zbar), 5
    ones = np.ones(n_terms, np.float32)
    return linear.RefitEvidence(
        zbar.astype(np.float32), None, y.astype(np.float32), np.ones((n_docs, 1), np.float32), ones,
        ones, chain, draws.astype(np.float32), 1, False,
    )  # fmt: skip


@pytest.mark.parametrize("n_draws", [3, 8])
def test_weights_of_a_chain_have_the_covariance_of_its_draws(n_draws):
    rng = np.random.default_rng(n_draws)
    zbar, draws = rng.dirichlet(np.ones(3), 50), rng.normal(0, 2.0, (n_draws, 3, 1))
    values = 200 + 40 * rng.normal(size=(50, 1))
    task = tasks.number_task(values, np.ones(50), 1.0, hold_out=False, seed=0)
    seen = evidence(zbar, task.y, draws.mean(axis=0), draws)
    found = refit.regress(seen, task, np.arange(50), linear.RefitPlan(False, 0.0, "ridge", 0))
    scale = values.std() ** 2
    np.testing.assert_allclose(
        found.covariance[0], scale * np.cov(draws[:, :, 0], rowvar=False), rtol=1e-4
    )
    gap = task.y - zbar @ draws.mean(axis=0)
    np.testing.assert_allclose(found.noise, scale * (gap**2).mean(), rtol=1e-4)
    np.testing.assert_allclose(found.intercept, values.mean())


def test_refitted_weights_and_noise_have_the_scale_of_the_targets():
    rng = np.random.default_rng(1)
    zbar = rng.dirichlet(np.ones(3), 300)
    plain = zbar @ np.array([[1.0], [4.0], [-2.0]]) + 0.3 * rng.normal(size=(300, 1))
    plan, found = linear.RefitPlan(True, 0.0, "ridge", 0), {}
    for factor in (1.0, 250.0):
        task = tasks.number_task(factor * plain - 7, np.ones(300), 1.0, hold_out=False, seed=0)
        seen = evidence(zbar, task.y, np.zeros((3, 1)), np.zeros((0, 3, 1)))
        found[factor] = refit.regress(seen, task, np.arange(300), plan)
    one, many = found[1.0], found[250.0]
    assert one.noise[0] == pytest.approx(0.09, rel=0.2)
    np.testing.assert_allclose(many.noise, 250.0**2 * one.noise, rtol=1e-4)
    np.testing.assert_allclose(many.covariance, 250.0**2 * one.covariance, rtol=1e-4)
    np.testing.assert_allclose(many.weights, 250.0 * one.weights, rtol=1e-3)
