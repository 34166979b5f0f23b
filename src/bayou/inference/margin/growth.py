"""An unknown number of topics: sticks, births and deaths while tokens are sampled.

    (pi_1, pi_2, ...) ~ GEM(gamma)   theta_d ~ Dir(alpha pi)   z ~ theta_d   w ~ phi_z   phi_k ~ Dir(beta)

Given the tables that topics have in all documents, (pi_1, ..., pi_K, rest) ~ Dir(tables, gamma) over the
topics in use: a topic that is born from the rest has no tables except those of its tokens. So knowledge of
the sticks is a sum of tables, and later documents add theirs.

Arrays have up to `SPARE` columns more than topics, and as many topics can be born in one sweep.

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.checks import MAX_TOPICS, number
from bayou.inference.lda.arrays import F32, F64, I64, U16, U64
from bayou.inference.lda.documents import Tokens
from bayou.kernels.margin import growing_sweep, tilted_sweep
from bayou.kernels.rng import GROWTH

SPARE = 16


class TopicGrowth(NamedTuple):
    """How topics are born."""

    alpha: float  # concentration of a document's topics around the sticks
    gamma: float  # concentration of the sticks: how readily topics are born
    most: int  # topics at a time
    least: float  # tokens below which a topic is dropped
    level: bool = True  # whether weights vary around a level per task; else around zero


class Roots(NamedTuple):
    """Sticks of the topics, and which of them are in use, in the order that kernels expect."""

    a: F32  # alpha pi_k; alpha rest for the next to be born, 0 for others that are not in use
    stick: F64
    rest: F64
    own: I64  # tokens in these documents
    mortal: NDArray[np.bool_]
    free: I64
    n_free: I64
    born: NDArray[np.bool_]

    @property
    def in_use(self) -> NDArray[np.bool_]:
        """Topics that exist."""
        return (self.own > 0) | ~self.mortal


class LiveDocuments(NamedTuple):
    """Documents whose topics are being sampled, with everything that follows the tokens."""

    tokens: Tokens
    ids: U64
    rho: F32
    z: U16
    counts: F32  # terms x columns, what was known before included
    topic: F64
    roots: Roots


def columns(n_topics: int, growth: TopicGrowth) -> int:
    """Number of columns that arrays have for ``n_topics`` topics."""
    return n_topics + max(min(SPARE, growth.most - n_topics), 0)


def expected_sticks(tables: F64, gamma: float) -> F64:
    """E pi of topics given their tables; equal before the first document."""
    if not tables.any():
        return np.full(len(tables), 1.0 / (len(tables) + gamma))
    return np.asarray(tables / (tables.sum() + gamma), np.float64)


def open_roots(tables: F64, z: U16, growth: TopicGrowth) -> Roots:
    """Topics with tables, topics without tables that have tokens, then free columns."""
    n, n_topics = columns(len(tables), growth), len(tables)
    stick, mortal, own = np.zeros(n), np.ones(n, bool), np.bincount(z, minlength=n)
    stick[:n_topics] = expected_sticks(tables, growth.gamma)
    mortal[:n_topics] = tables == 0.0
    stick[mortal & (own == 0)] = 0.0
    return roots_of(stick, float(1.0 - stick.sum()), own, mortal, growth)


def roots_of(
    stick: F64, rest: float, own: I64, mortal: NDArray[np.bool_], growth: TopicGrowth
) -> Roots:
    """Sticks of topics in use; the other columns are free, the first of them is the next to be born."""
    free = np.flatnonzero(mortal & (own == 0))[::-1]
    stack = np.zeros(len(stick), np.int64)
    stack[: len(free)] = free
    roots = Roots(
        (growth.alpha * stick).astype(np.float32), stick.copy(), np.array([rest]), own.copy(),
        mortal.copy(), stack, np.array([len(free)]), np.zeros(len(stick), bool),
    )  # fmt: skip
    growing_sweep.offer(tuple(roots), growth.alpha)
    return roots


def sweep(
    live: LiveDocuments, tilt: tuple[Any, ...], growth: TopicGrowth, words: tuple[float, float], seed: int,
    number: int,
) -> None:  # fmt: skip
    """Draw the topic of every token once; ``tilt`` as `tilted.Tilt`, ``words`` = (beta, V beta)."""
    growing_sweep.sweep_docs(
        live.z, (*live.tokens, live.ids), live.rho, (live.counts, live.topic),
        (growth.alpha, growth.gamma, *words), tuple(live.roots), tuple(tilt), seed, GROWTH, number,
    )  # fmt: skip


def seats(live: LiveDocuments, growth: TopicGrowth, seed: int, number: int, *, drawn: bool) -> F64:
    """Tables of every topic in these documents, drawn or expected."""
    out, mass = np.zeros(len(live.topic)), growth.alpha * live.roots.stick
    growing_sweep.seat_docs(out, live.z, live.tokens.indptr, live.ids, mass, drawn, seed, number)
    return out


def renew_sticks(
    live: LiveDocuments, known: F64, growth: TopicGrowth, seed: int, number: int
) -> F64:
    """Draw tables, then sticks given these and the tables ``known`` before; returns the drawn tables."""
    tables = seats(live, growth, seed, number, drawn=True)
    growing_sweep.draw_sticks(
        tuple(live.roots), known + tables, growth.alpha, growth.gamma, seed, number
    )
    return tables


def make_live(
    tokens: Tokens, ids: U64, rho: F32, z: U16, before: tuple[F32, F64], roots: Roots
) -> LiveDocuments:
    """Counts of the tokens added to those of ``before`` = (n_vk of their terms, n_k)."""
    n, known = len(roots.a), before[0].shape[1]
    counts, topic = np.zeros((len(before[0]), n), np.float32), np.zeros(n)
    counts[:, :known], topic[:known] = before
    tilted_sweep.count_tokens(counts, topic, tokens.terms, z)
    return LiveDocuments(tokens, ids, rho, z, counts, topic, roots)


def check_bounds(n_topics: int | None, max_topics: int) -> None:
    """Refuse a largest number of topics below the first one, or above what topic numbers allow."""
    least = 1 if n_topics is None else n_topics
    if not least <= max_topics <= MAX_TOPICS:
        raise ValueError(
            f"max_topics must be from n_topics = {least} to {MAX_TOPICS}; got {max_topics}"
        )


def between(course: I64, now: int, level: float) -> tuple[int, int]:
    """Interval that holds ``level`` of the numbers in ``course``; ``now`` if there are none."""
    number("level", level, 0.0, 1.0)
    if not len(course):
        return now, now
    low, high = np.quantile(course, [(1.0 - level) / 2.0, (1.0 + level) / 2.0])
    return int(np.floor(low)), int(np.ceil(high))
