"""What parameters may be, and what is said about those that may not."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from bayou import LDA
from bayou.data.checks import MAX_TOPICS, number, one_of, whole
from bayou.inference.lda.prior import resolve_alpha


def test_alpha_by_default():
    np.testing.assert_array_equal(resolve_alpha(None, 4), [0.1] * 4)
    np.testing.assert_array_equal(resolve_alpha(None, 500), [0.1] * 500)
    np.testing.assert_array_equal(resolve_alpha(None, 1000), [0.05] * 1000)


@pytest.mark.parametrize("alpha", [0.5, np.float32(0.5), 1, [1, 2, 3], (0.1, 0.2, 0.3), np.ones(3)])
def test_alpha_is_one_number_a_topic_of_its_own(alpha):
    out = resolve_alpha(alpha, 3)
    assert out.shape == (3,)
    assert out.dtype == np.float64
    np.testing.assert_array_equal(out, np.broadcast_to(np.asarray(alpha, float), 3))
    out[0] = 7.0
    assert np.asarray(alpha).max() != 7.0


@pytest.mark.parametrize(
    ("alpha", "message"),
    [
        ("auto", "alpha must be a number, or one for each topic; got 'auto'"),
        ({"a": 1}, "alpha must be a number, or one for each topic"),
        (10**400, "alpha must be a number, or one for each topic"),
        ([[1, 2, 3]], r"one for each of 3 topics; got shape \(1, 3\)"),
        ([1, 2], r"got shape \(2,\)"),
        ([[1], [2, 3]], "alpha must be a number"),
        (0.0, "alpha must be positive, from 1e-30 to 1e"),
        (-1, "alpha must be positive"),
        ([1, 2, np.nan], "alpha must be positive"),
        (np.inf, "alpha must be positive"),
        (1e31, "alpha must be positive"),
    ],
    ids=lambda value: f"{value!r:.12}",
)
def test_alpha_that_cannot_be_meant(alpha, message):
    with pytest.raises(ValueError, match=message):
        resolve_alpha(alpha, 3)


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(2**63), 10**30])
def test_whole_numbers(value):
    whole("n", value, 3)


@pytest.mark.parametrize("value", [2, 3.0, True, None, "3", np.float64(3), [3], {"a": 1}])
def test_what_is_not_whole(value):
    with pytest.raises(ValueError, match="n must be a whole number of at least 3; got"):
        whole("n", value, 3)


@pytest.mark.parametrize("value", [0.5, 1, np.float32(0.5), np.int64(1), Fraction(1, 2)])
def test_numbers(value):
    number("x", value, 0.0, 1.0)


@pytest.mark.parametrize(
    "value",
    [-0.1, 1.1, np.nan, np.inf, True, None, "1", 1j, [0.5], Decimal("0.5"), 10**400],
    ids=lambda value: f"{value!r:.9}",
)
def test_what_is_not_a_number_in_range(value):
    with pytest.raises(ValueError, match="x must be a number, from 0 to 1; got"):
        number("x", value, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"x must be a positive number, from 0\.5 to 1; got"):
        number("x", value, 0.5, 1.0)


@pytest.mark.parametrize("value", ["c", None, 1, ["a"], {"a": 1}, np.array(["a", "b"])])
def test_words_that_are_not_on_the_list(value):
    with pytest.raises(ValueError, match="w must be one of 'a', 'b'; got"):
        one_of("w", value, ("a", "b"))
    one_of("w", "a", ("a", "b"))


def test_the_fields_of_a_model_together():
    good = {"n_topics": 3, "n_sweeps": None, "beta": 0.1, "max_time": None, "n_threads": None}

    def check(**other):
        LDA(**good | other).check_params()

    for other in ({}, {"n_sweeps": 5}, {"max_time": 1}, {"n_threads": -1}, {"n_threads": 2}):
        check(**other)
    check(n_topics=MAX_TOPICS)
    for other, message in (
        ({"n_topics": None}, "n_topics must be a whole number"),
        ({"n_topics": MAX_TOPICS + 1}, "n_topics must be at most 65535; got 65536"),
        ({"n_sweeps": 0}, "n_sweeps must be a whole number of at least 1"),
        ({"beta": None}, "beta must be a positive number"),
        ({"max_time": 0}, "max_time must be a positive number"),
        ({"n_threads": 0}, "n_threads must be a whole number of at least 1"),
        ({"n_threads": 2.0}, "n_threads must be a whole number of at least 1"),
    ):
        with pytest.raises(ValueError, match=message):
            check(**other)
