"""Labels and terms of a stream that come and go: labels are added, removed, merged and split.

Every operation keeps the counts of all other labels. Shares are rescaled to the tokens that are left, and the
totals that shares stand for lose the tokens that are gone. Ids of labels are never used twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayou.inference.labels import cells as label_cells
from bayou.inference.labels.state import LABELS, WORDS, LabelStreamState, birth_correction, factors
from bayou.inference.lda import columns
from bayou.inference.lda.arrays import F64, I64
from bayou.kernels.rng import GOLDEN, LABEL_SPLIT, key, unit


def add_labels(
    state: LabelStreamState, fresh: I64, names: Mapping[int, Any] | None = None
) -> LabelStreamState:
    """Columns for the labels with ids ``fresh``; columns stay in order, see `sort_labels`."""
    if not len(fresh):
        return state
    source = np.concatenate([np.arange(state.n_labels), np.full(len(fresh), -1)])
    return sort_labels(arrange_labels(state, source, fresh), names)


def sort_labels(state: LabelStreamState, names: Mapping[int, Any] | None) -> LabelStreamState:
    """Columns in the order of ids, which is that of arrival; in the order of ``names`` if given."""
    by = state.ids if names is None else [names[i] for i in state.ids.tolist()]
    order = np.argsort(by)
    same = (order == np.arange(len(order))).all()
    return state if same else arrange_labels(state, order)


def arrange_labels(
    state: LabelStreamState, source: I64, fresh: I64 | None = None
) -> LabelStreamState:
    """Columns in another order: column i was column ``source[i]``, or is new where that is -1.

    ``fresh`` are the ids of the new ones. Default: the next ids.
    """
    known = source >= 0
    if fresh is None:
        fresh = state.next_id + np.arange(int((~known).sum()))
    place = np.full(state.n_labels, -1, np.int64)
    place[source[known]] = np.flatnonzero(known)
    cells = label_cells.regroup_labels(state.cells, place, len(source))
    ids = np.empty(len(source), np.int64)
    ids[known], ids[~known] = state.ids[source[known]], fresh
    tables = state.tables
    if len(tables) or state.n_labels == 0:
        tables = _move_values(
            state.tables if len(tables) else np.zeros(state.n_labels), source, 0.0
        )
    return state.with_cells(cells, state.scale)._replace(
        ids=ids, next_id=max(state.next_id, int(fresh.max(initial=-1)) + 1),
        left=np.stack([_move_values(row, source, 1.0) for row in state.left]),
        shares=_move_values(state.shares, source, 0.0), tables=tables,
        topics=np.stack([_move_values(one, source, 0.0) for one in state.topics]),
    )  # fmt: skip


def _move_values(values: F64, source: I64, fresh: float) -> F64:
    out = np.full((len(source), *values.shape[1:]), fresh)
    known = source >= 0
    out[known] = values[source[known]]
    return out


def remove_labels(state: LabelStreamState, gone: I64) -> LabelStreamState:
    """The state without some labels; their tokens and label tokens leave the totals [C_w, C_l]."""
    keep = np.setdiff1d(np.arange(state.n_labels), gone)
    words = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    rest = np.array([_rest(words, keep), _rest(state.shares, keep), 1.0])
    return arrange_labels(rescale_rest(state, rest), keep)


def _rest(shares: F64, keep: I64) -> float:
    """Share of the labels that stay; 1 if there is nothing to rescale."""
    rest = float(shares[keep].sum() / max(shares.sum(), 1e-300))
    return rest if rest > 0.0 else 1.0


def rescale_rest(state: LabelStreamState, rest: F64) -> LabelStreamState:
    """Shares of the tokens that are left, and smaller totals, so that their products stay."""
    return state._replace(
        scale=state.scale / rest[WORDS], doubt=state.doubt / rest,
        lengths=state.lengths * rest[:2], shares=state.shares / rest[LABELS],
        topics=state.topics / rest[LABELS],
    )  # fmt: skip


def merge_labels(state: LabelStreamState, parts: I64, fresh: bool) -> LabelStreamState:
    """Several labels become the first of them, with the counts of all; ``fresh`` gives it a new id."""
    first, others, left = int(parts[0]), parts[1:], state.left.copy()
    words = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    tilt = np.ones((2, state.n_labels))  # labels of different ages have different corrections
    for row, mass in ((WORDS, words), (LABELS, state.shares)):
        left[row, first] = _joint_remainder(state.left[row, parts], mass[parts])
        tilt[row, parts] = birth_correction(state.left[row, parts]) / birth_correction(
            left[row, [first]]
        )
    place = np.arange(state.n_labels)
    place[others] = first
    raw = (state.raw * tilt[WORDS, state.cell_labels]).astype(np.float32)
    cells = label_cells.regroup_labels(state.cells._replace(raw=raw), place, state.n_labels)
    ids = state.ids.copy()
    if fresh:
        ids[first] = state.next_id
    joined = state.with_cells(cells, state.scale)._replace(
        left=left, ids=ids, next_id=state.next_id + int(fresh),
        shares=_add_parts(tilt[LABELS] * state.shares, parts),
        topics=np.stack([_add_parts(tilt[LABELS][:, None] * one, parts) for one in state.topics]),
        tables=_add_parts(tilt[WORDS] * state.tables, parts) if len(state.tables) else state.tables,
    )  # fmt: skip
    return arrange_labels(joined, np.setdiff1d(np.arange(state.n_labels), others))


def _joint_remainder(left: F64, mass: F64) -> float:
    """The value of `left` for which corrected counts add up: sum m / (1 - left) over the parts."""
    corrected = float((birth_correction(left) * mass).sum())
    return 1.0 - float(mass.sum()) / corrected if corrected > 0.0 else float(left.min())


def _add_parts(values: F64, parts: I64) -> F64:
    out = values.copy()
    out[parts[0]] = values[parts].sum(axis=0)
    out[parts[1:]] = 0.0
    return out


def split_label(
    state: LabelStreamState, label: int, n_parts: int, noise: float, seed: int
) -> LabelStreamState:
    """One label becomes several, behind the other labels, that share its counts nearly equally.

    Every cell of part i gets (1 + e_i) / sum_j (1 + e_j) of the count, e uniform between -noise and noise.
    Without noise the parts would stay equal.
    """
    n, fresh = state.n_labels, state.next_id + np.arange(n_parts)
    cells = state.cells
    rows = np.repeat(np.arange(len(cells.ptr) - 1), np.diff(cells.ptr))
    mine = np.flatnonzero(cells.labels == label)
    parts = _draw_shares(rows[mine], fresh, noise, seed)
    grown = arrange_labels(state, np.concatenate([np.arange(n), np.full(n_parts, -1)]))
    labels = np.concatenate([cells.labels, *(np.full(len(mine), n + i) for i in range(n_parts))])
    values = np.concatenate([cells.raw, *(cells.raw[mine] * parts[:, i] for i in range(n_parts))])
    order = np.lexsort((labels, np.concatenate([rows, np.tile(rows[mine], n_parts)])))
    size = np.diff(cells.ptr) + n_parts * np.bincount(rows[mine], minlength=len(cells.ptr) - 1)
    ptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(size)])
    wide = label_cells.Cells(ptr, labels[order].astype(np.int32), values[order].astype(np.float32))
    even, left = np.full(n_parts, 1.0 / n_parts), grown.left.copy()
    shares, tables, topics = grown.shares.copy(), grown.tables.copy(), grown.topics.copy()
    left[:, n:] = left[:, [label]]
    shares[n:] = even * shares[label]
    tables[n:] = even[: len(tables[n:])] * (tables[label] if len(tables) else 0.0)
    topics[:, n:] = topics[:, [label]] / n_parts
    out = grown.with_cells(wide, state.scale)._replace(
        left=left, shares=shares, tables=tables, topics=topics
    )
    shares[label] = 0.0
    whole = np.setdiff1d(np.arange(n + n_parts), [label])
    return arrange_labels(out, whole)


def _draw_shares(items: I64, ids: I64, noise: float, seed: int) -> F64:
    """Nearly equal shares of every item, which sum to one (items x parts)."""
    out = np.empty((len(items), len(ids)))
    for i, part in enumerate(ids.tolist()):
        at = np.uint64(key(seed, LABEL_SPLIT, part, 0))
        with np.errstate(over="ignore"):
            out[:, i] = [unit(at + np.uint64(v + 1) * GOLDEN) for v in items.tolist()]
    out = 1.0 + noise * (2.0 * out - 1.0)
    return np.asarray(out / out.sum(axis=1, keepdims=True), np.float64)


# -- terms -------------------------------------------------------------------------------------


def dropped_tokens(state: LabelStreamState, keep: I64, n_docs: float | None) -> float:
    """Tokens of the terms that are not in ``keep``."""
    shares = _shares_of(state, columns.others(keep, state.n_terms))
    return float((factors(state, WORDS, n_docs) * shares).sum())


def _shares_of(state: LabelStreamState, terms: I64) -> F64:
    """Share of all tokens that some terms have in each label."""
    some = label_cells.move_terms(state.cells, terms, 0)
    return state.scale * label_cells.column_totals(some, state.n_labels)


def move_terms(state: LabelStreamState, keep: I64, n_new: int) -> tuple[LabelStreamState, float]:
    """Terms ``keep``, then ``n_new`` without counts; and the tokens of the other terms."""
    tokens = dropped_tokens(state, keep, None)
    before = state.scale * label_cells.column_totals(state.cells, state.n_labels)
    gone = columns.others(keep, state.n_terms)
    left = float((before - _shares_of(state, gone)).sum())
    cells = label_cells.move_terms(state.cells, keep, n_new)
    if np.diff(state.cell_ptr)[gone].any() and len(cells.raw) and left > 0.0:
        state = rescale_rest(state, np.array([left / before.sum(), 1.0, 1.0]))
    sizes = state.sizes
    if sizes.shape[1]:
        sizes = np.ascontiguousarray(columns.move_rows(sizes.T, keep, n_new).T)
    return state.with_cells(cells, state.scale)._replace(sizes=sizes), tokens
