"""Keys and uniform numbers: no structure that a test of this size can see."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.reference import draws

from bayou.kernels import rng
from bayou.kernels.compile import jit

WORDS = st.integers(0, 2**64 - 1)


@jit
def numbers(k, n):
    out = np.empty(n)
    stream = np.empty(1, np.uint64)
    stream[0] = k
    for i in range(n):
        out[i] = rng.uniform(stream)
    return out


@jit
def first_numbers(seed, purpose, sweep, n):
    out = np.empty(n)
    for d in range(n):
        out[d] = rng.unit(rng.key(seed, purpose, sweep, d) + rng.GOLDEN)
    return out


def mixed(x):
    return int(rng.mix(np.uint64(x)))


def keyed(*words):
    return int(rng.key(*(np.uint64(word) for word in words)))


@given(WORDS)
def test_mix_is_the_published_function_and_a_bijection(x):
    assert mixed(x) == draws.mix(x)
    assert draws.unmix(mixed(x)) == x


def test_one_input_bit_flips_half_of_the_output_bits():
    start = np.random.default_rng(0).integers(0, 2**64, 400, dtype=np.uint64)
    flips = np.zeros((64, 64))
    for x, i in itertools.product(start.tolist(), range(64)):
        change = mixed(x) ^ mixed(x ^ (1 << i))
        flips[i] += [(change >> j) & 1 for j in range(64)]
    rate = flips / len(start)
    assert abs(rate.mean() - 0.5) < 0.002
    # Each of the 4096 rates is a mean of 400 coins: six deviations are 0.15.
    assert np.abs(rate - 0.5).max() < 0.15


def test_keys_do_not_collide_on_a_grid():
    grid = itertools.product(range(6), range(1, 14), range(12), range(60))
    keys = [keyed(*words) for words in grid]
    assert len(set(keys)) == len(keys)


def test_a_key_depends_on_the_order_of_its_words():
    assert len({keyed(*words) for words in itertools.permutations((1, 2, 3, 4))}) == 24


@pytest.mark.parametrize("k", [0, 1, 2, 2**63, 2**64 - 1])
def test_a_stream_is_uniform(k):
    u = numbers(np.uint64(k), 100_000)
    assert u.min() >= 0
    assert u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert stats.chisquare(np.bincount((u * 256).astype(int), minlength=256)).pvalue > 1e-4
    # Low bits too: the fraction within the 256 cells must again be uniform.
    assert stats.kstest((u * 256) % 1.0, "uniform").pvalue > 1e-4


@pytest.mark.parametrize("lag", [1, 2, 3, 7, 64, 1000])
def test_a_stream_has_no_serial_correlation(lag):
    u = numbers(rng.key(3, 1, 0, 0), 100_000) - 0.5
    correlation = np.mean(u[:-lag] * u[lag:]) * 12
    assert abs(correlation) < 5 / np.sqrt(len(u))


def test_pairs_fill_the_square():
    u = numbers(rng.key(5, 1, 0, 0), 200_000)
    cells = (u[::2] * 32).astype(int) * 32 + (u[1::2] * 32).astype(int)
    assert stats.chisquare(np.bincount(cells, minlength=1024)).pvalue > 1e-4


@pytest.mark.parametrize("purpose", [rng.INIT, rng.TOKEN, rng.METRIC])
def test_neighbouring_documents_draw_independent_numbers(purpose):
    u = first_numbers(7, purpose, 0, 100_000)
    assert stats.kstest(u, "uniform").pvalue > 1e-4
    assert abs(np.corrcoef(u[:-1], u[1:])[0, 1]) < 5 / np.sqrt(len(u))
    for other in (
        first_numbers(8, purpose, 0, len(u)),
        first_numbers(7, purpose + 1, 0, len(u)),
        first_numbers(7, purpose, 1, len(u)),
    ):
        assert abs(np.corrcoef(u, other)[0, 1]) < 5 / np.sqrt(len(u))


def test_the_ith_number_is_reached_without_those_before_it():
    k = rng.key(1, 2, 3, 4)
    expected = numbers(k, 5)
    with np.errstate(over="ignore"):
        places = [np.uint64(k) + np.uint64(i) * rng.GOLDEN for i in range(1, 6)]
    np.testing.assert_array_equal([rng.unit(place) for place in places], expected)


@given(st.integers(0, 200), WORDS)
def test_shuffled_is_a_permutation(n, k):
    assert sorted(rng.permutation(n, np.uint64(k)).tolist()) == list(range(n))


def test_every_permutation_of_four_is_as_likely():
    counts = dict.fromkeys(itertools.permutations(range(4)), 0)
    for d in range(24_000):
        counts[tuple(rng.permutation(4, np.uint64(keyed(11, rng.SHUFFLE, 0, d))).tolist())] += 1
    assert stats.chisquare(list(counts.values())).pvalue > 1e-4


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
def test_below_stays_below_and_is_uniform(n):
    stream = np.array([rng.key(1, 1, 1, n)], np.uint64)
    drawn = np.array([rng.below(stream, n) for _ in range(20_000)])
    assert drawn.min() >= 0
    assert drawn.max() < n
    if n > 1:
        assert stats.chisquare(np.bincount(drawn, minlength=n)).pvalue > 1e-4
