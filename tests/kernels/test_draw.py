"""Every draw against the law it claims, at ordinary and at extreme parameters."""

import math

import numpy as np
import pytest
from scipy import special, stats
from tests.reference import draws

from bayou.kernels import draw
from bayou.kernels.rng import METRIC, key

N = 20_000


def sample(function, *args, n=N, seed=0):
    stream = np.array([key(seed, METRIC, 0, 0)], np.uint64)
    return np.array([function(stream, *args) for _ in range(n)])


def assert_law(values, law):
    assert np.isfinite(values).all()
    assert stats.kstest(values, law.cdf).pvalue > 1e-4


def assert_moments(values, mean, variance):
    deviation = np.sqrt(variance)
    assert abs(values.mean() - mean) < 5 * deviation / np.sqrt(len(values))
    kurtosis = np.mean((values - mean) ** 4) / variance**2
    assert abs(values.var() / variance - 1) < 5 * np.sqrt(kurtosis / len(values))


def test_normal():
    values = sample(draw.draw_normal)
    assert_law(values, stats.norm)
    assert_moments(values, 0, 1)
    assert abs(np.mean(values[1:] * values[:-1])) < 5 / np.sqrt(N)


def test_exponential():
    assert_law(sample(draw.draw_exponential), stats.expon)


@pytest.mark.parametrize("shape", [0.05, 0.3, 0.999, 1.0, 1.5, 20.0, 1e6])
def test_gamma(shape):
    assert_law(sample(draw.draw_gamma, shape), stats.gamma(shape))


@pytest.mark.parametrize("shape", [1e-8, 1e-3, 0.3, 1.0, 50.0])
def test_log_gamma(shape):
    values = sample(draw.draw_log_gamma, shape)
    mean, variance = special.digamma(shape), special.polygamma(1, shape)
    assert np.isfinite(values).all()
    assert_moments(values, mean, variance)
    if shape <= 1e-3:
        # shape * log Gamma(shape) tends to minus an exponential number.
        assert stats.kstest(-shape * values, "expon").pvalue > 1e-4


def test_gamma_of_odd_shapes_ends():
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    assert draw.draw_gamma(stream, 0.0) == 0.0
    assert draw.draw_log_gamma(stream, 0.0) == -np.inf
    assert all(np.isnan(draw.draw_gamma(stream, shape)) for shape in (-1.0, np.nan, np.inf))


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 1.0), (2.0, 5.0), (300.0, 0.7)])
def test_beta(a, b):
    values = sample(draw.draw_beta, a, b)
    assert_law(values, stats.beta(a, b))
    np.testing.assert_allclose(sample(draw.draw_log_beta, a, b), np.log(values), atol=1e-12)


def test_log_beta_does_not_underflow():
    values = sample(draw.draw_log_beta, 1e-5, 1.0)  # Beta(a, 1) is U**(1 / a)
    assert stats.kstest(-1e-5 * values, "expon").pvalue > 1e-4


def test_beta_at_the_corners():
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    assert draw.draw_beta(stream, 0.0, 2.0) == 0.0
    assert draw.draw_beta(stream, 2.0, 0.0) == 1.0
    assert np.isnan(draw.draw_beta(stream, 0.0, 0.0))


@pytest.mark.parametrize("mean", [1e-6, 0.01, 0.5, 1.0, 10.0, 1e4])
def test_inverse_gaussian(mean):
    values = sample(draw.draw_inverse_gaussian, mean)
    assert values.min() > 0
    assert_law(values, draws.inverse_gaussian_law(mean, 1.0))


@pytest.mark.parametrize("mean", [1e9, 1e300, np.inf])
def test_inverse_gaussian_of_a_huge_mean_is_levy(mean):
    assert_law(sample(draw.draw_inverse_gaussian, mean), stats.levy)


def test_inverse_gaussian_needs_a_mean():
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    assert draw.draw_inverse_gaussian(stream, 0.0) == 0.0
    assert np.isnan(draw.draw_inverse_gaussian(stream, np.nan))
    assert np.isnan(draw.draw_inverse_gaussian(stream, -1.0))


@pytest.mark.parametrize(("mean", "shape"), [(2.0, 3.0), (0.1, 100.0), (50.0, 0.2)])
def test_wald(mean, shape):
    assert_law(sample(draw.draw_wald, mean, shape), draws.inverse_gaussian_law(mean, shape))


@pytest.mark.parametrize("c", [1.0, 3.0, 2.5, 0.3, 20.0])
@pytest.mark.parametrize("f", [0.0, 0.5, -2.0, 12.0])
def test_polya_gamma_against_its_sum(c, f):
    n = 4000 if c != np.floor(c) else 10_000
    values = sample(draw.draw_polya_gamma, c, f, n=n)
    assert values.min() > 0
    twin = draws.polya_gamma(c, f, n, seed=1, n_terms=400)
    assert stats.ks_2samp(values, twin).pvalue > 1e-4


