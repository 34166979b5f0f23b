"""Files and standard input as sources: from any record on, growing, rotated, packed, damaged."""

import gzip
import json
import os
import threading
import time

import numpy as np
import pytest

import bayou.data
from bayou.data import DataError
from bayou.data.streams.addresses import SourceSettings, open_sink, open_source, split
from bayou.data.streams.files import Files, ReadSettings

NONE = np.zeros(0, np.uint64)


def opened(paths, position=None, **how):
    source = Files([os.fspath(path) for path in paths], ReadSettings(**how))
    source.begin(position, NONE)
    return source


def drained(source, n=3):
    items = []
    while not source.ended:
        items += source.read(n, 0.0)
    return items


def texts(items):
    return [item.record["text"] if item.record else item.reason for item in items]


def lines(n, at=0):
    return "".join(json.dumps({"text": f"t{i}"}) + "\n" for i in range(at, at + n))


def every_position(paths, **how):
    """Reading on from behind any record gives the records behind it, in the same words."""
    whole = drained(opened(paths, **how))
    for i in range(len(whole) + 1):
        first = opened(paths, **how)
        some = [item for _ in range(i) for item in first.read(1, 0.0)]
        position = json.loads(json.dumps(first.position()))
        assert some + drained(opened(paths, position, **how)) == whole
    return whole


def test_from_any_record_on(tmp_path):
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text("\ufeff" + lines(4) + "\n  \n" + lines(2, 4))
    other.write_text(lines(2, 6) + '{"text": "t8"}')  # no end of line
    assert texts(every_position([path, other])) == [f"t{i}" for i in range(9)]
    source = opened([path, other])
    assert source.lag() == path.stat().st_size + other.stat().st_size
    drained(source)
    assert source.lag() == 0


def test_packed_files(tmp_path):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(lines(3).encode()) + gzip.compress(lines(3, 3).encode()))
    assert texts(every_position([path])) == [f"t{i}" for i in range(6)]
    assert opened([path]).lag() is None
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(DataError, match="truncated"):
        drained(opened([path]))
    data = bytearray(gzip.compress(lines(3).encode()))
    data[20] ^= 0xFF
    path.write_bytes(bytes(data))
    with pytest.raises(DataError, match="damaged"):
        drained(opened([path]))


def test_records_that_cannot_be_read(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [b'{"text": "ok"}', b"{", b"[1]", b"\xff\xfe", b'{"text": "' + b"x" * 300 + b'"}', b"7"]
    path.write_bytes(b"\n".join([*rows, rows[0]]) + b"\n")
    items = every_position([path], max_line_bytes=250)
    assert [item.record is None for item in items] == [False, True, True, True, True, True, False]
    reasons = [item.reason for item in items]
    assert "not valid JSON" in reasons[1]
    assert reasons[2] == reasons[5] == "expected a JSON object"
    assert "not valid UTF-8" in reasons[3]
    assert reasons[4] == "longer than 250 bytes"
    assert len(items[4].raw) == 200
    assert items[4].where.endswith("a.jsonl, line 5")


def test_a_line_much_longer_than_it_may_be_is_not_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"x" * 3_000_000 + b"\n" + lines(1).encode() + b"y" * 1_000_000)
    items = every_position([path], max_line_bytes=1000)
    assert texts(items) == ["longer than 1000 bytes", "t0", "longer than 1000 bytes"]


@pytest.mark.parametrize("semicolons", [False, True])
def test_tables(tmp_path, semicolons):
    path = tmp_path / "a.csv"
    text = 'id,text\n1,"a, b"\n2,"two\nlines ""here"""\n\n3,c\n4,x,y\n5,"d"\r\n6,e'
    path.write_text(text.replace(",", ";") if semicolons else text, newline="")
    items = every_position([path], format="csv")
    joint = ";" if semicolons else ","
    assert texts(items) == [
        f"a{joint} b", 'two\nlines "here"', "c", "3 fields, but the header names 2 columns", "d", "e",
    ]  # fmt: skip


