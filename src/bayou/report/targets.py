"""What a supervised model says of numbers: topics that raise them, and predictions against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayou.report import classes
from bayou.report.measure import Floats
from bayou.report.svg import Markup, chart, element, round_numbers
from bayou.report.text import decimal
from bayou.report.topics import Topic

MOST_TARGETS = 6
MOST_TOPICS = 12  # whose bars are drawn
MOST_DOTS = 600
SIZES = ((620, 420), (340, 320))  # of the plot, wide and narrow


@dataclass(frozen=True, kw_only=True)
class Target:
    """One number that a model predicts.

    Attributes
    ----------
    name : str
    raises : tuple of float
        What a document of one topic alone is predicted above the average document.
    deviations : tuple of float or None
        Standard deviations of these.
    dots : tuple of (true, predicted)
        Of documents, spread evenly over all of them.
    measures : tuple of (name, value)
    n_measured : int
        Documents behind the measures; ``unseen`` says that the model did not learn from them.
    """

    name: str
    raises: tuple[float, ...]
    deviations: tuple[float, ...] | None
    dots: tuple[tuple[float, float], ...] = ()
    measures: tuple[tuple[str, float], ...] = ()
    n_measured: int = 0
    unseen: bool = False


def bars(found: Target, topics: Sequence[Topic]) -> Markup:
    """The topics that move the number most: to the right above the average, to the left below."""
    raises = np.array(found.raises)
    chosen = np.argsort(-np.abs(raises), kind="stable")[:MOST_TOPICS]
    chosen = chosen[np.argsort(-raises[chosen], kind="stable")]
    rows = [(int(k), float(raises[k])) for k in chosen]
    sure: Floats | None = None if found.deviations is None else np.array(found.deviations)
    return classes.diverging(found.name, rows, topics, classes.reach(raises, sure), sure)


def dots(found: Target) -> list[Markup]:
    """Predicted against true numbers with the line on which both are equal, at two widths."""
    return [_plot(found, *size) for size in SIZES] if len(found.dots) > 1 else []


def _plot(found: Target, width: int, height: int) -> Markup:
    left, right, top, bottom = 52, 12, 12, 40
    true, said = np.array(found.dots).T
    ticks = round_numbers(float(min(true.min(), said.min())), float(max(true.max(), said.max())))
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
        for t, s in zip(true.tolist(), said.tolist(), strict=True)
    ]
    marks.append(element("text", "true", x=width - right, y=height - 4, text_anchor="end"))
    marks.append(element("text", "predicted", x=left + 6, y=top + 10, class_="halo"))
    return chart(width, height, f"Predicted against true numbers of {found.name}", *marks)
