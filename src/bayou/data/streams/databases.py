"""Database access for streams: SQLite is built in, other databases need SQLAlchemy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from bayou.data.errors import DataError

Row = dict[str, Any]
_COLUMNS = {"n": int, "id": str, "prediction": str, "topic": int, "share": float, "row": str}
_TYPES = {int: "INTEGER", str: "TEXT", float: "REAL"}


class Database(Protocol):
    """The operations that streams need of a database."""

    errors: tuple[type[Exception], ...]  # transient errors, to be retried
    failures: tuple[type[Exception], ...]  # all errors

    def page(self, table: str, key: str, after: Any, n: int) -> list[Row]:
        """The next ``n`` rows with a key above ``after``, by increasing key; rows without a key never."""

    def count(self, table: str, key: str, after: Any) -> int:
        """Number of rows with a key above ``after``."""

    def keyless(self, table: str, key: str) -> int:
        """Number of rows without a key."""

    def alike(self, table: str, key: str, value: Any) -> int:
        """Number of rows whose key equals a value in the database's comparison."""

    def create(self, table: str) -> None:
        """Create the table of predictions unless it exists."""

    def last(self, table: str) -> int:
        """The largest number of a prediction, 0 without any."""

    def replace(self, table: str, first: int, rows: Sequence[Row]) -> None:
        """In one transaction, replace the predictions from number ``first`` on by these."""

    def close(self) -> None:
        """Disconnect."""


