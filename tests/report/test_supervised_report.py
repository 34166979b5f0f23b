"""The report of supervised models, from the model to the page."""

import numpy as np
import pytest
from tests.report.pages import HOSTILE, SUPERVISED, supervised_corpus, supervised_data

from bayou import LDA, MedLDAClassifier
from bayou.report import ReportData, render
from bayou.report.classes import MOST_CLASSES, scores


@pytest.mark.parametrize("kind", SUPERVISED)
def test_what_is_measured_and_on_what(kind):
    seen, unseen = supervised_data(kind, test=False), supervised_data(kind)
    for data in (seen, unseen):
        found = data.targets[0] if kind == "regression" else data.classes
        assert found.unseen == (data is unseen)
        assert found.n_measured == (40 if data is unseen else 80)
        assert 0.3 < found.measures[0][1] <= 1.0
        page = render(data)
        assert "<script>window" not in page
        assert ("may have learned from" in page) == (data is seen)
        assert ('id="classes"' in page) == (kind != "regression")
        assert ('id="targets"' in page) == (kind == "regression")


def test_two_classes_have_weights_of_opposite_sign():
    found = supervised_data("binary").classes
    weights = np.array(found.weights)
    np.testing.assert_array_equal(weights[:, 0], -weights[:, 1])
    assert np.sum(found.confusion) == 40
    np.testing.assert_allclose(np.sum(found.shares, axis=1), 1.0)


def test_labels_have_clouds_and_a_table_but_no_confusion():
    found = supervised_data("multi-label").classes
    assert found.several
    assert found.confusion is None
    assert found.groups
    assert len(scores(found)) == 7
    assert sum(score.n_docs for score in scores(found)) == 80


def test_intervals_where_weights_are_those_of_the_chain():
    assert supervised_data("multi-class").classes.deviations is None
    chain = supervised_data("multi-class", refit=False)
    assert np.array(chain.classes.deviations).min() > 0
    assert "lines are 95 % intervals" in render(chain)
    number = supervised_data("regression").targets[0]
    assert min(number.deviations) > 0
    assert len(number.dots) == 40


def test_a_corpus_without_labels_still_shows_weights():
    corpus = supervised_corpus("multi-class")
    model = MedLDAClassifier(n_topics=4, n_sweeps=5, n_kept=2, random_state=0).fit(corpus)
    bare = type(corpus)(counts=corpus.counts, vocabulary=corpus.vocabulary)
    data = ReportData.from_model(model, bare)
    assert data.classes.weights is not None
    assert data.classes.shares is data.classes.confusion is None
    assert HOSTILE[0] in data.classes.names
    assert 'id="classes"' in render(data)
    assert ReportData.from_model(LDA(n_topics=2).fit(corpus), corpus).classes is None


def test_many_classes_are_drawn_from_the_most_frequent_on():
    corpus = supervised_corpus("multi-class")
    names = [f"c{min(d % 40, 30)}" for d in range(corpus.n_docs)]
    model = MedLDAClassifier(n_topics=4, n_sweeps=3, n_kept=2, random_state=0)
    many = type(corpus).from_matrix(corpus.counts, vocabulary=corpus.vocabulary, labels=names)
    data = ReportData.from_model(model.fit(many), many)
    assert data.classes.names[0] == "c30"
    page = render(data)
    assert f"The {MOST_CLASSES} most frequent of 31" in page
    assert "Confusion matrix" not in page
