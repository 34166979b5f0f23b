"""Warnings about slices with too few documents or a date that may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayou.data.calendar import parse_width, slice_numbers
from bayou.inference.tracking.history import Slices

FEWEST = 2  # documents per topic of the first slice
FAR = 24  # least number of slices without documents before a last slice that may have a wrong date


def gap(slices: Slices, slice_by: Any) -> int:
    """Number of calendar slices from the second-to-last to the last."""
    width, starts = parse_width(slice_by), slices.start[-2:]
    if not width.is_dated or len(starts) < 2:
        return 0
    one, other = slice_numbers(starts.astype("datetime64[us]"), width).tolist()
    return int(other - one)


def is_far(slices: Slices, slice_by: Any) -> bool:
    """Whether the last slice is so late that its date may be wrong."""
    return gap(slices, slice_by) > max(FAR, len(slices.start))


def is_thin(slices: Slices, n_topics: int) -> bool:
    """Whether the first slice, in which all topics begin, has too few documents."""
    return int(slices.n_docs[0]) < FEWEST * n_topics


def doubts(
    slices: Slices,
    names: Sequence[str],
    slice_by: Any,
    n_topics: int,
    mend: tuple[str, str] = ("longer slices", "fewer topics"),
    begun: bool = False,
) -> Iterator[str]:
    """Warnings as sentences without a full stop.

    ``mend`` holds the words for longer slices and for fewer topics. Nothing is said about the first slice of
    a stream that had ``begun`` before.
    """
    if is_far(slices, slice_by):
        yield (
            f"The last slice ({names[-1]}) is {gap(slices, slice_by):,} slices after the one before: if its "
            "date is wrong, correct it, because all later documents would count as late"
        )
    if is_thin(slices, n_topics) and not begun:
        n = int(slices.n_docs[0])
        yield (
            f"All topics begin with the first slice ({names[0]}), which has only "
            f"{n:,} document{'s' * (n != 1)} for {n_topics:,} topic{'s' * (n_topics != 1)}; {mend[0]}, a "
            f"later start or {mend[1]} would give more reliable topics"
        )
