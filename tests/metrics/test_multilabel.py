"""Measures of label sets and rankings against twins, scikit-learn, and cases with a known answer."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics
from tests.reference import multilabel as twin

from bayou.metrics import multilabel as ml
from bayou.metrics.multilabel import inputs

FORMS = [np.asarray, sparse.csr_matrix, sparse.csc_array, lambda m: np.asarray(m).tolist()]


@pytest.fixture(params=range(4))
def data(request):
    """Truth, predictions and tied scores, with empty rows and columns, full ones and negative scores."""
    rng = np.random.default_rng(request.param)
    truth = rng.random((23, 7)) < 0.3
    found = rng.random((23, 7)) < 0.3
    truth[:3], found[1:4] = False, False
    truth[:, 0], found[:, 0] = False, False
    truth[:, 1], found[:, 2] = True, False
    truth[:3, 1] = False
    scores = rng.integers(-2, 4, (23, 7)) * (rng.random((23, 7)) < 0.6) / 4
    return truth.astype(int), found.astype(int), scores


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("both", "one"), [(1.0, 0.0), (0.0, 0.0), (0.5, 0.25)])
def test_set_scores_equal_their_twins(data, form, both, one):
    truth, found, _ = data
    how = {"both_empty": both, "one_empty": one}
    given = form(truth), form(found)
    expected = twin.set_scores(truth, found, both, one)
    np.testing.assert_allclose(ml.example_scores(*given, **how), expected)
    expected = twin.set_scores(truth.T, found.T, both, one)
    np.testing.assert_allclose(ml.macro_scores(*given, **how), expected)
    here = truth.any(axis=0)
    expected = twin.set_scores(truth.T[here], found.T[here], both, one)
    np.testing.assert_allclose(ml.macro_scores(*given, labels="present", **how), expected)
    expected = twin.set_scores(truth.reshape(1, -1), found.reshape(1, -1), both, one)
    np.testing.assert_allclose(ml.micro_scores(*given, **how), expected)
    assert ml.hamming_loss(*given) == pytest.approx((truth != found).mean())
    assert ml.subset_accuracy(*given) == pytest.approx((truth == found).all(axis=1).mean())


@pytest.mark.parametrize("zero", [0.0, 1.0])
def test_set_scores_equal_scikit_learn(data, zero):
    truth, found, _ = data
    how = {"both_empty": zero, "one_empty": zero}
    ours = {
        "samples": ml.example_scores(truth, found, **how),
        "macro": ml.macro_scores(truth, found, **how),
        "micro": ml.micro_scores(truth, found, **how),
    }
    for average, (precision, recall, f1, jaccard) in ours.items():
        theirs = {"average": average, "zero_division": zero}
        assert precision == pytest.approx(metrics.precision_score(truth, found, **theirs))
        assert recall == pytest.approx(metrics.recall_score(truth, found, **theirs))
        assert f1 == pytest.approx(metrics.f1_score(truth, found, **theirs))
        assert jaccard == pytest.approx(metrics.jaccard_score(truth, found, **theirs))
    assert ml.hamming_loss(truth, found) == pytest.approx(metrics.hamming_loss(truth, found))
    accuracy = metrics.accuracy_score(truth, found)
    assert ml.subset_accuracy(truth, found) == pytest.approx(accuracy)


@pytest.mark.parametrize("form", FORMS)
def test_rankings_equal_their_twins(data, form, monkeypatch):
    truth, _, scores = data
    monkeypatch.setattr(inputs, "CHUNK", 30)  # four rows at a time
    given = form(truth), form(scores)
    flat = truth.ravel() > 0
    expected = twin.auc(scores.ravel()[flat], scores.ravel()[~flat])
    assert ml.micro_auc(*given) == pytest.approx(expected, abs=1e-14)
    np.testing.assert_allclose(ml.macro_auc(*given), twin.macro_auc(truth, scores))
    for unlabelled in (None, 0.0, 1.0):
        how = {"unlabelled": unlabelled}
        assert ml.rank_one_error(*given, **how) == pytest.approx(
            twin.rank_one_error(truth, scores, **how)
        )
        for k in (1, 3, 7):
            found = ml.precision_at_k(*given, k, **how)
            assert found == pytest.approx(twin.precision_at_k(truth, scores, k, **how))
            found = ml.ndcg_at_k(*given, k, **how)
            assert found == pytest.approx(twin.ndcg_at_k(truth, scores, k, **how))
    propensities = ml.label_propensities(form(truth), 0.5, 0.4)
    np.testing.assert_allclose(propensities, twin.propensities(truth, 0.5, 0.4))
    for k in (1, 3, 7):
        found = ml.propensity_precision_at_k(*given, propensities, k)
        assert found == pytest.approx(twin.psp_at_k(truth, scores, propensities, k))


def test_rankings_equal_scikit_learn(data, monkeypatch):
    truth, _, scores = data
    monkeypatch.setattr(inputs, "CHUNK", 30)
    assert ml.micro_auc(truth, scores) == pytest.approx(
        metrics.roc_auc_score(truth, scores, average="micro")
    )
    use = truth.any(axis=0) & ~truth.all(axis=0)
    value, n_labels = ml.macro_auc(truth, scores)
    assert n_labels == use.sum()
    expected = metrics.roc_auc_score(truth[:, use], scores[:, use], average="macro")
    assert value == pytest.approx(expected)
    expected = metrics.coverage_error(truth, scores)
    assert ml.coverage_error(truth, scores, unlabelled=0) == pytest.approx(expected)
    expected = metrics.label_ranking_average_precision_score(truth, scores)
    found = ml.label_ranking_average_precision(sparse.csr_array(truth), scores, unlabelled=1)
    assert found == pytest.approx(expected)
    has = truth.any(axis=1)
    expected = metrics.label_ranking_average_precision_score(truth[has], scores[has])
    assert ml.label_ranking_average_precision(truth, scores) == pytest.approx(expected)
    untied = scores + np.random.default_rng(0).random(scores.shape) / 100
    for k in (1, 4):
        expected = metrics.ndcg_score(truth, untied, k=k)
        assert ml.ndcg_at_k(truth, untied, k, unlabelled=0) == pytest.approx(expected)


def test_identities_of_the_handbook(data):
    truth, found, _ = data
    example = ml.example_scores(truth, found)
    assert example.f1 <= (example.precision + example.recall) / 2 + 1e-12
    micro = ml.micro_scores(truth, found)
    cardinality = truth.sum() / len(truth)
    wrong = (1 - micro.recall) + micro.recall * (1 - micro.precision) / micro.precision
    assert ml.hamming_loss(truth, found) == pytest.approx(cardinality * wrong / truth.shape[1])
    expected = cardinality * micro.recall / micro.precision
    assert found.sum() / len(found) == pytest.approx(expected)


def test_exact_cases():
    truth = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0]])
    perfect = ml.multilabel_report(truth, truth.astype(float))
    for name in ("subset_accuracy", "example_f1", "micro_f1", "macro_f1", "micro_auc", "lrap"):
        assert perfect[name] == 1.0, name
    assert perfect["rank_one_error"] == perfect["hamming_loss"] == 0.0
    assert perfect["coverage_error"] == 1.5
    assert perfect["n_unlabelled"] == 1
    worst = ml.multilabel_report(truth, 1.0 - truth)
    assert worst["micro_auc"] == worst["macro_auc"] == worst["micro_f1"] == 0.0
    flat = ml.multilabel_report(truth, np.zeros((3, 3)))
    assert flat["micro_auc"] == flat["macro_auc"] == 0.5
    assert flat["rank_one_error"] == 0.5  # ties go to the lower label
    assert flat["example_precision"] == pytest.approx(1 / 3)


def test_what_is_not_defined_is_nan():
    report = ml.multilabel_report(np.zeros((2, 3)), np.ones((2, 3)), propensities=[1, 1, 1])
    for name in ("micro_auc", "macro_auc", "rank_one_error", "precision@1", "lrap", "psp@1"):
        assert math.isnan(report[name]), name
    assert report["macro_auc_labels"] == 0
    assert ml.macro_scores(np.zeros((2, 3)), np.ones((2, 3)), labels="present").f1 == 0.0
    assert "precision@5" not in report


def test_one_label():
    report = ml.multilabel_report([[1], [0], [1]], [[0.7], [0.1], [0.4]])
    assert report["micro_auc"] == report["macro_auc"] == report["precision@1"] == 1.0
    assert report["lrap"] == 1.0
    assert report["micro_recall"] == 0.5


def test_report_thresholds(data):
    truth, found, scores = data
    one = ml.multilabel_report(truth, scores, 0.1)
    each = ml.multilabel_report(truth, sparse.csr_array(scores), np.full(7, 0.1))
    given = ml.multilabel_report(truth, scores, predicted=scores > 0.1)
    assert one == each == given
    below = ml.multilabel_report(truth, sparse.csr_array(scores), -0.1)
    assert below == ml.multilabel_report(truth, scores, -0.1)
    assert one["micro_f1"] == ml.micro_scores(truth, scores > 0.1).f1
    other = ml.multilabel_report(truth, scores, predicted=found, absent_label=1.0, both_empty=0.0)
    assert other["macro_f1"] == ml.macro_scores(truth, found, both_empty=1.0).f1
    assert other["example_f1"] == ml.example_scores(truth, found, both_empty=0.0).f1


def thin(n_docs, n_labels, density, rng):
    """Numbers in (0, 1] at random places."""
    n = int(density * n_docs * n_labels)
    places = np.unique(rng.integers(0, n_docs * n_labels, n))
    found = (1.0 - rng.random(len(places)), (places // n_labels, places % n_labels))
    return sparse.csr_array(sparse.coo_array(found, shape=(n_docs, n_labels)))


def test_twenty_thousand_labels_stay_sparse(monkeypatch):
    n_docs, n_labels = 500, 20_000  # dense: 80 MB
    rng = np.random.default_rng(0)
    truth = thin(n_docs, n_labels, 2e-4, rng)
    truth.data[:] = 1
    noise = thin(n_docs, n_labels, 1e-3, rng)
    scores = noise + truth.multiply(sparse.csr_array(rng.random((n_docs, 1)) < 0.7)) * 1.5
    largest = []
    kept = sparse.csr_array.toarray

    def watched(self, *args, **kwargs):
        largest.append(int(np.prod(self.shape)))
        return kept(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    monkeypatch.setattr(inputs, "CHUNK", 1_000_000)
    few = slice(0, 60)  # scikit-learn's rankings go document by document
    report = ml.multilabel_report(
        truth[few], scores[few], propensities=ml.label_propensities(truth)
    )
    assert ml.micro_scores(truth, scores > 0.5).f1 > 0.2
    assert 0.5 < ml.micro_auc(truth, scores) < 1
    assert ml.precision_at_k(truth, scores, 3) > 0.3
    assert max(largest) <= inputs.CHUNK
    assert set(report) > {"micro_auc", "macro_f1", "psp@5", "ndcg@5"}
    assert all(math.isfinite(value) for value in report.values())


def test_bad_input_is_named(data):
    truth, found, scores = data
    with pytest.raises(ValueError, match="predicted has shape"):
        ml.micro_scores(truth, found[:, :3])
    with pytest.raises(ValueError, match="truth must hold 0 and 1"):
        ml.micro_scores(truth * 2, found)
    with pytest.raises(ValueError, match="predicted must hold 0 and 1"):
        ml.hamming_loss(truth, scores)
    with pytest.raises(ValueError, match="must be a matrix"):
        ml.subset_accuracy(truth[0], found[0])
    with pytest.raises(ValueError, match="scores has shape"):
        ml.micro_auc(truth, scores[:4])
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="finite"):
            ml.macro_auc(truth, np.where(truth > 0, bad, scores))
    for k in (0, 8, 1.5, True):
        with pytest.raises(ValueError, match="k must be"):
            ml.precision_at_k(truth, scores, k)
    with pytest.raises(ValueError, match="labels must be"):
        ml.macro_scores(truth, found, labels="some")
    with pytest.raises(ValueError, match="propensities must be 7"):
        ml.propensity_precision_at_k(truth, scores, [0.5], 1)
    for threshold in ([0.5, 0.5], "half", None):
        with pytest.raises(ValueError, match="threshold must be"):
            ml.multilabel_report(truth, scores, threshold)
