"""Merges of topics in the first sweeps of a chain, where a better state counts and exactness does not.

A start with many topics divides a topic of the corpus into several that share its documents. A merge that is
a Metropolis-Hastings move is then refused for hundreds of sweeps: the reverse split would have to give one
division of thousands of tokens among very many. In the first sweeps two topics are merged whenever this
raises p(z, g, w). Later sweeps leave the posterior invariant, so that this changes where a chain starts.
"""

from __future__ import annotations

import numpy as np

from bayou.inference.hdp.franchise import FranchiseChain, FranchiseData, FranchisePrior
from bayou.inference.lda.arrays import F64, I64
from bayou.kernels.hdp import divide, split_merge

EVERY = 5  # sweeps between two passes of merges
_TERMS = 512  # terms whose counts are in double precision at a time


def last_merges(n_sweeps: int, burn_in: int | None) -> int:
    """The last sweep of a chain that may merge topics: half of the shortest warm-up."""
    return n_sweeps // 4 if burn_in is None else burn_in // 2


def likeness(chain: FranchiseChain) -> F64:
    """sum_v phi_va phi_vb of all pairs of slots; 0 for a slot with itself and for free slots.

    Counts are whole numbers, so that their products are exact in any order of summation.
    """
    counts, topic = chain.counts.term_topic, chain.counts.topic
    out = np.zeros((len(topic), len(topic)))
    for lo in range(0, len(counts), _TERMS):
        part = counts[lo : lo + _TERMS].astype(np.float64)
        out += part.T @ part
    out /= np.outer(np.maximum(topic, 1.0), np.maximum(topic, 1.0))
    np.fill_diagonal(out, 0.0)
    return out


def log_gain(
    chain: FranchiseChain, corpus: FranchiseData, root: F64, prior: FranchisePrior, pair: list[int],
    at: I64,
) -> float:  # fmt: skip
    """Log of p(z, g, w) of two topics over that of their union; ``at`` are their tokens in order."""
    docs = np.searchsorted(corpus.tokens.indptr, at, side="right")
    starts = np.append(np.flatnonzero(np.diff(docs, prepend=-1)), len(at))
    side = (chain.z[at] == pair[1]).astype(np.int64)
    counts = np.ascontiguousarray(chain.counts.term_topic[:, pair].T, np.float64)
    g = float(root[pair[0]] + root[pair[1]])
    share = float(root[pair[0]]) / g
    if not 0.0 < share < 1.0:
        return np.inf
    return float(
        divide.log_gain(side, counts, starts, share, prior.alpha * g, g, prior.gamma, prior.beta)
    )


def merge_topics(
    chain: FranchiseChain, corpus: FranchiseData, root: F64, prior: FranchisePrior
) -> int:
    """Merge each topic with the most similar one if p(z, g, w) rises, in place; returns how many.

    The smallest topic comes first. A topic is merged at most once. The tables must be drawn anew afterwards.
    """
    topic, alike, n_merged = chain.counts.topic, likeness(chain), 0
    tokens = np.argsort(chain.z, kind="stable")
    ends = np.cumsum(np.bincount(chain.z, minlength=len(topic)))
    of = [tokens[hi - int(n) : hi] for hi, n in zip(ends.tolist(), topic.tolist(), strict=True)]
    is_free = topic > 0
    for k in np.argsort(topic, kind="stable").tolist():
        weights = np.where(is_free, alike[k], 0.0)
        other = int(np.argmax(weights))
        if not is_free[k] or weights[other] <= 0.0:
            continue
        at = np.sort(np.concatenate([of[k], of[other]]))
        if log_gain(chain, corpus, root, prior, [other, k], at) < 0.0:
            split_merge.unite(chain.z, tuple(chain.counts), root, other, k)
            is_free[[k, other]] = False
            n_merged += 1
    return n_merged
