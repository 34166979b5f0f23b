"""Topics over labels whose number is learned: two stacked hierarchical Dirichlet processes.

Documents draw from topics (root g), topics from labels (root h). Given the labels of tokens, topics are drawn
by direct assignment, tables at both levels as sums of Bernoulli draws, then roots and concentrations.
The number of topics is bounded; topics that lose their last token may get tokens again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.labels import roots
from bayou.inference.labels.roots import Level
from bayou.inference.lda.arrays import F32, F64, I64, U16, U32
from bayou.kernels.labels import stacked


class StackedChain(NamedTuple):
    """The state and counts of one chain; counts change in place."""

    z: U16  # topic of each label token
    label_topic: F32  # n_yk
    topic: F64  # n_k
    topics: Level  # g, b1, b0
    labels: Level  # h, c1, c0


def sweep(
    chain: StackedChain,
    tokens: tuple[I64, U32],
    learn: tuple[bool, bool, bool],
    seed: int,
    step: int,
) -> StackedChain:
    """Draw topics of all tokens, tables of documents and of topics, then roots and concentrations.

    ``learn``: whether the concentrations of documents [b1], of topics [c1] and of both roots are drawn.
    """
    g, h = chain.topics, chain.labels
    stacked.stack_sweep(chain.z, tokens, chain.label_topic, chain.topic, g.mass, h.mass, seed, step)
    return redraw_levels(chain, tokens[0], learn, seed, step)


def redraw_levels(
    chain: StackedChain, indptr: I64, learn: tuple[bool, bool, bool], seed: int, step: int
) -> StackedChain:
    """Tables of documents and of topics given the topics of tokens, then roots and concentrations."""
    g, h = chain.topics, chain.labels
    n_labels, n_topics = chain.label_topic.shape
    of_topics, of_docs = np.zeros(n_topics, np.int64), np.zeros(len(indptr) - 1, np.int64)
    of_labels, per_topic = np.zeros(n_labels, np.int64), np.zeros(n_topics, np.int64)
    upper, lower = roots.level_seed(seed, 0), roots.level_seed(seed, 1)
    stacked.document_tables(of_topics, of_docs, chain.z, indptr, g.mass, upper, step)
    stacked.topic_tables(of_labels, per_topic, chain.label_topic, h.mass, lower, step)
    sizes = np.diff(indptr)
    g = roots.redraw_level(g, of_topics, of_docs, sizes, (learn[0], learn[2]), upper, step)
    totals = np.rint(chain.topic).astype(np.int64)
    h = roots.redraw_level(h, of_labels, per_topic, totals, (learn[1], learn[2]), lower, step)
    return chain._replace(topics=g, labels=h)


def link_rows(chain: StackedChain) -> F64:
    """phi'_ky = (n_ky + c1 h_y) / (n_k + c1), topics x labels."""
    h = chain.labels
    found = (chain.label_topic.astype(np.float64) + h.mass[:, None]) / (chain.topic + h.below)
    return np.ascontiguousarray(found.T)
