"""Drawings per class: bars of topic weights, average topic shares, clouds of labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayou.report import cloud
from bayou.report.classes import MOST_CLASSES, Classes
from bayou.report.measure import Z95, Floats
from bayou.report.svg import Markup, chart, element
from bayou.report.text import decimal, percent, text_width
from bayou.report.topics import Topic

STRONGEST = 6  # topics drawn per class
WIDTH = 290  # width of a column of clouds; fits a phone
_ROW, _ZERO, _REACH = 24, 190, 46  # height of a row; x of weight zero; length of the longest bar
_HEIGHT, _BASE, _PEAK = 96, 84, 62  # chart of average shares: height, base line, highest bar


def leading_weights(found: Classes, j: int, most: int = STRONGEST) -> list[tuple[int, float]]:
    """The topics with the largest absolute weights for class ``j``, by decreasing weight."""
    if found.weights is None:
        return []
    column = np.array(found.weights)[:, j]
    chosen = np.argsort(-np.abs(column), kind="stable")[:most]
    return [(int(k), float(column[k])) for k in chosen[np.argsort(-column[chosen], kind="stable")]]


def weight_bars(found: Classes, topics: Sequence[Topic]) -> list[tuple[str, Markup]]:
    """Bars of the largest topic weights per class: positive to the right, negative to the left."""
    if found.weights is None:
        return []
    weights = np.array(found.weights)
    deviations = None if found.deviations is None else np.array(found.deviations)
    largest = largest_reach(weights, deviations)
    out = []
    for j, name in enumerate(found.names[:MOST_CLASSES]):
        spread = None if deviations is None else deviations[:, j]
        title = f"Topic weights for {name}"
        out.append(
            (name, diverging_bars(title, leading_weights(found, j), topics, largest, spread))
        )
    return out


def largest_reach(weights: Floats, deviations: Floats | None) -> float:
    """Largest absolute weight including its interval; the length of the longest bar."""
    half = 0.0 if deviations is None else Z95 * deviations
    return float((np.abs(weights) + half).max()) or 1.0


def diverging_bars(
    title: str,
    rows: list[tuple[int, float]],
    topics: Sequence[Topic],
    largest: float,
    deviations: Floats | None = None,
) -> Markup:
    """Horizontal bars around zero, one per topic, with 95 % intervals if ``deviations`` are given."""
    height = _ROW * len(rows) + 4
    marks = [element("line", x1=_ZERO, x2=_ZERO, y1=0, y2=height, class_="grid")]
    for i, (k, weight) in enumerate(rows):
        y, long = 2 + _ROW * i, _REACH * abs(weight) / largest
        x = _ZERO if weight >= 0 else _ZERO - long
        side = "for" if weight >= 0 else "against"
        name = f"{topics[k].id} {_shorten_to_width(topics[k].name(2), 120)}"
        marks.append(element("text", name, x=0, y=y + 15))
        marks.append(element("rect", x=x, y=y + 5, width=max(long, 0.5), height=13, class_=side))
        if deviations is not None:
            half = Z95 * deviations[k]
            ends = np.clip([(weight - half) / largest, (weight + half) / largest], -1.0, 1.0)
            x1, x2 = (_ZERO + _REACH * ends).tolist()
            marks.append(element("line", x1=x1, x2=x2, y1=y + 11.5, y2=y + 11.5, class_="line"))
        value = ("+" if weight > 0 else "") + decimal(weight, 2 if largest < 100 else 0)
        marks.append(element("text", value, x=WIDTH, y=y + 15, text_anchor="end", class_="strong"))
    return chart(WIDTH, height, title, *marks)


def _shorten_to_width(text: str, width: float) -> str:
    while len(text) > 1 and text_width(text, 12) > width:
        text = text.rstrip("…")[:-1].rstrip(" ,") + "…"
    return text


def share_profiles(found: Classes, topics: Sequence[Topic]) -> list[tuple[str, Markup]]:
    """Average topic shares per class: one bar per topic, one scale for all classes."""
    if found.shares is None:
        return []
    shares = np.array(found.shares)
    largest = float(shares.max()) or 1.0
    return [
        (name, _share_profile(name, shares[j], topics, largest))
        for j, name in enumerate(found.names[:MOST_CLASSES])
    ]


def _share_profile(name: str, shares: Floats, topics: Sequence[Topic], largest: float) -> Markup:
    step = WIDTH / len(shares)
    tops = _BASE - _PEAK * shares / largest
    marks = [
        element(
            "rect", x=k * step, y=tops[k], width=max(step * 0.8, 0.5), height=_BASE - tops[k],
            class_=f"f{topics[k].sign.family} s0",
        )
        for k in range(len(shares))
        if shares[k] > 0
    ]  # fmt: skip
    marks.append(element("line", x1=0, x2=WIDTH, y1=_BASE, y2=_BASE, class_="grid"))
    k = int(np.argmax(shares))
    at = (k + 0.4) * step
    is_left = at < WIDTH / 2
    label = f"{topics[k].id} {_shorten_to_width(topics[k].name(2), 130)}, {percent(shares[k], 0)}"
    width = min(text_width(label, 12), WIDTH)
    x = min(at, WIDTH - width) if is_left else min(max(at + step, width), WIDTH)
    anchor = "start" if is_left else "end"
    place = {"x": x, "y": tops[k] - 6}
    marks.append(element("text", label, text_anchor=anchor, class_="halo", **place))
    return chart(WIDTH, _HEIGHT, f"Average topic shares of {name}", *marks)


def label_clouds(found: Classes) -> list[tuple[str, Markup]]:
    """Clouds of labels per group; the area of a label is proportional to its weight."""
    return [
        (title, cloud.draw(labels, f"Labels of {title}"))
        for title, labels in found.groups
        if labels
    ]
