"""The history of a tracker: one entry per slice, one per topic and slice, and all alerts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data import schema
from bayou.data.calendar import NEVER
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array
from bayou.data.untrusted import json_text
from bayou.inference.lda.arrays import F32, F64, I64

N_TERMS = 12  # leading terms of a topic that are kept per slice


class Alert(NamedTuple):
    """A change in a slice, with its evidence."""

    slice: int  # number of the slice, from 0
    date: str  # name of the slice
    kind: str  # drift, words, rise, fall, surprise, or one of `LINEAGE`
    topic: int  # permanent id; -1 for the whole slice
    words: tuple[str, ...]  # words that the topic has gained, or its leading words
    lost: tuple[str, ...]  # words that the topic has lost
    before: float  # usual share, last share (revived), or expected divergence (drift)
    after: float  # share, or divergence (drift)
    low: float  # 95 % interval of `after`; NaN if there is none
    high: float
    p: float  # p-value under no change; NaN if nothing was tested
    docs: tuple[str, ...]  # names of documents
    other: int = -1  # id of the topic it split from or was merged into

    def to_json(self) -> str:
        """One line of JSON; a number that is not defined is null."""
        return json_text({name: _plain(value) for name, value in self._asdict().items()})

    @classmethod
    def from_json(cls, line: str) -> Alert:
        """The inverse of `to_json`. Other keys in the line are ignored."""
        found = json.loads(line)
        given = {name: found[name] for name in cls._fields}
        for name in ("before", "after", "low", "high", "p"):
            given[name] = float("nan") if given[name] is None else float(given[name])
        for name in ("words", "lost", "docs"):
            given[name] = tuple(given[name])
        return cls(**given)


LINEAGE = ("born", "split", "merged", "dormant", "revived", "dead")


Maybe = Array("slices", ge=None, finite=False)


class Slices(NamedTuple):
    """One entry per slice."""

    start: Annotated[I64, Array("slices", ge=None)]  # microseconds since 1970, or `calendar.NEVER`
    end: Annotated[I64, Array("slices", ge=None)]
    n_docs: Annotated[I64, Array("slices")]
    n_tokens: Annotated[F64, Array("slices")]
    n_late: Annotated[I64, Array("slices")]  # documents that came after their own slice was over
    n_new_terms: Annotated[I64, Array("slices")]
    n_lost_terms: Annotated[I64, Array("slices")]
    strength: Annotated[F64, Maybe]  # pseudo-tokens S of the memory
    burst: Annotated[F64, Maybe]  # concentration A of documents around their topics
    unplaced: Annotated[F64, Maybe]  # share of tokens in spare topics that were not kept
    surprise: Annotated[F64, Maybe]
    # mean over documents of -ln p per token under the memory; NaN for the first slice


Share = Array("entries", ge=None, finite=False)


class Courses(NamedTuple):
    """One entry per topic and slice."""

    slice: Annotated[I64, Array("entries")]
    topic: Annotated[I64, Array("entries")]  # permanent id
    tokens: Annotated[F64, Share]
    share: Annotated[F64, Share]
    low: Annotated[F64, Share]
    high: Annotated[F64, Share]
    drift: Annotated[F64, Share]  # JSD from the memory, in bits
    expected: Annotated[F64, Share]  # its value without change
    p: Annotated[F64, Share]
    terms: Annotated[I64, Array("entries", N_TERMS, ge=-1, below="names")]  # leading terms
    weights: Annotated[F32, Array("entries", N_TERMS, ge=None, finite=False)]  # their probabilities


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
    """The history of all slices so far."""

    def __init__(self) -> None:
        self.slices: Slices = schema.empty(Slices)
        self.courses: Courses = schema.empty(Courses)
        self.alerts: list[Alert] = []
        self.names: list[str] = []  # terms that were ever among the leading terms of a topic
        self._numbers: dict[str, int] = {}
        self.span = (NEVER, NEVER)  # first and last time of any document, microseconds since 1970

    def numbers(self, names: Sequence[str]) -> list[int]:
        """The numbers of terms; new terms get new numbers."""
        for name in names:
            if name not in self._numbers:
                self._numbers[name] = len(self.names)
                self.names.append(name)
        return [self._numbers[name] for name in names]

    def add(self, slice_: dict[str, Any], courses: dict[str, Any], alerts: list[Alert]) -> None:
        """Add the entry of a slice, the entries of its topics, and its alerts."""
        self.slices = append_rows(self.slices, slice_)
        self.courses = append_rows(self.courses, courses)
        self.alerts += alerts

    def extend_span(self, times: NDArray[np.datetime64] | None) -> None:
        """Extend the span of time by the known times of some documents."""
        known = np.zeros(0, np.int64) if times is None else times[~np.isnat(times)]
        if len(known):
            found = known.astype("datetime64[us]").astype(np.int64)
            first, last = int(found.min()), int(found.max())
            before = self.span if NEVER not in self.span else (first, last)
            self.span = min(before[0], first), max(before[1], last)

    @property
    def last_score(self) -> float:
        """Log-likelihood per token of the last slice under the memory before it."""
        return -float(self.slices.surprise[-1]) if len(self.slices.surprise) else float("nan")

    def last_share(self, topic: int) -> float:
        """Share of a topic in the last slice with tokens; 0 if it had no column then."""
        c = self.courses
        known = np.isfinite(c.share)
        if not known.any():
            return 0.0
        mine = known & (c.slice == c.slice[known].max()) & (c.topic == topic)
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
        """Read back what `arrays` gave, checked."""
        try:
            self.numbers(unpack_strings(arrays["trail.names"]))
            first, last = arrays.get("trail.span", self.span)  # older files do not have it
            self.span = int(first), int(last)
            self.alerts = [Alert.from_json(line) for line in unpack_strings(arrays["trail.alerts"])]
        except (KeyError, ValueError, TypeError) as error:
            raise ModelFileError(f"the slices in the model file cannot be read: {error}") from None
        self.slices = schema.read(Slices, arrays, "slices")
        self.courses = schema.read(Courses, arrays, "courses", {"names": len(self.names)})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return list(value)
    return None if isinstance(value, float) and not np.isfinite(value) else value
