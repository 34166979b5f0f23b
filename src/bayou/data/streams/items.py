"""Records of a stream, and the interface of all sources."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import DataError
from bayou.data.records import not_json

SHOWN = 2_000  # characters kept of a record among the dead letters

Position = dict[str, Any]  # JSON
U64 = NDArray[np.uint64]


class Item(NamedTuple):
    """One record of a stream, or an unusable one."""

    where: str
    record: dict[str, Any] | None  # None: unusable, see the reason
    raw: str
    reason: str = ""


class Source(ABC):
    """Records in order, from a position on.

    `read` returns records and moves `position` behind the last one. The caller calls `acknowledge` for
    records that are not needed again. State that is too long for a position is in `memory`.
    """

    name: str  # the address of the source; a position is only valid for this source
    unit = "records"  # of `lag`
    ended = False  # whether the source is exhausted
    remarks: Callable[[str], None] = staticmethod(
        lambda text: None
    )  # receives warnings for the user

    @abstractmethod
    def begin(self, position: Position | None, memory: U64) -> None:
        """Start at a position of this source; None is its beginning."""

    @abstractmethod
    def read(self, n: int, wait: float) -> list[Item]:
        """The next records, at most ``n``; an empty list after ``wait`` seconds without any."""

    @abstractmethod
    def position(self) -> Position:
        """The position behind the last record returned by `read`."""

    def memory(self, position: Position) -> U64:
        """The state that `begin` needs in addition to this position."""
        return np.zeros(0, np.uint64)

    def lag(self) -> int | None:
        """Distance to the end of the source, or None if unknown."""
        return None

    def acknowledge(self, position: Position) -> None:  # noqa: B027 - optional for sources
        """Release the records before the position, which will not be read again."""

    def close(self) -> None:  # noqa: B027 - optional for sources
        """Close files and connections."""


def parse_item(where: str, text: str) -> Item:
    """Parse one JSON object."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        return Item(where, None, text[:SHOWN], not_json(error))
    if not isinstance(record, dict):
        return Item(where, None, text[:SHOWN], "expected a JSON object")
    return Item(where, record, "")


def format_record(item: Item) -> str:
    """The record in the form kept among the dead letters."""
    if item.record is None:
        return item.raw
    return json.dumps(item.record, ensure_ascii=False, default=str)[:SHOWN]


def fingerprint(text: str) -> int:
    """A 64-bit hash of a name."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class Recent:
    """Ids of the most recent documents, to detect duplicates.

    More than ``size`` ids are kept until `trim`. Whether a document is a duplicate therefore depends only on
    the documents before it, not on when the stream was interrupted.
    """

    def __init__(self, size: int, kept: U64) -> None:
        self.size = size
        self._order = [int(x) for x in kept]
        self._known = set(self._order)

    def is_new(self, name: Any) -> bool:
        """Add a name; return whether it was not in the set."""
        if not self.size:
            return True
        mark = fingerprint(str(name))
        if mark in self._known:
            return False
        self._known.add(mark)
        self._order.append(mark)
        return True

    def trim(self) -> None:
        """Drop all but the latest ``size`` names."""
        extra = len(self._order) - self.size
        if extra > 0:
            self._known.difference_update(self._order[:extra])
            del self._order[:extra]

    def __len__(self) -> int:
        return len(self._order)

    def array(self, n: int) -> U64:
        """The fingerprints of the first ``n`` names in the set."""
        return np.array(self._order[:n], np.uint64)


def field_of(position: Mapping[str, Any], name: str, kind: Any) -> Any:
    """A field of a position that was read from a file, checked for its type."""
    value = position.get(name)
    if not isinstance(value, kind):
        raise DataError(f"the position in the checkpoint is damaged: {name} is {value!r:.40}")
    return value
