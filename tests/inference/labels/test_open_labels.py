"""Labels that come, go, become one or several: against what a direct computation gives."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.inference.labels.test_label_stream import EACH, HOW, V, counts_of, learn

from bayou.inference.labels import cells, open_set
from bayou.inference.labels import state as label_state
from bayou.inference.labels.state import LABELS, WORDS

HOW = HOW._replace(n_docs=None, n_rounds=2, n_label_rounds=2)


def batch_of(counts, rows, n_labels):
    labels = np.zeros((len(rows), n_labels), np.int8)
    for d, mine in enumerate(rows):
        labels[d, mine] = 1
    return cells.make_batch(csr_array(np.asarray(counts)), csr_array(labels), whole=False)


def texts(n, seed=0):
    return np.random.default_rng(seed).poisson(1.0, (n, V)).astype(np.float32)


def start(n_labels, n_topics=3, tables=False):
    p = HOW._replace(alpha=np.full(n_topics, 0.4), n_chains=2)
    state = label_state.start(V, p)
    state = open_set.arrange_labels(state, np.full(n_labels, -1))
    return state if tables else state._replace(tables=np.zeros(0))


def learn_all(steps, n_labels, seed=5):
    state = start(n_labels)
    for counts, rows in steps:
        state = learn(state, batch_of(counts, rows, n_labels), HOW, seed, EACH)
    return state


def test_removing_a_label_leaves_what_its_documents_never_taught():
    """Documents of two labels that never meet: without the second, as if its documents had not come."""
    X = texts(12)
    both = learn_all([(X, [[0]] * 7 + [[1]] * 5)], 2)
    alone = learn_all([(X[:7], [[0]] * 7)], 1)
    left = open_set.remove_labels(both, np.array([1]))
    np.testing.assert_allclose(counts_of(left, HOW), counts_of(alone, HOW), rtol=1e-5)
    np.testing.assert_allclose(left.shares, alone.shares)
    totals = [label_state.totals(s, None) for s in (left, alone)]
    np.testing.assert_allclose(totals[0][:2], totals[1][:2], rtol=1e-6)
    assert left.ids.tolist() == [0]
    assert left.next_id == 2


def test_removing_keeps_the_counts_of_others():
    rng = np.random.default_rng(1)
    rows = [rng.choice(5, rng.integers(1, 4), replace=False) for _ in range(30)]
    state = learn_all([(texts(30, 1), rows), (texts(30, 2), rows[::-1])], 5)
    left = open_set.remove_labels(state, np.array([1, 3]))
    np.testing.assert_allclose(
        counts_of(left, HOW), counts_of(state, HOW)[:, [0, 2, 4]], rtol=1e-5, atol=1e-7
    )
    for which, mass in ((WORDS, counts_of(left, HOW).sum()), (LABELS, None)):
        total = label_state.totals(left, None)[which]
        gone = label_state.totals(state, None)[which]
        assert total < gone
        if mass is not None:
            assert mass == pytest.approx(total, rel=1e-5)
    assert left.shares.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(left.topics.sum(axis=(1, 2)), 1.0, rtol=1e-5)


def test_merging_is_what_one_label_would_have_learn_all():
    X = texts(12)
    parts = learn_all([(X, [[0]] * 4 + [[1]] * 5 + [[2]] * 3)], 3)
    one = learn_all([(X, [[0]] * 9 + [[1]] * 3)], 2)
    merged = open_set.merge_labels(parts, np.array([0, 1]), fresh=False)
    np.testing.assert_allclose(counts_of(merged, HOW), counts_of(one, HOW), rtol=1e-5)
    np.testing.assert_allclose(merged.shares, one.shares)
    assert merged.ids.tolist() == [0, 2]
    again = open_set.merge_labels(parts, np.array([0, 1]), fresh=True)
    assert again.ids.tolist() == [3, 2]
    assert again.next_id == 4


def test_merging_adds_corrected_counts_of_labels_of_different_age():
    X = texts(16)
    state = learn_all([(X[:8], [[0]] * 8)], 1)
    state = open_set.arrange_labels(state, np.array([0, -1]))
    state = learn(state, batch_of(X[8:], [[0], [1]] * 4, 2), HOW, 5, EACH)
    merged = open_set.merge_labels(state, np.array([0, 1]), fresh=False)
    np.testing.assert_allclose(
        counts_of(merged, HOW)[:, 0], counts_of(state, HOW).sum(axis=1), rtol=1e-5
    )


def test_split_parts_add_up_and_merge_back():
    rows = [[0], [0, 1], [1]] * 5
    state = learn_all([(texts(15), rows)], 2)
    parts = open_set.split_label(state, 0, 3, 0.5, seed=9)
    N = counts_of(parts, HOW)
    assert parts.ids.tolist() == [1, 2, 3, 4]
    np.testing.assert_allclose(N[:, 1:].sum(axis=1), counts_of(state, HOW)[:, 0], rtol=1e-5)
    assert not np.allclose(N[:, 1], N[:, 2])
    np.testing.assert_allclose(parts.shares[1:], state.shares[0] / 3)
    back = open_set.merge_labels(parts, np.array([1, 2, 3]), fresh=True)
    np.testing.assert_allclose(counts_of(back, HOW)[:, 1], counts_of(state, HOW)[:, 0], rtol=1e-5)
    np.testing.assert_allclose(back.topics[:, 1], state.topics[:, 0], rtol=1e-6)
    even = open_set.split_label(state, 0, 2, 0.0, seed=9)
    np.testing.assert_allclose(
        counts_of(even, HOW)[:, 1], counts_of(state, HOW)[:, 0] / 2, rtol=1e-5
    )


def test_a_label_that_comes_later_is_corrected_by_its_birth():
    """Plain averages: the corrected share of a label is its mean over the batches since it came."""
    how = HOW._replace(rate=(1e-9, 0.0, 1.0), n_rounds=1)
    state, found = start(1), []
    for t in range(1, 7):
        if t == 4:
            state = open_set.arrange_labels(state, np.array([0, -1]))
        n_labels = state.n_labels
        X, rows = texts(6, t), [[0]] * 4 + [[n_labels - 1]] * 2
        state = learn(state, batch_of(X, rows, n_labels), how, 5, EACH)
        if t >= 4:
            found.append(X[4:].sum(axis=0) / X.sum())
    shares = counts_of(state, how)[:, 1] / label_state.totals(state, None)[WORDS]
    np.testing.assert_allclose(shares, np.mean(found, axis=0), rtol=1e-4)
    assert label_state.birth_correction(state.left[WORDS]) == pytest.approx([1.0, 2.0])


def test_numbers_are_never_given_twice():
    state = start(3)
    state = open_set.remove_labels(state, np.array([2]))
    state = open_set.arrange_labels(state, np.array([0, 1, -1]))
    assert state.ids.tolist() == [0, 1, 3]
    state = open_set.arrange_labels(state, np.array([-1, 2, 1, 0]), np.array([8]))
    assert state.ids.tolist() == [8, 3, 1, 0]
    assert state.next_id == 9


def test_tables_of_a_root_move_with_the_labels():
    state = start(3, 0, tables=True)._replace(tables=np.array([0.2, 0.5, 0.3]))
    assert open_set.remove_labels(state, np.array([1])).tables.tolist() == [0.2, 0.3]
    assert open_set.merge_labels(state, np.array([0, 2]), fresh=False).tables.tolist() == [0.5, 0.5]
    parts = open_set.split_label(state, 1, 2, 0.0, 1)
    assert parts.tables.tolist() == [0.2, 0.3, 0.25, 0.25]
