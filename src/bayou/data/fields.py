"""Labels, targets and identifiers of documents. For times see `bayou.data.times`."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.counts import CSR, check_sparse, column_names, dense, is_frame, narrow_indices
from bayou.data.errors import DataError


def as_labels(
    labels: Any, n_docs: int, names: Iterable[str] | None = None
) -> tuple[CSR, tuple[str, ...] | None]:
    """Convert labels in any accepted form to an indicator array and the names of its columns.

    Parameters
    ----------
    labels : class vector, list of label lists, or indicator matrix
        A vector (or list) of strings or whole numbers gives each document one label; a missing
        value or an empty string means no label. A list of lists gives each document any number
        of labels. A two-dimensional array, sparse matrix or frame of 0 and 1 is an indicator.
        Nested *lists* are never an indicator.
    n_docs : int
    names : iterable of str, optional
        Names of the labels in order. Whole-number labels are then positions in this list.

    Returns
    -------
    indicator : csr_array of int8, documents by labels
    names : tuple of str or None
    """
    known = None if names is None else as_names(names)
    if sp.issparse(labels) or is_frame(labels) or getattr(labels, "ndim", 1) != 1:
        return _from_indicator(labels, n_docs, known)
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise DataError(f"labels must be one entry per document, got {labels!r:.80}")
    rows = [_one_document(d, entry) for d, entry in enumerate(labels)]
    check_length("labels", len(rows), n_docs)
    known = _distinct(rows) if known is None else known
    position = {name: i for i, name in enumerate(known)}
    indptr, indices = [0], []
    for d, row in enumerate(rows):
        indices += sorted({_position(d, label, position, names is not None) for label in row})
        indptr.append(len(indices))
    ones = np.ones(len(indices), np.int8)
    parts = (ones, np.array(indices, np.int32), np.array(indptr, np.int64))
    return narrow_indices(sp.csr_array(parts, shape=(n_docs, len(known)))), known


def as_names(names: Iterable[str]) -> tuple[str, ...]:
    """Label names as a tuple; a `DataError` unless they are distinct strings."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise DataError(f"label names must be a list of strings, got {names!r:.80}")
    out = tuple(names)
    if not all(isinstance(name, str) for name in out):
        raise DataError("label names must be strings")
    if len(set(out)) != len(out):
        twice = next(name for i, name in enumerate(out) if name in out[:i])
        raise DataError(f"label names must be distinct, but {twice!r} occurs twice")
    return out


def _from_indicator(
    labels: Any, n_docs: int, names: tuple[str, ...] | None
) -> tuple[CSR, tuple[str, ...] | None]:
    check_sparse(labels, "labels")
    columns = column_names(labels)
    matrix: Any = labels if sp.issparse(labels) else dense(labels, "labels")
    if matrix.ndim != 2:
        raise DataError(f"labels must have one or two dimensions, got {matrix.ndim}")
    check_length("labels", matrix.shape[0], n_docs)
    indicator = sp.csr_array(matrix, copy=True)
    indicator.sum_duplicates()
    bad = ~((indicator.data == 0) | (indicator.data == 1))
    if bad.any():
        d = int(np.searchsorted(indicator.indptr, int(np.argmax(bad)), side="right")) - 1
        raise DataError(
            f"a label matrix may hold only 0 and 1, but document {d} has {indicator.data[bad][0]}; "
            "pass numbers to predict as targets"
        )
    indicator.eliminate_zeros()
    if names is None and columns is not None:
        names = as_names(columns)
    if names is not None and len(names) != indicator.shape[1]:
        raise DataError(f"{len(names)} label names for {indicator.shape[1]} label columns")
    return narrow_indices(indicator.astype(np.int8)), names


def _one_document(d: int, entry: Any) -> list[str | int]:
    if isinstance(entry, str) or is_scalar(entry):
        entry = [entry]
    if not isinstance(entry, Iterable) or isinstance(entry, bytes):
        raise DataError(
            f"labels of document {d} must be strings or whole numbers, got {entry!r:.80}"
        )
    row: list[str | int] = []
    for label in entry:
        if is_no_label(label):
            continue
        if isinstance(label, str):
            row.append(str(label))
        elif is_scalar(label) and float(label).is_integer():
            row.append(int(label))
        else:
            raise DataError(
                f"labels of document {d} must be strings or whole numbers, got {label!r:.80}; "
                "pass numbers to predict as targets"
            )
    return row


def is_scalar(value: Any) -> bool:
    """Whether a value is a number, or a missing one."""
    return is_missing(value) or isinstance(value, int | float | np.integer | np.floating | np.bool_)


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN or pandas' NA."""
    if value is None or type(value).__name__ == "NAType":
        return True
    return isinstance(value, float | np.floating) and math.isnan(value)


def is_no_label(value: Any) -> bool:
    """Whether a value means "no label": a missing value, or a blank string.

    Examples
    --------
    >>> [is_no_label(value) for value in (None, "", " ", 0, "0")]
    [True, True, True, False, False]
    """
    return is_missing(value) or is_blank(value)


def is_blank(value: Any) -> bool:
    """Whether a value is a string that is empty or only white space."""
    return isinstance(value, str) and not value.strip()


def _distinct(rows: Sequence[Sequence[str | int]]) -> tuple[str, ...]:
    found = {label for row in rows for label in row}
    numbers = sorted(label for label in found if isinstance(label, int))
    strings = sorted(label for label in found if isinstance(label, str))
    if numbers and strings:
        raise DataError(f"labels mix strings and numbers: {strings[0]!r} and {numbers[0]!r}")
    return tuple(map(str, numbers)) or tuple(strings)


def _position(d: int, label: str | int, position: dict[str, int], named: bool) -> int:
    if named and isinstance(label, int):
        if 0 <= label < len(position):
            return label
        raise DataError(
            f"document {d} has label {label}, but there are {len(position)} label names"
        )
    try:
        return position[str(label)]
    except KeyError:
        raise DataError(f"document {d} has label {label!r}, which is not a label name") from None


def as_targets(targets: Any, n_docs: int) -> npt.NDArray[np.float64]:
    """Convert numbers to predict to a finite float64 array, one row per document."""
    values = dense(targets, "targets").astype(np.float64)
    if values.ndim not in (1, 2):
        raise DataError(f"targets must have one or two dimensions, got {values.ndim}")
    check_length("targets", len(values), n_docs)
    bad = ~np.isfinite(values)
    if bad.any():
        place = np.argwhere(bad)[0]
        raise DataError(f"targets must be finite, but document {place[0]} has {values[bad][0]}")
    return values


def as_ids(ids: Any, n_docs: int) -> tuple[str, ...]:
    """Convert document identifiers to strings."""
    if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
        raise DataError(f"ids must be one entry per document, got {ids!r:.80}")
    out = tuple(map(str, ids))
    check_length("ids", len(out), n_docs)
    return out


def check_length(what: str, given: int, n_docs: int) -> None:
    """Raise a `DataError` unless a field has one entry per document."""
    if given != n_docs:
        raise DataError(f"{what}: {given} entries for {n_docs} documents")
