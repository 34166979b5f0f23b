"""A rule around a classifier: scores are held out, whatever form the classifier gives them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import BlockClassifierChain, Corpus, MedLDAClassifier, ThresholdedClassifier
from bayou.metrics import multilabel as ml
from bayou.multilabel import (
    CardinalityRegression,
    OracleF1,
    ProportionalCut,
    RCut,
    SCut,
    ThresholdRegression,
)
from bayou.multilabel.thresholded import deal_folds

OWN_RULE = "predict follows the rule, not the larger probability"


def _expected(estimator):
    return {"check_classifiers_train": OWN_RULE, "check_classifier_multioutput": OWN_RULE}


@parametrize_with_checks(
    [
        ThresholdedClassifier(LogisticRegression()),
        ThresholdedClassifier(BlockClassifierChain(LogisticRegression()), cv=2),
    ],
    expected_failed_checks=_expected,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(90, 6)))
    margins = X @ rng.normal(size=(6, 4)) + rng.normal(size=(90, 4)) / 2
    return X, (margins > np.quantile(margins, [0.6, 0.7, 0.7, 0.8], axis=0).diagonal()).astype(int)


CLASSIFIERS = [
    OneVsRestClassifier(LogisticRegression()),
    OneVsRestClassifier(LinearSVC()),
    MultiOutputClassifier(LogisticRegression()),
    ClassifierChain(LogisticRegression()),
    BlockClassifierChain(LinearSVC(), block_size=2),
    RandomForestClassifier(n_estimators=5),
    KNeighborsClassifier(),
    MLPClassifier((3,), max_iter=20),
]


@pytest.mark.parametrize("inside", CLASSIFIERS, ids=lambda c: type(c).__name__)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_any_classifier(data, inside):
    X, Y = data
    model = ThresholdedClassifier(inside, cv=3, random_state=0).fit(X, Y)
    found = model.predict(X)
    assert found.shape == Y.shape
    assert np.isin(found, (0, 1)).all()
    again = clone(model).fit(X, Y)
    np.testing.assert_array_equal(again.predict(X), found)
    proba = hasattr(inside, "predict_proba")
    assert hasattr(model, "predict_proba") is proba
    scores = model.predict_proba(X) if proba else model.decision_function(X)
    np.testing.assert_array_equal(found, scores > model.rule_.thresholds_)


@pytest.mark.parametrize(
    "rule",
    [
        SCut(measure="micro"),
        RCut(),
        ProportionalCut(),
        CardinalityRegression(),
        ThresholdRegression(),
    ],
    ids=lambda r: type(r).__name__,
)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_any_rule(data, rule, form):
    X, Y = data
    inside = BlockClassifierChain(LogisticRegression(), block_size=4)
    model = ThresholdedClassifier(inside, rule, cv=3, random_state=0).fit(form(X), form(Y))
    found = model.predict(form(X))
    assert sparse.issparse(found) is (form is sparse.csr_array)
    assert ml.micro_scores(Y, found).f1 > 0.5
    assert 0 <= model.score(form(X), form(Y)) <= 1


def test_scores_are_held_out(data):
    """A classifier that knows its training documents by heart gives the rule nothing to cheat with."""
    X, Y = data
    model = ThresholdedClassifier(KNeighborsClassifier(1), RCut(), cv=3, random_state=0).fit(X, Y)
    splits = deal_folds(sparse.csr_array(Y), 3, model.seed_)
    scores = np.zeros(Y.shape)
    for use, rest in splits:
        scores[rest] = KNeighborsClassifier(1).fit(X[use], Y[use]).predict(X[rest])
    assert model.rule_.k_ == RCut().fit(scores, Y).k_


def test_ways_to_hold_out(data):
    X, Y = data
    fitted = OneVsRestClassifier(LogisticRegression()).fit(X[:50], Y[:50])
    prefit = ThresholdedClassifier(fitted, cv="prefit").fit(X[50:], Y[50:])
    assert prefit.estimator_ is fitted
    expected = SCut().fit(fitted.predict_proba(X[50:]), Y[50:]).thresholds_
    np.testing.assert_array_equal(prefit.rule_.thresholds_, expected)
    by_hand = ThresholdedClassifier(
        OneVsRestClassifier(LogisticRegression()), cv=[(np.arange(50), np.arange(50, 90))]
    ).fit(X, Y)
    np.testing.assert_array_equal(by_hand.rule_.thresholds_, expected)
    for cv in (KFold(3), ShuffleSplit(1, random_state=0)):
        model = ThresholdedClassifier(OneVsRestClassifier(LogisticRegression()), cv=cv).fit(X, Y)
        assert model.rule_.thresholds_.shape == (4,)
    for bad in (1, "none", None):
        with pytest.raises(ValueError, match="cv must be"):
            ThresholdedClassifier(fitted, cv=bad).fit(X, Y)


def test_processes_change_nothing(data):
    X, Y = data
    inside = RandomForestClassifier(n_estimators=3)
    one = ThresholdedClassifier(inside, cv=3, random_state=1).fit(X, Y)
    two = ThresholdedClassifier(inside, cv=3, random_state=1, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(one.rule_.thresholds_, two.rule_.thresholds_)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


def test_folds_share_out_rare_labels():
    Y = np.zeros((30, 3), int)
    Y[:6, 0], Y[3:21, 1] = 1, 1
    folds = deal_folds(sparse.csr_array(Y), 3, 0)
    assert sorted(np.concatenate([rest for _, rest in folds]).tolist()) == list(range(30))
    for use, rest in folds:
        assert not set(use) & set(rest)
        assert Y[rest].sum(axis=0).tolist()[0] == 2
        assert len(rest) == 10
    four = np.array([[0, 1], [1, 0], [1, 1], [0, 0]] * 10)
    for _, rest in deal_folds(sparse.csr_array(four), 5, 0):
        assert four[rest].sum(axis=0).tolist() == [4, 4]
    other = deal_folds(sparse.csr_array(Y), 3, 1)
    assert any((a[1] != b[1]).any() for a, b in zip(folds, other, strict=True))


def test_two_classes_and_labels_that_are_constant(data):
    X, Y = data
    names = np.array(["no", "yes"])[Y[:, 0]]
    model = ThresholdedClassifier(LogisticRegression(), random_state=0).fit(X, names)
    assert set(model.predict(X)) <= {"no", "yes"}
    above = model.predict_proba(X)[:, 1] > model.rule_.thresholds_[0]
    np.testing.assert_array_equal(model.predict(X) == "yes", above)
    Y[:, 1] = 0
    forest = ThresholdedClassifier(RandomForestClassifier(n_estimators=3), cv=2, random_state=0)
    assert forest.fit(X, Y).predict_proba(X)[:, 1].max() == 0
    assert forest.predict(X)[:, 1].sum() == 0


def test_label_lists_corpora_and_models_of_bayou(data):
    X, Y = data
    Y[:, 0] |= ~Y.any(axis=1)
    lists = [[f"l{y}" for y in np.flatnonzero(row)] for row in Y]
    inside = BlockClassifierChain(LogisticRegression())
    model = ThresholdedClassifier(inside, cv=2, random_state=0).fit(X, lists)
    assert model.classes_.tolist() == ["l0", "l1", "l2", "l3"]
    assert all(set(row) <= set(model.classes_) for row in model.predict_labels(X))
    counts = sparse.csr_array(np.ceil(X))
    corpus = Corpus.from_matrix(counts, labels=sparse.csr_array(Y))
    topics = MedLDAClassifier(n_topics=3, n_sweeps=3, n_kept=1, random_state=0)
    found = (
        ThresholdedClassifier(topics, RCut(k=1), cv=2, random_state=0).fit(corpus).predict(corpus)
    )
    assert (found.sum(axis=1) == 1).all()


class _Silent(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_ = np.arange(y.shape[1])
        return self

    def predict(self, X):
        return np.zeros((X.shape[0], len(self.classes_)))


def test_what_cannot_be_used_is_named(data):
    X, Y = data
    inside = OneVsRestClassifier(LogisticRegression())
    with pytest.raises(ValueError, match="needs the labels of the documents it predicts"):
        ThresholdedClassifier(inside, OracleF1()).fit(X, Y)
    with pytest.raises(ValueError, match="rule must be"):
        ThresholdedClassifier(inside, 0.5).fit(X, Y)
    with pytest.raises(ValueError, match="neither predict_proba nor decision_function"):
        ThresholdedClassifier(_Silent()).fit(X, Y)
    with pytest.raises(ValueError, match="at least 2 documents"):
        ThresholdedClassifier(inside).fit(X[:1], Y[:1])
    assert not hasattr(ThresholdedClassifier(inside), "save")
