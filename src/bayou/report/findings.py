"""What the head of a tracker's page says: the changes that an editor would begin with."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.report.text import percent
from bayou.report.track import SAID, Change, TrackData
from bayou.report.track_words import is_number

MOST = 5
_FLOOR = 0.005  # share that anything may have had unnoticed
_LEAST = 0.01  # weight of a change that is told although there is a greater one
_GROUND = 0.1  # of the usual number of documents: nothing rests on fewer
_WORTH = {
    "born": 1.0, "rise": 3.0, "words": 0.5, "split": 0.5, "revived": 0.5, "fall": 0.75, "dormant": 0.5,
    "drift": 0.05,
}  # fmt: skip


class TrackFinding(NamedTuple):
    """A sentence of the head of the page; odd parts are bold."""

    parts: tuple[str, ...]
    link: str


def gain(before: float, after: float) -> float:
    """How surprising a share is to whoever expects another: Poisson deviance, in nats a unit.

    Examples
    --------
    >>> round(gain(0.3, 0.6), 3), round(gain(0.0, 0.15), 3)
    (0.116, 0.365)
    """
    if not (math.isfinite(before) and math.isfinite(after)):
        return 0.0
    a, b = max(after, 1e-9), max(before, _FLOOR)
    return max(a * math.log(a / b) - (a - b), 0.0)


def weight(change: Change) -> float:
    """How much a reader would care: the size of the step, and of what kind it is."""
    if change.topic is None or change.kind not in _WORTH:
        return 0.0
    if change.kind == "words" and is_number(change.lead):
        return 0.0  # a date, or a page
    return _WORTH[change.kind] * gain(change.before, change.after)


def _ground(sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """How far each slice can be news, from 0 to 1: by its documents, and by all that it is held against.

    What a document's own slice usually has is enough of both; a tenth of it is nothing.
    """
    usual = (sizes @ sizes) / max(sizes.sum(), 1.0)
    before = np.cumsum(sizes) - sizes
    held = np.minimum(sizes, before) / max(usual, 1.0)
    return np.where(held < _GROUND, 0.0, np.minimum(held, 1.0))


def choose_changes(data: TrackData, most: int = MOST) -> list[Change]:
    """The changes that weigh most, in the order of time: one a topic, and apart in time.

    Where there are few slices, two may be of one.
    """
    sizes = np.asarray(data.course.n_docs, np.float64)
    apart, held = data.n_slices // (4 * most), _ground(sizes)
    scores = {c.number: weight(c) * float(held[c.bin]) * (not c.early) for c in data.changes}
    out: list[Change] = []
    for change in sorted(data.changes, key=lambda c: (-scores[c.number], c.number)):
        if scores[change.number] < (_LEAST if out else 1e-12) or len(out) == most:
            break
        near = sum(abs(c.bin - change.bin) < max(apart, 1) for c in out)
        if near < (1 if apart else 2) and all(c.topic != change.topic for c in out):
            out.append(change)
    return sorted(out, key=lambda c: c.number)


def findings(data: TrackData, most: int = MOST) -> list[TrackFinding]:
    """The chosen changes as sentences."""
    return [_finding(c, data.when.during(c.date)) for c in choose_changes(data, most)]


def _finding(change: Change, when: str) -> TrackFinding:
    link, who, words = f"change-{change.number}", change.who(), ", ".join(change.words[:4])
    if change.kind == "drift":
        return TrackFinding((f"{when} ", who, f" takes up {words}."), link)
    if change.kind == "words":
        alone = len(change.words) == 1
        said = f"{'comes' if alone else 'come'} up in {who}, {'' if alone else change.lead + ' '}in"
        shares = f"{percent(change.after)} of the documents; {percent(change.before)} before."
        return TrackFinding((f"{when} ", words, f" {said} {shares}"), link)
    if change.kind in ("born", "split"):
        said = f" {SAID[change.kind]}, with {percent(change.after)} of the words."
        return TrackFinding((f"{when} ", who, said), link)
    share = f"{percent(change.before)} before, {percent(change.after)} then"
    return TrackFinding((f"{when} ", who, f" {SAID[change.kind]}: {share}."), link)
