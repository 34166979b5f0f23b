"""Learners of one label with other labels beside the features."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB

from bayou.multilabel.learners import Constant, fit_label, join_features, label_probability


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_joined_keeps_form_and_type(dtype):
    X, labels = np.ones((3, 2), dtype), np.array([[1], [0], [1]], np.int8)
    expected = [[1, 1, 1], [1, 1, 0], [1, 1, 1]]
    for beside in (labels, sparse.csr_array(labels)):
        dense, thin = join_features(X, beside), join_features(sparse.csr_array(X), beside)
        assert dense.dtype == thin.dtype == dtype
        assert sparse.issparse(thin)
        np.testing.assert_array_equal(dense, expected)
        np.testing.assert_array_equal(thin.toarray(), expected)
    assert join_features(X, labels[:, :0]) is X


def test_probabilities_margins_and_answers():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])
    nothing = sparse.csr_array((4, 0))
    for learner in (LogisticRegression(), GaussianNB()):
        fitted = fit_label(learner, X, nothing, y)
        np.testing.assert_array_equal(label_probability(fitted, X), fitted.predict_proba(X)[:, 1])
    margin = fit_label(Perceptron(), X, nothing, y)
    expected = 1 / (1 + np.exp(-margin.decision_function(X)))
    np.testing.assert_allclose(label_probability(margin, X), expected)

    class Plain:
        def predict(self, X):
            return (X[:, 0] > 1).astype(int)

    assert label_probability(Plain(), X).tolist() == [0.0, 0.0, 1.0, 1.0]


def test_a_label_that_all_have_or_none_is_constant():
    X, nothing = np.ones((4, 1)), sparse.csr_array((4, 0))
    assert fit_label(GaussianNB(), X, nothing, np.zeros(4, int)) == Constant(1 / 6)
    assert fit_label(GaussianNB(), X, nothing, np.ones(4, int)) == Constant(5 / 6)
    assert label_probability(Constant(0.25), X).tolist() == [0.25] * 4
