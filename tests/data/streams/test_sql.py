"""Tables as sources and sinks: SQLite, and a real PostgreSQL."""

import json
import random
import sqlite3

import pytest
from tests.data.streams.servers import POSTGRES, postgres_server
from tests.run.toy import interrupted, rows, run

from bayou.data import DataError
from bayou.data.streams.addresses import SourceSettings, open_sink, open_source
from bayou.data.streams.databases import Alchemy, Sqlite, hide_password


class Lite:
    """A database in a file."""

    kind = Sqlite

    def __init__(self, folder):
        self.url = f"sqlite:///{folder}/a.db"
        self._path = f"{folder}/a.db"

    def execute(self, text, values=()):
        with sqlite3.connect(self._path) as db:
            return db.execute(text.replace("%s", "?"), values).fetchall()


class Post:
    """A database of a server."""

    kind = Alchemy

    def __init__(self, server):
        self.url = server.url
        self._plain = server.url.replace("+psycopg", "")

    def execute(self, text, values=()):
        import psycopg

        with psycopg.connect(self._plain) as db:
            found = db.execute(text, values)
            return found.fetchall() if found.description else []


@pytest.fixture(scope="module")
def server():
    if POSTGRES is None:
        pytest.skip("needs PostgreSQL")
    pytest.importorskip("psycopg")
    pytest.importorskip("sqlalchemy")
    with postgres_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def db(request, tmp_path):
    made = Lite(tmp_path) if request.param == "sqlite" else Post(request.getfixturevalue("server"))
    made.execute("DROP TABLE IF EXISTS docs")
    made.execute("DROP TABLE IF EXISTS said")
    made.execute('CREATE TABLE docs ("no" INTEGER PRIMARY KEY, id TEXT, text TEXT)')
    return made


def fill(db, numbers):
    for i in numbers:
        text = None if i % 10 == 4 else f"text {i}"
        db.execute("INSERT INTO docs VALUES (%s, %s, %s)", (i, f"d{i}", text))


def ends(db, **how):
    source = open_source([f"{db.url}#docs"], SourceSettings(key="no", **how))
    return source, open_sink(f"{db.url}#said")


def once(db, folder, **how):
    source, sink = ends(db, **how)
    return run(folder, source, sinks=[sink])


def test_from_one_table_to_another(db, tmp_path):
    fill(db, range(-3, 30, 2))
    toy = once(db, tmp_path)
    assert toy.n_learned == 17
    said = db.execute("SELECT n, id, row FROM said ORDER BY n")
    assert [row[:2] for row in said] == [(i + 1, f"d{2 * i - 3}") for i in range(17)]
    assert '"said": ' in said[0][2]
    fill(db, [40, 44, 42])
    assert once(db, tmp_path).n_learned == 19
    assert [row[0] for row in db.execute("SELECT id FROM said ORDER BY n")][-2:] == ["d40", "d42"]
    dead = rows(tmp_path, "dead.jsonl")
    assert [row["id"].rpartition(", ")[2] for row in dead] == ["no 44"]
    assert dead[0]["reason"] == "no text"


def test_whatever_is_interrupted_is_counted_once(db, tmp_path, monkeypatch):
    fill(db, range(50))
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    whole, said = once(db, one), db.execute("SELECT * FROM said ORDER BY n")
    db.execute("DROP TABLE said")
    steps = tuple((db.kind, name) for name in ("page", "replace", "last"))
    toy, killed = interrupted(monkeypatch, random.Random(1), 25, steps, lambda: once(db, other))
    assert killed > 3
    assert toy.digest == whole.digest
    assert db.execute("SELECT * FROM said ORDER BY n") == said


def test_rows_that_become_visible_late_are_found_as_far_back_as_is_looked(db, tmp_path):
    fill(db, [1, 2, 5, 6, 8])
    once(db, tmp_path, overlap=4)
    fill(db, [7, 3, 9, 12])
    toy = once(db, tmp_path, overlap=4)
    assert toy.n_learned == 8
    fill(db, [10, 11, 13])
    assert once(db, tmp_path, overlap=4).n_learned == 11
    found = [row[0] for row in db.execute("SELECT id FROM said ORDER BY n")]
    assert found == ["d1", "d2", "d5", "d6", "d8", "d7", "d9", "d12", "d10", "d11", "d13"]
    assert len(set(found)) == len(found)


@pytest.mark.parametrize("overlap", [0, 2])
def test_keys_of_text_come_in_the_order_of_their_column(tmp_path, overlap):
    db = Lite(tmp_path)
    db.execute("CREATE TABLE docs (no TEXT PRIMARY KEY COLLATE NOCASE, text TEXT)")
    for key in ("a", "B", "c", "D"):
        db.execute("INSERT INTO docs VALUES (%s, 'x')", (key,))
    source, _ = ends(db, overlap=overlap)
    source.begin(None, [])
    found = [item.record["no"] for _ in range(6) for item in source.read(1, 0.0)]
    assert found == ["a", "B", "c", "D"]
    assert source.ended


