"""The root of a hierarchical Dirichlet process on a stream: shares of topics, their births and deaths.

G0 ~ Dir(b0 / K, ..., b0 / K) over K slots, the weak limit of DP(b0, H). What documents say about it are
tables: M_k of topic k, expected, in a corpus of D documents. A slot without tables is spare: its topic is
the flat prior, and whatever document finds no better topic may take it.

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, ndtr

from bayou.inference.hdp.concentration import Gamma
from bayou.inference.lda.arrays import F64, I64

PRIOR = Gamma(1.0, 1.0)  # of both concentrations: weak
BORN = math.log(2.0)  # tables from which on a corpus more likely than not uses the topic
DEAD = 0.05  # tables below which it is spare again; in between nothing changes
FEW = 5.0  # tables that a topic must have to be kept when the memory of the stream has been renewed
SPARE = -1  # the name of no topic
LARGE = (1e-3, 50.0)  # share of all tokens, and tokens, from which on a topic is counted as large


class TopicIds(NamedTuple):
    """A topic keeps its number for life, and no other ever gets it."""

    ids: I64  # of every slot; SPARE where there is no topic
    n_born: int
    n_died: int


def shares(tables: F64, gamma: float) -> F64:
    """E[G0] = (M_k + b0 / K) / (M + b0)."""
    return np.asarray((tables + gamma / len(tables)) / (tables.sum() + gamma), np.float64)


def document_concentration(alpha: float, n_tables: float, lengths: F64, gain: float) -> float:
    """b1 that the tables of a batch, scaled by ``gain`` to a corpus, speak for.

    The Beta draws of Gibbs sampling [Teh06] by their expectations: (s + M) / (r - sum_d E ln q_d), where
    E ln q_d = psi(b1) - psi(b1 + N_d). Documents without tokens speak for nothing: b1 stays.
    """
    if not lengths.sum() > 0.0:
        return alpha
    rate = float((digamma(alpha + lengths) - digamma(alpha)).sum())
    return (PRIOR.shape + gain * n_tables) / (PRIOR.rate + gain * rate)


def root_concentration(gamma: float, tables: F64, n_topics: int | None = None) -> float:
    """b0 that the tables speak for: (s + T) / (r + psi(b0 + M) - psi(b0)).

    T is the number of topics where a new one is always new; over K slots given beforehand, the expected
    number of tables of the tables.
    """
    y, total = gamma / len(tables), float(tables.sum())
    opened = float((y * (digamma(y + tables) - digamma(y))).sum())
    opened = opened if n_topics is None else float(n_topics)
    return (PRIOR.shape + opened) / (PRIOR.rate + float(digamma(gamma + total) - digamma(gamma)))


def first_names(n_topics: int) -> TopicIds:
    """Every slot has a topic to begin with."""
    return TopicIds(np.arange(n_topics, dtype=np.int64), n_topics, 0)


def settle_topics(names: TopicIds, tables: F64) -> tuple[TopicIds, I64]:
    """The topics after a batch, and the slots whose topics have just died.

    A spare slot's topic is born when its tables reach `BORN`, the slot with the most tables first; a topic
    dies when they fall below `DEAD`. What dead slots still hold is for the caller to clear.
    """
    ids = names.ids.copy()
    dead = np.flatnonzero((ids != SPARE) & (tables < DEAD))
    ids[dead] = SPARE
    spare = np.flatnonzero((ids == SPARE) & (tables >= BORN))
    born = spare[np.argsort(-tables[spare], kind="stable")]
    ids[born] = names.n_born + np.arange(len(born))
    return TopicIds(ids, names.n_born + len(born), names.n_died + len(dead)), dead


def drop_small_topics(names: TopicIds, tables: F64) -> tuple[TopicIds, I64]:
    """The topics without those of less than `FEW` tables, of which the one with most stays; and their slots.

    A handful of openings in a whole corpus is what documents that fit nowhere leave behind: left alone, there
    are as many such topics as there are slots.
    """
    ids = names.ids.copy()
    few = np.flatnonzero((ids != SPARE) & (tables < FEW))
    few = few[few != int(np.argmax(tables))]
    ids[few] = SPARE
    return TopicIds(ids, names.n_born, names.n_died + len(few)), np.asarray(few, np.int64)


def living(names: TopicIds, tables: F64, use: F64) -> I64:
    """Slots of the topics in use, the most used first; always one at least.

    In use is a topic that has a name and `BORN` tables: a corpus of D documents more likely than not uses it.
    """
    alive = np.flatnonzero((names.ids != SPARE) & (tables >= BORN))
    if not len(alive):
        alive = np.array([int(np.argmax(tables))])
    return np.asarray(alive[np.argsort(-use[alive], kind="stable")], np.int64)


def in_use(tables: F64) -> F64:
    """The probability of each topic that a corpus of D documents uses it.

    1 - exp(-M_k): tables are a sum of many rare events.
    """
    return np.asarray(-np.expm1(-tables), np.float64)


def large(tables: F64, tokens: F64) -> F64:
    """The probability of each topic to be large in a corpus of D documents.

    With Poisson tables, M_k of them, and exponential tokens a table, n_k in all, tokens have the variance
    2 n_k^2 / M_k; their sum is taken as normal.
    """
    deviation = tokens * np.sqrt(2.0 / np.maximum(tables, 1e-30)) + 1e-30
    return np.asarray(ndtr((tokens - least_large(tokens)) / deviation), np.float64)


def least_large(tokens: F64) -> float:
    """Tokens from which on a topic is large: a thousandth of all, and 50 at least."""
    return max(LARGE[0] * float(tokens.sum()), LARGE[1])


def how_many(chances: F64) -> F64:
    """The law of how many of these independent events happen: probabilities of 0, 1, ..."""
    law = np.ones(1)
    for p in chances[(chances > 1e-12) & (chances < 1.0 - 1e-12)]:
        law = np.append(law * (1.0 - p), 0.0) + np.append(0.0, law * p)
    sure = int((chances >= 1.0 - 1e-12).sum())
    return np.concatenate([np.zeros(sure), law])


def interval(law: F64, level: float) -> tuple[int, int]:
    """The ends between which ``level`` of a law over 0, 1, ... lies."""
    below = np.cumsum(law)
    ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.searchsorted(below, np.array(ends) * below[-1])
    low = max(int(low), int(np.argmax(law > 0.0)))  # all of a law begins where it has any mass
    return low, int(min(high, len(law) - 1))
