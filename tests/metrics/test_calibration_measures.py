"""Calibration: tables of stated and observed frequencies."""

import numpy as np
import pytest

from bayou import metrics


def naive_error(stated, right, n_bins):
    total = 0.0
    for b in range(n_bins):
        last = b == n_bins - 1
        at = [i for i, p in enumerate(stated) if b / n_bins <= p and (p < (b + 1) / n_bins or last)]
        if at:
            total += abs(sum(stated[i] for i in at) - sum(right[i] for i in at))
    return total / len(stated)


@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("n_bins", [1, 10])
def test_the_error_is_the_mean_gap(several, n_bins):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    truth = np.eye(4, dtype=bool)[rng.integers(0, 4, 300)]
    stated, right = p.ravel(), truth.ravel()
    if not several:
        best = p.argmax(axis=1)
        stated, right = p.max(axis=1), truth[np.arange(300), best]
    found = metrics.expected_calibration_error(p, truth, several=several, n_bins=n_bins)
    assert found == pytest.approx(naive_error(stated.tolist(), right.tolist(), n_bins))
    rows = metrics.reliability_table(p, truth, several=several, n_bins=n_bins)
    assert sum(row.n for row in rows) == len(stated)
    assert all(row.low <= row.probability <= row.high for row in rows)


def test_certain_and_right_is_no_error():
    truth = np.eye(3, dtype=bool)
    assert metrics.expected_calibration_error(truth * 1.0, truth) == 0.0
    assert metrics.expected_calibration_error(truth[::-1] * 1.0, truth) == pytest.approx(2 / 3)
    assert np.isnan(metrics.expected_calibration_error(np.zeros((0, 3)), truth[:0]))


@pytest.mark.parametrize("bad", [[[1.5, 0.0]], [[np.nan, 0.0]], [0.5, 0.5], [[0.5, 0.25, 0.25]]])
def test_bad_probabilities_are_refused(bad):
    with pytest.raises(ValueError, match="probabilities"):
        metrics.expected_calibration_error(bad, [[True, False]])
