"""Births, deaths and merges of the topics of a stream after a mini-batch.

Two topics are merged if a single topic explains their words better. With DM(n) the probability of counts
under Dir(beta), topics integrated out, the log Bayes factor of one topic against two is
ln DM(n_j + n_k) - ln DM(n_j) - ln DM(n_k). It ignores the documents, which always prefer fewer topics, so it
is the conservative part of the joint density. Without merging, similar topics share a theme for ever, because
no mini-batch separates them.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from bayou.inference.hdp import root
from bayou.inference.hdp.root import SPARE, TopicIds
from bayou.inference.lda.arrays import F32, F64, I64
from bayou.inference.lda.stream import StreamCounts

# Least cosine of square roots of a pair that is tested. On Daily Kos merging from 0.6 on costs 0.05 nats per
# token of held-out text, from 0.8 on 0.02, from 0.9 on nothing. Planted duplicates are above 0.9.
ALIKE = 0.9


def evidence(counts: F64, beta: float) -> F64:
    """ln DM of each column of counts (terms x topics)."""
    vbeta = len(counts) * beta
    words = (gammaln(counts + beta) - gammaln(beta)).sum(axis=0)
    return np.asarray(words + gammaln(vbeta) - gammaln(counts.sum(axis=0) + vbeta), np.float64)


def gain(counts: F64, beta: float) -> float:
    """The log Bayes factor of one topic against two, for two columns of counts."""
    one = evidence(counts.sum(axis=1, keepdims=True), beta)
    return float(one[0] - evidence(counts, beta).sum())


def pairs(raw: F32, live: I64) -> list[tuple[int, int]]:
    """Pairs of similar live topics, each topic in at most one pair, the most similar first."""
    roots = np.sqrt(raw[:, live])
    roots /= np.maximum(np.linalg.norm(roots, axis=0), 1e-30)
    cosine = roots.T @ roots
    np.fill_diagonal(cosine, 0.0)
    best, free, found = cosine.argmax(axis=1), np.ones(len(live), bool), []
    for a in np.argsort(-cosine.max(axis=1), kind="stable").tolist():
        b = int(best[a])
        if cosine[a, b] >= ALIKE and free[a] and free[b]:
            free[[a, b]] = False
            found.append((int(live[a]), int(live[b])))
    return found


def merge_topics(g: StreamCounts, tables: F64, names: TopicIds, live: I64, beta: float) -> TopicIds:
    """The topics after merging; counts and tables change in place. The id with more tables stays.

    A merged topic may be merged with a third: rounds are repeated until no pair is left.
    """
    ids = names.ids.copy()
    while len(live) > 1:
        lost = []
        for pair in pairs(g.raw, live):
            if gain(g.scale * g.raw[:, list(pair)].astype(np.float64), beta) <= 0.0:
                continue
            kept, gone = sorted(pair, key=lambda k: -tables[k])
            for array in (g.raw.T, g.topic, tables):
                array[kept] += array[gone]
                array[gone] = 0.0
            lost.append(gone)
        if not lost:
            break
        ids[lost], live = SPARE, np.setdiff1d(live, lost)
    return TopicIds(ids, names.n_born, names.n_died + int((names.ids != ids).sum()))


def settle_births(g: StreamCounts, tables: F64, topics: TopicIds) -> TopicIds:
    """Truncation-free: births and deaths. Slots without a topic are cleared in place."""
    topics, _ = root.settle_topics(topics, tables)
    _clear(g, tables, np.flatnonzero(topics.ids == SPARE))
    return topics


def settle_slots(
    g: StreamCounts, tables: F64, topics: TopicIds, beta: float, *, ripe: bool, merging: bool
) -> TopicIds:
    """Over a fixed number of slots: births, deaths and, if ``ripe``, small topics dropped and merges.

    Slots of dead topics are cleared in place. A spare slot keeps its counts until its topic is born.
    """
    topics, dead = root.settle_topics(topics, tables)
    if ripe:
        topics, few = root.drop_small_topics(topics, tables)
        dead = np.append(dead, few)
    _clear(g, tables, dead)
    if not (ripe and merging):
        return topics
    return merge_topics(g, tables, topics, root.living(topics, tables, g.topic), beta)


def _clear(g: StreamCounts, tables: F64, slots: I64) -> None:
    g.raw[:, slots], g.topic[slots], tables[slots] = 0.0, 0.0, 0.0
