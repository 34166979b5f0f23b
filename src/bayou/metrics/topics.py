"""Properties of a set of topics: top terms, diversity, exclusivity, distances.

Topics are a matrix with one row per topic and one column per term; rows sum to 1.

[Dieng20] Dieng, Ruiz, Blei. Topic modeling in embedding spaces. TACL 8, 2020.
[Bischof12] Bischof, Airoldi. Summarizing topical content with word frequency and exclusivity.
ICML 2012.
[Hausser09] Hausser, Strimmer. Entropy inference and the James-Stein estimator. JMLR 10, 2009.
"""

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, stats
from scipy.spatial.distance import pdist, squareform

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def check_topics(topics: ArrayLike) -> Floats:
    """The topics as a float64 matrix; a ValueError if they are invalid."""
    matrix = np.asarray(topics, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ValueError(
            f"topics must be a matrix (topics, terms) with at least one of each; "
            f"got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError("topics must be finite and non-negative; got NaN, inf or negative entries")
    sums = matrix.sum(axis=1)
    worst = int(np.abs(sums - 1).argmax())
    if abs(sums[worst] - 1) > 1e-4:
        raise ValueError(
            f"rows of topics must sum to 1; row {worst} sums to {sums[worst]:.6g}. "
            f"Divide each row by its sum"
        )
    return matrix


def check_count(name: str, value: int, low: int, high: int | None = None) -> int:
    """A whole number within bounds; the ValueError names the parameter."""
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or value < low or (high is not None and value > high):
        bounds = f"at least {low}" if high is None else f"between {low} and {high}"
        raise ValueError(f"{name} must be a whole number {bounds}; got {value!r}")
    return int(value)


def check_vocabulary(vocabulary: Sequence[str], n_terms: int) -> list[str]:
    """The names of the terms as a list, one per column of topics."""
    names = [str(name) for name in vocabulary]
    if len(names) != n_terms:
        raise ValueError(f"vocabulary has {len(names)} terms but topics have {n_terms} columns")
    return names


def _largest(row: Floats, n: int) -> Ints:
    """Indices of the n largest entries, largest first, ties by index."""
    threshold = np.partition(row, len(row) - n)[len(row) - n]
    candidates = np.flatnonzero(row >= threshold)
    order = np.argsort(-row[candidates], kind="stable")[:n]
    return candidates[order].astype(np.int64)


@overload
def top_terms(topics: ArrayLike, n: int = ..., vocabulary: None = ...) -> Ints: ...
@overload
def top_terms(topics: ArrayLike, n: int, vocabulary: Sequence[str]) -> list[list[str]]: ...
@overload
def top_terms(topics: ArrayLike, n: int = ..., *, vocabulary: Sequence[str]) -> list[list[str]]: ...
def top_terms(
    topics: ArrayLike, n: int = 10, vocabulary: Sequence[str] | None = None
) -> Ints | list[list[str]]:
    """The n most probable terms of each topic, most probable first; ties go to the lower column.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities; rows sum to 1.
    n : int
        Number of terms per topic, at most n_terms.
    vocabulary : sequence of str, optional
        Names of the columns.

    Returns
    -------
    integer array of shape (n_topics, n), or a list of lists of names if a vocabulary is given

    Examples
    --------
    >>> top_terms([[0.5, 0.2, 0.3], [0.1, 0.8, 0.1]], 2)
    array([[0, 2], [1, 0]])
    >>> top_terms([[0.5, 0.2, 0.3]], 2, vocabulary=["sea", "land", "air"])
    [['sea', 'air']]
    """
    matrix = check_topics(topics)
    n = check_count("n", n, 1, matrix.shape[1])
    best = np.stack([_largest(row, n) for row in matrix])
    if vocabulary is None:
        return best
    names = check_vocabulary(vocabulary, matrix.shape[1])
    return [[names[v] for v in row] for row in best]


def diversity(topics: ArrayLike, top_n: int = 25) -> float:
    """Fraction of distinct terms among the top terms of all topics [Dieng20].

    1 if no two topics share a top term, 1 / n_topics if all have the same top terms.

    Examples
    --------
    >>> diversity([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]], top_n=2)
    0.75
    """
    matrix = check_topics(topics)
    best = top_terms(matrix, check_count("top_n", top_n, 1, matrix.shape[1]))
    return len(np.unique(best)) / best.size


def _shares(matrix: Floats) -> Floats:
    """Each topic's share of a term, phi_kv / sum_j phi_jv; equal shares if no topic has the term."""
    totals = matrix.sum(axis=0)
    safe = np.where(totals > 0, totals, 1.0)
    return np.where(totals > 0, matrix / safe, 1.0 / len(matrix))


def exclusivity(topics: ArrayLike, top_n: int = 10) -> Floats:
    """Mean share of each topic in its own top terms, phi_kv / sum_j phi_jv.

    1 if the top terms of the topic occur in no other topic, 1 / n_topics if all topics are equal.

    Examples
    --------
    >>> exclusivity([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]], top_n=1)
    array([1. , 0.5])
    """
    matrix = check_topics(topics)
    best = top_terms(matrix, check_count("top_n", top_n, 1, matrix.shape[1]))
    return np.asarray(np.take_along_axis(_shares(matrix), best, axis=1).mean(axis=1))


def _term_counts(term_counts: Any, n_terms: int) -> Floats:
    """Occurrences of every term, from a vector or from a matrix of documents."""
    if sparse.issparse(term_counts) or np.ndim(term_counts) == 2:
        term_counts = term_counts.sum(axis=0)
    counts = np.asarray(term_counts, dtype=np.float64).ravel()
    if len(counts) != n_terms:
        raise ValueError(f"term_counts cover {len(counts)} terms but topics have {n_terms} columns")
    if not np.isfinite(counts).all() or (counts < 0).any():
        raise ValueError("term_counts must be finite and non-negative")
    return counts


def _shrink_shares(shares: Floats, counts: Floats) -> Floats:
    """Shares shrunk towards 1 / n_topics, more strongly for rarer terms [Hausser09] eq. 4."""
    target = 1.0 / len(shares)
    variance = (shares * (1 - shares)).sum(axis=0) / np.maximum(counts - 1, 1e-300)
    distance = ((shares - target) ** 2).sum(axis=0)
    weight = np.where(distance > 0, variance / np.where(distance > 0, distance, 1.0), 1.0)
    weight = np.where(counts > 1, np.minimum(weight, 1.0), 1.0)
    return np.asarray(weight * target + (1 - weight) * shares)


def frex(topics: ArrayLike, weight: float = 0.5, term_counts: Any = None) -> Floats:
    """FREX scores: terms that are both frequent in a topic and exclusive to it [Bischof12].

    The harmonic mean of two ranks within the topic, each as the fraction of terms that do not rank higher:
    1 / (weight / rank of exclusivity + (1 - weight) / rank of probability).

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities; rows sum to 1.
    weight : float in [0, 1]
        Weight of exclusivity.
    term_counts : array of shape (n_terms,) or matrix of shape (n_docs, n_terms), optional
        Occurrences of the terms. If given, shares of rare terms are shrunk towards equality
        [Hausser09], so that a term seen once does not count as exclusive.

    Returns
    -------
    array of shape (n_topics, n_terms) with values in (0, 1]

    Examples
    --------
    >>> frex([[0.6, 0.4, 0.0], [0.0, 0.4, 0.6]]).round(2)
    array([[1.  , 0.67, 0.33], [0.33, 0.67, 1.  ]])
    """
    matrix = check_topics(topics)
    if not 0 <= weight <= 1:
        raise ValueError(f"weight must be between 0 and 1; got {weight!r}")
    shares = _shares(matrix)
    if term_counts is not None:
        shares = _shrink_shares(shares, _term_counts(term_counts, matrix.shape[1]))
    n_terms = matrix.shape[1]
    exclusive = stats.rankdata(shares, method="max", axis=1) / n_terms
    frequent = stats.rankdata(matrix, method="max", axis=1) / n_terms
    return np.asarray(1.0 / (weight / exclusive + (1 - weight) / frequent))


def _times_log(p: Floats) -> Floats:
    """The terms p log2 p of an entropy, 0 at p = 0."""
    return np.asarray(p * np.log2(p, out=np.zeros_like(p), where=p > 0))


def _jensen_shannon(matrix: Floats) -> Floats:
    """Square roots of the Jensen-Shannon divergences in bits, row by row."""
    distances = np.zeros((len(matrix), len(matrix)))
    own = _times_log(matrix)
    for i in range(1, len(matrix)):
        terms = (own[:i] + own[i]) / 2 - _times_log((matrix[:i] + matrix[i]) / 2)
        # p log p is convex, so a negative term is rounding.
        distances[i, :i] = np.sqrt(np.maximum(terms, 0.0).sum(axis=1))
    return distances + distances.T


def topic_distances(
    topics: ArrayLike, metric: Literal["jsd", "hellinger", "cosine"] = "jsd"
) -> Floats:
    """Distances between all pairs of topics, each in [0, 1].

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities; rows sum to 1.
    metric : {"jsd", "hellinger", "cosine"}
        ``"jsd"`` is the square root of the Jensen-Shannon divergence in bits (a metric),
        ``"hellinger"`` the Euclidean distance of square roots over the root of 2, ``"cosine"`` one
        minus the cosine.

    Returns
    -------
    symmetric array of shape (n_topics, n_topics) with a zero diagonal

    Examples
    --------
    >>> topic_distances([[1.0, 0.0], [0.0, 1.0]])
    array([[0., 1.], [1., 0.]])
    """
    matrix = check_topics(topics)
    if metric == "jsd":
        return np.minimum(_jensen_shannon(matrix), 1.0)
    if metric == "hellinger":
        condensed = pdist(np.sqrt(matrix)) / np.sqrt(2.0)
    elif metric == "cosine":
        condensed = pdist(matrix, "cosine")
    else:
        raise ValueError(f"metric must be 'jsd', 'hellinger' or 'cosine'; got {metric!r}")
    return np.asarray(squareform(np.clip(condensed, 0.0, 1.0), checks=False))
