"""Findings at the top of a report: sentences that follow from the numbers by rule."""

from __future__ import annotations

import math
from typing import NamedTuple

from bayou.report.data import LabelRow, ReportData
from bayou.report.measure import perplexity
from bayou.report.text import count, decimal, percent, whole


class Finding(NamedTuple):
    """A sentence with a link to its evidence; parts with odd index are bold."""

    parts: tuple[str, ...]
    link: str
    link_text: str


def findings(data: ReportData) -> list[Finding]:
    """All findings; a finding whose interval includes "no effect" is omitted."""
    rules = (_size_finding, _accuracy_finding, _perplexity_finding, _label_finding, _trend_finding)
    return [finding for rule in rules if (finding := rule(data))]


def _size_finding(data: ReportData) -> Finding | None:
    """Share of the largest topics."""
    n = len(data.topics)
    if n <= 3 or data.n_tokens <= 0:
        return None
    by_share = sorted(data.topics, key=lambda topic: topic.rank)
    first, number = (10, "ten") if n >= 20 else (3, "three")
    largest = by_share[0]
    parts = (
        f"The {number} largest of {whole(n)} topics cover ",
        percent(sum(topic.share.value for topic in by_share[:first]), 0),
        f" of the words. The largest is topic {largest.id} ({largest.name()}) with "
        f"{percent(largest.share.value)}." + _bare_note(sum(topic.bare for topic in data.topics)),
    )
    return Finding(parts, "topics", "See the topics")


def _bare_note(n: int) -> str:
    """Sentence on topics with too few tokens to be described; empty if there are none."""
    if not n:
        return ""
    have = "topics have" if n > 1 else "topic has"
    return f" {whole(n)} {have} fewer than ten words and cannot be described."


def _accuracy_finding(data: ReportData) -> Finding | None:
    """Accuracy on held-out documents if it exceeds that of predicting the most frequent class."""
    found = data.classes
    if found is None or found.confusion is None or not found.unseen or not found.measures:
        return None
    baseline = max(map(sum, found.confusion)) / max(found.n_measured, 1)
    accuracy = found.measures[0][1]
    if not accuracy > baseline:
        return None
    parts = (
        f"Accuracy on {count(found.n_measured, 'held-out document')} is ",
        percent(accuracy, 0),
        f". Always predicting the most frequent class would give {percent(baseline, 0)}.",
    )
    return Finding(parts, "classes", "See the classes")


def _perplexity_finding(data: ReportData) -> Finding | None:
    found = data.held_out
    if found is None or not data.has_test or found.n_known or not found.gain.low > 0:
        return None
    reduction = 1 - math.exp(-found.gain.value)
    parts = (
        "Held-out perplexity is ",
        whole(perplexity(found.score).value),
        f"; the one-topic baseline is {whole(perplexity(found.baseline).value)}. The model is ",
        f"{percent(reduction, 0)} lower",
        f" on {count(found.n_docs, 'document')} that it did not learn from.",
    )
    return Finding(parts, "quality", "See prediction quality")


def _label_finding(data: ReportData) -> Finding | None:
    """The label with the largest excess of a topic, if the two intervals do not overlap."""
    best: tuple[float, LabelRow, int] | None = None
    for row in data.label_rows:
        for k, share in enumerate(row.shares):
            gap = share.value - data.topics[k].share.value
            if share.low > data.topics[k].share.high and (best is None or gap > best[0]):
                best = gap, row, k
    if best is None:
        return None
    _, row, k = best
    topic = data.topics[k]
    parts = (
        "Label ",
        row.name,
        f" differs most from the collection: topic {topic.id} ({topic.name()}) covers ",
        percent(row.shares[k].value, 0),
        f" of its average document and {percent(topic.share.value)} of the collection.",
    )
    return Finding(parts, "labels", "See the labels")


def _trend_finding(data: ReportData) -> Finding | None:
    """The topic whose share changes most, if its interval excludes zero."""
    if data.course is None:
        return None
    rises = data.course.rises
    significant = [k for k, rise in enumerate(rises) if rise.low > 0 or rise.high < 0]
    if not significant:
        return None
    k = max(significant, key=lambda k: abs(rises[k].value))
    topic, rise = data.topics[k], rises[k].value
    parts = (
        "The share of ",
        topic.name(),
        f" (topic {topic.id}) changes most: it is ",
        f"{decimal(abs(100 * rise), 1)} percentage points {'higher' if rise > 0 else 'lower'}",
        " in the last third of the period than in the first third.",
    )
    return Finding(parts, "time", "See shares over time")
