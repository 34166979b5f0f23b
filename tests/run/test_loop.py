"""The loop: who is told what, in which order, and when it ends."""

import math

import pytest

from bayou.run import loop
from bayou.run.loop import Info


def counting(n):
    """A step that counts to n."""

    def step(state):
        if state == n:
            return state, None
        return state + 1, Info(state + 1, n, "count", math.nan, 0.0)

    return step


def test_runs_until_the_step_has_nothing_more_to_say():
    assert loop.run(0, counting(5)) == 5
    assert loop.run(5, counting(5)) == 5


def test_order_is_step_then_checkpoint_then_callbacks():
    told = []
    loop.run(
        0,
        counting(2),
        after=lambda state, info: told.append(("after", state, info.step)),
        callbacks=[lambda i: told.append(("one", i.step)), lambda i: told.append(("two", i.step))],
    )
    assert told == [
        ("after", 1, 1),
        ("one", 1),
        ("two", 1),
        ("after", 2, 2),
        ("one", 2),
        ("two", 2),
    ]


def test_every_callback_hears_of_the_last_step():
    told = []
    state = loop.run(
        0, counting(9), callbacks=[lambda i: i.step == 3, lambda i: told.append(i.step)]
    )
    assert state == 3
    assert told == [1, 2, 3]


def test_time_is_kept_and_bounds_the_run(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(loop.time, "monotonic", lambda: float(next(clock)))
    told = []
    state = loop.run(0, counting(50), callbacks=[told.append], max_time=4.0)
    assert [info.seconds for info in told] == [1.0, 2.0, 3.0, 4.0]
    assert state == 4


def test_one_step_is_made_however_short_the_time():
    assert loop.run(0, counting(50), max_time=1e-12) == 1


def test_errors_pass_through():
    def fail(info):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        loop.run(0, counting(3), callbacks=[fail])


def test_no_bar_is_no_callback(capfd):
    with loop.progress_bar(False, "title") as bar:
        assert bar == []
    assert capfd.readouterr() == ("", "")


def test_the_bar_takes_scores_and_their_absence(capfd):
    with loop.progress_bar(True, "title") as (tell,):
        assert tell(Info(1, 3, "online", math.nan, 0.1)) is None
        assert tell(Info(2, 3, "cvb0", -7.25, 0.2)) is None
    assert capfd.readouterr().out == ""
