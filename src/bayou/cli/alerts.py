"""Alerts of a tracker: lines of text, files, hooks, and how they compare with planted events."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bayou.cli.messages import Messages
from bayou.data.errors import DataError

if TYPE_CHECKING:
    from bayou.cli.options import Alerts
    from bayou.models.topic_tracker import TopicTracker
    from bayou.run.hooks import Hook

_WITH_SHARES = ("rise", "fall", "born", "split", "dormant", "revived", "dead", "merged")
_LEAST = 1e-4  # of the weight of the first word: a fixed topic has traces of other words


def open_alerts(path: Path, append: bool) -> Any:
    """A file of alerts: a new one, or more lines in an old one."""
    file = path.open("a" if append else "w", encoding="utf-8", errors="backslashreplace")
    if append and path.is_file() and path.read_bytes()[-1:] not in (b"", b"\n"):
        file.write("\n")  # after a line that was cut short
    return file


def hooks_of(wanted: Alerts) -> list[Hook]:
    """Hooks that are called with each alert; a wrong command or address is a usage error."""
    from bayou.run import hooks

    out = []
    for given, make, flag in (
        (wanted.on_alert, hooks.command, "--on-alert"),
        (wanted.webhook, hooks.webhook, "--webhook"),
    ):
        if given is not None:
            try:
                out.append(make(given))
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint=flag) from None
    return out


def call_hooks(line: str, hooks: list[Hook], messages: Messages) -> None:
    """Hand an alert, as JSON, to every hook; a hook that fails is reported and stops nothing."""
    for hook in hooks:
        problem = hook(line)
        if problem is not None:
            messages.info(f"The alert was not delivered: {problem}")


def line(alert: Any) -> str:
    """An alert as one line."""
    who = "documents" if alert.topic < 0 else f"topic {alert.topic}"
    words = " ".join(alert.words[:6])
    if alert.kind == "surprise":
        words = f"that fit no topic: {words or ', '.join(alert.docs)}"
    shares = ""
    if alert.kind in _WITH_SHARES:
        shares = f"  {alert.before:.1%} -> {alert.after:.1%}"
    more = f" ({alert.other})" if alert.other >= 0 else ""
    return f"{alert.date:<12} {alert.kind:<9} {who:<10}{more}{shares}  {words}"


@contextlib.contextmanager
def require_dates(is_needed: bool) -> Iterator[None]:
    """If dates are required, remove the advice to ignore the column from errors about dates."""
    try:
        yield
    except DataError as error:
        if not is_needed:
            raise
        raise DataError(
            str(error).replace(
                'or pass time="" to ignore it',
                "or leave it empty: the document then takes the time of the previous one",
            )
        ) from None


def count_late(model: TopicTracker) -> int:
    """Documents so far that came after their slice had ended, with those that were dropped."""
    intake = model._intake
    return int(model.slices_.n_late.sum()) + sum(intake.n_late.values()) + int(intake.n_dropped)


def topic_lines(model: TopicTracker) -> Iterator[str]:
    """The present topics, the largest first: number, share of the last slice, words."""
    state, names, shares = model.state_, model.topic_names_, model.topic_shares_
    terms, weights = model.top_terms(8), model.components_
    for k in (-shares).argsort(kind="stable"):
        id_ = int(state.ids[k])
        dormant = "  dormant" if state.silent[k] else ""
        who = f"topic {id_}" + (f" ({names[id_]})" if id_ in names else "")
        own = int((weights[k] > _LEAST * weights[k].max()).sum())
        yield f"{who:<11} {shares[k]:>6.1%}{dormant}  {' '.join(terms[k][:own])}".rstrip()


def compare_with_events(alerts: list[Any]) -> Iterator[str]:
    """Which events of the built-in news were found, which were missed, and which alerts are false."""
    from bayou.datasets import make_news
    from bayou.metrics.events import match_events

    events = make_news()[1].events
    matched = match_events(alerts, events)
    for event, its in matched.found:
        kinds = ", ".join(dict.fromkeys(f"{a.kind} in {a.date}" for a in its))
        yield f"found   {event.date} {event.kind:<7} {' '.join((event.gained or event.lost)[:4])}: {kinds}"
    for event in matched.missed:
        yield f"missed  {event.date} {event.kind:<7} {' '.join((event.gained or event.lost)[:4])}"
    for alert in matched.false:
        yield f"false   {line(alert)}"
    yield (
        f"{len(matched.found)} found, {len(matched.missed)} missed of {len(events)} planted events; "
        f"{len(matched.false)} of {len(alerts)} alerts false"
    )
