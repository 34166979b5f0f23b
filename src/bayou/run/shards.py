"""Threads. No other module starts threads for computation.

Work is a function of a range ``(lo, hi)``. Its result does not depend on how the range is cut: documents are
independent given the topics, and every term has one owner. The number of threads therefore changes the
run time but not the result.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from types import TracebackType

import numpy as np
from numpy.typing import NDArray

_PIECES = 4  # maximum per thread, so that a slow piece does not leave the other threads idle
_PIECE = 1_000_000  # nanoseconds of work per piece, if there is enough for all threads
_LEAST = 200_000  # nanoseconds of work below which distribution costs more than it saves


def resolve_threads(n_threads: int | None) -> int:
    """Number of threads: None and -1 mean all cores available to this process."""
    if n_threads is None or n_threads == -1:
        if hasattr(os, "sched_getaffinity"):
            return max(1, len(os.sched_getaffinity(0)))
        return os.cpu_count() or 1
    if n_threads < 1:
        raise ValueError(f"n_threads must be at least 1, or None for all cores; got {n_threads}")
    return int(n_threads)


class Workers:
    """A pool of threads that divide ranges among them; use as a context manager.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.zeros(6)
    >>> def work(lo, hi):
    ...     out[lo:hi] = np.arange(lo, hi)
    >>> with Workers(2) as workers:
    ...     workers.each(work, np.arange(7) * 100_000)
    >>> out
    array([0., 1., 2., 3., 4., 5.])
    """

    def __init__(self, n_threads: int | None = 1) -> None:
        self.n_threads = resolve_threads(n_threads)
        # The calling thread also works.
        self._pool = ThreadPoolExecutor(self.n_threads - 1) if self.n_threads > 1 else None

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)

    def each(
        self, work: Callable[[int, int], None], ends: NDArray[np.int64], cost: float = 1.0
    ) -> None:
        """Call ``work(lo, hi)`` over all items; ``ends`` counts the units of work before each item.

        ``ends`` has one entry more than there are items and need not start at zero (it may be a slice of a
        CSR ``indptr``). ``cost`` is the approximate time per unit in nanoseconds. It only determines the
        number of pieces.
        """
        n_items = len(ends) - 1
        if n_items <= 0:
            return
        total = int(ends[-1] - ends[0])
        wanted = max(int(total * cost / _PIECE), self.n_threads)
        n_pieces = min(wanted, _PIECES * self.n_threads, n_items)
        if self._pool is None or n_pieces < 2 or total * cost < _LEAST:
            work(0, n_items)
            return
        marks = ends[0] + total * np.arange(1, n_pieces) / n_pieces
        cuts = np.unique(np.concatenate([[0], np.searchsorted(ends, marks), [n_items]]))
        left = deque((int(lo), int(hi)) for lo, hi in pairwise(cuts))

        def share() -> None:
            """Process pieces until none is left; every thread runs this function."""
            while (piece := _take(left)) is not None:
                try:
                    work(*piece)
                except BaseException:
                    left.clear()
                    raise

        jobs = [self._pool.submit(share) for _ in range(min(self.n_threads, len(left)) - 1)]
        try:
            share()
        finally:
            wait(jobs)  # the caller must not touch the arrays while a piece is in progress
        for job in jobs:
            job.result()


def _take(left: deque[tuple[int, int]]) -> tuple[int, int] | None:
    """Remove and return the next piece, or None."""
    try:
        return left.popleft()
    except IndexError:
        return None
