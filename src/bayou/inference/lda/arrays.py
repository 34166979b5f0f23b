"""Array types, the work-sharing protocol, and topics as rows of a term-topic matrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from bayou.kernels.lda import em
from bayou.kernels.token import LANES

F32 = NDArray[np.float32]
F64 = NDArray[np.float64]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
U16 = NDArray[np.uint16]
U32 = NDArray[np.uint32]
U64 = NDArray[np.uint64]
A = TypeVar("A", bound=NDArray[np.generic])


class Each(Protocol):
    """Call a function over ranges of items, as `run.shards.Workers.each` does."""

    def __call__(self, work: Callable[[int, int], None], ends: I64, cost: float = 1.0, /) -> None:
        """``ends`` counts the work before each item, ``cost`` is nanoseconds a unit of it."""


TOKEN_COST = 80.0  # nanoseconds that a sampled token takes, about


def topic_rows(term_topic: F32, beta: float, each: Each) -> F32:
    """phi as (terms x topics): (n_vk + beta) / (n_k + V beta)."""
    n_terms = len(term_topic)
    inv = (1.0 / (topic_totals(term_topic) + n_terms * beta)).astype(np.float32)
    rows = np.empty_like(term_topic)

    def work(lo: int, hi: int) -> None:
        em.rows_into(rows, term_topic, lo, hi, np.float32(beta), inv)

    each(work, np.arange(n_terms + 1, dtype=np.int64), 0.5 * term_topic.shape[1])
    return rows


def topic_totals(term_topic: F32 | F64) -> F64:
    """n_k, summed in double precision in the order of the terms."""
    totals = np.zeros(term_topic.shape[1])
    em.column_sums(totals, term_topic, 0, len(term_topic))
    return totals


def pad_columns(rows: A) -> A:
    """Rows with columns of zeros, up to a whole number of `LANES`."""
    more = -rows.shape[1] % LANES
    if not more:
        return rows
    out = np.zeros((len(rows), rows.shape[1] + more), rows.dtype)
    out[:, : rows.shape[1]] = rows
    return cast(A, out)


def writable(rows: A) -> A:
    """The array, or a copy of a read-only one: kernels compiled for those may round differently."""
    return rows if rows.flags.writeable else rows.copy()
