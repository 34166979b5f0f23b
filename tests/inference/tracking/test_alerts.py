"""Alerts and history entries from a slice whose results are written down by hand."""

import numpy as np
import pytest

from bayou.inference.lda.documents import Pairs
from bayou.inference.tracking import alerts, change, evidence, lineage
from bayou.inference.tracking.history import N_TERMS
from bayou.inference.tracking.lineage import Event, TopicMeasures
from bayou.inference.tracking.slice import SliceResult
from bayou.inference.tracking.state import TrackerState

NAMES = [f"t{v}" for v in range(10)]
COUNTS = np.array(  # of a slice: terms x two known topics and one spare
    [[90, 0, 0], [50, 0, 0], [9, 2, 0], [0, 60, 0], [0, 40, 0], [0, 20, 0], [30, 0, 0], [0, 0, 25],
     [0, 0, 15], [0, 0, 0]], np.float32,
)  # fmt: skip
DOC_TOPIC = np.array([[60, 20, 0], [75, 2, 0], [40, 60, 0], [4, 16, 10], [0, 24, 30]], np.float32)
MEMORY = np.array(
    [[0.60, 0.02], [0.30, 0.02], [0.04, 0.06], [0.02, 0.50], [0.02, 0.30], [0.01, 0.1], [0.01, 0],
     [0, 0], [0, 0], [0, 0]], np.float32,
)  # fmt: skip


def before(**changes):
    blank = TrackerState(**dict.fromkeys(TrackerState._fields))
    given = {
        "ids": np.array([4, 8]), "memory": MEMORY, "alarmed": np.zeros(2, int),
        "leaning": np.zeros(2, int), "logit": np.log([1.0, 3.0]), "usual": np.full(10, 0.1),
        "spread": np.linspace(0.05, 0.5, 10), "hot": np.zeros(10, int),
        "surprise": np.array([2.0, 4.0]),
    }  # fmt: skip
    return blank._replace(**given | changes)


def judged(**changes):
    blank = evidence.SliceEvidence(**dict.fromkeys(evidence.SliceEvidence._fields))
    value = np.array([0.3, 0.1])
    given = {
        "drift": change.Drift(value, value / 2, value, value), "expected": np.array([0.2, 0.05]),
        "p_drift": np.array([0.001, 0.4]), "drifted": np.zeros(2, bool), "is_new": np.zeros(2, bool),
        "p_share": np.array([0.5, 0.002]), "swung": np.zeros(2, int), "p_terms": np.ones(10),
        "emerged": np.zeros(10, bool), "surprise": np.array([1.0, 5.0, np.nan, 4.5, 4.0]),
        "p_surprise": 0.5,
    }  # fmt: skip
    return blank._replace(**given | changes)


def result(found=None, state=None, events=(), born=None):
    tokens = COUNTS.sum(axis=0).astype(float)
    share = tokens / tokens.sum()
    seen = TopicMeasures(COUNTS, np.arange(10), 10, tokens, share, share - 0.05, share + 0.05)
    given = before() if state is None else state
    return SliceResult(given, given, seen, found, DOC_TOPIC, list(events), born or {})


def context(own=()):
    indptr = np.array([0, 3, 5, 8, 10, 12])
    terms = np.array([0, 1, 6, 0, 6, 0, 3, 6, 7, 9, 7, 8], np.int32)
    counts = np.array([30, 10, 2, 50, 9, 20, 40, 9, 5, 1, 20, 9], np.float32)
    docs = [f"doc{d}" for d in range(5)]
    return alerts.SliceContext(
        3, "2001-05", Pairs(indptr, terms, counts), docs, NAMES.__getitem__, own
    )


def kinds(found):
    return [(alert.kind, alert.topic) for alert in found]


def test_nothing_that_was_tested_is_reported_before_the_stream_settles():
    event = Event("dormant", 8, 1, 0.7, 0.1, -1, np.nan)
    loud = judged(is_new=np.ones(2, bool), swung=np.array([0, 1]), p_surprise=0.001)
    assert kinds(alerts.alerts_of(result(loud, events=[event]), context(), False)) == [
        ("dormant", 8)
    ]
    assert kinds(alerts.alerts_of(result(None, events=[event]), context(), True)) == [
        ("dormant", 8)
    ]
    every = alerts.alerts_of(result(loud, events=[event]), context(), True)
    assert kinds(every) == [("dormant", 8), ("drift", 4), ("surprise", -1)], "8 is reported already"


def test_an_event_has_shares_interval_words_and_documents():
    event = Event("merged", 8, 1, 0.75, 0.35, 4, 0.12)
    (alert,) = alerts.alerts_of(result(None, events=[event]), context(), True)
    assert (alert.slice, alert.date, alert.kind, alert.topic) == (3, "2001-05", "merged", 8)
    assert (alert.before, alert.after, alert.other) == (0.75, 0.35, 4)
    share = 122 / 341
    assert (alert.low, alert.high) == pytest.approx((share - 0.05, share + 0.05))
    assert np.isnan(alert.p)
    assert alert.words == ("t3", "t4", "t5", "t2"), "largest first, none without tokens"
    # document 0 has a fifth of its tokens there; 2, 4 and 0 have most tokens
    assert alert.docs == ("doc2", "doc4", "doc0")