def test_a_quote_that_never_ends(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text('id\ttext\n1\t"begun\n2\tx\n')
    items = drained(opened([path], format="tsv"))
    assert texts(items) == ["the file ends inside quotes"]
    path.write_text('id\ttext\n1\t"begun\n' + "2\tx\n" * 100 + '3\t"y"\n')
    items = drained(opened([path], format="tsv", max_line_bytes=50))
    assert items[0].reason == "a row longer than 50 bytes"
    assert items[-1].record == {"id": "3", "text": "y"}
    path.write_text("id\tid\n")
    with pytest.raises(DataError, match="same name"):
        drained(opened([path], format="tsv"))


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_a_quote_within_a_field_is_a_quote(tmp_path, form):
    path = tmp_path / f"a.{form}"
    text = 'id,text\n1,5" disk\n2,ok\n3,6" disk\n4,fine\n5,7" x\n6,"a ""b""\nc"\n7,\n'
    path.write_text(text if form == "csv" else text.replace(",", "\t"))
    items = every_position([path], format=form)
    assert texts(items) == ['5" disk', "ok", '6" disk', "fine", '7" x', 'a "b"\nc', ""]
    assert len(bayou.data.read(path)) == 7
    if form == "tsv":
        path.write_text("id\ttext\n\t\n")
        assert texts(every_position([path], format=form)) == [""]


def test_a_row_that_cannot_be_parsed_takes_no_other_with_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('id,text\n1,"a"b,"c\n2,ok\n3,"x\ny"z"\n4,fine\n')
    items = every_position([path], format="csv")
    assert [item.record and item.record["text"] for item in items] == [None, "ok", None, "fine"]
    assert [item.raw for item in items if item.raw] == ['1,"a"b,"c', '3,"x\ny"z"']
    path.write_bytes(b'id,text\n1,"a\n\xff\n2,ok\n3,"b\n' + b"x" * 99 + b"\n4,fine\n")
    items = every_position([path], format="csv", max_line_bytes=90)
    assert [item.record and item.record["text"] for item in items] == [None, "ok", None, "fine"]
    assert items[0].raw == '1,"a\n\\xff'


def test_another_file_of_the_same_name_is_noticed(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(5))
    source = opened([path])
    source.read(3, 0.0)
    position = source.position()
    path.write_text("x" + lines(5))
    with pytest.raises(DataError, match="does not begin with the same bytes"):
        opened([path], position)
    path.write_text(lines(1))
    with pytest.raises(DataError, match="does not begin with the same bytes"):
        opened([path], position)


def test_a_file_that_grows(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(2) + '{"text":')
    source = opened([path], follow=True)
    assert texts(source.read(9, 0.0)) == ["t0", "t1"]
    assert source.read(9, 0.0) == []
    position = source.position()
    with path.open("a") as file:
        file.write(' "t2"}\n' + lines(1, 3))
    assert texts(source.read(9, 0.0)) == ["t2", "t3"]
    assert texts(opened([path], position, follow=True).read(9, 0.0)) == ["t2", "t3"]

    def later():
        time.sleep(0.1)
        with path.open("a") as file:
            file.write(lines(1, 4))

    writer = threading.Thread(target=later)
    writer.start()
    assert texts(source.read(9, 30.0)) == ["t4"]
    writer.join()
    assert not source.ended


def test_a_file_that_is_rotated(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(3))
    source = opened([path], follow=True)
    assert texts(source.read(2, 0.0)) == ["t0", "t1"]
    position = source.position()
    path.rename(tmp_path / "a.jsonl.1")
    assert texts(source.read(9, 0.0)) == ["t2"]
    assert source.read(9, 0.0) == []  # its successor is not there yet
    path.write_text(lines(2, 3))
    assert texts(source.read(9, 0.0)) == ["t3", "t4"]
    # interrupted before the rotation, it finds the old file beside the new one
    again = opened([path], position, follow=True)
    assert texts(again.read(9, 0.0) + again.read(9, 0.0)) == ["t2", "t3", "t4"]
    again = opened([path], source.position(), follow=True)
    assert again.read(9, 0.0) == []


def test_a_start_between_a_rotation_and_the_new_file_waits_for_it(tmp_path):
    path, old = tmp_path / "a.jsonl", tmp_path / "a.jsonl.1"
    path.write_text(lines(3))
    source = opened([path], follow=True)
    assert texts(source.read(2, 0.0)) == ["t0", "t1"]
    position = json.loads(json.dumps(source.position()))
    path.rename(old)
    again = opened([path], position, follow=True)
    assert texts(again.read(9, 0.0)) == ["t2"]
    assert again.read(9, 0.01) == []
    assert not again.ended
    with old.open("a") as more:  # its writer has not noticed yet
        more.write(lines(1, 3))
    assert texts(again.read(9, 0.0)) == ["t3"]
    between = opened([path], json.loads(json.dumps(again.position())), follow=True)
    assert between.read(9, 0.0) == []
    path.write_text(lines(2, 4))
    for one in (again, between):
        assert texts(one.read(9, 0.0)) == ["t4", "t5"]
    # without --follow there is nothing to wait for
    path.unlink()
    assert texts(drained(opened([path], position))) == ["t2", "t3"]
    other = tmp_path / "b.jsonl"
    other.write_text(lines(1, 9))
    assert texts(drained(opened([path, other], position))) == ["t2", "t3", "t9"]
    both = opened([path, other], position, follow=True)
    assert texts(both.read(9, 0.0)) == ["t2", "t3", "t9"]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("running", [False, True])
def test_a_file_that_is_rotated_several_times(tmp_path, running, packed):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(2))
    source = opened([path], follow=True)
    assert texts(source.read(1, 0.0)) == ["t0"]
    position = source.position()
    path.rename(tmp_path / "a.jsonl.3")
    (tmp_path / "a.jsonl.4").write_text(lines(1, 90))  # an older one
    if packed:
        (tmp_path / "a.jsonl.2.gz").write_bytes(gzip.compress(lines(2, 2).encode()))
    else:
        (tmp_path / "a.jsonl.2").write_text(lines(2, 2))
    (tmp_path / "a.jsonl.1").write_text(lines(1, 4))
    path.write_text(lines(1, 5))
    source = source if running else opened([path], position, follow=True)
    found, said = [], []
    source.remarks = said.append
    for i in range(1, 6):
        found += texts(source.read(1, 0.0))
        source = opened([path], json.loads(json.dumps(source.position())), follow=True)
        source.remarks = said.append
        assert found == [f"t{j}" for j in range(1, i + 1)]
    assert source.read(1, 0.0) == []
    assert said == []


