"""The root of a hierarchical Dirichlet process on a stream: shares of topics, their births and deaths.

G0 ~ Dir(b0 / K, ..., b0 / K) over K slots, the weak limit of DP(b0, H). The data about G0 are the expected
numbers of tables M_k of topic k in a corpus of D documents. A slot without tables is spare: its topic is the
flat prior, and a document that no other topic fits can take it.

[Teh06] Teh, Jordan, Beal, Blei. Hierarchical Dirichlet processes. JASA 101, 2006.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.special import digamma, ndtr

from bayou.data.errors import ModelFileError
from bayou.inference.hdp.concentration import Gamma
from bayou.inference.lda import stream
from bayou.inference.lda.arrays import F64, I64

PRIOR = Gamma(1.0, 1.0)  # of both concentrations: weak
BORN = math.log(2.0)  # from this number of tables on, a corpus uses the topic with probability 1/2
DEAD = 0.05  # below this number of tables the slot is spare again; in between nothing changes
FEW = 5.0  # tables that a topic needs to be kept when the stream has replaced its counts
UNRIPE = (
    7  # replacements of the counts before topics are merged or dropped: early topics are all alike
)
SPARE = -1  # the id of a slot without a topic
LARGE = (
    1e-3,
    50.0,
)  # a large topic has this share of all tokens, and at least this number of tokens


class TopicIds(NamedTuple):
    """Permanent ids of topics. The id of a dead topic is never given again."""

    ids: I64  # per slot; SPARE if there is no topic
    n_born: int
    n_died: int


def shares(tables: F64, gamma: float) -> F64:
    """E[G0] = (M_k + b0 / K) / (M + b0)."""
    return np.asarray((tables + gamma / len(tables)) / (tables.sum() + gamma), np.float64)


def document_concentration(alpha: float, n_tables: float, lengths: F64, gain: float) -> float:
    """Estimate of b1 from the tables of a batch, scaled by ``gain`` to a corpus.

    The Beta draws of Gibbs sampling [Teh06] are replaced by their expectations:
    (s + M) / (r - sum_d E ln q_d), where E ln q_d = psi(b1) - psi(b1 + N_d). Without tokens b1 is unchanged.
    """
    if not lengths.sum() > 0.0:
        return alpha
    rate = float((digamma(alpha + lengths) - digamma(alpha)).sum())
    return (PRIOR.shape + gain * n_tables) / (PRIOR.rate + gain * rate)


def root_concentration(gamma: float, tables: F64, n_topics: int | None = None) -> float:
    """Estimate of b0 from the tables: (s + T) / (r + psi(b0 + M) - psi(b0)).

    T is the number of topics. Over a fixed number of slots it is the expected number of tables at the root.
    """
    y, total = gamma / len(tables), float(tables.sum())
    opened = float((y * (digamma(y + tables) - digamma(y))).sum())
    opened = opened if n_topics is None else float(n_topics)
    return (PRIOR.shape + opened) / (PRIOR.rate + float(digamma(gamma + total) - digamma(gamma)))


def first_names(n_topics: int) -> TopicIds:
    """A topic in each slot."""
    return TopicIds(np.arange(n_topics, dtype=np.int64), n_topics, 0)


def settle_topics(names: TopicIds, tables: F64) -> tuple[TopicIds, I64]:
    """The topics after a batch, and the slots whose topics have just died.

    The topic of a spare slot is born when its tables reach `BORN`, the slot with the most tables first. A
    topic dies when its tables fall below `DEAD`. The caller clears the counts of dead slots.
    """
    ids = names.ids.copy()
    dead = np.flatnonzero((ids != SPARE) & (tables < DEAD))
    ids[dead] = SPARE
    spare = np.flatnonzero((ids == SPARE) & (tables >= BORN))
    born = spare[np.argsort(-tables[spare], kind="stable")]
    ids[born] = names.n_born + np.arange(len(born))
    return TopicIds(ids, names.n_born + len(born), names.n_died + len(dead)), dead


def drop_small_topics(names: TopicIds, tables: F64) -> tuple[TopicIds, I64]:
    """Drop topics with fewer than `FEW` tables; returns the remaining topics and the slots of the others.

    Documents that no topic fits open a few tables of new topics. Without this step such topics fill all
    slots. The topic with the most tables always stays.
    """
    ids = names.ids.copy()
    few = np.flatnonzero((ids != SPARE) & (tables < FEW))
    few = few[few != int(np.argmax(tables))]
    ids[few] = SPARE
    return TopicIds(ids, names.n_born, names.n_died + len(few)), np.asarray(few, np.int64)


def is_ripe(step: int, tau: float, kappa: float) -> bool:
    """Whether the stream has replaced its counts once more at this step, after the first `UNRIPE` times."""
    before, after = (int(stream.renewals(t, tau, kappa)) for t in (step - 1, step))
    return after > max(before, UNRIPE)


def living(names: TopicIds, tables: F64, use: F64) -> I64:
    """Slots of the topics in use, the most used first; always at least one.

    A topic is in use if it has an id and `BORN` tables: a corpus of D documents uses it with probability 1/2.
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

    With a Poisson number of tables of mean M_k and exponential numbers of tokens per table, n_k has the
    variance 2 n_k^2 / M_k. It is taken as normal.
    """
    deviation = tokens * np.sqrt(2.0 / np.maximum(tables, 1e-30)) + 1e-30
    return np.asarray(ndtr((tokens - least_large(tokens)) / deviation), np.float64)


def least_large(tokens: F64) -> float:
    """Least number of tokens of a large topic: a thousandth of all tokens, and at least 50."""
    return max(LARGE[0] * float(tokens.sum()), LARGE[1])


def n_large(tokens: F64) -> int:
    """Number of large topics."""
    return int((tokens >= least_large(tokens)).sum())


def how_many(chances: F64) -> F64:
    """Distribution of the number of these independent events that happen: probabilities of 0, 1, ..."""
    law = np.ones(1)
    for p in chances[(chances > 1e-12) & (chances < 1.0 - 1e-12)]:
        law = np.append(law * (1.0 - p), 0.0) + np.append(0.0, law * p)
    sure = int((chances >= 1.0 - 1e-12).sum())
    return np.concatenate([np.zeros(sure), law])


def interval(law: F64, level: float) -> tuple[int, int]:
    """Central interval of probability ``level`` of a distribution over 0, 1, ..."""
    below = np.cumsum(law)
    ends = [(1.0 - level) / 2.0, (1.0 + level) / 2.0]
    low, high = np.searchsorted(below, np.array(ends) * below[-1])
    low = max(
        int(low), int(np.argmax(law > 0.0))
    )  # the whole distribution starts at its first mass
    return low, int(min(high, len(law) - 1))


def check_ids(ids: I64, n_born: int) -> None:
    """Refuse ids of a model file that occur twice or were never given, and a root without slots."""
    named = ids[ids != SPARE]
    is_given = len(ids) > 0 and named.max(initial=SPARE) < n_born
    if not is_given or len(np.unique(named)) != len(named):
        raise ModelFileError("the file's array 'ids' holds impossible numbers")


class RootNumber(NamedTuple):
    """The number of topics in use in a corpus of D documents, given what was learned."""

    tables: F64  # M_k per slot
    tokens: F64  # n_k per slot
    used: F64  # n_k of the topics in use

    @property
    def n_large(self) -> int:
        """Number of large topics in use."""
        return n_large(self.used)

    def interval(self, level: float, is_large: bool) -> tuple[int, int]:
        """Central interval of the number of topics in use, or of large topics."""
        chances = large(self.tables, self.tokens) if is_large else in_use(self.tables)
        return interval(how_many(chances), level)
