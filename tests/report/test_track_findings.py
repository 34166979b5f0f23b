"""Findings of a tracker's report, and its names of topics and slices."""

import re
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from tests.report.test_track_report import hostile_track

from bayou import Corpus, TopicTracker, load
from bayou.data.calendar import NEVER
from bayou.report import TrackData, render_track
from bayou.report.slice_names import SliceNames
from bayou.report.track_findings import findings
from bayou.report.track_page import headline, table_rows


@pytest.fixture(scope="module")
def data():
    return hostile_track()


def changed(data, *given):
    """The data with other changes: topic, bin, kind, before, after, words."""
    one, numbers = next(c for c in data.changes if c.topic is not None), count(1)

    def change(topic, bin_, kind, before, after, words=("word",)):
        return replace(
            one, number=next(numbers), topic=data.topics[topic], bin=bin_, kind=kind, before=before,
            after=after, words=words, lead=words[0], early=False,
        )  # fmt: skip

    return replace(data, changes=tuple(change(*row) for row in given))


def links(data, **how):
    return [finding.link for finding in findings(data, **how)]


def test_findings_are_of_different_topics_and_not_of_a_few_documents(data):
    """What an editor reads first is not words of a slice that had two documents, nor a number."""
    n_docs = [60, 2, *data.course.n_docs[2:]]
    made = changed(
        data,
        (0, 1, "words", 0.0, 1.0),  # in two documents
        (1, 2, "words", 0.0, 0.9, ("1950", "page")),
        (2, 3, "words", 0.1, 0.4),
        (2, 4, "words", 0.1, 0.3),  # of the same topic, and less
        (0, 4, "rise", 0.1, 0.4),
    )
    made = replace(made, course=data.course._replace(n_docs=n_docs))
    assert links(made, most=2) == ["change-3", "change-5"]


def test_a_rise_and_a_new_word_come_before_a_fall_and_a_common_word(data):
    made = changed(
        data,
        (0, 3, "fall", 0.028, 0.009),
        (1, 3, "rise", 0.049, 0.096),
        (2, 4, "words", 0.30, 0.45, ("government",)),
        (3, 5, "words", 0.001, 0.14, ("impeachment",)),
    )
    assert links(made, most=2) == ["change-2", "change-4"]
    assert links(made) == ["change-2", "change-3", "change-4"], "a small fall is no finding"


def test_findings_are_apart_in_time_where_there_are_many_slices(data):
    long = data.course._replace(n_docs=[60] * 48, names=[str(y) for y in range(1950, 1998)])
    made = changed(
        data, (0, 3, "rise", 0.1, 0.4), (1, 4, "rise", 0.1, 0.3), (2, 40, "rise", 0.1, 0.2)
    )
    assert links(replace(made, course=long, n_slices=48)) == ["change-1", "change-3"]


def test_what_is_held_against_next_to_nothing_is_no_finding(data):
    """The first large slice after a few documents has everything new."""
    sizes = [2, 3, 3, 60, 60, 60]
    made = changed(data, (0, 3, "words", 0.0, 0.9), (1, 4, "words", 0.0, 0.2))
    made = replace(made, course=data.course._replace(n_docs=sizes))
    assert links(made) == ["change-1", "change-2"]
    assert links(made, most=1) == ["change-2"]


def test_births_while_topics_are_forming_are_no_findings(data):
    made = changed(data, (0, 1, "born", 0.0, 0.2), (1, 3, "rise", 0.1, 0.2))
    early = replace(made.changes[0], early=True)
    assert links(replace(made, changes=(early, made.changes[1]))) == ["change-2"]


