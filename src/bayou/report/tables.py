"""What is said in words and in tables: findings, key figures, labels, and how numbers were made."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from bayou.report.data import LabelRow, ReportData
from bayou.report.measure import Estimate, perplexity
from bayou.report.text import THIN, count, decimal, percent, whole
from bayou.report.topics import COHERENCE_WORDS, Topic

HEAT_STEPS = 20  # shades; the style sheet has as many
MOST_HEAT_TOPICS = 12

_SHARE = (
    "Share of the words kept that the topic explains: topic proportions of the documents, weighted "
    "by their lengths."
)
_MEASURES = (
    (
        "Coherence",
        f"Normalised pointwise mutual information of the first {COHERENCE_WORDS} words of a topic: 1 "
        "if they only occur together, 0 if they are independent. A topic of boilerplate can score high.",
        "None; counted on the documents described here, whole documents as windows.",
    ),
    (
        "Distinctive words",
        "FREX: harmonic mean of two ranks, by frequency in the topic and by how exclusive the word is "
        "to it.",
        "None.",
    ),
    (
        "Map",
        "Classical scaling of Hellinger distances between topics' word distributions; half of a place "
        "is by rank, so that the sheet is used, and circles are moved apart.",
        "None; two dimensions cannot hold all distances.",
    ),
)


class Finding(NamedTuple):
    """A sentence in parts, every second one in bold, and where its evidence is."""

    parts: tuple[str, ...]
    link: str
    link_text: str


class Figure(NamedTuple):
    """A key figure."""

    name: str
    value: str
    interval: str
    how: str


class Heat(NamedTuple):
    """Average shares: labels down, topics across."""

    topics: list[Topic]
    rows: list[tuple[LabelRow, list[tuple[str, int]], list[tuple[Topic, str]]]]
    largest_half: float  # widest half of an interval, as a share


def between(low: str, high: str) -> str:
    """An interval in words, or nothing if there is none."""
    return "" if "—" in low + high else f"{low} to {high}"


def share_interval(share: Estimate, digits: int = 1) -> str:
    """The interval of a share; the per cent sign comes once."""
    low, high = percent(share.low, digits), percent(share.high, digits)
    return between(low.removesuffix(f"{THIN}%"), high)


def findings(data: ReportData) -> list[Finding]:
    """Sentences that the numbers bear out; one whose interval includes nothing is not written."""
    out = []
    n = len(data.topics)
    by_share = sorted(data.topics, key=lambda topic: topic.rank)
    if n > 3 and data.n_tokens > 0:
        first = 10 if n >= 20 else 3
        held = sum(topic.share.value for topic in by_share[:first])
        said = {10: "ten", 3: "three"}[first]
        parts = (
            f"{whole(n)} topics describe the collection; the {said} largest hold ",
            percent(held, 0),
            " of the words. The largest is topic "
            f"{by_share[0].id} ({by_share[0].name()}) with {percent(by_share[0].share.value)}."
            + _bare(sum(topic.bare for topic in data.topics)),
        )
        out.append(Finding(parts, "topics", "See the topics"))
    made = (_answer_finding(data), _score_finding(data), _label_finding(data), _rise_finding(data))
    out += [finding for finding in made if finding]
    return out


def _bare(n: int) -> str:
    """That some topics hold next to nothing; nothing to say where none does."""
    if not n:
        return ""
    have = "topics have" if n > 1 else "topic has"
    return f" {whole(n)} {have} fewer than ten tokens, and so no words."


def _answer_finding(data: ReportData) -> Finding | None:
    """How many unseen documents get their class, beside always naming the most frequent one."""
    found = data.classes
    if found is None or found.confusion is None or not found.unseen or not found.measures:
        return None
    largest = max(map(sum, found.confusion)) / max(found.n_measured, 1)
    value = found.measures[0][1]
    if not value > largest:
        return None
    parts = (
        f"Of {count(found.n_measured, 'document')} that the model did not learn from, ",
        percent(value, 0),
        f" get their class; always naming the most frequent one would get {percent(largest, 0)}.",
    )
    return Finding(parts, "classes", "See the classes")


def _score_finding(data: ReportData) -> Finding | None:
    found = data.held_out
    if found is None or not data.has_test or found.n_known or not found.gain.low > 0:
        return None
    less = 1 - math.exp(-found.gain.value)
    parts = (
        f"In {count(found.n_docs, 'document')} that it did not learn from, the model hesitates between ",
        f"{whole(perplexity(found.score).value)} words",
        f" where one topic for all hesitates between {whole(perplexity(found.baseline).value)}: ",
        f"{percent(less, 0)} fewer",
        ".",
    )
    return Finding(parts, "quality", "See how well it predicts")


def _label_finding(data: ReportData) -> Finding | None:
    """The label whose average document stands out most, if its interval leaves the average out."""
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
        "",
        row.name,
        f" speaks most of one topic: topic {topic.id} ({topic.name()}) has ",
        percent(row.shares[k].value, 0),
        f" of its average document, and {percent(topic.share.value)} of the collection.",
    )
    return Finding(parts, "labels", "See the labels")


def _rise_finding(data: ReportData) -> Finding | None:
    if data.course is None:
        return None
    sure = [k for k, rise in enumerate(data.course.rises) if rise.low > 0 or rise.high < 0]
    if not sure:
        return None
    k = max(sure, key=lambda k: abs(data.course.rises[k].value) if data.course else 0.0)
    topic, rise = data.topics[k], data.course.rises[k].value
    parts = (
        "",
        topic.name(),
        f" (topic {topic.id}) {'rises' if rise > 0 else 'falls'} most: its share in the last "
        "third of the time is ",
        f"{decimal(abs(100 * rise), 1)} points {'higher' if rise > 0 else 'lower'}",
        " than in the first.",
    )
    return Finding(parts, "time", "See the courses")


def figures(data: ReportData) -> list[Figure]:
    """A handful of numbers, each with its interval and how it was made."""
    out = _answer_figures(data)
    out += [
        Figure(n.name, whole(n.value), between(whole(n.low), whole(n.high)), n.how)
        for n in data.numbers
    ]
    if data.held_out is not None:
        found = data.held_out
        value, plain = perplexity(found.score), perplexity(found.baseline)
        seen = "unseen documents" if data.has_test else "these documents"
        how = f"half of each of {count(found.n_docs, 'document')}, given the other half"
        out.append(
            Figure(
                f"Perplexity, {seen}",
                whole(value.value),
                between(whole(value.low), whole(value.high)),
                how,
            )
        )
        out.append(
            Figure(
                "Perplexity, one topic for all",
                whole(plain.value),
                between(whole(plain.low), whole(plain.high)),
                "same words; what word frequencies alone achieve",
            )
        )
    coherence = [t.coherence for t in data.topics if math.isfinite(t.coherence)]
    if coherence:
        out.append(
            Figure(
                "Coherence (NPMI), median topic",
                decimal(float(np.median(coherence))),
                f"from {decimal(min(coherence))} to {decimal(max(coherence))}",
                f"first {COHERENCE_WORDS} words of a topic, how often they meet in a document",
            )
        )
    if len(data.topics) > 1:
        how = f"distinct words among the first {data.diversity_words} of all topics"
        out.append(Figure("Diversity", percent(data.diversity, 0), "", how))
    return out


def _answer_figures(data: ReportData) -> list[Figure]:
    """How well a supervised model predicts, in the one number that tells most."""
    found = data.classes or next(iter(data.targets), None)
    if found is None or not found.measures:
        return []
    name, value = found.measures[0]
    where = "unseen documents" if found.unseen else "these documents"
    how = f"over {count(found.n_measured, 'document')}"
    if not found.unseen:
        how += ", which the model may have learned from"
    if data.classes is None:
        return [Figure(f"R², {where}", decimal(value), "", how)]
    return [Figure(f"{name[0].upper()}{name[1:]}, {where}", percent(value), "", how)]


def heat(data: ReportData) -> Heat | None:
    """Labels against the topics whose average shares differ most between them."""
    rows = data.label_rows
    if len(rows) < 2 or len(data.topics) < 2:
        return None
    values = np.array([[share.value for share in row.shares] for row in rows])
    chosen = np.argsort(-np.ptp(values, axis=0), kind="stable")[:MOST_HEAT_TOPICS]
    chosen = chosen[np.lexsort((-values[:, chosen].max(axis=0), values[:, chosen].argmax(axis=0)))]
    largest = float(values[:, chosen].max()) or 1.0
    made = []
    for row, line in zip(rows, values, strict=True):
        cells = [(percent(line[k], 0), round(HEAT_STEPS * line[k] / largest)) for k in chosen]
        lead = np.argsort(-line, kind="stable")[:3]
        leading = [(data.topics[k], _format_share(row.shares[k])) for k in lead]
        made.append((row, cells, leading))
    halves = [s.high - s.value for row in rows for s in (row.shares[k] for k in chosen)]
    widest = max((h for h in halves if math.isfinite(h)), default=math.nan)
    return Heat([data.topics[k] for k in chosen], made, widest)


def _format_share(share: Estimate) -> str:
    interval = share_interval(share, 0)
    return percent(share.value, 0) + (f" ({interval})" if interval else "")


def methods(data: ReportData) -> list[tuple[str, str, str]]:
    """Each number: what it is, and its interval and data."""
    out = [_score_method(data)] if data.held_out is not None else []
    spoken = count(data.n_docs - data.n_empty, "document")
    out.append(("Share of a topic", _SHARE, f"95 %, over {spoken} with words."))
    out += _MEASURES
    if data.label_rows:
        what = "Mean of the topic proportions over the documents of a label."
        out.append(("Share in a label", what, "95 %, over the documents of the label."))
    if data.course is not None:
        width = data.course.width if data.course.width[0].isdigit() else f"1 {data.course.width}"
        what = f"Share of a topic among the words of one bin of time ({width})."
        undated = f" {count(data.course.n_undated, 'document')} without a date left out."
        sure = "95 %, over the documents of the bin."
        out.append(("Course", what, sure + (undated if data.course.n_undated else "")))
    return out


def _score_method(data: ReportData) -> tuple[str, str, str]:
    found = data.held_out
    assert found is not None
    what = (
        "exp of minus the mean log-likelihood of a word: half of each document's words give its "
        "topic proportions, the other half is scored."
    )
    where = (
        f"95 %, over {count(found.n_docs, 'document')} with {whole(found.n_tokens)} scored words, "
    )
    if not data.has_test:
        where += "which are those described here: too good if the model learned from them."
    elif found.n_known:
        where += f"of which {found.n_known} are also in the collection described here."
    else:
        where += "kept out of the collection described here."
    return "Perplexity", what, where
