"""Columns of terms that come and go: what a model of a stream does when its vocabulary changes.

A term that is new has the prior only. What was counted for a term that is let go is taken out of the totals,
so that the topics stay distributions over the terms that are left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.parts.passive_aggressive import Examples, Weights
from bayou.parts.topics import F64, I64, topic_totals


def moved(rows: NDArray[Any], keep: I64, n_new: int, fill: float = 0.0) -> NDArray[Any]:
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


def seated(tables: F64, before: F64, after: F64) -> F64:
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


def moved_examples(waiting: Examples, keep: I64, n_terms: int) -> Examples:
    """Documents that wait, without the terms that are let go."""
    ends, terms, here = entries(waiting.indptr, waiting.indices, keep, n_terms)
    return waiting._replace(indptr=ends, indices=terms, data=waiting.data[here])


def moved_weights(
    weights: Weights, waiting: Examples, keep: I64, n_new: int, n_terms: int, precision: float
) -> tuple[Weights, Examples]:
    """Weights of terms, with whatever columns stand behind those; a new one has the prior's precision."""
    behind = np.arange(n_terms, weights.mean.shape[1])

    def each(values: F64, fill: float) -> F64:
        if not values.size:
            return values
        terms = moved(values[:, :n_terms].T, keep, n_new, fill).T
        return np.ascontiguousarray(np.concatenate([terms, values[:, behind]], axis=1))

    waiting = moved_examples(waiting, np.concatenate([keep, behind]), weights.mean.shape[1])
    places = waiting.indices + np.where(waiting.indices >= len(keep), n_new, 0)
    changed = weights._replace(
        mean=each(weights.mean, 0.0),
        drift=each(weights.drift, 0.0),
        spread=each(weights.spread, precision),
    )
    return changed, waiting._replace(indices=places)
