"""Sinks for rows: JSON lines in a file, which can be truncated to a position, or on standard output."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from bayou.data.errors import DataError
from bayou.data.untrusted import json_text


class Sink(Protocol):
    """Receives rows in order; every row has its number ``n`` and an ``id``."""

    name: str

    def begin(self, position: int | None) -> None:
        """Return to a position; None: nothing was written yet."""

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows."""

    def position(self) -> int:
        """The position behind the last row."""

    def sync(self) -> None:
        """Return when all rows so far would survive a power cut."""

    def close(self) -> None:
        """Close files and connections."""


class ServerSink:
    """The part that sinks on a server share; a position is the number of the last row."""

    name: str
    _db: Any
    _n: int

    def _start_at(self, position: int | None, there: int, what: str) -> None:
        """Continue after a position; without one the server must hold no predictions."""
        if position is None and there:
            raise DataError(
                f"{self.name} already holds predictions, up to number {there}; give another {what}, or the "
                "--state that belongs to it"
            )
        self._n = position or 0

    def position(self) -> int:
        """The number of the last row."""
        return self._n

    def sync(self) -> None:
        """Nothing: the server makes rows durable, by its settings."""

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


class StandardOutput:
    """JSON lines on standard output; a position is a number of rows.

    Output cannot be withdrawn. After an interruption the rows since the last checkpoint are written again,
    with the same numbers.
    """

    name = "standard output"

    def begin(self, position: int | None) -> None:
        """Continue the count of rows."""
        self._n = position or 0

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write lines."""
        sys.stdout.flush()
        for row in rows:
            sys.stdout.buffer.write(_line(row))
        sys.stdout.buffer.flush()
        self._n += len(rows)

    def position(self) -> int:
        """Number of rows so far."""
        return self._n

    def sync(self) -> None:
        """Nothing: `write` has flushed the rows."""

    def close(self) -> None:
        """Nothing: standard output stays open."""


def _line(row: dict[str, Any]) -> bytes:
    return json_text(row).encode() + b"\n"


class JsonLines:
    """A file of JSON lines; a position is a byte offset."""

    def __init__(self, path: str) -> None:
        self.name = path

    def begin(self, position: int | None) -> None:
        """Open the file and truncate it at the position."""
        self._file = open(self.name, "ab")  # noqa: SIM115 - closed by close()
        size = os.fstat(self._file.fileno()).st_size
        if position is None and size:
            self._file.close()
            raise DataError(
                f"{self.name} already holds rows; give another file, or the --state that belongs to it"
            )
        self._at = position or 0
        if size < self._at:
            self._file.close()
            raise DataError(
                f"{self.name} has {size} bytes, but {self._at} were written; restore the file, or start "
                "again with another --state"
            )
        self._file.truncate(self._at)

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append lines and flush them."""
        for row in rows:
            line = _line(row)
            self._file.write(line)
            self._at += len(line)
        self._file.flush()

    def position(self) -> int:
        """Number of bytes so far."""
        return self._at

    def sync(self) -> None:
        """Flush the rows to the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
