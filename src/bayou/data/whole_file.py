"""Atomic writing of files."""

import contextlib
import errno
import itertools
import os
import stat
from collections.abc import Iterable
from pathlib import Path

_serial = itertools.count()
_BINARY = getattr(os, "O_BINARY", 0)


def replace_file(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file atomically: after a power cut, either the old or the new file is complete.

    An existing file keeps its permissions.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_serial)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists() and hasattr(os, "fchmod"):  # a private file stays private
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            for part in parts:
                file.write(part)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a power cut, if the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # not all file systems support it
            raise
    finally:
        os.close(descriptor)
