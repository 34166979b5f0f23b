"""Initial topics of the tokens of an HDP chain.

Under a small concentration a document keeps the few topics it starts with, and topics would be fixed before
they were compared. So the chain starts from sweeps of the O(1) sampler of LDA. Their concentration falls from
half the length of a document, far too wide, to a sixteenth. If there are several documents per topic, each
topic starts from one document. Otherwise the start is random, because a topic that starts as one of its two
documents would stay that document.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import arrays, em, sampler
from bayou.inference.lda.arrays import U16, Each
from bayou.inference.lda.documents import Pairs, Tokens

N_SWEEPS = 60
WIDE, NARROW = 2.0, 16.0  # length of a document over the first and the last concentration
SEVERAL = 8  # documents per topic


def draw_initial_topics(
    pairs: Pairs, tokens: Tokens, n_terms: int, n_topics: int, beta: float, seed: int, each: Each
) -> U16:
    """A topic for each token."""
    chain = sampler.make_chain(tokens, n_terms, seed)
    length = mean_length(tokens)
    widths = np.maximum(length / np.geomspace(WIDE, NARROW, N_SWEEPS), 1.0)
    if pairs.n_docs >= SEVERAL * n_topics:
        counts = em.document_start(pairs, n_terms, n_topics, seed)
        rows = arrays.topic_rows(counts, beta, each)
        alpha = np.full(n_topics, widths[0] / n_topics)
        state = sampler.start_from_topics(chain, rows, alpha, sampler.N_PROPOSALS, each)
    else:
        state = sampler.start(chain, n_topics, sampler.N_PROPOSALS, each)
    for step, width in enumerate(widths):
        alpha = np.full(n_topics, width / n_topics)
        sampler.metropolis(state, chain, alpha, beta, step, each)
    return np.ascontiguousarray(state[:, 0])


def mean_length(tokens: Tokens) -> float:
    """Mean number of tokens of the documents that have any."""
    return len(tokens.terms) / max(int((np.diff(tokens.indptr) > 0).sum()), 1)
