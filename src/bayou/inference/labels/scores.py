"""Labels of new documents under fixed counts: a prior from topics over labels, then the words.

With phi (terms of labels) and phi' (labels of topics) fixed, the labels of tokens are summed out exactly:
psi_vk = sum_y phi_vy phi'_ky is the probability of a term in a topic over labels, and inferring a document's
topics is plain LDA under psi. Topics give a prior of labels, pi_dy = sum_k theta_dk phi'_ky, and then

    tokens (S1)     S_dy = mean over tokens of phi_vy pi_dy / sum_j phi_vj pi_dj
    document (S2)   labelled LDA of the document with the prior (strength) pi_d

Rows sum to one, so documents are comparable. Terms without counts in any label are left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda import arrays, documents, fold_in
from bayou.inference.lda.arrays import F64, Each
from bayou.inference.lda.documents import Pairs
from bayou.kernels.labels import scores as label_scores
from bayou.results.label_posterior import LabelPosterior

STEPS = 10  # of labelled LDA on a document; more hardly change scores
LABEL_COST = 30.0  # approximate nanoseconds for the labels of a pair


class LabelScores(NamedTuple):
    """Scores of documents, and the prior they were inferred with."""

    scores: F64  # documents x columns; rows sum to one
    prior: F64  # pi: documents x columns, or one row for all documents


def pairs_with_labels(counts: csr_array, post: LabelPosterior) -> Pairs:
    """Pairs of the terms that have counts in some label."""
    pairs = documents.pairs_of(counts)
    keep = np.diff(post.term_label.indptr)[pairs.terms] > 0
    ends = np.concatenate([[0], np.cumsum(keep)])
    return Pairs(ends[pairs.indptr].astype(np.int64), pairs.terms[keep], pairs.counts[keep])


def member_topics(post: LabelPosterior, member: int, pairs: Pairs, each: Each) -> arrays.F32:
    """Expected tokens of each topic over labels in documents (documents x topics), in one chain."""
    return fold_in.expected_counts(post.topics[member], post.alpha_of(member), pairs, each)


def label_priors(post: LabelPosterior, pairs: Pairs, each: Each) -> F64:
    """pi: prior of each document's labels, the mean of all chains; one row without topics over labels."""
    if not post.n_topics:
        return np.asarray(post.alpha / post.alpha.sum(), np.float64)[None]
    out = np.zeros((pairs.n_docs, post.n_columns))
    cost = 0.5 * post.n_columns * post.n_topics
    for member in range(post.n_members):
        counts = member_topics(post, member, pairs, each)
        links = arrays.writable(post.member_links(member))
        alpha = arrays.writable(post.alpha_of(member))

        def work(
            lo: int, hi: int, counts: arrays.F32 = counts, links: F64 = links, alpha: F64 = alpha
        ) -> None:
            label_scores.label_priors(out, counts, lo, hi, alpha, links)

        each(work, np.arange(pairs.n_docs + 1, dtype=np.int64), cost)
    out /= out.sum(axis=1, keepdims=True)
    return out


def infer(post: LabelPosterior, pairs: Pairs, each: Each) -> LabelScores:
    """Scores of all columns, labels and free topics."""
    prior = label_priors(post, pairs, each)
    steps, strength = (1, 0.0)
    if not post.n_topics:
        steps, strength = STEPS, float(post.alpha.sum())
    elif post.score == "document":
        steps, strength = STEPS, -1.0
        if post.strength >= 0:
            prior = _flatten_prior(prior, post)
            strength = post.strength + float(post.alpha.sum())
    out = np.empty((pairs.n_docs, post.n_columns))
    words, base, plain = *_kernel_arrays(post), tuple(pairs)

    def work(lo: int, hi: int) -> None:
        label_scores.score_docs(out, plain, lo, hi, words, base, prior, strength, steps)

    each(work, pairs.indptr, LABEL_COST * steps)
    return LabelScores(out, prior)


def _kernel_arrays(post: LabelPosterior) -> tuple[tuple[Any, ...], Any]:
    """The terms of labels as kernels take them; read-only arrays are copied, which saves a compilation."""
    return tuple(map(arrays.writable, post.words)), arrays.writable(post.base)


def _flatten_prior(prior: F64, post: LabelPosterior) -> F64:
    """(strength pi + alpha) / (strength + sum alpha): the prior of Dependency-LDA, which sums to one."""
    return np.asarray(
        (post.strength * prior + post.alpha) / (post.strength + post.alpha.sum()), np.float64
    )


def label_shares(post: LabelPosterior, found: LabelScores) -> F64:
    """Scores of labels without free topics, mixed with their prior; rows sum to one (documents x labels)."""
    own = _normalise(found.scores[:, : post.n_labels])
    if post.mix == 0.0:
        return own
    prior = _normalise(found.prior[:, : post.n_labels])
    own *= 1.0 - post.mix
    prior *= post.mix
    own += prior
    return own


def _normalise(scores: F64) -> F64:
    total = scores.sum(axis=1, keepdims=True)
    if (total > 0).all():
        return np.asarray(scores / total, np.float64)
    even = np.full_like(scores, 1.0 / scores.shape[1])
    return np.asarray(np.divide(scores, total, out=even, where=total > 0), np.float64)


def token_votes(post: LabelPosterior, pairs: Pairs, d: int, found: LabelScores) -> F64:
    """Part of each label's score that comes from each term of a document (terms x labels)."""
    at = slice(pairs.indptr[d], pairs.indptr[d + 1])
    terms, counts = pairs.terms[at], pairs.counts[at].astype(np.float64)
    prior = found.prior[d if len(found.prior) > 1 else 0]
    weight = _last_weight(post, pairs, d, prior)
    sparse = csr_array(
        (post.rate, post.term_label.indices, post.term_label.indptr), shape=post.term_label.shape
    )
    votes = (sparse[terms].toarray().astype(np.float64) + post.base) * weight
    total = votes.sum(axis=1, keepdims=True)
    votes = np.divide(votes, total, out=np.zeros_like(votes), where=total > 0) * counts[:, None]
    votes = votes[:, : post.n_labels]
    mass = votes.sum()
    return np.asarray(votes * ((1.0 - post.mix) / mass) if mass > 0 else votes, np.float64)


def _last_weight(post: LabelPosterior, pairs: Pairs, d: int, prior: F64) -> F64:
    """The weights of labels that the last step of `infer` used."""
    one = documents.select(pairs, np.array([d]))
    dependent = post.n_topics > 0
    if dependent and post.score == "tokens":
        return prior
    strength = float(post.alpha.sum()) + (post.strength if dependent else 0.0)
    if dependent and post.strength < 0:
        strength = one.n_tokens
    out = np.empty((1, post.n_columns))
    label_scores.score_docs(
        out, tuple(one), 0, 1, *_kernel_arrays(post), prior[None], strength, STEPS - 1
    )
    return np.asarray(strength * prior + one.n_tokens * out[0], np.float64)
