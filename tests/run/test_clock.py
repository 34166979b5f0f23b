"""A wall clock that goes back: streams, locks and checkpoints use it for messages only."""

import os
import time

import pytest
from tests.run.toy import lines, outcome, rows, run

from bayou.data import DataError
from bayou.data.streams.addresses import SourceSettings, open_source
from bayou.data.streams.retries import RetryPolicy
from bayou.run.journal import Journal


@pytest.fixture
def backwards(monkeypatch):
    """Every look at the wall clock is an hour before the last one."""
    now = [4e9]

    def earlier(*_):
        now[0] -= 3600.0
        return now[0]

    real = time.gmtime
    monkeypatch.setattr(time, "time", earlier)
    monkeypatch.setattr(time, "time_ns", lambda: int(earlier() * 1e9))
    monkeypatch.setattr(time, "gmtime", lambda seconds=None: real(seconds or earlier()))
    return now


def stream(folder, name, **how):
    folder.mkdir(exist_ok=True)
    source = open_source([str(name)], SourceSettings(follow="stopped" in how))
    return outcome(folder, run(folder, source, **how))


def test_a_stream_is_the_same(tmp_path, backwards, monkeypatch):
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines(60)) + "\n")
    how = {"every_docs": None, "every_seconds": 0.0}
    disturbed = stream(tmp_path / "one", path, **how)
    looked = backwards[0]
    monkeypatch.undo()
    assert disturbed == stream(tmp_path / "other", path, **how)
    assert looked < 4e9  # the lock asked the faked clock


def test_following_a_file_ends_when_it_is_stopped(tmp_path, backwards):
    path = tmp_path / "docs.jsonl"
    path.write_text("\n".join(lines(20)) + "\n")
    out = tmp_path / "run"

    def stopped():
        return (out / "out.jsonl").exists() and len(rows(out)) == 20

    assert stream(out, path, stopped=stopped)[1] == 20


def test_the_newest_checkpoint_goes_by_its_number(tmp_path, backwards):
    journal = Journal(tmp_path / "state")
    for step in range(5):
        path = journal.write({}, {"step": step})
        os.utime(path, (1e9 - step, 1e9 - step))  # each file looks older than the one before
    assert journal.newest().manifest["step"] == 4
    assert [path.name[-8:-6] for path in journal.paths()] == ["03", "04", "05"]
    journal.close()


def test_a_lock_does_not_go_by_the_time(tmp_path, backwards):
    first = Journal(tmp_path / "state")
    with pytest.raises(DataError, match="another process"):
        Journal(tmp_path / "state")
    first.close()
    Journal(tmp_path / "state").close()


def test_waiting_for_a_server_ends(backwards):
    policy = RetryPolicy(seconds=0.1)

    def away():
        raise ConnectionError("away")

    with pytest.raises(DataError, match="away"):
        policy.until(away, (ConnectionError,), "server")
