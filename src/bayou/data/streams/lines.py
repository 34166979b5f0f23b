"""Lines of bytes from a file or a pipe, gzip or plain, from any byte on, while the file grows."""

from __future__ import annotations

import hashlib
import os
import select
import stat
import time
import zlib
from collections import deque
from typing import Any, NamedTuple

from bayou.data.errors import DataError
from bayou.data.lines import STDIN, check_stdin, describe

_CHUNK, _HEAD, _NAP = 2**18, 4096, 0.05
_SEAM = 512  # bytes before the position that are compared, to notice a file that was written again
_PACKED = 2**14  # bytes of gzip data per read: they expand to 17 MB at most
_GZIP, _UTF16 = b"\x1f\x8b", (b"\xff\xfe", b"\xfe\xff")
_EITHER = 32 + zlib.MAX_WBITS  # zlib or gzip, detected by the first bytes


class Line(NamedTuple):
    """A line without its end; ``size`` includes the end, and the dropped bytes of an over-long line."""

    text: bytes
    size: int
    whole: bool = True


class Place(NamedTuple):
    """A byte offset in the decompressed contents, with the identity of the file."""

    offset: int
    head: str  # digest of its first bytes
    n_head: int
    inode: int


class LineReader:
    """Lines of one file; ``at`` is the byte after the last line returned."""

    def __init__(self, path: str, max_line_bytes: int, place: Place | None = None) -> None:
        self.path, self.name, self._most = path, describe(path), max_line_bytes
        if path == STDIN:
            check_stdin()
        self._fd = 0 if path == STDIN else os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._pipe = not stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._packed = not self._pipe and os.pread(self._fd, 2, 0) == _GZIP
        self.inode = 0 if self._pipe else os.fstat(self._fd).st_ino
        self._lines: deque[Line] = deque()
        self._tail = self._head = self._last = b""
        self._unzip: Any = None
        self._lost = 0  # bytes of an over-long line that were dropped
        self.at = self.n_raw = self._n_out = 0
        self._begun = self.at_end = False
        if place is not None and place.offset:
            self._go_to(place)

    def place(self, offset: int) -> Place:
        """A place to resume from, for a byte that was already passed."""
        n = min(_HEAD, offset)
        return Place(offset, hashlib.sha256(self._head[:n]).hexdigest(), n, self.inode)

    def _go_to(self, place: Place) -> None:
        """Read up to an earlier place, or seek to it; the file must be the same up to there."""
        if not self._pipe and not self._packed:
            self._head = os.pread(self._fd, _HEAD, 0)
            self.at = self._n_out = self.n_raw = os.lseek(self._fd, place.offset, os.SEEK_SET)
            self._begun = True
        while self._n_out < place.offset and not self.at_end:
            self._skip(place.offset)
        head = hashlib.sha256(self._head[: place.n_head]).hexdigest()
        if self._n_out < place.offset or head != place.head or self._is_short(place.offset):
            raise DataError(
                f"{self.name} does not begin with the same bytes as when the stream was interrupted; give "
                "the same documents from the beginning, or another --state"
            )
        self.at = place.offset

    def _is_short(self, offset: int) -> bool:
        size = os.fstat(self._fd).st_size
        return not self._pipe and not self._packed and size < offset

    def _skip(self, offset: int) -> None:
        data = self._bytes(None)
        if data is not None:
            beyond = self._n_out - offset
            if beyond > 0:
                self._cut(data[len(data) - beyond :])

    def next(self, wait: float) -> Line | None:
        """The next complete line, within ``wait`` seconds; after `at_end` there may be a `rest`."""
        until = time.monotonic() + wait
        while not self._lines:
            data = self._bytes(max(until - time.monotonic(), 0.0))
            if data is None or self.at_end:
                return None
            self._cut(data)
        return self._finish_line(self._lines.popleft())

    def rest(self) -> Line | None:
        """The bytes after the last line end, when no more will follow."""
        if not self._tail and not self._lost:
            return None
        line = Line(self._tail, len(self._tail) + self._lost, not self._lost)
        self._tail, self._lost = b"", 0
        return self._finish_line(line)

    def _finish_line(self, line: Line) -> Line:
        first = self.at == 0
        self.at += line.size
        whole = line.whole and len(line.text) <= self._most
        text = line.text.removeprefix(b"\xef\xbb\xbf") if first else line.text
        return Line(text if whole else text[:200], line.size, whole)

    def _bytes(self, wait: float | None) -> bytes | None:
        """Decompressed bytes, possibly none; None if there are none within the time. Sets `at_end`."""
        if self._pipe and not select.select([self._fd], [], [], wait)[0]:
            return None
        if (
            not self._is_unchanged()
        ):  # truncated and written again, so more bytes are not the next ones
            self.at_end = True
            return b""
        raw = os.read(self._fd, _CHUNK if self._begun and self._unzip is None else _PACKED)
        self.n_raw += len(raw)
        self._last = (self._last + raw)[-_SEAM:] if len(raw) < _SEAM else raw[-_SEAM:]
        if not raw:
            self.at_end = True
            if self._unzip is not None and not self._unzip.eof:
                raise DataError(f"{self.name}: the gzip data is truncated")
            return b""
        self.at_end = False
        if not self._begun:
            self._begun = True
            if raw[:2] in _UTF16:
                raise DataError(f"{self.name}: the text is UTF-16; save it as UTF-8")
            if raw[:2] == _GZIP:
                self._unzip = zlib.decompressobj(_EITHER)
        data = raw if self._unzip is None else self._decompress(raw)
        if self._n_out < _HEAD:
            self._head = (self._head[: self._n_out] + data)[:_HEAD]
        self._n_out += len(data)
        return data

    def _decompress(self, raw: bytes) -> bytes:
        out = b""
        try:
            while raw:
                if self._unzip is None or self._unzip.eof:  # concatenated gzip members
                    self._unzip = zlib.decompressobj(_EITHER)
                out += self._unzip.decompress(raw)
                raw = self._unzip.unused_data
        except zlib.error as error:
            raise DataError(f"{self.name}: the gzip data is damaged ({error})") from None
        return out

    def _cut(self, data: bytes) -> None:
        """Queue complete lines and keep the rest; of an over-long line only its beginning is kept."""
        *ended, rest = data.split(b"\n")
        for text in ended:
            size = len(self._tail) + len(text) + self._lost + 1
            whole = not self._lost
            self._lines.append(Line(self._tail + (text if whole else b""), size, whole))
            self._tail, self._lost = b"", 0
        if self._lost:
            self._lost += len(rest)
            return
        self._tail += rest
        if len(self._tail) > self._most:
            self._lost = len(self._tail) - 200
            self._tail = self._tail[:200]

    def is_replaced(self) -> bool | None:
        """Whether another file has this name by now; None: the same file, but truncated or rewritten."""
        if self._pipe or self._packed:
            return False
        try:
            now = os.stat(self.path)
        except FileNotFoundError:
            return False  # moved; the successor does not exist yet
        if now.st_ino != self.inode:
            return True
        return None if now.st_size < self._n_out or not self._is_unchanged() else False

    def _is_unchanged(self) -> bool:
        """Whether the bytes before the position are those that were read."""
        if self._pipe or self._packed or not self._last:
            return True
        return os.pread(self._fd, len(self._last), self.n_raw - len(self._last)) == self._last

    def lag(self) -> int | None:
        """Number of bytes left to read, or None if unknown."""
        if self._pipe or self._packed:
            return None
        return max(os.fstat(self._fd).st_size - self.at, 0)

    def close(self) -> None:
        """Close the file."""
        if self._fd:
            os.close(self._fd)


def is_continued_by(path: str, place: Place) -> bool:
    """Whether a file without compression begins with the bytes before a place."""
    try:
        with open(path, "rb") as file:
            head = file.read(place.n_head)
            return (
                os.fstat(file.fileno()).st_size >= place.offset
                and hashlib.sha256(head).hexdigest() == place.head
                and head[:2] != _GZIP
            )
    except OSError:
        return False


def nap(until: float) -> None:
    """Sleep briefly while a file may grow, at most until the given time."""
    time.sleep(max(min(_NAP, until - time.monotonic()), 0.0))
