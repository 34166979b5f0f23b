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

_POLL = 0.5


class SqlSource(Source):
    """Rows of a table by increasing key.

    A row that becomes visible after one with a larger key, as happens where several writers take numbers from
    one sequence, is still found if its key is less than ``overlap`` below: that far is looked back, and rows
    that were read before are known by their keys.
    """

    unit = "rows"

    def __init__(self, url: str, table: str, key: str, follow: bool, overlap: int = 0) -> None:
        self.name = f"{hide_password(url)}#{table}"
        self._url, self._table, self._key, self._follow = url, table, key, follow
        self._overlap = overlap
        self.patience = RetryPolicy()

    def begin(self, position: Position | None, memory: U64) -> None:
        """Behind the key of a position."""
        self._db = connect(self._url, there=True)
        self._after = None if position is None else position.get("key")
        n = field_of(position, "n_seen", int) if position else 0
        self._seen = Recent(2 * self._overlap, memory[:n])
        keyless = self._ask(lambda: self._db.keyless(self._table, self._key))
        if keyless:
            self.remarks(
                f"{self.name}: rows without {self._key} are not read; there are {keyless:,}"
            )

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._db, self.patience, self.name, call)

    def position(self) -> Position:
        """The largest key so far; the time to forget keys that are too old to matter."""
        self._seen.trim()
        return {"key": self._after, "n_seen": len(self._seen)}

    def memory(self, position: Position) -> U64:
        """The keys that were read lately."""
        return self._seen.array(position["n_seen"])

    def read(self, n: int, wait: float) -> list[Item]:
        """The next rows; with none there, wait for some."""
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
        # one more than is given: where a page ends, too, two rows may have the same key
        rows = self._ask(lambda: self._db.page(self._table, self._key, after, size + 1))
        items: list[Item] = []
        for key, row in zip(self._keys(rows), rows, strict=True):
            if len(items) == n:
                break
            if self._overlap and not self._seen.is_new(key):
                continue
            # rows come in the order of the database, which for text need not be that of Python
            late = self._overlap and isinstance(self._after, int) and isinstance(key, int)
            self._after = max(self._after, key) if late else key
            items.append(Item(f"{self.name}, {self._key} {key}", row, ""))
        self._check_apart(items)
        return items

    def _check_apart(self, items: Sequence[Item]) -> None:
        """No row may hide behind the end of a page: to a database 'a' and 'A' may be the same."""
        if items and isinstance(self._after, str):
            alike = self._ask(lambda: self._db.alike(self._table, self._key, self._after))
            if alike > 1:
                raise DataError(self._same(self._after))

    def _keys(self, rows: Sequence[Row]) -> list[Any]:
        """The keys of rows, in which a place can be told from every other."""
        keys: list[Any] = []
        for row in rows:
            if self._key not in row:
                raise DataError(no_column(self._table, self._key, row))
            key = row[self._key]
            if type(key) not in (int, str):
                raise DataError(
                    f"{self.name}: keys must be whole numbers or text, got {key!r:.80}; name another column "
                    "with --key"
                )
            if keys and key == keys[-1]:
                raise DataError(self._same(key))
            keys.append(key)
        return keys

    def _same(self, key: Any) -> str:
        return (
            f"{self.name}: two rows have the {self._key} {key!r:.80}, or ones taken for the same, and a "
            "position between them could not be told; name a column with --key whose values all differ"
        )

    def lag(self) -> int | None:
        """Rows that are still to be read."""
        return int(self._ask(lambda: self._db.count(self._table, self._key, self._after)))

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


class SqlSink:
    """Answers in a table: number, id, the first answers as columns, and all of them as JSON."""

    def __init__(self, url: str, table: str) -> None:
        self.name = f"{hide_password(url)}#{table}"
        self._url, self._table = url, table
        self.patience = RetryPolicy()

    def begin(self, position: int | None) -> None:
        """Forget answers behind a position; without one there must be none at all."""
        self._db = connect(self._url)
        self._ask(lambda: self._db.create(self._table))
        there = self._ask(lambda: self._db.last(self._table))
        if position is None and there:
            raise DataError(
                f"{self.name} holds answers already, up to number {there}; name another table, or the "
                "--state that goes with it"
            )
        self._n = position or 0
        self._ask(lambda: self._db.replace(self._table, self._n + 1, []))

    def _ask(self, call: Callable[[], Any]) -> Any:
        return _call_with_retries(self._db, self.patience, self.name, call)

    def write(self, rows: Sequence[Row]) -> None:
        """Add rows; ``n`` of each is its number, one more than that of the row before."""
        made = [_flat(row) for row in rows]
        if made:
            self._ask(lambda: self._db.replace(self._table, made[0]["n"], made))
            self._n = made[-1]["n"]

    def position(self) -> int:
        """The number of the last row."""
        return self._n

    def sync(self) -> None:
        """Rows are there for good since their transaction was."""

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


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
    first = {"n": row["n"], "id": str(row["id"]), "prediction": texts}
    rest = {"topic": row.get("topic"), "share": row.get("share")}
    return first | rest | {"row": json.dumps(row, ensure_ascii=False)}