def test_documents_have_at_least_a_fifth_of_their_tokens_in_the_topic():
    docs = DOC_TOPIC.copy()
    docs[0] = [81, 19, 0]
    step = result(None, events=[Event("born", 8, 1, 0.0, 0.3, -1, 0.9)])._replace(doc_topic=docs)
    (alert,) = alerts.alerts_of(step, context(), True)
    assert alert.docs == ("doc2", "doc4"), "19 of 100 tokens are too few"


@pytest.mark.parametrize(
    ("tokens", "words"),
    [(20.0, ("t3", "t4", "t5", "t2")), (19.0, ("t3", "t4", "t5", "t2", "t0", "t1"))],
)
def test_words_of_a_topic_with_under_20_tokens_are_those_of_its_memory(tokens, words):
    step = result(None, events=[Event("dormant", 8, 1, 0.5, 0.0, -1, np.nan)])
    seen = step.seen._replace(tokens=np.array([189.0, tokens, 40.0]))
    (alert,) = alerts.alerts_of(step._replace(seen=seen), context(), True)
    assert alert.words == words, "the memory expects t0 and t1, the slice has none"
    spare = Event("born", 12, 2, 0.0, 0.1, -1, 0.9)
    seen = step.seen._replace(tokens=np.array([189.0, 122.0, 5.0]))
    (alert,) = alerts.alerts_of(step._replace(seen=seen, events=[spare]), context(), True)
    assert alert.words == ("t7", "t8"), "a spare topic has no memory"


def test_a_drift_names_gained_and_lost_words_and_its_divergence():
    found = judged(is_new=np.array([True, False]))
    (alert,) = alerts.alerts_of(result(found), context(), True)
    assert (alert.kind, alert.topic, alert.before, alert.after, alert.p) == (
        "drift", 4, 0.2, 0.3, 0.001,
    )  # fmt: skip
    assert alert.words == ("t6", "t2"), "30 of 179 tokens against 1 %, and 9 against 4 %"
    assert alert.lost == ("t3", "t4", "t0", "t1"), "t5 was expected less than twice"
    assert np.isnan(alert.low)
    assert np.isnan(alert.high)


def test_an_emerging_word_of_a_drifting_topic_is_its_first_word():
    emerged = np.zeros(10, bool)
    emerged[2] = True
    found = judged(is_new=np.array([True, False]), emerged=emerged)
    (alert,) = alerts.alerts_of(result(found), context(), True)
    assert alert.kind == "drift"
    assert alert.words == ("t2", "t6"), "once, and no alert of words beside it"


def test_emerging_words_are_reported_with_the_column_of_their_largest_excess():
    emerged = np.zeros(10, bool)
    emerged[[6, 7]] = True
    p_terms = np.ones(10)
    p_terms[[6, 7]] = 0.02, 0.001
    step = result(judged(emerged=emerged, p_terms=p_terms))
    first, second = alerts.alerts_of(step, context(), True)
    assert (first.kind, first.topic, first.words) == ("words", -1, ("t7",)), "spare, and not kept"
    assert (second.topic, second.words, second.p) == (4, ("t6",), 0.02)
    assert second.before == pytest.approx(0.35), "usual share of documents"
    assert second.after == pytest.approx(3 / 5)
    assert second.docs == ("doc1", "doc2", "doc0"), "by tokens of the word; equals in their order"
    born = step._replace(born={2: 12})
    assert alerts.alerts_of(born, context(), True)[0].topic == 12


def test_the_excess_is_over_what_the_memory_expects():
    """Term 3 has 60 tokens in topic 8, which expects 61; and 12 in topic 4, which expects 4."""
    emerged = np.zeros(10, bool)
    emerged[3] = True
    step = result(judged(emerged=emerged))
    counts = COUNTS.copy()
    counts[3, 0] = 12.0
    step = step._replace(seen=step.seen._replace(counts=counts))
    (alert,) = alerts.alerts_of(step, context(), True)
    assert alert.topic == 4
    counts[3, 1] = 80.0
    assert alerts.alerts_of(step, context(), True)[0].topic == 8


def test_a_new_topic_has_a_word_of_which_it_has_a_fifth_of_the_excess():
    emerged = np.zeros(10, bool)
    emerged[9] = True
    for tokens, topic in ((21.0, 12), (19.0, 4)):
        counts = COUNTS.copy()
        counts[9] = [100.0 - tokens, 0.0, tokens]
        step = result(judged(emerged=emerged), born={2: 12})
        step = step._replace(seen=step.seen._replace(counts=counts))
        (alert,) = alerts.alerts_of(step, context(), True)
        assert alert.topic == topic
        assert alert.docs == ("doc3",), "one token of the word is enough"


