"""Sources and sinks of the kill harness: how each is filled, run, and compared."""

import contextlib
import gzip
import json
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.data.streams.servers import POSTGRES, REDIS, postgres_server, redis_server

FLAGS = ("--label", "label", "--remember", "500", "--min-docs", "3", "--memory", "1024",
         "--checkpoint-docs", "1", "--checkpoint-seconds", "0.03")  # fmt: skip
FILES = ("out.jsonl", "state/model.bayou", "state/dead-letters.jsonl")
_GROW = """
import sys, time
source, target, size, pause = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
with open(source, "rb") as lines, open(target, "ab", 0) as log:
    while part := lines.read(size):
        log.write(part)
        time.sleep(pause)
"""


class Kind:
    """Files as source; JSON lines and SQLite as sinks. Other kinds change one of these."""

    name = "files"
    source = "../docs.jsonl"
    flags: tuple[str, ...] = ()
    kills_server = False

    def open(self, base, stack):
        """Prepare the source from ``docs.jsonl`` of a folder."""

    def words(self, folder, block, last=True):
        """The command; ``last`` when all documents are there and the run must end."""
        return ["stream", "../m.bayou", self.source, "-o", "out.jsonl", "-o", self.sink(folder),
                "--state", "state", "--block", str(block), *self.flags, *FLAGS]  # fmt: skip

    def sink(self, folder):
        return "sqlite:///out.db#answers"

    def stdin(self, folder):
        """A process whose output is the standard input of a child, or None."""

    def begin(self, folder):
        """Called before the first start in a folder."""

    def finish(self, folder):
        """Called before the last start in a folder."""

    def table(self, folder):
        """Rows of the second sink."""
        with contextlib.closing(sqlite3.connect(Path(folder, "out.db"))) as db:
            return db.execute("SELECT * FROM answers ORDER BY n").fetchall()

    def wanted(self, base):
        """The ids that must come out."""
        ids = (_fields(line).get("id", "") for line in _lines(base))
        return sorted({name for name in ids if name.startswith("d")})

    def outcome(self, folder):
        """Everything that came out."""
        files = {name: Path(folder, name).read_bytes() for name in FILES}
        return files | {"second sink": self.table(folder)}


class Gzip(Kind):
    name, source = "gzip", "../docs.jsonl.gz"

    def open(self, base, stack):
        with gzip.open(Path(base, "docs.jsonl.gz"), "wb") as packed:
            packed.write(Path(base, "docs.jsonl").read_bytes())


class Stdin(Kind):
    name, source = "stdin", "-"

    def stdin(self, folder):
        return subprocess.Popen(["cat", "../docs.jsonl"], cwd=folder, stdout=subprocess.PIPE)


class Folder(Kind):
    name, source = "folder", "../texts"

    def open(self, base, stack):
        for i, line in enumerate(_lines(base)):
            with contextlib.suppress(ValueError, TypeError, KeyError):
                record = json.loads(line)
                place = Path(base, "texts", record["label"] or "none")
                place.mkdir(parents=True, exist_ok=True)
                text = record["text"].encode() if i % 90 else b"\xff\xfe UTF-16"
                Path(place, f"{record['id']}.txt").write_bytes(text)

    def wanted(self, base):
        files = Path(base, "texts").rglob("*.txt")
        good = (path for path in files if not path.read_bytes().startswith(b"\xff"))
        return [path.relative_to(Path(base, "texts")).as_posix() for path in good]


class Follow(Kind):
    """A file that a second process writes, in pieces that end anywhere, while the stream is killed."""

    name, source = "follow", "docs.jsonl"

    def words(self, folder, block, last=True):
        return [*super().words(folder, block), *(() if last else ("--follow",))]

    def begin(self, folder):
        size = Path(folder, "../docs.jsonl").stat().st_size
        if folder.name == "whole":
            Path(folder, "docs.jsonl").write_bytes(Path(folder, "../docs.jsonl").read_bytes())
            return
        words = ["../docs.jsonl", "docs.jsonl", str(max(size // 2000, 1)), "0.005"]
        Path(folder, "docs.jsonl").touch()
        self.writer = subprocess.Popen([sys.executable, "-c", _GROW, *words], cwd=folder)

    def finish(self, folder):
        if folder.name != "whole":
            assert self.writer.wait(600) == 0


class Redis(Kind):
    name = "redis"

    def open(self, base, stack):
        place = stack.enter_context(tempfile.TemporaryDirectory())
        self.server = stack.enter_context(redis_server(place))
        self.source = f"{self.server.url}#docs"
        pipe = self.server.db.pipeline()
        for line in _lines(base):
            pipe.xadd("docs", _fields(line))
        pipe.execute()

    def words(self, folder, block, last=True):
        return [*super().words(folder, block, last), "--group", folder.name]

    def sink(self, folder):
        return f"{self.server.url}#{folder.name}"

    def table(self, folder):
        return self.server.db.xrange(folder.name)

    def restart(self):
        self.server.kill()
        self.server.start()


class Postgresql(Kind):
    name = "postgresql"
    flags = ("--key", "k")

    def open(self, base, stack):
        import psycopg

        self.server = stack.enter_context(postgres_server())
        self.source = f"{self.server.url}#docs"
        rows = []
        for n, line in enumerate(_lines(base)):
            found = _fields(line)
            rows.append((n, found.get("id"), found.get("text"), found.get("label")))
        with psycopg.connect(self._url()) as db:
            db.execute("CREATE TABLE docs (k int PRIMARY KEY, id text, text text, label text)")
            db.cursor().executemany("INSERT INTO docs VALUES (%s, %s, %s, %s)", rows)

    def _url(self):
        return self.server.url.replace("+psycopg", "")

    def sink(self, folder):
        return f"{self.server.url}#{folder.name}"

    def table(self, folder):
        import psycopg

        with psycopg.connect(self._url()) as db:
            return db.execute(f"SELECT * FROM {folder.name} ORDER BY n").fetchall()

    def restart(self):
        self.server.kill()
        self.server.start()


class RedisServer(Redis):
    """The server is killed, not the stream."""

    name, kills_server = "redis server", True


class PostgresqlServer(Postgresql):
    """The server is killed, not the stream."""

    name, kills_server = "postgresql server", True


def _lines(base):
    return Path(base, "docs.jsonl").read_text(encoding="utf-8").splitlines()


def _fields(line):
    try:
        record = json.loads(line)
        return {key: str(value) for key, value in record.items()}
    except (ValueError, AttributeError):
        return {"body": line}


def available():
    """All kinds that can be run here."""
    found = [Kind, Gzip, Stdin, Folder, Follow]
    if REDIS is not None:
        found += [Redis, RedisServer]
    if POSTGRES is not None:
        found += [Postgresql, PostgresqlServer]
    return {kind.name: kind for kind in found}