class Sqlite:
    """An SQLite database file."""

    errors: tuple[type[Exception], ...] = ()  # sqlite3 itself waits for locks
    failures: tuple[type[Exception], ...] = (sqlite3.Error,)

    def __init__(self, path: str, *, there: bool = False) -> None:
        if there:
            os.stat(path)  # otherwise connect would create an empty database
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=60.0)
        except sqlite3.Error as error:
            raise DataError(f"{path}: {error}; check the path") from None
        self._db.row_factory = sqlite3.Row

    def page(self, table: str, key: str, after: Any, n: int) -> list[Row]:
        """The next ``n`` rows with a key above ``after``, by increasing key; rows without a key never."""
        text = f"SELECT * FROM {_quote(table)} {_above(key, after)} ORDER BY {_quote(key)} LIMIT :n"
        found = self._db.execute(text, {"after": after, "n": n})
        return [dict(row) for row in found]

    def count(self, table: str, key: str, after: Any) -> int:
        """Number of rows with a key above ``after``."""
        text = f"SELECT count(*) FROM {_quote(table)} {_above(key, after)}"
        return int(self._db.execute(text, {"after": after}).fetchone()[0])

    def keyless(self, table: str, key: str) -> int:
        """Number of rows without a key."""
        text = f"SELECT count(*) FROM {_quote(table)} WHERE {_quote(key)} IS NULL"
        return int(self._db.execute(text).fetchone()[0])

    def alike(self, table: str, key: str, value: Any) -> int:
        """Number of rows whose key equals a value in the database's comparison."""
        text = f"SELECT count(*) FROM {_quote(table)} WHERE {_quote(key)} = :value"
        return int(self._db.execute(text, {"value": value}).fetchone()[0])

    def create(self, table: str) -> None:
        """Create the table of predictions unless it exists."""
        columns = ", ".join(f"{name} {_TYPES[kind]}" for name, kind in _COLUMNS.items())
        columns = columns.replace("n INTEGER", "n INTEGER PRIMARY KEY", 1)
        self._db.execute(f"CREATE TABLE IF NOT EXISTS {_quote(table)} ({columns})")

    def last(self, table: str) -> int:
        """The largest number of a prediction, 0 without any."""
        return int(self._db.execute(f"SELECT max(n) FROM {_quote(table)}").fetchone()[0] or 0)

    def replace(self, table: str, first: int, rows: Sequence[Row]) -> None:
        """In one transaction, replace the predictions from number ``first`` on by these."""
        names = ", ".join(f":{name}" for name in _COLUMNS)
        self._db.execute("BEGIN IMMEDIATE")
        try:
            self._db.execute(f"DELETE FROM {_quote(table)} WHERE n >= :n", {"n": first})
            self._db.executemany(f"INSERT INTO {_quote(table)} VALUES ({names})", rows)
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Disconnect."""
        self._db.close()


class Alchemy:
    """Any database with an SQLAlchemy dialect."""

    def __init__(self, url: str) -> None:
        try:
            import sqlalchemy
        except ImportError:
            raise DataError("this database needs SQLAlchemy: pip install 'bayou[sql]'") from None
        self._sa = sqlalchemy
        try:
            self._engine = sqlalchemy.create_engine(url, pool_pre_ping=True)
        except (sqlalchemy.exc.ArgumentError, ImportError) as error:
            raise DataError(f"{hide_password(url)}: {error!s:.200}; check the address") from None
        self.errors: tuple[type[Exception], ...] = (
            sqlalchemy.exc.OperationalError,
            sqlalchemy.exc.InterfaceError,
        )
        self.failures: tuple[type[Exception], ...] = (sqlalchemy.exc.SQLAlchemyError,)
        self._tables: dict[str, Any] = {}

    def _table(self, name: str) -> Any:
        if name not in self._tables:
            schema, _, table = name.rpartition(".")
            try:
                found = self._sa.Table(
                    table, self._sa.MetaData(), schema=schema or None, autoload_with=self._engine
                )
            except self._sa.exc.NoSuchTableError:
                raise DataError(
                    f"the database has no table {name!r}; check the name after #"
                ) from None
            self._tables[name] = found
        return self._tables[name]

    def _key(self, table: str, key: str) -> Any:
        columns = self._table(table).c
        if key not in columns:
            raise DataError(no_column(table, key, columns.keys()))
        return columns[key]

    def _above(self, table: str, key: str, after: Any) -> Any:
        column = self._key(table, key)
        return column.is_not(None) if after is None else column > after

    def page(self, table: str, key: str, after: Any, n: int) -> list[Row]:
        """The next ``n`` rows with a key above ``after``, by increasing key; rows without a key never."""
        query = self._sa.select(self._table(table)).where(self._above(table, key, after))
        query = query.order_by(self._key(table, key)).limit(n)
        with self._engine.connect() as db:
            return [dict(row) for row in db.execute(query).mappings()]

    def count(self, table: str, key: str, after: Any) -> int:
        """Number of rows with a key above ``after``."""
        return self._count(table, self._above(table, key, after))

    def keyless(self, table: str, key: str) -> int:
        """Number of rows without a key."""
        return self._count(table, self._key(table, key).is_(None))

    def alike(self, table: str, key: str, value: Any) -> int:
        """Number of rows whose key equals a value in the database's comparison."""
        return self._count(table, self._key(table, key) == value)

    def _count(self, table: str, which: Any) -> int:
        count = self._sa.select(self._sa.func.count()).select_from(self._table(table)).where(which)
        with self._engine.connect() as db:
            return int(db.execute(count).scalar_one())

    def create(self, table: str) -> None:
        """Create the table of predictions unless it exists."""
        sa = self._sa
        kinds = {int: sa.BigInteger, str: sa.Text, float: sa.Float}
        schema, _, name = table.rpartition(".")
        columns = [
            sa.Column(n, kinds[kind], primary_key=n == "n", autoincrement=False)
            for n, kind in _COLUMNS.items()
        ]
        made = sa.Table(name, sa.MetaData(), *columns, schema=schema or None)
        made.create(self._engine, checkfirst=True)
        self._tables[table] = made

    def last(self, table: str) -> int:
        """The largest number of a prediction, 0 without any."""
        with self._engine.connect() as db:
            largest = self._sa.select(self._sa.func.max(self._tables[table].c.n))
            return int(db.execute(largest).scalar_one() or 0)

    def replace(self, table: str, first: int, rows: Sequence[Row]) -> None:
        """In one transaction, replace the predictions from number ``first`` on by these."""
        made = self._tables[table]
        with self._engine.begin() as db:
            db.execute(made.delete().where(made.c.n >= first))
            if rows:
                db.execute(made.insert(), list(rows))

    def close(self) -> None:
        """Disconnect."""
        self._engine.dispose()


def connect(url: str, *, there: bool = False) -> Database:
    """Connect to a database by its URL; with ``there`` an SQLite file must exist and is never created."""
    scheme, _, rest = url.partition("://")
    if scheme == "sqlite":
        return Sqlite(rest.removeprefix("/") or ":memory:", there=there)
    return Alchemy(url)


def no_column(table: str, key: str, names: Iterable[str]) -> str:
    """The message for a key that is not a column of its table."""
    return f"the table {table!r} has no column {key!r} (there are: {', '.join(names)}); name it with --key"


def _above(key: str, after: Any) -> str:
    return f"WHERE {_quote(key)} {'IS NOT NULL' if after is None else '> :after'}"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def hide_password(url: str) -> str:
    """The address without a password, for messages and files."""
    scheme, slashes, rest = url.partition("://")
    user, at, host = rest.rpartition("@")
    return f"{scheme}{slashes}{user.partition(':')[0]}{at}{host}"
