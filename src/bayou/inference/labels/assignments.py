"""Labelled LDA: the labels that a document may use, and the counts of terms in labels.

Only (term, label) pairs that occur together in some document have a cell. So memory grows with the data, not
with labels times terms, and a sweep reads the labels of a document only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.memory import check_tokens
from bayou.inference.lda import documents
from bayou.inference.lda.arrays import F32, F64, I32, I64, Each
from bayou.inference.lda.documents import PairIndex, Pairs
from bayou.kernels.labels import sweep as label_sweep

CELL_COST = 4.0  # approximate nanoseconds per label of a pair


class LabelPrior(NamedTuple):
    """Priors of a label model, in the order in which kernels take them."""

    beta: F64  # of a term in each label
    vbeta: F64  # V beta, or the mass of given terms' prior
    gain: F64  # 1, or 0 for a label whose terms are given
    alpha: F64  # of each label in a document
    boost: float  # shared out among a document's labels on top of alpha
    greedy: bool  # labels of a document are equally likely


class LabelData(NamedTuple):
    """Documents that have labels, as kernels read them."""

    pairs: Pairs
    docs: I64  # their rows in the corpus
    token_ptr: I64
    label_ptr: I64
    label_ids: I32
    first: I64  # start of each document in slots
    slots: I32
    by_term: PairIndex
    cell_ptr: I64  # cells by term
    cell_labels: I32
    start: F32  # cells without any token
    n_labels: int
    times: I64  # counts of pairs as whole numbers

    @property
    def whole(self) -> tuple[NDArray[np.generic], ...]:
        """Arguments of samplers, with whole counts of pairs."""
        return self._with(self.times)

    @property
    def soft(self) -> tuple[NDArray[np.generic], ...]:
        """Arguments of CVB0, with any counts of pairs."""
        return self._with(self.pairs.counts)

    def _with(self, times: NDArray[np.generic]) -> tuple[NDArray[np.generic], ...]:
        return (
            self.pairs.indptr,
            times,
            self.token_ptr,
            self.label_ptr,
            self.label_ids,
            self.first,
            self.slots,
        )

    def term_label(self, cells: F32) -> csr_array:
        """Cells as a matrix (terms, labels)."""
        shape = (len(self.cell_ptr) - 1, self.n_labels)
        return csr_array((cells, self.cell_labels, self.cell_ptr), shape=shape)


def allowed_labels(indicator: csr_array, known: NDArray[np.bool_], n_free: int) -> csr_array:
    """The labels each document may use: its own and the free topics; all of them if none is known.

    Without free topics, a document without a label uses nothing.
    """
    n_docs, n_labels = indicator.shape
    n_all = n_labels + n_free
    own = np.diff(indicator.indptr)
    open_to_all = ~known if n_free else np.zeros(n_docs, bool)
    sizes = np.where(open_to_all, n_all, own + n_free)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    indices = np.empty(indptr[-1], np.int32)
    free = np.arange(n_labels, n_all, dtype=np.int32)
    if not n_free:
        indices[:] = indicator.indices
    else:
        for d in range(n_docs):
            mine = indicator.indices[indicator.indptr[d] : indicator.indptr[d + 1]]
            row = np.arange(n_all) if open_to_all[d] else np.concatenate([mine, free])
            indices[indptr[d] : indptr[d + 1]] = row
    return csr_array((np.ones(len(indices), np.float32), indices, indptr), shape=(n_docs, n_all))


def own_labels(indicator: csr_array) -> csr_array:
    """The labels of each document, without free topics."""
    return allowed_labels(indicator, np.ones(indicator.shape[0], bool), 0)


def prepare(counts: csr_array, labels: csr_array, given: csr_array | None = None) -> LabelData:
    """Lay out the documents that have labels; ``given`` (terms, labels) holds the first values of cells."""
    docs = np.flatnonzero(np.diff(labels.indptr) > 0)
    pairs = documents.select(documents.pairs_of(counts), docs)
    mine = csr_array(labels[docs])
    mine.sort_indices()
    n_terms = counts.shape[1]
    meet = csr_array(
        (np.ones(len(pairs.terms), np.float32), pairs.terms, pairs.indptr),
        shape=(len(docs), n_terms),
    )
    pattern = csr_array(meet.T @ mine.astype(np.float32))
    pattern.data[:] = 0.0
    if given is not None:
        pattern = _join_cells(pattern, given)
    pattern.sort_indices()
    by_term = documents.index_pairs(pairs, 0, len(docs), n_terms)
    n_each = np.diff(mine.indptr).astype(np.int64)
    first = np.zeros(len(docs) + 1, np.int64)
    np.cumsum(np.diff(pairs.indptr) * n_each, out=first[1:])
    slots = np.empty(first[-1], np.int32)
    label_ptr, label_ids = mine.indptr.astype(np.int64), mine.indices.astype(np.int32)
    cell_ptr, cell_labels = pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32)
    place = np.zeros(labels.shape[1], np.int32)
    label_sweep.fill_slots(
        slots, place, first, pairs.indptr, (label_ptr, label_ids), tuple(by_term),
        (cell_ptr, cell_labels), 0, len(by_term.terms),
    )  # fmt: skip
    times = np.rint(pairs.counts).astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(times)]).astype(np.int64)
    return LabelData(
        pairs, docs, ends[pairs.indptr], label_ptr, label_ids, first, slots,
        by_term, cell_ptr, cell_labels, pattern.data.astype(np.float32), labels.shape[1], times,
    )  # fmt: skip


def _join_cells(pattern: csr_array, given: csr_array) -> csr_array:
    """The cells of both, with the values of ``given``; zeros keep their cells."""
    coo, more = pattern.tocoo(), given.tocoo()
    n = pattern.shape[1]
    at = np.concatenate([more.row * np.int64(n) + more.col, coo.row * np.int64(n) + coo.col])
    values = np.concatenate([more.data, coo.data])
    cells, where = np.unique(at, return_index=True)
    indptr = np.searchsorted(cells, np.arange(pattern.shape[0] + 1, dtype=np.int64) * n)
    return csr_array((values[where], (cells % n).astype(np.int32), indptr), shape=pattern.shape)


class LabelChain(NamedTuple):
    """The state and counts of one Gibbs sampler."""

    z: I32  # place of each token's label among the labels of its document
    kept: F32  # sum of expected counts over kept sweeps
    cells: F32  # n_vy
    totals: F64  # n_y


def start_chain(data: LabelData, seed: int) -> I32:
    """Labels of tokens at random, as places among the labels of the document."""
    check_tokens(int(data.token_ptr[-1]))
    z = np.zeros(int(data.token_ptr[-1]), np.int32)
    label_sweep.start_labels(z, data.whole, seed)
    return z


def chain_counts(z: I32, kept: F32, data: LabelData, prior: LabelPrior) -> LabelChain:
    """Counts that follow from the labels of tokens."""
    cells, totals = data.start.copy(), np.zeros(data.n_labels)
    label_sweep.count_labels(cells, z, data.whole, prior.gain)
    label_sweep.label_totals(totals, cells, data.cell_labels)
    return LabelChain(z, kept, cells, totals)


def draw(
    chain: LabelChain, data: LabelData, prior: LabelPrior, seed: int, sweep: int, keep: bool
) -> None:
    """One Gibbs sweep, in place; a kept sweep adds to the expected counts."""
    kept = chain.kept if keep else chain.kept[:0]
    label_sweep.gibbs_labels(
        chain.z, data.whole, chain.cells, chain.totals, tuple(prior), kept, seed, sweep
    )


class SoftAssignments(NamedTuple):
    """The state and counts of CVB0, which uses no random numbers."""

    share: F32  # gamma of each (pair, label of the document)
    cells: F32
    totals: F64


def start_soft(data: LabelData, n_labels: int, seed: int, each: Each) -> F32:
    """The labels of a document equally likely for its tokens, free topics nearly so."""
    share = np.empty(int(data.first[-1]), np.float32)

    def work(lo: int, hi: int) -> None:
        label_sweep.start_shares(share, data.soft, n_labels, lo, hi, seed)

    each(work, data.first, CELL_COST)
    return share


def soft_counts(share: F32, data: LabelData, prior: LabelPrior, each: Each) -> SoftAssignments:
    """Expected counts that follow from the shares."""
    soft = SoftAssignments(share, data.start.copy(), np.zeros(data.n_labels))
    _count(soft, data, prior, each)
    return soft


def step_soft(soft: SoftAssignments, data: LabelData, prior: LabelPrior, each: Each) -> float:
    """One step of CVB0, in place; gives the mean probability per token that moved."""
    before, docs = soft.share.copy(), data.soft

    def work(lo: int, hi: int) -> None:
        label_sweep.cvb_docs(soft.share, docs, soft.cells, soft.totals, tuple(prior), lo, hi)

    each(work, data.first, CELL_COST)
    _count(soft, data, prior, each)
    moved = float(np.abs(soft.share - before).sum(dtype=np.float64))
    return 0.5 * moved / max(len(data.pairs.terms), 1)


def _count(soft: SoftAssignments, data: LabelData, prior: LabelPrior, each: Each) -> None:
    docs, by_term = data.soft, tuple(data.by_term)

    def work(lo: int, hi: int) -> None:
        label_sweep.cvb_terms(
            soft.cells, soft.share, docs, by_term, data.start, data.cell_ptr, prior.gain, lo, hi
        )

    each(work, data.by_term.termptr, 3.0 * CELL_COST)
    label_sweep.label_totals(soft.totals, soft.cells, data.cell_labels)
