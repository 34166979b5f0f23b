"""Statistics of change between a topic's memory and a slice, and their values without change.

Documents are bursty: a term that was used once is used again. So the null hypothesis draws every document of
the slice from an urn over the topic's memory (a Dirichlet-multinomial of concentration A), with as many
tokens as the document has in the topic. A is the maximum-likelihood estimate from the documents [Elkan06].

[Elkan06] Elkan. Clustering documents with an exponential-family approximation of the Dirichlet compound
multinomial distribution. ICML 2006.
[Benjamini95] Benjamini, Hochberg. Controlling the false discovery rate. JRSS B 57, 1995.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from bayou.inference.lda.arrays import F32, F64, I64, U16, Each, topic_totals
from bayou.inference.lda.documents import Tokens
from bayou.kernels.tracking import quiet, slices

N_NULL = 40  # most slices without change that are drawn for a topic
N_MEAN = 4  # most of them if only their mean is needed
EXTRA = 0.1  # least standard deviation of ln(drift / expected) between topics
_ERROR = (
    0.2  # error of the expected drift, in standard deviations of its score, that is small enough
)
LEAST_DOCS = 3  # documents of a term before it may be called emerging
_LEAST_TERMS = 20  # terms needed to estimate how much terms vary
_LEAST_WORTH, _HALVINGS = 5.0, 8  # documents, and steps of the search for the worth of a memory
_IN_TAIL = 5  # terms that decide how heavy the tail of rare terms is
_MEDIAN = 0.4549  # of a squared standard normal
_LEAST_A, _MOST_A = 0.5, 1e6
_CELL_COST = 25.0  # nanoseconds per token of a slice without change


class TermRepeats(NamedTuple):
    """Repetition of a term within documents, per topic."""

    times: I64  # tokens of each (document, topic, term) that has more than one
    shares: F64  # probability of the term in the memory of the topic
    n_once: int  # number of (document, topic, term) with one token
    once: float  # the sum of the logarithms of their probabilities
    lengths: I64  # topics x documents


class Drift(NamedTuple):
    """The divergence of every topic from its memory; NaN for a topic without tokens."""

    value: F64  # JSD in bits
    expected: F64  # its mean in slices without change
    spread: F64  # standard deviation of its logarithm there
    hellinger: F64


def count_repeats(z: U16, tokens: Tokens, memory: F32) -> TermRepeats:
    """Count tokens of equal document, topic and term; equal terms of a document are adjacent.

    Tokens of topics without a column in ``memory`` (terms x topics) are left out.
    """
    times, shares = np.empty(len(z) // 2 + 1, np.int64), np.empty(len(z) // 2 + 1)
    lengths = np.zeros((memory.shape[1], tokens.n_docs), np.int64)
    scale = inverse_sums(memory)
    n, n_once, once = slices.repeats_into(times, shares, lengths, z, tuple(tokens), memory, scale)
    return TermRepeats(times[:n], shares[:n], n_once, once, lengths)


def inverse_sums(columns: F32) -> F64:
    """1 / sum of each column; 0 for a column of zeros."""
    totals = topic_totals(columns)
    return np.where(totals > 0.0, 1.0 / np.maximum(totals, 1e-30), 0.0)


def burstiness(found: TermRepeats) -> float:
    """The maximum-likelihood concentration A of documents around the memory of their topics."""
    lengths = found.lengths[found.lengths > 1]
    if not len(lengths):
        return _MOST_A
    sizes, many = np.unique(lengths, return_counts=True)
    once = float(found.n_once), found.once
    bounds = math.log(_LEAST_A), math.log(_MOST_A)
    return float(slices.likeliest_burst(found.times, found.shares, once, sizes, many, bounds))


def drift(
    found: TermRepeats,
    counted: tuple[F32, NDArray[np.int32]],
    memory: F32,
    burst: float,
    topics: tuple[I64, NDArray[np.bool_]],
    key: tuple[int, int],
    each: Each,
) -> Drift:
    """JSD of every topic's tokens from its memory, and its distribution without change.

    Terms that the memory expects less than once share a cell, because with many rare terms the divergence of
    any sample is large. ``counted`` = tokens of the slice's terms x topics, and the place of every term
    among the slice's terms, or -1. ``topics`` = ids, and which topics are tested. ``key`` = seed and number
    of the slice.
    """
    (ids, tested), sizes = topics, found.lengths.sum(axis=1)
    # a topic of n tokens has at most n cells that are expected once
    begin = np.concatenate([[0], np.cumsum(sizes + 2)])
    cells, counts = np.empty(begin[-1]), np.empty(begin[-1])
    scale = inverse_sums(memory)
    n = slices.cells_into(cells, counts, begin, memory, scale, sizes.astype(np.float64), *counted)
    out, drawn = np.full((4, len(ids)), np.nan), np.empty((len(ids), N_NULL))
    most, keys = np.where(tested, N_NULL, N_MEAN), (*key, (_ERROR, EXTRA))

    def work(lo: int, hi: int) -> None:
        slices.drift_topics(
            out, lo, hi, begin, n, cells, counts, found.lengths, burst, drawn, most, keys, ids
        )

    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    each(work, ends, _CELL_COST * N_NULL)
    return Drift(*out)


def divergence_terms(counts: F64, memory: F64, n: int = 8) -> tuple[I64, I64]:
    """Terms with the largest parts of the divergence: gained terms and lost terms, largest first."""
    total = max(counts.sum(), 1.0)
    p, q = counts / total, memory
    mean = np.maximum(0.5 * (p + q), 1e-300)
    part = 0.5 * (
        p * np.log2(np.maximum(p, 1e-300) / mean) + q * np.log2(np.maximum(q, 1e-300) / mean)
    )
    order = np.argsort(-part, kind="stable")[: 8 * n]
    gained = order[(p[order] > q[order]) & (counts[order] >= 2)][:n]
    lost = order[(p[order] < q[order]) & (q[order] * total >= 2)][:n]
    return gained, lost


def emergence_p(docs: F64, n_docs: int, expected: F64, certainty: F64) -> F64:
    """P(at least this number of documents) of every term without change.

    Beta-binomial over documents: ``certainty`` is how many documents the memory of a term is worth, and
    ``expected`` the share of documents in which it expects the term. Half a document is added to both
    counts, for terms never seen before. Terms in fewer than three documents are not tested (p = 1).
    """
    out = np.ones(len(docs))
    look = np.flatnonzero((docs >= LEAST_DOCS) & (docs > n_docs * expected))
    if len(look):
        quiet.upper_tails(out, look, docs, n_docs, *_shape(expected[look], certainty[look]))
    return np.clip(out, 0.0, 1.0)


def _shape(expected: F64, certainty: F64 | float) -> tuple[F64, F64]:
    """The parameters of a beta-binomial; half a document is added to both counts."""
    share = np.clip(expected, 0.0, 1.0 - 1e-9)
    return certainty * share + 0.5, certainty * (1.0 - share) + 0.5


def memory_worth(docs: F64, n_docs: int, expected: F64, certainty: float) -> F64:
    """Number of documents that the memory of each term is equivalent to, from the variation of similar terms.

    Terms vary for two reasons. Documents of a slice may have one author, which affects rare and frequent
    terms alike. Usage drifts, which changes a frequent term by more documents. So the worth of terms that
    are expected in five documents or more is estimated from these terms. The worth of rarer terms is
    estimated from terms that are expected in one to five documents.
    """
    mean = n_docs * expected
    frequent = _worth_of_frequent(docs, n_docs, expected, certainty)
    some = np.flatnonzero((mean >= 1.0) & (mean < 5.0))
    rare = frequent
    if len(some) >= _LEAST_TERMS:
        rare = _worth_of_rare(docs, n_docs, expected, some, certainty)
    return np.where(mean >= 5.0, frequent, rare)


def _worth_of_frequent(docs: F64, n_docs: int, expected: F64, certainty: float) -> float:
    """From the variance of a beta-binomial of certainty S, about n q (1 - q) (1 + n / S).

    The median squared residual gives the factor by which this variance is too small.
    """
    mean = n_docs * expected
    look = (mean >= 5.0) & (expected < 0.9)
    if look.sum() < _LEAST_TERMS:
        return certainty
    spread = mean[look] * (1.0 - expected[look]) * (1.0 + n_docs / certainty)
    excess = median((docs[look] - mean[look]) ** 2 / spread) / _MEDIAN
    inflated = max(excess, 1.0) * (1.0 + n_docs / certainty)
    return min(n_docs / (inflated - 1.0), certainty)


def _worth_of_rare(docs: F64, n_docs: int, expected: F64, some: I64, certainty: float) -> float:
    """The largest certainty under which at most five of n terms are in the upper tail of 5 / n.

    The tail decides, because an author uses some of his terms in many documents, and n terms cannot show a
    rarer tail. Counts are small, so half of the probability of the count itself belongs to the tail.
    """
    low, high = math.log(_LEAST_WORTH), math.log(max(certainty, _LEAST_WORTH))
    tail = _IN_TAIL / len(some)

    def terms_in_tail(at: I64, log_s: float) -> I64:
        """Terms in the tail; a memory that is worth less only removes some."""
        out = np.empty(len(at))
        quiet.middle_tails(out, at, docs, n_docs, *_shape(expected[at], math.exp(log_s)))
        return at[out < tail]

    out = terms_in_tail(some, high)
    if len(out) <= _IN_TAIL:
        return certainty
    for _ in range(_HALVINGS):
        centre = 0.5 * (low + high)
        still = terms_in_tail(out, centre)
        if len(still) > _IN_TAIL:
            high, out = centre, still
        else:
            low = centre
    return math.exp(low)


def reject_hypotheses(p: F64, level: float) -> NDArray[np.bool_]:
    """Mask of hypotheses rejected at a false discovery rate of ``level`` [Benjamini95]; False for NaN."""
    out = np.zeros(len(p), bool)
    n = int(np.isfinite(p).sum())
    low = np.flatnonzero(p <= level)  # no other can be rejected
    order = low[np.argsort(p[low], kind="stable")]
    under = p[order] <= level * np.arange(1, len(order) + 1) / max(n, 1)
    if under.any():
        out[order[: int(np.flatnonzero(under)[-1]) + 1]] = True
    return out


def shares(doc_topic: F32) -> tuple[F64, F64]:
    """Shares of the topics among all tokens, and their bootstrap standard errors over documents.

    The squared error of a share s = sum_d n_dk / sum_d N_d is sum_d (n_dk - s N_d)^2 / (sum_d N_d)^2, the
    limit of the bootstrap variance over many draws.
    """
    docs = doc_topic.astype(np.float64)
    whole = max(float(docs.sum()), 1e-12)
    share = docs.sum(axis=0) / whole
    off = docs - docs.sum(axis=1, keepdims=True) * share
    return share, np.sqrt(np.einsum("dk,dk->k", off, off)) / whole


def interval(share: F64, error: F64) -> tuple[F64, F64]:
    """95 % interval of a share: its log-odds plus and minus 1.96 standard errors."""
    inside = np.clip(share, 1e-300, 1.0 - 1e-12)
    odds, width = inside / (1.0 - inside), 1.96 * error / (inside * (1.0 - inside))
    reach = np.exp(np.minimum(width, 300.0))
    low, high = odds / (odds + reach), odds * reach / (1.0 + odds * reach)
    high = np.where(share > 0.0, np.maximum(high, share), 0.0)
    return np.minimum(low, share), high


def median(values: F64) -> float:
    """The median; faster than NumPy's for few numbers."""
    ordered = np.sort(values)
    n = len(ordered)
    return 0.5 * float(ordered[(n - 1) // 2] + ordered[n // 2])


def quantile(ordered: F64, part: float) -> F64:
    """The quantile of every column of sorted entries, by linear interpolation."""
    at = part * (len(ordered) - 1)
    i = min(int(at), len(ordered) - 2)
    return np.asarray(ordered[i] + (at - i) * (ordered[i + 1] - ordered[i]), np.float64)


def usual_p(z: F64, past: F64) -> F64:
    """Two-sided p-values of scores, scaled by the variation of past scores.

    The scale is the median absolute past score if it is above 1. With few past scores it is shrunk
    towards 1.
    """
    spread = 1.4826 * median(np.abs(past)) if len(past) else 1.0
    scale = max(1.0, (30.0 + len(past) * spread) / (30.0 + len(past)))
    return np.asarray(2.0 * ndtr(-np.abs(z) / scale), np.float64)
