"""Held-out likelihood of documents under given topics.

Document completion fits a document's proportions to one half of its tokens and scores the other half. It
compares models quickly and fairly. Left-to-right estimates the probability of whole documents; its cost is
quadratic in their length.

All random numbers are keyed by the seed and the contents of a document. The value of a document
therefore depends neither on its row nor on other rows.

[Wallach09] Wallach, Murray, Salakhutdinov, Mimno. Evaluation methods for topic models. ICML 2009.
[Buntine09] Buntine. Estimating likelihoods for topic models. ACML 2009.
"""

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bayou.kernels import evaluate
from bayou.metrics.topics import Floats, check_count, check_topics


class RowScores(NamedTuple):
    """Log likelihood of every document, and its number of tokens."""

    sums: Floats  # (n_docs,) natural logarithms
    counts: Floats  # (n_docs,)


def _rows(X: Any, n_terms: int | None = None) -> Any:
    """Counts as a float64 CSR array in canonical form (sorted, no duplicates, no zeros)."""
    if not sparse.issparse(X) and np.ndim(X) != 2:
        raise ValueError(f"X must be a matrix (documents, terms) of counts; got {type(X).__name__}")
    rows = sparse.csr_array(X, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not np.isfinite(rows.data).all() or (rows.data < 0).any():
        raise ValueError("X must hold finite, non-negative counts; got NaN, inf or negative ones")
    if n_terms is not None and rows.shape[1] != n_terms:
        raise ValueError(
            f"X has {rows.shape[1]} columns but topics have {n_terms}; "
            f"count the documents with the vocabulary of the topics"
        )
    return rows


def _prior(alpha: ArrayLike, n_topics: int) -> Floats:
    """The document prior as a vector with a positive sum."""
    vector = np.asarray(alpha, dtype=np.float64)
    if vector.ndim == 0:
        vector = np.full(n_topics, float(vector))
    if vector.shape != (n_topics,):
        raise ValueError(
            f"alpha must be a number or have one entry for each of {n_topics} topics; "
            f"got shape {vector.shape}"
        )
    if not np.isfinite(vector).all() or (vector < 0).any() or vector.sum() <= 0:
        raise ValueError("alpha must be finite, non-negative and not all zero")
    return np.ascontiguousarray(vector)


def _tokens(rows: Any, what: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Offsets and terms of single tokens; a ValueError for fractional counts."""
    if (rows.data != np.floor(rows.data)).any():
        raise ValueError(f"{what} needs whole counts; X has fractional ones")
    tokens = np.repeat(rows.indices.astype(np.int64), rows.data.astype(np.int64))
    ends = np.concatenate([[0], np.cumsum(rows.data.astype(np.int64))])
    return ends[rows.indptr], tokens


def _keys(rows: Any, seed: int, use: int) -> NDArray[np.uint64]:
    """One key per document, from its contents."""
    seed = check_count("seed", seed, 0, 2**63 - 1)
    keys = evaluate.content_keys(rows.indptr, rows.indices, rows.data, seed, use)
    return np.asarray(keys, dtype=np.uint64)


def completion_halves(X: Any, seed: int = 0) -> tuple[Any, Any]:
    """Split every document into a half to fit and a half to score.

    Tokens are dealt alternately in a random order, so the first half has as many tokens as the
    second or one more. A document with fractional counts has no tokens to deal. Both halves are
    then half of each count, and all scored terms are also observed.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_docs, n_terms)
        Counts.
    seed : int
        Seed of the split.

    Returns
    -------
    observed, scored : CSR arrays of the shape of X, whose sum is X

    Examples
    --------
    >>> observed, scored = completion_halves([[3, 0, 2], [1, 0, 0]])
    >>> observed.sum(axis=1), scored.sum(axis=1)
    (array([3., 1.]), array([2., 0.]))
    """
    rows = _rows(X)
    observed, scored = np.zeros_like(rows.data), np.zeros_like(rows.data)
    keys = _keys(rows, seed, evaluate.SPLIT)
    evaluate.split_into(observed, scored, rows.indptr, rows.data, keys)
    halves = []
    for data in (observed, scored):
        half = sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape, copy=True)
        half.eliminate_zeros()
        halves.append(half)
    return halves[0], halves[1]


def log_likelihood_rows(topics: ArrayLike, doc_topics: ArrayLike, X: Any) -> RowScores:
    """Log likelihood of each document under given topic proportions.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities; rows sum to 1.
    doc_topics : array of shape (n_docs, n_topics)
        Topic proportions of the documents; rows sum to 1.
    X : sparse matrix or array of shape (n_docs, n_terms)
        Counts to score, ``log_likelihood_rows(...).sums[d] = sum_w X[d, w] log p(w | d)``.

    Returns
    -------
    RowScores
        ``sums`` and ``counts`` of every document. A term with probability zero makes the sum -inf.

    Examples
    --------
    >>> scores = log_likelihood_rows([[0.5, 0.5]], [[1.0]], [[1, 2]])
    >>> scores.sums / scores.counts
    array([-0.69314718])
    """
    phi = check_topics(topics)
    rows = _rows(X, phi.shape[1])
    theta = np.ascontiguousarray(doc_topics, dtype=np.float64)
    if theta.shape != (rows.shape[0], len(phi)):
        raise ValueError(
            f"doc_topics must have shape {(rows.shape[0], len(phi))} (documents, topics); "
            f"got {theta.shape}"
        )
    if len(theta):
        check_topics(theta)
    return _score(np.ascontiguousarray(phi.T), theta, rows)


def _score(term_topics: Floats, theta: Floats, rows: Any) -> RowScores:
    sums = np.empty(rows.shape[0])
    evaluate.log_likelihood_into(sums, rows.indptr, rows.indices, rows.data, theta, term_topics)
    return RowScores(sums, np.asarray(rows.sum(axis=1), dtype=np.float64).ravel())


def document_completion(
    topics: ArrayLike,
    alpha: ArrayLike,
    X: Any,
    *,
    n_iter: int = 20,
    seed: int = 0,
    inference: Literal["em", "gibbs"] = "em",
    burn_in: int = 20,
    n_samples: int = 20,
) -> float:
    """Mean log probability of a held-out token, given the other half of its document.

    Topics are held fixed; each document's proportions are fitted to its observed half (see
    `completion_halves`), and the other half is scored. The result is a natural logarithm, averaged over all
    scored tokens; perplexity is ``exp(-value)``. Documents with fewer than two tokens are not scored.
    Compare models only with equal seed, inference and documents.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities (phi); rows sum to 1.
    alpha : float or array of shape (n_topics,)
        Dirichlet prior of a document's proportions.
    X : sparse matrix or array of shape (n_docs, n_terms)
        Counts, whole or fractional (see `completion_halves`).
    n_iter : int
        Iterations of ``"em"``.
    seed : int
        Determines the halves, and the draws of ``"gibbs"``.
    inference : {"em", "gibbs"}
        ``"em"`` iterates theta ~ alpha + E[n | theta] from the prior mean. ``"gibbs"`` averages
        E[theta | z] over the kept sweeps of a collapsed sampler; it needs whole counts.
    burn_in, n_samples : int
        Sweeps of ``"gibbs"`` to discard and to keep.

    Returns
    -------
    float
        NaN if no document has a token to score; -inf if a scored term has probability zero.

    Examples
    --------
    >>> document_completion([[0.5, 0.5]], 1.0, [[4, 0], [1, 1]])
    -0.693147...
    """
    phi = check_topics(topics)
    prior = _prior(alpha, len(phi))
    observed, scored = completion_halves(_rows(X, phi.shape[1]), seed)
    term_topics = np.ascontiguousarray(phi.T)
    theta = np.empty((observed.shape[0], len(phi)))
    if inference == "em":
        arrays = observed.indptr, observed.indices, observed.data
        n_iter = check_count("n_iter", n_iter, 1)
        evaluate.fold_in_em_into(theta, *arrays, term_topics, prior, n_iter)
    elif inference == "gibbs":
        schedule = check_count("burn_in", burn_in, 0), check_count("n_samples", n_samples, 1)
        indptr, tokens = _tokens(observed, "inference='gibbs'")
        keys = _keys(observed, seed, evaluate.GIBBS)
        evaluate.fold_in_gibbs_into(theta, indptr, tokens, term_topics, prior, schedule, keys)
    else:
        raise ValueError(f"inference must be 'em' or 'gibbs'; got {inference!r}")
    scores = _score(term_topics, theta, scored)
    total = scores.counts.sum()
    return float(scores.sums.sum() / total) if total > 0 else float("nan")


def left_to_right(
    topics: ArrayLike, alpha: ArrayLike, X: Any, *, n_particles: int = 20, seed: int = 0
) -> Floats:
    """Log probability of whole documents, proportions integrated out.

    The left-to-right estimator [Wallach09] [Buntine09]: each particle holds the topics of the tokens so
    far, is updated by a Gibbs sweep, and predicts the next token. Particles are resampled by these
    predictive probabilities. ``exp`` of the result is an unbiased estimate of p(document | topics, alpha);
    the result itself is biased slightly low. The time is quadratic in the length of a document.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities (phi); rows sum to 1.
    alpha : float or array of shape (n_topics,)
        Dirichlet prior of a document's proportions.
    X : sparse matrix or array of shape (n_docs, n_terms)
        Whole counts.
    n_particles : int
        More particles reduce the noise.
    seed : int
        Determines the order of the tokens and the draws.

    Returns
    -------
    array of shape (n_docs,)
        Natural logarithms for a given order of the tokens (no multinomial coefficient); 0 for an
        empty document, -inf if a term has probability zero.

    Examples
    --------
    >>> left_to_right([[0.25, 0.75]], 1.0, [[1, 0], [0, 2], [0, 0]])
    array([-1.38629436, -0.57536414,  0.        ])
    """
    phi = check_topics(topics)
    prior = _prior(alpha, len(phi))
    rows = _rows(X, phi.shape[1])
    n_particles = check_count("n_particles", n_particles, 1)
    indptr, tokens = _tokens(rows, "left_to_right")
    keys = _keys(rows, seed, evaluate.LEFT_TO_RIGHT)
    evidence = np.empty(rows.shape[0])
    term_topics = np.ascontiguousarray(phi.T)
    evaluate.left_to_right_into(evidence, indptr, tokens, term_topics, prior, n_particles, keys)
    return evidence
