"""How slices of time are spoken of: the week of a day, a slice by its number, from when to when."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.data.calendar import NEVER, parse_width
from bayou.report.text import count

_HEADS = {"D": "Day", "W": "Week of", "M": "Month", "Q": "Quarter", "Y": "Year"}
_LONG = {"D": "days", "W": "weeks"}


class SliceNames(NamedTuple):
    """The slices of a stream in words."""

    unit: str  # "docs", "call", "D", "W", "M", "Q" or "Y"
    step: int
    span: tuple[int, int] = (NEVER, NEVER)  # of the documents' own times, microseconds since 1970

    @classmethod
    def of(cls, slice_by: Any, span: tuple[int, int]) -> SliceNames:
        """Of a tracker that slices so, and whose documents are from then to then."""
        return cls(*parse_width(slice_by), span)

    @property
    def head(self) -> str:
        """What a column of slices is called."""
        return _HEADS.get(self.unit, "Slice") if self.step == 1 else "Slice"

    def label(self, name: str) -> str:
        """A slice by its name.

        Examples
        --------
        >>> When("W", 1).label("2017-02-06"), When("docs", 50).label("2"), When("Y", 5).label("1790–1794")
        ('week of 2017-02-06', 'slice 2', '1790–1794')
        """
        if self.unit in _LONG and self.step > 1:
            return f"{self.step} {_LONG[self.unit]} from {name}"
        if self.unit == "W":
            return f"week of {name}"
        return f"slice {name}" if self.unit in ("docs", "call") and name.isdigit() else name

    def during(self, name: str) -> str:
        """A slice as the beginning of a sentence.

        Examples
        --------
        >>> When("W", 1).during("2017-02-06"), When("D", 1).during("2017-02-06"), When("call", 1).during("2")
        ('In the week of 2017-02-06', 'On 2017-02-06', 'In slice 2')
        """
        if self.unit == "D" and self.step == 1:
            return f"On {name}"
        said = self.label(name)
        if self.unit in _LONG:
            return f"In the {said}"
        dated = self.unit in ("docs", "call") and said == name
        return f"In the slice from {name}" if dated else f"In {said}"

    def whole(self, names: list[str], n_slices: int) -> str:
        """From when to when: the documents' own times where they are known, else the slices.

        Examples
        --------
        >>> When("docs", 50).whole(["0", "1"], 2)
        'in 2 slices of 50 documents'
        """
        if NEVER not in self.span:
            unit = self.unit if self.unit in "MY" else "D"
            ends = [str(np.datetime64(at, "us").astype(f"datetime64[{unit}]")) for at in self.span]
            return ends[0] if ends[0] == ends[1] else " to ".join(ends)
        if self.unit in ("docs", "call"):
            each = f" of {count(self.step, 'document')}" if self.unit == "docs" else ""
            return f"in {count(n_slices, 'slice')}{each}"
        said = [self.label(names[0]), self.label(names[-1])]
        return said[0] if len(names) == 1 else f"in slices from {said[0]} to {said[1]}"
