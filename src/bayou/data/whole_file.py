"""Files that are written wholly or not at all."""

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
    """Put a file in the place of the one that is there, in one step that a power cut cannot halve.

    Whoever may read the old one may read the new one, and nobody else.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{next(_serial)}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if path.exists() and hasattr(os, "fchmod"):  # a private model stays private
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
    """Make the new name survive a power cut, where the system has a way to ask for it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some file systems cannot
            raise
    finally:
        os.close(descriptor)
