"""The concentration of documents that the topics have not learned from.

Documents of which the topics were made look simpler than new ones, and would press it down: on Daily Kos,
with 300 topics, they want 2.4 where others want 5.3.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp import root
from bayou.inference.lda import hybrid
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Tokens
from bayou.inference.lda.stream import BatchSettings, StreamCounts
from bayou.kernels.rng import KEPT_OUT

_ROUNDS = 4  # of sampling under the concentration as it is; in each, steps of its fixed point


def estimate_alpha(
    g: StreamCounts, alpha: float, share: F64, tokens: Tokens, p: BatchSettings, each: Each
) -> float:
    """b1 that documents kept out want, given the topics and g; ``p.alpha`` is not looked at."""
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
