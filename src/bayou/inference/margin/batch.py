"""A mini-batch of documents with responses. Its terms are numbered 0, 1, ... within the batch."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.data.schema import LEAST_FLOAT
from bayou.inference.lda import documents
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, I64, U64, Each
from bayou.inference.lda.documents import Pairs, Tokens
from bayou.inference.margin import features
from bayou.inference.margin.examples import Examples
from bayou.kernels.lda import cavity
from bayou.kernels.margin import online as kernels
from bayou.kernels.margin import tilted_sweep


class MarginBatch(NamedTuple):
    """Documents of one step. ``pairs`` and ``tokens`` give terms by their place in ``terms``."""

    terms: I64
    pairs: Pairs  # damped counts
    tokens: Tokens  # one entry per occurrence, shuffled within documents
    ids: U64
    weight: F32  # of each term's tokens in a document's average topics
    y: F64  # documents x tasks: +1 and -1, or numbers; 0 where not known
    cost: F64  # documents x tasks; 0 where not known
    dear: F64  # documents x tasks: factor on the linear term of a positive label
    seen: F64  # documents so far that each term was in, this batch included

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self.ids)


class TopicPosterior(NamedTuple):
    """Topics as expected counts: Delta_vk = beta + scale raw_vk, with sum_v (Delta_vk - beta) = topic_k."""

    raw: F32 | F64
    scale: float
    topic: F64
    beta: float


def make(
    examples: Examples, y: F64, cost: F64, n_terms: int, tf: str, seed: int, step: int, *,
    shuffle: bool = True,
) -> MarginBatch:  # fmt: skip
    """The documents as mini-batch ``step`` of a stream; all terms weigh one.

    Tokens of a document are in random order, or in that of their terms.
    """
    shape = (examples.n_docs, n_terms)
    counts = csr_array(
        (examples.data.astype(np.float32), examples.indices, examples.indptr), shape=shape
    )
    terms, places = np.unique(examples.indices, return_inverse=True)
    damped = lda_features.damp_counts(counts, tf).data
    pairs = Pairs(examples.indptr, places.astype(np.int32), np.ascontiguousarray(damped))
    ids = np.empty(examples.n_docs, np.uint64)
    kernels.number_documents(ids, seed, step)
    tokens = documents.tokens_of(pairs)
    if shuffle:
        tilted_sweep.shuffle_tokens(tokens.terms, tokens.indptr, ids, seed)
    ones = np.ones(len(terms), np.float32)
    none = np.zeros(len(terms))
    return MarginBatch(terms, pairs, tokens, ids, ones, y, cost, np.ones(y.shape), none)


def frequencies(batch: MarginBatch) -> F64:
    """Number of documents that each term is in."""
    return np.bincount(batch.pairs.terms, minlength=len(batch.terms)).astype(np.float64)


def prior_rows(known: TopicPosterior, terms: I64, each: Each) -> F32:
    """exp(psi(Delta)) of some terms before the batch, common to all rounds (terms x topics)."""
    base = np.empty((len(terms), len(known.topic)), np.float32)

    def work(lo: int, hi: int) -> None:
        kernels.prior_rows(base, terms, lo, hi, known.raw, known.scale, known.beta)

    each(work, np.arange(len(terms) + 1, dtype=np.int64), 15.0 * base.shape[1])
    return base


def expected_rows(
    known: TopicPosterior, terms: I64, added: F64, each: Each, base: F32 | None = None
) -> F32:
    """exp(E ln phi) under Delta + added, each term up to a factor (terms of the batch x topics).

    ``base`` is the result of `prior_rows`, if it is known already.
    """
    rows = np.empty(added.shape, np.float32)
    made = prior_rows(known, terms, each) if base is None else base
    total = known.topic + added.sum(axis=0) + len(known.raw) * known.beta
    means = [kernels.exp_digamma(x) for x in total.tolist()]
    inv = np.array(
        [1.0 / mean if mean > LEAST_FLOAT else 0.0 for mean in means]
    )  # 0: an empty topic

    def work(lo: int, hi: int) -> None:
        kernels.expected_rows(
            rows, made, terms, lo, hi, known.raw, known.scale, added, known.beta, inv
        )

    each(work, np.arange(len(terms) + 1, dtype=np.int64), 5.0 * len(inv))
    return rows


def mean_rows(known: TopicPosterior, terms: I64, each: Each) -> F32:
    """E phi of some terms (terms x topics)."""
    rows = np.empty((len(terms), len(known.topic)), np.float32)
    inv = 1.0 / (known.topic + len(known.raw) * known.beta)

    def work(lo: int, hi: int) -> None:
        kernels.mean_rows(rows, terms, lo, hi, known.raw, known.scale, known.beta, inv)

    each(work, np.arange(len(terms) + 1, dtype=np.int64), 2.0 * len(inv))
    return rows


def averages(rows: F32, alpha: F64, weight: F32, pairs: Pairs, each: Each) -> F32:
    """zbar of documents without their labels, under the rows of their terms (documents x topics)."""
    out = np.empty((pairs.n_docs, len(alpha)), np.float32)
    a32 = alpha.astype(np.float32)

    def work(lo: int, hi: int) -> None:
        cavity.zbar_docs(out, tuple(pairs), lo, hi, rows, a32, weight, features.N_PASSES)

    each(work, pairs.indptr, 5.0 * len(alpha))
    return out
