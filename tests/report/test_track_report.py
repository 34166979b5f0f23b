"""The page of a tracker: headline, findings, marks that open evidence, hostile words."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from tests.report.pages import HOSTILE

from bayou import LDA, Corpus, DataError, TopicTracker
from bayou.datasets import make_news
from bayou.report import TrackData, render_track, write_track
from bayou.report.text import clean
from bayou.report.track_page import headline


def hostile_tracker(n_slices=6):
    """A tracker whose words, names and texts contain code; a topic appears in slice 3."""
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
    assert headline(data) == "No change in 2 topics, in 1 slice"
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
        "Topic shares over time",
        "All changes",
        "Lineage",
        "Words over time",
        "How the numbers are computed",
    ):
        assert part in page
    assert "is new" in page


def test_only_a_tracker_has_a_course():
    with pytest.raises(DataError, match="needs a tracker"):
        TrackData.from_tracker(LDA(n_topics=2, n_sweeps=2).fit(np.ones((4, 5))))


def test_documents_are_quoted_where_the_words_of_the_change_stand(data):
    model, _ = hostile_tracker()
    alert = next(a for a in model.alerts() if a.docs and a.words)
    word = alert.words[0]
    texts = {
        alert.docs[0]: "so it goes on " * 40
        + f"until {word.upper()} is said, and then "
        + "more " * 90
    }
    quoted = TrackData.from_tracker(model, texts=texts)
    change = next(c for c in quoted.changes if any(parts for _, parts in c.docs))
    parts = next(parts for _, parts in change.docs if parts)
    assert [part for part, hit in parts if hit] == [clean(word.upper())]
    assert parts[0][0].startswith("…")
    assert sum(len(part) for part, _ in parts) <= 260
    assert "<mark>" in render_track(quoted)
    assert "<mark>" not in render_track(
        data
    )  # where no text has such a word, it is quoted from its beginning


def test_topics_are_named_by_what_tells_them_apart():
    """A word that all topics have is the name of none."""
    rng = np.random.default_rng(0)
    phi = np.zeros((3, 13))
    phi[:, 0] = 0.3
    for k in range(3):
        phi[k, 1 + 4 * k : 5 + 4 * k] = 0.175
    rows = [rng.multinomial(40, phi[rng.integers(3)]) for _ in range(240)]
    terms = ["common", *(f"{kind}{i}" for kind in ("sea", "law", "art") for i in range(4))]
    corpus = Corpus.from_matrix(np.array(rows), vocabulary=terms)
    model = TopicTracker(n_topics=3, slice_by=60, n_spare=0, random_state=0).fit(corpus)
    names = [topic.name(3) for topic in TrackData.from_tracker(model).topics]
    assert not any("common" in name for name in names)
    assert {name[:3] for name in names} == {"sea", "law", "art"}


def test_changes_of_one_topic_and_slice_have_a_sign_each(data):
    first = next(c for c in data.changes if c.topic is not None)
    several = [
        replace(first, number=n, rises=rises) for n, rises in ((1, True), (2, None), (3, False))
    ]
    page = render_track(replace(data, changes=tuple(several)))
    chart = page.split('id="rivers"')[1].split("</svg>")[0]
    boxes = [
        tuple(map(float, box))
        for box in re.findall(r'<rect x="[^"]+" y="([^"]+)" width="14" height="([^"]+)"', chart)
    ]
    assert len(boxes) == 3
    ends = sorted((y, y + height) for y, height in boxes)
    assert all(one[1] <= other[0] + 1e-6 for one, other in itertools.pairwise(ends))


def test_calendar_slices_without_documents_are_a_gap():
    rng = np.random.default_rng(0)
    years = np.repeat([1950, 1951, 1952, 1957, 1958], 20)
    corpus = Corpus.from_matrix(rng.poisson(1.0, (100, 12)), times=years.tolist())
    model = TopicTracker(n_topics=2, slice_by="year", n_spare=0, random_state=0).fit(corpus)
    data = TrackData.from_tracker(model)
    assert data.n_slices == 5
    assert data.course.names == [str(year) for year in range(1950, 1959)]
    assert data.course.n_docs == [20, 20, 20, 0, 0, 0, 0, 20, 20]
    assert [np.isnan(row[0].value) for row in data.course.shares] == [
        n == 0 for n in data.course.n_docs
    ]
    assert {(t.born, t.last) for t in data.topics} == {(0, 8)}
    assert "in 5 slices" in render_track(data)
    far = Corpus.from_matrix(rng.poisson(1.0, (40, 12)), times=[1400] * 20 + [1950] * 20)
    model = TopicTracker(n_topics=2, slice_by="year", n_spare=0, random_state=0).fit(far)
    assert TrackData.from_tracker(model).course.names == ["1400", "1950"]  # too far to draw
