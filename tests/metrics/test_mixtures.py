"""Distances of mixtures against the moments themselves."""

import numpy as np
import pytest
from tests.reference.moments import population

from bayou.metrics import matched_l1, moment_regret, recovery_error

RNG = np.random.default_rng(2)


def mixture(k=3, d=5):
    return RNG.dirichlet(np.ones(k)), RNG.dirichlet(np.ones(d), k)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_recovery_error_is_that_of_the_moments(order):
    a, b = mixture(3), mixture(4)
    difference = population(*a)[order - 1] - population(*b)[order - 1]
    expected = float((difference**2).sum())
    assert recovery_error(a, b, order=order) == pytest.approx(expected, abs=1e-13)
    assert recovery_error(a, b, order=order, squared=False) == pytest.approx(expected**0.5)
    assert recovery_error(a, a, order=order) == 0.0


def test_second_moments_do_not_fix_topics():
    turn = np.array([[1.0, 0.1], [-0.1, 1.0]]) / np.sqrt(1.01)
    root = np.sqrt([0.5, 0.5])[:, None] * np.array([[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    other = turn @ root
    mass = other.sum(axis=1)
    found = mass**2, other / mass[:, None]
    truth = ([0.5, 0.5], [[0.6, 0.2, 0.2], [0.2, 0.2, 0.6]])
    assert recovery_error(truth, found) < 1e-13
    assert recovery_error(truth, found, order=3) > 1e-5
    assert matched_l1(truth[1], found[1]) > 0.05


def test_regret_is_the_sum_of_what_steps_add():
    truths, which = [mixture(), mixture()], [0, 1, 0, 1]
    answers = [mixture() for _ in range(5)]

    def loss(t, answer):
        if t == 0:
            return 0.0
        mean = sum(population(*truths[i])[2] for i in which[:t]) / t
        return t * float(((mean - population(*answer)[2]) ** 2).sum())

    added = [loss(t + 1, answers[t]) - loss(t, answers[t]) for t in range(4)]
    expected = [sum(added[: t + 1]) - loss(t + 1, answers[-1]) for t in range(4)]
    np.testing.assert_allclose(moment_regret(truths, which, answers), expected, atol=1e-12)


def test_what_cannot_be_compared_is_refused():
    a = mixture()
    with pytest.raises(ValueError, match="must agree"):
        recovery_error(a, mixture(3, 6))
    with pytest.raises(ValueError, match="one weight per row"):
        recovery_error(a, ([1.0], a[1]))
    with pytest.raises(ValueError, match="one answer more"):
        moment_regret([a], [0], [a])
    with pytest.raises(ValueError, match="same terms"):
        matched_l1(a[1], [[1.0]])
    with pytest.raises(ValueError, match="order"):
        recovery_error(a, a, order=0)
