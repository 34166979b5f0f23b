"""Declared types, shapes and ranges of records that are read from files, checked in one place.

A record is a NamedTuple whose array fields carry an `Array` in their annotation::

    class State(NamedTuple):
        step: int                                        # a whole number, not negative
        rows: Annotated[F32, Array("terms", "topics")]   # finite and not negative
        shift: Annotated[F64, Array("topics", ge=None)]  # finite, any sign
        ptr: Annotated[I64, Array("docs+1", offsets="entries")]
        terms: Annotated[I32, Array("entries", below="terms")]

The first array that has a named dimension gives its size. Every later array must agree. A file that breaks
a rule raises `ModelFileError`; a declaration that cannot be checked raises TypeError. A record may have a
method `check_relations` for rules about several fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import cache
from types import EllipsisType, UnionType
from typing import Annotated, Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import ModelFileError

Dim = (
    EllipsisType | int | str | tuple[int | str, ...]
)  # a size, a name, a name plus a number, or alternatives
R = TypeVar("R", bound=tuple[Any, ...])

# Kernels work in single precision: a number that is finite in double precision may be infinite there.
MOST_FLOAT, MOST_WHOLE = 1e30, 2**60
LEAST_FLOAT = 1e-37  # of numbers that must be positive: less is 0 in single precision


class Array:
    """Declaration of an array: its dimensions and the range of its numbers.

    Parameters
    ----------
    *dims : int, str or tuple
        A size; a name; ``"name+1"``; or a tuple of alternatives, of which one must fit. ``...`` alone
        allows any shape.
    ge, gt, le : float or None
        Bounds of every number. Default: not negative.
    finite : bool
        Whether NaN, infinity and numbers beyond 1e30 are refused. Default: True.
    below : str or None
        Every number is an index into the dimension of this name. Only ``ge`` can allow negative numbers.
    offsets : str or None
        The array starts at 0, never falls, and ends at the size of the dimension of this name.
    distinct : bool
        Whether no number may occur twice.
    """

    def __init__(
        self, *dims: Dim, ge: float | None = 0.0, gt: float | None = None, le: float | None = None,
        finite: bool = True, below: str | None = None, offsets: str | None = None, distinct: bool = False,
    ) -> None:  # fmt: skip
        if below is not None and ge is None:
            raise TypeError("an index needs a least value: leave out ge=None")
        self.dims, self.finite, self.distinct = dims, finite, distinct
        self.ge, self.gt, self.le = ge, gt, le
        self.below, self.offsets = below, offsets


class Number(NamedTuple):
    """The range of a number. Default: finite and not negative. Ranges are not asked of NaN."""

    ge: float | None = 0.0
    gt: float | None = None
    le: float | None = None
    finite: bool = True


class _Field(NamedTuple):
    """A field of a record: the types it may have, and what is declared of it."""

    name: str
    types: tuple[type, ...]
    rule: Array | Number


@cache
def _fields(kind: Any) -> tuple[_Field, ...]:
    hints = get_type_hints(kind, include_extras=True)
    return tuple(_field(kind, name, hints[name]) for name in kind._fields)


def _field(kind: type, name: str, hint: Any) -> _Field:
    rule: Array | Number | None = None
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        rule = next((note for note in notes if isinstance(note, Array | Number)), None)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    is_number = all(option in (int, float, bool) for option in options)
    if is_number and not isinstance(rule, Array):
        return _Field(name, options, rule or Number())
    if is_number or not isinstance(rule, Array):
        raise TypeError(
            f"{kind.__name__}.{name} must declare its shape: Annotated[..., Array(...)]"
        )
    return _Field(name, tuple(get_args(get_args(option)[1])[0] for option in options), rule)


def is_declared(kind: type) -> bool:
    """Whether every array of a record type has a declared shape."""
    try:
        _fields(kind)
    except TypeError:
        return False
    return True


def read(
    kind: type[R],
    arrays: Mapping[str, NDArray[Any]],
    prefix: str,
    dims: Mapping[str, int] | None = None,
) -> R:
    """The record of a type whose fields are the arrays ``prefix.field``, checked.

    Parameters
    ----------
    kind : type
        A NamedTuple with declared fields.
    arrays : mapping
        The arrays of a file.
    prefix : str
        Empty for arrays that are named like the fields.
    dims : mapping, optional
        Sizes of dimensions that are known from elsewhere.
    """
    values: dict[str, Any] = {}
    for name in kind._fields:  # type: ignore[attr-defined]
        full = f"{prefix}.{name}" if prefix else name
        if full not in arrays:
            raise ModelFileError(f"the file lacks the array {full}; train the model again")
        array = arrays[full]
        values[name] = array.item() if array.ndim == 0 else array
    record = kind(**values)
    check(record, dims)
    return record


def empty(kind: type[R]) -> R:
    """A record of arrays in which every dimension that has a name is of size 0."""

    def size(dim: Dim) -> int:
        return dim if isinstance(dim, int) else 0

    return kind(*(np.zeros([*map(size, f.rule.dims)], f.types[0]) for f in _fields(kind)))  # type: ignore[union-attr]


def check(record: Any, dims: Mapping[str, int] | None = None) -> dict[str, int]:
    """Refuse a record that does not have the declared types, shapes and ranges; gives its dimensions."""
    found = dict(dims or {})
    kind: Any = type(record)
    fields = _fields(kind)
    for field in fields:
        _check_type(field, getattr(record, field.name))
    for field, value in _arrays(fields, record):
        for dim, size in zip(_dims(field.rule, value), value.shape, strict=True):
            if isinstance(dim, str):
                name, more = _split(dim)
                found.setdefault(name, size - more)
    for field, value in _arrays(fields, record):
        if not all(map(lambda d, n: _fits(d, n, found), _dims(field.rule, value), value.shape)):
            _refuse(field.name)
        _check_range(field.name, value, field.rule)
        _check_indexes(field.name, value, field.rule, found)
    if hasattr(record, "check_relations"):
        record.check_relations()
    return found


def _arrays(fields: tuple[_Field, ...], record: Any) -> Iterator[tuple[Any, NDArray[Any]]]:
    for field in fields:
        if isinstance(field.rule, Array):
            yield field, getattr(record, field.name)


def _check_type(field: _Field, value: Any) -> None:
    if isinstance(field.rule, Array):
        right = isinstance(value, np.ndarray) and value.dtype in map(np.dtype, field.types)
        if not right or value.ndim != len(_dims(field.rule, value)):
            _refuse(field.name)
        return
    if type(value) not in field.types:
        _refuse(field.name)
    if bool in field.types or (math.isnan(value) and not field.rule.finite):
        return
    most = MOST_WHOLE if isinstance(value, int) else MOST_FLOAT
    is_low = (
        isinstance(value, float) and value < -most
    )  # whole numbers have marks such as the least one
    in_reach = math.isfinite(value) and value <= most and not is_low
    if (field.rule.finite and not in_reach) or not _inside(value, field.rule):
        raise ModelFileError(f"the file's number {field.name!r} is impossible: {value!r:.40}")


def _dims(rule: Array, value: NDArray[Any]) -> tuple[Dim, ...]:
    return value.shape if rule.dims == (...,) else rule.dims


def _split(dim: str) -> tuple[str, int]:
    name, _, more = dim.partition("+")
    return name, int(more or 0)


def _size(name: str, found: Mapping[str, int]) -> int:
    """The size of a dimension, or an error about a declaration that nothing gives a size."""
    if name not in found:
        raise TypeError(f"the dimension {name!r} has no size: no array has it; give it in dims")
    return found[name]


def _fits(dim: Dim, size: int, found: Mapping[str, int]) -> bool:
    if isinstance(dim, tuple):
        return any(_fits(one, size, found) for one in dim)
    if isinstance(dim, int):
        return size == dim
    name, more = _split(str(dim))
    return 0 <= size - more == _size(name, found)


def _inside(value: Any, rule: Any) -> Any:
    return (
        (rule.ge is None or value >= rule.ge)
        and (rule.gt is None or value > max(rule.gt, LEAST_FLOAT if rule.gt == 0.0 else rule.gt))
        and (rule.le is None or value <= rule.le)
    )


def _check_range(name: str, value: NDArray[Any], rule: Array) -> None:
    if not value.size or value.dtype == np.bool_:
        return
    if rule.finite and not is_in_reach(value):
        _impossible(name)
    numbers = value[~np.isnan(value)] if not rule.finite else value
    if numbers.size and not (_inside(numbers.min(), rule) and _inside(numbers.max(), rule)):
        _impossible(name)


def is_in_reach(value: NDArray[Any]) -> bool:
    """Whether all numbers are finite, also in single precision, and so are sums of many of them."""
    if value.dtype.kind != "f" or not value.size:
        return True
    return bool(value.min() >= -MOST_FLOAT and value.max() <= MOST_FLOAT)  # false for NaN


def check_squares(name: str, matrices: NDArray[Any], least: float) -> None:
    """Refuse matrices (n, k, k) that are not symmetric, or have an eigenvalue that is clearly too small.

    ``least`` is that eigenvalue as a share of the largest number.
    """
    if not matrices.size:
        return
    scale = np.abs(matrices).max(axis=(1, 2), keepdims=True)
    unequal = np.abs(matrices - matrices.transpose(0, 2, 1)) > 1e-6 * scale
    try:
        np.linalg.cholesky(matrices - (least * scale - 1e-30) * np.eye(matrices.shape[1]))
    except np.linalg.LinAlgError:
        _impossible(name)
    if unequal.any():
        _impossible(name)


def _check_indexes(name: str, value: NDArray[Any], rule: Array, found: Mapping[str, int]) -> None:
    if rule.below is not None:
        n = _size(rule.below, found)
        if value.size and int(value.max()) >= n:
            _impossible(name)
    if rule.distinct and len(np.unique(value)) != value.size:
        _impossible(name)
    if rule.offsets is not None:
        end = _size(rule.offsets, found)
        # no difference: those of unsigned numbers are never negative
        ordered = value.size and value[0] == 0 and bool((value[1:] >= value[:-1]).all())
        if not ordered or int(value[-1]) != end:
            _impossible(name)


def _refuse(name: str) -> None:
    raise ModelFileError(f"the file's array {name!r} is missing or does not fit the others")


def _impossible(name: str) -> None:
    raise ModelFileError(f"the file's array {name!r} holds impossible numbers")
