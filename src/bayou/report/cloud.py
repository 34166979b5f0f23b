"""Word clouds: the area of a word is proportional to its weight, and words do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.report.svg import Markup, chart, element
from bayou.report.text import shorten, text_width

WIDTH, HEIGHT = 300, 172
LEAST = 9.5  # pixels; smaller words are omitted because they are unreadable
_SIZES = (46.0, 40.0, 35.0, 30.0, 26.0, 22.0, 17.0, 13.0)
_TURN = np.linspace(0, 26 * np.pi, 700)
_SPIRAL = np.column_stack([_TURN * np.cos(_TURN), 0.56 * _TURN * np.sin(_TURN)]) * 2.0


class Word(NamedTuple):
    """Position of a word; x and y are the middle of its base line."""

    text: str
    size: float
    x: float
    y: float


def place(words: Sequence[tuple[str, float]]) -> list[Word]:
    """Place the largest word in the centre and the others around it, at the largest scale that fits all.

    Words that are too small to read at that scale, or too long, are omitted.
    """
    given = [(shorten(text, 24), weight) for text, weight in words if weight > 0]
    best: list[Word] = []
    for largest in _SIZES if given else ():
        wanted, placed = _place_at(given, largest)
        if len(placed) > len(best):
            best = placed
        if len(placed) == wanted:
            break
    return best


def _place_at(words: list[tuple[str, float]], largest: float) -> tuple[int, list[Word]]:
    top = max(weight for _, weight in words)
    boxes = np.zeros((0, 4))
    placed: list[Word] = []
    wanted = 0
    for text, weight in words:
        size = largest * float(np.sqrt(weight / top))
        if size < LEAST:
            continue
        wanted += 1
        spot = _free_box(boxes, text_width(text, size) + 3, size)
        if spot is None:
            continue
        boxes = np.vstack([boxes, spot])
        placed.append(Word(text, size, float(spot[0] + spot[2]) / 2, float(spot[3]) - 0.22 * size))
    return wanted, placed


def _free_box(boxes: NDArray[np.float64], wide: float, tall: float) -> NDArray[np.float64] | None:
    """First box along the spiral that is inside the drawing and overlaps no other box."""
    middle = _SPIRAL + (WIDTH / 2, HEIGHT / 2)
    half = np.array([wide, tall]) / 2
    low, high = middle - half, middle + half
    free = (low >= 0).all(axis=1) & (high <= (WIDTH, HEIGHT)).all(axis=1)
    for box in boxes:
        free &= (high <= box[:2]).any(axis=1) | (low >= box[2:]).any(axis=1)
    if not free.any():
        return None
    i = int(np.argmax(free))
    return np.concatenate([low[i], high[i]])


def draw(words: Sequence[tuple[str, float]], title: str) -> Markup:
    """Draw a word cloud."""
    placed = place(words)
    texts = [
        element("text", w.text, x=w.x, y=w.y, font_size=w.size, class_="w" if i else "w first")
        for i, w in enumerate(placed)
    ]
    return chart(WIDTH, HEIGHT, title, *texts)
