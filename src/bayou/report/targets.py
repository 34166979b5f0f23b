"""Regression results: topic effects, and predicted against true values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayou.report import class_charts
from bayou.report.measure import Floats
from bayou.report.svg import Markup, chart, element, round_numbers
from bayou.report.text import decimal
from bayou.report.topics import Topic

MOST_TARGETS = 6
MOST_TOPICS = 12  # drawn as bars
MOST_DOTS = 600
SIZES = ((620, 420), (340, 320))  # of the plot, wide and narrow


@dataclass(frozen=True, kw_only=True)
class Target:
    """One target of a regression.

    Attributes
    ----------
    name : str
    raises : tuple of float
        Per topic: prediction for a document of this topic only, minus that for the average document.
    deviations : tuple of float or None
        Standard deviations of ``raises``.
    dots : tuple of (true, predicted)
        An evenly spaced selection of documents.
    measures : tuple of (name, value)
    n_measured : int
        Number of documents behind the measures.
    unseen : bool
        Whether these documents were held out from training.
    """

    name: str
    raises: tuple[float, ...]
    deviations: tuple[float, ...] | None
    dots: tuple[tuple[float, float], ...] = ()
    measures: tuple[tuple[str, float], ...] = ()
    n_measured: int = 0
    unseen: bool = False


def bars(found: Target, topics: Sequence[Topic]) -> Markup:
    """Bars of the largest topic effects: above average to the right, below average to the left."""
    raises = np.array(found.raises)
    chosen = np.argsort(-np.abs(raises), kind="stable")[:MOST_TOPICS]
    chosen = chosen[np.argsort(-raises[chosen], kind="stable")]
    rows = [(int(k), float(raises[k])) for k in chosen]
    spread: Floats | None = None if found.deviations is None else np.array(found.deviations)
    largest = class_charts.largest_reach(raises, spread)
    title = f"Topic effects on {found.name}"
    return class_charts.diverging_bars(title, rows, topics, largest, spread)


def dots(found: Target) -> list[Markup]:
    """Scatter plot of predicted against true values with the line of equality, at two widths."""
    return [_plot(found, *size) for size in SIZES] if len(found.dots) > 1 else []


def _plot(found: Target, width: int, height: int) -> Markup:
    left, right, top, bottom = 52, 12, 12, 40
    true, predicted = np.array(found.dots).T
    ticks = round_numbers(
        float(min(true.min(), predicted.min())), float(max(true.max(), predicted.max()))
    )
    low, high = ticks[0], ticks[-1]
    span = (high - low) or 1.0
    digits = 0 if span >= 8 else 1 if span >= 0.8 else 3

    def x_of(value: float) -> float:
        return float(left + (value - low) / span * (width - left - right))

    def y_of(value: float) -> float:
        return float(top + (high - value) / span * (height - top - bottom))

    marks = []
    for tick in ticks:
        x, y, text = x_of(tick), y_of(tick), decimal(tick, digits)
        marks.append(element("line", x1=left, x2=width - right, y1=y, y2=y, class_="grid"))
        marks.append(element("text", text, x=left - 8, y=y + 4, text_anchor="end", class_="faint"))
        where = {"x": min(x, width - 14.0), "y": height - bottom + 16.0}
        marks.append(element("text", text, text_anchor="middle", class_="faint", **where))
    marks.append(
        element("line", x1=x_of(low), y1=y_of(low), x2=x_of(high), y2=y_of(high), class_="line")
    )
    marks += [
        element("circle", cx=x_of(t), cy=y_of(s), r=2.6, class_="seen")
        for t, s in zip(true.tolist(), predicted.tolist(), strict=True)
    ]
    marks.append(element("text", "true", x=width - right, y=height - 4, text_anchor="end"))
    marks.append(element("text", "predicted", x=left + 6, y=top + 10, class_="halo"))
    return chart(width, height, f"Predicted and true values of {found.name}", *marks)
