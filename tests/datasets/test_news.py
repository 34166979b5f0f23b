"""Planted events are in the documents, and nothing else changes."""

import numpy as np
import pytest

from bayou.data import Corpus, DataError
from bayou.datasets import Event, News, make_news
from bayou.datasets.news import invent_word

SIZES = {"docs_per_slice": 40, "n_terms": 200, "doc_length": 80.0, "seed": 3}


@pytest.fixture(scope="module")
def drawn() -> tuple[Corpus, News]:
    return make_news(48, **SIZES)


def _event(news: News, kind: str) -> Event:
    return next(event for event in news.events if event.kind == kind)


def _share(corpus: Corpus, news: News, terms: tuple[str, ...]) -> np.ndarray:
    """Share of some terms among the tokens of each slice."""
    columns = [corpus.vocabulary.index(term) for term in terms]
    n_slices = len(news.prevalence)
    hits = np.bincount(news.slices, corpus.counts[:, columns].sum(axis=1), n_slices)
    return hits / np.bincount(news.slices, corpus.doc_lengths(), n_slices)


def test_every_kind_is_planted_once_a_round(drawn):
    corpus, news = drawn
    kinds = ["appear", "shift", "fade", "return", "burst"]
    assert [event.kind for event in news.events] == 2 * kinds
    first = {event.kind: event.topic for event in news.events[:5]}
    assert first["fade"] == first["return"]
    assert len({first[kind] for kind in kinds}) == 4
    for event in news.events:
        assert corpus.times[news.slices == event.slice].min() == event.date
        assert set(event.gained) | set(event.lost) <= set(corpus.vocabulary)
        assert bool(event.gained) == (event.kind != "fade")
        assert bool(event.lost) == (event.kind in ("shift", "fade"))


def test_truth_is_made_of_distributions(drawn):
    corpus, news = drawn
    assert news.prevalence.shape == news.version.shape == (48, 8)
    np.testing.assert_allclose(news.prevalence.sum(axis=1), 1)
    np.testing.assert_allclose(news.distributions.sum(axis=1), 1)
    np.testing.assert_allclose(news.doc_topics.sum(axis=1), 1)
    assert (news.doc_topics[news.prevalence[news.slices] == 0] == 0).all()
    for t in (0, 30):
        expected = news.prevalence[t] @ news.topics(t)
        found = np.asarray(corpus.counts[news.slices == t].sum(axis=0)).ravel()
        assert np.abs(found / found.sum() - expected).sum() < 0.5  # total variation below 1/4


def test_prevalence_and_versions_change_at_events_alone(drawn):
    _, news = drawn
    changed = set(np.flatnonzero((np.diff(news.version, axis=0) != 0).any(axis=1)) + 1)
    shares = set(np.flatnonzero((np.abs(np.diff(news.prevalence, axis=0)) > 1e-12).any(axis=1)) + 1)
    assert changed == {8, 20, 22, 32, 44, 46}
    assert shares == {4, 12, 13, 16, 28, 36, 37, 40}


def test_a_topic_appears(drawn):
    _, news = drawn
    event = _event(news, "appear")
    of_topic = news.prevalence[:, event.topic]
    assert (of_topic[: event.slice] == 0).all()
    assert (of_topic[event.slice :] > 0.05).all()
    found = news.doc_topics[:, event.topic]
    assert found[news.slices < event.slice].sum() == 0
    assert found[news.slices == event.slice].mean() > 0.05


def test_a_topic_shifts_its_terms(drawn):
    corpus, news = drawn
    event = _event(news, "shift")
    before, after = news.topics(event.slice - 1), news.topics(event.slice)
    others = np.arange(8) != event.topic
    np.testing.assert_array_equal(before[others], after[others])
    gained, lost = ([corpus.vocabulary.index(v) for v in vs] for vs in (event.gained, event.lost))
    assert before[event.topic, lost].sum() == after[event.topic, gained].sum() > 0.25
    np.testing.assert_array_equal(news.topics(23)[event.topic], after[event.topic])
    gain = _share(corpus, news, event.gained)
    assert gain[event.slice : 12].mean() > gain[: event.slice].mean() + 0.02


