"""Drawing of the lineage of topics."""

from __future__ import annotations

from collections.abc import Callable

from bayou.report.share_bands import dates
from bayou.report.svg import Markup, chart, element, path
from bayou.report.text import shorten
from bayou.report.track import TrackData
from bayou.report.track_records import TrackedTopic

MOST_TOPICS = 24
_NUMBER = 20  # width of the column of permanent numbers
_EVENTS = ("born", "split", "merged", "dormant", "revived", "dead")


def lineage_topics(data: TrackData) -> list[TrackedTopic]:
    """Topics with the most events, in order of their first slice."""
    eventful = {c.topic.id for c in data.changes if c.topic and c.kind in _EVENTS}
    order = sorted(data.topics, key=lambda t: (t.id not in eventful, -t.n_changes, t.id))
    return sorted(order[:MOST_TOPICS], key=lambda t: (t.born, t.id))


def lineage(topics: list[TrackedTopic], data: TrackData, width: int) -> Markup:
    """One line per topic from its first to its last slice, with connections for splits and merges."""
    narrow, row = width < 400, 24
    left, right, top = (136 if narrow else 214), 16, 12
    names = data.course.names
    n = len(names)
    height = top + row * len(topics) + 26

    def x(t: float) -> float:
        return left + (width - left - right) * t / max(n - 1, 1)

    at = {topic.id: top + row * i + row / 2 for i, topic in enumerate(topics)}
    marks = dates(names, [x(t) for t in range(n)], top, (width, height))
    for c in data.changes:
        if c.topic and c.other and {c.topic.id, c.other.id} <= set(at) and c.kind in _EVENTS:
            ends = [(x(c.bin), at[c.other.id]), (x(c.bin), at[c.topic.id])]
            marks.append(element("path", d=path(ends), class_="joint"))
    for topic in topics:
        marks += _lifetime(topic, data, at[topic.id], x, 13 if narrow else 22)
    period = f"{data.when.label(names[0])} to {data.when.label(names[-1])}"
    return chart(width, height, f"Lineage of {len(topics)} topics from {period}", *marks)


def _lifetime(
    topic: TrackedTopic, data: TrackData, y: float, place: Callable[[float], float], most: int
) -> list[Markup]:
    """Number, name and line of one topic: dotted while dormant, ring at its birth, cross at its end."""
    events = [c for c in data.changes if c.topic is not None and c.topic.id == topic.id]
    look = f"f{topic.sign.family}"
    name = topic.name(2) if len(topic.name(2)) <= most else shorten(topic.name(1), most)
    kind = "strong" if topic.n_changes else None
    marks = [
        element("text", str(topic.id), x=_NUMBER, y=y + 4, text_anchor="end", class_="faint"),
        element("text", name, x=_NUMBER + 6, y=y + 4, class_=kind),
    ]
    begin, is_dormant = topic.born, False
    for c in [*(c for c in events if c.kind in ("dormant", "revived", "dead", "merged")), None]:
        end = topic.last if c is None else c.bin
        style = "sleep" if is_dormant else "life"
        ends = [(place(begin), y), (max(place(end), place(begin) + 2), y)]
        marks.append(element("path", d=path(ends), class_=f"{look} {style}"))
        begin, is_dormant = end, c is not None and c.kind == "dormant"
        if c is not None and c.kind in ("dead", "merged"):
            cross = element(
                "path", d=f"M{place(end) - 4:.1f} {y - 4:.1f}l8 8m0 -8l-8 8", class_="end"
            )
            marks.append(cross)
            break
    if any(c.kind in ("born", "split") for c in events):
        marks.append(element("circle", cx=place(topic.born), cy=y, r=5, class_=f"{look} start"))
    return marks
