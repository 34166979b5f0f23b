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
