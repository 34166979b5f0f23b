"""TopicTracker where there is next to nothing: no tokens, no words left, few sweeps."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import Corpus, TopicTracker
from bayou.data.errors import DataError


def blocks(n_docs, present, n_terms=12, seed=0):
    """Documents of three topics with words of their own, of those that are present."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((n_docs, n_terms), int)
    for d in range(n_docs):
        own = 4 * present[d % len(present)] + np.arange(4)
        np.add.at(counts[d], rng.choice(own, 20), 1)
    return counts


def test_a_topic_that_has_lost_all_its_words_stays_asleep():
    """Nothing comes of a memory without any mass: no topic is told as the same as it."""
    model = TopicTracker(n_topics=3, n_spare=0, forget_after=2, min_docs=2, random_state=0)
    names = [f"w{v}" for v in range(12)]
    for t in range(7):
        present = [0, 1, 2] if t < 2 else [0, 1]
        counts = blocks(60, present, seed=t)
        model.partial_fit(Corpus.from_matrix(counts, vocabulary=names))
    assert np.isfinite(model.components_).all()
    assert np.isfinite(model.slices_.surprise[2:]).all()
    assert not {"merged", "revived"} & {alert.kind for alert in model.alerts()}


@pytest.mark.parametrize("how", [{"fixed": {"f": [1.0] * 6}}, {"start": "spectral"}], ids=str)
def test_a_first_slice_without_tokens(how):
    model = TopicTracker(n_topics=2, random_state=0, **how).partial_fit(np.zeros((3, 6), int))
    model.partial_fit(np.eye(6, dtype=int)[np.arange(30) % 6] * 3)
    assert np.isfinite(model.components_).all()


def changing_blocks(seed):
    """`blocks` whose topics have other shares of their words each time, so that a memory is worth something.

    Topics that never change would be worth any number of tokens: the best strength would be its bound.
    """
    rng, counts = np.random.default_rng(seed), np.zeros((90, 12), int)
    shares = rng.dirichlet(np.full(4, 5.0), 3)
    for d in range(90):
        counts[d, 4 * (d % 3) : 4 * (d % 3) + 4] = rng.multinomial(20, shares[d % 3])
    return counts


def test_strength_is_estimated_whatever_was_empty_before():
    found = {}
    for name, order in (("plain", "abc"), ("late", "_abc"), ("gap", "a_bc")):
        model = TopicTracker(n_topics=3, strength="estimate", n_spare=0, beta=0.01, random_state=0)
        for which in order:
            counts = 0 * changing_blocks(0) if which == "_" else changing_blocks(ord(which))
            model.partial_fit(counts)
        found[name] = np.append(model.slices_.strength, model.state_.strength)
    # topics of four words with Dir(5) around their shares; three times three topics tell it roughly
    assert (found["plain"][2:] > 5).all()
    assert (found["plain"][2:] < 500).all(), "inside the bounds of the search, 0.01 and 1e8"
    np.testing.assert_allclose(found["late"][2:], found["plain"][1:], rtol=0.05)
    np.testing.assert_allclose(found["gap"][2:], found["plain"][1:], rtol=0.05)


def test_samplers_with_a_short_burn_in_learn_beta_too():
    model = TopicTracker(n_topics=3, inference="gibbs", n_sweeps=6, random_state=0)
    assert model.partial_fit(blocks(60, [0, 1, 2])).state_.beta != 0.01


@pytest.mark.parametrize(
    "topic",
    [{}, {"a": "much"}, {"a": -1}, {"a": float("inf")}, {"a": float("nan")}, 3, "words"],
    ids=str,
)
def test_a_fixed_topic_that_no_documents_could_make_sense_of(topic):
    with pytest.raises(ValueError, match="the fixed topic 'f' needs weights that are not negative"):
        TopicTracker(n_topics=2, fixed={"f": topic}).fit(np.ones((3, 5)))


def test_alerts_of_a_kind_that_there_is_not():
    model = TopicTracker(n_topics=2, n_sweeps=2, random_state=0).fit(np.ones((9, 5)))
    assert model.alerts(["born", "rise"]) == []
    with pytest.raises(ValueError, match="kind must be one of 'drift', 'words'"):
        model.alerts("births")


def test_a_fixed_topic_whose_terms_nobody_says():
    corpus = Corpus.from_tokens([["a", "b"], ["b", "c"]] * 20)
    with pytest.raises(DataError, match="none of the terms of the fixed topic 'f'"):
        TopicTracker(n_topics=2, fixed={"f": {"zebra": 1.0}}).fit(corpus)
    model = TopicTracker(n_topics=2, min_docs=2, fixed={"f": {"zebra": 1.0}}, random_state=0)
    assert "zebra" in model.fit(corpus).vocabulary_


def test_counts_that_cannot_be_written_out_are_told():
    counts = np.array([[1e11, 0, 1], [0, 1, 2], [3, 3, 3]])
    with pytest.raises(DataError, match=r"document 0 holds term 0 1e.11 times"):
        TopicTracker(n_topics=2).fit(counts)


def test_documents_that_wait_are_not_those_of_the_caller():
    counts = csr_array(np.random.default_rng(0).poisson(1.0, (30, 12)).astype(np.float32))
    model = TopicTracker(n_topics=2, slice_by=40, random_state=0).partial_fit(counts)
    n_tokens = counts.sum()
    counts.data[:] = 9.0
    assert model.flush().slices_.n_tokens.tolist() == [n_tokens]
