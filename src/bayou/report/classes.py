"""What a supervised model says of its classes: weights of topics, average documents, mistakes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayou.data.errors import DataError
from bayou.metrics import ClassScore
from bayou.report import cloud
from bayou.report.measure import Z95, Floats
from bayou.report.svg import Markup, chart, element
from bayou.report.text import decimal, percent, shorten, text_width
from bayou.report.topics import Topic

MOST_CLASSES = 24  # drawn; a larger table of mistakes cannot be read
MOST_LABELS = 30  # of a cloud
STRONGEST = 6  # topics whose weights are drawn for each class
HEAT_STEPS = 20  # shades; the style sheet has as many
WIDTH = 290  # as wide as a column of clouds; fits a telephone
_ROW, _ZERO, _REACH = 24, 190, 46  # height of a bar's row; where weights are zero; the longest bar
_HEIGHT, _BASE, _PEAK = 96, 84, 62  # a profile: its height, its base line, its highest bar

Matrix = tuple[tuple[float, ...], ...]
Group = tuple[str, tuple[tuple[str, float], ...]]
Listed = Sequence[tuple[str, Sequence[tuple[str, float]]]]


@dataclass(frozen=True, kw_only=True)
class Classes:
    """What is known of the classes; what is not known is None, and its part is left out.

    Attributes
    ----------
    names : tuple of str
    weights : (topics, classes) or None
        What a whole document of one topic would add to the score of a class.
    shares : (classes, topics) or None
        Average topic proportions of the documents of a class.
    confusion : (classes, classes) or None
        Documents by their true class, down, and the predicted one, across.
    groups : tuple of (title, labels with their weights)
        Drawn as clouds; ``groups_title`` says what a cloud holds together.
    label_topics, label_terms : tuple of (topic, its labels) and of (label, its terms), with probabilities
        A row for each topic over labels, and for each label, of the model that has them.
    several : bool
        Whether a document has labels, as many as there are, and not one class.
    deviations : (topics, classes) or None
        Standard deviations of the weights.
    outcomes : (classes, 3) or None
        Documents that have a label, that were given it, and both; where there is no ``confusion``.
    measures : tuple of (name, value)
        Over all classes, the first of them the most telling; ``n_measured`` is the number of documents behind
        them, and ``unseen`` says that the model did not learn from them.
    """

    names: tuple[str, ...]
    weights: Matrix | None
    shares: Matrix | None
    confusion: Matrix | None
    groups: tuple[Group, ...] = ()
    groups_title: str = "Labels that come together"
    label_topics: tuple[Group, ...] = ()
    label_terms: tuple[Group, ...] = ()
    several: bool = False
    deviations: Matrix | None = None
    outcomes: Matrix | None = None
    measures: tuple[tuple[str, float], ...] = ()
    n_measured: int = 0
    unseen: bool = False


def classes(
    names: Sequence[str],
    *,
    weights: ArrayLike | None = None,
    shares: ArrayLike | None = None,
    confusion: ArrayLike | None = None,
    groups: Listed = (),
    label_topics: Listed = (),
    label_terms: Listed = (),
    deviations: ArrayLike | None = None,
    outcomes: ArrayLike | None = None,
    **said: Any,
) -> Classes:
    """Check plain arrays and make them fit for a report.

    Parameters
    ----------
    names : sequence of str
        The classes, two or more.
    weights : array (topics, classes), optional
        A binary model with one column of weights gives ``[-w, w]``.
    shares : array (classes, topics), optional
    confusion : array (classes, classes) of counts, optional
    groups, label_topics, label_terms : sequences of (title, sequence of (name, weight))
        Labels for clouds; topics over labels, and labels over terms, all of them, for tables.
    deviations : array (topics, classes), optional
    outcomes : array (classes, 3) of counts, optional
    **said
        ``groups_title``, ``several``, ``measures``, ``n_measured``, ``unseen`` of `Classes`.

    Examples
    --------
    >>> made = classes(["ham", "spam"], confusion=[[8, 2], [1, 9]])
    >>> [round(score.f1, 2) for score in scores(made)]
    [0.84, 0.86]
    """
    n = len(names)
    if n < 2:
        raise DataError(f"a report on classes needs two or more of them; got {n}")
    return Classes(
        names=tuple(shorten(name, 40) or "␣" for name in names),
        weights=_matrix("weights", weights, (None, n)),
        shares=_matrix("shares", shares, (n, None)),
        confusion=_matrix("confusion", confusion, (n, n), least=0.0),
        groups=tuple(_group(title, labels) for title, labels in groups),
        label_topics=tuple(_group(title, labels) for title, labels in label_topics),
        label_terms=tuple(_group(title, terms) for title, terms in label_terms),
        deviations=_matrix("deviations", deviations, (None, n), least=0.0),
        outcomes=_matrix("outcomes", outcomes, (n, 3), least=0.0),
        **said,
    )


def _group(title: str, labels: Sequence[tuple[str, float]]) -> Group:
    bad = [weight for _, weight in labels if not (math.isfinite(weight) and weight >= 0)]
    if bad:
        raise DataError(f"the weights of labels must be finite numbers from 0; got {bad[0]}")
    kept = sorted(((shorten(name, 40) or "␣", float(w)) for name, w in labels if w), key=_heaviest)
    return shorten(title, 60), tuple(kept[:MOST_LABELS])


def _heaviest(label: tuple[str, float]) -> tuple[float, str]:
    return -label[1], label[0]


def label_clouds(found: Classes) -> list[tuple[str, Markup]]:
    """Labels that come together; the area of a label grows with its weight."""
    return [
        (title, cloud.draw(labels, f"Labels of {title}"))
        for title, labels in found.groups
        if labels
    ]


def _matrix(
    name: str, given: ArrayLike | None, shape: tuple[int | None, ...], least: float = -math.inf
) -> Matrix | None:
    if given is None:
        return None
    array = np.asarray(given, np.float64)
    wanted = " x ".join("topics" if size is None else str(size) for size in shape)
    if array.ndim != 2 or any(s not in (None, m) for s, m in zip(shape, array.shape, strict=True)):
        raise DataError(f"{name} must have the shape {wanted}; got {array.shape}")
    if not (np.isfinite(array).all() and (array >= least).all()):
        raise DataError(f"{name} must be finite numbers{' from 0' if least == 0 else ''}")
    return tuple(tuple(float(x) for x in row) for row in array)


def scores(found: Classes) -> list[ClassScore]:
    """Precision, recall and their harmonic mean of each class."""
    if found.confusion is not None:
        table = np.array(found.confusion)
        hit, true, said = table.diagonal(), table.sum(axis=1), table.sum(axis=0)
    elif found.outcomes is not None:
        true, said, hit = np.array(found.outcomes).T
    else:
        return []
    out = []
    for j, name in enumerate(found.names):
        both = true[j] + said[j]
        precision = hit[j] / said[j] if said[j] else math.nan
        recall = hit[j] / true[j] if true[j] else math.nan
        f1 = 2 * hit[j] / both if both else math.nan
        out.append(ClassScore(name, int(true[j]), float(precision), float(recall), float(f1)))
    return out


def accuracy(found: Classes) -> float:
    """Share of the documents whose class was predicted; NaN without documents."""
    table = np.array(found.confusion if found.confusion is not None else [[0.0]])
    return float(table.diagonal().sum() / table.sum()) if table.sum() else math.nan


def mistakes(found: Classes) -> list[tuple[str, list[tuple[int, int]]]]:
    """Rows of the table of predictions: counts, each with its shade by the share of the row."""
    rows = []
    for name, line in zip(found.names, found.confusion or (), strict=False):
        total = sum(line) or 1.0
        rows.append((name, [(round(x), round(HEAT_STEPS * x / total)) for x in line]))
    return rows


def leaning(found: Classes, j: int, most: int = STRONGEST) -> list[tuple[int, float]]:
    """The topics with the largest weights for and against a class, from the most for it on."""
    if found.weights is None:
        return []
    column = np.array(found.weights)[:, j]
    chosen = np.argsort(-np.abs(column), kind="stable")[:most]
    return [(int(k), float(column[k])) for k in chosen[np.argsort(-column[chosen], kind="stable")]]


def weight_bars(found: Classes, topics: Sequence[Topic]) -> list[tuple[str, Markup]]:
    """For each class, the topics that speak most for it (right) and against it (left)."""
    if found.weights is None:
        return []
    weights = np.array(found.weights)
    sure = None if found.deviations is None else np.array(found.deviations)
    largest = reach(weights, sure)
    return [
        (
            name,
            diverging(
                name, leaning(found, j), topics, largest, None if sure is None else sure[:, j]
            ),
        )
        for j, name in enumerate(found.names[:MOST_CLASSES])
    ]


def reach(weights: Floats, deviations: Floats | None) -> float:
    """The size that the longest bar stands for, its interval included."""
    half = 0.0 if deviations is None else Z95 * deviations
    return float((np.abs(weights) + half).max()) or 1.0


def diverging(
    name: str,
    rows: list[tuple[int, float]],
    topics: Sequence[Topic],
    largest: float,
    deviations: Floats | None = None,
) -> Markup:
    """Topics with bars to the right and to the left, and the 95 % intervals of their ends."""
    height = _ROW * len(rows) + 4
    marks = [element("line", x1=_ZERO, x2=_ZERO, y1=0, y2=height, class_="grid")]
    for i, (k, weight) in enumerate(rows):
        y, long = 2 + _ROW * i, _REACH * abs(weight) / largest
        x = _ZERO if weight >= 0 else _ZERO - long
        side = "for" if weight >= 0 else "against"
        said = f"{topics[k].id} {_fitting(topics[k].name(2), 120)}"
        marks.append(element("text", said, x=0, y=y + 15))
        marks.append(element("rect", x=x, y=y + 5, width=max(long, 0.5), height=13, class_=side))
        if deviations is not None:
            half = Z95 * deviations[k]
            ends = np.clip([(weight - half) / largest, (weight + half) / largest], -1.0, 1.0)
            x1, x2 = (_ZERO + _REACH * ends).tolist()
            marks.append(element("line", x1=x1, x2=x2, y1=y + 11.5, y2=y + 11.5, class_="line"))
        value = ("+" if weight > 0 else "") + decimal(weight, 2 if largest < 100 else 0)
        marks.append(element("text", value, x=WIDTH, y=y + 15, text_anchor="end", class_="strong"))
    return chart(WIDTH, height, f"Weights of topics for {name}", *marks)


def _fitting(text: str, width: float) -> str:
    while len(text) > 1 and text_width(text, 12) > width:
        text = text.rstrip("…")[:-1].rstrip(" ,") + "…"
    return text


def profiles(found: Classes, topics: Sequence[Topic]) -> list[tuple[str, Markup]]:
    """The average document of each class: a bar a topic, all classes on one scale."""
    if found.shares is None:
        return []
    shares = np.array(found.shares)
    largest = float(shares.max()) or 1.0
    return [
        (name, _profile(name, shares[j], topics, largest))
        for j, name in enumerate(found.names[:MOST_CLASSES])
    ]


def _profile(name: str, shares: Floats, topics: Sequence[Topic], largest: float) -> Markup:
    step = WIDTH / len(shares)
    tops = _BASE - _PEAK * shares / largest
    marks = [
        element(
            "rect", x=k * step, y=tops[k], width=max(step * 0.8, 0.5), height=_BASE - tops[k],
            class_=f"f{topics[k].sign.family} s0",
        )
        for k in range(len(shares))
        if shares[k] > 0
    ]  # fmt: skip
    marks.append(element("line", x1=0, x2=WIDTH, y1=_BASE, y2=_BASE, class_="grid"))
    k = int(np.argmax(shares))
    at = (k + 0.4) * step
    left = at < WIDTH / 2
    said = f"{topics[k].id} {_fitting(topics[k].name(2), 130)}, {percent(shares[k], 0)}"
    room = min(text_width(said, 12), WIDTH)
    x = min(at, WIDTH - room) if left else min(max(at + step, room), WIDTH)
    where = {"x": x, "y": tops[k] - 6}
    marks.append(
        element("text", said, text_anchor="start" if left else "end", class_="halo", **where)
    )
    return chart(WIDTH, _HEIGHT, f"Average topic shares of {name}", *marks)
