"""Time slices: a number of documents, or a calendar unit."""

import re
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayou.data.errors import DataError

Ints = npt.NDArray[np.int64]
Times = npt.NDArray[np.datetime64]

UNITS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y"}
_WIDTH = re.compile(r"\s*(?:(\d+)\s+)?(day|week|month|quarter|year)s?\s*", re.ASCII)
_MONDAY = 3  # days from Monday to 1 January 1970, a Thursday
NEVER = np.iinfo(np.int64).min  # NaT as an integer


class Width(NamedTuple):
    """The length of a slice: N documents, or N days, weeks, months, quarters or years."""

    unit: str  # "docs", "D", "W", "M", "Q" or "Y"; "call" for one slice per call
    step: int = 1

    @property
    def is_dated(self) -> bool:
        """Whether slices are calendar units."""
        return self.unit not in ("docs", "call")


def parse_width(slice_by: Any) -> Width:
    """Parse the length of a slice: None, a whole number, or words such as "week" and "5 years".

    Examples
    --------
    >>> parse_width("2 weeks"), parse_width(500), parse_width(None).unit
    (Width(unit='W', step=2), Width(unit='docs', step=500), 'call')
    """
    if slice_by is None:
        return Width("call")
    whole = isinstance(slice_by, int | np.integer) and not isinstance(slice_by, bool)
    if whole and slice_by >= 1:
        return Width("docs", int(slice_by))
    match = _WIDTH.fullmatch(slice_by.lower()) if isinstance(slice_by, str) else None
    if match is None or int(match[1] or 1) < 1:
        raise ValueError(
            f"slice_by must be a number of documents, or a time such as {', '.join(UNITS)} or "
            f"'5 years', or None; got {slice_by!r}"
        )
    return Width(UNITS[match[2]], int(match[1] or 1))


def slice_numbers(times: Times, width: Width) -> Ints:
    """The number of the calendar slice of each time; weeks begin on Monday.

    Slices of several years, quarters or months are counted from the year 0, so decades begin in 1790, ...

    Examples
    --------
    >>> days = np.array(["2024-01-07", "2024-01-08"], "datetime64[us]")
    >>> np.diff(slice_numbers(days, Width("W")))
    array([1])
    """
    if width.unit in "DW":
        days = times.astype("datetime64[D]").astype(np.int64)
        weekly = width.unit == "W"
        out = (days + _MONDAY) // (7 * width.step) if weekly else days // width.step
        return np.asarray(out, np.int64)
    unit, step = _of_numpy(width)
    units = times.astype(f"datetime64[{unit}]").astype(np.int64)
    return np.asarray((units + _origin(unit)) // step, np.int64)


def _of_numpy(width: Width) -> tuple[str, int]:
    """The width in years or months; numpy has no quarters."""
    return ("M", 3 * width.step) if width.unit == "Q" else width


def _origin(unit: str) -> int:
    """Number of years, or months, from the year 0 to 1970."""
    return 1970 if unit == "Y" else 1970 * 12


def slice_start(number: int, width: Width) -> np.datetime64:
    """The start time of a calendar slice."""
    if width.unit in "DW":
        day = number * 7 * width.step - _MONDAY if width.unit == "W" else number * width.step
        first = np.array([day]).astype("datetime64[D]")
    else:
        unit, step = _of_numpy(width)
        first = np.array([number * step - _origin(unit)]).astype(f"datetime64[{unit}]")
    return first.astype("datetime64[us]")[0]  # type: ignore[no-any-return]


def slice_name(start: int, end: int, width: Width, number: int) -> str:
    """The name of a slice: its date, or its number if it has no date.

    ``start`` and ``end`` (exclusive) are microseconds since 1970, `NEVER` for none.

    Examples
    --------
    >>> first, after = (int(np.datetime64(day, "us").astype(np.int64)) for day in ("1790", "1795"))
    >>> slice_name(first, after, Width("Y", 5), 0)
    '1790–1794'
    """
    if start == NEVER:
        return str(number)
    unit = width.unit if width.unit in "MQY" else "D"
    first = _name(np.datetime64(start, "us"), unit)
    if width.step == 1 or not width.is_dated or width.unit not in "MQY":
        return first
    return f"{first}–{_name(np.datetime64(end, 'us') - np.timedelta64(1, 'us'), unit)}"


def _name(moment: np.datetime64, unit: str) -> str:
    """The day, month, quarter (2024-Q1) or year of a moment."""
    if unit != "Q":
        return str(moment.astype(f"datetime64[{unit}]"))
    year, month = str(moment.astype("datetime64[M]")).rsplit("-", 1)
    return f"{year}-Q{(int(month) + 2) // 3}"


def years_of(start: int, end: int) -> range:
    """The years that documents of a slice mention as current: its own years, one before and one after.

    ``start`` and ``end`` (exclusive) are microseconds since 1970. A slice without dates has no years.

    Examples
    --------
    >>> years_of(0, 1), years_of(NEVER, NEVER)
    (range(1969, 1972), range(0, 0))
    """
    if NEVER in (start, end):
        return range(0)
    ends = np.array([start, max(end - 1, start)], "datetime64[us]").astype("datetime64[Y]")
    first, last = (ends.astype(np.int64) + 1970).tolist()
    return range(first - 1, last + 2)


def fill_missing_times(times: Times, before: np.datetime64) -> Times:
    """Replace a missing time by the time of the previous document; leading ones take the first known.

    ``before`` is the last known time of earlier documents, NaT for none.
    """
    missing = np.isnat(times)
    if not missing.any():
        return times
    known = np.flatnonzero(~missing)
    if not len(known) and np.isnat(before):
        raise DataError("no document has a time; give time=, or slice_by= a number of documents")
    first = before if not np.isnat(before) else times[known[0]]
    place = np.maximum.accumulate(np.where(missing, -1, np.arange(len(times))))
    return np.where(place < 0, first, times[place])
