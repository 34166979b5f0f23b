"""First topics of a chain that learns the number of its topics: one pass of the online model, or random ones.

A chain that starts at random topics finds hardly any new ones: each is born from one token and competes with
topics of thousands. On a stream topics are born while all of them are small. Classes need many topics, and
the pass pays. Numbers need few, and a random start was better. The start does not change what the chain
converges to.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import batch, online, online_state
from bayou.inference.margin import passive_aggressive as pa
from bayou.inference.margin.loss import HINGE
from bayou.inference.margin.online_state import OnlineMarginSettings
from bayou.inference.margin.passive_aggressive import Examples
from bayou.inference.margin.setup import MarginData, MarginSettings

BATCH, SWEEPS, BETA, LEAST = 64, 2, 0.1, 20.0  # chosen for the chain that starts from here


def random_topics(n_terms: int, n_topics: int) -> tuple[F32, F64]:
    """Equal topics, under which tokens are drawn at random, with one table each."""
    return np.full((n_terms, n_topics), 1.0 / n_terms, np.float32), np.ones(n_topics)


def first_topics(data: MarginData, p: MarginSettings, each: Each) -> tuple[F32, F64]:
    """Topics (terms x topics) after one pass of the online model over the documents, and their tables."""
    examples, n_terms, seed = _examples(data), data.corpus.n_terms, data.seeds[0]
    how = _online_settings(p)
    state = online_state.start(n_terms, examples.y.shape[1], how)
    for lo in range(0, examples.n_docs, BATCH):
        some = pa.take(examples, np.arange(lo, min(lo + BATCH, examples.n_docs)))
        state = online.learn(state, some, how, seed, each)
    every = np.arange(n_terms, dtype=np.int64)
    return batch.mean_rows(online_state.topics_of(state, how), every, each), state.tables


def _online_settings(p: MarginSettings) -> OnlineMarginSettings:
    """The defaults of the online model for classes, whatever the loss of the chain."""
    return OnlineMarginSettings(
        gibbs=True, loss=HINGE.code, width=164.0, variance=1.0, floor=1000.0, shared=True,
        positive=0.0 if p.multi_label else 1.0, alpha=np.ones(p.n_topics), beta=BETA,
        n_rounds=1, n_sweeps=SWEEPS, burn_in=0, ghosts=1.0, decay=1.0, tf=p.tf, idf=p.idf,
        growth=p.growth._replace(least=LEAST),
    )  # fmt: skip


def _examples(data: MarginData) -> Examples:
    """The documents in the order of the chain, in the form of a stream."""
    chain, counts = data.chains[0], data.corpus.counts
    known = chain.cost > 0.0
    y = np.where(known, chain.y, 0.0).astype(np.int8)
    parts = (counts.indptr.astype(np.int64), counts.indices.astype(np.int64))
    cost = np.where(known.any(axis=1), 1.0, 0.0)
    every = Examples(*parts, counts.data.astype(np.float64), y, cost)
    return pa.take(every, data.order)._replace(y=y, costs=cost)  # in that order already
