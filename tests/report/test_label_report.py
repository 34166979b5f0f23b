"""The report of models of labels: topics over labels as a table and as clouds."""

import pytest
from tests.report.pages import HOSTILE, supervised_corpus

from bayou import AuthorTopicModel, FastDependencyLDA, LabeledLDA
from bayou.report import ReportData, render

DEPENDENCY = FastDependencyLDA(n_topics=3, n_sweeps=9, n_kept=3, random_state=0)


@pytest.mark.parametrize("kind", ["binary", "multi-class", "multi-label"])
@pytest.mark.parametrize("model", [LabeledLDA(random_state=0), DEPENDENCY], ids=["flat", "deep"])
def test_a_page_of_labels(kind, model):
    corpus = supervised_corpus(kind)
    data = ReportData.from_model(model.fit(corpus[:80]), corpus[:80], test=corpus[80:])
    page = render(data)
    assert "<script>window" not in page
    assert data.classes.unseen
    deep = model is DEPENDENCY
    assert bool(data.classes.label_topics) == deep
    assert ("Topics over labels" in page) == deep
    assert len(data.classes.label_terms) == len(data.classes.names)
    assert "<b>Words per " in page
    assert bool(data.classes.groups) == (deep and kind == "multi-label")
    assert ("Labels that occur together, per topic" in page) == (deep and kind == "multi-label")


def test_topics_over_labels_list_their_labels():
    corpus = supervised_corpus("multi-label")
    data = ReportData.from_model(DEPENDENCY.fit(corpus), corpus)
    names = {name for _, listed in data.classes.label_topics for name, _ in listed}
    assert names <= set(data.classes.names)
    for _, listed in data.classes.label_topics:
        assert [p for _, p in listed] == sorted((p for _, p in listed), reverse=True)
        assert 0 < sum(p for _, p in listed) <= 1.0 + 1e-9
    assert any(HOSTILE[0][:5] in name for name in names)


def test_labels_behind_topics():
    corpus = supervised_corpus("multi-label")
    model = AuthorTopicModel(n_topics=3, n_sweeps=9, n_kept=3, random_state=0).fit(corpus)
    data = ReportData.from_model(model, corpus)
    assert len(data.classes.groups) == 3
    assert "Labels with the largest share per topic" in render(data)
