"""Words that name the time of a slice. Their frequency is not tested for changes."""

from __future__ import annotations

import numpy as np

from bayou.data.calendar import NEVER, years_of

_DAY = 86_400_000_000  # microseconds
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
    "november", "december",
)  # fmt: skip
_WEEKDAYS = frozenset(
    ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
)


def calendar_words(start: int, end: int) -> frozenset[str]:
    """Words that name the time of a slice, including one year, month or day before and after it.

    Every slice with dates has its years. A slice shorter than a year has the English names of its months,
    too. A slice shorter than a month has the numbers of its days and all days of the week, too. ``start`` and
    ``end`` (exclusive) are microseconds since 1970, or `NEVER`.

    Examples
    --------
    >>> first = int(np.datetime64("2017-03-06", "us").astype(np.int64))
    >>> words = calendar_words(first, first + 7 * 86_400_000_000)
    >>> sorted({"2017", "march", "12", "14", "friday", "june"} & words)
    ['12', '2017', 'friday', 'march']
    """
    if NEVER in (start, end):
        return frozenset()
    words = {str(year) for year in years_of(start, end)}
    long = max(end - start, 0)
    if long < 365 * _DAY:
        words |= {_MONTHS[m % 12] for m in _around(start, end, "M")}
    if long < 28 * _DAY:
        days = np.array(_around(start, end, "D")).astype("datetime64[D]")
        numbers = (days - days.astype("datetime64[M]")).astype(np.int64) + 1
        words |= _WEEKDAYS | {form.format(n) for n in numbers.tolist() for form in ("{}", "{:02}")}
    return frozenset(words)


def _around(start: int, end: int, unit: str) -> range:
    """Months or days since 1970 of a slice, including one before and one after."""
    ends = np.array([start, max(end - 1, start)], "datetime64[us]").astype(f"datetime64[{unit}]")
    first, last = ends.astype(np.int64).tolist()
    return range(first - 1, last + 2)
