"""Times of documents in many notations."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from bayou.data.errors import DataError
from bayou.data.fields import check_length, is_blank, is_missing, is_scalar

_EPOCH = datetime(1970, 1, 1)
_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?", re.ASCII)
_DAY = re.compile(r"(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?=$|[T ])", re.ASCII)  # also 2024/5/31
_EITHER = re.compile(r"\d{1,2}([-/.])\d{1,2}\1\d{2}(\d{2})?(?!\d).*", re.ASCII)  # 5/6/2024
_ZONE = re.compile(r"\s+([+-]\d{2}:?\d{2})$", re.ASCII)
_ZONES = r"( +([+-]\d{4}|ut|utc|gmt|z|[aecmp][sd]t))?( *\(.*\))?"  # the supported zones
_MAIL = re.compile(r"(?i)([a-z]{3}, *)?\d\d? [a-z]{3} \d{4} \d\d:\d\d(:\d\d)?" + _ZONES, re.ASCII)
_NAMES = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_WEEKDAY = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? +)?"
_NTH = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_NAMED = r"(?P<month>[a-z]{3,9})\.?"
_REST = r"(?P<year>\d{4})(?:,? +(?P<clock>\d\d:\d\d(?::\d\d)?))?"
_IN_WORDS = tuple(
    re.compile("(?i)" + _WEEKDAY + form + _REST, re.ASCII)
    for form in (rf"{_NTH}[ -](?:of )?{_NAMED},?[ -]", rf"{_NAMED} +{_NTH},? +", rf"{_NAMED},? +")
)  # 23 August 1998, August 23, 1998 and August 1998
_UNITS = (
    (1e17, 1e9),
    (1e14, 1e6),
    (1e11, 1e3),
)  # as seconds, such numbers are in the year 5138 or later
# Seconds. Smaller numbers are two-digit years, months (202405) or day numbers of spreadsheets (36526).
_FEWEST = 10**7
_FORMS = "write an ISO date (2024-05-31, 2024-05-31T12:00Z), a year, or seconds or milliseconds since 1970"


def as_times(times: Any, n_docs: int) -> npt.NDArray[np.datetime64]:
    """Convert times to datetime64[us]; a missing time becomes NaT.

    Accepted are datetime64 arrays, dates and datetimes (with a time zone: converted to UTC), and strings:
    ISO dates, dates of mail and news feeds, dates with English month names, bare years and months.
    Four-digit whole numbers are years; those of eight and fourteen digits are dates (20240531,
    20240531120000). Other numbers are seconds since 1970, or milliseconds, microseconds or nanoseconds
    if seconds would be after the year 5138. Smaller numbers are refused. A number may be given as text, and
    1996.0 means 1996.
    """
    if isinstance(times, str | bytes) or not isinstance(times, Iterable):
        raise DataError(f"times must be one entry per document, got {times!r:.80}")
    array = times if isinstance(times, np.ndarray) else None
    if array is not None and array.dtype.kind == "M" and array.ndim == 1:
        out = array.astype("datetime64[us]")
    else:
        rows = []
        for d, value in enumerate(times):
            try:
                rows.append(parse_time(value))
            except DataError as error:
                raise DataError(f"document {d}: {error}") from None
        out = np.array(rows, "datetime64[us]")
    check_length("times", len(out), n_docs)
    return out


def parse_time(value: Any) -> np.datetime64:
    """Convert one time in any accepted form to a datetime64[us].

    Examples
    --------
    >>> str(parse_time("2001-02-03T04:05+01:00"))
    '2001-02-03T03:05:00.000000'
    >>> str(parse_time(1789))
    '1789-01-01T00:00:00.000000'
    >>> str(parse_time("1789.0"))
    '1789-01-01T00:00:00.000000'
    >>> str(parse_time("Fri, 31 May 2024 12:00:00 +0200"))
    '2024-05-31T10:00:00.000000'
    """
    if is_missing(value) or type(value).__name__ == "NaTType" or is_blank(value):
        return np.datetime64("NaT", "us")
    try:
        if isinstance(value, np.datetime64):
            return np.array([value]).astype("datetime64[us]")[0]  # type: ignore[no-any-return]
        if isinstance(value, str):
            return np.datetime64(_from_string(value.strip()), "us")
        if isinstance(value, date):
            return np.datetime64(_utc(value), "us")
        if is_scalar(value) and not isinstance(value, bool | np.bool_):
            return np.datetime64(_from_number(float(value)), "us")
    except (ValueError, OverflowError):
        pass
    raise DataError(_why_not(value))


def _why_not(value: Any) -> str:
    """The message for a value that is not a time, with what to write instead."""
    said = f"{value!r:.80} is not a time"
    if isinstance(value, str) and _EITHER.fullmatch(value.strip()):
        return f"{said}: day and month are ambiguous; write 2024-05-31, or 31 May 2024"
    text = value.strip() if isinstance(value, str) else ""
    number = isinstance(value, int | float | np.number) or _NUMBER.fullmatch(text)
    if number and not isinstance(value, bool | np.bool_) and abs(float(value)) < _FEWEST:
        return (
            f"{said}: as seconds such a small number would be in 1970; write years with four digits, and "
            "other times as dates (2024-05-31), also months (2024-05) and day numbers of a spreadsheet"
        )
    return f"{said}; {_FORMS}"


def _from_string(text: str) -> datetime:
    if _NUMBER.fullmatch(text):
        whole, _, part = text.partition(".")
        if not part.strip("0"):  # a column of years with a missing value reads as 1996.0
            return _from_digits(whole)
        return _since_1970(float(text))
    if _MONTH.fullmatch(text):
        return datetime.fromisoformat(text + "-01")
    try:
        return _utc(datetime.fromisoformat(text))
    except ValueError:
        return _utc(_nearly_iso(text))


def _from_digits(text: str) -> datetime:
    if len(text) == 4 and text.isdigit():
        return datetime(int(text), 1, 1)
    if len(text) == 8 and text.isdigit():
        return datetime.fromisoformat(text)
    if len(text) == 14 and text.isdigit():  # as milliseconds this would be after 2286
        return datetime.fromisoformat(f"{text[:8]}T{text[8:]}")
    return _since_1970(float(text))


def _nearly_iso(text: str) -> datetime:
    """Parse a date that is not ISO but unambiguous; 5/6/2024 is ambiguous."""
    if _MAIL.fullmatch(text):
        return parsedate_to_datetime(text)
    for form in _IN_WORDS:
        if match := form.fullmatch(text):
            return _in_words(match)
    text = _DAY.sub(lambda m: f"{m[1]}-{int(m[3]):02d}-{int(m[4]):02d}", text, count=1)
    text = _ZONE.sub(r"\1", text.removesuffix("UTC").removesuffix("GMT").rstrip())
    return datetime.fromisoformat(text)


def _from_number(number: float) -> datetime:
    return _from_digits(str(int(number))) if number.is_integer() else _since_1970(number)


def _in_words(match: re.Match[str]) -> datetime:
    found = match.groupdict()
    word = found["month"].lower()
    months = [i for i, name in enumerate(_NAMES, 1) if name.startswith(word)]
    if len(months) != 1:
        raise ValueError(word)
    day = f"{found['year']}-{months[0]:02d}-{int(found.get('day') or 1):02d}"
    return datetime.fromisoformat(f"{day}T{found['clock'] or '00:00'}")


def _since_1970(number: float) -> datetime:
    if abs(number) < _FEWEST:
        raise ValueError(number)
    unit = next((unit for least, unit in _UNITS if abs(number) >= least), 1.0)
    return _EPOCH + timedelta(seconds=number / unit)


def _utc(value: date) -> datetime:
    if not isinstance(value, datetime):
        return datetime(value.year, value.month, value.day)
    return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value.replace(fold=0)
