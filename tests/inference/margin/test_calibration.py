"""Probabilities of scores."""

import numpy as np
import pytest

from bayou.inference.margin import calibration


@pytest.mark.parametrize("score", [0.0, 3.0])
def test_scores_that_are_all_the_same_say_nothing(score):
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    slope, offset = calibration.sigmoid(np.full(4, score), signs)
    assert slope == 0.0
    assert offset == pytest.approx(np.log(4 / 2))


@pytest.mark.parametrize("weighted", [False, True])
def test_the_sigmoid_fits_the_targets_of_platt(weighted):
    """The slope of the likelihood is zero at targets (n+ + 1) / (n+ + 2) and 1 / (n- + 2)."""
    rng = np.random.default_rng(1)
    signs = np.where(rng.random(40) < 0.3, 1.0, -1.0)
    scores = signs + rng.normal(0, 1.0, 40)
    weight = rng.gamma(2, 1, 40) if weighted else np.ones(40)
    slope, offset = calibration.sigmoid(scores, signs, weight)
    n_yes, n_no = weight[signs > 0].sum(), weight[signs < 0].sum()
    target = np.where(signs > 0, (n_yes + 1) / (n_yes + 2), 1 / (n_no + 2))
    gap = weight * (1 / (1 + np.exp(-(slope * scores + offset))) - target)
    assert abs(gap.sum()) < 1e-5
    assert abs((gap * scores).sum()) < 1e-5


def simulate(link, n=4000, n_classes=5, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(-1, 1, (n, n_classes))
    p = probabilities(link, scores)
    return scores, (rng.random((n, 1)) > p.cumsum(axis=1)).sum(axis=1)


def probabilities(link, scores):
    raw = (1 / (1 + np.exp(-(link.slope * scores + link.offset)))) ** link.power
    return raw / raw.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("true", [(2.0, 0.5, 3.0), (1.0, -2.0, 1.0), (3.0, 1.0, 0.7)])
def test_the_link_of_classes_is_found_again(true):
    link = calibration.ClassLink(*true)
    scores, codes = simulate(link)
    found = calibration.fit_classes(scores, codes)
    gap = probabilities(found, scores) - probabilities(link, scores)
    assert np.abs(gap).mean() < 0.015
    shifted = calibration.fit_classes(1000.0 * scores, codes)
    assert shifted.slope == pytest.approx(found.slope / 1000.0, rel=1e-6)


def test_the_link_maximises_the_likelihood():
    scores, codes = simulate(calibration.ClassLink(2.0, 0.5, 3.0), n=500)
    rows, best = np.arange(500), calibration.fit_classes(scores, codes)

    def loss(link):
        return -np.log(probabilities(link, scores)[rows, codes]).mean()

    for name in best._fields:
        for by in (0.9, 1.1):
            assert loss(best._replace(**{name: getattr(best, name) * by})) > loss(best) - 1e-4


def test_no_documents_give_a_link_that_keeps_the_ranking():
    none = calibration.fit_classes(np.zeros((0, 3)), np.zeros(0, int))
    assert none == calibration.ClassLink(1.0, 0.0, 1.0)
    assert calibration.fit_classes(np.zeros((4, 3)), np.zeros(4, int)) == none


def test_new_documents_correct_the_sharpness():
    true = calibration.ClassLink(2.0, 0.5, 1.5)
    scores, codes = simulate(true, n=3000)
    keen = true._replace(power=3.0)
    found = calibration.sharpen_classes(keen, scores, codes, 10.0)
    assert found.power == pytest.approx(1.5, rel=0.1)
    some = calibration.sharpen_classes(keen, scores[:30], codes[:30], 0.2)
    assert 1.5 < some.power < 3.0
    assert calibration.sharpen_classes(keen, scores, codes, 0.0).power == pytest.approx(3.0)
    assert calibration.sharpen_classes(keen, scores[:0], codes[:0], 0.2).power == pytest.approx(
        3.0, rel=1e-4
    )


def test_new_documents_correct_two_classes():
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 2, 4000)
    signs = np.where(rng.random(4000) < 1 / (1 + np.exp(-logits)), 1.0, -1.0)
    assert calibration.sharpen_sigmoid(2.0 * logits, signs, 10.0) == pytest.approx(0.5, rel=0.1)
