"""Columns of terms that come and go: what a model of a stream does when its vocabulary changes.

A term that is new has the prior only. What was counted for a term that is let go is taken out of the totals,
so that the topics stay distributions over the terms that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.inference.lda.arrays import F64, I64, topic_totals


def move_rows(rows: NDArray[Any], keep: I64, n_new: int, fill: float = 0.0) -> NDArray[Any]:
    """One row a term: those of ``keep``, then ``n_new`` that hold ``fill``."""
    new = np.full((n_new, *rows.shape[1:]), fill, rows.dtype)
    return np.ascontiguousarray(np.concatenate([rows[keep], new]))


def others(keep: I64, n_terms: int) -> I64:
    """The terms that are let go."""
    gone = np.ones(n_terms, np.bool_)
    gone[keep] = False
    return np.flatnonzero(gone)


def counts_of(raw: NDArray[Any], scale: float, gone: I64) -> F64:
    """Tokens of each topic that the terms had, n_vk being ``scale`` x ``raw``."""
    return np.asarray(scale * topic_totals(raw[gone]), np.float64)


def limit_tables(tables: F64, before: F64, after: F64) -> F64:
    """Tables of topics whose tokens have become fewer: at every table that is left sits a token."""
    return np.where(after < before, np.minimum(tables, after), tables)


def entries(
    indptr: I64, terms: NDArray[Any], keep: I64, n_terms: int
) -> tuple[I64, I64, NDArray[np.bool_]]:
    """Bounds and terms of documents without the terms that are let go, and which entries are left."""
    to = np.full(n_terms, -1, np.int64)
    to[keep] = np.arange(len(keep))
    found = to[terms]
    here = found >= 0
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(here)])[indptr]
    return ends, found[here], here
