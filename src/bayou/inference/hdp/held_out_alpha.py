"""The concentration of documents that the topics were not trained on.

Training documents fit the topics better than new ones, and an estimate from them is too small: on Daily Kos,
with 300 topics, it is 2.4 instead of 5.3.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp import root
from bayou.inference.lda import hybrid
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Tokens
from bayou.inference.lda.stream import BatchSettings, StreamCounts
from bayou.kernels.rng import KEPT_OUT

ONE_IN, AT_MOST = 20, 100  # documents that are held out
_ROUNDS = 4  # of sampling under the current concentration; in each, steps of its fixed point


def n_held_out(n_docs: int) -> int:
    """Number of documents that are held out."""
    return min(n_docs // ONE_IN, AT_MOST)


def estimate_alpha(
    g: StreamCounts, alpha: float, share: F64, tokens: Tokens, p: BatchSettings, each: Each
) -> float:
    """b1 of held-out documents, given the topics and the shares g; ``p.alpha`` is ignored."""
    lengths = np.diff(tokens.indptr).astype(np.float64)
    for i in range(_ROUNDS):
        now = p._replace(alpha=alpha * share, step=p.step * _ROUNDS + i)
        _, lists = hybrid.sample(
            hybrid.freeze_topics(g, tokens, now, each), tokens, now, each, KEPT_OUT
        )
        for _ in range(_ROUNDS):
            opened = float(hybrid.doc_tables(lists, tokens, alpha * share).sum())
            alpha = root.document_concentration(alpha, opened, lengths, 1.0)
    return alpha
