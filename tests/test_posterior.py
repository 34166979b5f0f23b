"""The frozen result, and what a model file may hold in its place."""

import dataclasses

import numpy as np
import pytest

from bayou import ModelFileError, Vocabulary
from bayou.data.container import pack_strings
from bayou.posterior import Posterior, unpack_vocabulary
from bayou.testing.cases import same


def make(**other):
    rows = np.array([[0.5, 0.1], [0.25, 0.2], [0.25, 0.7]], np.float32)
    return Posterior(
        **{
            "rows": rows,
            "alpha": np.array([0.1, 0.2]),
            "beta": 0.01,
            "topic_tokens": np.array([10.0, 20.0]),
            "scores": np.array([-7.0, np.nan]),
            "score_steps": np.array([1, 2]),
            "vocabulary": Vocabulary(["b", "a", "ü"]),
        }
        | other
    )


def test_sizes_and_topics():
    post = make()
    assert (post.n_topics, post.n_terms) == (2, 3)
    assert post.topics.shape == (2, 3)
    assert post.topics.dtype == np.float64
    np.testing.assert_allclose(post.topics.sum(axis=1), 1.0, rtol=1e-15)
    np.testing.assert_allclose(post.topics, post.rows.T, rtol=1e-6)


def test_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make().beta = 2.0


@pytest.mark.parametrize("vocabulary", [Vocabulary(["b", "a", "ü"]), None])
def test_round_trip(vocabulary):
    post = make(vocabulary=vocabulary)
    back = Posterior.from_arrays(post.arrays())
    assert same(vars(back), vars(post))


@pytest.mark.parametrize("name", ["rows", "alpha", "beta", "topic_tokens", "scores", "score_steps"])
def test_arrays_that_cannot_be_meant_are_refused(name):
    arrays = make().arrays()
    good = arrays[f"posterior.{name}"]
    missing = {k: v for k, v in arrays.items() if k != f"posterior.{name}"}
    forged = [good[None], good.reshape(-1)[:0], good.astype(np.complex128), good[:, None]]
    forged += [np.zeros(good.shape, np.int32)]
    if name in ("rows", "alpha", "beta", "topic_tokens"):
        forged += [np.full_like(good, np.nan), -good, np.full_like(good, np.inf)]
    for array in forged:
        with pytest.raises(ModelFileError):
            Posterior.from_arrays(arrays | {f"posterior.{name}": array})
    if name != "scores":
        with pytest.raises(ModelFileError):
            Posterior.from_arrays(missing)


def test_a_file_without_scores_must_have_no_steps_either():
    arrays = make().arrays()
    del arrays["posterior.scores"]
    with pytest.raises(ModelFileError):
        Posterior.from_arrays(arrays)


@pytest.mark.parametrize("terms", [[], ["a"], ["a", "", "ü", "日本", "\udc80", "a b\n"]])
def test_terms_round_trip(terms):
    assert list(unpack_vocabulary(pack_strings(terms), len(terms))) == terms
    assert unpack_vocabulary(None, len(terms)) is None


def test_forged_terms_are_refused():
    with pytest.raises(ModelFileError, match="distinct"):
        unpack_vocabulary(pack_strings(["a", "a"]), 2)
    with pytest.raises(ModelFileError, match="names 1 terms but has 2"):
        unpack_vocabulary(pack_strings(["a"]), 2)
    for packed in (np.zeros(4, np.uint8), np.ones((2, 2)), pack_strings(["a", "b"])[:-2]):
        with pytest.raises(ModelFileError, match="list of strings"):
            unpack_vocabulary(packed, 2)
