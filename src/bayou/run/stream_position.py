"""The positions of a stream at the end of a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bayou.data.errors import DataError


class StreamPosition(NamedTuple):
    """Positions and counts at the end of a block."""

    position: dict[str, Any] | None
    n_docs: int
    n_dead: int
    n_repeated: int
    n_recent: int
    outputs: list[int | None]  # of the sinks, the last one for dead letters


def position_of(
    manifest: Mapping[str, Any], settings: Mapping[str, Any], n_sinks: int
) -> StreamPosition:
    """The position stored in a checkpoint, which must belong to the same stream."""
    stream = manifest.get("stream")
    if not isinstance(stream, dict) or not isinstance(stream.get("settings"), dict):
        raise DataError("the checkpoint holds no stream position; start again with another --state")
    found = stream["settings"]
    differs = sorted(k for k in {*found, *settings} if found.get(k) != settings.get(k))
    if differs:
        named = (f"{k} {found[k]}" if isinstance(found.get(k), int | str) else k for k in differs)
        raise DataError(
            f"the stream was started with other settings ({', '.join(named)}); give the same settings, or "
            "another --state"
        )
    try:
        mark = StreamPosition(**stream["mark"])
    except (KeyError, TypeError):
        raise DataError(
            "the stream position in the checkpoint is damaged; start again with another --state"
        ) from None
    if len(mark.outputs) != n_sinks:
        raise DataError(
            f"the checkpoint has {len(mark.outputs)} outputs, this command {n_sinks}; give the same outputs, "
            "or another --state"
        )
    return mark
