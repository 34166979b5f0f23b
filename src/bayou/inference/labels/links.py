"""Topics over labels, the upper level: LDA whose tokens are labels.

    p(z'_dj = k | y_dj = y, rest) ~ (n_yk + b) / (n_k + L b) (n_dk + a_k)

Tokens are the labels of each document, one of each, or the labels of its words. Greedy training learns the
lower level to its end first, then the upper level: nothing flows back, so each converges on its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from bayou.inference.labels import assignments, training
from bayou.inference.labels.assignments import LabelChain, LabelData, LabelPrior
from bayou.inference.labels.training import LabelCounts
from bayou.inference.lda.arrays import F32, F64, I64, U16, U32, Each
from bayou.kernels.labels import links
from bayou.kernels.lda.sweep import gibbs_sweep
from bayou.kernels.rng import MEMBER, key

TOKENS = ("label", "word")
MOST_TOPICS = 100  # default number of topics over labels where there are more labels


class LinkChain(NamedTuple):
    """The label tokens of one chain, with their counts."""

    labels: U32  # of each token; those of word tokens change from sweep to sweep
    z: U16
    kept: F32  # sum of n_yk, or of phi', over the kept sweeps
    label_topic: F32  # n_yk
    topic: F64  # n_k


class LinkData(NamedTuple):
    """What the upper levels of all chains share."""

    indptr: I64  # label tokens of each document
    alpha: F64  # prior of a document's topics
    beta: float  # prior of a topic's labels
    by_word: bool  # whether words' labels are the tokens


class LevelPlan(NamedTuple):
    """Documents and priors of both levels, number of chains and seed."""

    data: LabelData
    prior: LabelPrior
    link: LinkData
    n_chains: int
    seed: int
    together: bool = False  # draw labels and topics of tokens in one sweep, not greedily
    blocked: bool = True  # label and topic of a token in one draw

    @property
    def dims(self) -> dict[str, int]:
        """Sizes that the arrays of a checkpoint must have."""
        own = {"label_tokens": int(self.link.indptr[-1]), "topics": len(self.link.alpha)}
        return {**training.dims(self.data, self.n_chains), **own}

    def n_done(self, state: Any) -> int:
        """Sweeps so far, of both levels."""
        return int(state.step + (0 if self.together else state.link_step))


class Levels(NamedTuple):
    """The counts of both levels, which sweeps keep up to date."""

    plan: LevelPlan
    counts: LabelCounts
    chains: tuple[LinkChain, ...]


def link_seed(seed: int, chain: int) -> int:
    """The seed of the upper level of one chain."""
    return int(key(seed, MEMBER, chain, 56)) & 0x7FFFFFFF


def link_data(data: LabelData, tokens: str, alpha: F64, beta: float) -> LinkData:
    """Where the label tokens of each document are."""
    by_word = tokens == "word"
    return LinkData(data.token_ptr if by_word else data.label_ptr, alpha, float(beta), by_word)


def start(plan: LevelPlan) -> U16:
    """Topics of label tokens at random (chains x tokens)."""
    link = plan.link
    z = np.zeros((plan.n_chains, int(link.indptr[-1])), np.uint16)
    for c in range(plan.n_chains):
        links.start_links(z[c], link.indptr, len(link.alpha), link_seed(plan.seed, c))
    return z


def count(state: Any, plan: LevelPlan, each: Each) -> Levels:
    """The counts of both levels that follow from a state with fields `link_z` and `link_kept`."""
    data, link = plan.data, plan.link
    counts = training.count(state, data, plan.prior, each)
    out = []
    for c, (mine, sums) in enumerate(zip(state.link_z, state.link_kept, strict=True)):
        chain = LinkChain(
            np.zeros(len(mine), np.uint32) if link.by_word else data.label_ids.astype(np.uint32),
            mine,
            sums,
            np.zeros((data.n_labels, len(link.alpha)), np.float32),
            np.zeros(len(link.alpha)),
        )
        if link.by_word and counts.soft is None:
            z = counts.chains[c].z
            links.labels_of(chain.labels, z, data.token_ptr, data.label_ptr, data.label_ids)
        links.count_links(chain.label_topic, chain.topic, chain.labels, chain.z)
        out.append(chain)
    return Levels(plan, counts, tuple(out))


def each_chain(work: Any, levels: Levels, each: Each) -> None:
    """Run ``work(lo, hi)`` for the upper levels of all chains, on several threads."""
    link = levels.plan.link
    size = int(link.indptr[-1]) * len(link.alpha)
    each(work, np.arange(len(levels.chains) + 1, dtype=np.int64) * max(size, 1), 1.0)


def sweep(chain: LinkChain, link: LinkData, keep: bool, seed: int, step: int) -> None:
    """One Gibbs sweep of the topics of label tokens, in place."""
    tokens = (link.indptr, chain.labels)
    gibbs_sweep(chain.z, tokens, chain.label_topic, chain.topic, link.alpha, link.beta, seed, step)
    if keep:
        chain.kept[:] += chain.label_topic


def draw_word_labels(levels: Levels, c: int, step: int) -> None:
    """Draw the labels of word tokens of a chain from the lower level, and count them."""
    plan, counts, chain = levels.plan, levels.counts, levels.chains[c]
    data = plan.data
    if counts.soft is not None:
        seed = link_seed(plan.seed, c)
        links.draw_shares(chain.labels, data.whole, counts.soft.share, seed, step)
    else:
        below, seed = counts.chains[c], training.chain_seed(plan.seed, c)
        assignments.draw(below, data, plan.prior, seed, (1 << 20) + step, False)
        links.labels_of(chain.labels, below.z, data.token_ptr, data.label_ptr, data.label_ids)
    links.count_links(chain.label_topic, chain.topic, chain.labels, chain.z)


def block_sweep(
    chain: LinkChain, below: LabelChain, plan: LevelPlan, keep: bool, seed: int, step: int
) -> None:
    """One sweep that draws label and topic of every token, in place."""
    data, prior, link = plan.data, plan.prior, plan.link
    links.block_sweep(
        below.z, chain.z, data.whole, below.cells, below.totals, (prior.beta, prior.vbeta),
        (chain.label_topic, chain.topic, link.alpha, link.beta),
        below.kept if keep else below.kept[:0], plan.blocked, seed, step,
    )  # fmt: skip
    if keep:
        chain.kept[:] += chain.label_topic


def link_rows(chains: tuple[LinkChain, ...], n_kept: int, beta: float) -> F64:
    """phi' = (n_ky + b) / (n_k + L b), chains one below the other (chains x topics, labels)."""
    out = []
    for chain in chains:
        counts = (chain.kept / n_kept if n_kept > 0 else chain.label_topic).astype(np.float64)
        out.append(((counts + beta) / (counts.sum(axis=0) + beta * len(counts))).T)
    return np.ascontiguousarray(np.vstack(out))
