"""Log-probabilities of the state of a chain, per token."""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp.franchise import (
    FranchiseChain,
    FranchiseCounts,
    FranchiseData,
    FranchisePrior,
    mass_of,
)
from bayou.inference.lda import sampler
from bayou.inference.lda.documents import TokenIndex
from bayou.kernels.hdp import dishes


def log_words(counts: FranchiseCounts, beta: float) -> float:
    """ln p(w | z) per token."""
    value = dishes.log_words(counts.term_topic, counts.topic, beta)
    return float(value) / max(float(counts.topic.sum()), 1.0)


def log_joint(chain: FranchiseChain, corpus: FranchiseData, prior: FranchisePrior) -> float:
    """ln p(w, z) per token with the root at its mean."""
    live = np.flatnonzero(chain.counts.topic > 0)
    if len(live) == 0:
        return 0.0
    to = np.zeros(len(chain.counts.topic), np.uint16)
    to[live] = np.arange(len(live))
    used = np.ascontiguousarray(chain.counts.term_topic[:, live])
    index = TokenIndex(np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0, np.int32))
    ids = np.arange(corpus.tokens.n_docs, dtype=np.uint64)
    plain = sampler.SamplerChain(corpus.tokens, index, ids, corpus.n_terms, 0)
    alpha = mass_of(chain.counts, prior)[live]
    return sampler.log_joint(to[chain.z][:, None], used, plain, alpha, prior.beta)
