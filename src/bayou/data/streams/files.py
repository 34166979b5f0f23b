"""Files of JSON lines or of a table, and standard input, as a source; the last file may grow."""

from __future__ import annotations

import contextlib
import csv
import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from bayou.data.errors import DataError
from bayou.data.lines import MAX_LINE_BYTES, STDIN, EncodingErrors, describe
from bayou.data.records import same_name
from bayou.data.streams.items import SHOWN, U64, Item, Position, Source, field_of, parse_item
from bayou.data.streams.lines import Line, LineReader, Place, is_continued_by, nap
from bayou.data.streams.table import RowReader

FORMATS = ("jsonl", "csv", "tsv")
_DIGITS = 3  # at most, in the number of a rotated file; more digits are a date


class ReadSettings(NamedTuple):
    """Options for reading the bytes of files."""

    format: str = "jsonl"
    follow: bool = False
    encoding_errors: EncodingErrors = "strict"
    max_line_bytes: int = MAX_LINE_BYTES


class Files(Source):
    """Records of files, one file after the other.

    A position is the byte after the last record. With ``follow``, reading continues as the last file grows,
    and in its successor after a rotation. Standard input cannot seek: to resume, it must supply the same
    bytes again, which are skipped.
    """

    unit = "bytes"

    def __init__(self, paths: Sequence[str], how: ReadSettings) -> None:
        if STDIN in paths and len(paths) > 1:
            raise DataError("standard input cannot be combined with files; give one or the other")
        if how.format not in FORMATS:
            raise DataError(f"a stream must be {', '.join(FORMATS)}, got format {how.format!r}")
        self.paths, self.how = list(paths), how
        self.name = " ".join(map(describe, paths))
        self.ended = False

    def begin(self, position: Position | None, memory: U64) -> None:
        """Open the file of the position and seek to its byte."""
        at = position or {}
        self._i = int(at.get("file", 0))
        self._line = int(at.get("line", 0))
        self._columns(at.get("columns"), str(at.get("delimiter", ",")))
        if self._i >= len(self.paths):
            raise DataError(
                f"the stream stopped in file {self._i + 1}, but {len(self.paths)} were given; give all files"
            )
        place = Place(*field_of(at, "place", list)) if at else None
        self._open(self._path(place), place)

    def _path(self, place: Place | None) -> str:
        """The path of the file; a rotated file is searched in the same folder."""
        path = self.paths[self._i]
        if place is None or path == STDIN or not place.inode:
            return path
        folder = os.path.dirname(path) or "."
        if os.path.exists(path) and os.stat(path).st_ino == place.inode:
            return path if is_continued_by(path, place) else self._copy(place) or path
        with os.scandir(folder) as entries:
            found = [e.path for e in entries if e.is_file() and e.inode() == place.inode]
        return found[0] if found else path

    def _copy(self, place: Place) -> str | None:
        """The newest copy of a file that was truncated after it was copied, or None."""
        path = self.paths[self._i]
        if not place.offset:
            return None
        with os.scandir(os.path.dirname(path) or ".") as entries:
            named = [
                e
                for e in entries
                if e.is_file() and e.name.startswith(f"{os.path.basename(path)}.")
            ]
        named.sort(key=lambda e: -e.stat().st_mtime_ns)
        return next((e.path for e in named if is_continued_by(e.path, place)), None)

    def _open(self, path: str, place: Place | None = None) -> None:
        self._reader = LineReader(path, self.how.max_line_bytes, place)
        self._mark = self._reader.at

    def _columns(self, columns: Any, delimiter: str = ",") -> None:
        self._table: RowReader | None = None
        if self.how.format != "jsonl":
            self._table = RowReader(self.how.format == "tsv", columns, delimiter)

    def position(self) -> Position:
        """File, byte and line after the last record."""
        out: Position = {"file": self._i, "place": list(self._reader.place(self._mark))}
        out["line"] = self._line
        if self._table is not None:
            out |= {"columns": self._table.columns, "delimiter": self._table.delimiter}
        return out

    def read(self, n: int, wait: float) -> list[Item]:
        """Complete lines; if there are none, wait up to ``wait`` seconds."""
        items: list[Item] = []
        until = time.monotonic() + wait
        while len(items) < n and not self.ended:
            line = self._reader.next(0.0 if items else max(until - time.monotonic(), 0.0))
            if line is None and not self._reader.at_end:
                break  # an empty pipe
            if line is None and self._waits():
                if items or time.monotonic() >= until:
                    break
                nap(until)
                continue
            item = self._end() if line is None else self._item(line)
            if item is not None:
                items.append(item)
        return items

    def _waits(self) -> bool:
        """Whether the file may still grow; asked at its end."""
        if not self.how.follow or self._i + 1 < len(self.paths) or self._reader.path == STDIN:
            return False
        if self._reader.path != self.paths[self._i]:  # rotated before the last interruption
            return not os.path.exists(self.paths[self._i])  # the successor may not exist yet
        other = self._reader.is_replaced()
        if other is None:
            self._go_on_after_truncation()
            return True
        return not other

    def _go_on_after_truncation(self) -> None:
        """Read the rest in a copy of the file, or the file again from its beginning."""
        place, path = self._reader.place(self._mark), self.paths[self._i]
        copy = self._copy(place)
        if copy is None:
            self.remarks(
                f"{self._reader.name} was truncated after {self._mark:,} bytes had been read, and is read "
                "again from the beginning; what was added to it after those bytes is lost"
            )
            return self._next_file(path)
        self.remarks(f"{self._reader.name} was truncated; the rest is read in its copy {copy}")
        before = self._reader
        if self._table is not None:
            self._table.drop()
        self._open(copy, place)
        return before.close()

    def _end(self) -> Item | None:
        """A last line without a line end, if any; then open the next file, or end the stream."""
        # the file may have grown between the last read and the check for a successor
        line = self._reader.next(0.0) or self._reader.rest()
        if line is not None:
            return self._item(line)
        item = None
        if self._table is not None and self._table.n_begun:
            item = self._poison(self._table.drop(), "the file ends inside quotes")
        rotated = self._reader.path != self.paths[self._i]
        if rotated or (self.how.follow and self._reader.is_replaced()):
            with contextlib.suppress(FileNotFoundError):
                self._next_file(self._successor())
                return item
            if self.how.follow and self._i + 1 == len(self.paths):
                return item  # wait for the successor
        if self._i + 1 < len(self.paths):
            self._i += 1
            self._next_file(self.paths[self._i])
        else:
            self.ended = True
        return item

    def _successor(self) -> str:
        """The file after a rotated one; several rotations may lie between it and the current file."""
        path = self.paths[self._i]
        here = self._path(self._reader.place(self._mark))  # it may have been renamed again
        number = here.removeprefix(f"{path}.").removesuffix(".gz")
        if not number.isdecimal() or len(number) > _DIGITS:
            with contextlib.suppress(FileNotFoundError):  # files may be renamed during the scan
                self._remark_on_others(path, here)
            return path
        for i in range(int(number) - 1, 0, -1):
            for name in (f"{path}.{i}", f"{path}.{i}.gz"):
                if os.path.exists(name):
                    return name
            self.remarks(f"{path}.{i} does not exist; its documents are not read")
        return path

    def _remark_on_others(self, path: str, here: str) -> None:
        """Name the files that may lie between two files whose names do not give the order."""
        folder, base = os.path.split(path)
        since = 0 if here == path else os.stat(here).st_mtime_ns
        known = (base, os.path.basename(here))
        with os.scandir(folder or ".") as entries:
            others = [e for e in entries if e.name.startswith(base) and e.name not in known]
            later = sorted(e.name for e in others if e.stat().st_mtime_ns > since)
        if later:
            self.remarks(
                f"{path} was rotated; files that may lie between are not read: {', '.join(later)}; to read "
                "one, give it as a file"
            )

    def _next_file(self, path: str) -> None:
        before = self._reader
        self._open(path)
        before.close()
        self._line = 0
        self._columns(None)

    def _item(self, line: Line) -> Item | None:
        self._line += 1
        if not line.whole:
            item: Item | None = self._poison(
                self._drop_line(line.text.decode("utf-8", "replace")),
                f"longer than {self.how.max_line_bytes} bytes",
            )
        else:
            item = self._decode_item(line.text)
        if self._table is None or not self._table.n_begun:
            self._mark = self._reader.at
        return item

    def _decode_item(self, data: bytes) -> Item | None:
        try:
            text = data.decode("utf-8", self.how.encoding_errors)
        except UnicodeDecodeError as error:
            shown = data.decode("utf-8", "backslashreplace")
            return self._poison(
                self._drop_line(shown), f"not valid UTF-8 (byte {error.start + 1} of the line)"
            )
        if self._table is not None:
            return self._row(text.rstrip("\r"))
        return parse_item(self._where(), text) if text.strip() else None

    def _row(self, text: str) -> Item | None:
        table = self._table
        assert table is not None
        try:
            row = table.add(text)
        except csv.Error as error:
            return self._poison(table.drop(), str(error))
        if table.n_begun > self.how.max_line_bytes:
            return self._poison(table.drop(), f"a row longer than {self.how.max_line_bytes} bytes")
        if row is None:
            return None
        if table.columns is None:
            if len(set(row)) != len(row):
                raise DataError(f"{self._where()}: {same_name(row)}")
            table.columns = row
            return None
        if len(row) != len(table.columns):
            problem = f"{len(row)} fields, but the header names {len(table.columns)} columns"
            return self._poison(text, problem)
        return Item(self._where(), dict(zip(table.columns, row, strict=True)), "")

    def _drop_line(self, text: str) -> str:
        """An unusable line, with the incomplete row before it."""
        begun = self._table.drop() if self._table is not None else ""
        return f"{begun}\n{text}" if begun else text

    def _where(self) -> str:
        return f"{self.paths[self._i]}, line {self._line}"

    def _poison(self, raw: str, reason: str) -> Item:
        return Item(self._where(), None, raw[:SHOWN], reason)

    def lag(self) -> int | None:
        """Number of bytes left to read, over all files."""
        here = self._reader.lag()
        if here is None:
            return None
        later = self.paths[self._i + 1 :]
        return here + sum(os.path.getsize(path) for path in later if os.path.exists(path))

    def close(self) -> None:
        """Close the file."""
        self._reader.close()
