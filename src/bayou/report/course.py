"""Topic shares over time, in calendar bins."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.calendar import parse_width, slice_name, slice_numbers, slice_start
from bayou.report.measure import Estimate, Floats, ratios, shares

MOST_BINS = 48
LEAST_BINS = 3
_WIDTHS = (
    ("h", 1), ("h", 6), ("D", 1), ("W", 1), ("M", 1), ("M", 3), ("Y", 1), ("Y", 2), ("Y", 5),
    ("Y", 10), ("Y", 20), ("Y", 50), ("Y", 100), ("Y", 500), ("Y", 2000),
)  # fmt: skip
_SPARSEST = 4  # most bins per bin with documents
_NAMES = {"h": "hour", "D": "day", "W": "week", "M": "month", "Y": "year"}


class Course(NamedTuple):
    """Topic shares per time bin."""

    width: str  # of a bin, as text: "month", "5 years"
    names: list[str]  # of the bins
    shares: list[list[Estimate]]  # bins x topics; NaN if the bin has no tokens
    n_docs: list[int]  # per bin
    n_undated: int
    rises: list[
        Estimate
    ]  # per topic: share in the last third of the bins minus share in the first third


def course(doc_topics: Floats, lengths: Floats, times: NDArray[np.datetime64]) -> Course | None:
    """Shares of every topic in the finest calendar bins that give at most ``MOST_BINS`` bins.

    None if the documents span fewer than ``LEAST_BINS`` bins.
    """
    dated = ~np.isnat(times)
    if not dated.any():
        return None
    when, theta, weights = times[dated], doc_topics[dated], lengths[dated]
    for unit, step in _WIDTHS:
        bins = when.astype(f"datetime64[{unit}]").astype(np.int64) // step
        n_bins = int(bins.max() - bins.min()) + 1
        if n_bins <= MOST_BINS:
            break
    if n_bins < LEAST_BINS:
        return None
    first = int(bins.min())
    numbers = bins - first
    rows = [shares(theta[numbers == b], weights[numbers == b]) for b in range(n_bins)]
    starts = ((first + np.arange(n_bins)) * step).astype(f"datetime64[{unit}]")
    width = f"{step} {_NAMES[unit]}s" if step > 1 else _NAMES[unit]
    counts = np.bincount(numbers, minlength=n_bins).tolist()
    rises = _rises(theta, weights, numbers, n_bins)
    return Course(width, _names(starts, unit), rows, counts, int((~dated).sum()), rises)


def _names(starts: NDArray[np.datetime64], unit: str) -> list[str]:
    form = {"W": "D"}.get(unit, unit)
    return [str(start.astype(f"datetime64[{form}]")).replace("T", " ") for start in starts]


def _rises(theta: Floats, weights: Floats, numbers: NDArray[np.int64], n: int) -> list[Estimate]:
    """Differences per topic; intervals are twice as wide as 95 %, because only the largest is reported."""
    early, late = numbers < n / 3, numbers >= n - n / 3
    before, after = ratios(theta[early], weights[early]), ratios(theta[late], weights[late])
    out = []
    for a, b in zip(before, after, strict=True):
        gap = b.value - a.value
        half = 2 * float(np.hypot(a.high - a.value, b.high - b.value))
        out.append(Estimate(gap, gap - half, gap + half))
    return out


def slice_bins(
    starts: NDArray[np.int64], ends: NDArray[np.int64], slice_by: Any
) -> tuple[list[int], list[str]]:
    """Bin per slice, and the names of all bins.

    Calendar slices without documents get bins too, so that gaps are visible. Exception: if that gives
    more than four bins per slice, for example because of one very old document, only slices get bins.

    Examples
    --------
    >>> years = np.array(["1990", "1991", "1994", "1995"], "datetime64[us]").astype(np.int64)
    >>> slice_bins(years[[0, 2]], years[[1, 3]], "year")
    ([0, 4], ['1990', '1991', '1992', '1993', '1994'])
    """
    width = parse_width(slice_by)
    n = len(starts)
    if width.is_dated and n:
        numbers = slice_numbers(starts.astype("datetime64[us]"), width)
        total = int(numbers[-1] - numbers[0]) + 1
        if total <= _SPARSEST * n:
            edges = [slice_start(int(numbers[0]) + b, width) for b in range(total + 1)]
            at = [int(edge.astype(np.int64)) for edge in edges]
            names = [slice_name(at[b], at[b + 1], width, b) for b in range(total)]
            return (numbers - numbers[0]).tolist(), names
    both = zip(starts.tolist(), ends.tolist(), strict=True)
    return list(range(n)), [slice_name(a, b, width, i) for i, (a, b) in enumerate(both)]
