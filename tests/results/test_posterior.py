"""The frozen result, and what a model file may hold in its place."""

import dataclasses

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference.blocks import block_corpus

from bayou import LDA, DataError, ModelFileError, OnlineLDA, Vocabulary
from bayou.data.container import pack_strings
from bayou.results.posterior import Posterior, unpack_vocabulary
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


# -- a posterior that serves alone ---------------------------------------------------------------

CORPUS, _ = block_corpus(n_docs=50)
MODELS = [
    LDA(n_topics=3, random_state=0),
    LDA(n_topics=600, n_sweeps=2, random_state=0),
    LDA(n_topics=3, inference="mh", n_sweeps=20, burn_in=5, n_draws=2, random_state=0),
    OnlineLDA(n_topics=3, n_passes=1, random_state=0),
]


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_it_gives_what_the_model_gives(model, tmp_path):
    model = model.fit(CORPUS)
    X = CORPUS.counts.copy()
    X.data = X.data * 0.5  # weights will do
    empty = csr_array((2, CORPUS.n_terms), dtype=np.float64)
    model.posterior_.save(tmp_path / "p")
    back = Posterior.load(tmp_path / "p")
    assert same(vars(back), vars(model.posterior_))
    for counts in (CORPUS.counts, csr_array(CORPUS.counts.astype(np.int64)), X, empty):
        expected = model.transform(counts)
        np.testing.assert_array_equal(back.transform(counts), expected)
        np.testing.assert_array_equal(model.posterior_.transform(counts), expected)


def test_it_is_read_from_a_batch_model_too(tmp_path):
    model = MODELS[0].fit(CORPUS)
    model.save(tmp_path / "m")
    assert same(vars(Posterior.load(tmp_path / "m")), vars(model.posterior_))
    MODELS[3].fit(CORPUS).save(tmp_path / "stream")  # holds the state that topics follow from
    with pytest.raises(ModelFileError):
        Posterior.load(tmp_path / "stream")


def test_counts_of_other_terms_are_refused():
    with pytest.raises(DataError, match="the counts have 5 terms, but the topics have 3"):
        make().transform(csr_array(np.ones((2, 5))))
