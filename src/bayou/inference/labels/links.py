"""Topics over labels, trained on the labels of documents or of their tokens.

Greedy training is two models, one on the other: labelled LDA of the words, then LDA of the labels it gives.
What is found above does not come back down, so each floor may be trained to its end before the next.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from bayou.inference.labels import assignments, training
from bayou.inference.lda.arrays import F32, F64, I64, U16, U32
from bayou.kernels.labels import links
from bayou.kernels.lda.sweep import gibbs_sweep
from bayou.kernels.rng import MEMBER, key

TOKENS = ("label", "word")


class LinkChain(NamedTuple):
    """The tokens of one chain upstairs, with their counts."""

    labels: U32  # of each token; those of word tokens change from sweep to sweep
    z: U16
    kept: F32  # sum of n_yk over the sweeps that are kept
    label_topic: F32  # n_yk
    topic: F64  # n_k


class LinkData(NamedTuple):
    """What the floors of all chains share."""

    indptr: I64
    alpha: F64  # of a document's topics
    beta: float  # of a topic's labels
    by_word: bool


def link_seed(seed: int, chain: int) -> int:
    """The seed of one chain upstairs."""
    return int(key(seed, MEMBER, chain, 56)) & 0x7FFFFFFF


def plan(data: assignments.LabelData, p: SimpleNamespace, alpha: F64) -> LinkData:
    """Where each document's tokens upstairs are."""
    by_word = p.dep_tokens == "word"
    return LinkData(
        data.token_ptr if by_word else data.label_ptr, alpha, float(p.beta_labels), by_word
    )


def start(link: LinkData, n_chains: int, seed: int) -> U16:
    """Topics at random (chains x tokens)."""
    z = np.zeros((n_chains, int(link.indptr[-1])), np.uint16)
    for c in range(n_chains):
        links.start_links(z[c], link.indptr, len(link.alpha), link_seed(seed, c))
    return z


def link_chains(
    z: U16, kept: F32, data: assignments.LabelData, link: LinkData, counts: training.LabelCounts
) -> tuple[LinkChain, ...]:
    """Counts upstairs, from the labels of documents or of the tokens that the floor below has drawn."""
    out = []
    for c, (mine, sums) in enumerate(zip(z, kept, strict=True)):
        floor = LinkChain(
            np.zeros(len(mine), np.uint32) if link.by_word else data.label_ids.astype(np.uint32),
            mine,
            sums,
            np.zeros((data.n_labels, len(link.alpha)), np.float32),
            np.zeros(len(link.alpha)),
        )
        if link.by_word and counts.soft is None:
            below = counts.chains[c].z
            links.labels_of(floor.labels, below, data.token_ptr, data.label_ptr, data.label_ids)
        links.count_links(floor.label_topic, floor.topic, floor.labels, floor.z)
        out.append(floor)
    return tuple(out)


def sweep(floor: LinkChain, link: LinkData, keep: bool, seed: int, step: int) -> None:
    """One Gibbs sweep of a chain upstairs, in place: LDA whose terms are labels."""
    tokens = (link.indptr, floor.labels)
    gibbs_sweep(floor.z, tokens, floor.label_topic, floor.topic, link.alpha, link.beta, seed, step)
    if keep:
        floor.kept[:] += floor.label_topic


def relabel(
    floor: LinkChain,
    data: assignments.LabelData,
    prior: assignments.LabelPrior,
    counts: training.LabelCounts,
    c: int,
    seed: int,
    step: int,
) -> None:
    """New labels of word tokens from the floor below, and the counts upstairs that follow."""
    if counts.soft is not None:
        links.draw_shares(floor.labels, data.whole, counts.soft.share, link_seed(seed, c), step)
    else:
        chain = counts.chains[c]
        assignments.draw(chain, data, prior, training.chain_seed(seed, c), (1 << 20) + step, False)
        links.labels_of(floor.labels, chain.z, data.token_ptr, data.label_ptr, data.label_ids)
    links.count_links(floor.label_topic, floor.topic, floor.labels, floor.z)


def block_sweep(
    floor: LinkChain,
    chain: assignments.LabelChain,
    data: assignments.LabelData,
    prior: assignments.LabelPrior,
    link: LinkData,
    keep: bool,
    seed: int,
    step: int,
) -> None:
    """Both floors together, in place; for comparison with the greedy way."""
    links.block_sweep(
        chain.z, floor.z, data.whole, chain.cells, chain.totals, (prior.beta, prior.vbeta),
        (floor.label_topic, floor.topic, link.alpha, link.beta),
        chain.kept if keep else chain.kept[:0], seed, step,
    )  # fmt: skip
    if keep:
        floor.kept[:] += floor.label_topic


def links_of(floors: tuple[LinkChain, ...], n_kept: int, beta: float) -> F64:
    """phi' = (n_ky + b) / (n_k + L b), chains one below the other (chains x topics, labels)."""
    out = []
    for floor in floors:
        counts = (floor.kept / n_kept if n_kept > 0 else floor.label_topic).astype(np.float64)
        out.append(((counts + beta) / (counts.sum(axis=0) + beta * len(counts))).T)
    return np.ascontiguousarray(np.vstack(out))
