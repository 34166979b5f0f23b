"""An alias table stands for exactly the weights it was built from."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.reference.draws import alias_masses

from bayou.kernels.alias import build_alias_into, draw_alias, pick_alias
from bayou.kernels.rng import METRIC, key

WEIGHTS = st.lists(
    st.one_of(st.just(0.0), st.floats(1e-12, 1e12), st.just(1.0)), min_size=1, max_size=60
)


def build(weights, dtype=np.float64):
    n = len(weights)
    prob, alias = np.full(n, np.nan, dtype), np.full(n, -1, np.int32)
    small, large = np.empty(n, np.int32), np.empty(n, np.int32)
    total = build_alias_into(prob, alias, np.asarray(weights, dtype), small, large)
    return prob, alias, total


@given(WEIGHTS)
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_masses_are_the_weights(dtype, error, weights):
    weights = np.asarray(weights, dtype)
    prob, alias, total = build(weights, dtype)
    assert ((prob >= 0) & (prob <= 1)).all()
    assert ((alias >= 0) & (alias < len(weights))).all()
    exact = weights.astype(np.float64)
    if exact.sum() == 0:
        exact = np.ones(len(weights))
        assert total == 0
    else:
        assert total == pytest.approx(exact.sum(), rel=1e-12)
    masses = alias_masses(prob, alias)
    np.testing.assert_allclose(masses, exact / exact.sum(), atol=error, rtol=0)
    assert (masses[exact == 0] <= 0).all()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize("weight", [1.0, 0.1, 1 / 3, 1e-200])
def test_equal_weights(n, weight):
    prob, alias, _ = build([weight] * n)
    np.testing.assert_allclose(alias_masses(prob, alias), 1 / n, atol=1e-15)


# The head gives to 2000 cells, one rounding of a number near 2000 each.
@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-14), (np.float32, 1e-6)])
def test_a_long_skewed_table(dtype, error):
    weights = (1.0 / np.arange(1, 20_001)).astype(dtype)
    weights[5::7] = 0
    prob, alias, _ = build(weights, dtype)
    exact = weights / weights.sum(dtype=np.float64)
    assert np.abs(alias_masses(prob, alias) - exact).max() < error
    assert (alias_masses(prob, alias)[weights == 0] == 0).all()


def test_no_mass_gives_the_uniform_table():
    prob, alias, total = build([0.0, 0.0, 0.0])
    assert total == 0
    np.testing.assert_allclose(alias_masses(prob, alias), 1 / 3)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_draws_follow_the_weights(dtype):
    weights = np.array([5.0, 0.0, 1.0, 0.5, 3.0])
    prob, alias, _ = build(weights, dtype)
    stream = np.array([key(0, METRIC, 0, 0)], np.uint64)
    drawn = [draw_alias(stream, prob, alias) for _ in range(20_000)]
    counts = np.bincount(drawn, minlength=5)
    used = weights > 0
    assert counts[~used].sum() == 0
    assert stats.chisquare(counts[used], 20_000 * weights[used] / weights.sum()).pvalue > 1e-4


def test_one_number_picks_cell_and_coin():
    weights = np.array([5.0, 0.0, 1.0, 0.5, 3.0])
    prob, alias, _ = build(weights)
    n = 100_000
    picked = [pick_alias((i + 0.5) / n, prob, alias) for i in range(n)]
    counts = np.bincount(picked, minlength=5)
    np.testing.assert_allclose(counts / n, weights / weights.sum(), atol=1e-4)


@pytest.mark.parametrize("n", [1, 3, 5, 49, 999_983])
def test_the_largest_number_below_one_stays_inside(n):
    prob, alias = np.ones(n), np.arange(n, dtype=np.int32)
    assert pick_alias(1 - 2**-53, prob, alias) == n - 1
