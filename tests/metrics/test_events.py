"""Alerts held against planted events."""

from types import SimpleNamespace

from bayou.datasets import Event
from bayou.metrics.events import match_events


def alert(slice_, words, lost=()):
    return SimpleNamespace(slice=slice_, words=tuple(words), lost=tuple(lost))


def test_alerts_belong_to_events_by_slice_and_words():
    events = [
        Event("appear", 4, None, "2024-01-29", 6, ("a", "b", "c"), ()),
        Event("burst", 8, 10, "2024-02-26", 1, ("x", "y", "z"), ()),
        Event("fade", 12, 16, "2024-03-25", 2, (), ("q", "r")),
    ]
    alerts = [
        alert(4, ["a", "n", "m"]),  # its leading word
        alert(5, ["n", "m", "o", "b", "c"]),  # a slice later, two words
        alert(10, ["n"], ["x", "y"]),  # the end of the burst
        alert(6, ["a", "b"]),  # too late
        alert(12, ["n", "m", "o", "q"]),  # one word far down
    ]
    matched = match_events(alerts, events)
    assert [(e.kind, len(a)) for e, a in matched.found] == [("appear", 2), ("burst", 1)]
    assert [e.kind for e in matched.missed] == ["fade"]
    assert matched.false == alerts[3:]
