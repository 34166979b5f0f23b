"""Predictions of a topic model with linear weights: features, scores, topic proportions, explanations.

Everything follows from a `Posterior` and a `Response`. Topics of several chains are columns side by side.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda import documents, fold_in, sampled_fold_in
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.lda.documents import Pairs
from bayou.inference.margin import features
from bayou.inference.margin.setup import member_seed
from bayou.results.explanation import MarginExplanation
from bayou.results.posterior import Posterior, proportions
from bayou.results.response import Response


def chain_topics(post: Posterior, n_chains: int) -> list[tuple[F32, F64]]:
    """Topics (terms x topics) and prior of each chain."""
    if n_chains == 1:
        return [(post.rows, post.alpha)]
    size = post.n_topics // n_chains
    cuts = [slice(i * size, (i + 1) * size) for i in range(n_chains)]
    return [(np.ascontiguousarray(post.rows[:, c]), post.alpha[c]) for c in cuts]


def document_features(
    post: Posterior, resp: Response, counts: csr_array, tf: str, each: Each
) -> F32:
    """Average topics of documents under every chain (documents x topics)."""
    pairs = documents.pairs_of(lda_features.damp_counts(counts, tf))
    found = [
        features.zbar(rows, alpha, resp.term_weight, pairs, each)
        for rows, alpha in chain_topics(post, resp.n_members)
    ]
    return found[0] if len(found) == 1 else np.hstack(found)


def draw_features(
    post: Posterior, resp: Response, counts: csr_array, tf: str, seed: int, each: Each
) -> F32:
    """Average topics of documents from sampled z under one draw of the topics, as published.

    The draw is Dir(n_k + beta), with the counts n_vk that the mean topics stand for.
    """
    pairs = documents.pairs_of(lda_features.damp_counts(counts, tf))
    size, found = post.n_topics // resp.n_members, []
    for i, (rows, alpha) in enumerate(chain_topics(post, resp.n_members)):
        tokens = post.topic_tokens[i * size : (i + 1) * size]
        total = tokens + len(rows) * post.beta
        drawn = sampled_fold_in.draw_rows(
            np.maximum(rows * total - post.beta, 0.0), post.beta, member_seed(seed, i), each
        )
        found.append(
            sampled_fold_in.draw_zbar(
                drawn, alpha, resp.term_weight, pairs, member_seed(seed, i), each
            )
        )
    return found[0] if len(found) == 1 else np.hstack(found)


def task_scores(resp: Response, zbar: F32, counts: csr_array) -> F64:
    """Scores (documents x tasks) from average topics, and from words if the response has word weights."""
    # Row by row, so that a document's score does not depend on the documents around it.
    out = np.einsum("dk,kt->dt", zbar.astype(np.float64), resp.weights) + resp.intercept
    if resp.words is not None and resp.word_weight is not None:
        out += lda_features.unit_words(counts, resp.word_weight) @ resp.words.astype(np.float64)
    return np.asarray(out, np.float64)


def topic_proportions(
    post: Posterior, resp: Response, counts: csr_array, tf: str, each: Each
) -> F64:
    """Topic proportions of documents; rows sum to one over all chains together."""
    pairs = documents.pairs_of(lda_features.damp_counts(counts, tf))
    found = [
        proportions(fold_in.expected_counts(rows, alpha, pairs, each), alpha)
        for rows, alpha in chain_topics(post, resp.n_members)
    ]
    return np.hstack(found) / len(found)


def _follow_sample(shares: F64, zbar: F32, pairs: Pairs) -> F64:
    """Shares of terms that sum to sampled topics: each topic is divided as its expectation is."""
    out = shares.copy()
    for d in range(len(zbar)):
        at = slice(pairs.indptr[d], pairs.indptr[d + 1])
        if at.start == at.stop:
            continue
        expected = out[at].sum(axis=0)
        evenly = np.outer(pairs.counts[at] / pairs.counts[at].sum(), zbar[d])
        with np.errstate(divide="ignore", invalid="ignore"):
            out[at] = np.where(expected > 1e-30, out[at] * (zbar[d] / expected), evenly)
    return out


def explain_scores(
    post: Posterior, resp: Response, counts: csr_array, tf: str, names: Sequence[str],
    zbar: F32 | None = None,
) -> list[MarginExplanation]:  # fmt: skip
    """What each term adds to each score, per document.

    ``zbar``: average topics that were sampled. Default: their expectation.
    """
    chains = chain_topics(post, resp.n_members)
    pairs = documents.pairs_of(lda_features.damp_counts(counts, tf))
    shares = np.hstack(
        [features.term_shares(rows, alpha, resp.term_weight, pairs) for rows, alpha in chains]
    ).astype(np.float64)
    if zbar is not None:
        shares = _follow_sample(shares, zbar, pairs)
    empty = np.concatenate([alpha / alpha.sum() for _, alpha in chains]) @ resp.weights
    words = None
    if resp.words is not None and resp.word_weight is not None:
        words = lda_features.unit_words(counts, resp.word_weight)
    out = []
    for d in range(counts.shape[0]):
        at = slice(counts.indptr[d], counts.indptr[d + 1])
        terms = counts.indices[at]
        beside = np.zeros((len(terms), resp.n_tasks))
        if words is not None and resp.words is not None:
            beside = words.data[at][:, None] * resp.words[terms].astype(np.float64)
        out.append(
            MarginExplanation(
                classes=resp.classes, terms=tuple(names[v] for v in terms),
                counts=counts.data[at].astype(np.float64), shares=shares[at],
                weights=resp.weights, words=beside,
                base=resp.intercept + (empty if len(terms) == 0 else 0.0),
            )
        )  # fmt: skip
    return out
