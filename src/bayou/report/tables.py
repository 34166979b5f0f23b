"""Tables of a report: key figures, topic shares per label, and how the numbers are computed."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bayou.report.data import LabelRow, ReportData
from bayou.report.measure import Estimate, perplexity
from bayou.report.text import THIN, count, decimal, percent, whole
from bayou.report.topics import COHERENCE_WORDS, Topic

HEAT_STEPS = 20  # shades; the style sheet defines as many
MOST_HEAT_TOPICS = 12

_SHARE = (
    "Share of the words that the model assigns to the topic: topic proportions of the documents, "
    "weighted by document length."
)
_MEASURES = (
    (
        "Coherence",
        f"Normalised pointwise mutual information (NPMI) of the {COHERENCE_WORDS} most probable words: "
        "1 if they occur only together, 0 if they occur independently. Boilerplate text can score high.",
        "No interval. Counted on the documents of this report; the window is the whole document.",
    ),
    (
        "Distinctive words",
        "FREX: harmonic mean of two ranks, the word's frequency in the topic and its exclusivity to "
        "the topic.",
        "No interval.",
    ),
    (
        "Map",
        "Classical scaling (MDS) of Hellinger distances between the topics' word distributions. "
        "Positions are adjusted to fill the map and to separate the circles.",
        "No interval. Two dimensions cannot represent all distances.",
    ),
)


class Figure(NamedTuple):
    """A key figure."""

    name: str
    value: str
    interval: str
    how: str


class Heat(NamedTuple):
    """Average topic shares: labels in rows, topics in columns."""

    topics: list[Topic]
    rows: list[tuple[LabelRow, list[tuple[str, int]], list[tuple[Topic, str]]]]
    largest_half: float  # half the width of the widest interval, as a share


def between(low: str, high: str) -> str:
    """Format an interval; empty if an end is missing."""
    return "" if "—" in low + high else f"{low} to {high}"


def share_interval(share: Estimate, digits: int = 1) -> str:
    """Format the interval of a share with one per cent sign."""
    low, high = percent(share.low, digits), percent(share.high, digits)
    return between(low.removesuffix(f"{THIN}%"), high)


def figures(data: ReportData) -> list[Figure]:
    """Key figures, each with its interval and a short note on how it is computed."""
    out = _prediction_figures(data)
    out += [
        Figure(n.name, whole(n.value), between(whole(n.low), whole(n.high)), n.how)
        for n in data.numbers
    ]
    out += _perplexity_figures(data)
    coherence = [t.coherence for t in data.topics if math.isfinite(t.coherence)]
    if coherence:
        value = decimal(float(np.median(coherence)))
        ends = f"from {decimal(min(coherence))} to {decimal(max(coherence))}"
        how = f"how often the {COHERENCE_WORDS} most probable words of a topic share a document"
        out.append(Figure("Coherence (NPMI), median topic", value, ends, how))
    if len(data.topics) > 1:
        how = f"distinct words among the {data.diversity_words} most probable words of all topics"
        out.append(Figure("Diversity", percent(data.diversity, 0), "", how))
    return out


def _prediction_figures(data: ReportData) -> list[Figure]:
    """The most informative measure of a supervised model."""
    found = data.classes or next(iter(data.targets), None)
    if found is None or not found.measures:
        return []
    name, value = found.measures[0]
    where = "held-out documents" if found.unseen else "these documents"
    how = f"on {count(found.n_measured, 'document')}"
    if not found.unseen:
        how += ", which the model may have learned from"
    if data.classes is None:
        return [Figure(f"R², {where}", decimal(value), "", how)]
    return [Figure(f"{name[0].upper()}{name[1:]}, {where}", percent(value), "", how)]


def _perplexity_figures(data: ReportData) -> list[Figure]:
    """Perplexity of the model and of the one-topic baseline."""
    found = data.held_out
    if found is None:
        return []
    where = "held-out documents" if data.has_test else "these documents"
    how = (
        f"one half of each of {count(found.n_docs, 'document')}, predicted from the other half; "
        "lower is better"
    )
    rows = (
        (f"Perplexity, {where}", perplexity(found.score), how),
        ("Perplexity, one-topic baseline", perplexity(found.baseline), "word frequencies alone"),
    )
    return [
        Figure(name, whole(p.value), between(whole(p.low), whole(p.high)), how)
        for name, p, how in rows
    ]


def heat(data: ReportData) -> Heat | None:
    """Average shares of the topics that differ most between labels; None with fewer than two labels."""
    rows = data.label_rows
    if len(rows) < 2 or len(data.topics) < 2:
        return None
    values = np.array([[share.value for share in row.shares] for row in rows])
    chosen = np.argsort(-np.ptp(values, axis=0), kind="stable")[:MOST_HEAT_TOPICS]
    chosen = chosen[np.lexsort((-values[:, chosen].max(axis=0), values[:, chosen].argmax(axis=0)))]
    largest = float(values[:, chosen].max()) or 1.0
    table = []
    for row, line in zip(rows, values, strict=True):
        cells = [(percent(line[k], 0), round(HEAT_STEPS * line[k] / largest)) for k in chosen]
        lead = np.argsort(-line, kind="stable")[:3]
        leading = [(data.topics[k], _format_share(row.shares[k])) for k in lead]
        table.append((row, cells, leading))
    halves = [s.high - s.value for row in rows for s in (row.shares[k] for k in chosen)]
    widest = max((h for h in halves if math.isfinite(h)), default=math.nan)
    return Heat([data.topics[k] for k in chosen], table, widest)


def _format_share(share: Estimate) -> str:
    interval = share_interval(share, 0)
    return percent(share.value, 0) + (f" ({interval})" if interval else "")


def methods(data: ReportData) -> list[tuple[str, str, str]]:
    """Rows of the method table: number, definition, interval and data."""
    out = [_perplexity_method(data)] if data.held_out is not None else []
    documents = count(data.n_docs - data.n_empty, "non-empty document")
    out.append(("Topic share", _SHARE, f"95 %, over {documents}."))
    out += _MEASURES
    if data.label_rows:
        what = "Mean of the topic proportions over the documents of a label."
        out.append(("Topic share per label", what, "95 %, over the documents of the label."))
    if data.course is not None:
        width = data.course.width if data.course.width[0].isdigit() else f"1 {data.course.width}"
        what = f"Share of a topic among the words of one time bin ({width})."
        interval = "95 %, over the documents of the bin."
        if data.course.n_undated:
            interval += f" Without a date and omitted: {count(data.course.n_undated, 'document')}."
        out.append(("Share over time", what, interval))
    return out


def _perplexity_method(data: ReportData) -> tuple[str, str, str]:
    found = data.held_out
    assert found is not None
    what = (
        "exp(−mean log-likelihood per word). One half of each document's words gives its topic "
        "proportions; the other half is scored."
    )
    where = (
        f"95 %, over {count(found.n_docs, 'document')} with {whole(found.n_tokens)} scored words. "
    )
    if not data.has_test:
        where += (
            "They are the documents of this report. The value is too optimistic if the model "
            "learned from them."
        )
    elif found.n_known:
        where += f"Also in the collection of this report: {count(found.n_known, 'document')}."
    else:
        where += "They are not in the collection of this report."
    return "Perplexity", what, where
