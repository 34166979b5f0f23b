"""What a report on topics through time says, as plain values."""

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
from bayou.report.data import _code, _parameters
from bayou.report.measure import Estimate
from bayou.report.slice_names import SliceNames
from bayou.report.text import quote, shorten
from bayou.report.track_words import N_WORDS, SliceWords, is_number, life, telling, usual

Excerpt = tuple[tuple[str, bool], ...]  # its parts, and whether they are words of the alert

N_EPOCHS = 6  # columns of a table of words
NO_TOPIC = "documents that fit no topic"
_RISES = {"rise": True, "born": True, "split": True, "revived": True,
          "fall": False, "dormant": False, "dead": False, "merged": False}  # fmt: skip
SAID = {
    "drift": "changes its words", "words": "new words", "rise": "rises", "fall": "falls",
    "surprise": NO_TOPIC, "born": "is new", "split": "splits off",
    "merged": "merges into another", "dormant": "falls silent", "revived": "is back",
    "dead": "has been silent for so long that it is given up",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """One topic through time."""

    number: int  # its place in the rows of the course
    id: int  # permanent
    title: str  # of a fixed topic, else empty
    words: tuple[tuple[str, float], ...]  # that tell it from other topics, over its whole life
    sign: layout.Sign
    share: Estimate  # in its latest slice
    epochs: tuple[
        tuple[str, tuple[tuple[str, bool], ...]], ...
    ]  # slice, words and whether they are new
    born: int  # first slice
    last: int  # last slice in which it has a column
    n_changes: int

    def name(self, n: int = 3) -> str:
        """Its name, or its first words."""
        return self.title or ", ".join(word for word, _ in self.words[:n])


@dataclass(frozen=True, kw_only=True)
class Change:
    """One alert with its evidence."""

    number: int
    bin: int
    date: str
    kind: str
    rises: bool | None
    topic: Tracked | None
    other: Tracked | None
    then: tuple[str, ...]  # words that told the topic from others at that time
    early: bool  # while topics were still forming
    words: tuple[str, ...]  # numbers last
    lead: str  # the one of them that shares of documents are of
    lost: tuple[str, ...]
    before: float
    after: float
    low: float
    high: float
    p: float
    docs: tuple[tuple[str, Excerpt], ...]  # name and excerpt, which is empty where there is none

    def who(self, n: int = 3) -> str:
        """The topic by its permanent number, and by its name or its words at that time."""
        if self.topic is None:
            return NO_TOPIC
        name = self.topic.title or ", ".join(self.then[:n]) or self.topic.name(n)
        return f"topic {self.topic.id} ({name})"


@dataclass(frozen=True, kw_only=True)
class TrackData:
    """Everything that a report on a tracker shows.

    Attributes
    ----------
    title : str
    when : When
        How slices are spoken of, and from when to when the documents are.
    doubts : tuple of str
        What is to be said of slices on which too little rests.
    topics : tuple of Tracked
        All that ever had a column, by id.
    course : Course
        Shares of all of them in every slice, and in calendar slices between that had no documents.
    changes : tuple of Change
        In the order of time.
    """

    title: str
    when: SliceNames
    doubts: tuple[str, ...]
    topics: tuple[Tracked, ...]
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
    n_tested: int  # slices in which anything could be told
    parameters: tuple[tuple[str, str], ...]
    code: str
    seed: int
    created: str
    version: str

    @classmethod
    def from_tracker(
        cls, model: Any, *, title: str | None = None, texts: Mapping[str, str] | None = None
    ) -> TrackData:
        """What a fitted tracker has kept of its slices.

        Parameters
        ----------
        model : TopicTracker
        title : str, optional
        texts : mapping from names of documents to texts, optional
            To quote the documents that alerts name; others are not looked at.
        """
        check_is_fitted(model)
        if not hasattr(model, "courses_"):
            raise DataError(f"a report through time needs a tracker; got {type(model).__name__}")
        alerts = model.alerts()
        topics, (bins, _) = _topics(model, alerts), _bins(model)
        place = {topic.id: topic for topic in topics}
        slices, then = model.slices_, SliceWords(model)
        told = doubts(slices, model.slice_names_, model.slice_by, model.n_topics)
        counted = {name: int(n) for name, n in model.dropped_._asdict().items()}
        return cls(
            title=shorten(title, 120) if title else "Topics through time",
            when=SliceNames.of(model.slice_by, model._trail.span),
            doubts=tuple(f"{doubt}." for doubt in told),
            topics=topics,
            course=_course(model, topics),
            changes=tuple(
                _change(i, a, bins[a.slice], place, texts or {}, then, a.slice < model.warm_up)
                for i, a in enumerate(alerts)
            ),
            n_slices=len(bins),
            n_docs=int(slices.n_docs.sum()),
            n_tokens=float(slices.n_tokens.sum()),
            n_terms=model.posterior_.n_terms,
            n_late=int(slices.n_late.sum()),
            n_alive=int((model.state_.silent == 0).sum()),
            dropped=tuple(counted.items()),
            level=float(model.level),
            n_tested=max(len(slices.start) - max(int(model.warm_up), 1), 0),
            parameters=_parameters(model),
            code=_code(model),
            seed=int(model.seed_),
            created=datetime.date.today().isoformat(),
            version=__version__,
        )


def _topics(model: Any, alerts: list[Any]) -> tuple[Tracked, ...]:
    courses, names, (bins, _) = model.courses_, model.slice_names_, _bins(model)
    ids = np.unique(courses.topic)
    terms = model._trail.names
    rows = {int(i): np.flatnonzero(courses.topic == i) for i in ids}
    signs = _signs(courses, rows, len(terms))
    lives = {i: life(courses, mine) for i, mine in rows.items()}
    common = usual(lives, len(terms))
    out = []
    for n, i in enumerate(ids.tolist()):
        mine = rows[i]
        spoken = [r for r in mine if courses.tokens[r] > 0] or list(mine)
        latest = spoken[-1]
        words = telling(lives[i], common, terms)
        picked = np.unique(np.linspace(0, len(spoken) - 1, N_EPOCHS).round().astype(int))
        epochs = [(names[courses.slice[spoken[e]]], courses.terms[spoken[e]]) for e in picked]
        out.append(
            Tracked(
                number=n, id=i, title=shorten(model.topic_names_.get(i, ""), 40), words=words,
                sign=signs[n], share=_estimate(courses, latest),
                epochs=_epochs(epochs, terms), born=bins[courses.slice[mine[0]]],
                last=bins[courses.slice[mine[-1]]],
                n_changes=sum(alert.topic == i for alert in alerts),
            )
        )  # fmt: skip
    return tuple(out)


def _signs(courses: Any, rows: dict[int, Any], n_names: int) -> list[layout.Sign]:
    """Signs by the words that topics have had over all slices."""
    usual = np.zeros((len(rows), max(n_names, 1)))
    sizes = np.zeros(len(rows))
    for n, mine in enumerate(rows.values()):
        terms, weights = courses.terms[mine].ravel(), courses.weights[mine].ravel()
        np.add.at(usual[n], terms[terms >= 0], weights[terms >= 0])
        sizes[n] = np.nansum(courses.tokens[mine])
    usual /= np.maximum(usual.sum(axis=1, keepdims=True), 1e-12)
    if len(usual) == 1:
        return [layout.Sign(0, 0)]
    points = layout.classical_scaling(topic_distances(usual, "hellinger"), 8)
    return layout.signs(layout.families(points), sizes)


def _epochs(epochs: list[tuple[str, Any]], terms: list[str]) -> tuple[Any, ...]:
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


def _course(model: Any, topics: tuple[Tracked, ...]) -> Course:
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


def _change(
    number: int,
    alert: Any,
    bin_: int,
    place: dict[int, Tracked],
    texts: Mapping[str, str],
    then: SliceWords,
    early: bool,
) -> Change:
    fresh = alert.words if alert.kind in ("drift", "words") else ()
    return Change(
        number=number + 1,
        bin=bin_,
        date=alert.date,
        kind=alert.kind,
        rises=_RISES.get(alert.kind),
        topic=place.get(alert.topic),
        other=place.get(alert.other),
        then=then.words(alert.topic, alert.slice, fresh),
        early=early,
        words=tuple(shorten(word, 40) for word in sorted(alert.words, key=is_number)),
        lead=shorten(alert.words[0], 40) if alert.words else "",
        lost=tuple(shorten(word, 40) for word in alert.lost),
        before=alert.before,
        after=alert.after,
        low=alert.low,
        high=alert.high,
        p=alert.p,
        docs=tuple((shorten(d, 60), quote(texts.get(d, ""), alert.words, 260)) for d in alert.docs),
    )
