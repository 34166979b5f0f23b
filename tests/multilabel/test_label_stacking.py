"""Stacking of labels: against the two levels written out, and corners."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import BlockClassifierChain, LabelStacking
from bayou.metrics.multilabel import macro_auc
from bayou.multilabel.learners import Constant
from bayou.multilabel.thresholded import deal_folds

LOGISTIC = LogisticRegression()


@parametrize_with_checks([LabelStacking(LogisticRegression(), n_folds=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(120, 3)) > 0.3).astype(int)
    return X, Y


@pytest.mark.parametrize("form", [np.asarray, csr_array])
@pytest.mark.parametrize("passthrough", [True, False])
def test_levels_written_out(data, form, passthrough):
    X, Y = data
    model = LabelStacking(LOGISTIC, passthrough=passthrough, n_folds=3, random_state=1)
    model.fit(form(X), Y)
    seen = np.empty(Y.shape)
    for use, rest in deal_folds(csr_array(Y.astype(np.int8)), 3, 1):
        for j in range(3):
            fitted = LogisticRegression().fit(X[use], Y[use, j])
            seen[rest, j] = fitted.predict_proba(X[rest])[:, 1]
    first = [LogisticRegression().fit(X, Y[:, j]) for j in range(3)]
    now = np.column_stack([one.predict_proba(X[:9])[:, 1] for one in first])
    for j in range(3):
        features = np.hstack([X, seen]) if passthrough else seen
        final = LogisticRegression().fit(features, Y[:, j])
        wanted = final.predict_proba(np.hstack([X[:9], now]) if passthrough else now)[:, 1]
        np.testing.assert_allclose(model.predict_proba(form(X[:9]))[:, j], wanted, rtol=1e-5)
    np.testing.assert_array_equal(model.predict(X[:9]), model.predict_proba(X[:9]) > 0.5)


def test_the_second_level_sees_other_labels():
    """The second label is the first, which its own noisy feature hardly shows: stacking ranks it better."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] > 0]).astype(int)
    shown = np.column_stack([X[:, 0], rng.normal(size=600)])

    class OwnFeature(GaussianNB):  # sees the second feature on the first level
        def fit(self, X, y):
            self.n_ = X.shape[1]
            return super().fit(X[:, self._own()], y)

        def predict_proba(self, X):
            return super().predict_proba(X[:, self._own()])

        def _own(self):
            return [1] if self.n_ == 2 else list(range(self.n_))

    stacked = LabelStacking(OwnFeature(), random_state=0).fit(shown[:400], Y[:400])
    plain = BlockClassifierChain(OwnFeature(), block_size=2).fit(shown[:400], Y[:400])
    one, two = (macro_auc(Y[400:], m.predict_proba(shown[400:])).value for m in (stacked, plain))
    assert one > two + 0.2


def test_corners(data):
    X, Y = data
    Y = Y.copy()
    Y[:, 1] = 0
    model = LabelStacking(LOGISTIC, final_estimator=GaussianNB(), random_state=0).fit(X, Y)
    assert isinstance(model.final_estimators_[1], Constant)
    assert isinstance(model.final_estimators_[0], GaussianNB)
    assert isinstance(model.estimators_[0], LogisticRegression)
    again = LabelStacking(LOGISTIC, final_estimator=GaussianNB(), random_state=0, n_jobs=2).fit(
        X, Y
    )
    np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))
    with pytest.raises(ValueError, match="n_folds"):
        LabelStacking(LOGISTIC, n_folds=1).fit(X, Y)
