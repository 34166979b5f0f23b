"""Terms that come and go while labels are learned from a stream.

As with labels (`labels.open_set`), the counts of what stays are as they were: shares are of the tokens that
are left, and the total that they stand for loses those of the terms that are let go.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.labels import cells as label_cells
from bayou.inference.labels.documents import Documents
from bayou.inference.labels.open_set import rescale_rest
from bayou.inference.labels.state import WORDS, LabelStreamState, factors
from bayou.inference.lda import columns
from bayou.inference.lda.arrays import I64


def change_terms(
    state: LabelStreamState, keep: I64, n_new: int, n_docs: float | None
) -> tuple[LabelStreamState, float]:
    """Terms ``keep``, then ``n_new`` that met no label; and the tokens that the others had.

    ``n_docs`` are the documents that shares stand for, as in `state.LabelStreamSettings`.
    """
    before = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    gone = columns.others(keep, len(state.cell_ptr) - 1)
    lost = label_cells.move_terms(state.cells, gone, 0)
    shares = state.scale * label_cells.column_totals(lost, state.n_labels)
    tokens = float((factors(state, WORDS, n_docs) * shares).sum())
    cells = label_cells.move_terms(state.cells, keep, n_new)
    left = float((before - shares).sum())
    if len(lost.raw) and len(cells.raw) and left > 0.0:
        state = rescale_rest(state, np.array([left / before.sum(), 1.0, 1.0]))
    sizes = state.sizes
    if sizes.shape[1]:
        sizes = np.ascontiguousarray(columns.move_rows(sizes.T, keep, n_new).T)
    return state.with_cells(cells, state.scale)._replace(sizes=sizes), tokens


def move_document_terms(waiting: Documents, keep: I64, n_terms: int) -> Documents:
    """Documents that wait, without the terms that are let go."""
    ends, terms, here = columns.entries(waiting.indptr, waiting.terms, keep, n_terms)
    return waiting._replace(indptr=ends, terms=terms.astype(np.int32), counts=waiting.counts[here])
