"""Initialisation of topics by clusters of documents."""

from __future__ import annotations

import numpy as np

from bayou.inference.lda import arrays, documents, em
from bayou.inference.lda.arrays import F32, I64, Each
from bayou.inference.lda.documents import Pairs
from bayou.kernels.lda import cluster
from bayou.kernels.rng import INIT

SEEDED = 20_000  # documents from which the first centres are chosen
CLUSTERED = 400  # documents per topic that are clustered
ROUNDS = 10


def cluster_start(pairs: Pairs, n_terms: int, n_topics: int, seed: int, each: Each) -> F32:
    """Counts of topics that are each the mean of a cluster of documents and noise.

    The first documents are clustered, so they must be in random order. Every topic has about the same
    mass. The noise is `em.noise_start`, which keeps empty clusters different.
    """
    out = em.noise_start(pairs, n_terms, n_topics, seed, each)
    some = documents.select(pairs, np.arange(min(pairs.n_docs, CLUSTERED * n_topics)))
    index = documents.index_pairs(some, 0, some.n_docs, n_terms)
    chosen = cluster_documents(some, index, n_topics, seed, each)
    sums = np.zeros_like(out)
    _gather(sums, index, chosen, some.counts, each)
    size = arrays.topic_totals(sums)
    mass = pairs.n_tokens / n_topics
    sums *= np.divide(0.5 * mass, size, out=np.zeros_like(size), where=size > 0).astype(np.float32)
    out *= np.where(size > 0, 0.5, 1.0).astype(np.float32)
    out += sums
    return out


def cluster_documents(
    pairs: Pairs, index: documents.PairIndex, n_clusters: int, seed: int, each: Each
) -> I64:
    """The cluster of each document by spherical k-means; -1 for a document without weight.

    Seeds are chosen as in k-means++. Terms are weighted by inverse document frequency.
    """
    n_docs, n_terms = pairs.n_docs, int(index.terms.max(initial=-1)) + 1
    n_in = np.zeros(n_terms)
    n_in[index.terms] = np.diff(index.termptr)
    idf = np.log((n_docs + 1.0) / (n_in + 1.0)).astype(np.float32)
    weights, p = np.empty_like(pairs.counts), tuple(pairs)
    cluster.weigh_docs(weights, p, idf, 0, n_docs)
    seeds = np.zeros(n_clusters, np.int64)
    chosen = np.full(n_docs, -1)
    if not len(weights):
        return chosen
    cluster.spread_seeds(seeds, p, weights, min(n_docs, SEEDED), n_terms, seed, INIT)
    centres = np.zeros((n_terms, n_clusters), np.float32)
    for k, d in enumerate(seeds):
        span = slice(pairs.indptr[d], pairs.indptr[d + 1])
        centres[pairs.terms[span], k] = weights[span]

    def assign(lo: int, hi: int) -> None:
        cluster.nearest(chosen, p, weights, lo, hi, centres)

    for _ in range(ROUNDS):
        each(assign, pairs.indptr, 0.2 * n_clusters)
        _gather(centres, index, chosen, weights, each)
        length = np.zeros(n_clusters)
        cluster.column_squares(length, centres)
        centres /= np.sqrt(np.maximum(length, 1e-30)).astype(np.float32)
    each(assign, pairs.indptr, 0.2 * n_clusters)
    return chosen


def _gather(out: F32, index: documents.PairIndex, chosen: I64, values: F32, each: Each) -> None:
    def work(lo: int, hi: int) -> None:
        cluster.gather_terms(out, tuple(index), lo, hi, chosen, values)

    each(work, index.termptr, 5.0)
