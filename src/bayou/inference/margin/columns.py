"""Vocabulary changes of documents with responses and of linear weights."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F64, I64
from bayou.inference.lda.columns import entries, move_rows
from bayou.inference.margin.passive_aggressive import Examples, Weights


def move_examples(waiting: Examples, keep: I64, n_terms: int) -> Examples:
    """Documents that wait, without the terms that are let go."""
    ends, terms, here = entries(waiting.indptr, waiting.indices, keep, n_terms)
    return waiting._replace(indptr=ends, indices=terms, data=waiting.data[here])


def move_weights(
    weights: Weights, waiting: Examples, keep: I64, n_new: int, n_terms: int, precision: float
) -> tuple[Weights, Examples]:
    """Weights of terms, with whatever columns stand behind those; a new one has the prior's precision."""
    behind = np.arange(n_terms, weights.mean.shape[1])

    def each(values: F64, fill: float) -> F64:
        if not values.size:
            return values
        terms = move_rows(values[:, :n_terms].T, keep, n_new, fill).T
        return np.ascontiguousarray(np.concatenate([terms, values[:, behind]], axis=1))

    waiting = move_examples(waiting, np.concatenate([keep, behind]), weights.mean.shape[1])
    places = waiting.indices + np.where(waiting.indices >= len(keep), n_new, 0)
    changed = weights._replace(
        mean=each(weights.mean, 0.0),
        drift=each(weights.drift, 0.0),
        spread=each(weights.spread, precision),
    )
    return changed, waiting._replace(indices=places)
