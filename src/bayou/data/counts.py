"""Whatever holds counts becomes one canonical sparse array, or a clear error."""

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.errors import DataError

if TYPE_CHECKING:
    CSR: TypeAlias = sp.csr_array[Any]
else:
    CSR = sp.csr_array  # older releases of scipy cannot be subscripted

_MAX_INDEX = np.iinfo(np.int32).max
_NUMERIC = "biuf"
_REAL = (int, float, np.integer, np.floating, np.bool_)


def as_counts(X: Any) -> tuple[CSR, list[str] | None]:
    """Turn a matrix of counts into the canonical form of `Corpus.counts`.

    Parameters
    ----------
    X : sparse matrix or array, array, nested list, pandas or polars frame
        Documents by terms; finite, not negative.

    Returns
    -------
    counts : csr_array
        float32 data; sorted, distinct indices of 32 bits where they suffice; no zeros. Shares
        memory with ``X`` only if ``X`` was in that form already; ``X`` itself is never changed.
    names : list of str or None
        Column names of a frame.
    """
    names = column_names(X)
    raw: Any = X if sp.issparse(X) else _from_frame_or_dense(X)
    if raw.ndim != 2:
        raise DataError(
            f"counts must have two dimensions (documents by terms), got {raw.ndim}; "
            "put a single document in a list"
        )
    if raw.shape[1] > _MAX_INDEX:
        raise DataError(f"at most {_MAX_INDEX} terms are supported, got {raw.shape[1]}")
    if raw.dtype.kind not in _NUMERIC:
        raise DataError(f"counts must be real numbers, got dtype {raw.dtype}")
    return _canonical(raw, names), names


def column_names(X: Any) -> list[str] | None:
    """Return the column names of a frame when all of them are strings."""
    if not is_frame(X):
        return None
    columns = list(X.columns)
    return columns if all(isinstance(name, str) for name in columns) else None