def test_words_that_emerged_before_and_words_for_the_time_are_not_reported():
    emerged = np.zeros(10, bool)
    emerged[[6, 7, 8]] = True
    hot = np.zeros(10, int)
    hot[8] = 1
    step = result(judged(emerged=emerged), before(hot=hot))
    found = alerts.alerts_of(step, context(own={"t7"}), True)
    assert [alert.words for alert in found] == [("t6",)]


SWUNG = {"swung": np.array([0, -1])}


def test_a_share_that_begins_to_change_is_reported_once():
    (alert,) = alerts.alerts_of(result(judged(**SWUNG)), context(), True)
    assert (alert.kind, alert.topic, alert.p) == ("fall", 8, 0.002)
    assert alert.before == pytest.approx(lineage.usual_share(np.log(3.0))) == pytest.approx(0.75)
    assert alert.after == pytest.approx(122 / 341)
    assert (alert.low, alert.high) == pytest.approx((122 / 341 - 0.05, 122 / 341 + 0.05))
    known = before(leaning=np.array([0, -1]))
    assert alerts.alerts_of(result(judged(**SWUNG), known), context(), True) == []
    (alert,) = alerts.alerts_of(result(judged(swung=np.array([0, 1])), known), context(), True)
    assert alert.kind == "rise", "the other way is news"


@pytest.mark.parametrize(
    ("direction", "drifted", "alarmed", "expected"),
    [(-1, 1, 0, []), (-1, 0, 1, []), (1, 1, 0, ["rise"]), (1, 0, 1, ["rise"]), (-1, 0, 0, ["fall"])],
)  # fmt: skip
def test_a_topic_whose_words_change_does_not_fall(direction, drifted, alarmed, expected):
    found = judged(swung=np.array([0, direction]), drifted=np.array([False, bool(drifted)]))
    step = result(found, before(alarmed=np.array([0, alarmed])))
    assert [a.kind for a in alerts.alerts_of(step, context(), True)] == expected


def test_a_topic_that_drifts_anew_has_no_alert_of_its_share():
    found = judged(swung=np.array([0, 1]), is_new=np.array([False, True]))
    assert kinds(alerts.alerts_of(result(found), context(), True)) == [("drift", 8)]


def test_surprising_documents_share_terms_and_are_named_worst_first():
    found = judged(p_surprise=0.0099, surprise=np.array([1.0, 5.0, np.nan, 4.5, 4.0]))
    (alert,) = alerts.alerts_of(result(found), context(), True)
    assert (alert.kind, alert.topic, alert.p) == ("surprise", -1, 0.0099)
    assert alert.docs == ("doc1", "doc3"), "4.0 is at the limit and not over it"
    assert alert.after == pytest.approx(2 / 4), "of the documents that have a score"
    assert alert.before == pytest.approx(0.05)
    assert alert.words == (), "documents 1 and 3 have no term in common"
    found = found._replace(surprise=np.array([4.1, 5.0, np.nan, 3.0, 4.0]))
    (alert,) = alerts.alerts_of(result(found), context(), True)
    assert alert.words == ("t0", "t6"), "t0 is rarer: its lift is larger"
    for quiet in (judged(p_surprise=0.01), judged(p_surprise=np.nan)):
        assert alerts.alerts_of(result(quiet), context(), True) == []
    assert alerts.alerts_of(result(found, born={2: 12}), context(), True) == []


def test_courses_have_one_entry_per_topic_after_the_slice():
    rows = np.zeros((10, 2), np.float32)
    rows[:, 0], rows[:, 1] = np.arange(10) / 45, np.arange(10)[::-1] / 45
    step = result(judged(), born={2: 12})
    step = step._replace(state=before(ids=np.array([8, 12]), rows=rows))
    entry = alerts.course_rows(step, 3, lambda terms: [100 + v for v in terms])
    assert entry["slice"].tolist() == [3, 3]
    assert entry["topic"].tolist() == [8, 12]
    np.testing.assert_allclose(entry["tokens"], [122, 40])
    np.testing.assert_allclose(entry["share"], [122 / 341, 40 / 341])
    np.testing.assert_allclose(entry["high"] - entry["low"], 0.1)
    np.testing.assert_allclose(entry["drift"], [0.1, np.nan])
    np.testing.assert_allclose(entry["expected"], [0.05, np.nan])
    np.testing.assert_allclose(entry["p"], [0.4, np.nan])
    assert entry["terms"].shape == (2, N_TERMS)
    assert entry["terms"][0].tolist() == [*range(109, 99, -1), -1, -1]
    assert entry["terms"][1, :3].tolist() == [100, 101, 102]
    np.testing.assert_allclose(entry["weights"][0, :2], [9 / 45, 8 / 45], rtol=1e-6)
    assert entry["weights"][0, 10:].tolist() == [0, 0]
    first = alerts.course_rows(step._replace(judged=None), 0, list)
    assert np.isnan([first["drift"], first["expected"], first["p"]]).all()
