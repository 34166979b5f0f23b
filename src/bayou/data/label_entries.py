"""Labels of documents as given by the user: vectors, label lists, indicator rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import column_or_1d

from bayou.data.counts import check_sparse, is_frame
from bayou.data.errors import DataError
from bayou.data.fields import is_missing, is_no_label

INFINITE = "Input y contains infinity or a value too large for dtype('float64')."


def one_array(y: Any) -> Any:
    """The given labels as an array or sparse matrix; label lists are entries of an array of objects."""
    check_sparse(y, "labels")
    if sp.issparse(y):
        matrix: Any = y
        return sp.csr_array(matrix) if matrix.shape[1] > 1 else matrix.toarray().ravel()
    if is_frame(y) or hasattr(y, "to_numpy"):
        y = y.to_numpy()
    if isinstance(y, str | bytes) or not (hasattr(y, "__array__") or isinstance(y, Iterable)):
        raise DataError(f"y should be a 1d array, one entry per document; got {y!r:.80}")
    if hasattr(y, "__array__"):
        array = np.asarray(y)
    else:
        entries = list(y)
        array = np.empty(len(entries), object)
        for d, entry in enumerate(entries):
            array[d] = entry
    if array.dtype == object and array.ndim == 1:
        array = _as_bits(array)
    if array.ndim == 2 and array.shape[1] > 1:
        return array
    return column_or_1d(array, warn=True)


def is_list(entry: Any) -> bool:
    """Whether an entry is a list of labels, not one class."""
    return isinstance(entry, list | tuple | set | frozenset | np.ndarray)


def labels_in(entries: npt.NDArray[Any]) -> list[Any]:
    """The distinct labels of a vector or of label lists."""
    lists = entries.dtype == "O" and any(map(is_list, entries.tolist()))
    if lists:
        entries = one_array([v for entry in entries if is_list(entry) for v in entry])
    return list(np.unique(plain_labels(entries)[0]).tolist())


def _as_bits(entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert an indicator that is written as lists to a matrix; return anything else unchanged.

    Lists of one length that hold only 0 and 1 are read as an indicator. As label lists, they would give
    every document the same two labels.
    """
    rows = [entry for entry in entries if is_list(entry)]
    sizes = {len(row) for row in rows}
    if len(sizes) != 1 or any(isinstance(row, set | frozenset) for row in rows):
        return entries
    size = sizes.pop()
    number = (bool, int, float, np.number, np.bool_)
    bits = size > 1 and all(isinstance(v, number) and v in (0, 1) for row in rows for v in row)
    if not bits or not all(is_list(entry) or is_missing(entry) for entry in entries):
        return entries
    if len(rows) == len(entries):
        return np.array([list(row) for row in rows])
    unknown = [np.nan] * size
    return np.array([list(entry) if is_list(entry) else unknown for entry in entries], np.float64)


def plain_labels(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """The known labels as an array of one type, and a mask of the documents with a known label."""
    if values.dtype == object:
        known = np.array([not is_no_label(v) for v in values.tolist()], np.bool_)
        values = as_one_type([v for v in values.tolist() if not is_no_label(v)])
    elif values.dtype.kind == "U":
        known = np.char.str_len(np.char.strip(values)) > 0
        values = values[known]
    else:
        known = ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), np.bool_)
        values = values[known]
    if values.dtype.kind not in "biufUO":
        raise DataError(f"Unknown label type: unknown. Labels cannot be of dtype {values.dtype}")
    if values.dtype.kind == "f":
        if np.isinf(values).any():
            raise DataError(INFINITE)
        if (values != np.floor(values)).any():
            raise DataError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which "
                "expects discrete classes, on a regression target with continuous values"
            )
    return values, known


def as_one_type(values: list[Any]) -> npt.NDArray[Any]:
    """Labels as an array of strings or of numbers; a `DataError` if they mix both."""
    strings = sum(isinstance(v, str) for v in values)
    if strings == len(values):
        # numpy strings drop a trailing NUL
        lossy = any(v.endswith("\0") for v in values)
        return np.array(values, object if lossy else str)
    number = (bool, int, float, np.bool_, np.integer, np.floating)
    odd = [v for v in values if not isinstance(v, (str, *number))]
    if odd:
        raise DataError(f"Unknown label type: unknown. A label cannot be {odd[0]!r:.80}")
    if strings:
        text, other = (next(v for v in values if isinstance(v, str) is s) for s in (True, False))
        raise DataError(f"labels mix strings and numbers: {text!r} and {other!r}")
    return np.array(values)
