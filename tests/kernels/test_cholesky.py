"""Small systems of equations against NumPy's."""

import numpy as np
import pytest

from bayou.kernels import cholesky as kernels


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_factor_and_solve(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    A, b = np.eye(n) + A @ A.T, rng.normal(size=n)
    a, v = np.zeros((n + 2, n + 2)), b.copy()  # more room than is used
    a[:n, :n] = A
    kernels.factor_into(a, n)
    np.testing.assert_allclose(np.tril(a[:n, :n]), np.linalg.cholesky(A), rtol=1e-10, atol=1e-12)
    kernels.forward_into(v, a, n)
    np.testing.assert_allclose(np.linalg.cholesky(A) @ v, b, rtol=1e-10, atol=1e-12)
    kernels.backward_into(v, a, n)
    np.testing.assert_allclose(A @ v, b, rtol=1e-9, atol=1e-11)


def test_equal_documents_of_any_cost():
    a = np.eye(4) + 1e30 * np.ones((4, 4))  # the ones are lost in rounding
    kernels.factor_into(a, 4)
    assert (np.diagonal(a) >= 1.0).all()
    assert np.isfinite(a).all()


@pytest.mark.parametrize("n", [1, 2, 7, 30])
def test_both_factorisations_agree(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n))
    a = np.eye(n) + A @ A.T
    b = a.copy()
    kernels.factor_into(a, n)
    kernels.factor_fast_into(b)
    np.testing.assert_allclose(np.tril(b), np.tril(a), rtol=1e-12, atol=1e-13)
