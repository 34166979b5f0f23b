"""Redis streams: a source read through a consumer group, and a sink."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

from bayou.data.errors import DataError
from bayou.data.streams.databases import hide_password
from bayou.data.streams.items import SHOWN, U64, Item, Position, Source, field_of
from bayou.data.streams.retries import RetryPolicy
from bayou.data.streams.sinks import ServerSink
from bayou.data.untrusted import for_database, json_text

_ACKNOWLEDGED = 1000  # entries per command


def connect(url: str) -> tuple[Any, Any]:
    """A client and the redis module; the client connects on first use."""
    try:
        import redis
        from redis.backoff import NoBackoff
        from redis.retry import Retry
    except ImportError:
        raise DataError("Redis streams need redis: pip install 'bayou[redis]'") from None
    # if the client itself retried a read whose reply was lost, the delivered entries would be skipped
    never = Retry(NoBackoff(), 0)
    try:
        return redis.Redis.from_url(url, socket_timeout=30.0, retry=never), redis
    except ValueError as error:
        raise DataError(f"{hide_password(url)}: {error}; check the address") from None


class RedisSource(Source):
    """Entries of a stream, in order, for one consumer of a group.

    Entries that were delivered but not acknowledged are delivered again. Ids only grow, so they are detected.
    """

    unit = "entries"

    def __init__(self, url: str, stream: str, group: str, follow: bool) -> None:
        self.name = f"{hide_password(url)}#{stream}"
        self._stream, self._group, self._follow = stream, group, follow
        self._db, self._redis = connect(url)
        self._away = (self._redis.ConnectionError, self._redis.TimeoutError)
        self.patience = RetryPolicy()

    def begin(self, position: Position | None, memory: U64) -> None:
        """Create the group if it is new; entries delivered before are read first."""
        self._last = str(field_of(position, "id", str)) if position else "0-0"
        fresh = (
            f"bayou-{uuid.uuid4().hex[:12]}"  # stored in the position: deliveries belong to a name
        )
        self._consumer = str(field_of(position, "consumer", str)) if position else fresh
        self._again = True

        def make() -> bool:
            try:
                self._db.xgroup_create(self._stream, self._group, id="0", mkstream=True)
            except self._redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
                return False
            return True

        if not self._ask(make) and position is None:
            self._remark_on_others()

    def _remark_on_others(self) -> None:
        """Warn if the group of a new stream has already received entries in another one."""
        last = (self._about_group() or {}).get("last-delivered-id", b"0-0").decode()
        if last != "0-0":
            self.remarks(
                f"{self.name}: the group {self._group!r} has already received the entries up to {last}, "
                "which are not read here; to read all entries, give a --group of its own"
            )

    def _about_group(self) -> dict[str, Any] | None:
        groups = self._ask(lambda: self._db.xinfo_groups(self._stream))
        return next((group for group in groups if group["name"].decode() == self._group), None)

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._redis, self.patience, self.name, call)

    def position(self) -> Position:
        """The id of the last entry."""
        return {"id": self._last, "consumer": self._consumer}

    def read(self, n: int, wait: float) -> list[Item]:
        """The next entries; if there are none, wait up to ``wait`` seconds."""

        def ask() -> Any:
            try:
                return self._db.xreadgroup(
                    self._group,
                    self._consumer,
                    {self._stream: self._last if self._again else ">"},
                    count=n,
                    block=None if self._again or not self._follow else max(int(1000 * wait), 1),
                )
            except self._away:
                self._again = True  # the reply may have been lost
                raise

        answer = self._ask(ask)
        entries = _entries(answer)
        if not entries and self._again:
            self._again = False
            return self.read(n, wait)
        if not entries and not self._follow:
            self.ended = True
        items = [self._item(id_.decode(), fields) for id_, fields in entries]
        return [item for item in items if item is not None]

    def _item(self, id_: str, fields: Any) -> Item | None:
        if _number(id_) <= _number(self._last):
            return None  # delivered twice
        self._last = id_
        where = f"{self.name}, entry {id_}"
        if not fields:  # trimmed from the stream before it was read
            return Item(where, None, "", "the entry was deleted from the stream")
        try:
            record = {key.decode(): value.decode() for key, value in fields.items()}
        except UnicodeDecodeError as error:
            return Item(where, None, str(fields)[:SHOWN], f"not valid UTF-8 ({error})")
        return Item(where, record, "")

    def lag(self) -> int | None:
        """Number of entries after the last one delivered."""
        lag = (self._about_group() or {}).get("lag")
        return None if lag is None else int(lag)

    def acknowledge(self, position: Position) -> None:
        """Acknowledge the entries up to the position in the group."""

        def acknowledge_some() -> bool:
            waiting = self._db.xpending_range(
                self._stream, self._group, "-", position["id"], _ACKNOWLEDGED, self._consumer
            )
            ids = [entry["message_id"] for entry in waiting]
            if ids:
                self._db.xack(self._stream, self._group, *ids)
            return len(ids) < _ACKNOWLEDGED

        while not self._ask(acknowledge_some):
            pass

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


class RedisSink(ServerSink):
    """Predictions as entries of a stream: the id is the number of the document, ``row`` is JSON."""

    def __init__(self, url: str, stream: str) -> None:
        self.name = f"{hide_password(url)}#{stream}"
        self._stream = stream
        self._db, self._redis = connect(url)
        self.patience = RetryPolicy()

    def begin(self, position: int | None) -> None:
        """Load the predictions after a position, to skip them later; without one there must be none."""
        self._start_at(position, self._ask(self._top), "stream")
        found = self._ask(lambda: self._db.xrange(self._stream, f"{self._n + 1}-0", "+"))
        self._there = {_number(id_.decode())[0]: fields.get(b"row") for id_, fields in found}

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._redis, self.patience, self.name, call)

    def _top(self) -> int:
        last = self._db.xrevrange(self._stream, count=1)
        return _number(last[0][0].decode())[0] if last else 0

    def write(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows, except those that were written before an interruption."""
        made = {row["n"]: json_text(row).encode() for row in rows}
        ids = {row["n"]: for_database(str(row["id"])) for row in rows}
        while self._there and made and min(made) in self._there:
            n = min(made)
            if self._there[n] != made[n]:
                self._ask(lambda n=n: self._cut(n))  # type: ignore[misc]
                self._there = {}
                break
            del self._there[n], made[n]
        if made:
            self._ask(lambda: self._add(made, ids))
        self._n = rows[-1]["n"] if rows else self._n

    def _cut(self, n: int) -> None:
        """Delete the entries from a number on."""
        late = [id_ for id_, _ in self._db.xrange(self._stream, f"{n}-0", "+")]
        pipe = self._db.pipeline(transaction=True)
        if late:
            pipe.xdel(self._stream, *late)
        pipe.execute_command("XSETID", self._stream, f"{n - 1}-0")
        pipe.execute()

    def _add(self, made: dict[int, bytes], ids: dict[int, str]) -> None:
        top = self._top()  # the reply to the previous attempt may have been lost
        pipe = self._db.pipeline(transaction=True)
        for n, row in made.items():
            if n > top:
                pipe.xadd(self._stream, {"id": ids[n], "row": row}, id=f"{n}-0")
        pipe.execute()


def _call_with_retries(
    redis: Any, patience: RetryPolicy, name: str, call: Callable[[], Any]
) -> Any:
    try:
        return patience.until(call, (redis.ConnectionError, redis.TimeoutError), name)
    except redis.RedisError as error:
        raise DataError(f"{name}: {error}; check the stream and the group") from None


def _entries(answer: Any) -> list[Any]:
    """The entries of a reply, for both versions of the protocol."""
    if not answer:
        return []
    streams = answer.values() if isinstance(answer, dict) else [part[1] for part in answer]
    found: list[Any] = next(iter(streams))
    nested = isinstance(answer, dict) and found and isinstance(found[0], list)
    return list(found[0]) if nested else found


def _number(id_: str) -> tuple[int, int]:
    first, _, second = id_.partition("-")
    return int(first), int(second or 0)
