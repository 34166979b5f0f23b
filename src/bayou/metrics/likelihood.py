"""How well topics predict documents they have not seen.

Two measures of held-out text. Document completion fits a document's proportions to one half of its
tokens and scores the other half; it compares models quickly and fairly. Left-to-right estimates the
probability of whole documents; it costs the square of their length.

Everything random is keyed by the seed and by what a document contains, so a document's value
depends neither on its row nor on the rows around it.

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
    """Log likelihood of every document and the tokens it is the sum of."""

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
    """The document prior as a vector with positive sum."""
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
    """Offsets and terms of single tokens; only whole counts have them."""
    if (rows.data != np.floor(rows.data)).any():
        raise ValueError(f"{what} needs whole counts; X has fractional ones")
    tokens = np.repeat(rows.indices.astype(np.int64), rows.data.astype(np.int64))
    ends = np.concatenate([[0], np.cumsum(rows.data.astype(np.int64))])
    return ends[rows.indptr], tokens


def _keys(rows: Any, seed: int, use: int) -> NDArray[np.uint64]:
    """One key for each document, from its content."""
    seed = check_count("seed", seed, 0, 2**63 - 1)
    keys = evaluate.content_keys(rows.indptr, rows.indices, rows.data, seed, use)
    return np.asarray(keys, dtype=np.uint64)


def completion_halves(X: Any, seed: int = 0) -> tuple[Any, Any]:
    """Split every document into a half to fit and a half to score.

    Tokens are dealt in turn from a random order of the document, so the first half has as many
    tokens as the second or one more. A document with a fractional count has no tokens to deal; both
    halves are then half of each count, and the terms to score have all been seen.

    Parameters
    ----------
    X : sparse matrix or array of shape (n_docs, n_terms)
        Counts.
    seed : int
        Another seed gives another split.

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
        ``sums`` and ``counts`` of every document. A term that the document cannot produce makes its
        sum -inf.

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
    `completion_halves`), and the other half is scored. Natural logarithm, averaged over all scored
    tokens of the corpus; perplexity is ``exp(-value)``. Documents with fewer than two tokens have
    nothing to score. Compare models only at equal seed, inference and documents.

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
        Chooses the halves, and the draws of ``"gibbs"``.
    inference : {"em", "gibbs"}
        ``"em"`` iterates theta ~ alpha + E[n | theta] from the prior mean. ``"gibbs"`` averages
        E[theta | z] over the kept sweeps of a collapsed sampler; it needs whole counts.
    burn_in, n_samples : int
        Sweeps of ``"gibbs"`` to drop and to keep.

    Returns
    -------
    float
        NaN if no document has a token to score; -inf if a scored term has no probability.

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

    The left-to-right estimator [Wallach09] [Buntine09]: particles hold topics of the tokens so
    far, are moved by a Gibbs sweep, predict the next token and are resampled by how well they did.
    ``exp`` of the result is an unbiased estimate of p(document | topics, alpha); the result itself
    is on average a little low. The time is proportional to the squared length of a document.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms)
        Term probabilities (phi); rows sum to 1.
    alpha : float or array of shape (n_topics,)
        Dirichlet prior of a document's proportions.
    X : sparse matrix or array of shape (n_docs, n_terms)
        Whole counts.
    n_particles : int
        More particles, less noise.
    seed : int
        Another seed gives another order of the tokens and other draws.

    Returns
    -------
    array of shape (n_docs,)
        Natural logarithms for a given order of the tokens (no multinomial coefficient); 0 for an
        empty document, -inf if a term has no probability.

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
