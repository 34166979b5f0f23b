"""What a source gives, and what every source can do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError
from bayou.data.records import not_json

SHOWN = 2_000  # characters of a record that is kept among the dead letters

Position = dict[str, Any]  # as JSON has it
U64 = NDArray[np.uint64]


class Item(NamedTuple):
    """One record of a stream, or what came in its place."""

    where: str
    record: dict[str, Any] | None  # None: it cannot be read, for the reason
    raw: str
    reason: str = ""


class Source:
    """Records in an order, from a position on.

    `read` gives some and moves `position` behind the last of them. Whoever has seen to it that records are
    not needed again says so with `acknowledge`. What is too long for a position is kept in `memory`.
    """

    name: str  # with which the source was opened; a position belongs to it
    unit = "records"  # of `lag`
    ended = False  # no record will come any more
    remarks: Callable[[str], None] = staticmethod(lambda text: None)  # what somebody should know

    def begin(self, position: Position | None, memory: U64) -> None:
        """Go to a position of this source; None is its beginning."""
        raise TypeError(f"{type(self).__name__} does not say how it begins")

    def read(self, n: int, wait: float) -> list[Item]:
        """The next records, ``n`` at most; after ``wait`` seconds without any, none."""
        raise TypeError(f"{type(self).__name__} does not say how it is read")

    def position(self) -> Position:
        """Behind the last record that was given."""
        raise TypeError(f"{type(self).__name__} does not say where it is")

    def memory(self, position: Position) -> U64:
        """What `begin` needs beside that position."""
        return np.zeros(0, np.uint64)

    def lag(self) -> int | None:
        """How far behind the end of the source this is, where that can be told."""
        return None

    def acknowledge(self, position: Position) -> None:
        """Records before the position will never be asked for again."""

    def close(self) -> None:
        """Let go of files and connections."""


def parse_item(where: str, text: str) -> Item:
    """An item of one JSON object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Item(where, None, text[:SHOWN], not_json(error))
    if not isinstance(record, dict):
        return Item(where, None, text[:SHOWN], "expected a JSON object")
    return Item(where, record, "")


def format_record(item: Item) -> str:
    """The record as it is kept among the dead letters."""
    if item.record is None:
        return item.raw
    return json.dumps(item.record, ensure_ascii=False, default=str)[:SHOWN]


def fingerprint(text: str) -> int:
    """Eight bytes that tell names apart."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class Recent:
    """Names of the latest documents, to know one that comes again.

    More than ``size`` are kept until `trim`, so that what is known of a document depends on the documents
    before it and not on when the stream was interrupted.
    """

    def __init__(self, size: int, kept: U64) -> None:
        self.size = size
        self._order = [int(x) for x in kept]
        self._known = set(self._order)

    def is_new(self, name: Any) -> bool:
        """Whether no such name is remembered; it is from now on."""
        if not self.size:
            return True
        mark = fingerprint(str(name))
        if mark in self._known:
            return False
        self._known.add(mark)
        self._order.append(mark)
        return True

    def trim(self) -> None:
        """Forget all but the latest."""
        extra = len(self._order) - self.size
        if extra > 0:
            self._known.difference_update(self._order[:extra])
            del self._order[:extra]

    def __len__(self) -> int:
        return len(self._order)

    def array(self, n: int) -> U64:
        """The first ``n`` of those that are remembered."""
        return np.array(self._order[:n], np.uint64)


def field_of(position: Mapping[str, Any], name: str, kind: Any) -> Any:
    """A part of a position that was read from a file."""
    value = position.get(name)
    if not isinstance(value, kind):
        raise DataError(f"the position in the checkpoint is damaged: {name} is {value!r:.40}")
    return value
