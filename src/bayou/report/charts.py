"""Drawings of a report, each at several widths.

A page shows the drawing that fits its column. Text is not scaled and stays readable on a phone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from bayou.report import layout
from bayou.report.course import Course
from bayou.report.data import ReportData
from bayou.report.layout import Sign
from bayou.report.svg import Markup, chart, element, path, round_numbers
from bayou.report.text import decimal, percent, shorten
from bayou.report.topics import Topic

MAP_SIZES = ((960, 560, 200), (760, 520, 80), (340, 440, 14))  # of a map: width, height, labels
WIDE, MIDDLE, SMALL = 960, 760, 340


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


def css_classes(sign: Sign) -> str:
    """CSS classes of a sign; the style sheet defines colours and textures."""
    return f"f{sign.family} s{sign.texture}"


def dot(sign: Sign) -> Markup:
    """Sign of a topic in running text."""
    return Markup(f'<i class="dot {css_classes(sign)}"></i>')


def bar(value: float, largest: float) -> Markup:
    """Bar relative to the largest value; the style sheet has one class per per cent."""
    share = value / largest if math.isfinite(value) and largest > 0 else 0.0
    return Markup(f"<i class=b{round(100 * min(max(share, 0.0), 1.0))}></i>")


def topic_map(data: ReportData) -> list[Markup]:
    """Map of topics as circles, at three widths."""
    return [_map(data, *size) for size in MAP_SIZES]


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
        circle = element(
            "circle", cx=x, cy=y, r=max(radius[k] - shrink, 1.2), class_=css_classes(t.sign)
        )
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
    return [_curve(data.curve, data.step, width) for width in (MIDDLE, SMALL)]


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


def spark(topic: Topic, found: Course) -> Markup:
    """Sparkline: share of one topic over time, on its own scale."""
    values = [row[topic.number].value for row in found.shares]
    known = [(b, v) for b, v in enumerate(values) if math.isfinite(v)]
    top = max((v for _, v in known), default=0.0) or 1.0
    points = [(2 + 80 * b / (len(values) - 1), 18 - 15 * v / top) for b, v in known]
    title = f"Share of topic {topic.id} over time, at most {percent(top)}"
    return chart(84, 20, title, element("path", d=path(points), class_="line"))
