"""What is told of a slice and what is not: shares of topics beside others that come and go."""

import numpy as np

from bayou.inference.tracking import change, evidence, surprise
from bayou.inference.tracking.lineage import TopicMeasures
from bayou.inference.tracking.settings import TrackerSettings
from bayou.inference.tracking.state import TrackerState

NO_STATE = TrackerState(**dict.fromkeys(TrackerState._fields))
P = TrackerSettings(**dict.fromkeys(TrackerSettings._fields))._replace(min_tokens=50, level=0.05)


def judged(usual, share, spare=0.0, silent=None, spared=0.0):
    """Directions of the topics' shares in a slice of 1,000 tokens and well known shares."""
    return share_tests(usual, share, spare, silent, spared)[1].tolist()


def share_tests(usual, share, spare=0.0, silent=None, spared=0.0):
    """P-values, directions and scores."""
    usual, share = np.array(usual), np.array(share)
    n = len(usual)
    state = NO_STATE._replace(
        ids=np.arange(n), logit=np.log(usual / (1 - usual)), logit_doubt=np.full(n, 1e-3),
        silent=np.zeros(n, np.int64) if silent is None else np.array(silent), swings=np.zeros(0),
        spared=spared,
    )  # fmt: skip
    every = np.append(share, spare)
    none = np.zeros((0, n + 1), np.float32), np.zeros(0, np.int64), 0
    seen = TopicMeasures(*none, 1000 * every, every, every, 1.05 * every)
    odds = np.log(every.clip(1e-4) / (1 - every)), np.full(n + 1, 1e-3)
    slice_ = evidence.InferredSlice(None, None, seen, *odds)
    return evidence._share_p(state, slice_, 1000 * share, P)


def test_a_topic_is_tested_if_it_has_or_usually_has_enough_tokens():
    """The least number is 50 of 1,000 tokens."""
    p, _, scores = share_tests([0.3, 0.3, 0.04, 0.03], [0.04, 0.3, 0.06, 0.04])
    assert np.isnan(p).tolist() == [False, False, False, True]
    assert len(scores) == 3


def test_a_share_that_moves_is_told():
    assert judged([0.25] * 4, [0.25] * 4) == [0, 0, 0, 0]
    assert judged([0.25] * 4, [0.1, 0.3, 0.3, 0.3]) == [-1, 0, 0, 0]
    assert judged([0.1, 0.3, 0.3, 0.3], [0.25] * 4)[0] == 1


def test_topics_do_not_rise_because_another_one_falls_asleep_or_fall_because_one_wakes():
    assert judged([0.4, 0.2, 0.2, 0.2], [0.001, 0.333, 0.333, 0.333])[1:] == [0, 0, 0]
    back = judged([0.4, 0.333, 0.333, 0.333], [0.4, 0.2, 0.2, 0.2], silent=[3, 0, 0, 0])
    assert back[1:] == [0, 0, 0]
    assert judged([0.25] * 4, [0.15] * 4, spare=0.4) == [0, 0, 0, 0], "one is being born"


def test_a_fall_is_none_if_spare_topics_may_have_the_tokens():
    assert judged([0.25] * 4, [0.08, 0.26, 0.26, 0.26], spare=0.14) == [0, 0, 0, 0]
    assert judged([0.25] * 4, [0.05, 0.31, 0.31, 0.31], spare=0.02)[0] == -1
    always = judged([0.215] * 4, [0.08, 0.26, 0.26, 0.26], spare=0.14, spared=0.14)
    assert always == [-1, 0, 0, 0], "it has as much as ever"


def test_what_was_not_tested_stays_as_it_was():
    nan, n = np.nan, 3
    state = NO_STATE._replace(
        ids=np.arange(n), alarmed=np.array([1, 1, 0]), leaning=np.array([-1, 1, 1]),
        ratios=np.zeros(0), swings=np.zeros(0), surprise=np.zeros(0),
    )  # fmt: skip
    drift = change.Drift(*np.zeros((4, n)))
    found = evidence.SliceEvidence(
        drift=drift, expected=np.ones(n), p_drift=np.array([nan, 0.5, 0.001]),
        drifted=np.array([False, False, True]), is_new=np.zeros(n, bool),
        p_share=np.array([0.5, nan, 0.5]), swung=np.zeros(n, np.int64), p_terms=np.ones(2),
        emerged=np.zeros(2, bool), surprise=np.full(2, nan), p_surprise=nan, burst=1.0,
        ratios=np.zeros(0), swings=np.zeros(0),
    )  # fmt: skip
    after = evidence.record_scores(state, found, 0.3)
    assert after.alarmed.tolist() == [1, 0, 1]
    assert after.leaning.tolist() == [0, 1, 0]


def test_surprising_documents_are_no_news_where_there_were_as_many_before():
    nan, n = np.nan, 3
    state = NO_STATE._replace(
        ids=np.arange(n), alarmed=np.zeros(n, int), leaning=np.zeros(n, int), ratios=np.zeros(0),
        swings=np.zeros(0), surprise=np.zeros(0),
    )  # fmt: skip
    found = evidence.SliceEvidence(**dict.fromkeys(evidence.SliceEvidence._fields))._replace(
        p_drift=np.full(n, nan), drifted=np.zeros(n, bool), p_share=np.full(n, nan),
        swung=np.zeros(n, int), emerged=np.zeros(2, bool), ratios=np.zeros(0), swings=np.zeros(0),
    )  # fmt: skip
    assert surprise.usual_share_over_limit(state) == surprise.UPPER
    scores = np.linspace(5.0, 7.0, 101)
    for _ in range(6):  # all documents of a slice are more surprising than those of the one before
        state = evidence.record_scores(state, found._replace(surprise=np.append(scores, nan)), 0.5)
        scores = scores + 0.5
    assert len(state.surprise) == 2 + surprise.N_RECENT
    assert 0.4 < surprise.usual_share_over_limit(state) < 0.6
    for _ in range(12):  # and then as much as ever
        state = evidence.record_scores(state, found._replace(surprise=scores), 0.5)
    assert surprise.usual_share_over_limit(state) < 0.06