def test_a_file_between_two_that_is_not_there_is_remarked_on(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(2))
    source, said = opened([path], follow=True), []
    source.remarks = said.append
    assert texts(source.read(1, 0.0)) == ["t0"]
    path.rename(tmp_path / "a.jsonl.2")
    path.write_text(lines(1, 2))
    assert texts(source.read(9, 0.0)) == ["t1", "t2"]
    assert "a.jsonl.1 does not exist" in said[0]
    path.rename(tmp_path / "a.jsonl.20260102")
    os.utime(tmp_path / "a.jsonl.20260102", (1, 1))
    (tmp_path / "a.jsonl.20260101").write_text(lines(1, 90))
    os.utime(tmp_path / "a.jsonl.20260101", (0, 0))
    (tmp_path / "a.jsonl.20260103").write_text(lines(1, 3))
    os.utime(tmp_path / "a.jsonl.2", (0, 0))
    path.write_text(lines(1, 4))
    assert texts(source.read(9, 0.0)) == ["t4"]
    assert "not read: a.jsonl.20260103" in said[1]


def test_what_was_written_just_before_a_rotation_is_read(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(1))
    source = opened([path], follow=True)
    assert len(source.read(9, 0.0)) == 1
    looked = type(source._reader).is_replaced

    def rotate(reader):
        monkeypatch.undo()
        with path.open("a") as file:
            file.write(lines(1, 1))
        path.rename(tmp_path / "old")
        path.write_text(lines(1, 2))
        return looked(reader)

    monkeypatch.setattr(type(source._reader), "is_replaced", rotate)
    assert texts(source.read(9, 0.0)) == ["t1", "t2"]


def test_a_file_that_is_cut_short(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(3))
    source, said = opened([path], follow=True), []
    source.remarks = said.append
    assert len(source.read(9, 0.0)) == 3
    path.write_text(lines(1, 7))
    assert texts(source.read(9, 0.0) + source.read(9, 0.0)) == ["t7"]
    assert "was truncated" in said[0]


