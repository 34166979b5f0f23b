"""First topics of a chain that learns the number of its topics: one pass of the online model, or random ones.

A chain that starts at random topics finds hardly any new ones: each is born from one token and competes with
topics of thousands. On a stream topics are born while all of them are small. Classes need many topics, and
the pass pays. Numbers need few, and a random start was better. The start does not change what the chain
converges to.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import batch, online, online_state, rounds
from bayou.inference.margin.examples import Examples, examples_of
from bayou.inference.margin.loss import HINGE
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.online_weights import OnlineRun
from bayou.inference.margin.setup import MarginData, MarginSettings
from bayou.inference.margin.stream_growth import drop_small_topics

BATCH, SWEEPS, BETA, LEAST = 64, 2, 0.1, 20.0  # chosen for the chain that starts from here


def random_topics(n_terms: int, n_topics: int) -> tuple[F32, F64]:
    """Equal topics, under which tokens are drawn at random, with one table each."""
    return np.full((n_terms, n_topics), 1.0 / n_terms, np.float32), np.ones(n_topics)


def first_topics(data: MarginData, p: MarginSettings, each: Each) -> tuple[F32, F64]:
    """Topics (terms x topics) after one pass of the online model over the documents, and their tables."""
    examples, n_terms, seed = _examples(data), data.corpus.n_terms, data.seeds[0]
    how = _online_settings(p)
    state = online_state.init(n_terms, examples.y.shape[1], how)
    for lo in range(0, examples.n_docs, BATCH):
        some = examples.take(np.arange(lo, min(lo + BATCH, examples.n_docs)))
        state = _update(state, some, how, seed, each)
    every = np.arange(n_terms, dtype=np.int64)
    return batch.mean_rows(online_state.topic_posterior(state, how), every, each), state.tables


def _update(
    state: OnlineMarginState, examples: Examples, p: OnlineMarginSettings, seed: int, each: Each
) -> OnlineMarginState:
    """One mini-batch of `online_med_hdp` in one round, without decay, scores and a second stage."""
    state, found = online.read_labels(state, examples, p, seed)
    chain = rounds.start_round(rounds.begin(state, OnlineRun(found, p, seed, each)), 0)
    for j in range(p.n_sweeps):
        chain = rounds.add_sweep(rounds.draw_topics(chain, j), j)
        chain = rounds.draw_lambda(rounds.draw_tables(chain, j), j)
    state, counts = rounds.posterior(rounds.update_weights(chain))
    state, counts = drop_small_topics(state, counts, examples.n_docs, p)
    return online.add_counts(state, found, counts)


def _online_settings(p: MarginSettings) -> OnlineMarginSettings:
    """The defaults of the online model for classes, whatever the loss of the chain."""
    return OnlineMarginSettings(
        gibbs=True, loss=HINGE, width=164.0, variance=1.0, floor=1000.0, shared=True,
        positive=0.0 if p.multi_label else 1.0, alpha=np.ones(p.n_topics), beta=BETA,
        n_rounds=1, n_sweeps=SWEEPS, burn_in=0, ghosts=1.0, decay=1.0, tf=p.tf, idf=p.idf,
        growth=p.growth._replace(least=LEAST),
    )  # fmt: skip


def _examples(data: MarginData) -> Examples:
    """The documents in the order of the chain, in the form of a stream."""
    chain, counts = data.chains[0], data.corpus.counts
    known = chain.cost > 0.0
    y = np.where(known, chain.y, 0.0).astype(np.int8)
    cost = np.where(known.any(axis=1), 1.0, 0.0)
    return (
        examples_of(counts, y, cost).take(data.order)._replace(y=y, costs=cost)
    )  # in that order already
