"""Rendering of a tracker's report: findings, shares over time with changes, and lineage."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from bayou.report import share_bands
from bayou.report.lineage import lineage, lineage_topics
from bayou.report.page import fill_template, write_page
from bayou.report.text import count, decimal, percent, shorten
from bayou.report.track import PHRASES, TrackData
from bayou.report.track_findings import findings
from bayou.report.track_methods import methods
from bayou.report.track_records import Change, TrackedTopic

_WIDTHS = (960, 760, 340)


def render_track(data: TrackData) -> str:
    """Render the report on a tracker as one self-contained HTML document."""
    shares = _band_topics(data)
    shown = {topic.number for topic in shares}
    marks = [
        share_bands.ChartMark(
            c.topic.number, c.bin, c.rises, f"#change-{c.number}", _change_line(c, data)
        )
        for c in data.changes
        if c.topic is not None and c.topic.number in shown
    ]
    named = [_number_topic(topic) for topic in shares]
    lineages = lineage_topics(data)
    return fill_template(
        "track.html",
        data=data,
        headline=headline(data),
        findings=findings(data),
        bands=share_bands.bands(named, data.course, marks) if len(data.course.names) > 1 else [],
        band_topics=shares,
        lineage_topics=lineages,
        lineage=[lineage(lineages, data, width) for width in _WIDTHS],
        rows=table_rows(data),
        phrases=PHRASES,
        test=describe_test,
        expected=data.level * data.n_tested,
        methods=methods(data),
    )


def write_track(path_: str | os.PathLike[str], data: TrackData) -> None:
    """Write the report on a tracker to a file. A failed write leaves an existing file unchanged."""
    write_page(path_, lambda: render_track(data))


def headline(data: TrackData) -> str:
    """Title of the page: number of changes, number of topics, period."""
    changed = len({c.topic.id for c in data.changes if c.topic is not None})
    when = data.when.whole(data.course.names, data.n_slices)
    if not data.changes:
        return f"No change in {count(len(data.topics), 'topic')}, {when}"
    every = count(len(data.topics), "topic")
    where = f"all {every}" if changed == len(data.topics) > 1 else f"{changed} of {every}"
    return f"{count(len(data.changes), 'change')} in {where}, {when}"


def _change_line(change: Change, data: TrackData) -> str:
    """Tooltip of a change."""
    date, words = data.when.label(change.date), shorten(", ".join(change.words[:4]), 80)
    if change.kind == "words":
        return f"{date}: more frequent in {change.who()}: {words}"
    if change.topic is None:
        return f"{date}: {change.who()}" + (f": {words}" if words else "")
    return f"{date}: {change.who()} {PHRASES[change.kind]}"


class Row(NamedTuple):
    """Row of the table of shares: one slice, or consecutive slices without documents."""

    name: str
    bin: int
    n_empty: int


def table_rows(data: TrackData) -> list[Row]:
    """Rows of the table of shares; consecutive slices without documents form one row."""
    names, out = data.course.names, []
    for empty, group in groupby(range(len(names)), key=lambda b: data.course.n_docs[b] == 0):
        bins = list(group)
        if empty and len(bins) > 1:
            out.append(Row(f"{names[bins[0]]} to {names[bins[-1]]}", bins[0], len(bins)))
        else:
            out += [Row(names[b], b, 0) for b in bins]
    return out


def describe_test(change: Change) -> str:
    """Test statistic and p-value of a change."""
    p = "p < 0.0001" if change.p < 1e-4 else f"p = {decimal(change.p, 4)}"
    if change.kind == "drift":
        return (
            f"Divergence from the topic's earlier words: {decimal(change.after, 3)} bits. Expected without "
            f"a change: {decimal(change.before, 3)} bits; {p}."
        )
    if change.kind == "words":
        return (
            f"{change.lead} occurs in {percent(change.after)} of the documents, usually in "
            f"{percent(change.before)}; beta-binomial test, {p}."
        )
    if change.kind == "surprise":
        return (
            f"{percent(change.after)} of the documents are improbable under all topics, usually "
            f"{percent(change.before)}; {p}."
        )
    if change.kind in ("rise", "fall"):
        return f"Log-odds of the share compared with recent slices; {p}."
    return "Threshold on the share of words; no test."


def _number_topic(topic: TrackedTopic) -> TrackedTopic:
    """Copy of the topic with its permanent number before its name."""
    words = ((f"{topic.id} {topic.words[0][0]}", topic.words[0][1]), *topic.words[1:])
    return replace(topic, words=words, title=topic.title and f"{topic.id} {topic.title}")


def _band_topics(data: TrackData) -> list[TrackedTopic]:
    """At most twelve topics with the most changes and the largest range of shares, earliest first."""
    values = np.array([[e.value for e in row] for row in data.course.shares], np.float64)
    held = np.nan_to_num(values)
    span = held.max(axis=0) - held.min(axis=0)
    weight = np.array([t.n_changes for t in data.topics]) * 0.01 + span
    chosen = np.argsort(-weight, kind="stable")[: share_bands.MOST_BANDS]
    middle = np.arange(len(held)) @ held / np.maximum(held.sum(axis=0), 1e-12)
    return [data.topics[k] for k in chosen[np.argsort(middle[chosen], kind="stable")]]
