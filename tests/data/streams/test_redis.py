"""Redis streams, with a real server."""

import json
import random
import threading
import time

import pytest
from tests.data.streams.servers import REDIS, redis_server
from tests.run.toy import interrupted, rows, run

pytest.importorskip("redis")
pytestmark = pytest.mark.skipif(REDIS is None, reason="needs redis-server")

from bayou.data import DataError  # noqa: E402
from bayou.data.streams.addresses import (  # noqa: E402
    SourceSettings,
    open_sink,
    open_source,
    share_retry_callbacks,
)
from bayou.data.streams.redis import RedisSink, RedisSource  # noqa: E402


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with redis_server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(autouse=True)
def clean(server):
    server.db.flushall()


def fill(server, n, at=0):
    pipe = server.db.pipeline()
    for i in range(at, at + n):
        pipe.xadd("docs", {"id": f"d{i}", "text": f"text {i}"})
        if i % 10 == 3:
            pipe.xadd("docs", {"id": b"\xff", "text": "x"})
    pipe.execute()


def ends(server, follow=False):
    source = open_source([f"{server.url}#docs"], SourceSettings(follow=follow))
    return source, open_sink(f"{server.url}#said")


def answers(server):
    found = server.db.xrange("said")
    assert [id_ for id_, _ in found] == [f"{n}-0".encode() for n in range(1, len(found) + 1)]
    return [(fields[b"id"].decode(), fields[b"row"]) for _, fields in found]


def once(server, folder, **how):
    source, sink = ends(server)
    return run(folder, source, sinks=[sink], **how)


def test_from_one_stream_to_another(server, tmp_path):
    fill(server, 40)
    toy = once(server, tmp_path)
    assert toy.n_learned == 40
    assert [name for name, _ in answers(server)] == [f"d{i}" for i in range(40)]
    assert len(rows(tmp_path, "dead.jsonl")) == 4
    group = server.db.xinfo_groups("docs")[0]
    assert (group["name"], group["pending"], group["lag"]) == (b"bayou", 0, 0)
    fill(server, 5, 40)
    assert once(server, tmp_path).n_learned == 45
    assert len(answers(server)) == 45


def test_whatever_is_interrupted_comes_again_and_is_counted_once(server, tmp_path, monkeypatch):
    fill(server, 60)
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    whole, said = once(server, one), answers(server)
    server.db.delete("said")
    server.db.xgroup_destroy("docs", "bayou")
    steps = (
        (RedisSource, "read"),
        (RedisSource, "acknowledge"),
        (RedisSink, "write"),
        (RedisSink, "_add"),
    )
    toy, killed = interrupted(monkeypatch, random.Random(2), 30, steps, lambda: once(server, other))
    assert killed > 3
    assert toy.digest == whole.digest
    assert answers(server) == said


def test_answers_that_come_out_otherwise_take_the_place_of_the_old(server):
    sink = RedisSink(server.url, "said")
    sink.begin(None)
    sink.write([{"n": n, "id": n, "said": "old"} for n in range(1, 6)])
    again = RedisSink(server.url, "said")
    again.begin(2)
    again.write([{"n": 3, "id": 3, "said": "old"}])
    again.write([{"n": 4, "id": 4, "said": "new"}])
    assert [row for _, row in answers(server)][2:] == [
        b'{"n": 3, "id": 3, "said": "old"}',
        b'{"n": 4, "id": 4, "said": "new"}',
    ]
    assert again.position() == 4
    with pytest.raises(DataError, match="already holds predictions, up to number 4"):
        RedisSink(server.url, "said").begin(None)


