"""What a tracker keeps of every slice that is over: its courses, its alerts and the lineage of topics."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.calendar import NEVER
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.errors import ModelFileError
from bayou.inference.lda.arrays import F32, F64, I64
from bayou.results.posterior import check_arrays

N_TERMS = 12  # of a topic that are kept for each slice


class Alert(NamedTuple):
    """Something that changed, with what it rests on."""

    slice: int  # number of the slice, from 0
    date: str  # what the slice is called
    kind: str  # drift, words, rise, fall, surprise, or one of the lineage
    topic: int  # permanent id; -1 for the whole slice
    words: tuple[str, ...]  # gained, or of the topic
    lost: tuple[str, ...]
    before: float  # usual share, that while asleep (revived), or expected divergence (drift)
    after: float
    low: float  # 95 % of `after`; NaN where it has none
    high: float
    p: float  # under no change; NaN where nothing was tested
    docs: tuple[str, ...]  # names of documents
    other: int = -1  # id of the topic it split from, or was merged into

    def to_json(self) -> str:
        """One line of JSON; a number that is not defined is null."""
        return json.dumps(
            {name: _plain(value) for name, value in self._asdict().items()}, ensure_ascii=False
        )

    @classmethod
    def from_json(cls, line: str) -> Alert:
        """The inverse of `to_json`; what stands beside an alert in the line is left out."""
        found = json.loads(line)
        given = {name: found[name] for name in cls._fields}
        for name in ("before", "after", "low", "high", "p"):
            given[name] = float("nan") if given[name] is None else float(given[name])
        for name in ("words", "lost", "docs"):
            given[name] = tuple(given[name])
        return cls(**given)


LINEAGE = ("born", "split", "merged", "dormant", "revived", "dead")


class Slices(NamedTuple):
    """One entry a slice."""

    start: I64  # microseconds since 1970, `calendar.NEVER` without a time
    end: I64
    n_docs: I64
    n_tokens: F64
    n_late: I64  # documents that came after their own slice was over
    n_new_terms: I64
    n_lost_terms: I64
    strength: F64  # pseudo-tokens S of the memory
    burst: F64  # concentration A of documents around their topics
    unplaced: F64  # share of tokens in spare topics that were not kept
    surprise: F64  # -ln p a token under the memory, mean over documents; NaN for the first slice


class Courses(NamedTuple):
    """One entry a topic and slice."""

    slice: I64
    topic: I64  # permanent id
    tokens: F64
    share: F64
    low: F64
    high: F64
    drift: F64  # JSD from the memory, in bits
    expected: F64  # its value when nothing has changed
    p: F64
    terms: I64  # entries x N_TERMS, numbers of names
    weights: F32  # their probabilities


def none_of(kind: Any) -> Any:
    """An empty table of a kind."""
    shapes = {"terms": ((0, N_TERMS), np.int64), "weights": ((0, N_TERMS), np.float32)}
    whole = {"start", "end", "n_docs", "n_late", "n_new_terms", "n_lost_terms", "slice", "topic"}
    return kind(
        *(
            np.zeros(*shapes.get(name, ((0,), np.int64 if name in whole else np.float64)))
            for name in kind._fields
        )
    )


def append_rows(table: Any, rows: dict[str, Any]) -> Any:
    """The table with further entries."""
    fields = table._asdict()
    return type(table)(
        **{
            name: np.concatenate(
                [old, np.asarray(rows[name], old.dtype).reshape(-1, *old.shape[1:])]
            )
            for name, old in fields.items()
        }
    )


class Trail:
    """Everything that is kept of the slices that are over."""

    def __init__(self) -> None:
        self.slices: Slices = none_of(Slices)
        self.courses: Courses = none_of(Courses)
        self.alerts: list[Alert] = []
        self.names: list[str] = []  # of terms that were ever among the leading ones of a topic
        self._numbers: dict[str, int] = {}
        self.span = (NEVER, NEVER)  # first and last time of any document, microseconds since 1970

    def numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of names, new ones for those that are new."""
        for name in names:
            if name not in self._numbers:
                self._numbers[name] = len(self.names)
                self.names.append(name)
        return [self._numbers[name] for name in names]

    def add(self, slice_: dict[str, Any], courses: dict[str, Any], alerts: list[Alert]) -> None:
        """What a slice leaves behind."""
        self.slices = append_rows(self.slices, slice_)
        self.courses = append_rows(self.courses, courses)
        self.alerts += alerts

    def reach(self, times: NDArray[np.datetime64] | None) -> None:
        """Let the span of time hold those of some documents, as far as they are known."""
        known = np.zeros(0, np.int64) if times is None else times[~np.isnat(times)]
        if len(known):
            found = known.astype("datetime64[us]").astype(np.int64)
            first, last = int(found.min()), int(found.max())
            before = self.span if NEVER not in self.span else (first, last)
            self.span = min(before[0], first), max(before[1], last)

    def last_share(self, topic: int) -> float:
        """Share of a topic in the last slice with words; 0 if it had no column then."""
        c = self.courses
        spoken = np.isfinite(c.share)
        if not spoken.any():
            return 0.0
        mine = spoken & (c.slice == c.slice[spoken].max()) & (c.topic == topic)
        return float(c.share[mine].sum())

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        out = {f"slices.{n}": a for n, a in self.slices._asdict().items()}
        out |= {f"courses.{n}": a for n, a in self.courses._asdict().items()}
        out["trail.alerts"] = pack_strings(alert.to_json() for alert in self.alerts)
        out["trail.names"] = pack_strings(self.names)
        out["trail.span"] = np.array(self.span, np.int64)
        return out

    def restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what `arrays` gave; shapes and numbers are checked."""
        try:
            for what, kind in (("slices", Slices), ("courses", Courses)):
                table = kind(*(arrays[f"{what}.{name}"] for name in kind._fields))
                like = none_of(kind)
                n = len(table[0])
                for name, a, b in zip(kind._fields, table, like, strict=True):
                    check_arrays(name, a, b.dtype, (n, *b.shape[1:]), finite=False)
                setattr(self, what, table)
            self.numbers(unpack_strings(arrays["trail.names"]))
            first, last = arrays.get("trail.span", self.span)  # older files have none
            self.span = int(first), int(last)
            self.alerts = [Alert.from_json(line) for line in unpack_strings(arrays["trail.alerts"])]
        except (KeyError, ValueError, TypeError) as error:
            raise ModelFileError(f"the slices in the model file cannot be read: {error}") from None
        if self.courses.terms.size and self.courses.terms.max() >= len(self.names):
            raise ModelFileError("the slices in the model file name terms that it does not have")


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value