@pytest.mark.parametrize("size", [1, 2, 3])
def test_keys_that_the_database_takes_for_the_same_are_refused_where_a_page_ends(tmp_path, size):
    db = Lite(tmp_path)
    db.execute("CREATE TABLE docs (no TEXT COLLATE NOCASE, text TEXT)")
    for key in ("a", "b", "B", "c"):
        db.execute("INSERT INTO docs VALUES (%s, 'x')", (key,))
    source, _ = ends(db)
    source.begin(None, [])
    if size == 1:
        source.read(size, 0.0)
    with pytest.raises(DataError, match=r"two rows have the no '[bB]', or keys .*--key"):
        source.read(size, 0.0)


def test_a_table_of_answers_belongs_to_one_stream(db, tmp_path):
    fill(db, [1, 2])
    once(db, tmp_path)
    other = tmp_path / "other"
    other.mkdir()
    with pytest.raises(DataError, match="already holds predictions, up to number 2"):
        once(db, other)


def test_what_is_not_there(db, tmp_path):
    with pytest.raises(DataError, match=r"none|no such table"):
        run(tmp_path, open_source([f"{db.url}#none"], SourceSettings(key="no")))
    other = tmp_path / "other"
    other.mkdir()
    fill(db, [1])
    with pytest.raises(DataError, match=r"has no column 'none' \(there are: no, id, text\)"):
        run(other, open_source([f"{db.url}#docs"], SourceSettings(key="none")))


def test_a_database_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(FileNotFoundError):
        run(tmp_path, open_source([f"sqlite:///{tmp_path}/none.db#docs"], SourceSettings()))
    assert not (tmp_path / "none.db").exists()


@pytest.mark.parametrize("overlap", [0, 3])
def test_rows_with_the_same_key_would_be_lost_where_a_page_ends_and_are_refused(
    db, tmp_path, overlap
):
    db.execute("CREATE TABLE said (day INTEGER, text TEXT)")
    for i in range(9):
        db.execute("INSERT INTO said VALUES (%s, 'x')", (i // 5,))
    source = open_source([f"{db.url}#said"], SourceSettings(key="day", overlap=overlap))
    source.begin(None, [])
    with pytest.raises(DataError, match=r"two rows have the day 0.*--key"):
        source.read(1, 0.0)


def test_rows_without_a_key_are_remarked_on_and_not_read(db):
    db.execute("CREATE TABLE said (day INTEGER, text TEXT)")
    for day in (3, None, 1, None):
        db.execute("INSERT INTO said VALUES (%s, 'x')", (day,))
    source = open_source([f"{db.url}#said"], SourceSettings(key="day"))
    said = []
    source.remarks = said.append
    source.begin(None, [])
    assert source.lag() == 2
    assert [item.record["day"] for item in source.read(9, 0.0)] == [1, 3]
    assert len(said) == 1
    assert "2 rows have no day and are not read" in said[0]


def test_a_table_that_grows(db, tmp_path):
    source, _ = ends(db, follow=True)
    source.begin(None, [])
    assert source.read(3, 0.0) == []
    assert not source.ended
    fill(db, [1, 2])
    assert source.lag() == 2
    assert [item.record["id"] for item in source.read(3, 0.0)] == ["d1", "d2"]
    assert source.lag() == 0


def test_a_server_that_restarts(server, tmp_path):
    db = Post(server)
    for table in ("docs", "said"):
        db.execute(f"DROP TABLE IF EXISTS {table}")
    db.execute('CREATE TABLE docs ("no" INTEGER PRIMARY KEY, id TEXT, text TEXT)')
    fill(db, range(5, 14))
    source, sink = ends(db)
    source.begin(None, [])
    sink.begin(None)
    assert len(source.read(3, 0.0)) == 3
    server.stop()
    server.start()
    assert len(source.read(9, 0.0)) == 6
    server.stop()
    server.start()
    sink.write([{"n": 1, "id": "a"}])
    assert db.execute("SELECT id FROM said") == [("a",)]
    server.stop()
    source.patience.seconds = 0.1
    with pytest.raises(DataError, match="start again when it is available"):
        source.lag()
    server.start()


def test_passwords_are_not_shown():
    assert hide_password("postgresql://me:secret@host/db") == "postgresql://me@host/db"
    assert hide_password("sqlite:///a.db") == "sqlite:///a.db"
    with pytest.raises(DataError, match="check the address"):
        open_sink("nothing://x#y").begin(None)


def test_ids_that_no_database_stores_are_written_as_escapes(db):
    sink = open_sink(f"{db.url}#said")
    sink.begin(None)
    sink.write([{"n": 1, "id": "x\ud800\x00", "prediction": "l\ud800\x00", "share": 0.5}])
    sink.close()
    found = db.execute("SELECT id, prediction, row FROM said")
    assert found[0][:2] == ("x\\ud800\\x00", "l\\ud800\\x00")
    assert json.loads(found[0][2])["id"] == "x\ud800\x00"