def is_frame(X: Any) -> bool:
    """Whether this looks like a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def dense(X: Any, what: str) -> npt.NDArray[Any]:
    """Turn nested lists, arrays and frames into an array of numbers, or say where it fails.

    Missing values become NaN, for the caller to find.
    """
    if is_frame(X) or hasattr(X, "to_numpy"):
        X = X.to_numpy()
    try:
        values = np.asarray(X)
    except (ValueError, TypeError):
        raise DataError(_describe_row_lengths(X, what)) from None
    if values.dtype.kind in _NUMERIC:
        return values
    if values.dtype.kind in "SU" and not isinstance(X, np.ndarray):
        values = np.asarray(X, dtype=object)  # what was given, before numpy made all of it strings
    if values.dtype.kind not in "OSU":
        raise DataError(f"{what} must be real numbers, got dtype {values.dtype}")
    return _numbers(values, what)


def _numbers(values: npt.NDArray[Any], what: str) -> npt.NDArray[np.float64]:
    out = np.empty(values.shape, np.float64)
    for place, value in np.ndenumerate(values):
        missing = value is None or type(value).__name__ in ("NAType", "NaTType")
        if not missing and not isinstance(value, _REAL):
            where = f"document {place[0]}" if place else "the value"
            shown = value.item() if isinstance(value, np.generic) else value
            where += f", column {place[1]}" if len(place) > 1 else ""
            raise DataError(f"{what} must be real numbers, but {where} is {shown!r:.80}")
        try:
            out[place] = np.nan if missing else value
        except OverflowError:
            out[place] = np.inf
    return out


def _describe_row_lengths(X: Any, what: str) -> str:
    if isinstance(X, Sequence) and X and isinstance(X[0], Sequence):
        for d, row in enumerate(X):
            if not isinstance(row, Sequence) or len(row) != len(X[0]):
                size = len(row) if isinstance(row, Sequence) else type(row).__name__
                return f"{what}: document {d} has {size} columns, document 0 has {len(X[0])}"
    return f"{what} must be a matrix of numbers, got {type(X).__name__}"


def _from_frame_or_dense(X: Any) -> Any:
    if is_frame(X) and X.shape[1] and hasattr(X, "sparse"):
        with contextlib.suppress(ValueError):  # pandas refuses when most values are not zero
            return X.sparse.to_coo()
    return dense(X, "counts")


def _canonical(raw: Any, names: list[str] | None) -> CSR:
    try:
        counts = sp.csr_array(raw)
        counts.check_format(full_check=True)
    except (ValueError, TypeError, IndexError) as error:
        raise DataError(f"counts are not a valid sparse matrix: {error}") from None
    _refuse(counts, ~np.isfinite(counts.data), "is not a finite number", names)
    _refuse(counts, counts.data < 0, "is negative", names)
    if not counts.has_canonical_format:
        # a copy, never to reorder the caller's arrays; wide, so that sums of small integers fit
        counts = counts.astype(np.float64)
        counts.sum_duplicates()
    with np.errstate(over="ignore"):
        narrow = counts.data.astype(np.float32, copy=False)
    if narrow is not counts.data:
        counts = sp.csr_array((narrow, counts.indices, counts.indptr), shape=counts.shape)
        _refuse(counts, np.isinf(narrow), "does not fit in 32-bit floating point", names)
    if not counts.data.all():
        counts = counts.copy()
        counts.eliminate_zeros()
    return narrow_indices(counts)


def narrow_indices(counts: CSR) -> CSR:
    """Return the same array with indices and indptr of one width, the narrower that holds both.

    Scipy's conversions refuse an array whose two index arrays differ in width.
    """
    width = np.int32 if max(len(counts.data), *counts.shape) <= _MAX_INDEX else np.int64
    out = sp.csr_array(counts.shape, dtype=counts.dtype)
    out.data = counts.data
    out.indices = counts.indices.astype(width, copy=False)
    out.indptr = counts.indptr.astype(width, copy=False)
    out.has_canonical_format = True
    return out


def take_rows(matrix: CSR, rows: npt.NDArray[np.intp]) -> CSR:
    """Return some rows of a canonical array at the cost of those rows alone."""
    starts = matrix.indptr[rows].astype(np.int64)
    sizes = matrix.indptr[rows + 1] - starts
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    places = np.repeat(starts - indptr[:-1], sizes) + np.arange(indptr[-1])
    out = sp.csr_array((len(rows), matrix.shape[1]), dtype=matrix.dtype)
    out.data, out.indices = matrix.data[places], matrix.indices[places]
    out.indptr = indptr.astype(matrix.indptr.dtype, copy=False)
    out.has_canonical_format = True
    return out


def _refuse(counts: CSR, bad: npt.NDArray[np.bool_], why: str, names: list[str] | None) -> None:
    if not bad.any():
        return
    i = int(np.argmax(bad))
    d = int(np.searchsorted(counts.indptr, i, side="right")) - 1
    v = int(counts.indices[i])
    term = f"term {v}" + (f" ({names[v]!r})" if names else "")
    raise DataError(f"counts: document {d}, {term}: {counts.data[i]} {why}")


def move_columns(counts: CSR, columns: npt.NDArray[np.int64], n_terms: int) -> CSR:
    """Counts with column v moved to ``columns[v]``; columns moved to -1 are dropped."""
    to = columns[counts.indices]
    keep = to >= 0
    ends = np.concatenate([[0], np.cumsum(keep)])[counts.indptr]
    return sp.csr_array((counts.data[keep], to[keep], ends), shape=(counts.shape[0], n_terms))


def refuse_texts(X: Any, name: str) -> None:
    """Refuse texts, which scikit-learn would try to read as numbers."""
    texts = [X] if isinstance(X, str) else X
    rows = isinstance(texts, Sequence) or getattr(texts, "ndim", 0) == 1  # lists, arrays, series
    first = next(iter(texts), None) if rows else None
    if isinstance(first, str):
        came = f"{len(texts):,} text{'s' * (len(texts) != 1)}"
        raise DataError(
            f"X is {came} (the first begins {first[:30]!r}), and {name} learns from counts of terms; "
            f"write bayou.TextModel(estimator={name}(...)) and fit that to the texts, or count them first, "
            "with bayou.data.Corpus.from_text or scikit-learn's CountVectorizer"
        )
