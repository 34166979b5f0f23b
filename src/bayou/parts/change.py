"""What has changed from a topic's memory to a slice of documents, and how much would have changed by chance.

Documents are bursty: a term that was used once is used again. So the null draws every document of the slice
from an urn over the topic's memory (a Dirichlet-multinomial of concentration A), with as many tokens as the
document has in the topic; A is the one under which the documents themselves are most probable [Elkan06].

[Elkan06] Elkan. Clustering documents with an exponential-family approximation of the Dirichlet compound
multinomial distribution. ICML 2006.
[Benjamini95] Benjamini, Hochberg. Controlling the false discovery rate. JRSS B 57, 1995.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from bayou.kernels import alias, quiet
from bayou.parts.topics import F64, I64, U16, Each, Tokens

N_NULL = 60  # slices without change that are drawn for each topic
LEAST_DOCS = 3  # that a term is in before it may be called emerging
_LEAST_TERMS = 20  # frequent ones, to judge how far terms stray
_LEAST_WORTH, _HALVINGS = (
    5.0,
    8,
)  # documents, and steps of the search for how many a memory is worth
_IN_TAIL = 5  # terms that say how heavy the tail of rare ones is
_MEDIAN = 0.4549  # of a squared standard normal
_LEAST_A, _MOST_A = 0.5, 1e6
_LEAST_EXPECTED = 1.0  # tokens; terms that are expected less often share one cell
_CELL_COST = 25.0  # nanoseconds a token of a quiet slice takes


class Repeats(NamedTuple):
    """How often each document uses each term in each topic."""

    docs: I64
    topics: I64
    terms: I64
    counts: F64


class Drift(NamedTuple):
    """The divergence of every topic from its memory; NaN where it has no tokens."""

    value: F64  # JSD in bits
    expected: F64  # its mean in slices without change
    spread: F64  # standard deviation of its logarithm there
    hellinger: F64


def repeats(z: U16, tokens: Tokens, n_terms: int, n_topics: int) -> Repeats:
    """Count tokens of equal document, topic and term."""
    docs = np.repeat(np.arange(tokens.n_docs, dtype=np.int64), np.diff(tokens.indptr))
    code = (docs * n_topics + z) * n_terms + tokens.terms.astype(np.int64)
    code, counts = np.unique(code, return_counts=True)
    rest, terms = np.divmod(code, n_terms)
    docs, topics = np.divmod(rest, n_topics)
    return Repeats(docs, topics, terms, counts.astype(np.float64))


def burstiness(found: Repeats, memory: F64, n_docs: int) -> float:
    """The concentration A of documents around the memory of their topics, most probable for the slice."""
    n_topics = memory.shape[1]
    q = np.maximum(memory[found.terms, found.topics], 1e-12)
    keep = found.counts > 0
    lengths = np.bincount(
        found.docs * n_topics + found.topics, weights=found.counts, minlength=n_docs * n_topics
    )
    lengths = lengths[lengths > 1]
    if not len(lengths):
        return _MOST_A
    n = found.counts[keep]
    often, n_once = n > 1, float((n == 1).sum())
    n, q, once = n[often], q[keep][often], float(np.log(q[keep][~often]).sum())

    def surprise(log_a: float) -> float:
        a = math.exp(log_a)
        cells = gammaln(a * q + n) - gammaln(a * q)
        own = n_once * log_a + once  # ln Gamma(a q + 1) - ln Gamma(a q) of terms used once
        return -float(cells.sum() + own + (gammaln(a) - gammaln(a + lengths)).sum())

    bounds = (math.log(_LEAST_A), math.log(_MOST_A))
    best = minimize_scalar(surprise, bounds=bounds, method="bounded", options={"xatol": 0.01})
    return float(math.exp(best.x))


def drift(
    found: Repeats,
    memory: F64,
    n_docs: int,
    burst: float,
    ids: I64,
    key: tuple[int, int],
    each: Each,
) -> Drift:
    """JSD of every topic's tokens from its memory, and what it is when nothing has changed.

    Terms that the memory expects less than once share a cell: with many rare terms the divergence of
    any sample is large and says little. ``key`` = seed and number of the slice.
    """
    n_terms, n_topics = memory.shape
    counts = np.zeros((n_topics, n_terms))
    np.add.at(counts, (found.topics, found.terms), found.counts)
    lengths = np.zeros((n_topics, n_docs), np.int64)
    np.add.at(lengths, (found.topics, found.docs), found.counts.astype(np.int64))
    out = np.full((4, n_topics), np.nan)

    def work(lo: int, hi: int) -> None:
        for k in range(lo, hi):
            if counts[k].sum() > 0:
                n_k = lengths[k][lengths[k] > 0]
                out[:, k] = _drift(counts[k], memory[:, k], n_k, burst, int(ids[k]), key)

    ends = np.concatenate([[0], np.cumsum(lengths.sum(axis=1))]).astype(np.int64)
    each(work, ends, _CELL_COST * N_NULL)
    return Drift(*out)


def _drift(
    counts: F64, memory: F64, lengths: I64, burst: float, topic: int, key: tuple[int, int]
) -> tuple[float, float, float, float]:
    total = counts.sum()
    own = memory * total >= _LEAST_EXPECTED
    expected = np.append(memory[own], max(memory[~own].sum(), 1e-9))
    expected /= expected.sum()
    cells = np.append(counts[own], counts[~own].sum())
    value = quiet.divergence(cells, total, expected)
    n = len(expected)
    table = np.empty(n), np.empty(n, np.int64)
    alias.build_alias_into(*table, expected, np.empty(n, np.int64), np.empty(n, np.int64))
    drawn = np.empty(N_NULL)
    quiet.divergences(drawn, lengths, expected, table, burst, *key, topic)
    logs = np.log(np.maximum(drawn, 1e-12))
    affinity = np.sqrt(cells / total * expected).sum()
    return value, drawn.mean(), max(logs.std(), 1e-3), math.sqrt(max(1.0 - affinity, 0.0))


def explained(counts: F64, memory: F64, n: int = 8) -> tuple[I64, I64]:
    """Terms that make most of the divergence: those gained and those lost, the largest part first."""
    total = max(counts.sum(), 1.0)
    p, q = counts / total, memory
    middle = np.maximum(0.5 * (p + q), 1e-300)
    part = 0.5 * (
        p * np.log2(np.maximum(p, 1e-300) / middle) + q * np.log2(np.maximum(q, 1e-300) / middle)
    )
    order = np.argsort(-part, kind="stable")[: 8 * n]
    gained = order[(p[order] > q[order]) & (counts[order] >= 2)][:n]
    lost = order[(p[order] < q[order]) & (q[order] * total >= 2)][:n]
    return gained, lost


def emerging(docs: F64, n_docs: int, expected: F64, certainty: F64) -> F64:
    """P(at least so many documents) of every term when nothing has changed.

    Beta-binomial over documents: ``certainty`` is how many documents the memory of a term is worth, and
    ``expected`` the share of documents that it expects the term in. Half a document is added to what was
    seen, for terms never met. Terms of fewer than three documents are not judged (p = 1): one document's
    word is its own.
    """
    out = np.ones(len(docs))
    look = np.flatnonzero((docs >= LEAST_DOCS) & (docs > n_docs * expected))
    if len(look):
        _tails_into(out, look, docs, n_docs, expected, certainty[look])
    return np.clip(out, 0.0, 1.0)


def _tails_into(
    out: F64, at: I64, docs: F64, n_docs: int, expected: F64, certainty: F64 | float
) -> None:
    share = np.clip(expected[at], 0.0, 1.0 - 1e-9)
    quiet.upper_tails(
        out, at, docs, n_docs, certainty * share + 0.5, certainty * (1.0 - share) + 0.5
    )


def worth(docs: F64, n_docs: int, expected: F64, certainty: float) -> F64:
    """How many documents the memory of each term is worth, judged by how far terms like it have strayed.

    Terms stray for two reasons. Documents of a slice may have one author, which moves rare and frequent ones
    alike; and usage drifts, which moves a frequent term by more documents. So those that are expected in
    five documents or more are judged by themselves, and rarer ones by those expected in one to five.
    """
    mean = n_docs * expected
    often = _worth_of_frequent(docs, n_docs, expected, certainty)
    some = np.flatnonzero((mean >= 1.0) & (mean < 5.0))
    seldom = often
    if len(some) >= _LEAST_TERMS:
        seldom = _worth_of_rare(docs, n_docs, expected, some, certainty)
    return np.where(mean >= 5.0, often, seldom)


def _worth_of_frequent(docs: F64, n_docs: int, expected: F64, certainty: float) -> float:
    """A beta-binomial of certainty S has n q (1 - q) (1 + n / S) for its variance, about.

    The typical squared residual says by what factor that is too little.
    """
    mean = n_docs * expected
    look = (mean >= 5.0) & (expected < 0.9)
    if look.sum() < _LEAST_TERMS:
        return certainty
    spread = mean[look] * (1.0 - expected[look]) * (1.0 + n_docs / certainty)
    excess = float(np.median((docs[look] - mean[look]) ** 2 / spread)) / _MEDIAN
    inflated = max(excess, 1.0) * (1.0 + n_docs / certainty)
    return min(n_docs / (inflated - 1.0), certainty)


def _worth_of_rare(docs: F64, n_docs: int, expected: F64, some: I64, certainty: float) -> float:
    """The largest certainty under which no more than five of n terms are in the upper 5 / n.

    That is as far out as they can tell, and the tail is what counts: of terms of one author there are
    some in many of his documents. Counts are small, so half of the probability of the count itself belongs
    to the tail.
    """
    low, high = math.log(_LEAST_WORTH), math.log(max(certainty, _LEAST_WORTH))
    at_least, more = np.ones(len(docs)), np.ones(len(docs))
    tail = _IN_TAIL / len(some)

    def strayed(log_s: float) -> bool:
        _tails_into(at_least, some, docs, n_docs, expected, math.exp(log_s))
        _tails_into(more, some, docs + 1.0, n_docs, expected, math.exp(log_s))
        return float((at_least[some] + more[some] < 2 * tail).mean()) > tail

    if not strayed(high):
        return certainty
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if strayed(middle) else (middle, high)
    return math.exp(low)


def rejected(p: F64, level: float) -> NDArray[np.bool_]:
    """Which hypotheses fall at a false discovery rate of ``level`` [Benjamini95]; NaN never does."""
    out = np.zeros(len(p), bool)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    under = p[order] <= level * np.arange(1, len(order) + 1) / max(len(order), 1)
    if under.any():
        out[order[: int(np.flatnonzero(under)[-1]) + 1]] = True
    return out


def resampled_shares(doc_topic: F64, seed: int, slice_: int, n: int = 200) -> F64:
    """Shares of the topics among all tokens when documents are drawn anew: (n, topics)."""
    n_docs = len(doc_topic)
    lengths = doc_topic.sum(axis=1)
    out = np.empty((n, doc_topic.shape[1]))
    for i in range(n):
        drawn = quiet.resample(n_docs, seed, slice_ * 65_536 + i)
        total = max(float(drawn @ lengths), 1e-12)
        out[i] = drawn @ doc_topic / total
    return out


def usual_p(z: F64, past: F64) -> F64:
    """Two-sided p-values of scores, judged by how far scores of the past have strayed.

    The scale is that of the past scores, by their median deviation, where it is above 1; until there
    are many it is drawn towards 1.
    """
    spread = 1.4826 * float(np.median(np.abs(past))) if len(past) else 1.0
    scale = max(1.0, (30.0 + len(past) * spread) / (30.0 + len(past)))
    return np.asarray(2.0 * stats.norm.sf(np.abs(z) / scale), np.float64)
