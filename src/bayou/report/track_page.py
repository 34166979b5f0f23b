"""The page of a tracker: what is said by rule, the rivers with their changes, and the lineage."""

from __future__ import annotations

import math
import os
from typing import NamedTuple

import numpy as np

from bayou.report import charts
from bayou.report.page import filled, write_page
from bayou.report.svg import Markup, chart, element, path
from bayou.report.text import count, decimal, percent, shorten
from bayou.report.track import SAID, Change, TrackData, Tracked

MOST_LIVES = 24
_WIDTHS = (960, 760, 340)
_A_SLICE = 1  # findings


class Finding(NamedTuple):
    """A sentence of the head of the page; odd parts are bold."""

    parts: tuple[str, ...]
    link: str


def render_track(data: TrackData) -> str:
    """The report on a tracker as one HTML document that asks nothing of the network."""
    rivers = _river_topics(data)
    shown = {topic.number for topic in rivers}
    marks = [
        charts.Mark(c.topic.number, c.bin, c.rises, f"#change-{c.number}", _told(c))
        for c in data.changes
        if c.topic is not None and c.topic.number in shown
    ]
    lives = _lives(data)
    return filled(
        "track.html",
        data=data,
        headline=headline(data),
        findings=findings(data),
        rivers=charts.rivers(rivers, data.course, marks) if len(data.course.names) > 1 else [],
        river_topics=rivers,
        lives=lives,
        lineage=[_lineage(lives, data, width) for width in _WIDTHS],
        told=_told,
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
    names = data.course.names
    when = (
        names[0] if len(names) == 1 else f"{names[0].split('–')[0]} to {names[-1].split('–')[-1]}"
    )
    if not data.changes:
        return f"No change in {count(len(data.topics), 'topic')}, {when}"
    every = count(len(data.topics), "topic")
    where = f"all {every}" if touched == len(data.topics) > 1 else f"{touched} of {every}"
    return f"{count(len(data.changes), 'change')} in {where}, {when}"


def _weight(change: Change) -> float:
    """How much a reader would care: lives first, then the size of a step."""
    if change.kind in ("rise", "fall", "born", "split", "dormant", "revived"):
        step = abs(change.after - change.before)
        return 2.0 * step if math.isfinite(step) else 0.0
    if change.kind == "words" and not any(map(str.isalpha, change.words[0])):
        return 0.0  # a date, or a page
    step = max(change.after - change.before, 0.0)
    return {"drift": 0.5, "words": 0.5}.get(change.kind, 0.0) * step if math.isfinite(step) else 0.0


def findings(data: TrackData, most: int = 5) -> list[Finding]:
    """The largest changes as sentences, in the order of time: one a topic, and one a slice."""
    chosen: dict[int, Change] = {}
    sizes = np.asarray(data.course.n_docs, np.float64)
    typical = float(np.median(sizes[sizes > 0])) if sizes.any() else 1.0
    whole = np.minimum(sizes / typical, 1.0)  # a few documents are no news

    def weight(change: Change) -> float:
        return _weight(change) * float(whole[change.bin])

    for change in sorted(data.changes, key=lambda c: (-weight(c), c.number)):
        beside = sum(other.bin == change.bin for other in chosen.values())
        if change.topic is not None and change.topic.id not in chosen and beside < _A_SLICE:
            chosen[change.topic.id] = change
        if len(chosen) == most:
            break
    return [_finding(c) for c in sorted(chosen.values(), key=lambda c: c.number)]


def _finding(change: Change) -> Finding:
    assert change.topic is not None
    name = f"topic {change.topic.id} ({', '.join(change.words[:3]) or change.topic.name()})"
    link = f"change-{change.number}"
    if change.kind == "drift":
        words = ", ".join(change.words[:4])
        return Finding(
            (
                f"In {change.date} ",
                f"topic {change.topic.id} ({change.topic.name()})",
                f" takes up {words}.",
            ),
            link,
        )
    if change.kind == "words":
        verb = " comes up, in" if len(change.words) == 1 else " come up, the first in"
        said = f"{verb} {percent(change.after)} of the documents; {percent(change.before)} before."
        return Finding((f"In {change.date} ", ", ".join(change.words[:4]), said), link)
    verb = SAID[change.kind]
    share = f" {percent(change.before)} before, {percent(change.after)} then"
    if change.kind in ("born", "split"):
        return Finding(
            (f"In {change.date} ", name, f" {verb}, with {percent(change.after)} of the words."),
            link,
        )
    return Finding((f"In {change.date} ", name, f" {verb}:{share}."), link)


def _told(change: Change) -> str:
    """A change in one line."""
    if change.topic is None:
        return f"{change.date}: {shorten(', '.join(change.words[:5]), 80) or SAID[change.kind]}"
    if change.kind == "words":
        return f"{change.date}: new in {change.topic.name()}: {', '.join(change.words[:3])}"
    return f"{change.date}: {change.topic.name()} {SAID[change.kind]}"


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
            f"{change.words[0]}: in {percent(change.after)} of the documents, usually in "
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


def _river_topics(data: TrackData) -> list[Tracked]:
    """At most twelve topics: those with most changes and the widest course, that flow early first."""
    values = np.array([[e.value for e in row] for row in data.course.shares], np.float64)
    held = np.nan_to_num(values)
    span = held.max(axis=0) - held.min(axis=0)
    weight = np.array([t.n_changes for t in data.topics]) * 0.01 + span
    chosen = np.argsort(-weight, kind="stable")[: charts.MOST_RIVERS]
    middle = np.arange(len(held)) @ held / np.maximum(held.sum(axis=0), 1e-12)
    return [data.topics[k] for k in chosen[np.argsort(middle[chosen], kind="stable")]]


def _lives(data: TrackData) -> list[Tracked]:
    """Topics of the lineage: those whose lives have events first, by when they were born."""
    eventful = {c.topic.id for c in data.changes if c.topic and c.kind in _EVENTS}
    order = sorted(data.topics, key=lambda t: (t.id not in eventful, -t.n_changes, t.id))
    return sorted(order[:MOST_LIVES], key=lambda t: (t.born, t.id))


_EVENTS = ("born", "split", "merged", "dormant", "revived", "dead")


def _lineage(lives: list[Tracked], data: TrackData, width: int) -> Markup:
    """A line a topic from its birth to its end; thin while it sleeps, joined to where it came from."""
    narrow, row = width < 400, 24
    left, right, top = (112 if narrow else 190), 16, 12
    names = data.course.names
    n = len(names)
    height = top + row * len(lives) + 26

    def x(t: float) -> float:
        return left + (width - left - right) * t / max(n - 1, 1)

    at = {topic.id: top + row * i + row / 2 for i, topic in enumerate(lives)}
    marks = charts.dates(names, [x(t) for t in range(n)], top, (width, height))
    for c in data.changes:
        if c.topic and c.other and {c.topic.id, c.other.id} <= set(at) and c.kind in _EVENTS:
            ends = [(x(c.bin), at[c.other.id]), (x(c.bin), at[c.topic.id])]
            marks.append(element("path", d=path(ends), class_="joint"))
    for topic in lives:
        marks += _life(topic, data, at[topic.id], x, 13 if narrow else 22)
    said = f"Lives of {len(lives)} topics from {names[0]} to {names[-1]}"
    return chart(width, height, said, *marks)


def _life(topic: Tracked, data: TrackData, y: float, x: object, most: int) -> list[Markup]:
    place = x
    assert callable(place)
    events = [c for c in data.changes if c.topic is not None and c.topic.id == topic.id]
    look = f"f{topic.sign.family}"
    marks = [
        element(
            "text",
            topic.name(2) if len(topic.name(2)) <= most else shorten(topic.name(1), most),
            x=0,
            y=y + 4,
            class_="strong" if topic.n_changes else None,
        )
    ]
    begin, asleep = topic.born, False
    for c in [*(c for c in events if c.kind in ("dormant", "revived", "dead", "merged")), None]:
        end = topic.last if c is None else c.bin
        style = "sleep" if asleep else "life"
        ends = [(place(begin), y), (max(place(end), place(begin) + 2), y)]
        marks.append(element("path", d=path(ends), class_=f"{look} {style}"))
        begin, asleep = end, c is not None and c.kind == "dormant"
        if c is not None and c.kind in ("dead", "merged"):
            cross = element(
                "path", d=f"M{place(end) - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", class_="end"
            )
            marks.append(cross)
            break
    if any(c.kind in ("born", "split") for c in events):
        marks.append(element("circle", cx=place(topic.born), cy=y, r=5, class_=f"{look} start"))
    return marks


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
