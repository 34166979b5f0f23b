"""Text formatting for pages: removal of unsafe characters, shortening, numbers."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable

THIN = "\u202f"  # no-break space before a per cent sign and between thousands
MISSING = "—"

# Control characters (HTML forbids NUL), lone surrogates (UTF-8 cannot encode them), noncharacters.
_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_OVERRIDES = re.compile("[\u202d\u202e]")  # they reverse the letters that follow
_DIRECTING = re.compile("[\u200e\u200f\u061c\u202a-\u202c\u2066-\u2069]")
_NARROW = frozenset("fijlrtI.,:;'|!()[]-· ")
_BROAD = frozenset("mwMWQO@%")


def clean(text: str) -> str:
    r"""Replace characters that HTML cannot contain, show direction overrides, and remove direction marks.

    Overrides and marks would also affect the text that follows them on the page. An override can make a text
    look like another one, so it is shown by its code.

    Examples
    --------
    >>> clean("a\x00b")
    'a�b'
    >>> clean("\u202egpj.exe")
    '[U+202E]gpj.exe'
    """
    text = _OVERRIDES.sub(lambda found: f"[U+{ord(found[0]):04X}]", text)
    return _DIRECTING.sub("", _UNSHOWABLE.sub("\ufffd", text))


def shorten(text: str, most: int) -> str:
    """Put the text on one line and cut it to ``most`` characters, at a space if one is near the end.

    Examples
    --------
    >>> shorten("one two  three four", 12)
    'one two…'
    """
    line = " ".join(clean(text[: 8 * most + 64]).split())
    if len(line) <= most:
        return line
    head = line[: most - 1]
    space = head.rfind(" ")
    return (head[:space] if space > most // 2 else head).rstrip() + "…"


def quote(text: str, words: Iterable[str], most: int) -> tuple[tuple[str, bool], ...]:
    """Excerpt around the first occurrence of any of ``words``; the beginning of the text if none occurs.

    Returns
    -------
    tuple of (part, is_word)
        Consecutive parts of the excerpt; ``is_word`` marks the occurrences.

    Examples
    --------
    >>> quote("Nobody had heard of gold in California yet.", ["california"], 26)
    (('…gold in ', False), ('California', True), (' yet.', False))
    """
    line = " ".join(clean(text).split())
    either = "|".join(re.escape(clean(word)) for word in words if word.strip())
    found = re.compile(rf"(?<!\w)(?:{either})(?!\w)" if either else "(?!)", re.IGNORECASE)
    hit = found.search(line)
    begin = 0 if hit is None else hit.start() - most // 3
    if begin > 0:
        begin = max(min(begin, len(line) - most + 1), 0)
        space = line.find(" ", begin)
        begin = space + 1 if hit is not None and 0 <= space < hit.start() else begin
    piece = ("…" if begin > 0 else "") + line[max(begin, 0) :]
    piece = shorten(piece, most)
    out, at = [], 0
    for match in found.finditer(piece):
        out += [(piece[at : match.start()], False), (match[0], True)]
        at = match.end()
    return tuple(part for part in [*out, (piece[at:], False)] if part[0])


def text_width(text: str, size: float) -> float:
    """Upper estimate of the width in pixels of a text in a semi-bold system font."""
    units = 0.0
    for letter in text:
        if unicodedata.combining(letter):
            continue
        if unicodedata.east_asian_width(letter) in "WF":
            units += 1.1
        elif letter in _NARROW:
            units += 0.43
        elif letter in _BROAD or letter.isupper():
            units += 0.92
        else:
            units += 0.7
    return units * size


def percent(share: float, digits: int = 1) -> str:
    """Format a share as per cent.

    Examples
    --------
    >>> percent(0.0421).replace("\u202f", " ")
    '4.2 %'
    """
    return f"{100 * share:.{digits}f}{THIN}%" if math.isfinite(share) else MISSING


def whole(value: float) -> str:
    """Format a number without decimals, with a thin space between thousands."""
    return f"{value:,.0f}".replace(",", THIN) if math.isfinite(value) else MISSING


def decimal(value: float, digits: int = 2) -> str:
    """Format a number with decimals and a typographic minus sign."""
    if not math.isfinite(value):
        return MISSING
    text = f"{abs(value):.{digits}f}"
    return f"\u2212{text}" if value < 0 and float(text) else text


def count(n: float, noun: str, plural: str | None = None) -> str:
    """Format a number with its noun in singular or plural.

    Examples
    --------
    >>> count(1, "topic"), count(2, "topic")
    ('1 topic', '2 topics')
    """
    return f"{whole(n)} {noun if n == 1 else plural or noun + 's'}"
