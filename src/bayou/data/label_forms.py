"""The forms in which labels come, and the one form they are given."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils import column_or_1d

from bayou.data.container import pack_strings, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.counts import CSR, dense, is_frame, narrow_indices
from bayou.data.errors import DataError, ModelFileError
from bayou.data.fields import as_labels, is_missing, is_no_label

BINARY, MULTI_CLASS, MULTI_LABEL = "binary", "multi-class", "multi-label"

NO_TARGET = (
    "This estimator requires y to be passed, but the target y is None; "
    "give y, or a Corpus with {what}"
)
INFINITE = "Input y contains infinity or a value too large for dtype('float64')."


class Labels(NamedTuple):
    """The classes or labels of documents, in one form.

    Parameters
    ----------
    kind : {"binary", "multi-class", "multi-label"}
    classes : array (n_labels,)
        Sorted for classes. For several labels a document, in the order of the columns that were
        given, or sorted where label lists were.
    codes : int32 array (n_docs,)
        Number of the class, -1 for a document without one; no entries for "multi-label".
    indicator : csr_array of int8 (n_docs, n_labels)
    known : bool array (n_docs,)
        Whether it was said which labels a document has.
    """

    kind: str
    classes: npt.NDArray[Any]
    codes: npt.NDArray[np.int32]
    indicator: CSR
    known: npt.NDArray[np.bool_]


def class_array(classes: Any) -> npt.NDArray[Any]:
    """All classes as an array, in the order given."""
    every = _plain(one_array(classes))[0]
    if every.ndim != 1 or not len(every):
        raise DataError(f"classes must be a list of all classes, got {classes!r:.80}")
    if len(np.unique(every)) != len(every):
        raise DataError(f"classes must be distinct, got {classes!r:.80}")
    return every


def one_array(y: Any) -> Any:
    """An array or sparse matrix of what was given; lists keep their entries as they are."""
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
    if array.dtype == object and array.ndim == 1 and _are_rows_of_an_indicator(array.tolist()):
        array = np.array([list(row) for row in array.tolist()], np.int8)
    if array.ndim == 2 and array.shape[1] > 1:
        return array
    return column_or_1d(array, warn=True)


def _are_rows_of_an_indicator(entries: list[Any]) -> bool:
    """Whether lists are rows of 0 and 1, not label lists: as those, all documents would have all labels."""
    if not entries or not all(isinstance(row, list | tuple | np.ndarray) for row in entries):
        return False
    sizes = {np.size(row) for row in entries}
    if len(sizes) != 1 or min(sizes) < 2 or any(np.ndim(row) != 1 for row in entries):
        return False
    whole = (bool, int, np.bool_, np.integer)
    return all(isinstance(x, whole) and 0 <= x <= 1 for row in entries for x in row)


def is_list(entry: Any) -> bool:
    """Whether an entry holds the labels of a document, not one class."""
    return isinstance(entry, list | tuple | set | frozenset | np.ndarray)


def labels_in(entries: npt.NDArray[Any]) -> list[Any]:
    """The distinct labels of a vector or of label lists."""
    lists = entries.dtype == "O" and any(map(is_list, entries.tolist()))
    if lists:
        entries = one_array([v for entry in entries if is_list(entry) for v in entry])
    return list(np.unique(_plain(entries)[0]).tolist())


def as_bits(entries: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """An indicator written as lists, as a matrix; anything else as it is.

    Lists of labels that all hold two or more 0 and 1, and nothing else, would say that every document has
    the same two labels: nobody means that.
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


def is_indicator(y: Any) -> bool:
    """Whether labels are given as a matrix of 0 and 1, whose columns say which labels there are."""
    given = one_array(y)
    return bool((as_bits(given) if given.dtype == "O" else given).ndim == 2)


