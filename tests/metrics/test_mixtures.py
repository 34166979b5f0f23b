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


def largest_value(tensor):
    """max |T(x, x, x)| over a fine grid of unit vectors in three dimensions."""
    polar, turn = np.meshgrid(np.linspace(0, np.pi, 181), np.linspace(0, 2 * np.pi, 361))
    x = np.stack([np.sin(polar) * np.cos(turn), np.sin(polar) * np.sin(turn), np.cos(polar)], -1)
    x = x.reshape(-1, 3)
    return np.abs(np.einsum("abc,na,nb,nc->n", tensor, x, x, x, optimize=True)).max()


@pytest.mark.parametrize("norm", ["frobenius", "spectral"])
@pytest.mark.parametrize("basis", [None, np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 1.5]])])
def test_regret_compares_answers_with_the_leader_of_their_own_time(norm, basis):
    """Eq. 9 with n = t at every step t: the answer in hindsight is the one after t, not the last one."""
    truths, which = [mixture(3, 3), mixture(3, 3)], [0, 1, 1, 0]
    answers = [mixture(3, 3) for _ in range(5)]
    turn = np.eye(3) if basis is None else basis

    def third(model):
        return np.einsum("abc,ai,bj,ck->ijk", population(*model)[2], turn, turn, turn)

    def loss(t, answer):
        if t == 0:
            return 0.0
        gap = sum(third(truths[i]) for i in which[:t]) / t - third(answer)
        size = np.linalg.norm(gap) if norm == "frobenius" else largest_value(gap)
        return t * float(size**2)

    added = [loss(t + 1, answers[t]) - loss(t, answers[t]) for t in range(4)]
    expected = [sum(added[: t + 1]) - loss(t + 1, answers[t + 1]) for t in range(4)]
    got = moment_regret(truths, which, answers, norm=norm, basis=basis)
    rtol, atol = (1e-9, 1e-12) if norm == "frobenius" else (2e-3, 1e-3 * max(np.abs(expected)))
    np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol)
    best = moment_regret(truths, which, answers, norm=norm, basis=basis, hindsight="truth")
    np.testing.assert_allclose(best, np.cumsum(added), rtol=rtol, atol=atol)


def test_regret_of_a_prefix_is_the_prefix_of_the_regret():
    """What comes later does not change the regret so far."""
    truths, which = [mixture(), mixture()], [0, 1, 0, 1, 1]
    answers = [mixture() for _ in range(6)]
    whole = moment_regret(truths, which, answers)
    for n in (1, 3):
        part = moment_regret(truths, which[:n], answers[: n + 1])
        np.testing.assert_allclose(part, whole[:n], atol=1e-13)


def test_an_answer_that_never_changes_has_no_regret():
    answer = mixture()
    for norm in ("frobenius", "spectral"):
        got = moment_regret([mixture(), mixture()], [0, 1, 1], [answer] * 4, norm=norm)
        np.testing.assert_allclose(got, 0.0, atol=1e-12)


@pytest.mark.parametrize("far", [1e-1, 1e-3, 1e-5])
def test_the_spectral_norm_of_a_small_difference(far):
    """Mixtures that nearly agree: the norm is that of the difference, however small."""
    weights, topics = mixture(3, 3)
    other = weights, np.abs(topics + far * RNG.normal(size=(3, 3)))
    truth = (weights, topics)
    gap = population(*truth)[2] - population(*other)[2]
    got = moment_regret([truth], [0], [other, truth], norm="spectral")[0]
    assert got**0.5 == pytest.approx(largest_value(gap), rel=2e-3)


def test_the_spectral_norm_is_at_most_the_frobenius_norm_and_exact_for_orthogonal_topics():
    truth, answer = (np.array([0.3, 0.7]), np.eye(2, 6)), (np.array([1.0]), np.eye(1, 6))
    # T = 0.3 e1^3 + 0.7 e2^3 - e1^3: 0.7 in the spectral norm, 0.7 sqrt(2) in the other
    got = {
        norm: moment_regret([truth], [0], [answer, truth], norm=norm)[0]
        for norm in ("frobenius", "spectral")
    }
    assert got["spectral"] == pytest.approx(0.49, rel=1e-6)
    assert got["frobenius"] == pytest.approx(0.98)


def test_what_cannot_be_compared_is_refused():
    a = mixture()
    with pytest.raises(ValueError, match="must agree"):
        recovery_error(a, mixture(3, 6))
    with pytest.raises(ValueError, match="one weight per row"):
        recovery_error(a, ([1.0], a[1]))
    with pytest.raises(ValueError, match="one answer more"):
        moment_regret([a], [0], [a])
    with pytest.raises(ValueError, match="norm must be one of"):
        moment_regret([a], [0], [a, a], norm="nuclear")
    with pytest.raises(ValueError, match="hindsight must be one of"):
        moment_regret([a], [0], [a, a], hindsight="best")
    with pytest.raises(ValueError, match="same terms"):
        matched_l1(a[1], [[1.0]])
    with pytest.raises(ValueError, match="order"):
        recovery_error(a, a, order=0)
