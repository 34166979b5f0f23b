"""The passage of a text whose terms contribute most to a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from bayou.data.untrusted import normalize

if TYPE_CHECKING:
    from bayou.data.text import Vectorizer

WIDTH = 240  # characters
_MOST = 6  # different terms that are marked


class Occurrence(NamedTuple):
    """A term at a place of a text, with its contribution to the score."""

    start: int
    end: int
    weight: float
    term: str = ""


class Passage(NamedTuple):
    """A part of a text.

    ``text`` is the part on one line; ``start`` and ``end`` are its place in the text in Unicode form C.
    ``marks`` are the places in ``text`` of its terms with the largest positive weights, at most six different
    ones. ``weight`` is the sum of the weights of its terms.
    """

    text: str
    start: int
    end: int
    marks: tuple[tuple[int, int], ...]
    weight: float


def best_passage(
    text: str, weights: Mapping[str, float], vectorizer: Vectorizer, width: int = WIDTH
) -> Passage:
    """The passage of at most ``width`` characters whose terms have the largest total weight.

    Parameters
    ----------
    text : str
    weights : mapping of str to float
        Contribution of one occurrence of each term. Terms that are missing contribute nothing.
    vectorizer : Vectorizer
        Splits the text into terms.
    width : int
        A passage is longer only if one term is longer.

    Examples
    --------
    >>> from bayou.data.text import Vectorizer
    >>> best_passage("Thank you, Sir. Gold fell again.", {"gold": 1.0, "fell": 0.5}, Vectorizer(), 18)[0]
    'Gold fell again.'
    """
    shown = normalize(text)
    found = [o for o in occurrences(shown, vectorizer, weights) if o.weight]
    if not found:
        return _cut(shown, 0, min(width, len(shown)), [])
    low, high = _heaviest(found, width)
    start, end = _widen(shown, found[low].start, max(o.end for o in found[low:high]), width)
    return _cut(shown, start, end, [o for o in found if start <= o.start and o.end <= end])


def occurrences(
    text: str, vectorizer: Vectorizer, weights: Mapping[str, float]
) -> Iterator[Occurrence]:
    """Every term of a text in Unicode form C with its place, in order of its beginning."""
    tokens = list(vectorizer.token_places(text))
    low, high = vectorizer.ngrams
    for i, (_, start, _) in enumerate(tokens):
        for n in range(low, min(high, len(tokens) - i) + 1):
            term = " ".join(token for token, _, _ in tokens[i : i + n])
            yield Occurrence(start, tokens[i + n - 1][2], weights.get(term, 0.0), term)


def _heaviest(found: Sequence[Occurrence], width: int) -> tuple[int, int]:
    """The range of occurrences within ``width`` characters with the largest sum; the first of equals."""
    best, at, total, high = (0, 1), -float("inf"), 0.0, 0
    for low, first in enumerate(found):
        high = max(high, low)
        while high < len(found) and (high == low or found[high].end <= first.start + width):
            total += found[high].weight
            high += 1
        if total > at + 1e-12:
            best, at = (low, high), total
        total -= first.weight
    return best


def _widen(text: str, start: int, end: int, width: int) -> tuple[int, int]:
    """The place with text around it, up to ``width``; it begins and ends between words."""
    spare = max(width - (end - start), 0)
    low = max(start - spare // 2, 0)
    high = min(end + spare - (start - low), len(text))
    low = max(start - (spare - (high - end)), 0)
    sentence = max(
        (text.rfind(mark, low, start) for mark in (". ", "! ", "? ", "\n\n")), default=-1
    )
    if sentence >= 0:
        low = sentence + 1
    elif low > 0:
        space = text.find(" ", low, start)
        low = space + 1 if space >= 0 else start
    high = min(max(low + width, end), len(text))
    if high < len(text):
        space = text.rfind(" ", end, high)
        high = space if space >= 0 else end
    return low, high


def _cut(text: str, start: int, end: int, found: Sequence[Occurrence]) -> Passage:
    """The passage on one line: white space is folded, and marks are moved with it."""
    place: dict[int, int] = {}
    out: list[str] = []
    for i in range(start, end):
        if text[i].isspace():
            if out and out[-1] != " ":
                out.append(" ")
        else:
            place[i] = len(out)
            out.append(text[i])
    weights = {o.term: o.weight for o in found if o.weight > 0}
    best = sorted(weights, key=lambda term: (-weights[term], term))[:_MOST]
    marks = [(place[o.start], place[o.end - 1] + 1) for o in found if o.term in best]
    return Passage("".join(out).rstrip(), start, end, _join(marks), sum(o.weight for o in found))


def _join(marks: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Marks in order without overlaps, as n-grams may have them."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(marks):
        if out and start < out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return tuple(out)
