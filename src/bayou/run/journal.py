"""A folder of checkpoints for one process: resume from the newest intact one, prune old ones."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from numpy.typing import NDArray

from bayou.data import container
from bayou.data.errors import DamagedFileError, DataError, ModelFileError

_NAME = re.compile(r"checkpoint-(\d{10})\.bayou")
_TORN = re.compile(r"\.checkpoint-\d{10}\.bayou\.\d+-\d+\.tmp")

Arrays = dict[str, NDArray[Any]]


class CheckpointContents(NamedTuple):
    """The contents of a checkpoint."""

    arrays: Arrays
    manifest: dict[str, Any]


class Journal:
    """Numbered checkpoints in a folder; each is written completely or not at all.

    Parameters
    ----------
    folder : path
        Created if it does not exist. A second process that opens it gets an error.
    keep : int
        Number of checkpoints to keep. All but the newest are fallbacks in case it is damaged.
    told : function of a text, optional
        Receives a message for each damaged checkpoint.
    """

    def __init__(
        self, folder: str | os.PathLike[str], keep: int = 3, told: Callable[[str], None] = print
    ) -> None:
        self.folder, self._keep, self._told = Path(folder), keep, told
        self.n_damaged = 0
        self.folder.mkdir(exist_ok=True)
        for name in ("lock", "model.bayou"):
            if (self.folder / name).is_symlink():
                raise DataError(f"{self.folder / name} is a symbolic link; remove it")
        self._lock = _lock(self.folder / "lock")
        for path in self.folder.iterdir():
            if _TORN.fullmatch(path.name):  # the process that wrote it is gone
                path.unlink(missing_ok=True)

    def paths(self) -> list[Path]:
        """The checkpoints, oldest first."""
        found = (path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        return sorted(found)

    def newest(self) -> CheckpointContents | None:
        """The contents of the newest intact checkpoint, or None if there are no checkpoints.

        Damaged checkpoints after it are renamed, and new ones take their numbers. If none is intact, all stay
        as they are and an error is raised, so that no stream starts anew unnoticed. A checkpoint that cannot
        be read for another reason, such as one of a newer bayou, also stays and is an error.
        """
        paths = self.paths()
        damaged: list[Path] = []
        for path in reversed(paths):
            try:
                kept = CheckpointContents(*container.load(path))
            except DamagedFileError as error:
                self._told(f"{error}; using the previous checkpoint")
                self.n_damaged += 1
                damaged.append(path)
                continue
            for other in damaged:
                other.replace(other.with_name(f"{other.name}.damaged"))
            return kept
        if paths:
            raise ModelFileError(
                f"none of the {len(paths)} checkpoints in {self.folder} is intact; start again with "
                "another --state"
            )
        return None

    def write(self, arrays: Mapping[str, NDArray[Any]], manifest: Mapping[str, Any]) -> Path:
        """Add a checkpoint, then prune."""
        paths = self.paths()
        number = int(_NAME.fullmatch(paths[-1].name)[1]) + 1 if paths else 1  # type: ignore[index]
        path = self.folder / f"checkpoint-{number:010d}.bayou"
        container.save(path, arrays, manifest)
        for old in [*paths, path][: -self._keep]:
            old.unlink(missing_ok=True)
        return path

    def oldest_manifest(self) -> dict[str, Any]:
        """The manifest of the oldest checkpoint, the earliest one that a resume can use."""
        for path in self.paths():
            with contextlib.suppress(ModelFileError):
                return container.peek(path)
        return {}

    def close(self) -> None:
        """Release the lock of the folder."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(path: Path) -> int | None:
    """A lock that the system releases when the process ends; None if the system has no such locks.

    The file names its holder, for the message that another process gets.
    """
    try:
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
        os.close(descriptor)
        raise DataError(
            f"another process{f' ({holder})' if holder else ''} uses {path.parent}; wait until it ends, or "
            "give another --state"
        ) from None
    os.ftruncate(descriptor, 0)
    now = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} since {now}\n".encode())
    return descriptor
