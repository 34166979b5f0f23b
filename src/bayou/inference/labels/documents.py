"""Documents of a stream with the numbers of their labels, and those that wait for their batch to be full."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F32, F64, I32, I64


class Documents(NamedTuple):
    """Counts and labels of documents, sparse; a document may have no label."""

    indptr: I64
    terms: I32
    counts: F32
    label_ptr: I64
    label_ids: I64

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1

    def matrix(self, n_terms: int) -> csr_array:
        """Counts (documents, terms)."""
        return csr_array((self.counts, self.terms, self.indptr), shape=(self.n_docs, n_terms))

    def labels(self, ids: I64) -> csr_array:
        """Labels (documents, columns), ``ids`` the numbers of the columns; other labels are left out."""
        order = np.argsort(ids)
        at = np.searchsorted(ids[order], self.label_ids)
        at = order[np.minimum(at, max(len(ids) - 1, 0))] if len(ids) else at
        there = ids[at] == self.label_ids if len(ids) else np.zeros(len(at), bool)
        ptr = np.concatenate([[0], np.cumsum(there)])[self.label_ptr]
        ones = np.ones(int(ptr[-1]), np.int8)
        out = csr_array((ones, at[there].astype(np.int32), ptr), shape=(self.n_docs, len(ids)))
        out.sort_indices()
        return out


def make(counts: csr_array, labels: csr_array, ids: I64) -> Documents:
    """From counts (documents, terms) and labels (documents, columns) with these numbers."""
    given = ids[labels.indices].astype(np.int64)
    doc = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    return Documents(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        counts.data.astype(np.float32),
        labels.indptr.astype(np.int64),
        given[np.lexsort((given, doc))],  # whichever columns they stood in
    )


def labelled_sizes(documents: Documents) -> F64:
    """Tokens, labels and number of the documents that have labels."""
    has = np.diff(documents.label_ptr) > 0
    every = np.concatenate([[0.0], np.cumsum(documents.counts, dtype=np.float64)])
    words = np.diff(every[documents.indptr])[has].sum()
    return np.array([words, len(documents.label_ids), has.sum()], np.float64)


def none() -> Documents:
    """No documents."""
    begin, nowhere = np.zeros(1, np.int64), np.zeros(0, np.int64)
    return Documents(begin, nowhere.astype(np.int32), np.zeros(0, np.float32), begin, nowhere)


def _rows(ptr: I64, docs: I64) -> tuple[I64, I64]:
    """Where rows of a sparse matrix are, and their new bounds."""
    sizes = np.diff(ptr)[docs]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return np.repeat(ptr[docs] - ends[:-1], sizes) + np.arange(ends[-1]), ends


def take(documents: Documents, docs: NDArray[np.intp]) -> Documents:
    """Some of the documents, in this order."""
    at, indptr = _rows(documents.indptr, docs)
    of, label_ptr = _rows(documents.label_ptr, docs)
    return Documents(
        indptr, documents.terms[at], documents.counts[at], label_ptr, documents.label_ids[of]
    )


def join(first: Documents, second: Documents) -> Documents:
    """One collection behind the other."""
    return Documents(
        np.concatenate([first.indptr, first.indptr[-1] + second.indptr[1:]]),
        np.concatenate([first.terms, second.terms]),
        np.concatenate([first.counts, second.counts]),
        np.concatenate([first.label_ptr, first.label_ptr[-1] + second.label_ptr[1:]]),
        np.concatenate([first.label_ids, second.label_ids]),
    )


def sound(documents: Documents, n_terms: int, next_id: int) -> bool:
    """Whether documents that were read have the shapes that kernels rely on."""
    kinds = (np.int64, np.int32, np.float32, np.int64, np.int64)
    for array, dtype in zip(documents, kinds, strict=True):
        if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
            return False
    return (
        _bounds(documents.indptr, len(documents.terms))
        and _bounds(documents.label_ptr, len(documents.label_ids))
        and len(documents.indptr) == len(documents.label_ptr)
        and len(documents.counts) == len(documents.terms)
        and _inside(documents.terms, n_terms)
        and _inside(documents.label_ids, next_id)
        and bool(np.isfinite(documents.counts).all() and (documents.counts >= 0).all())
    )


def _bounds(ptr: I64, n: int) -> bool:
    return bool(len(ptr) and ptr[0] == 0 and ptr[-1] == n and (np.diff(ptr) >= 0).all())


def _inside(values: NDArray[np.integer], n: int) -> bool:
    return not len(values) or bool(values.min() >= 0 and values.max() < n)
