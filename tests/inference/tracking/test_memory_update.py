"""The state after a slice, from counts written down by hand: memory, strength, usual shares of terms."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import TopicTracker
from bayou.inference.lda import prior as lda_prior
from bayou.inference.lda.documents import pairs_of
from bayou.inference.tracking import change, evidence, memory_update, prior
from bayou.inference.tracking.state import TrackerState

COUNTS = np.array([[3, 0, 1, 0], [1, 2, 0, 0], [0, 5, 4, 0], [0, 0, 4, 0]], np.float32)
HERE = prior.slice_documents(
    pairs_of(csr_array(COUNTS)), 4
)  # of 20 tokens; the last term is absent
TERM_TOPIC = np.array([[4, 0, 0], [3, 3, 1], [1, 7, 1]], np.float32)  # two topics and a spare one
DOC_TOPIC = np.array([[3, 1, 0], [2, 1, 0], [2, 5, 2], [1, 3, 0]], np.float32)
MEMORY = np.array([[0.5, 0.1], [0.3, 0.2], [0.1, 0.6], [0.1, 0.1]], np.float32)


def settings(**given):
    return TopicTracker(**{"n_topics": 2, "alpha": 0.3, "rho": 0.25, **given}).resolve()


def state_of(**given):
    blank = TrackerState(**dict.fromkeys(TrackerState._fields))
    plain = {
        "step": 3, "n_seen": 11, "n_ids": 2, "n_fixed": 0, "strength": 12.0, "doc_doubt": 0.1, "beta": 0.2,
        "spared": 0.04, "memory": MEMORY, "past": np.zeros((0, 4, 2), np.float32), "rows": MEMORY,
        "alpha": np.array([0.3, 0.7]), "ids": np.array([0, 1]), "silent": np.zeros(2, int),
        "doubt": np.array([0.01, 0.02]), "tokens": np.array([5.0, 6.0]), "logit": np.array([0.0, 0.4]),
        "logit_doubt": np.array([0.1, 0.2]), "usual": np.array([0.4, 0.3, 0.2, 0.1]),
        "spread": np.array([0.5, 0.5, 0.3, 0.2]), "last": np.array([2, 2, 2, 1]),
    }  # fmt: skip
    return blank._replace(**plain | given)


def seen():
    found = prior.SliceTopics(TERM_TOPIC, DOC_TOPIC, np.zeros(20, np.uint16), np.full(3, 0.3))
    return evidence.measure_shares(found, HERE)


def judged():
    blank = evidence.SliceEvidence(**dict.fromkeys(evidence.SliceEvidence._fields))
    parts = np.array([0.2, 0.1]), np.array([0.05, 0.05]), np.ones(2), np.ones(2)
    return blank._replace(drift=change.Drift(*parts))


def update(p=None, **given):
    p = settings() if p is None else p
    return memory_update.advance_state(state_of(**given), seen(), judged(), p)


def wide():
    return np.vstack([TERM_TOPIC[:, :2], np.zeros((1, 2))])


def test_memory_moves_towards_the_posterior_of_the_slice():
    after = update()
    tokens = np.array([8.0, 10.0])
    posterior = (wide() + 12 * MEMORY) / (tokens + 12)
    np.testing.assert_allclose(after.memory, 0.75 * MEMORY + 0.25 * posterior, rtol=1e-5)
    np.testing.assert_allclose(after.tokens, tokens)
    step = 0.25 * tokens / (12 + tokens)
    doubt = (1 - step) ** 2 * np.array([0.01, 0.02]) + step**2 / tokens
    np.testing.assert_allclose(after.doubt, doubt, rtol=1e-6)
    assert (after.step, after.n_seen, after.strength) == (4, 15, 12.0)
    np.testing.assert_array_equal(after.alpha, [0.3, 0.7])


def test_usual_shares_of_topics_and_of_spare_ones_move_by_rho():
    after, found = update(), seen()
    assert after.spared == pytest.approx(0.75 * 0.04 + 0.25 * 2 / 20)
    np.testing.assert_allclose(after.logit, 0.75 * np.array([0.0, 0.4]) + 0.25 * found.logit[:2])
    expected = 0.75**2 * np.array([0.1, 0.2]) + 0.25**2 * found.variance[:2]
    np.testing.assert_allclose(after.logit_doubt, expected)


def test_usual_shares_of_terms_move_by_rho():
    after = update()
    tokens, docs = np.array([4, 7, 9, 0]) / 20, np.array([2, 2, 3, 0]) / 4
    before = state_of()
    np.testing.assert_allclose(after.usual, 0.75 * before.usual + 0.25 * tokens)
    np.testing.assert_allclose(after.spread, 0.75 * before.spread + 0.25 * docs)
    assert after.doc_doubt == pytest.approx(0.75**2 * 0.1 + 0.25**2 / 4)
    assert after.last.tolist() == [4, 4, 4, 1]
    np.testing.assert_array_equal(before.usual, [0.4, 0.3, 0.2, 0.1], "not in place")
    none = prior.slice_documents(pairs_of(csr_array(np.zeros((2, 4), np.float32))), 4)
    assert memory_update.update_term_shares(before, none, 0.25) is before


def test_alpha_follows_the_slices_if_it_is_learned():
    after = update(settings(learn_alpha=True))
    estimate = lda_prior.estimate_alpha(np.array([0.3, 0.7]), DOC_TOPIC[:, :2])
    np.testing.assert_allclose(after.alpha, 0.75 * np.array([0.3, 0.7]) + 0.25 * estimate)
    assert np.abs(after.alpha - [0.3, 0.7]).max() > 1e-3


def test_a_window_is_the_mean_of_its_last_estimates():
    past = np.stack([MEMORY, np.roll(MEMORY, 1, axis=0)])
    after = update(settings(window=2), past=past)
    now = (wide() + 12 * MEMORY) / (np.array([8.0, 10.0]) + 12)
    np.testing.assert_allclose(after.past, [past[1], now], rtol=1e-5)
    np.testing.assert_allclose(after.memory, (past[1] + now) / 2, rtol=1e-5)


def test_counts_decay_and_add_up():
    after = update(settings(scale="counts"), strength=1.0)
    expected = 0.75 * MEMORY + 0.25 * wide()
    np.testing.assert_allclose(after.memory, expected, rtol=1e-6)
    step = 0.25 * np.array([8.0, 10.0]) / expected.sum(axis=0)  # tokens of the slice in the memory
    doubt = (1 - step) ** 2 * np.array([0.01, 0.02]) + step**2 / np.array([8.0, 10.0])
    np.testing.assert_allclose(after.doubt, doubt, rtol=1e-6)


def test_fixed_topics_stay():
    p = settings(fixed={"mine": [1.0, 1.0, 1.0, 1.0]})
    after = update(p, n_fixed=1)
    np.testing.assert_allclose(after.memory[:, 0], MEMORY[:, 0], rtol=1e-6)
    np.testing.assert_allclose(after.rows[:, 0], MEMORY[:, 0], rtol=1e-6)
    assert after.doubt[0] == 0.0
    assert np.abs(after.memory[:, 1] - MEMORY[:, 1]).max() > 1e-3
    soft = update(settings(fixed={"mine": [1.0] * 4}, fixed_strength=30.0), n_fixed=1)
    rows = (wide()[:, 0] + 0.2 + 30 * MEMORY[:, 0]) / (8 + 0.8 + 30)
    np.testing.assert_allclose(soft.rows[:, 0], rows, rtol=1e-5)


@pytest.mark.parametrize("strength", [None, 40.0])
def test_topics_of_the_slice_weigh_their_memory_by_its_stability(strength):
    """A given strength is used as it is: that of the state, which the slice was inferred with."""
    after = update(settings(strength=strength))
    tokens = np.array([8.0, 10.0])
    pull = np.full(2, 12.0)
    if strength is None:
        pull = evidence.memory_weights(state_of(), judged(), tokens)
        assert np.abs(pull - 12.0).min() > 0.1
    rows = (wide() + 0.2 + pull * MEMORY) / (tokens + 0.8 + pull)
    np.testing.assert_allclose(after.rows, rows, rtol=1e-5)


def test_the_strength_of_a_slice():
    state = state_of()
    assert memory_update.strength(state, 900.0, settings(weight=0.2)) == pytest.approx(450 / 4)
    assert memory_update.strength(state_of(n_fixed=1), 900.0, settings(weight=0.2)) == 900 / 4
    assert memory_update.strength(state, 900.0, settings(strength=7.0)) == 7.0
    assert memory_update.strength(state, 900.0, settings(strength="estimate")) == 12.0
    empty = state_of(strength=0.0)
    assert memory_update.strength(empty, 900.0, settings(strength="estimate")) == 450 / 4
    assert memory_update.strength(state, 900.0, settings(scale="counts")) == 1.0


def test_the_first_memory():
    found = prior.SliceTopics(TERM_TOPIC * [1, 1, 0], DOC_TOPIC, np.zeros(0), np.ones(3))
    found = found._replace(term_topic=found.term_topic.astype(np.float32))
    rows = np.full((4, 3), 0.25, np.float32)
    got = memory_update.first_memory(found, rows, HERE, settings())
    np.testing.assert_allclose(got[:, :2], wide() / [8, 10], rtol=1e-6)
    np.testing.assert_allclose(got[:, 2], 0.25, err_msg="a topic without tokens has its prior")
    counts = memory_update.first_memory(found, rows, HERE, settings(scale="counts"))
    np.testing.assert_allclose(counts[:, :2], 0.25 * wide(), rtol=1e-6)
