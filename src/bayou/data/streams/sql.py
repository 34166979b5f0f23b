"""Tables of a database: a source read by increasing key, and a sink."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any

from bayou.data.errors import DataError
from bayou.data.streams.databases import Database, Row, connect, hide_password, no_column
from bayou.data.streams.items import U64, Item, Position, Recent, Source, field_of
from bayou.data.streams.retries import RetryPolicy
from bayou.data.streams.sinks import ServerSink
from bayou.data.untrusted import for_database, json_text

_POLL = 0.5


class SqlSource(Source):
    """Rows of a table by increasing key.

    With several writers, a row can become visible after a row with a larger key. It is still found if its key
    is less than ``overlap`` below that key: each query starts ``overlap`` keys earlier, and skips rows that
    were read before.
    """

    unit = "rows"

    def __init__(self, url: str, table: str, key: str, follow: bool, overlap: int = 0) -> None:
        self.name = f"{hide_password(url)}#{table}"
        self._url, self._table, self._key, self._follow = url, table, key, follow
        self._overlap = overlap
        self.patience = RetryPolicy()

    def begin(self, position: Position | None, memory: U64) -> None:
        """Start after the key of a position."""
        self._db = connect(self._url, there=True)
        self._after = None if position is None else position.get("key")
        n = field_of(position, "n_seen", int) if position else 0
        self._seen = Recent(2 * self._overlap, memory[:n])
        keyless = self._ask(lambda: self._db.keyless(self._table, self._key))
        if keyless:
            self.remarks(f"{self.name}: {keyless:,} rows have no {self._key} and are not read")

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._db, self.patience, self.name, call)

    def position(self) -> Position:
        """The largest key so far; also drops keys that are too old to matter."""
        self._seen.trim()
        return {"key": self._after, "n_seen": len(self._seen)}

    def memory(self, position: Position) -> U64:
        """The keys that were read recently."""
        return self._seen.array(position["n_seen"])

    def read(self, n: int, wait: float) -> list[Item]:
        """The next rows; if there are none, wait up to ``wait`` seconds."""
        until = time.monotonic() + wait
        while True:
            items = self._page(n)
            if items:
                return items
            if not self._follow:
                self.ended = True
                return []
            left = until - time.monotonic()
            if left <= 0:
                return []
            time.sleep(min(_POLL, left))

    def _page(self, n: int) -> list[Item]:
        after, size = self._after, n
        if self._overlap and isinstance(after, int):
            after, size = after - self._overlap, n + self._overlap
        # one row more than needed, to detect equal keys across the end of a page
        rows = self._ask(lambda: self._db.page(self._table, self._key, after, size + 1))
        items: list[Item] = []
        for key, row in zip(self._keys(rows), rows, strict=True):
            if len(items) == n:
                break
            if self._overlap and not self._seen.is_new(key):
                continue
            # rows are in the order of the database, which can differ from Python's for text
            late = self._overlap and isinstance(self._after, int) and isinstance(key, int)
            self._after = max(self._after, key) if late else key
            items.append(Item(f"{self.name}, {self._key} {key}", row, ""))
        self._check_apart(items)
        return items

    def _check_apart(self, items: Sequence[Item]) -> None:
        """Check that the page does not end between rows with equal keys: 'a' and 'A' may be equal."""
        if items and isinstance(self._after, str):
            alike = self._ask(lambda: self._db.alike(self._table, self._key, self._after))
            if alike > 1:
                raise DataError(self._same(self._after))

    def _keys(self, rows: Sequence[Row]) -> list[Any]:
        """The keys of rows, checked to be distinct whole numbers or text."""
        keys: list[Any] = []
        for row in rows:
            if self._key not in row:
                raise DataError(no_column(self._table, self._key, row))
            key = row[self._key]
            if type(key) not in (int, str):
                raise DataError(
                    f"{self.name}: keys must be whole numbers or text, got {key!r:.80}; choose another "
                    "column with --key"
                )
            if keys and key == keys[-1]:
                raise DataError(self._same(key))
            keys.append(key)
        return keys

    def _same(self, key: Any) -> str:
        return (
            f"{self.name}: two rows have the {self._key} {key!r:.80}, or keys that compare as equal, so a "
            "position between them would be ambiguous; choose a column of distinct values with --key"
        )

    def lag(self) -> int | None:
        """Number of rows left to read."""
        return int(self._ask(lambda: self._db.count(self._table, self._key, self._after)))

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


class SqlSink(ServerSink):
    """Predictions in a table: number, id, the main values as columns, and the whole row as JSON."""

    def __init__(self, url: str, table: str) -> None:
        self.name = f"{hide_password(url)}#{table}"
        self._url, self._table = url, table
        self.patience = RetryPolicy()

    def begin(self, position: int | None) -> None:
        """Delete the predictions after a position; without one there must be none."""
        self._db = connect(self._url)
        self._ask(lambda: self._db.create(self._table))
        there = self._ask(lambda: self._db.last(self._table))
        self._start_at(position, there, "table")
        self._ask(lambda: self._db.replace(self._table, self._n + 1, []))

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._db, self.patience, self.name, call)

    def write(self, rows: Sequence[Row]) -> None:
        """Add rows; their numbers ``n`` are consecutive."""
        made = [_flat(row) for row in rows]
        if made:
            self._ask(lambda: self._db.replace(self._table, made[0]["n"], made))
            self._n = made[-1]["n"]


def _call_with_retries(
    db: Database, patience: RetryPolicy, name: str, call: Callable[[], Any]
) -> Any:
    try:
        return patience.until(call, db.errors, name)
    except db.failures as error:
        reason = str(error).partition("\n")[0][:200]
        raise DataError(f"{name}: {reason}; check the table and its columns") from None


def _flat(row: Row) -> Row:
    said = row.get("prediction")
    texts = None if said is None else said if isinstance(said, str) else json.dumps(said)
    texts = None if texts is None else for_database(texts)
    first = {"n": row["n"], "id": for_database(str(row["id"])), "prediction": texts}
    rest = {"topic": row.get("topic"), "share": row.get("share")}
    return first | rest | {"row": json_text(row)}
