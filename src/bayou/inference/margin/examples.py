"""Documents with responses: sparse rows, one column of responses per task, and the cost of each document."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.schema import Array
from bayou.inference.lda.arrays import F64, I64, U64
from bayou.inference.lda.columns import entries
from bayou.kernels.margin import passive_aggressive as kernels

I8 = NDArray[np.int8]
_MOST = float(np.finfo(np.float64).max)  # NaN is a response that is not known; infinity is refused


class Examples(NamedTuple):
    """Documents to learn from."""

    indptr: Annotated[I64, Array("docs+1", offsets="entries")]
    indices: Annotated[I64, Array("entries", below="terms")]
    data: Annotated[F64, Array("entries", ge=None)]
    # documents x tasks: float64 numbers, NaN where not known; or int8 signs, 0 where not known
    y: Annotated[I8 | F64, Array("docs", "tasks", ge=-_MOST, le=_MOST, finite=False)]
    costs: Annotated[F64, Array("docs")]  # c times the weight of the document

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.costs)

    @property
    def has_valid_signs(self) -> bool:
        """Whether responses are numbers, or signs of -1, 0 and +1."""
        return self.y.dtype != np.int8 or int(np.abs(self.y.astype(np.int16)).max(initial=0)) <= 1

    @staticmethod
    def none() -> Examples:
        """No document and no task."""
        return no_examples(np.zeros((0, 0), np.int8))

    def take(self, docs: I64) -> Examples:
        """Some of the documents, in the given order."""
        starts = self.indptr[docs]
        sizes = self.indptr[docs + 1] - starts
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        at = np.repeat(starts - indptr[:-1], sizes) + np.arange(indptr[-1])
        y: Any = np.ascontiguousarray(self.y[docs])
        return Examples(indptr, self.indices[at], self.data[at], y, self.costs[docs])

    def join(self, more: Examples) -> Examples:
        """These documents, then ``more``."""
        if not self.n_docs:
            return more
        indptr = np.concatenate([self.indptr, self.indptr[-1] + more.indptr[1:]])
        rest: Any = (np.concatenate(both) for both in zip(self[1:], more[1:], strict=True))
        return Examples(indptr, *rest)

    def move_terms(self, keep: I64, n_terms: int) -> Examples:
        """The documents without the columns that are not in ``keep``, of ``n_terms``."""
        ends, terms, here = entries(self.indptr, self.indices, keep, n_terms)
        return self._replace(indptr=ends, indices=terms, data=self.data[here])

    def regroup(self, source: NDArray[np.intp], sign: F64) -> Examples:
        """Tasks made of earlier ones: task i was task ``source[i]``, times ``sign[i]``."""
        y: Any = np.ascontiguousarray(self.y[:, source] * sign.astype(np.int8))
        return self._replace(y=y)


def examples_of(rows: csr_array, y: NDArray[Any], costs: F64) -> Examples:
    """Sparse rows with responses."""
    parts = (rows.indptr.astype(np.int64), rows.indices.astype(np.int64))
    return Examples(*parts, rows.data.astype(np.float64), y, costs)


def no_examples(y: NDArray[Any]) -> Examples:
    """No documents, with responses of the type of ``y``."""
    none, nowhere = np.zeros(0), np.zeros(0, np.int64)
    return Examples(np.zeros(1, np.int64), nowhere, none, y[:0].copy(), none)


def select_informative(examples: Examples) -> Examples:
    """The documents with some response and a cost above zero."""
    y = examples.y
    known = (y != 0) if y.dtype == np.int8 else ~np.isnan(y)
    keep = np.flatnonzero((examples.costs > 0.0) & known.any(axis=1))
    return examples if len(keep) == examples.n_docs else examples.take(keep)


def merge_equal(examples: Examples) -> tuple[Examples, U64]:
    """Equal documents as one with the sum of their costs, and a hash of the content of each.

    So a document of weight two is the same as the document twice, wherever the other one stands.
    """
    content = np.empty(examples.n_docs, np.uint64)
    rows = (examples.indptr, examples.indices, examples.data.view(np.uint64))
    y = examples.y
    if y.dtype != np.int8:
        y = np.where(np.isnan(y), np.nan, y).view(np.uint64)  # type: ignore[assignment]  # one NaN of many
    kernels.content_into(content, rows, y)
    found, first, group = np.unique(content, return_index=True, return_inverse=True)
    costs = np.bincount(group, examples.costs, len(found)).astype(np.float64)
    return examples.take(first)._replace(costs=costs), found


def keyed_order(content: U64, seed: int, n: int) -> I64:
    """The order of pass n. It depends on the content of the documents, not on their positions."""
    keys = np.empty(len(content), np.uint64)
    kernels.keys_into(keys, content, seed, n)
    return np.argsort(keys, kind="stable")