def test_the_broker_goes_down_and_comes_back(server, tmp_path):
    fill(server, 200)
    source, sink = ends(server, follow=True)
    told, enough = [], threading.Event()
    share_retry_callbacks(source, sink, stopped=lambda: False, told=told.append)

    def disturb():
        for at in (200, 300):
            while server.db.xlen("said") < at - 100:
                time.sleep(0.005)
            server.kill()
            time.sleep(0.2)
            server.start()
            fill(server, 100, at)
        until = time.monotonic() + 60
        while server.db.xlen("said") < 400 and time.monotonic() < until:
            time.sleep(0.02)
        enough.set()

    other = threading.Thread(target=disturb)
    other.start()
    toy = run(tmp_path, source, sinks=[sink], stopped=enough.is_set)
    other.join()
    assert toy.n_learned == 400
    assert [name for name, _ in answers(server)] == [f"d{i}" for i in range(400)]
    assert any("is unavailable" in text for text in told)


def test_a_stop_while_the_broker_is_away(server, tmp_path):
    fill(server, 50)
    source, _ = ends(server, follow=True)
    stop = threading.Event()

    def told(text):
        stop.set()

    share_retry_callbacks(source, stopped=stop.is_set, told=told)

    def disturb():
        while not (tmp_path / "out.jsonl").exists() or len(rows(tmp_path)) < 50:
            time.sleep(0.01)
        server.kill()

    other = threading.Thread(target=disturb)
    other.start()
    toy = run(tmp_path, source, stopped=stop.is_set)
    other.join()
    server.start()
    assert toy.n_learned == 48  # what was learned is kept, with no server to tell
    assert run(tmp_path, ends(server)[0]).n_learned == 50
    assert [row["id"] for row in rows(tmp_path)] == [f"d{i}" for i in range(50)]


def test_two_processes_share_a_group(server, tmp_path):
    fill(server, 30)
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    n = [0]

    def stopped():
        n[0] += 1
        return n[0] > 2

    toy = run(first, ends(server)[0], stopped=stopped)
    assert toy.n_learned == 4  # three more were delivered, and wait for a whole block
    assert run(second, ends(server)[0]).n_learned == 23
    assert run(first, ends(server)[0]).n_learned == 7


def test_entries_deleted_before_they_were_read(server, tmp_path):
    fill(server, 8)
    source, _ = ends(server)
    source.begin(None, None)
    assert len(source.read(4, 0.0)) == 4
    position = source.position() | {"id": "0-0"}
    entries = [id_ for id_, _ in server.db.xrange("docs")]
    server.db.xdel("docs", entries[1])
    again, _ = ends(server)
    again.begin(position, None)
    items = again.read(9, 0.0)
    assert [item.reason for item in items if item.record is None and "deleted" in item.reason]


def test_what_cannot_be_reached(server, tmp_path):
    source = open_source([f"unix://{tmp_path}/none.sock#docs"], SourceSettings())
    source.patience.seconds = 0.1
    with pytest.raises(DataError, match="start again when it is available"):
        source.begin(None, None)
    server.db.set("docs", "no stream")
    source, _ = ends(server)
    with pytest.raises(DataError, match="check the stream"):
        source.begin(None, None)
    with pytest.raises(DataError, match="check the address"):
        open_sink("redis://localhost:port/x#s")


def test_a_stream_that_begins_in_the_group_of_another_says_what_it_does_not_read(server, tmp_path):
    fill(server, 12)
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
    assert once(server, tmp_path / "one").n_learned == 12
    server.db.delete("said")
    source, _ = ends(server)
    said = []
    source.remarks = said.append
    assert run(tmp_path / "other", source).n_learned == 0
    assert len(said) == 1
    assert "--group" in said[0]
    again, _ = ends(server)
    again.remarks = said.append
    run(tmp_path / "one", again, sinks=[open_sink(f"{server.url}#said")])  # its own group
    assert len(said) == 1


def test_ids_that_utf8_cannot_encode_are_written_as_escapes(server):
    sink = open_sink(f"{server.url}#said")
    sink.begin(None)
    sink.write([{"n": 1, "id": "x\ud800"}])
    sink.close()
    [(id_, row)] = answers(server)
    assert id_ == "x\\ud800"
    assert json.loads(row)["id"] == "x\ud800"
