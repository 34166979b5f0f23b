"""Ranges are shared out whole, once, and errors come back."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayou.run import shards
from bayou.run.shards import Workers, resolve_threads


def test_numbers_of_threads(monkeypatch):
    assert resolve_threads(3) == 3
    assert resolve_threads(np.int64(2)) == 2
    assert resolve_threads(None) == resolve_threads(-1) >= 1
    monkeypatch.delattr(shards.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(shards.os, "cpu_count", lambda: None)
    assert resolve_threads(None) == 1
    for bad in (0, -2):
        with pytest.raises(ValueError, match="n_threads must be at least 1"):
            resolve_threads(bad)


@settings(max_examples=60)
@given(
    sizes=st.lists(st.integers(0, 60_000), max_size=40),
    begin=st.integers(0, 10**9),
    n_threads=st.sampled_from([1, 2, 3, 4]),
)
def test_every_item_is_done_once(sizes, begin, n_threads):
    ends = begin + np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    done = np.zeros(len(sizes), np.int64)
    calls = []

    def work(lo, hi):
        calls.append((lo, hi))
        done[lo:hi] += 1

    with Workers(n_threads) as workers:
        workers.each(work, ends)
    assert (done == 1).all()
    assert all(lo < hi for lo, hi in calls)
    if sum(sizes) < shards._LEAST or n_threads == 1:
        assert len(calls) == (1 if sizes else 0)


def test_large_work_is_spread_over_threads():
    meet = threading.Barrier(2, timeout=60)

    def work(lo, hi):
        if lo == 0 or hi == 100:  # the first and the last piece wait for each other
            meet.wait()

    with Workers(2) as workers:
        workers.each(work, np.arange(101) * 0 + np.array([0] * 50 + [10**6] * 51))


def test_pieces_are_of_like_size():
    calls = []
    with Workers(2) as workers:
        workers.each(lambda lo, hi: calls.append(hi - lo), np.arange(1001) * 100, 1e3)
    assert sum(calls) == 1000
    assert max(calls) - min(calls) <= 1


@pytest.mark.parametrize("n_threads", [1, 2])
def test_errors_come_back(n_threads):
    def fail(lo, hi):
        raise RuntimeError("in a thread")

    with Workers(n_threads) as workers, pytest.raises(RuntimeError, match="in a thread"):
        workers.each(fail, np.arange(11) * 100_000)


def test_no_items_is_no_call():
    with Workers(2) as workers:
        workers.each(lambda lo, hi: pytest.fail("called"), np.zeros(1, np.int64))
        workers.each(lambda lo, hi: pytest.fail("called"), np.zeros(0, np.int64))


def test_all_threads_take_pieces_until_there_is_none():
    """The one that hands out as well: of eight pieces that are done in pairs, four are its own."""
    taken, meet = [], threading.Barrier(2, timeout=60)

    def work(lo, hi):
        taken.append(threading.get_ident())
        meet.wait()  # for another thread with another piece

    with Workers(2) as workers:
        workers.each(work, np.arange(9) * 10_000_000)
    assert sorted(taken.count(one) for one in set(taken)) == [4, 4]
    assert threading.get_ident() in taken


def test_what_is_left_is_not_begun_after_an_error():
    done = []

    def work(lo, hi):
        time.sleep(0.01)
        done.append(lo)
        raise IndexError("of the work")

    with Workers(2) as workers, pytest.raises(IndexError, match="of the work"):
        workers.each(work, np.arange(9) * 10_000_000)
    assert len(done) <= 2
