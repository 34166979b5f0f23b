"""Sparse counts of terms in labels, and the tokens of documents shared out among their own labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda.arrays import F32, F64, I32, I64, Each
from bayou.inference.lda.documents import PairIndex, Pairs, index_pairs
from bayou.kernels.labels import stream as kernels

_DOC_TAU, _DOC_KAPPA = 10.0, 0.9  # step sizes within a document
_CELL = 20.0  # approximate nanoseconds per entry


class Cells(NamedTuple):
    """One number per (term, label) pair that occurred: a CSR matrix as three plain arrays."""

    ptr: I64  # terms + 1
    labels: I32  # increasing within a term
    raw: F32


class LabelBatch(NamedTuple):
    """Documents with labels."""

    pairs: Pairs
    label_ptr: I64
    labels: I32  # columns

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.label_ptr) - 1


class EntryLayout(NamedTuple):
    """A batch and its entries, one per (document, term, label of the document)."""

    batch: LabelBatch
    by_term: PairIndex
    entryptr: I64  # pairs + 1
    entry_labels: I32
    n_labels: int

    @property
    def own(self) -> tuple[I64, I32]:
        """The documents' labels as kernels take them."""
        return self.batch.label_ptr, self.batch.labels

    def empty(self) -> F32:
        """One zero per entry."""
        return np.zeros(self.entryptr[-1], np.float32)


class SharingSettings(NamedTuple):
    """How the tokens of a document are shared out among its labels."""

    sampled: bool  # Gibbs sampling instead of expected tokens
    burn_in: int = 0
    n_samples: int = 1


def no_cells(n_terms: int) -> Cells:
    """No counts."""
    return Cells(np.zeros(n_terms + 1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))


def make_batch(counts: csr_array, labels: csr_array, *, whole: bool) -> LabelBatch:
    """The documents that have labels; ``whole`` rounds the counts."""
    docs = np.flatnonzero(np.diff(labels.indptr) > 0)
    counts, labels = csr_array(counts[docs]), csr_array(labels[docs])
    labels.sort_indices()
    data = counts.data.astype(np.float32)
    pairs = Pairs(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32),
        np.rint(data) if whole else data,
    )
    return LabelBatch(pairs, labels.indptr.astype(np.int64), labels.indices.astype(np.int32))


def lay_out(batch: LabelBatch, n_terms: int, n_labels: int) -> EntryLayout:
    """Entries in the order of pairs, and within a pair in that of the document's labels."""
    per_doc = np.diff(batch.label_ptr)
    doc_of = np.repeat(np.arange(batch.n_docs), np.diff(batch.pairs.indptr))
    width = per_doc[doc_of]
    entryptr = np.zeros(len(width) + 1, np.int64)
    np.cumsum(width, out=entryptr[1:])
    start = np.repeat(batch.label_ptr[doc_of] - entryptr[:-1], width)
    labels = batch.labels[start + np.arange(entryptr[-1])]
    index = index_pairs(batch.pairs, 0, batch.n_docs, n_terms)
    return EntryLayout(batch, index, entryptr, labels, n_labels)


def gather_entries(cells: Cells, lay: EntryLayout, each: Each) -> F32:
    """The count n_vy of every entry's cell."""
    out, by_term, plain = lay.empty(), tuple(lay.by_term), tuple(cells)

    def work(lo: int, hi: int) -> None:
        kernels.gather_terms(out, by_term, lo, hi, plain, lay.own, lay.entryptr, lay.n_labels)

    each(work, lay.by_term.termptr, _CELL)
    return out


def pool_entries(entry: F32, lay: EntryLayout, each: Each) -> F32:
    """The batch's own sum of all entries of the same term and label."""
    out, by_term = lay.empty(), tuple(lay.by_term)

    def work(lo: int, hi: int) -> None:
        kernels.pool_terms(out, by_term, lo, hi, entry, lay.own, lay.entryptr, lay.n_labels)

    each(work, lay.by_term.termptr, _CELL)
    return out


def label_sums(entry: F32, lay: EntryLayout) -> F64:
    """Tokens of each label in the batch."""
    return np.bincount(lay.entry_labels, entry, lay.n_labels).astype(np.float64)


def weigh_entries(
    known: tuple[F32, F32], mix: tuple[float, float], factor: F64, totals: F64, beta: float,
    lay: EntryLayout, n_terms: int, each: Each,
) -> F32:  # fmt: skip
    """phi_vy of every entry: N_vy = factor_y (mix[0] known[0] + mix[1] known[1]), N_y = factor_y totals_y."""
    weight = lay.empty()
    inverse = (1.0 / (factor * totals + n_terms * beta)).astype(np.float32)
    prior = (factor.astype(np.float32), np.float32(beta), inverse)
    blend = (np.float32(mix[0]), np.float32(mix[1]))
    pairs, (old, fresh) = tuple(lay.batch.pairs), known

    def work(lo: int, hi: int) -> None:
        kernels.weigh_docs(weight, pairs, lo, hi, old, fresh, lay.own, lay.entryptr, blend, prior)

    each(work, lay.batch.pairs.indptr, _CELL)
    return weight


