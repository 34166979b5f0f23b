"""Test, then train: what is measured, and when."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import SGDClassifier, SGDRegressor

from bayou import BayesPAClassifier, BayesPARegressor
from bayou.metrics import Progress, progressive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] > 0).astype(int)


def batches(y, size=20):
    return [(X[lo : lo + size], y[lo : lo + size]) for lo in range(0, len(y), size)]


class Spy(ClassifierMixin, BaseEstimator):
    """Knows the last class it was taught, and says so."""

    def __init__(self):
        self.last, self.calls = None, []

    def fit(self, X, y):
        return self.partial_fit(X, y)

    def __sklearn_is_fitted__(self):
        return self.last is not None

    def partial_fit(self, X, y, classes=None):
        self.calls.append(("learn", len(y)))
        self.last = y[-1]
        return self

    def predict(self, X):
        self.calls.append(("predict", len(X)))
        return np.full(len(X), self.last)


def test_every_batch_is_predicted_before_it_is_learned():
    spy = Spy()
    found = progressive(spy, [(X[:3], ["a", "a", "b"]), (X[3:5], ["b", "a"]), (X[5:6], [None])])
    assert [what for what, _ in spy.calls] == ["learn", "predict", "learn", "predict", "learn"]
    assert found.n_seen.tolist() == [3, 5]
    assert found.n_docs.tolist() == [2, 0]
    assert found.accuracy[0] == 0.5
    assert np.isnan(found.accuracy[1])
    assert found.mean() == 0.5


def test_classes_labels_and_numbers():
    found = progressive(BayesPAClassifier(random_state=0), batches(Y), classes=[0, 1])
    assert found.mean() > 0.7
    assert np.array_equal(found.accuracy, found.f1)
    several = np.column_stack([Y, 1 - Y, Y])
    found = progressive(BayesPAClassifier(random_state=0), batches(several), classes=[0, 1, 2])
    assert np.abs(found.f1 - found.accuracy).max() < 0.1  # its labels are right or wrong together
    found = progressive(BayesPARegressor(random_state=0), batches(X[:, 0]))
    assert found.accuracy[-1] > 0.9
    assert np.isnan(found.f1).all()


@pytest.mark.parametrize("model", [SGDClassifier(random_state=0), SGDRegressor(random_state=0)])
def test_other_peoples_models(model):
    regression = isinstance(model, SGDRegressor)
    given = {} if regression else {"classes": [0, 1]}
    found = progressive(model, batches(X[:, 0] if regression else Y), **given)
    assert len(found.n_docs) == 5


def test_means_and_curves():
    one = Progress(
        np.array([0, 10, 20]), np.array([10, 10, 20]), np.array([0.0, 0.5, 1.0]), np.zeros(3)
    )
    assert one.mean() == pytest.approx(0.625)
    assert one.mean(last=20) == 1.0
    assert one.mean(last=21) == pytest.approx(25 / 30)
    assert one.curve() == "▁▅█"
    none = progressive(Spy(), [])
    assert np.isnan(none.mean())
    assert none.curve() == ""
