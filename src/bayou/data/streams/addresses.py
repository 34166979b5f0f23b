"""Open a source or a sink from an address: a path, or a URL with the name of a table or stream."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bayou.data.errors import DataError
from bayou.data.lines import STDIN
from bayou.data.records import Options, format_of_name
from bayou.data.streams.files import FORMATS, Files, ReadSettings
from bayou.data.streams.folder import Folder
from bayou.data.streams.items import Source
from bayou.data.streams.kafka import KafkaSource
from bayou.data.streams.kafka_client import parse_address
from bayou.data.streams.redis import RedisSink, RedisSource
from bayou.data.streams.sinks import JsonLines, Sink, StandardOutput
from bayou.data.streams.sql import SqlSink, SqlSource

_REDIS = ("redis", "rediss", "unix")
_KAFKA = "kafka://"


class SourceSettings(NamedTuple):
    """Settings for reading, for every kind of source."""

    format: str | None = None
    follow: bool = False
    key: str = "id"
    group: str = "bayou"
    overlap: int = 0
    options: Options = Options()


def split(address: str) -> tuple[str, str, str]:
    """Scheme, address and name of ``URL#name``; a path has no scheme.

    Examples
    --------
    >>> split("redis://localhost:6379/0#news")
    ('redis', 'redis://localhost:6379/0', 'news')
    >>> split("news.jsonl")
    ('', 'news.jsonl', '')
    """
    if "://" not in address:
        return "", address, ""
    url, _, name = address.partition("#")
    scheme = url.partition("://")[0]
    if not name:
        what = "stream" if scheme in _REDIS else "table"
        raise DataError(f"{address} does not name a {what}; add it after a #, as in {url}#news")
    return scheme, url, name


def open_source(addresses: Sequence[str], wanted: SourceSettings) -> Source:
    """Open one address, or several files."""
    if len(addresses) > 1:
        for address in addresses:
            if "://" in address or os.path.isdir(address):
                raise DataError(
                    f"{address} cannot be combined with other sources; give several files, or one source"
                )
        return Files(addresses, _reading(addresses, wanted))
    if addresses[0].startswith(_KAFKA):
        return KafkaSource(parse_address(addresses[0]), wanted.group, wanted.follow, wanted.options)
    scheme, address, name = split(addresses[0])
    if scheme in _REDIS:
        return RedisSource(address, name, wanted.group, wanted.follow)
    if scheme:
        return SqlSource(address, name, wanted.key, wanted.follow, wanted.overlap)
    if os.path.isdir(address):
        return Folder(address, wanted.follow, wanted.options)
    return Files([address], _reading([address], wanted))


def _reading(paths: Sequence[str], wanted: SourceSettings) -> ReadSettings:
    """The format as given or inferred from the names. Default: JSON lines."""
    form = wanted.format
    if form is None:
        found = {_form(path) for path in paths}
        if len(found) > 1:
            raise DataError(
                f"the files differ in format ({', '.join(sorted(found))}); give files of one format"
            )
        form = found.pop()
    return ReadSettings(form, wanted.follow, *wanted.options)


def _form(path: str) -> str:
    if path == STDIN:
        return "jsonl"
    try:
        form = format_of_name(Path(path))  # a file that was just rotated may not exist
    except DataError:
        return "jsonl"
    if form not in FORMATS:
        raise DataError(f"{path}: a {form} file cannot be read while it grows; use `bayou update`")
    return form


def open_sink(address: str) -> Sink:
    """Open the sink of an address."""
    if address.startswith(_KAFKA):
        raise DataError(
            f"{address}: Kafka is a source only; write predictions to a file, Redis or a database"
        )
    scheme, place, name = split(address)
    if scheme in _REDIS:
        return RedisSink(place, name)
    if scheme:
        return SqlSink(place, name)
    return StandardOutput() if place == STDIN else JsonLines(place)


def share_retry_callbacks(*places: Any, stopped: Any, told: Any) -> None:
    """Give the stop and message callbacks to all sources and sinks that wait for a server."""
    for place in places:
        if hasattr(place, "patience"):
            place.patience.stopped, place.patience.told = stopped, told
