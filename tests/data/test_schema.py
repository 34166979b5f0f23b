"""Each rule that a record declares refuses a file that breaks it."""

import math
from typing import Annotated, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from bayou import ModelFileError
from bayou.data import schema
from bayou.data.schema import Array, Number

F32, F64 = NDArray[np.float32], NDArray[np.float64]
I32, I64, U32 = NDArray[np.int32], NDArray[np.int64], NDArray[np.uint32]


class Sample(NamedTuple):
    """One field for each rule."""

    step: int
    rate: Annotated[float, Number(gt=0.0, le=1.0)]
    score: Annotated[float, Number(ge=None, finite=False)]
    done: bool
    rows: Annotated[F32, Array("terms", "topics")]
    shift: Annotated[F64, Array("topics", ge=None)]
    share: Annotated[F64, Array("topics", gt=0.0, le=1.0)]
    scores: Annotated[F64, Array("scores", ge=None, finite=False)]
    both: Annotated[F64, Array(2)]
    kept: Annotated[F32, Array(("terms", 0), "topics")]
    ptr: Annotated[I64, Array("docs+1", offsets="entries")]
    uptr: Annotated[U32, Array("docs+1", offsets="entries")]
    at: Annotated[I32, Array("entries", below="terms")]
    slot: Annotated[I64, Array("entries", ge=-1, below="topics")]
    ids: Annotated[I64, Array("topics", distinct=True)]
    either: Annotated[F32 | F64, Array("topics")]
    flags: Annotated[NDArray[np.bool_], Array("topics")]
    shapeless: Annotated[F64, Array(...)]


def sample():
    """A record that keeps all rules: 4 terms, 3 topics, 2 documents, 5 entries, 2 scores."""
    return Sample(
        step=2, rate=0.5, score=-math.inf, done=True,
        rows=np.ones((4, 3), np.float32), shift=np.array([-1.0, 0.0, 1.0]),
        share=np.array([0.1, 0.5, 1.0]), scores=np.array([np.nan, -np.inf]), both=np.zeros(2),
        kept=np.zeros((0, 3), np.float32), ptr=np.array([0, 2, 5]),
        uptr=np.array([0, 0, 5], np.uint32), at=np.array([0, 3, 1, 1, 2], np.int32),
        slot=np.array([-1, 2, 0, 0, 1]), ids=np.array([7, 0, 3]), either=np.ones(3),
        flags=np.zeros(3, np.bool_), shapeless=np.zeros((2, 1, 2)),
    )  # fmt: skip


def arrays(record, prefix="state."):
    return {prefix + name: np.asarray(value) for name, value in record._asdict().items()}


def read(changed=None, **dims):
    given = arrays(sample()) | {f"state.{k}": np.asarray(v) for k, v in (changed or {}).items()}
    return schema.read(Sample, given, "state", dims)


def test_what_keeps_the_rules_is_read():
    found = read(terms=4, topics=3, docs=2)
    for name, value in sample()._asdict().items():
        np.testing.assert_array_equal(getattr(found, name), value)
        assert type(getattr(found, name)) is type(value)
    assert schema.check(found) == {"terms": 4, "topics": 3, "scores": 2, "docs": 2, "entries": 5}
    plain = schema.read(Sample, arrays(sample(), ""), "")
    np.testing.assert_array_equal(plain.rows, found.rows)
    for kind in (np.float32, np.float64):
        assert read({"either": np.ones(3, kind)}).either.dtype == kind
    assert read({"kept": np.ones((4, 3), np.float32)}).kept.shape == (4, 3)
    assert math.isnan(read({"score": np.nan}).score)


