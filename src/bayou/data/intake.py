"""Buffer of documents whose time slice is still open."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bayou.data.calendar import NEVER, Width, fill_missing_times, slice_numbers, slice_start
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.stream_terms import join_corpora

_KEPT = ("newest", "closed", "arrived", "clock")
_RECENT = 100  # documents; a date far ahead counts only while it is among the most recent ones


class DueSlice(NamedTuple):
    """A slice that is complete."""

    number: int  # of the calendar slice, or in order of arrival
    start: int  # microseconds since 1970; `NEVER` without dates
    end: int
    corpus: Corpus
    n_late: int


class Intake:
    """Sorts documents into slices and returns complete slices.

    A calendar slice is complete when one of the latest 100 documents lies more than ``grace`` slices later.
    One wrong date far ahead therefore does not close all slices for good. A document whose slice is closed
    joins the oldest open slice (``late`` "next") or is dropped ("drop"). A document without a time takes the
    time of the previous document.
    """

    def __init__(self, width: Width, grace: int = 0, late: str = "next") -> None:
        self.width, self.grace, self.late = width, grace, late
        self.waiting: dict[int, list[Corpus]] = {}
        self.n_late: dict[int, int] = {}
        self.newest = self.closed = self.clock = NEVER
        self._latest: npt.NDArray[np.int64] = np.zeros(
            0, np.int64
        )  # slices of the latest documents
        self.arrived = 0
        self.n_dropped = 0

    @property
    def n_docs(self) -> int:
        """Number of waiting documents."""
        return sum(part.n_docs for parts in self.waiting.values() for part in parts)

    def take(self, corpus: Corpus) -> None:
        """Add documents, in any order."""
        numbers = self._numbers(corpus)
        names = corpus.ids or tuple(str(self.arrived + d) for d in range(corpus.n_docs))
        self.arrived += corpus.n_docs
        if not corpus.n_docs:
            return
        if corpus.ids is None or corpus.labels is not None or corpus.targets is not None:
            corpus = corpus.without_labels(names)
        self.newest = max(self.newest, int(numbers.max()))
        if self.width.is_dated:
            self._latest = np.concatenate([self._latest, numbers[-_RECENT:]])[-_RECENT:]
        over = self.closed if self.width.is_dated else NEVER
        late = numbers <= over
        if late.any():
            if self.late == "drop":
                self.n_dropped += int(late.sum())
                corpus, numbers = corpus[~late], numbers[~late]
            else:
                most = max(self._now(), over + 1)
                open_ = min(
                    [n for n in (*self.waiting, *numbers[~late].tolist()) if over < n <= most],
                    default=over + 1,
                )
                self.n_late[open_] = self.n_late.get(open_, 0) + int(late.sum())
                numbers = np.where(late, open_, numbers)
        for number in sorted({*numbers.tolist()}):
            mine = np.flatnonzero(numbers == number)
            # a copy of the rows: the caller may continue to use its arrays
            part = corpus if self.width.unit == "call" else corpus[mine]
            self.waiting.setdefault(number, []).append(part)

    def _numbers(self, corpus: Corpus) -> npt.NDArray[np.int64]:
        if self.width.unit == "call":
            first = 0 if self.newest == NEVER else self.newest + 1
            return np.full(corpus.n_docs, first, np.int64)
        if self.width.unit == "docs":
            return (self.arrived + np.arange(corpus.n_docs, dtype=np.int64)) // self.width.step
        if corpus.times is None:
            raise DataError(
                "calendar slices need the time of every document; give time=, or slice_by= a "
                "number of documents"
            )
        times = fill_missing_times(corpus.times, np.datetime64(self.clock, "us"))
        if len(times):
            self.clock = int(times[-1].astype("datetime64[us]").astype(np.int64))
        return slice_numbers(times, self.width)

    def due(self, *, all: bool = False) -> DueSlice | None:
        """The oldest complete slice, or with ``all`` the oldest slice; None if there is none."""
        if not self.waiting:
            return None
        number = min(self.waiting)
        if not all and not self._is_over(number):
            return None
        parts = self.waiting.pop(number)
        corpus = parts[0] if len(parts) == 1 else join_corpora(parts)
        self.closed = max(self.closed, number)
        start, end = self._bounds(number, corpus)
        return DueSlice(number, start, end, corpus, self.n_late.pop(number, 0))

    def _is_over(self, number: int) -> bool:
        if self.width.unit == "call":
            return True
        if self.width.unit == "docs":
            return self.arrived >= (number + 1) * self.width.step
        return number < self._now() - self.grace

    def _now(self) -> int:
        """The latest slice among the most recent documents."""
        return int(self._latest.max()) if len(self._latest) else NEVER

    def _bounds(self, number: int, corpus: Corpus) -> tuple[int, int]:
        if self.width.is_dated:
            ends = [slice_start(n, self.width) for n in (number, number + 1)]
            return tuple(int(e.astype(np.int64)) for e in ends)  # type: ignore[return-value]
        times = corpus.times
        if times is None or np.isnat(times).all():
            return NEVER, NEVER
        known = times[~np.isnat(times)].astype("datetime64[us]").astype(np.int64)
        return int(known.min()), int(known.max())

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The waiting documents as arrays; independent of how the stream was cut into calls."""
        out: dict[str, npt.NDArray[Any]] = {
            f"intake.{name}": np.array(getattr(self, name)) for name in (*_KEPT, "n_dropped")
        }
        out["intake.latest"] = self._latest
        out["intake.late"] = np.array(sorted(self.n_late.items()), np.int64).reshape(-1, 2)
        numbers = sorted(self.waiting)
        if not numbers:
            return out
        parts = [join_corpora(self.waiting[n]) for n in numbers]
        whole = join_corpora(parts)
        out["intake.numbers"] = np.repeat(numbers, [part.n_docs for part in parts])
        for name in ("indptr", "indices", "data"):
            out[f"intake.{name}"] = np.asarray(getattr(whole.counts, name))
        out["intake.ids"] = pack_strings(whole.ids or ())
        out["intake.width"] = np.array(whole.n_terms)
        if whole.times is not None:
            out["intake.times"] = whole.times.astype("datetime64[us]").astype(np.int64)
        if whole.vocabulary is not None:
            out["intake.vocabulary"] = pack_strings(whole.vocabulary)
        return out

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Restore the state that `arrays` returned."""
        try:
            for name in (*_KEPT, "n_dropped"):
                setattr(self, name, int(arrays[f"intake.{name}"]))
            latest = arrays.get("intake.latest", np.array([self.newest]))
            self._latest = np.asarray(latest, np.int64).reshape(-1)[-_RECENT:]
            self.n_late = {int(n): int(late) for n, late in arrays["intake.late"]}
            if "intake.numbers" in arrays:
                self._restore_documents(arrays)
        except (KeyError, ValueError, TypeError, IndexError, DataError) as error:
            raise ModelFileError(f"the file's waiting documents cannot be read: {error}") from None

    def _restore_documents(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        import scipy.sparse as sp

        numbers = arrays["intake.numbers"]
        shape = (len(numbers), int(arrays["intake.width"]))
        parts = tuple(arrays[f"intake.{name}"] for name in ("data", "indices", "indptr"))
        counts = sp.csr_array(parts, shape=shape)
        counts.check_format(full_check=True)
        terms = arrays.get("intake.vocabulary")
        times = arrays.get("intake.times")
        whole = Corpus.from_matrix(
            counts,
            vocabulary=None if terms is None else unpack_strings(terms),
            ids=unpack_strings(arrays["intake.ids"]),
            times=None if times is None else times.astype("datetime64[us]"),
        )
        for number in np.unique(numbers).tolist():
            self.waiting[number] = [whole[np.flatnonzero(numbers == number)]]


def with_times(corpus: Corpus, times: Any) -> Corpus:
    """The corpus with other times; None keeps its own times."""
    return corpus if times is None else replace(corpus, times=times)
