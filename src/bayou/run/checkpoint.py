"""Checkpoints: a NamedTuple of arrays and numbers in one file, from which training resumes bit for bit."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayou.data import container, schema
from bayou.data.errors import ModelFileError
from bayou.run.loop import Info

T = TypeVar("T", bound=tuple[Any, ...])


def arrays_of(state: Any, prefix: str = "state") -> dict[str, NDArray[Any]]:
    """The fields of a state as arrays; numbers become arrays without dimensions."""
    return {f"{prefix}.{name}": np.asarray(value) for name, value in state._asdict().items()}


def state_of(kind: type[T], arrays: Mapping[str, NDArray[Any]], prefix: str = "state") -> T:
    """The inverse of `arrays_of`."""
    values = {}
    for name in kind._fields:  # type: ignore[attr-defined]
        if f"{prefix}.{name}" not in arrays:
            raise ModelFileError(
                f"the file lacks the array {prefix}.{name}; start again without it"
            )
        array = arrays[f"{prefix}.{name}"]
        values[name] = array.item() if array.ndim == 0 else array
    return kind(**values)


def write(path: str | os.PathLike[str], state: Any, manifest: Mapping[str, Any]) -> None:
    """Write a checkpoint. A failed write leaves an existing file as it was."""
    container.save(path, arrays_of(state), {"kind": "checkpoint", **manifest})


def read(
    path: str | os.PathLike[str],
    kind: type[T],
    manifest: Mapping[str, Any],
    dims: Mapping[str, int] | None = None,
) -> T | None:
    """The state in a checkpoint, or None if there is no file.

    ``manifest`` must equal the one that the checkpoint was written with: data and parameters may not
    change during a run. ``dims`` are sizes that the arrays must have.
    """
    if not os.path.exists(path):
        return None
    arrays, found = container.load(path)
    if found.get("kind") != "checkpoint":
        raise ModelFileError(f"{path} holds {found.get('kind')!r}, not a checkpoint")
    wanted = {"kind": "checkpoint", **manifest}
    differs = sorted(k for k in {*found, *wanted} if found.get(k) != wanted.get(k))
    if differs:
        raise ModelFileError(
            f"the checkpoint {path} was written with other {', '.join(differs)}; "
            "give the same data and parameters, or another path"
        )
    if not schema.is_declared(kind):
        return state_of(kind, arrays)
    try:
        return schema.read(kind, arrays, "state", dims)
    except ModelFileError as error:
        raise ModelFileError(f"the checkpoint {path} cannot be used: {error}") from None


def digest(arrays: Iterable[NDArray[Any]]) -> str:
    """SHA-256 of data, which shows whether training resumes on the same data."""
    out = hashlib.sha256()
    for array in arrays:
        out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()


class Saver:
    """Writes a checkpoint every ``every`` passes, and one if training is stopped in between.

    If ``path`` is None, nothing is written. ``describe`` gives the manifest that a checkpoint must have.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        every: int = 1,
        describe: Callable[[], Any] = dict,
    ) -> None:
        self.path, self.every = path, every
        self.manifest = None if path is None else describe()

    def read(self, kind: type[T], dims: Mapping[str, int] | None = None) -> T | None:
        """The state to resume from, if there is one."""
        return None if self.path is None else read(self.path, kind, self.manifest or {}, dims)

    def after(self, state: Any, info: Info) -> None:
        """Call it after each pass."""
        if self.path is not None and info.step % self.every == 0:
            write(self.path, state, self.manifest or {})

    def save_on_stop(self, state: Any, info: Info) -> None:
        """Call it when a callback or the time limit has ended training."""
        if self.path is not None and info.step % self.every:
            write(self.path, state, self.manifest or {})
