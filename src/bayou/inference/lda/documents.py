"""Documents as distinct (document, term) pairs or as tokens, and indexes that group them by term."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.memory import check_tokens
from bayou.data.schema import Array
from bayou.inference.lda.arrays import F32, I32, I64, U32, U64
from bayou.kernels.lda import em, fixed_sweep


class Pairs(NamedTuple):
    """Distinct (document, term) pairs in document order: a CSR matrix as three plain arrays."""

    indptr: Annotated[I64, Array("docs+1", offsets="pairs")]
    terms: Annotated[I32, Array("pairs", below="terms")]
    counts: Annotated[F32, Array("pairs", le=2.0**24)]

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1

    @property
    def n_tokens(self) -> float:
        """Sum of all counts."""
        return float(self.counts.sum(dtype=np.float64))

    @staticmethod
    def none() -> Pairs:
        """No document."""
        return Pairs(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))

    def take(self, docs: I64) -> Pairs:
        """Some of the documents, in the given order."""
        return select(self, docs)

    def join(self, more: Pairs) -> Pairs:
        """These documents, then ``more``."""
        indptr = np.concatenate([self.indptr, self.indptr[-1] + more.indptr[1:]])
        terms, counts = (np.concatenate(both) for both in zip(self[1:], more[1:], strict=True))
        return Pairs(indptr, terms, counts)

    def move_terms(self, keep: I64, n_terms: int) -> Pairs:
        """The documents without the terms that are not in ``keep``, of ``n_terms``."""
        place = np.full(n_terms, -1, np.int32)
        place[keep] = np.arange(len(keep), dtype=np.int32)
        stays = place[self.terms] >= 0
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(stays)])
        moved = Pairs(ends[self.indptr], place[self.terms[stays]], self.counts[stays])
        return pairs_of(
            csr_array((moved.counts, moved.terms, moved.indptr), (self.n_docs, len(keep)))
        )


class Tokens(NamedTuple):
    """Tokens in document order."""

    indptr: I64
    terms: U32

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.indptr) - 1


class PairIndex(NamedTuple):
    """Pairs of consecutive documents grouped by term: (row of the document, position of the pair)."""

    terms: I32
    termptr: I64
    rows: I32
    at: I32


class TokenIndex(NamedTuple):
    """Tokens grouped by term: the positions of each term's tokens."""

    terms: I32
    termptr: I64
    at: I32


def pairs_of(counts: csr_array) -> Pairs:
    """View a canonical CSR matrix of counts as pairs."""
    return Pairs(
        np.ascontiguousarray(counts.indptr, np.int64),
        np.ascontiguousarray(counts.indices, np.int32),
        np.ascontiguousarray(counts.data, np.float32),
    )


def tokens_of(pairs: Pairs) -> Tokens:
    """Tokens of whole counts: each term is repeated as often as it counts."""
    times = np.rint(pairs.counts).astype(np.int64)
    check_tokens(int(times.sum()))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])
    return Tokens(ends[pairs.indptr], np.repeat(pairs.terms.astype(np.uint32), times))


def _distinct(terms: I32 | U32, n_terms: int) -> tuple[I32, I64]:
    """The distinct terms, and the offsets of their groups."""
    tally = np.bincount(terms, minlength=n_terms)
    distinct = np.flatnonzero(tally).astype(np.int32)
    termptr = np.zeros(len(distinct) + 1, np.int64)
    np.cumsum(tally[distinct], out=termptr[1:])
    return distinct, termptr


def index_pairs(pairs: Pairs, lo: int, hi: int, n_terms: int) -> PairIndex:
    """Group the pairs of documents lo .. hi by term, in document order within a term."""
    mine = pairs.terms[pairs.indptr[lo] : pairs.indptr[hi]]
    terms, termptr = _distinct(mine, n_terms)
    slot = np.zeros(n_terms, np.int32)
    slot[terms] = np.arange(len(terms), dtype=np.int32)
    rows, at = np.empty(len(mine), np.int32), np.empty(len(mine), np.int32)
    em.group_by_term(termptr, rows, at, slot, tuple(pairs), lo, hi)
    return PairIndex(terms, termptr, rows, at)


def index_tokens(tokens: Tokens, n_terms: int) -> TokenIndex:
    """Group tokens by term, in document order within a term."""
    terms, termptr = _distinct(tokens.terms, n_terms)
    at, cursor = np.empty(len(tokens.terms), np.int32), np.zeros(n_terms, np.int64)
    cursor[terms] = termptr[:-1]
    em.place_tokens(at, cursor, tokens.terms)
    return TokenIndex(terms, termptr, at)


def select(pairs: Pairs, docs: I64) -> Pairs:
    """The pairs of some documents, in the order given."""
    sizes = np.diff(pairs.indptr)[docs]
    indptr = np.zeros(len(docs) + 1, np.int64)
    np.cumsum(sizes, out=indptr[1:])
    take = np.repeat(pairs.indptr[docs] - indptr[:-1], sizes) + np.arange(indptr[-1])
    return Pairs(indptr, pairs.terms[take], pairs.counts[take])


def content_ids(pairs: Pairs) -> U64:
    """A hash of the terms and counts of each document."""
    out = np.empty(pairs.n_docs, np.uint64)
    fixed_sweep.content_ids(out, tuple(pairs), 0, pairs.n_docs)
    return out
