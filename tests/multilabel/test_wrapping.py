"""What estimators around other estimators share."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from bayou.data import DataError
from bayou.multilabel.wrapping import label_scores, read_truth, seed_clone


@pytest.mark.filterwarnings("ignore:A column-vector y")
def test_labels_in_every_form():
    Y = np.array([[1, 0], [0, 0], [1, 1]])
    for y in (Y, Y.tolist(), Y.astype(bool), sparse.csc_matrix(Y), [[0], [], [0, 1]]):
        truth = read_truth(y, 3)
        np.testing.assert_array_equal(truth.indicator.toarray(), Y)
        assert truth.form == ("sparse" if sparse.issparse(y) else "dense")
    one = read_truth(Y[:, :1], 3)
    assert (one.form, one.indicator.shape, one.classes.tolist()) == ("dense", (3, 1), [0])
    assert read_truth(sparse.csr_array(np.zeros((3, 1))), 3).indicator.nnz == 0
    vector = read_truth([5, 7, 5], 3)
    assert (vector.form, vector.classes.tolist()) == ("vector", [5, 7])
    assert vector.indicator.toarray().ravel().tolist() == [0, 1, 0]
    for bad, words in (([0, 1, 2], "multiclass"), ([1, 1, 1], "one class"), (None, "y is None")):
        with pytest.raises(DataError, match=words):
            read_truth(bad, 3)
    with pytest.raises(DataError, match="inconsistent"):
        read_truth(Y[:, :1], 4)


def test_open_seeds_follow_from_ours():
    plain = LogisticRegression()
    assert seed_clone(plain, 1, 0, 0) is not plain
    tree = DecisionTreeClassifier()
    seeds = {seed_clone(tree, s, i, j).random_state for s in (1, 2) for i in (0, 1) for j in (0, 1)}
    assert len(seeds) == 8
    assert seed_clone(tree, 1, 2, 3).random_state == seed_clone(tree, 1, 2, 3).random_state
    assert seed_clone(DecisionTreeClassifier(random_state=9), 1, 0, 0).random_state == 9
    deep = seed_clone(make_pipeline(StandardScaler(), DecisionTreeClassifier()), 1, 0, 0)
    assert isinstance(deep[-1].random_state, int)


def test_scores_in_every_form():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.integers(0, 2, (30, 2))
    Y[:, 1] = 0
    forest = RandomForestClassifier(n_estimators=3, random_state=0).fit(X, Y)
    found = label_scores(forest, X, 2)
    np.testing.assert_array_equal(found[:, 0], forest.predict_proba(X)[0][:, 1])
    assert (found[:, 1] == 0).all()
    binary = LogisticRegression().fit(X, Y[:, 0])
    np.testing.assert_array_equal(label_scores(binary, X, 1)[:, 0], binary.predict_proba(X)[:, 1])
    margins = label_scores(binary, X, 1, "decision_function")
    np.testing.assert_array_equal(margins[:, 0], binary.decision_function(X))
    column = OneVsRestClassifier(LogisticRegression()).fit(X, Y[:, :1])
    assert label_scores(column, X, 1).shape == (30, 1)
    with pytest.raises(ValueError, match="gives 2 columns for 5 labels"):
        label_scores(binary, X, 5)
