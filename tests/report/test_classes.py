"""The class section of a report on a supervised model."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import precision_recall_fscore_support
from tests.report.pages import HOSTILE, hostile_data

from bayou.data import DataError
from bayou.report import class_charts, classes, render

NAMES = ("a", "b", "c")
TABLE = np.array([[8, 2, 0], [1, 5, 0], [3, 0, 0]])


def test_scores_are_those_of_scikit_learn():
    true = np.repeat(np.arange(3), TABLE.sum(axis=1))
    said = np.concatenate([np.repeat(np.arange(3), row) for row in TABLE])
    precision, recall, f1, n = precision_recall_fscore_support(true, said, zero_division=np.nan)
    found = classes.scores(classes.classes(NAMES, confusion=TABLE))
    assert [s.n_docs for s in found] == list(n)
    np.testing.assert_allclose([s.precision for s in found], precision)
    np.testing.assert_allclose([s.recall for s in found], recall)
    np.testing.assert_allclose([s.f1 for s in found], f1)
    assert classes.accuracy(classes.classes(NAMES, confusion=TABLE)) == 13 / 19


def test_nothing_is_known():
    nothing = classes.classes(NAMES)
    assert classes.scores(nothing) == []
    assert class_charts.weight_bars(nothing, ()) == class_charts.share_profiles(nothing, ()) == []
    empty = classes.classes(NAMES, confusion=np.zeros((3, 3)))
    assert math.isnan(classes.accuracy(empty))
    assert classes.confusion_rows(empty)[0] == ("a", [(0, 0), (0, 0), (0, 0)])


def test_the_strongest_weights_from_for_to_against():
    weights = np.array([[0.1, 0, 0], [-3.0, 0, 0], [2.0, 0, 0], [0.5, 0, 0]])
    assert class_charts.leading_weights(classes.classes(NAMES, weights=weights), 0, 3) == [
        (2, 2.0),
        (3, 0.5),
        (1, -3.0),
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": np.ones((3, 2))}, "weights must have the shape topics x 3"),
        ({"shares": np.ones(3)}, "shares must have the shape 3 x topics"),
        ({"confusion": -TABLE}, "confusion must be finite numbers >= 0"),
        ({"weights": np.full((2, 3), np.nan)}, "weights must be finite"),
    ],
)
def test_refusals(given, message):
    with pytest.raises(DataError, match=message):
        classes.classes(NAMES, **given)
    with pytest.raises(DataError, match="weights of labels"):
        classes.classes(NAMES, groups=[("g", [("a", -1.0)])])
    with pytest.raises(DataError, match="two or more"):
        classes.classes(["one"])


def test_the_page_shows_classes_only_where_there_are_some():
    data = hostile_data()
    assert 'id="classes"' not in render(data)
    made = classes.classes(
        HOSTILE[:3],
        weights=np.array([[1.5, -1.5, 0], [0, 2.0, -1], [-0.5, 0, 0.25]]),
        shares=np.eye(3) * 0.7 + 0.1,
        confusion=TABLE,
        groups=[(HOSTILE[1], [("rare", 0.1), (HOSTILE[2], 0.6), ("never", 0.0)]), ("none", [])],
    )
    assert [len(labels) for _, labels in made.groups] == [2, 0]
    page = render(replace(data, classes=made))
    assert 'id="classes"' in page
    assert "+2.00" in page
    assert "\u22121.50" in page
    assert "<script>window" not in page
    assert page.count("Labels of ") == 1
    assert "68.4\u202f%" in page
    alone = replace(data, classes=classes.classes(NAMES, confusion=TABLE))
    assert "Confusion matrix" in render(alone)
