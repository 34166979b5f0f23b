"""A folder of text files as a source, one document per file; files may be added while it is read."""

from __future__ import annotations

import time
from collections import deque
from pathlib import Path

import numpy as np

from bayou.data.errors import BayouError, DataError
from bayou.data.records import Options, text_files, text_record
from bayou.data.streams.items import U64, Item, Position, Source, field_of, fingerprint

_LOOK = 1.0  # seconds between two scans of the folder


class Folder(Source):
    """Text files in order of their names, each once; files added later follow.

    A file must be complete when its name appears: write it under a name with a leading dot, then rename it.
    """

    unit = "files"

    def __init__(self, path: str, follow: bool, options: Options) -> None:
        self.name, self._path, self._follow, self._options = path, Path(path), follow, options
        self._queue: deque[tuple[int, Path]] = deque()
        self._looked = -_LOOK

    def begin(self, position: Position | None, memory: U64) -> None:
        """Restore the set of files that were read before."""
        if not self._path.is_dir():
            raise DataError(f"{self._path} is not a folder")
        n = field_of(position, "n_done", int) if position else 0
        self._done = [int(mark) for mark in memory[:n]]
        self._known = set(self._done)

    def position(self) -> Position:
        """The number of files read so far; `memory` holds their names."""
        return {"n_done": len(self._done)}

    def memory(self, position: Position) -> U64:
        """The fingerprints of the names of files read so far, eight bytes each."""
        return np.array(self._done[: position["n_done"]], np.uint64)

    def read(self, n: int, wait: float) -> list[Item]:
        """The next files; if there are none, wait up to ``wait`` seconds."""
        until = time.monotonic() + wait
        while not self._queue:
            self._look()
            if self._queue:
                break
            if not self._follow:
                self.ended = True
                return []
            if time.monotonic() >= until:
                return []
            time.sleep(max(min(_LOOK / 4, until - time.monotonic()), 0.0))
        return [self._item(*self._queue.popleft()) for _ in range(min(n, len(self._queue)))]

    def _look(self) -> None:
        if time.monotonic() - self._looked < _LOOK and self._follow:
            return
        self._looked = time.monotonic()
        for path in text_files(self._path):
            mark = fingerprint(path.relative_to(self._path).as_posix())
            if mark not in self._known:
                self._known.add(mark)
                self._queue.append((mark, path))

    def _item(self, mark: int, path: Path) -> Item:
        self._done.append(mark)
        try:
            return Item(str(path), text_record(path, self._path, self._options), "")
        except (BayouError, OSError) as error:
            return Item(str(path), None, path.name, str(error))

    def lag(self) -> int | None:
        """Number of known files that are not read yet."""
        return len(self._queue)
