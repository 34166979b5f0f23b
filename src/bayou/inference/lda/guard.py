"""The guard of the fast inference: documents that are kept out of training and scored after each pass."""

from __future__ import annotations

import math

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda import arrays, documents, fold_in
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.lda.documents import Pairs
from bayou.kernels.lda import em as kernels
from bayou.metrics.likelihood import completion_halves


def unigram_score(train: Pairs, scored: Pairs, n_terms: int, beta: float) -> float:
    """Mean log-probability of the scored tokens under the smoothed distribution of all terms."""
    if scored.n_tokens == 0:
        return -math.inf
    mass = np.bincount(train.terms, weights=train.counts, minlength=n_terms) + beta
    logs = np.log(mass / mass.sum())
    return float((scored.counts * logs[scored.terms]).sum() / scored.n_tokens)


def split_tokens(guard: Pairs, n_terms: int) -> tuple[Pairs, Pairs]:
    """The tokens of each document in two halves: observed and scored."""
    shape = (guard.n_docs, n_terms)
    observed, scored = completion_halves(
        csr_array((guard.counts, guard.terms, guard.indptr), shape)
    )
    return documents.pairs_of(observed), documents.pairs_of(scored)


def add_documents(counts: F32, guard: Pairs, alpha: F64, beta: float, each: Each) -> None:
    """Add the expected counts of the documents under the topics of ``counts`` to them, in place."""
    if guard.n_docs == 0:
        return
    n_terms, n_topics = counts.shape
    rows = arrays.topic_rows(counts, beta, each)
    doc_topic = fold_in.expected_counts(rows, alpha, guard, each)
    theta = np.empty((guard.n_docs, n_topics), np.float32)
    ratio = np.empty(len(guard.terms), np.float32)
    one, zero = np.float32(1.0), np.float32(0.0)
    both = (alpha.astype(np.float32), np.ones(n_topics, np.float32))
    kernels.plain_docs(
        doc_topic, theta, ratio, tuple(guard), 0, 0, guard.n_docs, rows, one, zero, both, 1
    )
    index = documents.index_pairs(guard, 0, guard.n_docs, n_terms)
    kernels.plain_terms(
        counts, tuple(index), 0, len(index.terms), theta, ratio, rows, one, zero, one
    )
