"""Documents of a file in the order of time: all of them, once, and not all at a time in memory."""

import json
import tracemalloc

import pytest

from bayou import TopicTracker
from bayou.cli import documents
from bayou.cli.messages import Messages
from bayou.cli.streams import time_order
from bayou.data.table import Columns


def written(path, days, more="", mode="w"):
    rows = [{"text": f"text {day} {more}", "when": day, "id": f"{day}/{n}"} for n, day in days]
    with path.open(mode) as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


def read(path, size=7, slice_by="day"):
    source = documents.Source(str(path), Columns("text", "", "", "when", "id"))
    return time_order.batches(source, size, TopicTracker(slice_by=slice_by), Messages(True, False))


DAYS = [f"2024-01-{1 + n // 4:02d}" for n in range(40)]


@pytest.mark.parametrize("step", [1, -1], ids=["in order", "newest first"])
def test_documents_that_are_added_while_a_file_is_looked_through_are_read_too(
    tmp_path, monkeypatch, step
):
    path = tmp_path / "log.jsonl"
    written(path, list(enumerate(DAYS))[::step])
    look = time_order._times

    def while_it_grows(*given):
        found = look(*given)
        written(path, [(40, "2024-01-11"), (41, "2024-01-11")], mode="a")
        return found

    monkeypatch.setattr(time_order, "_times", while_it_grows)
    batches = list(read(path))
    assert [len(batch.times) for batch in batches] == [len(batch.texts) for batch in batches]
    pairs = [pair for batch in batches for pair in zip(batch.ids, batch.times, strict=True)]
    assert sorted(id_ for id_, _ in pairs) == sorted(
        f"{day}/{n}" for n, day in enumerate([*DAYS, "2024-01-11", "2024-01-11"])
    )
    assert all(str(time).startswith(id_.partition("/")[0]) for id_, time in pairs)
    assert [str(time)[:10] for _, time in pairs] == sorted(str(time)[:10] for _, time in pairs)


def test_a_file_that_must_be_sorted_need_not_fit_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(time_order, "_LOOK", 16)
    path = tmp_path / "export.jsonl"
    written(path, list(enumerate(DAYS * 20))[::-1], more="word\u00e9 \ud83c " * 1500)
    n, before = 0, ""
    tracemalloc.start()
    try:
        for batch in read(path):
            for text, time in zip(batch.texts, batch.times, strict=True):
                assert text.startswith(f"text {str(time)[:10]} word\u00e9 \ud83c word")
                assert before <= str(time)
                n, before = n + 1, str(time)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert n == 800
    assert peak < path.stat().st_size / 4


@pytest.mark.parametrize(
    ("slice_by", "sizes"), [(5, [5, 5, 4]), ("day", [5, 4, 4, 1]), (None, [7, 7])], ids=str
)
def test_batches_of_a_pipe_end_with_slices_and_are_those_of_a_file_where_there_are_none(
    tmp_path, monkeypatch, slice_by, sizes
):
    """A tracker that takes what comes as a slice must not be given single documents."""
    written(tmp_path / "some.jsonl", list(enumerate(DAYS[:14])))
    with (tmp_path / "some.jsonl").open() as pipe:
        monkeypatch.setattr("sys.stdin", pipe)
        assert [len(batch.texts) for batch in read("-", slice_by=slice_by)] == sizes
