"""Alerts held against a list of events that are known to have happened."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class EventMatches(NamedTuple):
    """Which alerts belong to which events."""

    found: list[tuple[Any, list[Any]]]  # event, its alerts
    missed: list[Any]
    false: list[Any]  # alerts of no event


def match_events(alerts: Sequence[Any], events: Sequence[Any], *, delay: int = 1) -> EventMatches:
    """Hold alerts against planted events.

    An alert belongs to an event if it comes in the event's slice, or up to ``delay`` slices after that or
    after its end, and one of the two leading words that it names, or two of any, are words of the event.

    Parameters
    ----------
    alerts : sequence with ``slice``, ``words`` and ``lost``
        As `TopicTracker.alerts` gives them.
    events : sequence with ``slice``, ``stop``, ``gained`` and ``lost``
        As `make_news` gives them.
    delay : int

    Returns
    -------
    Matched

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
