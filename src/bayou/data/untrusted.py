r"""Text of unknown origin, made harmless for terminals, JSON, databases and tables.

Nothing here changes ordinary text. Characters that a terminal would obey, that UTF-8 cannot encode or that a
database refuses are written as escapes such as ``\x1b`` or ``\ud800``.
"""

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any

MAX_MARKS = 30  # combining marks in a row that are normalised together: the Stream-Safe Text Format

# Control characters except tab and line feed; marks that change the direction of text; lone surrogates.
_HIDDEN = "\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff"
_TERMINAL = re.compile(f"[\x00-\x08\x0b-\x1f{_HIDDEN}]")
_JSON = re.compile(f"[{_HIDDEN}]")  # json.dumps escapes the other control characters
_DATABASE = re.compile("[\x00\ud800-\udfff]")
_SURROGATES = re.compile("[\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def for_terminal(text: str) -> str:
    r"""The text with escapes in place of characters that a terminal would obey.

    Examples
    --------
    >>> for_terminal("red\x1b[31m")
    'red\\x1b[31m'
    """
    return _TERMINAL.sub(_escape, text)


def for_database(text: str) -> str:
    r"""The text with escapes in place of NUL and lone surrogates, which databases refuse.

    Examples
    --------
    >>> for_database("a\x00b\ud800")
    'a\\x00b\\ud800'
    """
    return _DATABASE.sub(_escape, text)


def for_file(value: Any) -> Any:
    """A cell of a table in a file: lone surrogates, which UTF-8 cannot encode, are escaped.

    Lists and mappings are changed inside; other values stay as they are.
    """
    if isinstance(value, str):
        return _SURROGATES.sub(_escape, value)
    if isinstance(value, Mapping):
        return {for_file(key): for_file(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [for_file(item) for item in value]
    return value


def for_spreadsheet(value: Any) -> Any:
    """A cell that no spreadsheet takes for a formula: an apostrophe precedes ``= + - @``, tab and CR.

    Numbers stay numbers, also in strings.

    Examples
    --------
    >>> [for_spreadsheet(cell) for cell in ("=1+1", "-1.5", "-x", -1.5, "plain")]
    ["'=1+1", '-1.5', "'-x", -1.5, 'plain']
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _is_number(value):
        return value
    return "'" + value


def json_text(value: Any) -> str:
    r"""JSON in one line that UTF-8 can encode and a terminal can show; NaN and infinities become null.

    Examples
    --------
    >>> json_text({"id": "x\ud800\x9b", "share": float("nan")})
    '{"id": "x\\ud800\\u009b", "share": null}'
    """
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # a number that JSON does not have
        text = json.dumps(_finite(value), ensure_ascii=False, allow_nan=False)
    return _JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def normalize(text: str) -> str:
    """Unicode form C in linear time.

    `unicodedata.normalize` takes quadratic time for a long run of combining marks. Runs of more than 30,
    which occur in no language, are normalised in pieces of 30.
    """
    if text.isascii():
        return text
    # a run of 31 has two neighbours in every sample of each 15th character, which is quick to search
    if not _run_of_marks(2).search(text[::15]):
        return unicodedata.normalize("NFC", text)
    cuts = [0]
    for run in _run_of_marks(MAX_MARKS + 1).finditer(text):
        cuts += range(run.start() + MAX_MARKS, run.end(), MAX_MARKS)
    pieces = (text[lo:hi] for lo, hi in pairwise([*cuts, len(text)]))
    return "".join(unicodedata.normalize("NFC", piece) for piece in pieces)


@cache
def _run_of_marks(least: int) -> re.Pattern[str]:
    marks = "".join(
        map(chr, filter(lambda c: unicodedata.combining(chr(c)), range(0x300, 0x1F000)))
    )
    return re.compile(f"[{marks}]{{{least},}}")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isprintable()


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
