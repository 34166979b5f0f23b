"""Declared records: arrays of any shape beside those whose dimensions are named."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bayou.data import schema
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array

F64 = NDArray[np.float64]


class Record(NamedTuple):
    mean: Annotated[F64, Array("tasks", "terms", ge=None)]
    spread: Annotated[F64, Array(...)]


@pytest.mark.parametrize("shape", [(0, 0), (3,), (2, 3), (2, 3, 3)])
def test_dots_allow_any_shape(shape):
    found = schema.check(Record(np.zeros((2, 3)), np.ones(shape)), {"terms": 3})
    assert found == {"tasks": 2, "terms": 3}


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (Record(np.zeros((2, 4)), np.ones(3)), "mean"),
        (Record(np.zeros(3), np.ones(3)), "mean"),
        (Record(np.zeros((2, 3)), -np.ones((2, 2))), "spread"),
        (Record(np.zeros((2, 3)), np.full((2, 2), np.inf)), "spread"),
        (Record(np.zeros((2, 3)), np.ones(3, np.float32)), "spread"),
    ],
)
def test_other_rules_still_hold(record, name):
    with pytest.raises(ModelFileError, match=name):
        schema.check(record, {"terms": 3})