def _plain(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Labels as one type (of the known ones), and which are known."""
    if values.dtype == object:
        known = np.array([not is_no_label(v) for v in values.tolist()], np.bool_)
        values = _of_one_type([v for v in values.tolist() if not is_no_label(v)])
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


def _of_one_type(values: list[Any]) -> npt.NDArray[Any]:
    strings = sum(isinstance(v, str) for v in values)
    if strings == len(values):
        # numpy's own strings lose a NUL at their end
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


def _encode_values(
    values: npt.NDArray[Any], every: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """The classes in order, and the number of each value's."""
    found, inverse = np.unique(values, return_inverse=True)
    if every is None:
        return found, inverse.astype(np.int32)
    place = {label: i for i, label in enumerate(every.tolist())}
    new = [label for label in found.tolist() if label not in place]
    if new:
        raise DataError(
            f"y holds {new[0]!r}, which is not among the {len(every)} classes; "
            "give all of them in classes="
        )
    to = np.array([place[label] for label in found.tolist()], np.int32)
    return every, to[inverse] if len(to) else np.zeros(0, np.int32)


def of_vector(given: npt.NDArray[Any], every: npt.NDArray[Any] | None, n_least: int = 2) -> Labels:
    """One class a document, with missing ones."""
    values, known = _plain(given)
    every = None if every is None else np.unique(every)
    if every is None and not known.any():
        raise DataError("no document has a label; give some to learn from")
    classes, found = _encode_values(values, every)
    codes = np.full(len(known), -1, np.int32)
    codes[known] = found
    return _one_class_each(classes, codes)


def _one_class_each(classes: npt.NDArray[Any], codes: npt.NDArray[np.int32]) -> Labels:
    if len(classes) < 2:
        raise DataError(
            f"y has one class only, {classes.tolist()[0]!r:.80}; a classifier needs at least two classes"
        )
    known = codes >= 0
    indptr = np.concatenate([[0], np.cumsum(known)])
    parts = (np.ones(int(known.sum()), np.int8), codes[known], indptr)
    indicator = narrow_indices(sp.csr_array(parts, shape=(len(codes), len(classes))))
    return Labels(BINARY if len(classes) == 2 else MULTI_CLASS, classes, codes, indicator, known)


def _several(
    classes: npt.NDArray[Any], indicator: CSR, known: npt.NDArray[np.bool_], partial: bool
) -> Labels:
    if not partial and not known.any():
        raise DataError("no document has a label; give some to learn from")
    return Labels(MULTI_LABEL, classes, np.zeros(0, np.int32), indicator, known)


def of_lists(entries: Sequence[Any], every: npt.NDArray[Any] | None) -> Labels:
    """A list of labels for each document, or None; a list of nothing but empty strings says no more."""
    known = np.array([not (is_no_label(entry) or _blank(entry)) for entry in entries], np.bool_)
    rows = [list(entry) if is_list(entry) and not _blank(entry) else [] for entry in entries]
    for d in np.flatnonzero(known).tolist():
        if not is_list(entries[d]):
            raise DataError(f"y must be label lists for all; document {d} has {entries[d]!r:.80}")
        if any(is_missing(label) for label in rows[d]):
            raise DataError(f"a label of document {d} is missing; leave it out or put None for all")
        rows[d] = [label for label in rows[d] if not is_no_label(label)]
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [label for row in rows for label in row]
    classes, codes = _encode_values(_plain(flat)[0], every)
    if not len(classes):
        raise DataError("no document has a label; give some to learn from")
    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    shape = (len(rows), len(classes))
    indicator = sp.csr_array(sp.coo_array((np.ones(len(at), np.int64), (at, codes)), shape=shape))
    indicator.data[:] = 1  # a label that is named twice counts once
    return _several(classes, narrow_indices(indicator.astype(np.int8)), known, every is not None)


def _blank(entry: Any) -> bool:
    """Whether a list holds empty strings alone, as cutting an empty field into labels gives."""
    texts = is_list(entry) and len(entry) > 0 and all(isinstance(label, str) for label in entry)
    return texts and all(is_no_label(label) for label in entry)


def of_matrix(given: Any, names: list[str] | None, every: npt.NDArray[Any] | None) -> Labels:
    """An indicator of 0 and 1, documents by labels."""
    matrix: Any = given if sp.issparse(given) else np.array(dense(given, "y"))
    known = np.ones(matrix.shape[0], np.bool_)
    if not sp.issparse(given) and matrix.dtype.kind == "f":
        absent = np.isnan(matrix)
        known = ~absent.all(axis=1)
        if absent[known].any():
            d = int(np.flatnonzero(absent.any(axis=1) & known)[0])
            raise DataError(f"document {d} has NaN for some labels; give NaN for all or for none")
        matrix[~known] = 0
    values = np.unique(matrix.data if sp.issparse(given) else matrix)
    if not np.isin(values, (0, 1)).all():
        raise DataError(
            "Unknown label type: multiclass-multioutput or continuous. A matrix of labels holds 0 "
            f"and 1 only; got {values[~np.isin(values, (0, 1))][0]}"
        )
    n_labels = matrix.shape[1]
    if every is not None and len(every) != n_labels:
        raise DataError(f"y has {n_labels} columns for {len(every)} classes; give one for each")
    classes = np.array(names) if names is not None else np.arange(n_labels)
    indicator, _ = as_labels(matrix, matrix.shape[0])
    return _several(classes if every is None else every, indicator, known, every is not None)


def of_corpus(
    corpus: Corpus | None,
    every: npt.NDArray[Any] | None,
    multi_label: bool | None,
) -> Labels:
    """The labels that a corpus carries."""
    if corpus is None or corpus.labels is None:
        raise DataError(NO_TARGET.format(what="labels"))
    labels, names = corpus.labels, corpus.label_names
    classes = np.array(names, str) if names is not None else np.arange(corpus.n_labels)
    n_each = np.diff(labels.indptr)
    several = bool((n_each > 1).any())
    if several and multi_label is False:
        d = int(np.argmax(n_each > 1))
        raise DataError(f"document {d} has {n_each[d]} labels; each had at most one before")
    if every is not None:
        lists = [classes[labels.indices[a:b]].tolist() for a, b in _ranges(labels.indptr)]
        if several or multi_label:
            return of_lists([row or None for row in lists], every)
        return of_vector(one_array([row[0] if row else None for row in lists]), every)
    if not len(labels.data):
        raise DataError("no document of the corpus has a label; give some to learn from")
    if several or multi_label:
        return _several(classes, labels, n_each > 0, False)
    classes, to = np.unique(classes, return_inverse=True)
    codes = np.full(corpus.n_docs, -1, np.int32)
    codes[n_each > 0] = to[labels.indices]
    return _one_class_each(classes, codes)


def _ranges(indptr: npt.NDArray[Any]) -> Iterable[tuple[int, int]]:
    return zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)


def pack_classes(classes: npt.NDArray[Any], multi_label: bool) -> dict[str, npt.NDArray[Any]]:
    """Classes as arrays that a model file can hold."""
    text = classes.dtype.kind in "UO"
    packed = pack_strings(classes.tolist()) if text else classes
    return {"classes": packed, "classes.kind": np.array([text, multi_label])}


def unpack_classes(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], bool]:
    """The classes of a model file, and whether they are labels of which a document has several."""
    classes, kind = arrays.get("classes"), arrays.get("classes.kind")
    if classes is None or kind is None or kind.dtype != np.bool_ or kind.shape != (2,):
        raise ModelFileError("the model file does not say which classes there are; save it again")
    if classes.ndim != 1 or classes.dtype.kind not in "biuf" or not np.isfinite(classes).all():
        raise ModelFileError("the classes of the model file are no list; save it again")
    if kind[0]:
        classes = _of_one_type(unpack_strings(classes))
    if classes.ndim != 1 or not len(classes) or len(np.unique(classes)) != len(classes):
        raise ModelFileError("the classes of the model file are not distinct; save it again")
    return classes, bool(kind[1])
