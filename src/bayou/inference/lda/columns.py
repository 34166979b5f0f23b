"""Counts of an online model when its vocabulary changes.

A new term has the prior only. The counts of a dropped term are taken out of the totals, so that the topics
stay distributions over the remaining terms.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F32, F64, I64, topic_totals


def move_rows(rows: NDArray[Any], keep: I64, n_new: int, fill: float = 0.0) -> NDArray[Any]:
    """One row per term: the rows ``keep``, then ``n_new`` rows of ``fill``."""
    new = np.full((n_new, *rows.shape[1:]), fill, rows.dtype)
    return np.ascontiguousarray(np.concatenate([rows[keep], new]))


def others(keep: I64, n_terms: int) -> I64:
    """The terms that are dropped."""
    gone = np.ones(n_terms, np.bool_)
    gone[keep] = False
    return np.flatnonzero(gone)


def counts_of(raw: NDArray[Any], scale: float, gone: I64) -> F64:
    """Tokens of some terms per topic, where n_vk is ``scale`` x ``raw``."""
    return np.asarray(scale * topic_totals(raw[gone]), np.float64)


def move_counts(
    raw: F32, scale: float, topic: F64, keep: I64, n_new: int
) -> tuple[F32, F64, float]:
    """n_vk / scale and n_k with columns ``keep`` and ``n_new`` new ones; and the tokens of the others."""
    gone = counts_of(raw, scale, others(keep, len(raw)))
    return move_rows(raw, keep, n_new), np.maximum(topic - gone, 0.0), float(gone.sum())


def limit_tables(tables: F64, before: F64, after: F64) -> F64:
    """Tables of topics that have lost tokens: not more tables than tokens."""
    return np.where(after < before, np.minimum(tables, after), tables)


def entries(
    indptr: I64, terms: NDArray[Any], keep: I64, n_terms: int
) -> tuple[I64, I64, NDArray[np.bool_]]:
    """Offsets and terms of documents without the dropped terms, and a mask of the remaining entries."""
    to = np.full(n_terms, -1, np.int64)
    to[keep] = np.arange(len(keep))
    found = to[terms]
    here = found >= 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(here)])[indptr]
    return ends, found[here], here
