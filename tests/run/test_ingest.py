"""A stream that survives: every place where it can end, damaged checkpoints, full disks, clocks, repeats."""

import errno
import json
import os
import random
import time
import urllib.error
import urllib.request

import numpy as np
import pytest
from tests.run.toy import Clock, Killed, interrupted, lines, outcome, rows, run, stream

from bayou.data import DataError, ModelFileError
from bayou.data.records import Options
from bayou.data.streams.files import Files, ReadSettings
from bayou.data.streams.folder import Folder
from bayou.data.streams.items import Recent
from bayou.data.streams.sinks import JsonLines
from bayou.run.gauges import Gauges, serving
from bayou.run.journal import Journal

NONE = np.zeros(0, np.uint64)


STEPS = (
    (os, "replace"),
    (os, "fsync"),
    (os, "unlink"),
    (Files, "read"),
    (JsonLines, "write"),
    (JsonLines, "sync"),
)


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """No power cut is tested here, and disks are slow."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


@pytest.fixture
def docs(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines(42)) + "\n")
    return str(path)


@pytest.fixture
def whole(tmp_path, docs):
    folder = tmp_path / "whole"
    folder.mkdir()
    return outcome(folder, run(folder, Files([docs], ReadSettings())))


def test_it_may_end_before_and_after_every_single_step(tmp_path, docs, whole, monkeypatch):
    for at in range(1, 10_000):
        folder = tmp_path / str(at)
        folder.mkdir()
        with monkeypatch.context() as patched:
            Clock(patched, at, STEPS)
            try:
                run(folder, Files([docs], ReadSettings()))
                break  # it came to its end before its time
            except Killed:
                pass
        assert outcome(folder, run(folder, Files([docs], ReadSettings()))) == whole
    assert at > 100


def test_it_may_end_again_and_again(tmp_path, docs, whole, monkeypatch):
    folder = tmp_path / "torn"
    folder.mkdir()
    toy, killed = interrupted(
        monkeypatch, random.Random(1), 60, STEPS, lambda: run(folder, Files([docs], ReadSettings()))
    )
    assert killed > 5
    assert outcome(folder, toy) == whole


def test_when_checkpoints_are_written_does_not_matter(tmp_path, docs, whole):
    ways = [
        {"every_docs": None},
        {"every_docs": 1},
        {"every_docs": 9},
        {"every_docs": None, "every_seconds": 0.0},
    ]
    for i, way in enumerate(ways):
        folder = tmp_path / str(i)
        folder.mkdir()
        assert outcome(folder, run(folder, Files([docs], ReadSettings()), **way)) == whole


def test_every_document_once_and_the_dead_aside(tmp_path, docs, whole):
    out = rows(tmp_path / "whole")
    assert [row["n"] for row in out] == list(range(1, 43))
    assert [row["id"] for row in out] == [f"d{i}" for i in range(42)]
    dead = rows(tmp_path / "whole", "dead.jsonl")
    assert [row["n"] for row in dead] == list(range(1, 9))
    assert dead[0]["id"].endswith("docs.jsonl, line 4")
    assert "not valid JSON" in dead[0]["reason"]
    assert dead[0]["record"] == "{broken"
    # answers come from the model as it was before the block
    assert len({row["said"].split()[0] for row in out[4:8]}) == 1


def test_more_documents_go_on_where_the_others_ended(tmp_path, docs):
    folder = tmp_path / "grown"
    folder.mkdir()
    run(folder, Files([docs], ReadSettings()))
    with open(docs, "a") as file:
        file.write('{"id": "late", "text": "late"}\n')
    toy = run(folder, Files([docs], ReadSettings()))
    assert toy.n_learned == 43
    assert rows(folder)[-1] | {"said": ""} == {"n": 43, "id": "late", "said": ""}


def test_old_checkpoints_are_pruned(tmp_path, docs):
    run(tmp_path, Files([docs], ReadSettings()), keep=2)
    names = sorted(p.name for p in (tmp_path / "state").iterdir() if p.suffix == ".bayou")
    assert len(names) == 2
    assert names[-1] == "checkpoint-0000000012.bayou"


@pytest.mark.parametrize("damage", ["empty", "truncated", "flipped"])
def test_a_damaged_checkpoint_is_passed_over(tmp_path, docs, whole, damage):
    folder, n = tmp_path / "torn", [0]
    folder.mkdir()

    def stopped():
        n[0] += 1
        return n[0] > 5

    run(folder, Files([docs], ReadSettings()), stopped=stopped)
    newest = max((folder / "state").glob("checkpoint-*"))
    data = bytearray(newest.read_bytes())
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    newest.write_bytes({"empty": b"", "truncated": bytes(data[:-9])}.get(damage, bytes(data)))
    (folder / "state" / ".checkpoint-0000000009.bayou.1-0.tmp").write_bytes(b"half")
    said = []
    toy = run(folder, Files([docs], ReadSettings()), told=said.append)
    assert outcome(folder, toy) == whole
    assert len(said) == 1
    assert newest.name in said[0]
    assert not list((folder / "state").glob(".*.tmp"))


def test_where_all_checkpoints_are_damaged_it_says_so(tmp_path, docs):
    run(tmp_path, Files([docs], ReadSettings()))
    for path in (tmp_path / "state").glob("checkpoint-*"):
        path.write_bytes(b"")
    with pytest.raises(ModelFileError, match="none of the 3 checkpoints"):
        run(tmp_path, Files([docs], ReadSettings()), told=lambda text: None)


@pytest.mark.parametrize("when", range(1, 14))
def test_a_full_disk_costs_nothing_but_the_time_until_there_is_room(
    tmp_path, docs, whole, monkeypatch, when
):
    """Every write from some moment on fails as on a full disk."""
    folder, left = tmp_path / "full", [when]
    folder.mkdir()

    def full(function):
        def call(*args, **how):
            left[0] -= 1
            if left[0] <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return function(*args, **how)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full(os.fsync))
        with pytest.raises(OSError, match="No space"):
            run(folder, Files([docs], ReadSettings()))
    assert outcome(folder, run(folder, Files([docs], ReadSettings()))) == whole


def test_a_clock_that_goes_backwards(tmp_path, docs, whole, monkeypatch):
    now = [2e9]

    def backwards():
        now[0] -= 3600.0
        return now[0]

    monkeypatch.setattr(time, "time", backwards)
    folder = tmp_path / "clock"
    folder.mkdir()
    run(folder, Files([docs], ReadSettings()), every_docs=None, every_seconds=0.0)
    for path in (folder / "state").glob("checkpoint-*"):
        os.utime(path, (0, int(path.name[-12:-6])))
    toy = run(folder, Files([docs], ReadSettings()))
    assert outcome(folder, toy) == whole


def test_documents_told_twice_are_left_out(tmp_path):
    path = tmp_path / "docs.jsonl"
    names = ["a", "b", "a", "c", "b", "d", "a", "e", "e", "f", "a"]
    path.write_text("".join(json.dumps({"id": x, "text": x}) + "\n" for x in names))
    toy = run(tmp_path, Files([str(path)], ReadSettings()), remember=3, block=2)
    assert [row["id"] for row in rows(tmp_path)] == ["a", "b", "c", "d", "a", "e", "f"]
    assert toy.n_learned == 7


def test_documents_without_an_id_are_never_repeats(tmp_path):
    path = tmp_path / "docs.jsonl"
    ids = [{"id": 2}, {}, {"id": "4"}, {}, {}, {"id": None}, {"id": None}, {"id": 2}]
    path.write_text("".join(json.dumps({"text": "x"} | x) + "\n" for x in ids))
    toy = run(tmp_path, Files([str(path)], ReadSettings()), remember=100)
    assert toy.n_learned == 7
    assert [row["id"] for row in rows(tmp_path)] == [2, 2, "4", 4, 5, 6, 7]


def test_what_is_remembered_does_not_depend_on_interruptions(tmp_path, monkeypatch):
    draw = random.Random(3)
    path = tmp_path / "docs.jsonl"
    names = [f"d{draw.randrange(40)}" for _ in range(300)]
    path.write_text("".join(json.dumps({"id": x, "text": x}) + "\n" for x in names))
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    done = outcome(one, run(one, Files([str(path)], ReadSettings()), remember=15, block=5))
    toy, killed = interrupted(
        monkeypatch, draw, 100, STEPS,
        lambda: run(other, Files([str(path)], ReadSettings()), remember=15, block=5),
    )  # fmt: skip
    assert killed
    assert outcome(other, toy) == done


def test_recent_names():
    recent = Recent(2, NONE)
    assert [recent.is_new(x) for x in "abab"] == [True, True, False, False]
    assert recent.is_new("c")
    recent.trim()
    assert (len(recent), recent.is_new("a"), recent.is_new("c")) == (2, True, False)
    again = Recent(2, recent.array(2))
    assert [again.is_new(x) for x in "bc"] == [False, False]
    assert all(Recent(0, NONE).is_new("a") for _ in range(2))


def test_one_process_at_a_time(tmp_path, docs):
    first = Journal(tmp_path / "state")
    with pytest.raises(DataError, match=r"another process \(process \d+ .*\) uses"):
        Journal(tmp_path / "state")
    first.close()
    Journal(tmp_path / "state").close()


def test_a_stream_is_not_mixed_with_another(tmp_path, docs):
    other = tmp_path / "other.jsonl"
    other.write_text(lines(1)[0] + "\n")
    run(tmp_path, Files([docs], ReadSettings()))
    with pytest.raises(DataError, match=r"started with other settings \(source "):
        run(tmp_path, Files([str(other)], ReadSettings()))
    folder = tmp_path / "else"
    folder.mkdir()
    (folder / "out.jsonl").write_text("mine\n")
    with pytest.raises(DataError, match="already holds rows"):
        run(folder, Files([docs], ReadSettings()))
    assert (folder / "out.jsonl").read_text() == "mine\n"


def test_rows_that_are_gone_are_missed(tmp_path, docs):
    run(tmp_path, Files([docs], ReadSettings()))
    (tmp_path / "out.jsonl").write_text("")
    with pytest.raises(DataError, match="restore the file"):
        run(tmp_path, Files([docs], ReadSettings()))


def test_a_stream_of_nothing_but_rubbish_is_a_mistake(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text('{"body": "x"}\n' * 99)
    assert run(tmp_path, Files([str(path)], ReadSettings())).n_learned == 0
    assert len(rows(tmp_path, "dead.jsonl")) == 99
    path.write_text('{"body": "x"}\n' * 150)
    folder = tmp_path / "all"
    folder.mkdir()
    with pytest.raises(DataError, match=r"first 100 records are all unusable .*no text"):
        run(folder, Files([str(path)], ReadSettings()), block=200)


def test_a_stream_without_documents(tmp_path):
    path = tmp_path / "docs.jsonl"
    path.write_text("")
    assert run(tmp_path, Files([str(path)], ReadSettings())).n_learned == 0


def test_a_stop_leaves_the_last_whole_block(tmp_path, docs, whole):
    folder, n = tmp_path / "stopped", [0]
    folder.mkdir()

    def stopped():
        n[0] += 1
        return n[0] > 3

    toy = run(folder, Files([docs], ReadSettings()), stopped=stopped, block=16, every_docs=None)
    assert 0 < toy.n_learned < 42
    assert toy.n_learned % 16 == 0
    toy = run(folder, Files([docs], ReadSettings()), block=16)
    assert toy.n_learned == 42


def test_a_folder_read_twice_gives_each_file_once(tmp_path, monkeypatch):
    root = tmp_path / "texts"
    for i in range(30):
        (root / f"k{i % 3}").mkdir(parents=True, exist_ok=True)
        (root / f"k{i % 3}" / f"{i:02}.txt").write_text(f"text {i}")
    (root / "bad.txt").write_bytes(b"\xff\xfe\x00")
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    def source():
        return Folder(str(root), False, Options())

    done = outcome(one, run(one, source()))
    assert len(rows(one)) == 30
    assert "bad.txt" in rows(one, "dead.jsonl")[0]["id"]
    toy, killed = interrupted(
        monkeypatch, random.Random(0), 50, STEPS, lambda: run(other, source())
    )
    assert killed
    assert outcome(other, toy) == done
    (root / "new.txt").write_text("late")  # its name sorts before others: order is that of arrival
    assert run(other, source()).n_learned == 31
    assert rows(other)[-1]["id"] == "new.txt"


def test_figures(tmp_path, docs):
    loop, _ = stream(tmp_path, Files([docs], ReadSettings()))
    seen = []
    loop.reported = lambda: seen.append(loop.gauges.line())
    loop.alert()
    with serving(0, loop.gauges.text) as port:
        loop.run()
        url = f"http://127.0.0.1:{port}"
        text = urllib.request.urlopen(f"{url}/metrics").read().decode()
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(f"{url}/else")
    values = dict(x.rsplit(" ", 1) for x in text.splitlines() if not x.startswith("#"))
    assert values["bayou_stream_documents_total"] == "42"
    assert values["bayou_stream_dead_letters_total"] == "8"
    assert values["bayou_stream_alerts_total"] == "1"
    assert values['bayou_stream_lag{unit="bytes"}'] == "0"
    assert float(values["bayou_stream_checkpoints_total"]) == 12
    assert "42 documents" in seen[-1]
    assert "0 bytes behind" in seen[-1]
    loop.gauges.write(tmp_path / "m.prom")
    assert "bayou_stream_live_topics 1\n" in (tmp_path / "m.prom").read_text()
    loop.gauges.values["lag"] = float("nan")
    assert "behind" not in loop.gauges.line()
    assert "NaN" in loop.gauges.text()
    with serving(None, Gauges("rows").text) as none:
        assert none is None


def test_documents_that_wait_for_a_block_are_told(tmp_path, docs):
    n, seen = [0], []

    def stopped():
        n[0] += 1
        return n[0] > 1

    loop, toy = stream(
        tmp_path, Files([docs], ReadSettings(follow=True)), stopped=stopped, block=64
    )
    loop.reported = lambda: seen.append((loop.gauges.line(), loop.gauges.text()))
    loop.run()
    loop.journal.close()
    assert toy.n_learned == 0
    assert 1 < loop.n_waiting < 64
    assert f"{loop.n_waiting} wait for a block of 64, 1 live topic, 2 terms" in seen[-1][0]
    assert f"bayou_stream_waiting {loop.n_waiting}\n" in seen[-1][1]
    loop.gauges.values |= {"dead_letters_total": 1.0, "waiting": 0.0, "unknown_share": float("nan")}
    assert loop.gauges.line().endswith("1 live topic, 2 terms, 1 dead letter, 0 alerts")