@pytest.mark.parametrize("c", [1.0, 4.0, 2.5, 49.5, 50.0, 204.8])
@pytest.mark.parametrize("f", [0.0, 1e-9, 0.05, 0.5, -2.0, 12.0, 39.0, 41.0, 1000.0, 1e8])
def test_polya_gamma_moments(c, f):
    values = sample(draw.draw_polya_gamma, c, f, n=4000)
    assert values.min() > 0
    mean = draw.polya_gamma_mean(c, f)
    assert_moments(values, mean, draw.polya_gamma_variance(c, f))


@pytest.mark.parametrize("c", [0.05, 0.3, 0.9, 2.5, 7.7, 49.5, 60.0])
@pytest.mark.parametrize("f", [0.0, 3.0, 39.0, 41.0])
def test_polya_gamma_has_its_laplace_transform(c, f):
    values = sample(draw.draw_polya_gamma, c, f, n=20_000)
    for share in (0.1, 1.0, 4.0):
        t = share / draw.polya_gamma_mean(c, f)
        found = np.exp(-t * values)
        error = found.std() / math.sqrt(len(values))
        assert abs(found.mean() - draws.polya_gamma_transform(c, f, t)) < 4.5 * error


@pytest.mark.parametrize(("c", "n_terms"), [(0.01, 200), (0.1, 120), (0.7, 24), (12.5, 24)])
@pytest.mark.parametrize("f", [0.0, 2.0, 35.0])
def test_polya_gamma_of_any_shape_is_its_twin(c, n_terms, f):
    """Draw for draw: the kernel and the twin call for the same gammas in the same order."""
    mine, theirs = (np.array([key(1, METRIC, 2, 3)], np.uint64) for _ in range(2))
    for _ in range(5):
        twin = draws.polya_gamma_of_terms(c, f, n_terms, lambda a: draw.draw_gamma(theirs, a))
        assert draw.draw_polya_gamma(mine, c, f) == pytest.approx(twin, rel=1e-6)
        assert mine[0] == theirs[0]


@pytest.mark.parametrize("f", [39.999, 40.001])
def test_polya_gamma_is_the_same_law_on_both_sides_of_the_switch(f):
    for c in (1.0, 2.5):
        law = draws.inverse_gaussian_law(c / (2 * f), c * c / 4)
        assert_law(sample(draw.draw_polya_gamma, c, f, n=5000), law)


@pytest.mark.parametrize("f", [0.0, 1e-6, 0.0999, 0.1001, 1.0, 5.0, 700.0])
def test_polya_gamma_moments_are_the_closed_forms(f):
    k = np.arange(1, 1_000_000)
    weight = 1 / (2 * np.pi**2 * ((k - 0.5) ** 2 + f**2 / (4 * np.pi**2)))
    tail = 1 / (2 * np.pi**2 * k[-1])
    assert draw.polya_gamma_mean(3.0, f) == pytest.approx(3 * (weight.sum() + tail), rel=1e-7)
    assert draw.polya_gamma_variance(3.0, f) == pytest.approx(3 * (weight**2).sum(), rel=1e-9)


def test_polya_gamma_at_the_door():
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    assert draw.draw_polya_gamma(stream, 0.0, 1.0) == 0.0
    assert draw.draw_polya_gamma(stream, 1.0, np.inf) == 0.0
    assert np.isnan(draw.draw_polya_gamma(stream, 1.0, np.nan))
    assert np.isnan(draw.draw_polya_gamma(stream, -1.0, 1.0))


def dirichlet(stream, alpha):
    out = np.empty(len(alpha))
    draw.draw_dirichlet_into(out, stream, alpha)
    return out


@pytest.mark.parametrize("alpha", [[0.5, 1.0, 3.0], [10.0, 0.5], [1e-4, 1e-4, 1e-4]])
def test_dirichlet(alpha):
    alpha = np.array(alpha)
    values = sample(dirichlet, alpha)
    np.testing.assert_allclose(values.sum(axis=1), 1, atol=1e-12)
    mean = alpha / alpha.sum()
    variance = mean * (1 - mean) / (alpha.sum() + 1)
    assert (np.abs(values.mean(axis=0) - mean) < 5 * np.sqrt(variance / N)).all()
    if alpha.min() > 0.05:
        for k in range(len(alpha)):
            assert_law(values[:, k], stats.beta(alpha[k], alpha.sum() - alpha[k]))


def test_dirichlet_keeps_zeros():
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    drawn = dirichlet(stream, np.array([0.0, 2.0, 0.0, 1e-300]))
    assert drawn[0] == drawn[2] == 0.0
    assert drawn.sum() == pytest.approx(1)


def test_discrete():
    weights = np.array([0.0, 2.0, 0.0, 1.0, 5.0, 0.0, 9.0])
    drawn = sample(draw.draw_discrete, weights, 6)
    expected = weights[:6] / weights[:6].sum()
    counts = np.bincount(drawn, minlength=7)
    assert counts[expected.argmin()] == 0
    assert counts[[0, 2, 5, 6]].sum() == 0
    used = expected > 0
    assert stats.chisquare(counts[:6][used], N * expected[used]).pvalue > 1e-4


def test_discrete_without_mass():
    assert set(sample(draw.draw_discrete, np.zeros(3), 3, n=10)) == {-1}
