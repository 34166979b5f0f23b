"""Declared arrays of records: what is read back, and what is refused."""

from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bayou.data import ModelFileError, schema
from bayou.data.schema import Array

I64, F32 = NDArray[np.int64], NDArray[np.float32]


class Table(NamedTuple):
    """A table of two columns per entry."""

    number: Annotated[I64, Array("entries")]
    terms: Annotated[I64, Array("entries", 2, ge=-1, below="names")]
    weights: Annotated[F32, Array("entries", 2)]


def table(**other):
    good = {
        "number": np.arange(3),
        "terms": np.array([[0, -1], [1, 0], [3, 2]]),
        "weights": np.ones((3, 2), np.float32),
    }
    return good | other


@pytest.mark.parametrize("prefix", ["", "some", "some.table"])
def test_arrays_are_read_by_their_prefix(prefix):
    arrays = {f"{prefix}.{name}".lstrip("."): array for name, array in table().items()}
    found = schema.read(Table, arrays, prefix, {"names": 4})
    np.testing.assert_array_equal(found.terms, table()["terms"])
    with pytest.raises(ModelFileError, match=r"lacks the array other\.number"):
        schema.read(Table, arrays, "other", {"names": 4})


@pytest.mark.parametrize(
    "bad",
    [
        {"number": np.arange(4)},
        {"number": np.arange(3.0)},
        {"number": -np.arange(3)},
        {"terms": np.full((3, 2), 4)},
        {"terms": np.full((3, 2), -2)},
        {"terms": np.zeros((3, 3), np.int64)},
        {"weights": np.full((3, 2), np.nan, np.float32)},
    ],
)
def test_arrays_that_do_not_fit_are_refused(bad):
    with pytest.raises(ModelFileError):
        schema.read(Table, table(**bad), "", {"names": 4})


def test_an_empty_table_has_the_declared_types_and_widths():
    empty = schema.empty(Table)
    assert [a.shape for a in empty] == [(0,), (0, 2), (0, 2)]
    assert [a.dtype for a in empty] == [np.int64, np.int64, np.float32]
    schema.check(empty, {"names": 0})
