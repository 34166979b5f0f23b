"""Input checks of the measures: matrices of labels and of scores, converted some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csr_array

from bayou.data.counts import check_sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bits = NDArray[np.bool_]
Scores = Any  # Floats or csr_array

CHUNK = 4_000_000  # largest number of entries in one dense part: 32 MB


def read_indicator(name: str, given: Any, like: tuple[int, int] | None = None) -> csr_array:
    """A matrix of 0 and 1 as csr_array of int64 without stored zeros."""
    matrix = _matrix(name, given, like)
    values = matrix.data if is_sparse(matrix) else matrix
    if values.dtype.kind not in "biuf" or not ((values == 0) | (values == 1)).all():
        raise ValueError(
            f"{name} must hold 0 and 1 only, one row per document and one column per label; "
            f"got other values. Pass scores as scores, or apply a threshold to them"
        )
    out = csr_array(matrix != 0).astype(np.int64)
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


def read_scores(given: Any, like: tuple[int, int] | None = None) -> Scores:
    """Scores as a float64 array, or as csr_array if they are sparse."""
    matrix = _matrix("scores", given, like)
    if is_sparse(matrix):
        matrix = csr_array(matrix).astype(np.float64)
        matrix.sum_duplicates()
        finite = np.isfinite(matrix.data).all()
    else:
        matrix = np.asarray(matrix, np.float64)
        finite = np.isfinite(matrix).all()
    if not finite:
        raise ValueError("scores must be finite; got NaN or inf")
    return matrix


def _matrix(name: str, given: Any, like: tuple[int, int] | None) -> Any:
    check_sparse(given, name)
    matrix = given if is_sparse(given) else np.asarray(given)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"{name} must be a matrix (documents, labels) with at least one of each; "
            f"got shape {matrix.shape}. Convert label lists with MultiLabelBinarizer of scikit-learn"
        )
    if like is not None and matrix.shape != like:
        raise ValueError(
            f"{name} has shape {matrix.shape}, but truth has {like}; both must have the same shape"
        )
    return matrix


def is_sparse(matrix: Any) -> bool:
    """Whether a matrix is a sparse matrix of SciPy; a plain bool, so that type checkers narrow nothing."""
    return bool(sparse.issparse(matrix))


def row_chunks(n_docs: int, n_labels: int) -> Iterator[slice]:
    """Ranges of rows, each small enough for a dense array."""
    step = max(1, CHUNK // n_labels)
    for start in range(0, n_docs, step):
        yield slice(start, min(start + step, n_docs))


def dense(part: Any) -> Any:
    """The part as a dense array."""
    return part.toarray() if is_sparse(part) else part


def largest(rows: Floats, k: int) -> Ints:
    """Columns of the k largest entries of each row, largest first; ties go to the lower column.

    Examples
    --------
    >>> largest(np.array([[1.0, 3.0, 3.0, 1.0]]), 3)
    array([[1, 2, 0]])
    """
    n_rows, n_columns = rows.shape
    if k == 0:
        return np.zeros((n_rows, 0), np.int64)
    last = np.partition(rows, n_columns - k, axis=1)[:, n_columns - k, None]
    above, equal = rows > last, rows == last
    room = k - above.sum(axis=1, keepdims=True)
    keep = above | (equal & (np.cumsum(equal, axis=1) <= room))
    columns = np.nonzero(keep)[1].reshape(n_rows, k)
    order = np.argsort(-np.take_along_axis(rows, columns, axis=1), axis=1, kind="stable")
    return np.take_along_axis(columns, order, axis=1)


def check_k(k: Any, n_labels: int) -> int:
    """The number of best labels, checked."""
    whole = isinstance(k, int | np.integer) and not isinstance(k, bool)
    if not whole or not 1 <= k <= n_labels:
        raise ValueError(f"k must be a whole number between 1 and {n_labels}; got {k!r}")
    return int(k)
