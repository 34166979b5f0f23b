"""A mini-batch of the online HDP: local inference under the current topics, then the blend.

n_vk <- (1 - rho) n_vk + rho (D / |M|) n_vk of the batch, and the tables M_k likewise. Topics are frozen while
documents are sampled (`lda.hybrid`), or the batch is sampled with births (`hdp.births`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.hdp import births, discounted, root
from bayou.inference.hdp.tables import expected_tables
from bayou.inference.lda import hybrid, stream
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.inference.lda.stream import BatchSettings, StreamCounts, StreamPace


class RootState(NamedTuple):
    """The root of the process before a mini-batch."""

    tables: F64  # M_k
    topics: root.TopicIds
    alpha: float  # b1
    gamma: float  # b0
    discount: float = 0.0  # a, of the documents


def start_with_noise(
    batch: Pairs, n_slots: int, n_terms: int, n_docs: int, alpha: float, seed: int, each: Each
) -> tuple[StreamCounts, F64, root.TopicIds]:
    """Counts, tables and ids with a topic in each slot: noise around the batch, equal shares of tables."""
    mass = max(batch.n_tokens, 1.0) * n_docs / batch.n_docs
    g = stream.start(batch, n_terms, n_slots, mass, seed, each)
    opened = expected_tables(np.array([[batch.n_tokens / batch.n_docs]]), np.array([alpha]))
    tables = np.full(n_slots, n_docs * float(opened.sum()) / n_slots)
    return g, tables, root.first_names(n_slots)


def start_empty(n_slots: int, n_terms: int) -> tuple[StreamCounts, F64, root.TopicIds]:
    """Counts, tables and ids without a topic."""
    g = StreamCounts(np.zeros((n_terms, n_slots), np.float32), 1.0, np.zeros(n_slots))
    return g, np.zeros(n_slots), root.TopicIds(np.full(n_slots, root.SPARE, np.int64), 0, 0)


def learn_slots(
    g: StreamCounts, r: RootState, tokens: Tokens, p: BatchSettings, pace: StreamPace, each: Each
) -> tuple[StreamCounts, F64, float]:
    """Counts and tables after a batch sampled under frozen topics, and the tables that it opened.

    With a discount the last are the powers of b1 (`discounted.step`).
    """
    if r.discount > 0.0:
        law = (root.shares(r.tables, r.gamma), r.alpha, r.discount)
        after, opened, powers = discounted.step(g, law, tokens, p, (pace.rho, pace.gain), each)
        return after, (1.0 - pace.rho) * r.tables + pace.rho * pace.gain * opened, powers
    mass = r.alpha * root.shares(r.tables, r.gamma)
    after, lists = hybrid.step(g, tokens, p._replace(alpha=mass), pace.rho, pace.gain, each)
    opened = hybrid.doc_tables(lists, tokens, mass)
    tables = (1.0 - pace.rho) * r.tables + pace.rho * pace.gain * opened
    return after, tables, float(opened.sum())


def learn_births(
    g: StreamCounts, r: RootState, tokens: Tokens, p: BatchSettings, pace: StreamPace, each: Each
) -> tuple[StreamCounts, F64, float]:
    """Counts and tables after a batch sampled with births, and the tables that it opened."""
    # before the first topic nothing can be lost, and the batch stands for the corpus
    rates = (pace.rho, pace.rho * pace.gain) if r.topics.n_born else (0.0, pace.gain)
    known = (r.tables, r.topics.ids != root.SPARE, r.gamma)
    local = p._replace(alpha=np.array([r.alpha]))
    after, opened = births.step(g, known, tokens, local, rates, each)
    return after, (1.0 - rates[0]) * r.tables + rates[1] * opened, float(opened.sum())
