"""Drawings of a report, each at several widths.

A page shows the drawing that fits its column. Text is not scaled and stays readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np

from bayou.report import layout
from bayou.report.course import Course
from bayou.report.data import ReportData
from bayou.report.layout import Sign
from bayou.report.svg import Markup, chart, element, path, round_numbers
from bayou.report.text import decimal, percent, shorten, text_width
from bayou.report.topics import Topic

SHEETS = ((960, 560, 200), (760, 520, 80), (340, 440, 14))  # of a map: width, height, labels
_WIDE, _MIDDLE, _SMALL = 960, 760, 340
MOST_BANDS, _ROW = 12, 46


def patterns() -> Markup:
    """Hatching patterns per family; included once per page."""
    hatchings = []
    for f in range(layout.N_FAMILIES):
        ground = element("rect", width=4, height=4, class_="ground")
        stripe = element("rect", width=2, height=4, class_=f"f{f} s0")
        hatchings.append(
            element(
                "pattern", ground, stripe, id=f"hatch{f}", width=4, height=4,
                patternUnits="userSpaceOnUse", patternTransform="rotate(45)",
            )
        )  # fmt: skip
    inside = element("defs", *hatchings)
    return element("svg", inside, width=0, height=0, class_="defs", aria_hidden="true")


def _look(sign: Sign) -> str:
    """CSS classes of a sign; the style sheet defines colours and textures."""
    return f"f{sign.family} s{sign.texture}"


def dot(sign: Sign) -> Markup:
    """Sign of a topic in running text."""
    return Markup(f'<i class="dot {_look(sign)}"></i>')


def bar(value: float, largest: float) -> Markup:
    """Bar relative to the largest value; the style sheet has one class per per cent."""
    share = value / largest if math.isfinite(value) and largest > 0 else 0.0
    return Markup(f"<i class=b{round(100 * min(max(share, 0.0), 1.0))}></i>")


def topic_map(data: ReportData) -> list[Markup]:
    """Map of topics as circles, at three widths."""
    return [_map(data, *sheet) for sheet in SHEETS]


def _map(data: ReportData, width: int, height: int, most: int) -> Markup:
    topics = data.topics
    shares = np.array([topic.share.value for topic in topics])
    radius = layout.radii(shares, width, height)
    places = layout.spread(np.array([t.place for t in topics]), radius, width, height)
    order = sorted(range(len(topics)), key=lambda k: topics[k].rank)
    names = [[shorten(word, 18) for word, _ in t.words[:2]] for t in topics]
    named = [k for k in order if not topics[k].bare]
    texts = layout.labels(names, named, places, radius, (width, height), most)
    strong = {label.topic for label in texts[: max(len(texts) // 2, 6)]}
    marks = []
    for k in order:
        t, (x, y) = topics[k], places[k]
        shrink = (0.0, 1.6, 0.8)[t.sign.texture]  # half of a stroke is outside the circle
        title = element("title", f"{t.id}: {t.name()}, {percent(t.share.value)}")
        circle = element("circle", cx=x, cy=y, r=max(radius[k] - shrink, 1.2), class_=_look(t.sign))
        marks.append(element("a", title, circle, href=f"#topic-{t.id}"))
    for label in texts:
        kind = "halo strong" if label.topic in strong else "halo"
        marks.append(
            element(
                "text", label.text, x=label.x, y=label.y, text_anchor=label.anchor, class_=kind,
                aria_hidden="true",
            )
        )  # fmt: skip
    name = f"Map of {len(topics)} topics, {len(texts)} of them labelled with their first words"
    return chart(width, height, name, *marks, group=True)


def curve(data: ReportData) -> list[Markup]:
    """Log-likelihood by training step, at two widths."""
    return [_curve(data.curve, data.step, width) for width in (_MIDDLE, _SMALL)]


def _curve(points: Sequence[tuple[int, float]], step: str, width: int) -> Markup:
    height, left, right, top, bottom = 220, 46, 58, 12, 26
    steps, scores = [p[0] for p in points], [p[1] for p in points]
    ticks = round_numbers(min(scores), max(scores))
    low, high = min([ticks[0], *scores]), max([ticks[-1], *scores])
    span_x, span_y = max(max(steps) - min(steps), 1), (high - low) or 1.0

    def at(after: float, score: float) -> tuple[float, float]:
        x = left + (after - min(steps)) / span_x * (width - left - right)
        return x, top + (high - score) / span_y * (height - top - bottom)

    marks = []
    digits = max(0, -math.floor(math.log10(max(span_y / 4, 1e-9)))) if span_y < 40 else 0
    for tick in ticks:
        y = at(0, tick)[1]
        marks.append(element("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid"))
        label = decimal(tick, digits)
        marks.append(element("text", label, x=left - 8, y=y + 4, text_anchor="end", class_="faint"))
    line = [at(*point) for point in points]
    marks.append(element("path", d=path(line), class_="line"))
    marks += [element("circle", cx=x, cy=y, r=2.2, class_="ink") for x, y in line]
    x, y = line[-1]
    marks.append(element("text", decimal(scores[-1], 3), x=x + 7, y=y + 4, class_="halo strong"))
    for n in sorted({steps[0], steps[-1]}):
        anchor = "start" if n == steps[0] else "end"
        label = f"{step} {n}"
        marks.append(
            element(
                "text", label, x=at(n, low)[0], y=height - 6, text_anchor=anchor, class_="faint"
            )
        )
    title = f"Log-likelihood per token from {decimal(scores[0], 3)} to {decimal(scores[-1], 3)}"
    return chart(width, height, title, *marks)


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
    return [_bands(topics, found, marks, width) for width in (_WIDE, _MIDDLE, _SMALL)]


def _bands(
    topics: Sequence[BandTopic], found: Course, changes: Sequence[ChartMark], width: int
) -> Markup:
    narrow = width == _SMALL
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
            look = _look(topic.sign) if kind == "value" else f"f{topic.sign.family} bank"
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


def spark(topic: Topic, found: Course) -> Markup:
    """Sparkline: share of one topic over time, on its own scale."""
    values = [row[topic.number].value for row in found.shares]
    known = [(b, v) for b, v in enumerate(values) if math.isfinite(v)]
    top = max((v for _, v in known), default=0.0) or 1.0
    points = [(2 + 80 * b / (len(values) - 1), 18 - 15 * v / top) for b, v in known]
    title = f"Share of topic {topic.id} over time, at most {percent(top)}"
    return chart(84, 20, title, element("path", d=path(points), class_="line"))
