"""Documents of a stream with the ids of their labels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.schema import Array
from bayou.inference.lda import columns
from bayou.inference.lda.arrays import F32, F64, I32, I64


class LabelDocuments(NamedTuple):
    """Counts and label ids of documents, sparse; a document may have no label."""

    indptr: Annotated[I64, Array("docs+1", offsets="pairs")]
    terms: Annotated[I32, Array("pairs", below="terms")]
    counts: Annotated[F32, Array("pairs", le=2.0**24)]
    label_ptr: Annotated[I64, Array("docs+1", offsets="given")]
    label_ids: Annotated[I64, Array("given")]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1

    @staticmethod
    def none() -> LabelDocuments:
        """No document."""
        begin, ids = np.zeros(1, np.int64), np.zeros(0, np.int64)
        return LabelDocuments(begin, ids.astype(np.int32), np.zeros(0, np.float32), begin, ids)

    @staticmethod
    def make(counts: csr_array, labels: csr_array, ids: I64) -> LabelDocuments:
        """Documents from counts (documents, terms) and labels (documents, columns) with these ids."""
        given = ids[labels.indices].astype(np.int64)
        doc = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
        return LabelDocuments(
            counts.indptr.astype(np.int64),
            counts.indices.astype(np.int32),
            counts.data.astype(np.float32),
            labels.indptr.astype(np.int64),
            given[np.lexsort((given, doc))],  # the order of columns must not matter
        )

    def take(self, docs: I64) -> LabelDocuments:
        """Some of the documents, in the given order."""
        at, indptr = _rows(self.indptr, docs)
        of, label_ptr = _rows(self.label_ptr, docs)
        return LabelDocuments(
            indptr, self.terms[at], self.counts[at], label_ptr, self.label_ids[of]
        )

    def join(self, more: LabelDocuments) -> LabelDocuments:
        """These documents, then ``more``."""
        return LabelDocuments(
            np.concatenate([self.indptr, self.indptr[-1] + more.indptr[1:]]),
            np.concatenate([self.terms, more.terms]),
            np.concatenate([self.counts, more.counts]),
            np.concatenate([self.label_ptr, self.label_ptr[-1] + more.label_ptr[1:]]),
            np.concatenate([self.label_ids, more.label_ids]),
        )

    def move_terms(self, keep: I64, n_terms: int) -> LabelDocuments:
        """The documents without the terms that are not in ``keep``, of ``n_terms``."""
        ends, terms, here = columns.entries(self.indptr, self.terms, keep, n_terms)
        return self._replace(indptr=ends, terms=terms.astype(np.int32), counts=self.counts[here])

    def matrix(self, n_terms: int) -> csr_array:
        """Counts (documents, terms)."""
        return csr_array((self.counts, self.terms, self.indptr), shape=(self.n_docs, n_terms))

    def labels(self, ids: I64) -> csr_array:
        """Labels (documents, columns); ``ids`` are those of the columns, other labels are left out."""
        order = np.argsort(ids)
        at = np.searchsorted(ids[order], self.label_ids)
        at = order[np.minimum(at, max(len(ids) - 1, 0))] if len(ids) else at
        there = ids[at] == self.label_ids if len(ids) else np.zeros(len(at), bool)
        ptr = np.concatenate([[0], np.cumsum(there)])[self.label_ptr]
        ones = np.ones(int(ptr[-1]), np.int8)
        out = csr_array((ones, at[there].astype(np.int32), ptr), shape=(self.n_docs, len(ids)))
        out.sort_indices()
        return out

    def labelled_sizes(self) -> F64:
        """Tokens, labels and number of the documents that have labels."""
        has = np.diff(self.label_ptr) > 0
        every = np.concatenate([[0.0], np.cumsum(self.counts, dtype=np.float64)])
        words = np.diff(every[self.indptr])[has].sum()
        return np.array([words, len(self.label_ids), has.sum()], np.float64)


def _rows(ptr: I64, docs: I64) -> tuple[I64, I64]:
    """Where the entries of some rows of a sparse matrix are, and the new row pointers."""
    sizes = np.diff(ptr)[docs]
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    return np.repeat(ptr[docs] - ends[:-1], sizes) + np.arange(ends[-1]), ends
