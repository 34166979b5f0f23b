"""Charts of topic shares over time: one band per topic, with marks for changes."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np

from bayou.report.charts import MIDDLE, SMALL, WIDE, css_classes
from bayou.report.course import Course
from bayou.report.data import ReportData
from bayou.report.layout import Sign
from bayou.report.svg import Markup, chart, element, path
from bayou.report.text import percent, shorten, text_width
from bayou.report.topics import Topic

MOST_BANDS = 12
_ROW = 46


def band_topics(data: ReportData, found: Course) -> list[Topic]:
    """At most twelve topics whose shares change most, earliest topics first."""
    values = np.array([[e.value for e in row] for row in found.shares])
    change = np.nan_to_num(
        np.fmax.reduce(values) - np.fmin.reduce(values)
    )  # NaN: no share in any bin
    chosen = np.argsort(-change, kind="stable")[:MOST_BANDS]
    weight = np.nan_to_num(values[:, chosen])
    middle = np.arange(len(values)) @ weight / np.maximum(weight.sum(axis=0), 1e-12)
    return [data.topics[k] for k in chosen[np.argsort(middle, kind="stable")]]


class ChartMark(NamedTuple):
    """Mark of a change on a band."""

    topic: int
    bin: int
    rises: bool | None  # None for changes other than of the share
    link: str
    title: str


class BandTopic(Protocol):
    """Attributes of a topic that a band needs."""

    @property
    def number(self) -> int:
        """Column of the topic in each row of shares."""

    @property
    def words(self) -> tuple[tuple[str, float], ...]:
        """Words with probabilities, most probable first."""

    @property
    def sign(self) -> Sign:
        """Colour and texture."""

    def name(self, n: int = 3) -> str:
        """Most probable words."""


def bands(
    topics: Sequence[BandTopic], found: Course, marks: Sequence[ChartMark] = ()
) -> list[Markup]:
    """One band per topic whose height is the share over time; at three widths."""
    return [_bands(topics, found, marks, width) for width in (WIDE, MIDDLE, SMALL)]


def _bands(
    topics: Sequence[BandTopic], found: Course, changes: Sequence[ChartMark], width: int
) -> Markup:
    narrow = width == SMALL
    left, row = (0, _ROW + 30) if narrow else (170, _ROW)
    right, top = 24, 16
    n_bins, height = len(found.names), top + row * len(topics) + 24
    span = width - left - 8 - right
    xs = [left + 8 + span * b / max(n_bins - 1, 1) for b in range(n_bins)]
    highest = max(
        (r[t.number].high for r in found.shares for t in topics if r[t.number].high > 0),
        default=1.0,
    )
    marks = dates(found.names, xs, top, (width, height))
    for i, topic in enumerate(topics):
        middle = top + row * i + row - _ROW / 2
        first, rest = topic.words[0][0], ", ".join(w for w, _ in topic.words[1:3])
        if narrow:
            name = shorten(topic.name(), 40)
            marks.append(element("text", name, x=0, y=middle - 39, class_="halo strong"))
        else:
            name = shorten(first, 22)
            marks.append(element("text", name, x=0, y=middle - 2, class_="strong"))
            marks.append(element("text", shorten(rest, 26), x=0, y=middle + 13, class_="faint"))
        mine = [c for c in changes if c.topic == topic.number]
        marks += _band(topic, found, xs, middle, (_ROW - 8) / highest, {c.bin for c in mine})
        for b, group in groupby(sorted(mine, key=lambda c: c.bin), key=lambda c: c.bin):
            same = list(group)
            marks += [_change(c, xs[b], middle, (j, len(same))) for j, c in enumerate(same)]
    title = f"Shares of {len(topics)} topics from {found.names[0]} to {found.names[-1]}"
    return chart(width, height, title, *marks, group=bool(changes))


def _change(change: ChartMark, x: float, middle: float, which: tuple[int, int] = (0, 1)) -> Markup:
    """Line through a band with a sign below: a triangle for a rise or fall, else a diamond.

    ``which`` is (index, number) among changes at the same place; their signs are stacked, the first lowest.
    """
    i, n = which
    low = middle + _ROW / 2 - 7
    y = low - i * min(10.0, 34.0 / max(n - 1, 1))
    top, bottom = (middle - 20, middle + 22) if n == 1 else (y - 5, y + (6 if i == 0 else 5))
    up = [(x - 4.5, y + 4), (x + 4.5, y + 4), (x, y - 4)]
    down = [(x - 4.5, y - 4), (x + 4.5, y - 4), (x, y + 4)]
    diamond = [(x, y - 4.5), (x + 4.5, y), (x, y + 4.5), (x - 4.5, y)]
    shape = diamond if change.rises is None else up if change.rises else down
    return element(
        "a",
        element("title", change.title),
        element("rect", x=x - 7, y=top, width=14, height=bottom - top, class_="hit"),
        *([] if i else [element("line", x1=x, x2=x, y1=middle - 14, y2=low - 3, class_="mark")]),
        element("path", d=path(shape, closed=True), class_="mark"),
        href=change.link,
    )


def dates(names: list[str], xs: list[float], top: float, size: tuple[int, int]) -> list[Markup]:
    """Grid lines and date labels below a chart, without overlap."""
    half = max(text_width(name, 11) for name in names) / 2
    every = max(1, math.ceil(len(names) * (2 * half + 18) / max(xs[-1] - xs[0], 1.0)))
    marks, taken = [], -math.inf
    for b in range(0, len(names), every):
        ends = (top, size[1] - 20)
        marks.append(element("line", x1=xs[b], x2=xs[b], y1=ends[0], y2=ends[1], class_="grid"))
        x = min(max(xs[b], half), size[0] - half)
        if x - half > taken:
            place = {"x": x, "y": size[1] - 5.0}
            marks.append(element("text", names[b], text_anchor="middle", class_="faint", **place))
            taken = x + half + 4
    return marks


def _band(
    topic: BandTopic,
    found: Course,
    xs: list[float],
    middle: float,
    scale: float,
    marked: Collection[int] = (),
) -> list[Markup]:
    """Band of one topic with its interval; bins without tokens leave a gap. The peak is labelled."""
    row = [found.shares[b][topic.number] for b in range(len(xs))]
    marks = []
    for is_known, group in groupby(range(len(xs)), key=lambda b: math.isfinite(row[b].value)):
        bins = list(group)
        if not is_known:
            continue
        for kind in ("high", "value"):
            half = [
                np.nan_to_num(getattr(row[b], kind), nan=row[b].value) * scale / 2 for b in bins
            ]
            edge = [(xs[b], h) for b, h in zip(bins, half, strict=True)]
            if len(edge) == 1:
                edge = [(edge[0][0] - 2, edge[0][1]), (edge[0][0] + 2, edge[0][1])]
            above = [(x, middle - h) for x, h in edge]
            below = [(x, middle + h) for x, h in reversed(edge)]
            look = css_classes(topic.sign) if kind == "value" else f"f{topic.sign.family} bank"
            outline = path(above + below, closed=True)
            marks.append(element("path", d=outline, class_=f"{look} river"))
    peak = max(range(len(xs)), key=lambda b: np.nan_to_num(row[b].value, nan=-1.0))
    if not math.isfinite(row[peak].value):
        return marks
    y = middle - row[peak].value * scale / 2 - 5
    x = min(max(xs[peak], 14 + xs[0]), xs[-1] - 4)
    if peak in marked:
        x += 18 if x + 18 <= xs[-1] - 4 else -18
    label = percent(row[peak].value, 0)
    marks.append(element("text", label, x=x, y=y, text_anchor="middle", class_="halo faint"))
    return marks