def test_a_topic_fades_and_returns(drawn):
    _, news = drawn
    event, back = _event(news, "fade"), _event(news, "return")
    assert event.stop == back.slice
    of_topic = news.prevalence[:, event.topic]
    assert 0 < of_topic[event.slice] < 0.6 * of_topic[event.slice - 1]
    assert (of_topic[event.slice + 1 : back.slice] == 0).all()
    assert of_topic[back.slice] == pytest.approx(of_topic[event.slice - 1])
    np.testing.assert_array_equal(news.topics(0)[event.topic], news.topics(back.slice)[event.topic])


def test_rare_terms_burst_and_are_gone_again(drawn):
    corpus, news = drawn
    event = _event(news, "burst")
    share = _share(corpus, news, event.gained)
    inside = np.arange(event.slice, event.stop)
    assert share[inside].min() > 0.02
    assert share[: event.slice].max() < 0.01
    assert share[event.stop : 28].max() < 0.01
    assert news.version[event.stop, event.topic] == news.version[event.slice - 1, event.topic]


def test_what_follows_changes_nothing(drawn):
    corpus, news = drawn
    for n_slices in (1, 13, 21, 29):
        few, truth = make_news(n_slices, **SIZES)
        n_docs, n_topics = few.n_docs, truth.prevalence.shape[1]
        assert (few.counts != corpus[:n_docs].counts).nnz == 0
        assert (few.ids, few.vocabulary) == (corpus.ids[:n_docs], corpus.vocabulary)
        np.testing.assert_array_equal(few.times, corpus.times[:n_docs])
        np.testing.assert_array_equal(truth.doc_topics, news.doc_topics[:n_docs, :n_topics])
        np.testing.assert_array_equal(truth.prevalence, news.prevalence[:n_slices, :n_topics])
        assert truth.events == news.events[: len(truth.events)]
        assert all(event.slice >= n_slices for event in news.events[len(truth.events) :])
        for t in range(n_slices):
            np.testing.assert_array_equal(truth.topics(t), news.topics(t)[:n_topics])


def test_terms_of_a_document_do_not_depend_on_those_beside_it():
    many, truth = make_news(6, **SIZES)
    few, _ = make_news(6, **{**SIZES, "docs_per_slice": 7})
    first = np.concatenate([np.flatnonzero(truth.slices == t)[:7] for t in range(6)])
    assert (few.counts != many[first].counts).nnz == 0
    assert few.ids == many[first].ids


def test_repeats_and_seeds():
    (one, a), (two, b) = make_news(9, 5, seed=1), make_news(9, 5, seed=1)
    assert (one.counts != two.counts).nnz == 0
    assert a.events == b.events
    other, c = make_news(9, 5, seed=2)
    assert (one.counts != other.counts).nnz > 0
    assert a.events != c.events


def test_times_are_in_order_and_in_their_week(drawn):
    corpus, news = drawn
    assert (np.diff(corpus.times) > np.timedelta64(0)).all()
    weeks = (corpus.times - np.datetime64("2024-01-01")) // np.timedelta64(7, "D")
    np.testing.assert_array_equal(weeks, news.slices)
    assert len(set(corpus.ids)) == corpus.n_docs


def test_without_events_nothing_changes():
    _, news = make_news(30, 2, events=False)
    assert news.events == ()
    assert (news.version == news.version[0]).all()
    assert (news.prevalence == news.prevalence[0]).all()


def test_least_sizes_and_empty_documents():
    corpus, news = make_news(24, 1, n_topics=3, n_terms=8, doc_length=0)
    assert corpus.n_tokens == 0
    assert corpus.n_docs == 24
    assert len(news.events) == 5


def test_words_are_distinct_and_pronounceable():
    words = [invent_word(v) for v in (*range(3000), *range(166_000, 167_000))]
    assert len(set(words)) == len(words)
    assert all(len(word) in (6, 8) and set(word[1::2]) <= set("aeiou") for word in words)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_slices": 0}, "n_slices must be a whole number >= 1, got 0"),
        ({"docs_per_slice": 2.5}, "docs_per_slice must be a whole number >= 1, got 2.5"),
        ({"n_topics": 2}, "n_topics must be a whole number >= 3, got 2"),
        ({"n_terms": 7}, "n_terms must be a whole number >= 8, got 7"),
        ({"seed": True}, "seed must be a whole number >= 0, got True"),
        ({"doc_length": -1}, "doc_length must be a finite number >= 0, got -1"),
        ({"doc_length": "x"}, "doc_length must be a finite number >= 0, got 'x'"),
        ({"events": "no"}, "events must be True or False, got 'no'"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(DataError, match=message):
        make_news(**given)
