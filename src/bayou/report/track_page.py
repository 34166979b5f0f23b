"""The page of a tracker: what is said by rule, the rivers with their changes, and the lineage."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bayou.report import charts
from bayou.report.findings import findings
from bayou.report.lineage import lineage, lineage_topics
from bayou.report.page import fill_template, write_page
from bayou.report.text import count, decimal, percent, shorten
from bayou.report.track import SAID, Change, TrackData, Tracked

_WIDTHS = (960, 760, 340)


def render_track(data: TrackData) -> str:
    """The report on a tracker as one HTML document that asks nothing of the network."""
    rivers = _river_topics(data)
    shown = {topic.number for topic in rivers}
    marks = [
        charts.ChartMark(
            c.topic.number, c.bin, c.rises, f"#change-{c.number}", _change_line(c, data)
        )
        for c in data.changes
        if c.topic is not None and c.topic.number in shown
    ]
    lives, named = lineage_topics(data), [_number_topic(topic) for topic in rivers]
    return fill_template(
        "track.html",
        data=data,
        headline=headline(data),
        findings=findings(data),
        rivers=charts.rivers(named, data.course, marks) if len(data.course.names) > 1 else [],
        river_topics=rivers,
        lives=lives,
        lineage=[lineage(lives, data, width) for width in _WIDTHS],
        rows=table_rows(data),
        said=SAID,
        test=test_of,
        expected=data.level * data.n_tested,
        methods=_methods(data),
    )


def write_track(path_: str | os.PathLike[str], data: TrackData) -> None:
    """Write the report on a tracker to a file, wholly or not at all."""
    write_page(path_, lambda: render_track(data))


def headline(data: TrackData) -> str:
    """The answer in one sentence: how many changes, in how many topics, from when to when."""
    touched = len({c.topic.id for c in data.changes if c.topic is not None})
    when = data.when.whole(data.course.names, data.n_slices)
    if not data.changes:
        return f"No change in {count(len(data.topics), 'topic')}, {when}"
    every = count(len(data.topics), "topic")
    where = f"all {every}" if touched == len(data.topics) > 1 else f"{touched} of {every}"
    return f"{count(len(data.changes), 'change')} in {where}, {when}"


def _change_line(change: Change, data: TrackData) -> str:
    """A change in one line."""
    date, words = data.when.label(change.date), shorten(", ".join(change.words[:4]), 80)
    if change.kind == "words":
        return f"{date}: new in {change.who()}: {words}"
    if change.topic is None:
        return f"{date}: {change.who()}" + (f": {words}" if words else "")
    return f"{date}: {change.who()} {SAID[change.kind]}"


class Row(NamedTuple):
    """A row of the table of shares: a slice, or several in a row that had no documents."""

    name: str
    bin: int
    n_empty: int


def table_rows(data: TrackData) -> list[Row]:
    """The slices of the table, with runs of those that had no documents as one."""
    names, out = data.course.names, []
    for empty, group in groupby(range(len(names)), key=lambda b: data.course.n_docs[b] == 0):
        bins = list(group)
        if empty and len(bins) > 1:
            out.append(Row(f"{names[bins[0]]} to {names[bins[-1]]}", bins[0], len(bins)))
        else:
            out += [Row(names[b], b, 0) for b in bins]
    return out


def test_of(change: Change) -> str:
    """What was tested, and what came out."""
    p = "below 0.0001" if change.p < 1e-4 else decimal(change.p, 4)
    if change.kind == "drift":
        return (
            f"Divergence from its memory {decimal(change.after, 3)} bits, where {decimal(change.before, 3)} "
            f"are expected without a change; p {p}."
        )
    if change.kind == "words":
        return (
            f"{change.lead}: in {percent(change.after)} of the documents, usually in "
            f"{percent(change.before)}; p {p}, beta-binomial."
        )
    if change.kind == "surprise":
        return (
            f"{percent(change.after)} of the documents are over the limit of what is surprising, usually "
            f"{percent(change.before)}; p {p}."
        )
    if change.kind in ("rise", "fall"):
        return f"Log-odds against their usual course; p {p}."
    return "By its share of the words; no test."


def _number_topic(topic: Tracked) -> Tracked:
    """The topic with its permanent number before its name."""
    words = ((f"{topic.id} {topic.words[0][0]}", topic.words[0][1]), *topic.words[1:])
    return replace(topic, words=words, title=topic.title and f"{topic.id} {topic.title}")


def _river_topics(data: TrackData) -> list[Tracked]:
    """At most twelve topics: those with most changes and the widest course, that flow early first."""
    values = np.array([[e.value for e in row] for row in data.course.shares], np.float64)
    held = np.nan_to_num(values)
    span = held.max(axis=0) - held.min(axis=0)
    weight = np.array([t.n_changes for t in data.topics]) * 0.01 + span
    chosen = np.argsort(-weight, kind="stable")[: charts.MOST_RIVERS]
    middle = np.arange(len(held)) @ held / np.maximum(held.sum(axis=0), 1e-12)
    return [data.topics[k] for k in chosen[np.argsort(middle[chosen], kind="stable")]]


def _methods(data: TrackData) -> list[tuple[str, str, str]]:
    """What each number is, and how its interval was made."""
    rate = f"false discovery rate {percent(data.level, 0)} over the"
    return [
        (
            "Share",
            "Part of a slice's words that a topic has.",
            "95 %, as documents of the slice drawn anew would have it.",
        ),
        (
            "Changes its words",
            "Jensen-Shannon divergence of the slice's words in the topic from the topic's memory, in bits.",
            "Against up to 40 slices without change, drawn document by document from urns as bursty as "
            f"the text, on the scale of recent slices; {rate} topics of a slice.",
        ),
        (
            "New words",
            "Documents that have a word, against what is usual for it and for its topics' shares.",
            f"Beta-binomial over documents; {rate} words of a slice.",
        ),
        (
            "Rises, falls",
            "Log-odds of the share against their exponentially weighted mean.",
            "Variance by documents drawn anew, on the scale of recent slices; "
            f"{rate} topics of a slice; told from a factor of 1.5 on.",
        ),
        (
            "Is new, splits off",
            "A topic without memory takes part in each slice; it is kept if the lower end of its share is "
            "half an average topic's.",
            "Split: Hellinger distance to its nearest under 0.7. Back: under 0.6 to one that was given up.",
        ),
        (
            "Falls silent, is back",
            "Share under 15 % of what is usual, and over 40 % of it again.",
            "Only in slices where it would usually have enough words.",
        ),
        (
            "Merges",
            "Two topics whose words are the same in two slices in a row, or one that has taken the other's.",
            "Hellinger distance under 0.25; the larger keeps its number. Or one falls silent while another "
            "has come within 0.6 of its words.",
        ),
        (
            "Fits no topic",
            "More documents than in recent slices are less probable under the memory than 95 % of the usual "
            "ones are.",
            "Beta-binomial over documents, p under 0.01.",
        ),
    ]
