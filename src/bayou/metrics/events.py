"""Comparison of alerts with a list of known events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class EventMatches(NamedTuple):
    """The assignment of alerts to events."""

    found: list[tuple[Any, list[Any]]]  # event, its alerts
    missed: list[Any]
    false: list[Any]  # alerts without an event


def match_events(alerts: Sequence[Any], events: Sequence[Any], *, delay: int = 1) -> EventMatches:
    """Assign alerts to planted events.

    An alert belongs to an event if both time and words match. Time: the alert is in the event's slice, or up
    to ``delay`` slices after the start or the end of the event. Words: one of the two leading words of the
    alert, or any two of its words, are words of the event.

    Parameters
    ----------
    alerts : sequence with ``slice``, ``words`` and ``lost``
        For example `TopicTracker.alerts`.
    events : sequence with ``slice``, ``stop``, ``gained`` and ``lost``
        For example the events of `make_news`.
    delay : int

    Returns
    -------
    EventMatches

    Examples
    --------
    >>> from bayou.datasets import make_news
    >>> match_events([], make_news(n_slices=6)[1].events).missed[0].kind
    'appear'
    """
    found: dict[int, list[Any]] = {i: [] for i in range(len(events))}
    false = []
    for alert in alerts:
        mine = [i for i, event in enumerate(events) if _belongs(alert, event, delay)]
        for i in mine:
            found[i].append(alert)
        if not mine:
            false.append(alert)
    return EventMatches(
        [(events[i], its) for i, its in found.items() if its],
        [events[i] for i, its in found.items() if not its],
        false,
    )


def _belongs(alert: Any, event: Any, delay: int) -> bool:
    starts = [event.slice] if event.stop is None else [event.slice, event.stop]
    if not any(start <= alert.slice <= start + delay for start in starts):
        return False
    wanted = {*event.gained, *event.lost}
    named = {*alert.words, *alert.lost}
    lead = {*alert.words[:2], *alert.lost[:2]}
    return bool(lead & wanted) or len(named & wanted) >= 2
