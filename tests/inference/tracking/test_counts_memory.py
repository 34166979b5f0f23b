"""The memory after a slice, in both scales."""

import numpy as np
import pytest

from bayou import TopicTracker
from bayou.datasets import make_news
from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import lineage, memory_update, prior
from bayou.inference.tracking import state as states


@pytest.mark.parametrize("scale", ["strength", "counts"])
def test_a_new_topic_has_a_memory_of_the_scale_of_the_others(scale):
    corpus, _ = make_news(n_slices=6, docs_per_slice=60, seed=1)
    model = TopicTracker(
        n_topics=6, slice_by="week", n_sweeps=40, beta=0.01, scale=scale, rho=0.3, random_state=0
    ).fit(corpus[:300])  # the birth is in the last of these five slices
    (born,) = model.alerts("born")
    assert born.slice == 4
    mass = model.state_.memory.sum(axis=0)[model.topic_ids_ == born.topic]
    tokens = model.state_.tokens[model.topic_ids_ == born.topic]
    assert tokens > 200
    np.testing.assert_allclose(mass, 0.3 * tokens if scale == "counts" else 1.0, rtol=1e-5)


@pytest.mark.parametrize("scale", ["strength", "counts"])
def test_the_weight_of_a_slice_is_its_part_of_the_memory(scale):
    """The weight w solves m' = (1 - w) m + w n / N for normalised memories, topic by topic."""
    rng = np.random.default_rng(3)
    known = rng.dirichlet(np.ones(9), 2).T.astype(np.float32) * np.float32([1.0, 1.0])
    if scale == "counts":
        known *= np.float32([700.0, 90.0])
    counts = rng.multinomial(400, np.ones(9) / 9, 2).T.astype(np.float32) * np.float32([1.0, 0.25])
    state = states.TrackerState(**dict.fromkeys(states.TrackerState._fields))
    state = state._replace(memory=known, strength=1.0 if scale == "counts" else 150.0, n_fixed=0)
    p = TopicTracker(scale=scale).resolve()
    ends, terms = np.arange(10), np.arange(9, dtype=np.int32)
    here = prior.slice_documents(Pairs(ends, terms, np.ones(9, np.float32)), 9)
    moved, _, weight = memory_update._move_memory(state, counts, here, np.array([0.3, 0.6]), p)
    before, now, after = (a / a.sum(axis=0) for a in (known, counts, moved))
    np.testing.assert_allclose(after, (1.0 - weight) * before + weight * now, rtol=2e-5)
    assert 0.0 < weight.min() < weight.max() < 1.0


def test_topics_with_equal_words_have_no_distance():
    counts = np.array([3.0, 1.0, 0.0], np.float32)
    many = np.array([[6.0, 0.0], [2.0, 0.0], [0.0, 5.0]], np.float32)
    np.testing.assert_allclose(lineage.hellinger(counts, many), [0.0, 1.0], atol=1e-3)
