import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform

from bayou.report import cloud, layout, text
from bayou.report.svg import element


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 8)) * np.arange(8, 0, -1)


def test_scaling_keeps_distances_that_fit():
    given = points(12)[:, :2]
    found = layout.classical_scaling(squareform(pdist(given)), 2)
    np.testing.assert_allclose(pdist(found), pdist(given), atol=1e-9)


def test_scaling_of_one_point_and_of_equal_points():
    assert layout.classical_scaling(np.zeros((1, 1)), 2).tolist() == [[0.0, 0.0]]
    np.testing.assert_allclose(layout.classical_scaling(np.zeros((4, 4)), 8), 0.0, atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 5, 8, 20, 60, 200])
def test_families_are_few_and_none_is_large(n):
    sizes = np.bincount(layout.families(points(n)))
    assert len(sizes) == min(n, 8)
    assert sizes.min() >= 1
    assert sizes.max() <= max(n / 4 + 1, 1)
    assert np.all(np.diff(sizes) <= 0), "the first colour is the largest family's"


def test_textures_go_round_by_share():
    found = layout.signs(np.array([0, 0, 0, 0, 1]), np.array([0.1, 0.4, 0.2, 0.05, 0.25]))
    assert [sign.texture for sign in found] == [2, 0, 1, 0, 0]


@pytest.mark.parametrize("n", [1, 2, 30, 200])
@pytest.mark.parametrize(("width", "height"), [(960, 560), (340, 440)])
def test_circles_stay_on_the_sheet_and_apart(n, width, height):
    share = np.random.default_rng(1).dirichlet(np.ones(n))
    radius = layout.radii(share, width, height)
    places = layout.spread(points(n)[:, :2], radius, width, height)
    assert (places >= radius[:, None]).all()
    assert (places <= [width, height] - radius[:, None]).all()
    if n > 1:
        room = pdist(places) - (radius[:, None] + radius)[np.triu_indices(n, 1)]
        assert room.min() > -1.0


def test_circles_in_one_spot_are_pushed_apart():
    radius = np.full(6, 10.0)
    places = layout.spread(np.zeros((6, 2)), radius, 300, 300)
    assert pdist(places).min() > 19.0


def test_labels_touch_nothing():
    n = 60
    radius = layout.radii(np.full(n, 1 / n), 960, 560)
    places = layout.spread(points(n)[:, :2], radius, 960, 560)
    names = [[f"word{k}", "another"] for k in range(n)]
    found = layout.labels(names, list(range(n)), places, radius, (960, 560), 200)
    assert len(found) > n / 2
    boxes = []
    for label in found:
        wide = text.text_width(label.text, 12)
        left = label.x - {"start": 0.0, "middle": 0.5, "end": 1.0}[label.anchor] * wide
        boxes.append((left, label.y - 11, left + wide, label.y + 4))
    boxes += [(x - r, y - r, x + r, y + r) for (x, y), r in zip(places, radius, strict=True)]
    for i, a in enumerate(boxes[: len(found)]):
        for b in boxes[i + 1 :]:
            assert a[2] <= b[0] + 1e-9 or b[2] <= a[0] + 1e-9 or a[3] <= b[1] or b[3] <= a[1]


def test_a_word_cloud_is_to_scale():
    words = [(f"word{i}", 1 / (i + 1)) for i in range(25)]
    placed = cloud.place(words)
    assert [word.text for word in placed] == [f"word{i}" for i in range(len(placed))]
    first = placed[0]
    for word, (_, weight) in zip(placed, words, strict=False):
        assert (word.size / first.size) ** 2 == pytest.approx(weight)
        assert word.size >= cloud.LEAST


def test_a_word_cloud_of_nothing_and_of_endless_words():
    assert cloud.place([]) == []
    assert len(cloud.place([("w" * 500, 0.5), ("x" * 500, 0.5)])) == 2


def test_numbers_as_they_are_shown():
    assert text.percent(0.12345) == "12.3\u202f%"
    assert text.percent(float("nan")) == "—"
    assert text.whole(1234567.2) == "1\u202f234\u202f567"
    assert text.decimal(-0.004) == "0.00"
    assert text.decimal(-1.5) == "\u22121.50"


def test_markup_escapes_everything_but_markup():
    inner = element("b", "<i>")
    assert element("a", inner, '"&', x='"<') == '<a x="&quot;&lt;"><b>&lt;i&gt;</b>&quot;&amp;</a>'