def share_tokens(
    weight: F32, lay: EntryLayout, prior: F32, p: SharingSettings, keys: tuple[int, int], each: Each
) -> tuple[F32, F32]:
    """Tokens of each entry, expected or sampled; and tokens of documents' labels in each kept sweep.

    ``prior`` has one number per label, or no entries where the labels of a document are equally likely.
    """
    entry, pairs = lay.empty(), tuple(lay.batch.pairs)
    held = np.zeros((p.n_samples if p.sampled else 0, len(lay.batch.labels)), np.float32)
    n_passes = p.burn_in + p.n_samples

    def greedy(lo: int, hi: int) -> None:
        kernels.share_docs(entry, pairs, lo, hi, weight, lay.own, lay.entryptr)

    def smooth(lo: int, hi: int) -> None:
        rate = (n_passes, _DOC_TAU, _DOC_KAPPA)
        kernels.pass_docs(entry, pairs, lo, hi, weight, lay.own, lay.entryptr, prior, rate)

    def sample(lo: int, hi: int) -> None:
        n_sweeps = (p.burn_in, p.n_samples)
        kernels.sample_docs(
            entry, held, pairs, lo, hi, weight, lay.own, lay.entryptr, prior, n_sweeps, keys
        )

    work = sample if p.sampled else smooth if len(prior) else greedy
    each(work, lay.batch.pairs.indptr, _CELL * (1 if work is greedy else 5 * n_passes))
    return entry, held


def merge_entries(cells: Cells, entry: F32, lay: EntryLayout, gain: float, each: Each) -> Cells:
    """The cells plus ``gain`` times the entries of the batch; pairs that are new get a cell."""
    n_terms, by_term = len(cells.ptr) - 1, tuple(lay.by_term)
    slot = np.full(n_terms, -1, np.int64)
    slot[lay.by_term.terms] = np.arange(len(lay.by_term.terms))
    size, every, plain = np.zeros(n_terms, np.int64), np.arange(n_terms + 1), tuple(cells)

    def measure(lo: int, hi: int) -> None:
        kernels.merge_sizes(size, slot, by_term, lo, hi, plain, lay.own, lay.n_labels)

    each(measure, every, _CELL)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    out = (ends, np.empty(ends[-1], np.int32), np.empty(ends[-1], np.float32))
    g32 = np.float32(gain)

    def merge(lo: int, hi: int) -> None:
        kernels.merge_terms(
            out, slot, by_term, lo, hi, plain, entry, lay.own, lay.entryptr, g32, lay.n_labels
        )

    each(merge, every, 5.0 * _CELL)
    return Cells(*out)


def column_totals(cells: Cells, n_labels: int) -> F64:
    """Sum of each label's cells, in double precision."""
    out = np.zeros(n_labels)
    kernels.label_sums(out, cells.labels, cells.raw)
    return out


def select_terms(cells: Cells, terms: I64) -> Cells:
    """The cells of some terms; the others have none."""
    size = np.zeros(len(cells.ptr) - 1, np.int64)
    size[terms] = np.diff(cells.ptr)[terms]
    return _take(cells, cells.ptr[:-1], size)


def move_terms(cells: Cells, keep: I64, n_new: int) -> Cells:
    """The cells of terms ``keep`` in that order, then ``n_new`` terms without counts."""
    none = np.zeros(n_new, np.int64)
    size = np.concatenate([np.diff(cells.ptr)[keep], none])
    return _take(cells, np.concatenate([cells.ptr[keep], none]), size)


def _take(cells: Cells, begin: I64, size: I64) -> Cells:
    """Rows of cells that start at ``begin`` and have ``size`` entries."""
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    take = np.repeat(begin - ptr[:-1], size) + np.arange(ptr[-1])
    return Cells(ptr, cells.labels[take], cells.raw[take])


def regroup_labels(cells: Cells, place: I64, n_labels: int) -> Cells:
    """Cells of label y moved to label ``place[y]``, added where they meet; -1 drops them."""
    to = place[cells.labels]
    keep = to >= 0
    rows = np.repeat(np.arange(len(cells.ptr) - 1), np.diff(cells.ptr))[keep]
    at = rows * np.int64(max(n_labels, 1)) + to[keep]
    found, where = np.unique(at, return_inverse=True)
    raw = np.bincount(where, cells.raw[keep], len(found)).astype(np.float32)
    ptr = np.searchsorted(found, np.arange(len(cells.ptr)) * np.int64(max(n_labels, 1)))
    return Cells(ptr.astype(np.int64), (found % max(n_labels, 1)).astype(np.int32), raw)
