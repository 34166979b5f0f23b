"""A folder of checkpoints: one process goes on from the newest that is whole, old ones are pruned."""

from __future__ import annotations

import contextlib
import os
import re
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
    """What a checkpoint holds."""

    arrays: Arrays
    manifest: dict[str, Any]


class Journal:
    """Checkpoints in a folder, numbered; each is written wholly or not at all.

    Parameters
    ----------
    folder : path
        Made if it is not there. A second process that opens it is refused.
    keep : int
        Checkpoints that are left when older ones are pruned. All but the newest are for the case that it
        is damaged.
    told : function of a text, optional
        Hears of checkpoints that are damaged.
    """

    def __init__(
        self, folder: str | os.PathLike[str], keep: int = 3, told: Callable[[str], None] = print
    ) -> None:
        self.folder, self._keep, self._told = Path(folder), keep, told
        self.n_damaged = 0
        self.folder.mkdir(exist_ok=True)
        self._lock = _lock(self.folder / "lock")
        for path in self.folder.iterdir():
            if _TORN.fullmatch(path.name):  # the process that wrote it is gone
                path.unlink(missing_ok=True)

    def paths(self) -> list[Path]:
        """The checkpoints, oldest first."""
        found = (path for path in self.folder.iterdir() if _NAME.fullmatch(path.name))
        return sorted(found)

    def newest(self) -> CheckpointContents | None:
        """What the newest checkpoint holds that is whole, or None where there is none at all.

        Damaged ones behind it are renamed: what follows is written in their place. Where none is whole they
        stay, so that nobody begins anew without having been told; and so does one that is not damaged but
        cannot be read, such as that of a newer bayou.
        """
        paths = self.paths()
        damaged: list[Path] = []
        for path in reversed(paths):
            try:
                kept = CheckpointContents(*container.load(path))
            except DamagedFileError as error:
                self._told(f"{error}; going back to the checkpoint before it")
                self.n_damaged += 1
                damaged.append(path)
                continue
            for other in damaged:
                other.replace(other.with_name(f"{other.name}.damaged"))
            return kept
        if paths:
            raise ModelFileError(
                f"none of the {len(paths)} checkpoints in {self.folder} is whole; begin anew with "
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
        """What the oldest checkpoint says of itself: nothing before it will be gone back to."""
        for path in self.paths():
            with contextlib.suppress(ModelFileError):
                return container.peek(path)
        return {}

    def close(self) -> None:
        """Let another process in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _lock(path: Path) -> int | None:
    """A lock that ends with the process, however it ends; None where the system has none."""
    try:
        import fcntl
    except ImportError:
        return None
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise DataError(
            f"another process is at work in {path.parent}; wait for its end, or name another --state"
        ) from None
    return descriptor
