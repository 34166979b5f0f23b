"""Counts of a stream go on growing where single precision would not notice a token more."""

import numpy as np
import pytest

from bayou import OnlineMedHDPClassifier, OnlineMedLDAClassifier
from bayou.testing.cases import reload

SHORT = {"n_topics": 2, "random_state": 0, "n_threads": 1, "batch_size": 8, "tf": "none"}
ROWS = np.tile(np.array([[3, 0, 1, 0], [0, 2, 0, 1]], np.float32), (8, 1))
Y = ["a", "b"] * 8


@pytest.mark.parametrize(
    "model", [OnlineMedLDAClassifier(**SHORT), OnlineMedHDPClassifier(**SHORT)], ids=repr
)
def test_counts_grow_beyond_what_single_precision_holds(model):
    model.partial_fit(ROWS, Y)
    state, huge = model.state_, np.float32(2**25)
    assert state.raw.dtype == np.float32
    raw = np.full(state.raw.shape, huge)
    model.state_ = state._replace(raw=raw, scale=1.0, topic=raw.sum(axis=0, dtype=np.float64))
    before = float(raw.sum(dtype=np.float64))
    for _ in range(3):
        model.partial_fit(ROWS, Y)
    grown = model.state_.scale * model.state_.raw.sum(dtype=np.float64) - before
    assert grown == pytest.approx(3 * ROWS.sum(), rel=1e-6)
    assert model.state_.topic.sum() - before == pytest.approx(grown, rel=1e-6)
    again = reload(model)
    np.testing.assert_array_equal(again.state_.raw, model.state_.raw)
    np.testing.assert_array_equal(
        again.partial_fit(ROWS, Y).state_.raw, model.partial_fit(ROWS, Y).state_.raw
    )
