"""Slices without change: divergences, urns, documents drawn anew, tails of counts."""

import numpy as np
import pytest
from scipy import stats
from tests.reference import tracking as twin

from bayou.kernels import alias
from bayou.kernels.tracking import quiet

ALL = (0.0, 0.0)  # as many slices as there is room for


def test_divergence_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    counts = rng.poisson(2.0, 12).astype(np.float64)
    q = rng.dirichlet(np.full(12, 0.5))
    got = quiet.divergence(counts, counts.sum(), q)
    assert got == pytest.approx(twin.jsd(counts / counts.sum(), q), rel=1e-10)


def test_quiet_slices_are_urns():
    """Without bursts a document is multinomial; with them, its variance is that of an urn."""
    n = 3
    q = np.array([0.5, 0.3, 0.2])
    table = np.empty(n), np.empty(n, np.int64)
    alias.build_alias_into(*table, q, np.empty(n, np.int64), np.empty(n, np.int64))
    lengths, out = np.full(20, 10, np.int64), np.empty(2000)
    means = {}
    for burst in (1e9, 10.0):
        quiet.divergences(out, lengths, q, table, burst, 1, 0, 0, ALL)
        means[burst] = out.mean()
    # JSD is (cells - 1) / (8 N ln 2) for small noise, and (n_d + A) / (1 + A) times that in bursts
    plain = 2 / (8 * 200 * np.log(2))
    assert means[1e9] == pytest.approx(plain, rel=0.06)
    assert means[10.0] == pytest.approx(plain * (10 + 10) / 11, rel=0.08)


def test_quiet_slices_are_as_many_as_it_takes():
    """With many cells all are alike, with few they are not; those that are drawn are the same."""
    lengths, out, every = np.full(100, 10, np.int64), np.empty(400), np.empty(400)
    numbers = []
    for n_cells in (4, 400):
        q, room = np.full(n_cells, 1 / n_cells), np.empty((2, n_cells), np.int64)
        table = np.empty(n_cells), np.empty(n_cells, np.int64)
        alias.build_alias_into(*table, q, *room)
        n = quiet.divergences(out, lengths, q, table, 1e9, 1, 0, 0, (0.1, 0.1))
        assert quiet.divergences(every, lengths, q, table, 1e9, 1, 0, 0, ALL) == 400
        np.testing.assert_array_equal(out[:n], every[:n])
        spread = np.log(out[:n]).std()
        assert spread / np.sqrt(n) < 0.1 * np.hypot(0.1, spread)
        numbers.append(n)
    assert numbers[0] > 50 > numbers[1] >= 4


def test_parts_that_are_looked_up_are_those_of_the_definition():
    """One document of 40 tokens, urn over three cells: counts on both sides of what is looked up."""
    q = np.array([0.9, 0.1, 0.0])
    table = np.empty(3), np.empty(3, np.int64)
    alias.build_alias_into(*table, q, np.empty(3, np.int64), np.empty(3, np.int64))
    out = np.empty(50)
    quiet.divergences(out, np.array([40]), q, table, 1e9, 1, 0, 0, ALL)
    possible = [twin.jsd(np.array([c, 40 - c, 0]) / 40, q) for c in range(41)]
    assert all(np.isclose(value, possible).any() for value in out)


def test_upper_tails_are_those_of_the_beta_binomial():
    rng = np.random.default_rng(0)
    for n in (5, 80, 3000):
        counts = rng.integers(0, n + 1, 30).astype(np.float64)
        counts[:2] = 0, n
        a, b = rng.gamma(1.0, 20.0, 30) + 0.1, rng.gamma(1.0, 200.0, 30) + 0.1
        out = np.ones(31)
        quiet.upper_tails(out, np.arange(30), np.append(counts, 0.0), n, a, b)
        np.testing.assert_allclose(
            out[:30], stats.betabinom.sf(counts - 1, n, a, b), rtol=1e-6, atol=1e-10
        )
        assert out[30] == 1.0, "where nothing was asked for"


def test_far_below_the_mean_an_upper_tail_is_whole():
    """The chance of the count itself is no number any more, and the tail is all there is."""
    out, counts = np.zeros(4), np.array([0.0, 1.0, 50.0, 300.0])
    shape = np.full(4, 2500.0), np.full(4, 47500.0)
    quiet.upper_tails(out, np.arange(4), counts, 50_000, *shape)
    np.testing.assert_array_equal(out, 1.0)


def test_middle_tails_have_half_of_the_count_itself():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 81, 20).astype(np.float64)
    a, b = rng.gamma(1.0, 20.0, 20) + 0.1, rng.gamma(1.0, 200.0, 20) + 0.1
    at, out = np.array([3, 7, 19]), np.empty(3)
    quiet.middle_tails(out, at, counts, 80, a[at], b[at])
    law = stats.betabinom(80, a[at], b[at])
    expected = law.sf(counts[at]) + law.pmf(counts[at]) / 2
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-10)
