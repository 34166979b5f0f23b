"""Words for a slice's own time: which are left out of what is told."""

import numpy as np

from bayou import Corpus, TopicTracker
from bayou.data.calendar import NEVER
from bayou.inference.tracking.calendar_words import calendar_words


def between(start, end):
    return calendar_words(*(int(np.datetime64(day, "us").astype(np.int64)) for day in (start, end)))


def test_only_what_is_shorter_has_names_of_parts():
    assert between("1990", "1991") == {"1989", "1990", "1991"}
    month = between("1990-01-01", "1990-02-01")
    assert {"january", "december", "february", "1989", "1990"} <= month
    assert not {"march", "friday", "15"} & month
    day = between("2017-03-01", "2017-03-02")
    assert {"february", "march", "28", "1", "01", "2", "02", "wednesday"} <= day
    assert not {"may", "3", "27"} & day
    assert calendar_words(NEVER, NEVER) == frozenset()


def test_a_day_of_the_week_is_no_news_of_a_week():
    rng, rows = np.random.default_rng(0), []
    for week in range(6):
        late = week == 5
        for _ in range(80):
            common = rng.multinomial(40, np.full(8, 0.125))
            rows.append([*common, *(rng.random(2) < (0.6 if late else 0.02)).astype(int)])
    names = [*(f"w{v}" for v in range(8)), "friday", "flood"]
    days = np.datetime64("2017-03-06") + 7 * (np.arange(480) // 80)
    corpus = Corpus.from_matrix(np.array(rows), vocabulary=names, times=days)
    model = TopicTracker(n_topics=1, slice_by="week", n_spare=0, random_state=0).fit(corpus)
    told = {word for alert in model.alerts("words") for word in alert.words}
    assert told == {"flood"}
