"""Documents that wait until their slice of time is over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data import schema
from bayou.data.calendar import NEVER, Width, fill_missing_times, slice_numbers, slice_start
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.schema import Array, Number
from bayou.data.stream_terms import join_corpora

_N_LATEST = 100  # a slice is over if one of this number of latest documents is in a later one

AnyTime = Annotated[int, Number(ge=None)]
Ints = npt.NDArray[np.int32] | npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32] | npt.NDArray[np.float64]


_MOST = 2**40  # of the number of a slice


class IntakeTimes(NamedTuple):
    """Numbers of an intake in a model file."""

    newest: AnyTime
    closed: AnyTime
    arrived: int
    clock: AnyTime
    n_dropped: int
    late: Annotated[
        npt.NDArray[np.int64], Array("open", 2, ge=-_MOST, le=_MOST)
    ]  # slice, late documents


class IntakeDocuments(NamedTuple):
    """Waiting documents in a model file: the slice of each, and their counts."""

    numbers: Annotated[npt.NDArray[np.int64], Array("docs", ge=-_MOST, le=_MOST)]
    indptr: Annotated[Ints, Array("docs+1", offsets="entries")]
    indices: Annotated[Ints, Array("entries", below="terms")]
    data: Annotated[Floats, Array("entries")]


class DueSlice(NamedTuple):
    """A slice that is over."""

    number: int  # by the calendar, or in order
    start: int  # microseconds since 1970; `NEVER` where nothing is dated
    end: int
    corpus: Corpus
    n_late: int


class Intake:
    """Sorts documents into slices and returns slices that are over.

    A calendar slice is over if one of the latest hundred documents is in a slice more than ``grace`` later.
    So a single wrong date in the future does not end all slices for ever. A document whose slice is over
    joins the oldest open slice (``late`` "next"), or is left out ("drop"). A document without a time has the
    time of the document before it.
    """

    def __init__(self, width: Width, grace: int = 0, late: str = "next") -> None:
        self.width, self.grace, self.late = width, grace, late
        self.waiting: dict[int, list[Corpus]] = {}
        self.n_late: dict[int, int] = {}
        self.newest = self.closed = self.clock = NEVER
        self._latest = np.zeros(0, np.int64)  # slices of the latest documents
        self.arrived = self.n_dropped = 0

    @property
    def n_docs(self) -> int:
        """Number of waiting documents."""
        return sum(part.n_docs for parts in self.waiting.values() for part in parts)

    def take(self, corpus: Corpus) -> None:
        """Add documents, in any order of time."""
        numbers = self._numbers(corpus)
        names = corpus.ids or tuple(str(self.arrived + d) for d in range(corpus.n_docs))
        self.arrived += corpus.n_docs
        if not corpus.n_docs:
            return
        if corpus.ids is None or corpus.labels is not None or corpus.targets is not None:
            corpus = corpus.without_labels(names)
        self.newest = max(self.newest, int(numbers.max()))
        if self.width.is_dated:
            self._latest = np.concatenate([self._latest, numbers[-_N_LATEST:]])[-_N_LATEST:]
            late = numbers <= self.closed
            if late.any() and self.late == "drop":
                self.n_dropped += int(late.sum())
                corpus, numbers = corpus[~late], numbers[~late]
            elif late.any():
                numbers = self._move_late(numbers, late)
        for number in sorted({*numbers.tolist()}):
            mine = np.flatnonzero(numbers == number)
            # copied, because the caller may change the arrays
            part = corpus if self.width.unit == "call" else corpus[mine]
            self.waiting.setdefault(number, []).append(part)

    def _move_late(
        self, numbers: npt.NDArray[np.int64], late: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.int64]:
        """The slices of documents, in which late documents are in the oldest open slice."""
        first = self.closed + 1
        most = max(self._now(), first)
        candidates = (*self.waiting, *numbers[~late].tolist())
        oldest = min([n for n in candidates if first <= n <= most], default=first)
        self.n_late[oldest] = self.n_late.get(oldest, 0) + int(late.sum())
        return np.where(late, oldest, numbers)

    def _numbers(self, corpus: Corpus) -> npt.NDArray[np.int64]:
        if self.width.unit == "call":
            first = 0 if self.newest == NEVER else self.newest + 1
            return np.full(corpus.n_docs, first, np.int64)
        if self.width.unit == "docs":
            return (self.arrived + np.arange(corpus.n_docs, dtype=np.int64)) // self.width.step
        if corpus.times is None:
            raise DataError(
                "calendar slices need the time of every document; give time=, or slice_by= a number of "
                "documents"
            )
        times = fill_missing_times(corpus.times, np.datetime64(self.clock, "us"))
        if len(times):
            self.clock = int(times[-1].astype("datetime64[us]").astype(np.int64))
        return slice_numbers(times, self.width)

    def due(self, *, all: bool = False) -> DueSlice | None:
        """The oldest slice that is over, or with ``all`` the oldest slice; None if there is none."""
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
        """The newest slice among the latest documents."""
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
        """Waiting documents as arrays, which do not depend on how the documents were cut into calls."""
        late = np.array(sorted(self.n_late.items()), np.int64).reshape(-1, 2)
        times = IntakeTimes(
            self.newest, self.closed, self.arrived, self.clock, self.n_dropped, late
        )
        out = {f"intake.{name}": np.asarray(value) for name, value in times._asdict().items()}
        out["intake.latest"] = self._latest
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
        """Read back what `arrays` gave, checked."""
        times = schema.read(IntakeTimes, arrays, "intake")
        self.newest, self.closed, self.arrived, self.clock, self.n_dropped, late = times
        self.n_late = {int(n): int(docs) for n, docs in late}
        latest = arrays.get("intake.latest", np.array([self.newest]))
        self._latest = np.asarray(latest, np.int64).reshape(-1)[-_N_LATEST:]
        if "intake.numbers" in arrays:
            try:
                self._restore_documents(arrays)
            except (KeyError, ValueError, TypeError, IndexError) as error:
                raise ModelFileError(f"the waiting documents cannot be read: {error}") from None

    def _restore_documents(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        n_terms = int(arrays["intake.width"])
        found = schema.read(IntakeDocuments, arrays, "intake", {"terms": n_terms})
        numbers, indptr, indices, data = found
        terms, times = arrays.get("intake.vocabulary"), arrays.get("intake.times")
        whole = Corpus.from_matrix(
            sp.csr_array((data, indices, indptr), shape=(len(numbers), n_terms)),
            vocabulary=None if terms is None else unpack_strings(terms),
            ids=unpack_strings(arrays["intake.ids"]),
            times=None if times is None else times.astype("datetime64[us]"),
        )
        for number in np.unique(numbers).tolist():
            self.waiting[number] = [whole[np.flatnonzero(numbers == number)]]


def with_times(corpus: Corpus, times: Any) -> Corpus:
    """The corpus with other times; None keeps its own."""
    return corpus if times is None else replace(corpus, times=times)
