"""The page of a tracker: headline, findings, marks that open evidence, hostile words."""

import re

import numpy as np
import pytest
from tests.report.pages import HOSTILE

from bayou import LDA, Corpus, DataError, TopicTracker
from bayou.datasets import make_news
from bayou.report import TrackData, render_track, write_track
from bayou.report.track_page import headline


def hostile_tracker(n_slices=6):
    """A tracker whose words, names and texts would rather be code; a topic appears in slice 3."""
    rng = np.random.default_rng(0)
    terms = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(60)]
    phi = rng.dirichlet(np.full(60, 0.1), 4)
    rows, times, ids = [], [], []
    for t in range(n_slices):
        k = 4 if t >= 3 else 3
        for d in range(60):
            rows.append(rng.multinomial(50, rng.dirichlet(np.full(k, 0.2)) @ phi[:k]))
            times.append(f"19{50 + t}-03-01")
            ids.append(f"{HOSTILE[d % len(HOSTILE)]} {t}-{d}")
    corpus = Corpus.from_matrix(np.array(rows), vocabulary=terms, times=times, ids=ids)
    model = TopicTracker(n_topics=3, slice_by="year", n_sweeps=30, random_state=0).fit(corpus)
    texts = {name: f"{HOSTILE[i % 9]} and more" for i, name in enumerate(ids)}
    return model, texts


def hostile_track():
    model, texts = hostile_tracker()
    return TrackData.from_tracker(model, title=HOSTILE[0], texts=texts)


@pytest.fixture(scope="module")
def data():
    return hostile_track()


def test_the_headline_is_the_answer(data):
    said = headline(data)
    assert re.fullmatch(r"\d+ changes? in (all|\d+ of) 4 topics, 1950 to 1955", said)


def test_every_mark_opens_its_evidence(data):
    page = render_track(data)
    linked = set(re.findall(r'href="#(change-\d+)"', page))
    assert linked
    assert linked <= set(re.findall(r'<details id="(change-\d+)"', page))
    topics = set(re.findall(r'href="#(topic-\d+)"', page))
    assert topics <= set(re.findall(r'id="(topic-\d+)"', page))


def test_hostile_words_are_words(data):
    page = render_track(data)
    assert "<script>window.hacked" not in page
    assert page.count("<script>") == 1
    assert "\x00" not in page
    assert "http" not in re.sub(r"http-equiv", "", page).replace("https", "http").split("<body>")[1]


def test_a_single_slice_and_no_change():
    counts = np.random.default_rng(0).poisson(1.0, (20, 12))
    model = TopicTracker(n_topics=2, n_sweeps=3, random_state=0).fit(counts)
    data = TrackData.from_tracker(model)
    assert headline(data) == "No change in 2 topics, 0"
    assert "All changes" not in render_track(data)


def test_an_empty_slice_leaves_a_gap():
    counts = np.random.default_rng(0).poisson(1.0, (9, 12))
    counts[3:6] = 0
    model = TopicTracker(n_topics=2, n_sweeps=3, slice_by=3, random_state=0).fit(counts)
    data = TrackData.from_tracker(model)
    assert np.isnan(data.course.shares[1][0].value)
    assert "nan" not in render_track(data).lower().split("</style>")[1].split("<script>")[0]


def test_the_whole_page_of_the_planted_stream(tmp_path):
    corpus, _ = make_news(10, 40, seed=0)
    model = TopicTracker(n_topics=6, slice_by="week", n_sweeps=30, random_state=0).fit(corpus)
    write_track(tmp_path / "news.html", TrackData.from_tracker(model, title="News"))
    page = (tmp_path / "news.html").read_text()
    assert len(page) < 500_000
    for part in (
        "Rivers",
        "All changes",
        "Lineage",
        "Words through time",
        "How each number was made",
    ):
        assert part in page
    assert "is new" in page


def test_only_a_tracker_has_a_course():
    with pytest.raises(DataError, match="needs a tracker"):
        TrackData.from_tracker(LDA(n_topics=2, n_sweeps=2).fit(np.ones((4, 5))))
