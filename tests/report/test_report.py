import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from tests.report.pages import HOSTILE, hostile_data

from bayou import LDA, OnlineLDA
from bayou.data import Corpus, DataError
from bayou.data.synthetic import sample_lda
from bayou.report import ReportData, render, write
from bayou.report.measure import ratios

VOID = {"meta", "link", "br", "input", "hr", "img"}


class Outline(HTMLParser):
    """Tags in order, attributes and text; complains about tags that do not close."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.attributes, self.text, self.faults = [], [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        self.text.append(data)

    def all(self, name):
        return [value for _, attrs in self.attributes if (value := attrs.get(name)) is not None]


def check_page(page):
    """What holds of every report."""
    outline = Outline(page)
    assert not outline.faults
    assert not outline.open
    assert outline.tags.count("h1") == outline.tags.count("main") == 1
    assert outline.tags.count("style") == outline.tags.count("script") == 1
    levels = [int(tag[1]) for tag in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = outline.all("id")
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in outline.all("href") if href.startswith("#")} <= set(ids)
    assert all(href.startswith(("#", "data:")) for href in outline.all("href"))
    assert not outline.all("src")
    assert not outline.all("style"), "the content policy has no place for style attributes"
    assert not [name for _, attrs in outline.attributes for name in attrs if name.startswith("on")]
    assert outline.tags.count("table") == outline.tags.count("caption")
    assert "nan" not in re.sub(r"<(style|script).*?</\1>", "", page, flags=re.S).lower().split()
    assert not re.search("[\x00-\x08\x0b-\x1f\ud800-\udfff]", page.replace("\n", ""))
    return outline


@pytest.fixture(scope="module")
def small():
    corpus, _ = sample_lda(n_docs=80, n_topics=3, n_terms=40, seed=1)
    return LDA(n_topics=3, random_state=0).fit(corpus), corpus


def test_a_page_is_well_formed_and_names_every_topic(small):
    model, corpus = small
    page = render(ReportData.from_model(model, corpus[:60], test=corpus[60:], title="A & B"))
    outline = check_page(page)
    assert {"topic-0", "topic-1", "topic-2", "map", "main"} - set(outline.all("id")) == {"map"}
    text = "".join(outline.text)
    assert "A & B" in text
    assert "LDA, seed 0" in text
    assert "bayou.LDA(n_topics=3, random_state=0)" in text


def test_the_score_is_that_of_the_model(small):
    model, corpus = small
    found = ReportData.from_model(model, corpus[:60], test=corpus[60:]).held_out
    assert found.score.value == pytest.approx(model.score(corpus[60:]), abs=1e-6)
    one = LDA(n_topics=1, random_state=0).fit(corpus[:60])
    assert found.baseline.value == pytest.approx(one.score(corpus[60:]), abs=1e-2)
    assert found.score.low < found.score.value < found.score.high
    assert found.gain.value == pytest.approx(found.score.value - found.baseline.value)


def test_a_test_corpus_is_matched_by_name(small):
    texts = [f"sea ship sail w{i % 5}" if i % 2 else f"tax pay bank w{i % 7}" for i in range(60)]
    corpus = Corpus.from_text(texts)
    model = LDA(n_topics=2, random_state=0).fit(corpus)
    other = Corpus.from_text(["ship sail unknown sea", "pay bank tax tax", "unknown words only"])
    found = ReportData.from_model(model, corpus, test=other).held_out
    assert found.score.value == pytest.approx(model.score(other), abs=1e-6)
    assert found.n_docs == 2


def test_shares_of_topics_sum_to_one_and_ranks_follow_them(small):
    data = ReportData.from_model(*small)
    assert sum(topic.share.value for topic in data.topics) == pytest.approx(1.0)
    by_rank = sorted(data.topics, key=lambda topic: topic.rank)
    assert [t.rank for t in by_rank] == [1, 2, 3]
    assert np.all(np.diff([t.share.value for t in by_rank]) <= 0)


def test_an_interval_agrees_with_resampling():
    rng = np.random.default_rng(0)
    values, weights = rng.beta(2, 5, (300, 1)), rng.integers(0, 40, 300).astype(float)
    (found,) = ratios(values, weights)
    draws = []
    for _ in range(3000):
        take = rng.integers(0, 300, 300)
        draws.append(weights[take] @ values[take, 0] / weights[take].sum())
    assert found.high - found.value == pytest.approx(1.96 * np.std(draws), rel=0.07)


def test_an_interval_of_few_documents_has_one_degree_of_freedom_less():
    values = np.array([[0.2], [0.5], [0.9], [0.4]])
    (found,) = ratios(values, np.full(4, 7.0))
    assert found.value == pytest.approx(values.mean())
    half = 1.96 * values.std(ddof=1) / np.sqrt(4)
    assert found.high - found.value == pytest.approx(half, rel=1e-3)
    assert found.value - found.low == pytest.approx(half, rel=1e-3)
    (alone,) = ratios(values[:1], np.ones(1))
    assert np.isnan([alone.low, alone.high]).all(), "one document has no spread"


def test_hostile_text_is_shown_and_stays_text():
    data = hostile_data()
    page = render(data)
    outline = check_page(page)
    text = "".join(outline.text)
    for shown in ("<script>window.hacked", "</style>", "\"quoted\" & 'single'", "שלום", "🦆"):
        assert shown in text
    assert "\ufffd" in text, "a NUL is shown as a replacement character"
    assert "\u202e" not in page, "nothing turns the direction of the page"
    assert "[U+202E]turned round" in text, "an override is shown"
    assert "window.hacked" not in "".join(re.findall(r"<script>(.*?)</script>", page, re.S))
    assert {"time", "labels", "quality", "clouds"} <= set(outline.all("id"))
    assert page.encode("utf-8")
    assert len(HOSTILE) > 5


def test_text_is_left_out_unless_it_is_given():
    data = hostile_data(texts=False)
    text = "".join(Outline(render(data)).text)
    assert "and more, document" not in text
    assert "Documents are shown by the words" in text


@pytest.mark.parametrize("n_topics", [1, 2, 200])
def test_any_number_of_topics(n_topics):
    corpus, _ = sample_lda(n_docs=60, n_topics=5, n_terms=300, seed=2)
    model = LDA(n_topics=n_topics, n_sweeps=3, random_state=0).fit(corpus)
    page = render(ReportData.from_model(model, corpus))
    outline = check_page(page)
    assert outline.tags.count("article") == n_topics
    assert len(page.encode()) < 500_000


def test_empty_documents_and_rare_words():
    counts = np.zeros((12, 4))
    counts[3:, 0], counts[5:, 1], counts[7, 2] = 2, 3, 1
    corpus = Corpus.from_matrix(counts, labels=["a", "b"] * 6)
    model = LDA(n_topics=2, random_state=0).fit(corpus)
    data = ReportData.from_model(model, corpus)
    assert data.n_empty == 3
    text = "".join(check_page(render(data)).text)
    assert "3 of them without a word of the model's vocabulary" in text


@pytest.mark.parametrize("counts", [np.zeros((3, 2)), np.ones((1, 1)), np.ones((1, 3))])
def test_almost_nothing(counts):
    model = LDA(n_topics=2, random_state=0).fit(np.ones((4, counts.shape[1])))
    data = ReportData.from_model(model, Corpus.from_matrix(counts))
    outline = check_page(render(data))
    assert "labels" not in outline.all("id")
    assert "time" not in outline.all("id")


def test_terms_without_names_are_called_by_number():
    model = LDA(n_topics=2, random_state=0).fit(np.eye(6) + 1)
    text = "".join(
        check_page(render(ReportData.from_model(model, Corpus.from_matrix(np.eye(6))))).text
    )
    assert "term 3" in text


def test_a_streaming_model_without_scores_has_no_curve():
    corpus, _ = sample_lda(n_docs=60, n_topics=3, n_terms=30, seed=1)
    model = OnlineLDA(n_topics=3, batch_size=60, random_state=0).partial_fit(corpus)
    text = "".join(check_page(render(ReportData.from_model(model, corpus))).text)
    assert "Training" not in text
    assert "OnlineLDA, seed 0, 1 mini-batch" in text


def test_times_in_one_bin_have_no_course(small):
    model, corpus = small
    dated = replace(corpus, times=["2020-01-01"] * corpus.n_docs)
    assert ReportData.from_model(model, dated).course is None
    undated = replace(corpus, times=np.full(corpus.n_docs, np.datetime64("NaT")))
    assert ReportData.from_model(model, undated).course is None


def test_bins_are_calendar_and_gaps_stay_gaps(small):
    model, corpus = small
    years = [1900 + 3 * (d % 20) for d in range(corpus.n_docs - 1)]
    times = np.array([f"{year}-05-01" for year in years] + ["NaT"], "datetime64[us]")
    course = ReportData.from_model(model, replace(corpus, times=times)).course
    assert course.width == "2 years"
    assert course.names[:2] == ["1900", "1902"]
    assert course.n_undated == 1
    assert sum(course.n_docs) == corpus.n_docs - 1
    assert 0 in course.n_docs


def test_a_document_in_both_parts_gives_a_warning(small):
    model, corpus = small
    named = replace(corpus, ids=[f"d{i}" for i in range(corpus.n_docs)])
    data = ReportData.from_model(model, named, test=named[:3])
    assert data.held_out.n_known == 3
    assert "Warning:" in "".join(Outline(render(data)).text)


def test_equal_data_give_equal_bytes(small):
    first, second = (ReportData.from_model(*small) for _ in range(2))
    assert render(first) == render(second)


def test_write_replaces_a_file_wholly(small, tmp_path):
    data = ReportData.from_model(*small)
    path = tmp_path / "report.html"
    path.write_text("old")
    write(path, data)
    assert path.read_text(encoding="utf-8") == render(data)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(DataError, match="is a folder"):
        write(tmp_path, data)
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "no" / "report.html", data)


def test_invalid_input_is_refused(small):
    model, corpus = small
    with pytest.raises(DataError, match="one string for each of 80 documents; got 2"):
        ReportData.from_model(model, corpus, texts=["a", "b"])
    with pytest.raises(DataError, match="got one string"):
        ReportData.from_model(model, corpus, texts="text")
    with pytest.raises(DataError, match="corpus must be a Corpus, got ndarray"):
        ReportData.from_model(model, np.eye(3))
    with pytest.raises(DataError, match="test must be a Corpus"):
        ReportData.from_model(model, corpus, test=[1])
    with pytest.raises(NotFittedError):
        ReportData.from_model(LDA(), corpus)


def test_without_jinja_the_error_says_what_to_install(small, monkeypatch):
    data = ReportData.from_model(*small)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'bayou\[report\]'"):
        render(data)


def test_importing_the_report_needs_no_jinja():
    code = "import sys; sys.modules['jinja2'] = None; import bayou.report"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.filterwarnings("error")
def test_documents_that_share_no_word_with_the_model():
    corpus = sample_lda(60, n_topics=3, n_terms=30, seed=0)[0]
    model = LDA(n_topics=3, random_state=0).fit(corpus)
    empty = Corpus.from_matrix(
        np.zeros((60, 30)),
        times=[f"2024-01-{d % 28 + 1:02d}" for d in range(60)],
        labels=["a", "b"] * 30,
    )
    check_page(render(ReportData.from_model(model, empty, title="strangers")))


def test_topics_without_words_of_their_own_are_said_to_have_none():
    corpus, _ = sample_lda(n_docs=12, n_topics=2, n_terms=30, seed=1)
    model = LDA(n_topics=40, random_state=0).fit(corpus)
    data = ReportData.from_model(model, corpus)
    bare = [topic for topic in data.topics if topic.bare]
    assert bare
    assert len(bare) < 40
    assert {t.number for t in bare} == set(np.flatnonzero(model.posterior_.topic_tokens < 10))
    assert {topic.name() for topic in bare} == {"no words of its own"}
    page = render(data)
    check_page(page)
    assert page.count("The model assigned fewer than ten words to this topic.") == len(bare)
    assert f"{len(bare)} topics have fewer than ten words" in page
