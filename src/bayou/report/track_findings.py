"""Findings at the top of a tracker's report: the most important changes, chosen by rule."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.report.text import percent
from bayou.report.track import PHRASES, TrackData
from bayou.report.track_records import Change
from bayou.report.track_words import is_number

MOST = 5
_LEAST_BEFORE = 0.005  # smaller earlier shares count as this share
_LEAST = 0.01  # smallest score of a finding, except for the first
_LEAST_SUPPORT = 0.1  # of the usual number of documents; slices with fewer give no findings
_KIND_WEIGHTS = {
    "born": 1.0, "rise": 3.0, "words": 0.5, "split": 0.5, "revived": 0.5, "fall": 0.75, "dormant": 0.5,
    "drift": 0.05,
}  # fmt: skip


class TrackFinding(NamedTuple):
    """A sentence with a link to its evidence; parts with odd index are bold."""

    parts: tuple[str, ...]
    link: str


def gain(before: float, after: float) -> float:
    """Poisson deviance of the share ``after`` from the expected share ``before``, in nats.

    Examples
    --------
    >>> round(gain(0.3, 0.6), 3), round(gain(0.0, 0.15), 3)
    (0.116, 0.365)
    """
    if not (math.isfinite(before) and math.isfinite(after)):
        return 0.0
    a, b = max(after, 1e-9), max(before, _LEAST_BEFORE)
    return max(a * math.log(a / b) - (a - b), 0.0)


def weight(change: Change) -> float:
    """Importance of a change: its deviance times the weight of its kind."""
    if change.topic is None or change.kind not in _KIND_WEIGHTS:
        return 0.0
    if change.kind == "words" and is_number(change.lead):
        return 0.0  # a date or a page number
    return _KIND_WEIGHTS[change.kind] * gain(change.before, change.after)


def _support(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Support per slice, from 0 to 1, by its own documents and by the documents before it.

    The usual size is the mean slice size over documents. Both counts are divided by it, and the smaller
    ratio is the support. A ratio below ``_LEAST_SUPPORT`` gives 0.
    """
    usual = (sizes @ sizes) / max(sizes.sum(), 1.0)
    before = np.cumsum(sizes) - sizes
    ratio = np.minimum(sizes, before) / max(usual, 1.0)
    return np.where(ratio < _LEAST_SUPPORT, 0.0, np.minimum(ratio, 1.0))


def choose_changes(data: TrackData, most: int = MOST) -> list[Change]:
    """The changes with the highest scores, in order of time: one per topic, separated in time.

    With fewer than ``4 * most`` slices, two changes of one slice are allowed.
    """
    sizes = np.asarray(data.course.n_docs, np.float64)
    apart, support = data.n_slices // (4 * most), _support(sizes)
    scores = {c.number: weight(c) * float(support[c.bin]) * (not c.early) for c in data.changes}
    out: list[Change] = []
    for change in sorted(data.changes, key=lambda c: (-scores[c.number], c.number)):
        if scores[change.number] < (_LEAST if out else 1e-12) or len(out) == most:
            break
        near = sum(abs(c.bin - change.bin) < max(apart, 1) for c in out)
        if near < (1 if apart else 2) and all(c.topic != change.topic for c in out):
            out.append(change)
    return sorted(out, key=lambda c: c.number)


def findings(data: TrackData, most: int = MOST) -> list[TrackFinding]:
    """The most important changes as sentences."""
    return [_finding(c, data.when.during(c.date)) for c in choose_changes(data, most)]


def _finding(change: Change, when: str) -> TrackFinding:
    link, who, words = f"change-{change.number}", change.who(), ", ".join(change.words[:4])
    before, after = percent(change.before), percent(change.after)
    if change.kind == "drift":
        return TrackFinding((f"{when} ", who, f" changes its words; new: {words}."), link)
    if change.kind == "words":
        is_single = len(change.words) == 1
        verb, subject = ("becomes", "it") if is_single else ("become", change.lead)
        shares = f"{subject} occurs in {after} of the documents, {before} before."
        return TrackFinding((f"{when} ", words, f" {verb} more frequent in {who}: {shares}"), link)
    if change.kind in ("born", "split"):
        phrase = f" {PHRASES[change.kind]}, with {after} of the words."
        return TrackFinding((f"{when} ", who, phrase), link)
    phrase = f" {PHRASES[change.kind]}: {after} of the words, {before} before."
    return TrackFinding((f"{when} ", who, phrase), link)
