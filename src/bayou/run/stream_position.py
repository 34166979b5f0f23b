"""Where a stream stood at the end of a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayou.data.errors import DataError


class StreamPosition(NamedTuple):
    """The end of a block."""

    position: dict[str, Any] | None
    n_docs: int
    n_dead: int
    n_repeated: int
    n_recent: int
    outputs: list[int | None]  # of the sinks, and of the dead letters


def position_of(
    manifest: Mapping[str, Any], settings: Mapping[str, Any], n_sinks: int
) -> StreamPosition:
    """The mark in a checkpoint, which must be of the same stream."""
    stream = manifest.get("stream")
    if not isinstance(stream, dict) or not isinstance(stream.get("settings"), dict):
        raise DataError("the checkpoint does not say where its stream was; begin anew")
    found = stream["settings"]
    differs = sorted(k for k in {*found, *settings} if found.get(k) != settings.get(k))
    if differs:
        named = (f"{k} {found[k]}" if isinstance(found.get(k), int | str) else k for k in differs)
        raise DataError(
            f"the stream was begun with other settings ({', '.join(named)}); give the same, or another "
            "--state"
        )
    try:
        mark = StreamPosition(**stream["mark"])
    except (KeyError, TypeError):
        raise DataError("the mark in the checkpoint is damaged; begin anew") from None
    if len(mark.outputs) != n_sinks:
        raise DataError("the checkpoint has other outputs; give the same, or another --state")
    return mark
