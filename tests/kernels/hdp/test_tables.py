"""Stirling ratios against exact numbers, table counts and concentrations against their laws."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import special, stats
from tests.reference.franchise import stirling

from bayou.inference.hdp import concentration, tables
from bayou.kernels.hdp import tables as kernel
from bayou.kernels.rng import METRIC, key


def ratios_of(n, m, discount):
    out = np.zeros((n + 1, m + 1))
    kernel.fill_ratios(out, 2, 2, discount)
    return out


@pytest.mark.parametrize("discount", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_ratios_are_those_of_exact_numbers(discount):
    exact = stirling(121, discount)
    a = float(discount)
    found = ratios_of(120, 120, a)
    for n in (1, 2, 3, 17, 60, 119):
        for m in range(1, n + 1):
            joined = float(exact[n + 1][m] / exact[n][m])
            opened = float(exact[n + 1][m + 1] / exact[n][m])
            assert kernel.join_ratio(found, n, m, a) == pytest.approx(joined, rel=1e-12)
            assert kernel.open_ratio(found, n, m, a) == pytest.approx(opened, rel=1e-12)


def test_a_large_table_does_not_overflow():
    exact = stirling(401, Fraction(0))
    found = ratios_of(400, 400, 0.0)
    for m in (1, 2, 7, 50, 399, 400):
        opened = float(exact[401][m + 1] / exact[400][m])
        assert kernel.open_ratio(found, 400, m, 0.0) == pytest.approx(opened, rel=1e-12)


@pytest.mark.parametrize("discount", [0.0, 0.3])
def test_beyond_the_table_is_as_in_a_larger_one(discount):
    large, small = ratios_of(60, 60, discount), ratios_of(20, 8, discount)
    for n, m in [(19, 8), (20, 9), (21, 3), (60, 2), (45, 30), (60, 60), (5, 7)]:
        assert kernel.ratio(small, n, m, discount) == kernel.ratio(large, n, m, discount)


def test_shared_ratios_grow_and_stay_what_they_were():
    first = tables.ratios(10, 4, 0.25)
    more = tables.ratios(10, 60, 0.25)
    most = tables.ratios(200, 5, 0.25)
    assert most.shape[0] > 200
    assert most.shape[1] > 60
    whole = ratios_of(most.shape[0] - 1, most.shape[1] - 1, 0.25)
    np.testing.assert_array_equal(most, whole)
    np.testing.assert_array_equal(more, whole[: more.shape[0], : more.shape[1]])
    assert not most.flags.writeable
    assert tables.ratios(3, 3, 0.25) is most
    np.testing.assert_array_equal(first, whole[: first.shape[0], : first.shape[1]])


@pytest.mark.parametrize(("n", "x"), [(1, 0.3), (4, 0.01), (9, 2.0), (30, 40.0)])
def test_table_counts_follow_their_law(n, x):
    exact = stirling(n + 1, Fraction(0))[n]
    weight = np.array([float(exact[m]) * x**m for m in range(n + 1)])
    law = weight * np.exp(special.gammaln(x) - special.gammaln(x + n))
    assert law.sum() == pytest.approx(1.0)
    stream = np.array([key(3, METRIC, 0, 0)], np.uint64)
    drawn = np.bincount([kernel.draw_tables(stream, n, x) for _ in range(20_000)], minlength=n + 1)
    used = law * 20_000 > 5
    rest = 20_000 - drawn[used].sum()
    assert rest <= 5 + 20 * 20_000 * law[~used].sum()
    observed, expected = drawn[used], law[used] * drawn[used].sum() / law[used].sum()
    if used.sum() > 1:
        assert stats.chisquare(observed, expected).pvalue > 1e-4
    mean = float(law @ np.arange(n + 1))
    assert kernel.expected_tables(float(n), x) == pytest.approx(mean, rel=1e-10)


def test_expected_tables_are_the_digamma_formula_everywhere():
    n, x = np.array([[0.0, 0.5, 1.0, 16.0, 17.0, 3e5]]), np.array([1e-6, 0.2, 5.0, 1e-3, 1e4, 10.0])
    found = tables.expected_tables(n, x)
    expected = x * (special.digamma(x + n) - special.digamma(x))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-15)
    assert kernel.expected_tables(5.0, 0.0) == 1.0
    assert kernel.expected_tables(0.0, 0.0) == 0.0


def test_drawn_tables_lie_between_one_and_the_count_and_depend_on_ids_alone():
    counts = np.array([[0, 1, 7], [3, 0, 50]])
    ids = np.array([4, 9], np.uint64)
    mass = np.array([0.5, 3.0, 1e-12])
    drawn = tables.draw_tables(counts, mass, ids, 1, 2)
    assert ((drawn >= (counts > 0)) & (drawn <= counts)).all()
    assert drawn[1, 2] == 1
    np.testing.assert_array_equal(drawn[1:], tables.draw_tables(counts[1:], mass, ids[1:], 1, 2))


def density(b, customers, opened, discount, prior):
    """The posterior of a concentration on a grid, normalised."""
    log = stats.gamma(prior.shape, scale=1 / prior.rate).logpdf(b)
    for n, m in zip(customers, opened, strict=True):
        if n > 0:
            log = log + special.gammaln(b) - special.gammaln(b + n)
            log = log + sum(np.log(b + i * discount) for i in range(m))
    weight = np.exp(log - log.max())
    return weight / weight.sum()


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_concentration_has_the_moments_of_its_posterior(discount):
    customers, opened = np.array([12, 30, 0, 7]), np.array([4, 9, 0, 2])
    prior = concentration.Gamma(2.0, 0.5)
    b, chain = 1.0, []
    for sweep in range(20_000):
        b = concentration.draw_document(
            b, customers, opened, prior=prior, seed=1, sweep=sweep, discount=discount
        )
        chain.append(b)
    grid = np.linspace(1e-4, 60, 40_000)
    law = density(grid, customers, opened, discount, prior)
    mean = law @ grid
    deviation = np.sqrt(law @ (grid - mean) ** 2)
    assert abs(np.mean(chain) - mean) < 0.05 * deviation
    assert abs(np.std(chain) / deviation - 1) < 0.05


def test_root_concentration_of_an_open_and_of_a_finite_base():
    prior, grid = concentration.Gamma(1.0, 1.0), np.linspace(1e-4, 60, 40_000)
    b, chain = 1.0, []
    for sweep in range(20_000):
        b = concentration.draw_root(b, 80, 9, prior=prior, seed=1, sweep=sweep)
        chain.append(b)
    assert np.mean(chain) == pytest.approx(density(grid, [80], [9], 0.0, prior) @ grid, rel=0.02)
    m, b, chain = np.array([30, 0, 8, 1]), 1.0, []
    for sweep in range(20_000):
        b = concentration.draw_finite_root(b, m, prior=prior, seed=1, sweep=sweep)
        chain.append(b)
    log = stats.gamma(1.0).logpdf(grid) + special.gammaln(grid) - special.gammaln(grid + m.sum())
    log += sum(special.gammaln(grid / 4 + n) - special.gammaln(grid / 4) for n in m)
    law = np.exp(log - log.max())
    assert np.mean(chain) == pytest.approx(law @ grid / law.sum(), rel=0.03)


def test_nobody_in_the_restaurants_leaves_the_prior():
    none = np.zeros(3, np.int64)
    prior = concentration.Gamma(3.0, 2.0)
    drawn = [
        concentration.draw_document(1.0, none, none, prior=prior, seed=0, sweep=i)
        for i in range(5000)
    ]
    assert stats.kstest(drawn, stats.gamma(3.0, scale=0.5).cdf).pvalue > 1e-4
