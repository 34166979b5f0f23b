"""Content of a report on a tracker as plain values."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from bayou._version import __version__
from bayou.data.errors import DataError
from bayou.inference.tracking.data_warnings import doubts
from bayou.metrics import topic_distances
from bayou.report import layout
from bayou.report.course import Course, slice_bins
from bayou.report.data import code_of, parameters_of
from bayou.report.measure import Estimate
from bayou.report.slice_names import SliceNames
from bayou.report.text import quote, shorten
from bayou.report.track_records import NO_TOPIC, Change, TrackedTopic
from bayou.report.track_words import (
    N_WORDS,
    SliceWords,
    distinctive_words,
    is_number,
    overall_shares,
    term_tokens,
)

N_EPOCHS = 6  # columns of the table of words over time
_RISES = {"rise": True, "born": True, "split": True, "revived": True,
          "fall": False, "dormant": False, "dead": False, "merged": False}  # fmt: skip
PHRASES = {
    "drift": "changes its words", "words": "more frequent words", "rise": "rises", "fall": "falls",
    "surprise": NO_TOPIC, "born": "is new", "split": "splits from another topic",
    "merged": "merges into another topic", "dormant": "becomes dormant",
    "revived": "becomes active again", "dead": "is removed after a long dormant period",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TrackData:
    """Content of a report on a tracker.

    Attributes
    ----------
    title : str
    when : SliceNames
        Names of slices and the period of the documents.
    doubts : tuple of str
        Warnings about slices with too little data.
    topics : tuple of TrackedTopic
        All topics that ever existed, by id.
    course : Course
        Shares of all topics per slice, including calendar slices without documents.
    changes : tuple of Change
        In order of time.
    """

    title: str
    when: SliceNames
    doubts: tuple[str, ...]
    topics: tuple[TrackedTopic, ...]
    course: Course
    changes: tuple[Change, ...]
    n_slices: int  # with documents
    n_docs: int
    n_tokens: float
    n_terms: int
    n_late: int
    n_alive: int
    dropped: tuple[tuple[str, int], ...]
    level: float
    n_tested: int  # slices after warm-up, in which changes are tested
    parameters: tuple[tuple[str, str], ...]
    code: str
    seed: int
    created: str
    version: str

    @classmethod
    def from_tracker(
        cls, model: Any, *, title: str | None = None, texts: Mapping[str, str] | None = None
    ) -> TrackData:
        """Collect the history of a fitted tracker.

        Parameters
        ----------
        model : TopicTracker
        title : str, optional
            Default: "Topics over time".
        texts : mapping from document names to texts, optional
            Texts of the documents named in alerts, for excerpts. Other texts are ignored.
        """
        check_is_fitted(model)
        if not hasattr(model, "courses_"):
            raise DataError(f"a report over time needs a tracker; got {type(model).__name__}")
        alerts, (bins, _) = model.alerts(), _bins(model)
        topics = _topics(model, alerts)
        return cls(
            title=shorten(title, 120) if title else "Topics over time",
            topics=topics,
            course=_course(model, topics),
            changes=_changes(model, alerts, topics, texts or {}),
            n_slices=len(bins),
            **_stream_values(model),
            parameters=parameters_of(model),
            code=code_of(model),
            seed=int(model.seed_),
            created=datetime.date.today().isoformat(),
            version=__version__,
        )


def _stream_values(model: Any) -> dict[str, Any]:
    """Fields of `TrackData` that describe the stream as a whole."""
    slices = model.slices_
    warnings = doubts(slices, model.slice_names_, model.slice_by, model.n_topics)
    return {
        "when": SliceNames.of(model.slice_by, model._trail.span),
        "doubts": tuple(f"{warning}." for warning in warnings),
        "n_docs": int(slices.n_docs.sum()),
        "n_tokens": float(slices.n_tokens.sum()),
        "n_terms": model.posterior_.n_terms,
        "n_late": int(slices.n_late.sum()),
        "n_alive": int((model.state_.silent == 0).sum()),
        "dropped": tuple((name, int(n)) for name, n in model.dropped_._asdict().items()),
        "level": float(model.level),
        "n_tested": max(len(slices.start) - max(int(model.warm_up), 1), 0),
    }


def _topics(model: Any, alerts: list[Any]) -> tuple[TrackedTopic, ...]:
    courses, names, (bins, _) = model.courses_, model.slice_names_, _bins(model)
    ids = np.unique(courses.topic)
    terms = model._trail.names
    rows = {int(i): np.flatnonzero(courses.topic == i) for i in ids}
    signs = _signs(courses, rows, len(terms))
    tokens = {i: term_tokens(courses, mine) for i, mine in rows.items()}
    common = overall_shares(tokens, len(terms))
    out = []
    for n, i in enumerate(ids.tolist()):
        mine = rows[i]
        active = [r for r in mine if courses.tokens[r] > 0] or list(mine)
        picked = np.unique(np.linspace(0, len(active) - 1, N_EPOCHS).round().astype(int))
        epochs = [(names[courses.slice[active[e]]], courses.terms[active[e]]) for e in picked]
        out.append(
            TrackedTopic(
                number=n,
                id=i,
                title=shorten(model.topic_names_.get(i, ""), 40),
                words=distinctive_words(tokens[i], common, terms),
                sign=signs[n],
                share=_estimate(courses, active[-1]),
                epochs=_epochs(epochs, terms),
                born=bins[courses.slice[mine[0]]],
                last=bins[courses.slice[mine[-1]]],
                n_changes=sum(alert.topic == i for alert in alerts),
            )
        )
    return tuple(out)


def _signs(courses: Any, rows: dict[int, Any], n_names: int) -> list[layout.Sign]:
    """Colours and textures of topics, from their words over all slices."""
    shares = np.zeros((len(rows), max(n_names, 1)))
    sizes = np.zeros(len(rows))
    for n, mine in enumerate(rows.values()):
        terms, weights = courses.terms[mine].ravel(), courses.weights[mine].ravel()
        np.add.at(shares[n], terms[terms >= 0], weights[terms >= 0])
        sizes[n] = np.nansum(courses.tokens[mine])
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    if len(shares) == 1:
        return [layout.Sign(0, 0)]
    points = layout.classical_scaling(topic_distances(shares, "hellinger"), 8)
    return layout.signs(layout.families(points), sizes)


def _epochs(epochs: list[tuple[str, Any]], terms: list[str]) -> tuple[Any, ...]:
    """Words per slice, each with whether it was not among the words of the previous slice."""
    out, before = [], None
    for name, best in epochs:
        words = [shorten(terms[v], 30) or "␣" for v in best[:N_WORDS] if v >= 0]
        fresh = [before is not None and word not in before for word in words]
        out.append((name, tuple(zip(words, fresh, strict=True))))
        before = {terms[v] for v in best if v >= 0}
    return tuple(out)


def _estimate(courses: Any, row: Any) -> Estimate:
    return Estimate(float(courses.share[row]), float(courses.low[row]), float(courses.high[row]))


def _bins(model: Any) -> tuple[list[int], list[str]]:
    return slice_bins(model.slices_.start, model.slices_.end, model.slice_by)


def _course(model: Any, topics: tuple[TrackedTopic, ...]) -> Course:
    courses, (bins, names) = model.courses_, _bins(model)
    missing = Estimate(np.nan, np.nan, np.nan)
    shares = [[missing] * len(topics) for _ in names]
    place = {topic.id: topic.number for topic in topics}
    for row, (t, i) in enumerate(zip(courses.slice.tolist(), courses.topic.tolist(), strict=True)):
        shares[bins[t]][place[i]] = _estimate(courses, row)
    width = model.slice_by if isinstance(model.slice_by, str) else "slice"
    counts = [0] * len(names)
    for b, n in zip(bins, model.slices_.n_docs.tolist(), strict=True):
        counts[b] = n
    return Course(width, names, shares, counts, 0, [])


def _changes(
    model: Any, alerts: list[Any], topics: tuple[TrackedTopic, ...], texts: Mapping[str, str]
) -> tuple[Change, ...]:
    """Alerts as changes, numbered from 1 in order of time."""
    (bins, _), slice_words = _bins(model), SliceWords(model)
    place = {topic.id: topic for topic in topics}
    out = []
    for number, alert in enumerate(alerts, start=1):
        gained = alert.words if alert.kind in ("drift", "words") else ()
        out.append(
            Change(
                number=number,
                bin=bins[alert.slice],
                topic=place.get(alert.topic),
                other=place.get(alert.other),
                then=slice_words.words(alert.topic, alert.slice, gained),
                early=alert.slice < model.warm_up,
                **_alert_values(alert, texts),
            )
        )
    return tuple(out)


def _alert_values(alert: Any, texts: Mapping[str, str]) -> dict[str, Any]:
    """Fields of a `Change` that depend on the alert alone."""
    excerpts = (quote(texts.get(name, ""), alert.words, 260) for name in alert.docs)
    names = (shorten(name, 60) for name in alert.docs)
    return {
        "date": alert.date,
        "kind": alert.kind,
        "rises": _RISES.get(alert.kind),
        "words": tuple(shorten(word, 40) for word in sorted(alert.words, key=is_number)),
        "lead": shorten(alert.words[0], 40) if alert.words else "",
        "lost": tuple(shorten(word, 40) for word in alert.lost),
        "before": alert.before,
        "after": alert.after,
        "low": alert.low,
        "high": alert.high,
        "p": alert.p,
        "docs": tuple(zip(names, excerpts, strict=True)),
    }
