"""SVG as text. Every attribute and every string is escaped."""

from __future__ import annotations

import math
from html import escape

from bayou.report.text import clean


class Markup(str):
    """Text that is already markup; templates and `element` do not escape it."""

    __slots__ = ()

    def __html__(self) -> str:
        return self


def element(name: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """SVG or HTML element. In attribute names ``_`` becomes ``-``, and ``class_`` becomes ``class``.

    Examples
    --------
    >>> element("text", "a < b", x=1.25, class_="faint")
    '<text x="1.2" class="faint">a &lt; b</text>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    inside = "".join(
        child if isinstance(child, Markup) else escape(clean(child))
        for child in children
        if child is not None
    )
    return Markup(f"<{name}{written}>{inside}</{name}>" if inside else f"<{name}{written}/>")


def number(value: float) -> str:
    """Format a coordinate to a tenth of a pixel.

    Examples
    --------
    >>> number(3.0), number(-0.04), number(2.26)
    ('3', '0', '2.3')
    """
    text = f"{value:.1f}".removesuffix(".0")
    return "0" if text == "-0" else text


def path(points: list[tuple[float, float]], *, closed: bool = False) -> str:
    """``d`` attribute of a line through points."""
    steps = [f"{number(x)} {number(y)}" for x, y in points]
    return "M" + "L".join(steps) + ("Z" if closed else "")


def chart(width: float, height: float, title: str, *children: str, group: bool = False) -> Markup:
    """SVG drawing with an accessible name; ``group`` makes its parts accessible as well."""
    return element(
        "svg",
        *children,
        width=width,
        height=height,
        viewBox=f"0 0 {number(width)} {number(height)}",
        role="group" if group else "img",
        aria_label=title,
    )


def round_numbers(low: float, high: float) -> list[float]:
    """About four round tick values that cover a range.

    Examples
    --------
    >>> round_numbers(-7.9, -7.1)
    [-8.0, -7.8, -7.6, -7.4, -7.2, -7.0]
    """
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= span / 5)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [round(i * step, 10) for i in range(first, last + 1)]


def _value(value: str | float) -> str:
    return escape(clean(value)) if isinstance(value, str) else number(value)
