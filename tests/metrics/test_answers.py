"""Measures of predictions, against scikit-learn's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from bayou.data import Corpus, DataError
from bayou.metrics import (
    Outcomes,
    class_scores,
    confusion,
    label_measures,
    number_measures,
    outcomes,
)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.integers(2, 6))
def test_labels_as_in_scikit_learn(seed, n_docs, n_labels):
    draw = np.random.default_rng(seed)
    truth, said = (draw.random((2, n_docs, n_labels)) < 0.4).astype(bool)
    scores = draw.random((n_docs, n_labels))
    names = tuple(map(str, range(n_labels)))
    found = Outcomes(names, True, truth, said, scores, np.zeros(n_docs, int))
    told = label_measures(found)
    if truth.any() or said.any():
        assert told["micro-F1"] == pytest.approx(sk.f1_score(truth, said, average="micro"))
    assert told["all labels right"] == pytest.approx(sk.accuracy_score(truth, said))
    each = sk.precision_recall_fscore_support(truth, said, zero_division=np.nan)
    mine = np.array([row[1:] for row in class_scores(found)], float).T
    np.testing.assert_allclose(mine[1:], np.array(each[:3]))
    best = scores.argmax(axis=1)
    assert told["P@1"] == pytest.approx(np.mean([truth[d, b] for d, b in enumerate(best)]))


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1))
def test_classes_as_in_scikit_learn(pairs):
    true, said = np.array(pairs).T
    eye = np.eye(3, dtype=bool)
    found = Outcomes(("a", "b", "c"), False, eye[true], eye[said], eye[said] * 1.0, 0 * true)
    told = label_measures(found)
    assert told["accuracy"] == pytest.approx(np.mean(true == said))
    assert told["macro-F1"] == pytest.approx(sk.f1_score(true, said, average="macro"))
    expected = sk.confusion_matrix(true, said, labels=range(3))
    np.testing.assert_array_equal(confusion(found), expected)


def test_numbers_as_in_scikit_learn():
    draw = np.random.default_rng(0)
    for shape in ((9,), (9, 2)):
        true, said = draw.normal(size=(2, *shape))
        told = number_measures(true, said)
        assert told["R2"] == pytest.approx(sk.r2_score(true, said))
        assert told["RMSE"] == pytest.approx(np.sqrt(sk.mean_squared_error(true, said)))
        assert told["mean absolute error"] == pytest.approx(sk.mean_absolute_error(true, said))
    assert np.isnan(number_measures(np.ones(3), np.zeros(3))["R2"])


class Guess:
    """Says "b" to everything."""

    classes_ = np.array(["a", "b"])

    def decision_function(self, corpus):
        return np.ones(corpus.n_docs)

    def predict(self, corpus):
        return np.full(corpus.n_docs, "b")


def test_labels_are_matched_by_name_and_strange_ones_are_missed():
    counts = np.ones((4, 2), int)
    corpus = Corpus.from_matrix(counts, labels=[["b"], ["z"], [], ["a"]])
    found = outcomes(Guess(), corpus)
    assert found.n_strange.tolist() == [0, 1, 0]
    assert found.truth.tolist() == [[False, True], [False, False], [True, False]]
    assert label_measures(found)["accuracy"] == pytest.approx(1 / 3)
    with pytest.raises(DataError, match="no labels"):
        outcomes(Guess(), Corpus.from_matrix(counts))
    with pytest.raises(DataError, match="no document has a label"):
        outcomes(Guess(), Corpus.from_matrix(counts, labels=[[], [], [], []], label_names=["a"]))
