"""Passive-aggressive steps against the optimum of the primal, and against the classical algorithm."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from tests.reference import passive_aggressive as twin

from bayou.kernels.margin import passive_aggressive as kernels

NONE = np.zeros((0, 0))


def rows_of(X):
    sparse = csr_array(X)
    return (
        sparse.indptr.astype(np.int64),
        sparse.indices.astype(np.int64),
        sparse.data.astype(float),
    )


def problem(n_docs, n_features, tube, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_docs, n_features)) * (rng.random((n_docs, n_features)) < 0.7)
    w = rng.normal(size=n_features)
    y = 2 * rng.normal(size=n_docs) if tube else np.sign(rng.normal(size=n_docs))
    return X, y, w, rng.uniform(0.2, 1.5, n_docs)


def learned(X, y, w, c, variance, width, tube, rounds=100_000, ends=None, drift=NONE, first=0.0):
    mean, duals = w[None].copy(), np.full((len(X), 1), 7.0)
    norms, ends = (X**2).sum(axis=1), np.array([0, len(X)] if ends is None else ends)
    kernels.average_batches(
        mean, drift, 0, 1, rows_of(X), norms, y[:, None], c, ends, duals, (variance, width, tube),
        (rounds, 1e-15), first,
    )  # fmt: skip
    return mean[0], duals[:, 0]


@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_a_batch_comes_to_the_optimum(tube, seed):
    X, y, w, c = problem(15, 4, tube, seed)
    variance, width = 0.6, 1.3 if not tube else 0.3
    mean, beta = learned(X, y, w, c, variance, width, tube)
    found = twin.primal(mean, w, X, y, c, variance, width, tube)
    assert found - twin.dual(beta, w, X, y, variance, width, tube) == pytest.approx(0.0, abs=1e-8)
    np.testing.assert_allclose(mean - w, variance * X.T @ beta, atol=1e-12)
    signed = np.abs(beta) if tube else beta * y
    assert (signed >= 0).all()
    assert (signed <= 2 * c).all()


@pytest.mark.parametrize("tube", [False, True])
def test_no_search_finds_anything_better(tube):
    X, y, w, c = problem(6, 2, tube, 3)
    mean, _ = learned(X, y, w, c, 0.8, 0.9, tube)
    best = minimize(
        lambda v: twin.primal(v, w, X, y, c, 0.8, 0.9, tube), w, method="Nelder-Mead",
        options={"xatol": 1e-12, "fatol": 1e-14, "maxfev": 20_000},
    )  # fmt: skip
    found = twin.primal(mean, w, X, y, c, 0.8, 0.9, tube)
    assert found == pytest.approx(best.fun, abs=1e-8)
    grid = np.linspace(-2, 2, 41)
    around = [
        twin.primal(mean + np.array([a, b]), w, X, y, c, 0.8, 0.9, tube) for a in grid for b in grid
    ]
    assert found <= min(around) + 1e-12


@pytest.mark.parametrize("tube", [False, True])
def test_batches_of_one_are_the_classical_algorithm(tube):
    X, y, w, _ = problem(40, 5, tube, 11)
    X[7] = 0.0  # an empty document changes nothing
    c, variance = np.full(40, 0.35), 0.5
    got = w
    for d in range(40):
        before = got
        got, _ = learned(X[d : d + 1], y[d : d + 1], before, c[:1], variance, 0.7, tube)
        step = twin.pa_one_regression if tube else twin.pa_one
        if d != 7:  # C = 2 c sigma^2: the weights move by sigma^2 tau x
            np.testing.assert_allclose(
                got, step(before, X[d], y[d], 0.35, 0.7), rtol=1e-10, atol=1e-12
            )
    whole, _ = learned(X, y, w, c, variance, 0.7, tube, ends=np.arange(41))
    np.testing.assert_array_equal(whole, got)
    assert not np.array_equal(got, w)


def test_missing_responses_are_passed_over():
    X, y, w, c = problem(9, 3, False, 2)
    y[[1, 4]] = np.nan
    keep = ~np.isnan(y)
    mean, duals = learned(X, y, w, c, 1.0, 1.0, False)
    np.testing.assert_array_equal(mean, learned(X[keep], y[keep], w, c[keep], 1.0, 1.0, False)[0])
    assert (duals[~keep] == 0).all()


def test_the_drift_gives_the_average_over_time():
    X, y, w, c = problem(12, 3, False, 8)
    drift, ends = np.zeros((1, 3)), np.array([0, 4, 5, 9, 12])
    mean, _ = learned(X, y, w, c, 1.0, 1.0, False, ends=ends, drift=drift)
    after = [learned(X[: ends[b]], y[: ends[b]], w, c, 1.0, 1.0, False, ends=ends[: b + 1])[0]
             for b in range(1, 5)]  # fmt: skip
    np.testing.assert_allclose(mean - drift[0] / 4, np.mean(after, axis=0), rtol=1e-10, atol=1e-12)


def test_yes_and_no_mirror_each_other():
    X, y, w, c = problem(20, 4, False, 5)
    one, other = (learned(X, s * y, s * w, c, 0.9, 1.1, False)[0] for s in (1.0, -1.0))
    np.testing.assert_array_equal(one, -other)


def test_content_tells_documents_apart():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0], [0.0, 0.0], [1.0, 2.0]])
    y = np.array([[1.0], [1.0], [1.0], [1.0], [-1.0]])
    indptr, indices, data = rows_of(X)
    out = np.empty(5, np.uint64)
    kernels.content_into(out, (indptr, indices, data.view(np.uint64)), y.view(np.uint64))
    assert out[0] == out[2]
    assert len(set(out.tolist())) == 4
    keys = [np.empty(5, np.uint64) for _ in range(3)]
    for key, (seed, n) in zip(keys, [(1, 0), (1, 1), (2, 0)], strict=True):
        kernels.keys_into(key, out, seed, n)
    assert len({tuple(key.tolist()) for key in keys}) == 3
