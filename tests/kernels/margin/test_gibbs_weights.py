"""Gaussian weights by mean field: the kernels against the formulas with matrices in full."""

import numpy as np
import pytest
from tests.kernels.margin.test_passive_aggressive import NONE, problem, rows_of
from tests.reference import passive_aggressive as twin

from bayou.kernels.margin import gibbs_weights as kernels


def start(n_features, diagonal, seed=0):
    """A precision that is not that of the prior, and its factor."""
    A = np.random.default_rng(seed).normal(size=(n_features, n_features))
    P = A @ A.T / n_features + 0.5 * np.eye(n_features)
    P = np.diag(np.diag(P)) if diagonal else P
    return P, (np.diag(P).copy() if diagonal else np.linalg.cholesky(P).T)


def learned(X, y, w, spread, c, width, tube, n_rounds, ends=None, tol=0.0, drift=NONE):
    mean, spread = w[None].copy(), spread[None].copy()
    run = kernels.diagonal_batches if spread.ndim == 2 else kernels.full_batches
    ends = np.array([0, len(X)] if ends is None else ends)
    run(
        mean, spread, drift, 0, 1, rows_of(X), y[:, None], c, ends, (width, tube),
        (n_rounds, tol), 0.0,
    )  # fmt: skip
    return mean[0], spread[0]


def precision(spread):
    return np.diag(spread) if spread.ndim == 1 else spread.T @ spread


@pytest.mark.parametrize("n_docs", [1, 2, 7])
@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_rounds_are_those_of_the_formulas(n_docs, tube, diagonal):
    X, y, w, c = problem(n_docs, 5, tube, 4)
    P, spread = start(5, diagonal)
    expected = twin.gibbs_batch(w, P, X, y, c, 0.8, tube, 4, diagonal)
    for n_rounds, (mean, after) in enumerate(expected, 1):
        got, left = learned(X, y, w, spread, c, 0.8, tube, n_rounds)
        np.testing.assert_allclose(got, mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(precision(left), after, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("diagonal", [False, True])
def test_no_round_raises_the_objective(tube, diagonal):
    X, y, w, c = problem(8, 4, tube, 6)
    P, spread = start(4, diagonal)
    told = []
    for n_rounds in range(1, 30):
        mean, after = learned(X, y, w, spread, c, 0.8, tube, n_rounds)
        told.append(twin.gibbs_objective(mean, precision(after), w, P, X, y, c, 0.8, tube))
    assert (np.diff(told) <= 1e-10).all()
    assert told[0] - told[-1] > 1e-3


@pytest.mark.parametrize("diagonal", [False, True])
def test_batches_follow_each_other(diagonal):
    X, y, w, c = problem(10, 4, False, 9)
    P, spread = start(4, diagonal)
    y[3] = np.nan
    ends, drift = [0, 3, 4, 10], np.zeros((1, 4))
    got = learned(X, y, w, spread, c, 1.0, False, 50, ends, drift=drift)
    mean, states = w, []
    for lo, hi in ((0, 3), (3, 4), (4, 10)):
        keep = [d for d in range(lo, hi) if not np.isnan(y[d])]
        if keep:
            mean, P = twin.gibbs_batch(
                mean, P, X[keep], y[keep], c[keep], 1.0, False, 50, diagonal
            )[-1]
        states.append(mean)
    np.testing.assert_allclose(got[0], mean, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(precision(got[1]), P, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        got[0] - drift[0] / 3, np.mean(states, axis=0), rtol=1e-9, atol=1e-12
    )


def test_rounds_end_when_nothing_moves():
    X, y, w, c = problem(6, 4, False, 1)
    _, spread = start(4, False)
    one = learned(X, y, w, spread, c, 1.0, False, 10_000, tol=1e-3)
    other = learned(X, y, w, spread, c, 1.0, False, 10_000, tol=1e-12)
    assert not np.array_equal(one[0], other[0])
    np.testing.assert_allclose(one[0], other[0], atol=1e-2)


def test_documents_that_are_met_exactly_stay_finite():
    X, y, c = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), np.full(2, 1e6)
    for spread in (np.full(2, 1e12), np.eye(2) * 1e6):
        mean, after = learned(X, y, np.array([1.0, 0.0]), spread, c, 1.0, False, 200)
        assert np.isfinite(mean).all()
        assert np.isfinite(after).all()


def test_variances():
    X, *_ = problem(6, 5, False, 3)
    P, factor = start(5, False)
    out = np.empty((6, 1))
    kernels.full_variances_into(out, factor[None], rows_of(X), 0, 6)
    np.testing.assert_allclose(
        out[:, 0], np.einsum("dj,jk,dk->d", X, np.linalg.inv(P), X), rtol=1e-10
    )


def test_a_factor_takes_a_document_in():
    P, factor = start(6, False, seed=2)
    v = np.array([0.0, 1.5, 0.0, -2.0, 0.3, 0.0])
    got = factor[None].copy()
    kernels.enter_into(got, 0, v.copy())
    np.testing.assert_allclose(got[0].T @ got[0], P + np.outer(v, v), rtol=1e-12, atol=1e-12)
    assert (np.tril(got[0], -1) == 0).all()
