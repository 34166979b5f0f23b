"""Rules from scores to labels: twins that try every cut, exact cases, sparse against dense."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Lasso
from tests.reference import multilabel as twin

from bayou import multilabel
from bayou.inference.thresholds.levels import best_threshold, levels, threshold_at
from bayou.metrics import multilabel as ml
from bayou.metrics.multilabel import inputs
from bayou.multilabel import (
    CardinalityRegression,
    OracleCalibrated,
    OracleF1,
    ProportionalCut,
    RCut,
    SCut,
    ThresholdRegression,
)

RULES = [
    SCut(),
    SCut(measure="micro", min_positives=1),
    RCut(),
    RCut(k=2),
    ProportionalCut(),
    CardinalityRegression(penalty=0.01),
    ThresholdRegression(),
    OracleCalibrated(),
    OracleF1(),
]


@pytest.fixture(params=range(3))
def data(request):
    """Scores with ties and zeros, and labels with empty rows and columns."""
    rng = np.random.default_rng(request.param)
    truth = (rng.random((40, 6)) < 0.3).astype(int)
    truth[:3], truth[:, 0] = 0, 0
    scores = (truth * rng.random((40, 6)) + rng.random((40, 6))).round(1) * (
        rng.random((40, 6)) < 0.8
    )
    return scores, truth


def f1(truth, found):
    return ml.micro_scores(truth, found).f1


def test_best_threshold_equals_trying_all(data):
    scores, truth = data
    for true, values in zip(truth.T, scores.T, strict=True):
        cut = best_threshold(values, np.flatnonzero(true))
        found = twin.one_set(*twin.as_sets([true, values > cut]), 0.0, 0.0)[2]
        assert found == pytest.approx(twin.best_f1(true, values))


def test_thresholds_lie_between_scores():
    values = np.array([0.9, 0.5, 0.5, 0.1])
    assert best_threshold(values, np.array([0, 1])) == pytest.approx(0.3)
    assert best_threshold(values, np.array([0])) == pytest.approx(0.7)
    assert best_threshold(values, np.array([], int)) == 0.9
    lowest = best_threshold(values, np.arange(4))
    assert lowest < 0.1
    assert lowest == pytest.approx(0.1)
    near = np.nextafter(1.0, 2.0)
    assert threshold_at(near, np.array([1.0, near])) == 1.0
    assert levels(np.zeros(0), [(values, 1)]).found.tolist() == [0]


def test_scut_is_best_for_every_label(data):
    scores, truth = data
    rule = SCut(min_positives=1).fit(scores, truth)
    found = rule.predict(scores)
    for y in range(1, 6):
        mine = twin.one_set(*twin.as_sets([truth[:, y], found[:, y]]), 0.0, 0.0)[2]
        assert mine == pytest.approx(twin.best_f1(truth[:, y], scores[:, y]))
    assert rule.thresholds_[0] == rule.shared_threshold_


def test_scut_for_micro_f1_is_best_of_all_combinations(data):
    scores, truth = data
    scores, truth = scores[5:15, 1:4], truth[5:15, 1:4]
    rule = SCut(measure="micro", min_positives=1).fit(scores, truth)
    own = truth.any(axis=0)
    expected = twin.best_micro_f1(truth[:, own], scores[:, own])
    assert f1(truth[:, own], rule.predict(scores)[:, own]) == pytest.approx(expected)


def test_rare_labels_share_a_threshold(data):
    scores, truth = data
    rule = SCut(min_positives=1000).fit(scores, truth)
    assert len(set(rule.thresholds_.tolist())) == 1
    flat = twin.best_f1(truth.ravel(), scores.ravel())
    assert f1(truth, rule.predict(scores)) == pytest.approx(flat)
    few = int(np.sort(truth.sum(axis=0))[-2])
    rule = SCut(min_positives=few).fit(scores, truth)
    shared = truth.sum(axis=0) < few
    assert (rule.thresholds_[shared] == rule.shared_threshold_).all()


def test_a_label_that_scores_cannot_tell_is_not_given_to_all():
    scores = np.linspace(0, 1, 100)[:, None]
    truth = np.zeros((100, 1), int)
    truth[:1] = 1  # the lowest
    assert SCut(min_positives=1).fit(scores, truth).predict(scores).sum() == 0
    assert SCut(min_positives=1, min_f1=0.0).fit(scores, truth).predict(scores).sum() == 100


def test_rcut(data):
    scores, truth = data
    found = RCut(k=2).fit(scores, truth).predict(scores)
    assert (found.sum(axis=1) == 2).all()
    for row, given in zip(found, scores, strict=True):
        assert set(np.flatnonzero(row)) == set(twin.ranking(given)[:2])
    learned = RCut().fit(scores, truth)
    each = [f1(truth, RCut(k=k).fit(scores, truth).predict(scores)) for k in range(1, 7)]
    most = truth.sum(axis=1).max()
    assert learned.k_ == 1 + int(np.argmax(each[:most]))
    assert RCut(k=99).fit(scores, truth).k_ == 6
    assert RCut().fit(scores, np.zeros_like(truth)).k_ == 1


def test_proportional_and_oracles_count_documents(data):
    scores, truth = data
    half = scores[:20]
    found = ProportionalCut().fit(scores, truth).predict(half)
    expected = np.floor(truth.mean(axis=0) * 20 + 0.5)
    np.testing.assert_array_equal(found.sum(axis=0), expected)
    for y, n in enumerate(expected.astype(int)):
        assert set(np.flatnonzero(found[:, y])) == set(twin.ranking(half[:, y])[:n])
    found = OracleCalibrated().fit(scores, truth).predict(scores)
    np.testing.assert_array_equal(found.sum(axis=0), truth.sum(axis=0))
    for y in range(1, 6):  # precision = recall
        precision, recall, *_ = twin.one_set(*twin.as_sets([truth[:, y], found[:, y]]), 0, 0)
        assert precision == recall
    best = OracleF1().fit(scores, truth).predict(scores)
    for y in range(1, 6):
        mine = twin.one_set(*twin.as_sets([truth[:, y], best[:, y]]), 0.0, 0.0)[2]
        assert mine == pytest.approx(twin.best_f1(truth[:, y], scores[:, y]))
    for oracle in (OracleCalibrated(), OracleF1()):
        assert oracle.needs_test_labels
        with pytest.raises(ValueError, match="predicts only those"):
            oracle.fit(scores, truth).predict(half)


def test_no_rule_beats_the_oracle(data):
    scores, truth = data
    best = ml.macro_scores(truth, OracleF1().fit(scores, truth).predict(scores)).f1
    for rule in RULES:
        if rule.uses_documents or isinstance(rule, RCut):
            continue  # these choose among the labels of a document
        found = clone(rule).fit(scores, truth).predict(scores)
        assert ml.macro_scores(truth, found).f1 <= best + 1e-12


def test_cardinality_regression(data):
    scores, truth = data
    rng = np.random.default_rng(0)
    sizes = truth.sum(axis=1)
    X = np.column_stack([sizes, rng.normal(size=(40, 3))]).astype(float)
    for rule in (
        CardinalityRegression(),
        CardinalityRegression(penalty=1e-4),
        CardinalityRegression(penalty=0),
    ):
        found = rule.fit(scores, truth, X).predict(scores, X)
        np.testing.assert_array_equal(found.sum(axis=1), np.maximum(1, sizes))
        for row, given in zip(found, scores, strict=True):
            assert set(np.flatnonzero(row)) == set(twin.ranking(given)[: row.sum()])
    same = CardinalityRegression().fit(scores, np.eye(6, dtype=int)[np.arange(40) % 6], X)
    assert (same.predict(scores, X).sum(axis=1) == 1).all()
    few = CardinalityRegression(max_docs=20).fit(scores, truth, X)
    assert (few.predict(scores, X).sum(axis=1) == np.maximum(1, sizes)).mean() > 0.9
    lasso = CardinalityRegression(penalty=0.1).fit(scores, truth).model_
    np.testing.assert_allclose(lasso.coef_, Lasso(alpha=0.1).fit(scores, sizes).coef_)
    one = CardinalityRegression().fit(scores[:1], truth[5:6])
    assert one.predict(scores).shape == (40, 6)


def test_threshold_regression_learns_the_best_threshold(data):
    scores, truth = data
    best = [best_threshold(s, np.flatnonzero(t)) for s, t in zip(scores, truth, strict=True)]
    X = np.array(best)[:, None]
    rule = ThresholdRegression(penalty=0.0).fit(scores, truth, X)
    np.testing.assert_allclose(rule.model_.predict(X), best)
    found = rule.predict(scores, X)
    expected = scores > rule.model_.predict(X)[:, None]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_sparse_equals_dense_and_chunks_do_not_matter(data, rule, monkeypatch):
    scores, truth = data
    dense = clone(rule).fit(scores, truth).predict(scores)
    monkeypatch.setattr(inputs, "CHUNK", 20)
    thin = clone(rule).fit(sparse.csr_matrix(scores), sparse.csc_array(truth))
    found = thin.predict(sparse.csr_array(scores))
    assert sparse.issparse(found)
    assert isinstance(dense, np.ndarray)
    assert np.isin(dense, (0, 1)).all()
    if isinstance(rule, ThresholdRegression):  # another solver
        assert (found.toarray() == dense).mean() > 0.97
    else:
        np.testing.assert_array_equal(found.toarray(), dense)


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_one_label_one_document_and_none_true(rule):
    for scores, truth in (([[0.3]], [[1]]), ([[0.3]], [[0]]), ([[0.3, 0.1]], [[0, 0]])):
        found = clone(rule).fit(scores, truth).predict(scores)
        assert found.shape == np.shape(scores)
    assert clone(rule).get_params() == rule.get_params()


def thin(n_docs, n_labels, density, rng):
    """Numbers in (0, 1] at random places."""
    n = int(density * n_docs * n_labels)
    places = np.unique(rng.integers(0, n_docs * n_labels, n))
    found = (1.0 - rng.random(len(places)), (places // n_labels, places % n_labels))
    return sparse.csr_array(sparse.coo_array(found, shape=(n_docs, n_labels)))


def test_twenty_thousand_labels():
    n_docs, n_labels = 60, 20_000
    rng = np.random.default_rng(0)
    truth = thin(n_docs, n_labels, 2e-4, rng)
    truth.data[:] = 1
    scores = truth * 0.5 + thin(n_docs, n_labels, 5e-4, rng)
    for rule in (SCut(), RCut(), ProportionalCut(), OracleF1()):
        found = rule.fit(scores, truth).predict(scores)
        assert found.shape == truth.shape
        assert found.nnz < 0.01 * n_docs * n_labels
        assert f1(truth, found) > 0.4


def test_bad_input_is_named(data):
    scores, truth = data
    fitted = SCut().fit(scores, truth)
    with pytest.raises(ValueError, match="fitted on 6 labels"):
        fitted.predict(scores[:, :2])
    with pytest.raises(ValueError, match="truth has"):
        SCut().fit(scores[:2], truth)
    with pytest.raises(ValueError, match="0 and 1"):
        SCut().fit(scores, scores)
    for rule in (
        SCut(measure="f2"),
        SCut(min_positives=-1),
        SCut(min_f1=2.0),
        RCut(k=0),
        CardinalityRegression(penalty=-1.0),
        CardinalityRegression(max_docs=0),
        ThresholdRegression(penalty=math.nan),
    ):
        with pytest.raises(ValueError, match="must be"):
            rule.fit(scores, truth)
    rule = CardinalityRegression(penalty=0.1).fit(scores, truth, scores[:, :2])
    with pytest.raises(ValueError, match="fitted with X"):
        rule.predict(scores)
    with pytest.raises(ValueError, match="it had 2 in fit"):
        rule.predict(scores, scores)
    with pytest.raises(ValueError, match="X has 3 documents"):
        rule.fit(scores, truth, scores[:3])
    with pytest.raises(ValueError, match="fitted without X"):
        ThresholdRegression().fit(scores, truth).predict(scores, scores)
    assert set(multilabel.__all__) <= set(dir(multilabel))
