"""Where a chain begins that is to find the number of its topics: one pass of the online model.

A chain that begins at random topics finds hardly any new ones: each is born of one token, against topics that
have thousands. Along a stream topics are born while all of them are small. Where a chain begins does not
change what it converges to.
"""

from __future__ import annotations

import numpy as np

from bayou.kernels import response
from bayou.parts import online_batch, online_margin, online_state
from bayou.parts import passive_aggressive as pa
from bayou.parts.growth import Growth
from bayou.parts.online_state import How
from bayou.parts.passive_aggressive import Examples
from bayou.parts.topics import F32, F64, Each

BATCH, SWEEPS, BETA, LEAST = 64, 2, 0.1, 20.0  # as `OnlineMedHDPClassifier` has them


def settings(loss: int, multi_label: bool, n_topics: int, tf: str, idf: bool, by: Growth) -> How:
    """The defaults of the online model for classes (any loss of theirs) or for numbers."""
    numbers = loss == response.INSENSITIVE
    return How(
        gibbs=True, loss=loss if numbers else response.HINGE, width=1e-3 if numbers else 164.0,
        variance=4e-5 if numbers else 1.0, floor=1000.0, shared=not numbers,
        positive=0.0 if multi_label else 1.0, alpha=np.ones(n_topics), beta=BETA, n_rounds=1,
        n_sweeps=SWEEPS, burn_in=0, ghosts=1.0, decay=1.0, tf=tf, idf=idf,
        growth=by._replace(least=LEAST),
    )  # fmt: skip


def first_topics(
    examples: Examples, n_terms: int, how: How, seed: int, each: Each
) -> tuple[F32, F64]:
    """Topics (terms x topics) that the documents bring with them in their order, and tables of those."""
    state = online_state.start(n_terms, examples.y.shape[1], how)
    for lo in range(0, examples.n_docs, BATCH):
        some = pa.take(examples, np.arange(lo, min(lo + BATCH, examples.n_docs)))
        state = online_margin.learn(state, some, how, seed, each)
    every = np.arange(n_terms, dtype=np.int64)
    return online_batch.mean_rows(online_state.topics_of(state, how), every, each), state.tables
