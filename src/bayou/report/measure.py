"""Numbers of a report with 95 % intervals over documents."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.data.corpus import Corpus
from bayou.metrics import completion_halves, log_likelihood_rows
from bayou.results.posterior import Posterior

Floats = NDArray[np.float64]

Z95 = 1.959964  # normal quantile of a two-sided 95 % interval


class Estimate(NamedTuple):
    """Value with its 95 % interval."""

    value: float
    low: float
    high: float


class HeldOut(NamedTuple):
    """Document completion: log-likelihood per token of one half of each document, given the other half."""

    score: Estimate
    baseline: Estimate  # one-topic model: term frequencies of the corpus
    gain: Estimate  # score minus baseline, paired by document
    n_docs: int
    n_tokens: float  # scored tokens
    n_known: int  # documents whose ids also occur in the corpus


def columns_of(corpus: Corpus, posterior: Posterior) -> Any:
    """Counts of the corpus in the model's columns, matched by term if both have a vocabulary."""
    mine, theirs = posterior.vocabulary, corpus.vocabulary
    if mine is None or theirs is None or mine == theirs:
        return corpus.counts
    known = [(v, mine.index(term)) for v, term in enumerate(theirs) if term in mine]
    rows, columns = np.array(known, np.int64).reshape(-1, 2).T
    pick = csr_array((np.ones(len(rows), np.float32), (rows, columns)), (len(theirs), len(mine)))
    return csr_array(corpus.counts @ pick)


def ratios(values: Floats, weights: Floats) -> list[Estimate]:
    """Weighted means of the columns over documents, with intervals.

    A mean is a ratio of two sums over documents. Its interval follows from the linear part of the
    ratio, w_d (x_d - mean) / sum w, and agrees with resampling of documents.
    """
    total = weights.sum()
    if total <= 0:
        return [Estimate(math.nan, math.nan, math.nan)] * values.shape[1]
    means = weights @ values / total
    squares = weights**2
    n = int((weights > 0).sum())
    spread = np.einsum("d,dk,dk->k", squares, values, values)
    spread += means**2 * squares.sum() - 2 * means * (squares @ values)
    half = Z95 * np.sqrt(np.maximum(spread, 0.0) * n / max(n - 1, 1)) / total
    if n == 1:
        half = np.full_like(means, math.nan)
    return [
        Estimate(float(m), float(m - h), float(m + h)) for m, h in zip(means, half, strict=True)
    ]


def shares(doc_topics: Floats, lengths: Floats) -> list[Estimate]:
    """Share of all tokens per topic; intervals are clipped to [0, 1]."""
    return [clip_share(share) for share in ratios(doc_topics, lengths)]


def clip_share(share: Estimate) -> Estimate:
    """Clip the interval of a share to [0, 1]."""
    return Estimate(share.value, max(share.low, 0.0), min(share.high, 1.0))


def score_held_out(model: Any, corpus: Corpus, scored_on: Corpus) -> HeldOut | None:
    """Score documents as ``model.score`` does, with intervals and the one-topic baseline.

    None if no document has two tokens of the model's vocabulary.
    """
    posterior: Posterior = model.posterior_
    observed, scored = completion_halves(columns_of(scored_on, posterior))
    lengths = np.asarray(scored.sum(axis=1), np.float64).ravel()
    if lengths.sum() <= 0:
        return None
    doc_topics = model.transform(Corpus(counts=observed, vocabulary=posterior.vocabulary))
    sums = log_likelihood_rows(posterior.topics, doc_topics, scored).sums
    counts = np.asarray(columns_of(corpus, posterior).sum(axis=0), np.float64).ravel()
    smooth = counts + posterior.beta
    plain = scored @ np.log(smooth / smooth.sum())
    safe = np.maximum(lengths, 1e-300)
    per_token = np.column_stack([sums, plain, sums - plain]) / safe[:, None]
    score, baseline, gain = ratios(per_token, lengths)
    known = len(set(corpus.ids or ()) & set(scored_on.ids or ()))
    n_docs = int((lengths > 0).sum())
    return HeldOut(score, baseline, gain, n_docs, float(lengths.sum()), known)


def perplexity(score: Estimate) -> Estimate:
    """exp(-score): the number of equally likely terms that would be as hard to predict."""
    return Estimate(math.exp(-score.value), math.exp(-score.high), math.exp(-score.low))