def two_ages(times):
    """Words of one topic that become others halfway, beside a topic that stays."""
    rng, n = np.random.default_rng(0), len(times)
    phi = np.zeros((3, 15))
    phi[0, :5], phi[1, 5:10], phi[2, 10:] = 0.2, 0.2, 0.2
    rows = [rng.multinomial(40, phi[1 if d % 2 else 2 * (d >= n // 2)]) for d in range(n)]
    names = [f"{kind}{i}" for kind in ("old", "same", "young") for i in range(5)]
    ids = [f"d{d}" for d in range(n)]
    return Corpus.from_matrix(np.array(rows), vocabulary=names, times=times, ids=ids)


@pytest.fixture(scope="module")
def ages():
    first = np.datetime64("2017-02-01")
    times = first + np.arange(480) // 10  # ten a day
    model = TopicTracker(n_topics=2, slice_by="week", n_spare=0, random_state=0)
    return model.fit(two_ages(times))


def test_a_title_is_about_the_documents_and_weeks_are_called_so(ages, tmp_path):
    ages.save(tmp_path / "ages.bayou")
    for model in (ages, load(tmp_path / "ages.bayou")):
        made = TrackData.from_tracker(model)
        assert headline(made).endswith(", 2017-02-01 to 2017-03-20")
        page = render_track(made)
        assert made.changes
        assert "In the week of 2017-" in page
        assert '<span class="when">week of 2017-' in page


def test_a_file_without_document_times_names_slices(ages):
    made = TrackData.from_tracker(ages)
    old = replace(made, when=made.when._replace(span=(NEVER, NEVER)))
    assert headline(old).endswith("in slices from week of 2017-01-30 to week of 2017-03-20")


def test_every_change_has_the_number_of_its_topic_and_its_words_then(ages):
    """A topic of old words that become young ones is not called young before they came."""
    made = TrackData.from_tracker(ages)
    page = render_track(made)
    rows = re.findall(r'class="change"><summary>.*?</summary>', page)
    assert len(rows) == len(made.changes)
    assert all(re.search(r"topic \d+ \(", row) for row in rows)
    fresh = [c for c in made.changes if c.kind in ("drift", "words") and "young0" in c.words]
    assert fresh
    assert all(word.startswith("old") for c in fresh for word in c.then[:2])
    chart = page.split('id="lineage"')[1].split("</svg>")[0]
    assert re.findall(r">(\d)</text>", chart) == ["0", "1"]


def test_without_dates_slices_have_numbers():
    model = TopicTracker(n_topics=2, slice_by=60, n_spare=0, random_state=0)
    corpus = replace(two_ages(np.arange("2017", "2027", dtype="datetime64[D]")[:480]), times=None)
    made = TrackData.from_tracker(model.fit(corpus))
    assert headline(made).endswith("in 8 slices of 60 documents")
    page = render_track(made)
    assert "In slice " in page
    assert '<span class="when">slice ' in page


def test_slices_of_several_years_do_not_reach_beyond_the_documents(data):
    span = tuple(int(np.datetime64(day, "us").astype(int)) for day in ("1790-01-08", "2020-02-04"))
    names = ["1790–1794", "2020–2024"]
    assert SliceNames.of("5 years", span).whole(names, 2) == "1790 to 2020"
    assert SliceNames.of("2 weeks", span).during("2020-01-06") == "In the 2 weeks from 2020-01-06"
    assert SliceNames.of(500, span).during("2020-01-06") == "In the slice from 2020-01-06"


def test_a_small_first_slice_is_doubted_in_the_report(ages, data):
    model = TopicTracker(n_topics=2, slice_by="year", random_state=0)
    model.fit(np.ones((12, 6), int), time=[1950] * 3 + [1951] * 9)
    page = render_track(TrackData.from_tracker(model))
    assert "which has only 3 documents for 2 topics; longer slices" in page
    assert TrackData.from_tracker(ages).doubts == ()


def test_documents_that_fit_no_topic_are_shown_where_no_words_are_common(data):
    one = replace(data.changes[0], kind="surprise", topic=None, docs=(("letter 7", ()),), words=())
    page = render_track(replace(data, changes=(one,)))
    assert "<b>Documents that fit no topic</b>, such as <bdi>letter 7</bdi>" in page
    with_words = render_track(replace(data, changes=(replace(one, words=("flood",)),)))
    assert "<b>Documents that fit no topic</b>, with <bdi>flood</bdi>" in with_words


def test_slices_without_documents_are_one_row_of_the_table():
    rng = np.random.default_rng(0)
    years = np.repeat([1950, 1951, 1957], 20)
    corpus = Corpus.from_matrix(rng.poisson(1.0, (60, 12)), times=years.tolist())
    model = TopicTracker(n_topics=2, slice_by="year", n_spare=0, random_state=0).fit(corpus)
    made = TrackData.from_tracker(model)
    rows = [(row.name, row.n_empty) for row in table_rows(made)]
    assert rows == [("1950", 0), ("1951", 0), ("1952 to 1956", 5), ("1957", 0)]
    assert "5 slices without documents" in render_track(made)