BROKEN = [
    # numbers
    ("step", -1, "number 'step' is impossible"),
    ("step", 1.0, "does not fit"),
    ("step", True, "does not fit"),
    ("step", [1], "does not fit"),
    ("rate", 0.0, "number 'rate' is impossible"),
    ("rate", 1.5, "number 'rate' is impossible"),
    ("rate", np.nan, "number 'rate' is impossible"),
    ("rate", np.inf, "number 'rate' is impossible"),
    ("rate", 1, "does not fit"),
    ("done", 1, "does not fit"),
    # dtypes and numbers of dimensions
    ("rows", np.ones((4, 3)), "'rows' is missing or does not fit"),
    ("rows", np.ones((4, 3), ">f4"), "does not fit"),
    ("rows", np.ones((4, 3), np.float16), "does not fit"),
    ("rows", np.ones(12, np.float32), "does not fit"),
    ("rows", np.ones((4, 3, 1), np.float32), "does not fit"),
    ("rows", 1.0, "does not fit"),
    ("at", np.zeros(5, np.int64), "does not fit"),
    ("at", np.zeros(5, np.uint32), "does not fit"),
    ("either", np.ones(3, np.float16), "does not fit"),
    ("flags", np.zeros(3, np.uint8), "does not fit"),
    ("shapeless", np.zeros(3, np.float32), "does not fit"),
    # sizes
    ("shift", np.zeros(2), "does not fit"),
    ("both", np.zeros(3), "does not fit"),
    ("kept", np.zeros((1, 3), np.float32), "does not fit"),
    ("kept", np.zeros((0, 2), np.float32), "does not fit"),
    ("uptr", np.array([0, 5], np.uint32), "does not fit"),
    ("ptr", np.zeros(0, np.int64), "does not fit"),
    # ranges
    ("rows", np.full((4, 3), -1, np.float32), "'rows' holds impossible numbers"),
    ("rows", np.full((4, 3), np.nan, np.float32), "impossible numbers"),
    ("rows", np.full((4, 3), np.inf, np.float32), "impossible numbers"),
    ("shift", np.array([0.0, np.nan, 0.0]), "impossible numbers"),
    ("shift", np.array([0.0, -np.inf, 0.0]), "impossible numbers"),
    ("share", np.array([0.0, 0.5, 1.0]), "impossible numbers"),
    ("share", np.array([0.1, 0.5, 1.1]), "impossible numbers"),
    ("shapeless", np.array([-1.0]), "impossible numbers"),
    # indexes
    ("at", np.array([0, 1, 4, 1, 1], np.int32), "impossible numbers"),
    ("at", np.array([0, 1, -1, 1, 1], np.int32), "impossible numbers"),
    ("slot", np.array([-2, 0, 0, 0, 0]), "impossible numbers"),
    ("slot", np.array([3, 0, 0, 0, 0]), "impossible numbers"),
    ("ids", np.array([7, 0, 7]), "impossible numbers"),
    # offsets
    ("ptr", np.array([1, 2, 5]), "impossible numbers"),
    ("ptr", np.array([0, 2, 4]), "impossible numbers"),
    ("ptr", np.array([0, 2, 6]), "impossible numbers"),
    ("ptr", np.array([0, 6, 5]), "impossible numbers"),
    ("ptr", np.array([0, -1, 5]), "impossible numbers"),
    ("uptr", np.array([0, 6, 5], np.uint32), "impossible numbers"),  # a difference would wrap
]


@pytest.mark.parametrize(("name", "value", "message"), BROKEN)
def test_each_rule_refuses_what_breaks_it(name, value, message):
    with pytest.raises(ModelFileError, match=message):
        read({name: value})
    read()  # and only that


@pytest.mark.parametrize("name", Sample._fields)
def test_missing_arrays_are_named(name):
    given = arrays(sample())
    del given[f"state.{name}"]
    with pytest.raises(ModelFileError, match=f"lacks the array state.{name}; train"):
        schema.read(Sample, given, "state")


@pytest.mark.parametrize("dims", [{"terms": 5}, {"topics": 2}, {"docs": 1}, {"entries": 4}])
def test_sizes_from_elsewhere_must_agree(dims):
    with pytest.raises(ModelFileError, match=r"does not fit|'ptr' holds impossible numbers"):
        read(**dims)


class _Below(NamedTuple):
    at: Annotated[I64, Array("entries", below="terms")]


class _Offsets(NamedTuple):
    ptr: Annotated[I64, Array("docs+1", offsets="entries")]


class _Alternatives(NamedTuple):
    kept: Annotated[F64, Array(("terms", 0))]


@pytest.mark.parametrize(
    ("kind", "array", "dim"),
    [
        (_Below, np.zeros(2, np.int64), "terms"),
        (_Below, np.zeros(0, np.int64), "terms"),
        (_Offsets, np.zeros(2, np.int64), "entries"),
        (_Alternatives, np.zeros(2), "terms"),
    ],
)
def test_a_dimension_without_a_size_is_an_error_of_the_declaration(kind, array, dim):
    """Not a damaged file: nothing could be checked."""
    with pytest.raises(TypeError, match=f"dimension '{dim}' has no size"):
        schema.check(kind(array))
    schema.check(kind(array[:0] if kind is not _Offsets else array), {dim: 0})


def test_declarations_that_cannot_be_checked():
    with pytest.raises(TypeError, match="least value"):
        Array("entries", below="terms", ge=None)

    class Bare(NamedTuple):
        rows: NDArray[np.float64]

    class Shaped(NamedTuple):
        step: Annotated[int, Array("terms")]

    class Ranged(NamedTuple):
        rows: Annotated[F64, Number()]

    for kind in (Bare, Shaped, Ranged):
        assert not schema.is_declared(kind)
        with pytest.raises(TypeError, match="must declare its shape"):
            schema.check(kind(np.zeros(1)))
    assert schema.is_declared(Sample)


def test_an_empty_record():
    class Documents(NamedTuple):
        terms: Annotated[I32, Array("entries")]
        weights: Annotated[F64, Array("docs", 2)]

    found = schema.empty(Documents)
    assert (found.terms.shape, found.terms.dtype) == ((0,), np.int32)
    assert (found.weights.shape, found.weights.dtype) == ((0, 2), np.float64)
