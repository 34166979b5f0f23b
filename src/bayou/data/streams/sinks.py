"""Where rows go: a file of JSON lines that can be cut back to a position."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import Any, Protocol

from bayou.data.errors import DataError


class Sink(Protocol):
    """Takes rows in order; every row has its number ``n`` and an ``id``."""

    name: str

    def begin(self, position: int | None) -> None:
        """Go back to a position; None: nothing was written yet."""

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows."""

    def position(self) -> int:
        """Behind the last row."""

    def sync(self) -> None:
        """Return when the rows so far survive a power cut."""

    def close(self) -> None:
        """Let go of files and connections."""


class StandardOutput:
    """JSON lines for whoever reads them; a position is a number of rows.

    What was read cannot be taken back: rows since the last checkpoint come again after an interruption, with
    the same numbers.
    """

    name = "standard output"

    def begin(self, position: int | None) -> None:
        """Go on counting."""
        self._n = position or 0

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Write lines."""
        sys.stdout.flush()
        for row in rows:
            sys.stdout.buffer.write(_line(row))
        sys.stdout.buffer.flush()
        self._n += len(rows)

    def position(self) -> int:
        """Rows so far."""
        return self._n

    def sync(self) -> None:
        """They are gone already."""

    def close(self) -> None:
        """It is not ours to close."""


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"\n"


class JsonLines:
    """A file of JSON lines; a position is a byte."""

    def __init__(self, path: str) -> None:
        self.name = path

    def begin(self, position: int | None) -> None:
        """Open the file and cut off what is behind the position."""
        self._file = open(self.name, "ab")  # noqa: SIM115 - closed by close()
        size = os.fstat(self._file.fileno()).st_size
        if position is None and size:
            self._file.close()
            raise DataError(
                f"{self.name} holds rows already; name another file, or the --state that goes with it"
            )
        self._at = position or 0
        if size < self._at:
            self._file.close()
            raise DataError(
                f"{self.name} has {size} bytes, but {self._at} were written; bring it back, or begin anew "
                "with another --state"
            )
        self._file.truncate(self._at)

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add lines; readers see them at once."""
        for row in rows:
            line = _line(row)
            self._file.write(line)
            self._at += len(line)
        self._file.flush()

    def position(self) -> int:
        """Bytes so far."""
        return self._at

    def sync(self) -> None:
        """Onto the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file."""
        self._file.close()
