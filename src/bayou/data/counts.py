"""Matrices of counts in one canonical sparse form."""

import contextlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.errors import DataError, FractionalCountsWarning

if TYPE_CHECKING:
    CSR: TypeAlias = sp.csr_array[Any]
else:
    CSR = sp.csr_array  # older scipy releases do not support subscripts

_MAX_INDEX = np.iinfo(np.int32).max
_MAX_COUNT = 2**24  # of one term in one document, as tokens: single precision counts no further
_NUMERIC = "biuf"
_REAL = (int, float, np.integer, np.floating, np.bool_)


def as_counts(X: Any) -> tuple[CSR, list[str] | None]:
    """Convert a matrix of counts to the canonical form of `Corpus.counts`.

    Parameters
    ----------
    X : sparse matrix or array, array, nested list, pandas or polars frame
        Documents by terms; values are finite and >= 0.

    Returns
    -------
    counts : csr_array
        float32 data; sorted, distinct indices, 32-bit if possible; no stored zeros. Shares
        memory with ``X`` only if ``X`` is already in that form. ``X`` itself is never changed.
    names : list of str or None
        Column names of a frame.
    """
    check_sparse(X)
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


def check_sparse(X: Any, what: str = "counts") -> None:
    """Refuse a sparse matrix whose indexes point outside it, before any conversion reads them.

    Matrices in other forms, such as arrays and frames, are not looked at.
    """
    if not sp.issparse(X):
        return
    matrix: Any = X
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            matrix.check_format(full_check=True)
        elif matrix.format == "coo":
            for places, size in zip((matrix.row, matrix.col), matrix.shape, strict=True):
                if len(places) != len(matrix.data):
                    raise ValueError("indexes and values differ in number")
                if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
                    raise ValueError("an index is outside the matrix")
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise DataError(f"{what} are not a valid sparse matrix: {error}") from None


def column_names(X: Any) -> list[str] | None:
    """The column names of a frame, or None unless all of them are strings."""
    if not is_frame(X):
        return None
    columns = list(X.columns)
    return columns if all(isinstance(name, str) for name in columns) else None


def is_frame(X: Any) -> bool:
    """Whether ``X`` looks like a pandas or polars data frame."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def dense(X: Any, what: str) -> npt.NDArray[Any]:
    """Convert nested lists, arrays and frames to an array of numbers; errors name the document.

    Missing values become NaN, which the caller must handle.
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
        values = np.asarray(X, dtype=object)  # the original values: numpy turned them into strings
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
        with contextlib.suppress(ValueError):  # pandas raises if most values are not zero
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
        # a copy, so the caller's arrays keep their order; float64, so sums of small integers fit
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
    """The same array with indices and indptr of one width, the narrower one that holds both.

    Scipy's conversions reject an array whose two index arrays differ in width.
    """
    width = np.int32 if max(len(counts.data), *counts.shape) <= _MAX_INDEX else np.int64
    out = sp.csr_array(counts.shape, dtype=counts.dtype)
    out.data = counts.data
    out.indices = counts.indices.astype(width, copy=False)
    out.indptr = counts.indptr.astype(width, copy=False)
    out.has_canonical_format = True
    return out


def take_rows(matrix: CSR, rows: npt.NDArray[np.intp]) -> CSR:
    """Some rows of a canonical array; the cost depends only on the selected rows."""
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


def round_counts(counts: CSR, stacklevel: int) -> npt.NDArray[np.float32]:
    """Counts rounded half to even, with a warning if some were fractional."""
    whole = np.rint(counts.data)
    if (whole != counts.data).any():
        warnings.warn(
            "fractional counts were rounded to whole tokens (half to even); "
            "scale them first if that loses too much",
            FractionalCountsWarning,
            stacklevel=stacklevel,
        )
    if whole.size and whole.max() >= _MAX_COUNT:
        i = int(np.argmax(whole))
        d = int(np.searchsorted(counts.indptr, i, side="right")) - 1
        raise DataError(
            f"document {d} holds term {counts.indices[i]} {whole[i]:g} times; "
            f"at most {_MAX_COUNT - 1} tokens of one term are supported"
        )
    return whole


def sum_groups(
    groups: npt.NDArray[Any], values: npt.NDArray[Any], n_groups: int
) -> npt.NDArray[np.float64]:
    """The sum of the values of each group 0 .. n_groups - 1."""
    sums = np.bincount(groups, weights=values, minlength=n_groups)
    return sums.astype(np.float64, copy=False)


def move_columns(counts: CSR, columns: npt.NDArray[np.int64], n_terms: int) -> CSR:
    """Move column v to ``columns[v]``; drop columns moved to -1."""
    to = columns[counts.indices]
    keep = to >= 0
    ends = np.concatenate([[0], np.cumsum(keep)])[counts.indptr]
    return sp.csr_array((counts.data[keep], to[keep], ends), shape=(counts.shape[0], n_terms))


def refuse_texts(X: Any, name: str) -> None:
    """Raise a `DataError` for texts, which scikit-learn would try to read as numbers."""
    texts = [X] if isinstance(X, str) else X
    rows = isinstance(texts, Sequence) or getattr(texts, "ndim", 0) == 1  # lists, arrays, series
    first = next(iter(texts), None) if rows else None
    if isinstance(first, str):
        came = f"{len(texts):,} text{'s' * (len(texts) != 1)}"
        raise DataError(
            f"X is {came} (the first begins {first[:30]!r}), but {name} learns from counts of terms; "
            f"fit bayou.TextModel(estimator={name}(...)) to the texts, or count the terms first, "
            "with bayou.data.Corpus.from_text or scikit-learn's CountVectorizer"
        )
