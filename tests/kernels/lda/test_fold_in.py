"""Documents under fixed topics: the iteration, where it rests, and what a document's score is."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from tests.reference import em as twin

from bayou.inference.lda.documents import pairs_of
from bayou.kernels.lda import fold_in

F = np.float32


def problem(fractional=False):
    rng = np.random.default_rng(3)
    X = rng.poisson(0.8, (8, 15)) * (rng.uniform(0.1, 1.5, (8, 15)) if fractional else 1.0)
    X[2], X[5] = 0, 0
    X[5, 4] = 1
    alpha = np.array([0.2, 1.1, 0.05, 0.4], F)
    rows = np.ascontiguousarray(rng.dirichlet(np.full(15, 0.5), 4).T.astype(F)) + F(1e-4)
    return X.astype(F), pairs_of(csr_array(X.astype(F))), rows, alpha


def fit(pairs, rows, alpha, max_iter, tol, cuts=(0, 8)):
    out = np.empty((8, len(alpha)), F)
    for lo, hi in itertools.pairwise(cuts):
        fold_in.em_rows(out, tuple(pairs), lo, hi, rows, alpha, max_iter, F(tol))
    return out


@pytest.mark.parametrize("fractional", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2, 7])
def test_steps_are_those_of_the_dense_twin(max_iter, fractional):
    X, pairs, rows, alpha = problem(fractional)
    out = fit(pairs, rows, alpha, max_iter, 0.0)
    for d, x in enumerate(X.astype(float)):
        np.testing.assert_allclose(
            out[d], twin.fold_in(x, rows, alpha, max_iter), rtol=2e-5, atol=2e-5
        )
    np.testing.assert_allclose(out.sum(axis=1), X.sum(axis=1), rtol=1e-5)


def test_it_rests_at_the_maximum_of_the_posterior_density():
    """theta = n + alpha, normalised, maximises ln p(w | theta) + sum alpha ln theta."""
    X, pairs, rows, alpha = problem()
    out = fit(pairs, rows, alpha, 5000, 1e-7)

    def cost(logits, x):
        logs = logits - np.logaddexp.reduce(logits)
        return -(x @ np.log(rows @ np.exp(logs)) + alpha @ logs)

    for d, x in enumerate(X.astype(float)):
        theta = twin.normalised(out[d].astype(float) + alpha)
        best = minimize(cost, np.zeros(4), args=(x,), tol=1e-12)
        assert cost(np.log(theta), x) == pytest.approx(best.fun, abs=1e-4)
    again = twin.sums(X.astype(float), twin.responsibilities(out, rows, alpha))[0]
    np.testing.assert_allclose(again, out, atol=2e-4)


def test_it_stops_when_little_moves():
    """After the first step that moved less than one token in a hundred, and no later."""
    X, pairs, rows, alpha = problem()
    loose = fit(pairs, rows, alpha, 500, 0.01)
    steps = np.stack([fit(pairs, rows, alpha, n, 0.0) for n in range(60)])
    for d, x in enumerate(X):
        moved = np.abs(np.diff(steps[:, d], axis=0)).sum(axis=1)
        last = 1 + int(np.argmax(moved < 0.01 * x.sum())) if x.any() else 0
        np.testing.assert_array_equal(loose[d], steps[last, d])


def test_empty_and_single_token_documents():
    _, pairs, rows, alpha = problem()
    out = fit(pairs, rows, alpha, 20, 0.01)
    assert not out[2].any()
    assert out[5].sum() == pytest.approx(1, rel=1e-6)


def test_with_many_topics_the_unused_are_dropped():
    """Three steps over all topics, then over those with more than a hundredth of a token."""
    rng = np.random.default_rng(4)
    n_topics = fold_in.MANY
    X = rng.poisson(0.2, (8, 15)).astype(F)
    rows = np.ascontiguousarray(rng.dirichlet(np.full(15, 0.3), n_topics).T.astype(F)) + F(1e-4)
    alpha = np.full(n_topics, 0.01, F)
    out = fit(pairs_of(csr_array(X)), rows, alpha, 8, 0.0)
    for d, x in enumerate(X.astype(float)):
        first = twin.fold_in(x, rows, alpha, 3)
        used = first > fold_in.USED
        assert used.sum() < n_topics
        n = first[used]
        for _ in range(5):
            share = (n + alpha[used]) * rows[:, used]
            n = (x[:, None] * share / share.sum(axis=1, keepdims=True)).sum(axis=0)
        np.testing.assert_allclose(out[d, used], n, rtol=1e-3, atol=1e-3)
        assert not out[d, ~used].any()


def test_a_document_does_not_depend_on_the_others():
    _, pairs, rows, alpha = problem()
    whole = fit(pairs, rows, alpha, 20, 0.01)
    np.testing.assert_array_equal(fit(pairs, rows, alpha, 20, 0.01, (0, 1, 4, 8)), whole)


def test_log_likelihood_is_that_of_the_mixture():
    X, pairs, rows, alpha = problem(fractional=True)
    theta = np.random.default_rng(0).dirichlet(alpha, 8).astype(F)
    out = np.empty(8)
    for lo, hi in ((4, 8), (0, 4)):
        fold_in.log_lik_rows(out, theta, tuple(pairs), lo, hi, rows)
    np.testing.assert_allclose(out, (X * np.log(theta @ rows.T)).sum(axis=1), rtol=1e-5)
    assert out[2] == 0
