"""Names of time slices in sentences and tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.data.calendar import NEVER, parse_width
from bayou.report.text import count

_HEADS = {"D": "Day", "W": "Week of", "M": "Month", "Q": "Quarter", "Y": "Year"}
_LONG = {"D": "days", "W": "weeks"}


class SliceNames(NamedTuple):
    """Unit and width of the slices of a stream, with the period of its documents."""

    unit: str  # "docs", "call", "D", "W", "M", "Q" or "Y"
    step: int
    span: tuple[int, int] = (NEVER, NEVER)  # first and last document time, microseconds since 1970

    @classmethod
    def of(cls, slice_by: Any, span: tuple[int, int]) -> SliceNames:
        """Names for the ``slice_by`` of a tracker and the period of its documents."""
        return cls(*parse_width(slice_by), span)

    @property
    def head(self) -> str:
        """Heading of a column of slices."""
        return _HEADS.get(self.unit, "Slice") if self.step == 1 else "Slice"

    def label(self, name: str) -> str:
        """Name of a slice within a sentence.

        Examples
        --------
        >>> SliceNames("W", 1).label("2017-02-06"), SliceNames("docs", 50).label("2")
        ('week of 2017-02-06', 'slice 2')
        >>> SliceNames("Y", 5).label("1790–1794")
        '1790–1794'
        """
        if self.unit in _LONG and self.step > 1:
            return f"{self.step} {_LONG[self.unit]} from {name}"
        if self.unit == "W":
            return f"week of {name}"
        return f"slice {name}" if self.unit in ("docs", "call") and name.isdigit() else name

    def during(self, name: str) -> str:
        """Name of a slice at the beginning of a sentence.

        Examples
        --------
        >>> SliceNames("W", 1).during("2017-02-06"), SliceNames("D", 1).during("2017-02-06")
        ('In the week of 2017-02-06', 'On 2017-02-06')
        >>> SliceNames("call", 1).during("2")
        'In slice 2'
        """
        if self.unit == "D" and self.step == 1:
            return f"On {name}"
        label = self.label(name)
        if self.unit in _LONG:
            return f"In the {label}"
        is_dated = self.unit in ("docs", "call") and label == name
        return f"In the slice from {name}" if is_dated else f"In {label}"

    def whole(self, names: list[str], n_slices: int) -> str:
        """The whole period: from the document times if they are known, else from the slices.

        Examples
        --------
        >>> SliceNames("docs", 50).whole(["0", "1"], 2)
        'in 2 slices of 50 documents'
        """
        if NEVER not in self.span:
            unit = self.unit if self.unit in "MY" else "D"
            ends = [str(np.datetime64(at, "us").astype(f"datetime64[{unit}]")) for at in self.span]
            return ends[0] if ends[0] == ends[1] else " to ".join(ends)
        if self.unit in ("docs", "call"):
            each = f" of {count(self.step, 'document')}" if self.unit == "docs" else ""
            return f"in {count(n_slices, 'slice')}{each}"
        first, last = self.label(names[0]), self.label(names[-1])
        return first if len(names) == 1 else f"in slices from {first} to {last}"