def test_a_file_that_is_copied_truncated_and_written_again_loses_nothing(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(3))
    source, said = opened([path], follow=True), []
    source.remarks = said.append
    assert len(source.read(3, 0.0)) == 3
    position = source.position()
    (tmp_path / "a.jsonl.1").write_text(lines(5))  # two more lines came before the copy
    with path.open("r+") as file:  # the same file, longer than before
        file.truncate(0)
        file.write(lines(9, 100))
    found = [item for _ in range(4) for item in source.read(20, 0.0)]
    assert texts(found) == ["t3", "t4", *(f"t{i}" for i in range(100, 109))]
    assert "copy" in said[0]
    # interrupted before the truncation
    again = opened([path], position, follow=True)
    found = [item for _ in range(4) for item in again.read(20, 0.0)]
    assert texts(found) == ["t3", "t4", *(f"t{i}" for i in range(100, 109))]


def test_a_file_that_is_written_again_without_a_copy_says_what_is_lost(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(lines(3))
    source, said = opened([path], follow=True), []
    source.remarks = said.append
    assert len(source.read(3, 0.0)) == 3
    with path.open("r+") as file:
        file.truncate(0)
        file.write(lines(9, 100))
    found = [item for _ in range(4) for item in source.read(20, 0.0)]
    assert texts(found) == [f"t{i}" for i in range(100, 109)]
    assert "what was added to it after those bytes is lost" in said[0]


@pytest.fixture
def piped(monkeypatch):
    """Standard input is a pipe; gives its other end."""
    ear, mouth = os.pipe()
    kept = os.dup(0)
    os.dup2(ear, 0)
    os.close(ear)
    yield mouth
    os.dup2(kept, 0)
    os.close(kept)


def test_standard_input_comes_again_from_its_beginning(piped):
    os.write(piped, lines(3).encode())
    source = opened(["-"])
    assert texts(source.read(2, 0.0)) == ["t0", "t1"]
    position = source.position()
    assert texts(source.read(9, 0.0)) == ["t2"]
    assert source.read(9, 0.01) == []
    assert not source.ended
    os.write(piped, lines(4).encode())  # somebody sends all of it once more
    again = opened(["-"], position)
    assert texts(again.read(9, 0.0)) == ["t2", "t3"]
    os.close(piped)
    assert again.read(9, 0.0) == []
    assert again.ended
    assert again.lag() is None


def test_another_standard_input_is_noticed(piped):
    os.write(piped, lines(3).encode())
    source = opened(["-"])
    source.read(2, 0.0)
    os.write(piped, lines(3, 5).encode())
    with pytest.raises(DataError, match="standard input does not begin"):
        opened(["-"], source.position())
    os.close(piped)
    with pytest.raises(DataError, match="standard input does not begin"):
        opened(["-"], source.position())


def test_addresses(tmp_path):
    assert split("unix:///run/redis.sock?db=1#news") == (
        "unix",
        "unix:///run/redis.sock?db=1",
        "news",
    )
    with pytest.raises(DataError, match="does not name a table"):
        split("sqlite:///a.db")
    with pytest.raises(DataError, match="does not name a stream"):
        open_sink("redis://localhost")
    path, table = tmp_path / "a.jsonl", tmp_path / "b.csv"
    path.write_text("")
    table.write_text("")
    assert open_source([str(path)], SourceSettings()).how.format == "jsonl"
    assert open_source([str(table)], SourceSettings()).how.format == "csv"
    assert open_source([str(table)], SourceSettings(format="jsonl")).how.format == "jsonl"
    with pytest.raises(DataError, match="differ in format"):
        open_source([str(path), str(table)], SourceSettings())
    with pytest.raises(DataError, match="cannot be combined with other sources"):
        open_source([str(path), str(tmp_path)], SourceSettings())
    with pytest.raises(DataError, match="cannot be combined with files"):
        open_source([str(path), "-"], SourceSettings())
    with pytest.raises(
        FileNotFoundError
    ):  # when it is begun: one that was rotated may be elsewhere
        open_source([str(tmp_path / "none")], SourceSettings()).begin(None, NONE)
    parquet = tmp_path / "a.parquet"
    parquet.write_text("")
    with pytest.raises(DataError, match="bayou update"):
        open_source([str(parquet)], SourceSettings())
    with pytest.raises(DataError, match="got format 'xml'"):
        open_source([str(path)], SourceSettings(format="xml"))
    path.write_bytes("{}".encode("utf-16"))
    with pytest.raises(DataError, match="UTF-16"):
        drained(opened([path]))
