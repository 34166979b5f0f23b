"""The token formula: weights are ratios of the joint, and a draw follows its weights."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference import lda

from bayou.kernels import token

INDPTR = np.array([0, 4, 4, 9])
TERMS = np.array([0, 2, 2, 1, 1, 2, 3, 0, 3])
Z = np.array([0, 1, 2, 1, 0, 0, 2, 1, 1])
ALPHA, BETA, N_TERMS = np.array([0.3, 1.7, 0.05]), 0.4, 5  # one term has no token


@pytest.mark.parametrize("i", range(len(TERMS)))
def test_weights_are_ratios_of_the_joint(i):
    """p(z_i = k | rest) is p(w, z with z_i = k) over its sum, by lgamma alone."""
    d = int(np.searchsorted(INDPTR, i, side="right") - 1)
    n_dk, n_vk, n_k = lda.counts(Z, INDPTR, TERMS, 3, N_TERMS, without=i)
    weight = np.empty(3)
    total = token.weigh_into(weight, n_dk[d], ALPHA, n_vk, TERMS[i], BETA, n_k, N_TERMS * BETA)
    logs = []
    for k in range(3):
        moved = Z.copy()
        moved[i] = k
        logs.append(lda.log_joint(moved, INDPTR, TERMS, ALPHA, BETA, N_TERMS))
    joint = np.exp(np.array(logs) - max(logs))
    np.testing.assert_allclose(weight / total, joint / joint.sum(), rtol=1e-10)


def test_fixed_rows_replace_the_word_factor():
    rng = np.random.default_rng(0)
    n_d, alpha, row = (rng.random(40).astype(np.float32) for _ in range(3))
    weight = np.empty(40, np.float32)
    total = token.weigh_rows_into(weight, n_d, alpha, row[None], 0)
    np.testing.assert_array_equal(weight, (n_d + alpha) * row)
    assert total == pytest.approx(weight.sum(dtype=np.float64), rel=1e-6)


def test_shift_moves_one_token_in_all_three_counts():
    rows = np.arange(12.0).reshape(3, 4)
    before = rows.copy()
    token.shift(rows[0], rows, 1, rows[2], 2, -1.0)
    token.shift(rows[0], rows, 1, rows[2], 3, 1.0)
    np.testing.assert_array_equal(rows - before, np.tile([0, 0, -1, 1], (3, 1)))


WEIGHTS = st.lists(st.one_of(st.just(0.0), st.floats(1e-3, 1e3)), min_size=1, max_size=70)


@given(WEIGHTS.filter(any), st.floats(0, 1))
def test_pick_is_where_the_running_sum_passes_the_target(weights, u):
    """Blocks of topics are skipped by their sums; the answer is that of the plain running sum."""
    weights = np.array(weights)
    target = u * weights.sum()
    k = token.pick(weights, target)
    assert weights[k] > 0
    sums = np.cumsum(weights)
    slack = 1e-9 * sums[-1]
    assert sums[k] - weights[k] <= target + slack
    assert target <= sums[k] + slack


@pytest.mark.parametrize("n_topics", [1, 2, 15, 16, 17, 32, 33, 100])
def test_pick_gives_every_topic_its_share(n_topics):
    weights = np.random.default_rng(n_topics).integers(0, 4, n_topics).astype(float)
    weights[n_topics // 2] += 1
    grid = np.arange(0, weights.sum(), 0.25)
    drawn = np.bincount([token.pick(weights, t) for t in grid], minlength=n_topics)
    np.testing.assert_array_equal(drawn, 4 * weights)


def test_a_target_beyond_the_sum_gives_a_topic_with_weight():
    for size in (3, 16, 17, 50):
        weights = np.zeros(size, np.float32)
        weights[1] = 1.0
        assert token.pick(weights, np.float32(1.0)) == 1
        assert token.pick(weights, np.float32(7.0)) == 1


def test_count_document_forgets_the_document_before():
    row = np.full(3, 9.0)
    token.count_document(row, np.array([0, 2, 2, 1], np.uint16), 1, 4)
    np.testing.assert_array_equal(row, [0, 1, 2])
