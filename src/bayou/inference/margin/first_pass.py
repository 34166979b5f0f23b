"""Where a chain begins that is to find the number of its topics: one pass of the online model, or nowhere.

A chain that begins at random topics finds hardly any new ones: each is born of one token, against topics that
have thousands. Along a stream topics are born while all of them are small. Classes want many topics, and the
pass is worth it; numbers want few, and beginning at random was better. Where a chain begins does not change
what it converges to.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin import batch, online, online_state, rounds
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.growth import TopicGrowth
from bayou.inference.margin.loss import HINGE
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.online_weights import OnlineRun
from bayou.inference.margin.stream_growth import drop_small_topics

BATCH, SWEEPS, BETA, LEAST = 64, 2, 0.1, 20.0  # chosen for the chain, which goes on from there


def settings(
    multi_label: bool, n_topics: int, tf: str, idf: bool, by: TopicGrowth
) -> OnlineMarginSettings:
    """The defaults of the online model for classes, whatever the loss of the chain."""
    return OnlineMarginSettings(
        gibbs=True, loss=HINGE, width=164.0, variance=1.0, floor=1000.0, shared=True,
        positive=0.0 if multi_label else 1.0, alpha=np.ones(n_topics), beta=BETA, n_rounds=1,
        n_sweeps=SWEEPS, burn_in=0, ghosts=1.0, decay=1.0, tf=tf, idf=idf,
        growth=by._replace(least=LEAST),
    )  # fmt: skip


def no_topics(n_terms: int, n_topics: int) -> tuple[F32, F64]:
    """Topics that are all alike, under which tokens are drawn at random."""
    return np.full((n_terms, n_topics), 1.0 / n_terms, np.float32), np.ones(n_topics)


def first_topics(
    examples: Examples, n_terms: int, how: OnlineMarginSettings, seed: int, each: Each
) -> tuple[F32, F64]:
    """Topics (terms x topics) that the documents bring with them in their order, and tables of those."""
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
