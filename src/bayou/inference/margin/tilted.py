"""Drawing topics of tokens under words and labels: the one driver of `kernels.margin.tilted_sweep`.

Batch chains sample under word counts (`words_by_counts`), online models under given topics
(`words_by_topics`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, U16, U64
from bayou.inference.lda.documents import Tokens
from bayou.kernels.margin import tilted_sweep
from bayou.kernels.rng import TOKEN

NO_SPREAD = np.empty((0, 0, 0), np.float32)  # weights without a covariance


class WeightedTokens(NamedTuple):
    """Documents as a sampler of topics needs them."""

    tokens: Tokens
    ids: U64  # keys of the documents
    rho: F32  # a weight per token; those of a document sum to one


class Tilt(NamedTuple):
    """What labels add to the weight of a topic (`kernels.margin.tilt`)."""

    omega: F32  # documents x tasks
    kappa: F32
    eta: F32  # tasks x topics: weights, or their means
    spread: F32 = NO_SPREAD  # covariance of the weights: of each task, of all, or none


class WordWeights(NamedTuple):
    """What words add to the weight of a topic: (n_vk + beta) / (n_k + V beta), or phi_vk."""

    counts: F32  # n_vk, or phi_vk
    topic: F64  # n_k
    inverse: F32  # 1 / (n_k + V beta), or ones
    beta: float
    mode: int  # of `kernels.margin.tilted_sweep`


def words_by_counts(
    counts: F32, topic: F64, beta: float, n_terms: int, *, live: bool
) -> WordWeights:
    """Words by counts that follow every token (``live``), or that stay as they are."""
    inverse = (1.0 / (topic + n_terms * beta)).astype(np.float32)
    mode = tilted_sweep.LIVE if live else tilted_sweep.STILL
    return WordWeights(counts, topic, inverse, beta, mode)


def words_by_topics(rows: F32, n_topics: int) -> WordWeights:
    """Words by topics that are given, phi_vk."""
    return WordWeights(rows, np.empty(0), np.ones(n_topics, np.float32), 0.0, tilted_sweep.GIVEN)


def topic_draw(
    z: U16, docs: WeightedTokens, words: WordWeights, alpha: F32, tilt: Tilt, seed: int, step: int
) -> Callable[[int, int], None]:
    """Work that draws the topics of documents lo .. hi once, into ``z``."""
    toks = (docs.tokens.indptr, docs.tokens.terms, docs.ids)
    by_word = (words.counts, words.topic, words.inverse)
    prior = (alpha, np.float32(words.beta))

    def work(lo: int, hi: int) -> None:
        tilted_sweep.sweep_docs(
            z, toks, docs.rho, lo, hi, by_word, words.mode, prior, tuple(tilt), seed, TOKEN, step
        )

    return work
