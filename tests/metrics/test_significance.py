"""Paired tests of classifiers: against enumeration of signs, published formulas and single measures."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csr_array

from bayou.metrics.multilabel import (
    adjust,
    compare_classifiers,
    compare_pairs,
    example_scores,
    macro_auc,
    macro_scores,
    rank_one_error,
)

RNG = np.random.default_rng(0)


def test_t_is_the_mean_over_its_standard_error():
    a, b = RNG.normal(size=12), RNG.normal(size=12)
    found, gap = compare_pairs(a, b), a - b
    variance = ((gap - gap.mean()) ** 2).sum() / 11
    assert found.t == pytest.approx(gap.mean() / math.sqrt(variance / 12))
    assert found.t_p == pytest.approx(2 * stats.t.cdf(-abs(found.t), 11))
    assert (found.n, found.difference) == (12, pytest.approx(gap.mean()))


def test_rank_sums_by_enumeration_of_all_signs():
    gap = np.array([0.3, -0.1, 0.7, 0.45, -0.2, 0.9, 0.05])
    found = compare_pairs(gap, np.zeros(7))
    ranks = stats.rankdata(np.abs(gap))
    seen = min(ranks[gap > 0].sum(), ranks[gap < 0].sum())
    sums = [ranks[list(map(bool, s))].sum() for s in itertools.product((0, 1), repeat=7)]
    extreme = sum(min(s, ranks.sum() - s) <= seen for s in sums)
    assert found.rank_sum == seen
    assert found.rank_p == pytest.approx(extreme / 2**7)


def test_zeros_are_left_out_of_the_ranks_only():
    gap = np.array([0.3, -0.1, 0.7, 0.45])
    some, all_ = compare_pairs(gap, np.zeros(4)), compare_pairs(np.append(gap, 0.0), np.zeros(5))
    assert some.rank_p == all_.rank_p
    assert all_.n == 5
    assert all_.difference < some.difference


def test_corners():
    assert compare_pairs([1, 2], [1, 2]) == (2, 0.0, 0.0, 1.0, 0.0, 1.0)
    same = compare_pairs([2, 3, 4], [1, 2, 3])
    assert (same.t, same.t_p) == (math.inf, 0.0)
    with pytest.raises(ValueError, match="one length"):
        compare_pairs([1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="finite"):
        compare_pairs([1, math.nan], [1, 2])
    with pytest.raises(ValueError, match="two classifiers"):
        compare_classifiers([[1, 0]], [[[0.1, 0.2]]])


@pytest.mark.parametrize("sparse", [False, True])
def test_differences_are_those_of_the_measures(sparse):
    truth = (RNG.random((40, 6)) < 0.3).astype(int)
    truth[:2], truth[:, 5] = 0, 0
    scores = [RNG.random((40, 6)) for _ in range(2)]
    given = [(s > 0.6).astype(int) for s in scores]
    form = csr_array if sparse else np.asarray
    found = compare_classifiers(form(truth), [form(s) for s in scores], [form(g) for g in given])
    wanted = {
        "rank_one_error": [rank_one_error(truth, s) for s in scores],
        "macro_auc": [macro_auc(truth, s).value for s in scores],
        "example_f1": [example_scores(truth, g).f1 for g in given],
        "macro_f1": [macro_scores(truth, g, labels="present").f1 for g in given],
    }
    for name, (one, two) in wanted.items():
        assert found[name].difference == pytest.approx(one - two), name
    assert found["rank_one_error"].n == (truth.sum(axis=1) > 0).sum()
    assert found["macro_auc"].n == found["macro_f1"].n == 5
    assert set(compare_classifiers(truth, scores)) == {"rank_one_error", "macro_auc"}


def test_p_values_of_equal_classifiers_are_even():
    """Under the null hypothesis one in ten p-values is below a tenth."""
    p = [compare_pairs(RNG.normal(size=20), RNG.normal(size=20)) for _ in range(400)]
    assert np.mean([x.t_p < 0.1 for x in p]) == pytest.approx(0.1, abs=0.045)
    assert np.mean([x.rank_p < 0.1 for x in p]) == pytest.approx(0.1, abs=0.045)


def test_holm():
    np.testing.assert_allclose(adjust([0.01, 0.02, 0.03, 0.5]), [0.04, 0.06, 0.06, 0.5])
    np.testing.assert_allclose(adjust([0.6, 0.5]), [1.0, 1.0])
    assert len(adjust([])) == 0
