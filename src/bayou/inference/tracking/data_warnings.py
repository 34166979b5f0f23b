"""What is to be said of slices on which too little rests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from bayou.data.calendar import parse_width, slice_numbers
from bayou.inference.tracking.history import Slices

FEWEST = 2  # documents a topic of the first slice
FAR = 24  # slices without documents before the last one, at least


def gap(slices: Slices, slice_by: Any) -> int:
    """Calendar slices from the last but one to the last."""
    width, starts = parse_width(slice_by), slices.start[-2:]
    if not width.is_dated or len(starts) < 2:
        return 0
    one, other = slice_numbers(starts.astype("datetime64[us]"), width).tolist()
    return int(other - one)


def is_far(slices: Slices, slice_by: Any) -> bool:
    """Whether the last slice is so far behind all others that its date may be wrong."""
    return gap(slices, slice_by) > max(FAR, len(slices.start))


def is_thin(slices: Slices, n_topics: int) -> bool:
    """Whether the first slice, which all topics begin with, has next to no documents."""
    return int(slices.n_docs[0]) < FEWEST * n_topics


def doubts(
    slices: Slices,
    names: Sequence[str],
    slice_by: Any,
    n_topics: int,
    mend: tuple[str, str] = ("longer slices", "fewer topics"),
    begun: bool = False,
) -> Iterator[str]:
    """Sentences without their full stops; ``mend`` is what is said for longer slices and fewer topics.

    The first slice of a stream that had ``begun`` before is not spoken of.
    """
    if is_far(slices, slice_by):
        yield (
            f"The last slice ({names[-1]}) is {gap(slices, slice_by):,} slices after the one before: if that "
            "date is wrong, mend it, since all that follows would come late"
        )
    if is_thin(slices, n_topics) and not begun:
        n = int(slices.n_docs[0])
        yield (
            f"All topics begin with the first slice ({names[0]}), which has no more than "
            f"{n:,} document{'s' * (n != 1)} for {n_topics:,} topic{'s' * (n_topics != 1)}; {mend[0]}, later "
            f"documents or {mend[1]} would be surer"
        )
