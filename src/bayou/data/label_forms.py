"""Labels of documents in one canonical form, from vectors, lists, matrices or a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.container import pack_strings, unpack_strings
from bayou.data.corpus import Corpus
from bayou.data.counts import CSR, dense, narrow_indices
from bayou.data.errors import DataError, ModelFileError
from bayou.data.fields import as_labels, is_missing, is_no_label
from bayou.data.label_entries import as_one_type, is_list, one_array, plain_labels

BINARY, MULTI_CLASS, MULTI_LABEL = "binary", "multi-class", "multi-label"

NO_TARGET = (
    "This estimator requires y to be passed, but the target y is None; "
    "give y, or a Corpus with {what}"
)


class Labels(NamedTuple):
    """The classes or labels of documents, in one form.

    Parameters
    ----------
    kind : {"binary", "multi-class", "multi-label"}
    classes : array (n_labels,)
        Sorted for classes and for label lists; in the order of the columns for an indicator.
    codes : int32 array (n_docs,)
        Number of the class, -1 if unknown; no entries for "multi-label".
    indicator : csr_array of int8 (n_docs, n_labels)
    known : bool array (n_docs,)
        Whether the labels of a document are known.
    """

    kind: str
    classes: npt.NDArray[Any]
    codes: npt.NDArray[np.int32]
    indicator: CSR
    known: npt.NDArray[np.bool_]


def class_array(classes: Any) -> npt.NDArray[Any]:
    """All classes as an array, in the given order."""
    every = plain_labels(one_array(classes))[0]
    if every.ndim != 1 or not len(every):
        raise DataError(f"classes must be a list of all classes, got {classes!r:.80}")
    if len(np.unique(every)) != len(every):
        raise DataError(f"classes must be distinct, got {classes!r:.80}")
    return every


def is_indicator(y: Any) -> bool:
    """Whether labels are given as a matrix of 0 and 1, whose columns are the labels."""
    return bool(one_array(y).ndim == 2)


def _encode_values(
    values: npt.NDArray[Any], every: npt.NDArray[Any] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int32]]:
    """The classes in order, and the class number of each value."""
    found, inverse = np.unique(values, return_inverse=True)
    if every is None:
        return found, inverse.astype(np.int32)
    place = {label: i for i, label in enumerate(every.tolist())}
    new = [label for label in found.tolist() if label not in place]
    if new:
        raise DataError(
            f"y holds {new[0]!r}, which is not among the {len(every)} classes; "
            "pass all classes in classes="
        )
    to = np.array([place[label] for label in found.tolist()], np.int32)
    return every, to[inverse] if len(to) else np.zeros(0, np.int32)


def of_vector(given: npt.NDArray[Any], every: npt.NDArray[Any] | None) -> Labels:
    """Labels from a vector with one class per document; classes may be missing."""
    values, known = plain_labels(given)
    every = None if every is None else np.unique(every)
    if every is None and not known.any():
        raise DataError("no document has a label; at least one document needs a label")
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
        raise DataError("no document has a label; at least one document needs a label")
    return Labels(MULTI_LABEL, classes, np.zeros(0, np.int32), indicator, known)


def of_lists(entries: Sequence[Any], every: npt.NDArray[Any] | None) -> Labels:
    """Labels from lists, one per document; None, or a list of only empty strings, means unknown."""
    known = np.array([not (is_no_label(entry) or _blank(entry)) for entry in entries], np.bool_)
    rows = [list(entry) if is_list(entry) and not _blank(entry) else [] for entry in entries]
    for d in np.flatnonzero(known).tolist():
        if not is_list(entries[d]):
            raise DataError(
                f"y must hold label lists for all documents, but document {d} has {entries[d]!r:.80}"
            )
        if any(is_missing(label) for label in rows[d]):
            raise DataError(
                f"a label of document {d} is missing; drop it, or pass None for the whole list"
            )
        rows[d] = [label for label in rows[d] if not is_no_label(label)]
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [label for row in rows for label in row]
    classes, codes = _encode_values(plain_labels(flat)[0], every)
    if not len(classes):
        raise DataError("no document has a label; at least one document needs a label")
    at = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    shape = (len(rows), len(classes))
    indicator = sp.csr_array(sp.coo_array((np.ones(len(at), np.int64), (at, codes)), shape=shape))
    indicator.data[:] = 1  # a repeated label counts once
    return _several(classes, narrow_indices(indicator.astype(np.int8)), known, every is not None)


def _blank(entry: Any) -> bool:
    """Whether a list holds only empty strings, as splitting an empty field gives."""
    texts = is_list(entry) and len(entry) > 0 and all(isinstance(label, str) for label in entry)
    return texts and all(is_no_label(label) for label in entry)


def of_matrix(given: Any, names: list[str] | None, every: npt.NDArray[Any] | None) -> Labels:
    """Labels from an indicator of 0 and 1, documents by labels."""
    matrix: Any = given if sp.issparse(given) else np.array(dense(given, "y"))
    known = np.ones(matrix.shape[0], np.bool_)
    if not sp.issparse(given) and matrix.dtype.kind == "f":
        absent = np.isnan(matrix)
        known = ~absent.all(axis=1)
        if absent[known].any():
            d = int(np.flatnonzero(absent.any(axis=1) & known)[0])
            raise DataError(
                f"document {d} has NaN for some labels; pass NaN for all labels or for none"
            )
        matrix[~known] = 0
    values = np.unique(matrix.data if sp.issparse(given) else matrix)
    if not np.isin(values, (0, 1)).all():
        raise DataError(
            "Unknown label type: multiclass-multioutput or continuous. A matrix of labels may hold only "
            f"0 and 1; got {values[~np.isin(values, (0, 1))][0]}"
        )
    n_labels = matrix.shape[1]
    if every is not None and len(every) != n_labels:
        raise DataError(
            f"y has {n_labels} columns for {len(every)} classes; pass one column per class"
        )
    classes = np.array(names) if names is not None else np.arange(n_labels)
    indicator, _ = as_labels(matrix, matrix.shape[0])
    return _several(classes if every is None else every, indicator, known, every is not None)


def of_corpus(
    corpus: Corpus | None,
    every: npt.NDArray[Any] | None,
    multi_label: bool | None,
) -> Labels:
    """Labels from a corpus."""
    if corpus is None or corpus.labels is None:
        raise DataError(NO_TARGET.format(what="labels"))
    labels, names = corpus.labels, corpus.label_names
    classes = np.array(names, str) if names is not None else np.arange(corpus.n_labels)
    n_each = np.diff(labels.indptr)
    several = bool((n_each > 1).any())
    if several and multi_label is False:
        d = int(np.argmax(n_each > 1))
        raise DataError(
            f"document {d} has {n_each[d]} labels, but earlier documents had at most one"
        )
    if every is not None:
        lists = [classes[labels.indices[a:b]].tolist() for a, b in _ranges(labels.indptr)]
        if several or multi_label:
            return of_lists([row or None for row in lists], every)
        return of_vector(one_array([row[0] if row else None for row in lists]), every)
    if not len(labels.data):
        raise DataError(
            "no document of the corpus has a label; at least one document needs a label"
        )
    if several or multi_label:
        return _several(classes, labels, n_each > 0, False)
    classes, to = np.unique(classes, return_inverse=True)
    codes = np.full(corpus.n_docs, -1, np.int32)
    codes[n_each > 0] = to[labels.indices]
    return _one_class_each(classes, codes)


def _ranges(indptr: npt.NDArray[Any]) -> Iterable[tuple[int, int]]:
    return zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)


def pack_classes(classes: npt.NDArray[Any], multi_label: bool) -> dict[str, npt.NDArray[Any]]:
    """Classes as arrays for a model file."""
    text = classes.dtype.kind in "UO"
    packed = pack_strings(classes.tolist()) if text else classes
    return {"classes": packed, "classes.kind": np.array([text, multi_label])}


def unpack_classes(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[npt.NDArray[Any], bool]:
    """The classes of a model file, and whether the task is multi-label."""
    classes, kind = arrays.get("classes"), arrays.get("classes.kind")
    if classes is None or kind is None or kind.dtype != np.bool_ or kind.shape != (2,):
        raise ModelFileError("the model file does not list the classes; save it again")
    if classes.ndim != 1 or classes.dtype.kind not in "biuf" or not np.isfinite(classes).all():
        raise ModelFileError("the classes of the model file are not a list; save it again")
    if kind[0]:
        classes = as_one_type(unpack_strings(classes))
    if classes.ndim != 1 or not len(classes) or len(np.unique(classes)) != len(classes):
        raise ModelFileError("the classes of the model file are not distinct; save it again")
    return classes, bool(kind[1])
