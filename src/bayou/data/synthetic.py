"""Corpora drawn from the models' generative processes, with the true parameters.

Every draw has its own generator, keyed by (seed, purpose, topic or document). Document d is therefore
the same for any number of documents. The random streams are those of the installed numpy release.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError

_TOPIC, _DOC, _WEIGHT, _NOISE = 1, 2, 3, 4
_STICKS = 45
_LEFT = 1e-9  # remaining length of the unit stick at which stick breaking stops


class Truth(NamedTuple):
    """The true parameters of a corpus; tokens are in the order of `Corpus.tokens`."""

    topics: npt.NDArray[np.float64]  # (n_topics, n_terms), phi
    doc_topics: npt.NDArray[np.float64]  # (n_docs, n_topics), theta
    indptr: npt.NDArray[np.int64]  # (n_docs + 1,)
    assignments: npt.NDArray[np.uint16]  # (n_tokens,), z


def sample_lda(
    n_docs: int,
    n_topics: int,
    n_terms: int,
    *,
    doc_length: float = 50.0,
    alpha: npt.ArrayLike = 0.1,
    beta: npt.ArrayLike = 0.01,
    seed: int = 0,
) -> tuple[Corpus, Truth]:
    """Draw a corpus from latent Dirichlet allocation.

    phi_k ~ Dir(beta); theta_d ~ Dir(alpha); N_d ~ Poisson(doc_length); z ~ theta_d; w ~ phi_z.

    Parameters
    ----------
    n_docs, n_topics, n_terms : int
    doc_length : float
        Mean number of tokens; documents may be empty.
    alpha : float or array (n_topics,)
        Dirichlet parameter of the topics of a document.
    beta : float or array (n_terms,)
        Dirichlet parameter of the terms of a topic.
    seed : int

    Returns
    -------
    corpus : Corpus
    truth : Truth

    Examples
    --------
    >>> corpus, truth = sample_lda(3, 2, 5, doc_length=4, seed=1)
    >>> corpus.n_docs, corpus.n_terms, truth.topics.shape, truth.doc_topics.shape
    (3, 5, (2, 5), (3, 2))
    >>> len(truth.assignments) == corpus.n_tokens
    True
    """
    sizes = {"n_docs": n_docs, "n_topics": n_topics, "n_terms": n_terms, "seed": seed}
    _check(sizes, doc_length)
    a, b = _parameter("alpha", alpha, n_topics), _parameter("beta", beta, n_terms)
    topics = np.array([_generator(seed, _TOPIC, k).dirichlet(b) for k in range(n_topics)])
    doc_topics = np.empty((n_docs, n_topics))
    indptr = np.zeros(n_docs + 1, np.int64)
    z_parts, u_parts = [], []
    for d in range(n_docs):
        rng = _generator(seed, _DOC, d)
        doc_topics[d] = rng.dirichlet(a)
        n_tokens = rng.poisson(doc_length)
        uniforms = rng.random((2, n_tokens))
        z_parts.append(_pick(doc_topics[d], uniforms[0]))
        u_parts.append(uniforms[1])
        indptr[d + 1] = indptr[d] + n_tokens
    z = np.concatenate(z_parts) if z_parts else np.zeros(0, np.int64)
    u = np.concatenate(u_parts) if u_parts else np.zeros(0)
    terms = np.zeros(len(z), np.int64)
    for k in range(n_topics):
        terms[z == k] = _pick(topics[k], u[z == k])
    docs = np.repeat(np.arange(n_docs), np.diff(indptr))
    order = np.lexsort((terms, docs))  # the order of Corpus.tokens; stable, so z stays exact
    counts = sp.coo_array((np.ones(len(z)), (docs, terms)), shape=(n_docs, n_terms))
    corpus = Corpus.from_matrix(sp.csr_array(counts))
    return corpus, Truth(topics, doc_topics, indptr, z[order].astype(np.uint16))


def sample_mixture(
    n_docs: int,
    n_topics: int,
    n_terms: int,
    *,
    doc_length: float = 50.0,
    weights: npt.ArrayLike | None = None,
    beta: npt.ArrayLike = 0.1,
    seed: int = 0,
) -> tuple[Corpus, Truth]:
    """Draw a corpus in which every document has one topic.

    w ~ Dir(1) unless `weights` is given; phi_k ~ Dir(beta); y ~ w; N_d ~ Poisson(doc_length); all tokens
    of a document ~ phi_y.

    Parameters
    ----------
    n_docs, n_topics, n_terms, doc_length, beta, seed
        As in `sample_lda`.
    weights : array (n_topics,), optional
        Fraction of the documents in each topic.

    Examples
    --------
    >>> corpus, truth = sample_mixture(3, 2, 5, doc_length=4, seed=1)
    >>> truth.doc_topics.sum(axis=1), set(truth.doc_topics.ravel())
    (array([1., 1., 1.]), {np.float64(0.0), np.float64(1.0)})
    """
    sizes = {"n_docs": n_docs, "n_topics": n_topics, "n_terms": n_terms, "seed": seed}
    _check(sizes, doc_length)
    b = _parameter("beta", beta, n_terms)
    topics = np.array([_generator(seed, _TOPIC, k).dirichlet(b) for k in range(n_topics)])
    drawn = _generator(seed, _WEIGHT, 0).dirichlet(np.ones(n_topics))
    w = drawn if weights is None else _parameter("weights", weights, n_topics)
    doc_topics = np.zeros((n_docs, n_topics))
    counts = np.zeros((n_docs, n_terms), np.int64)
    for d in range(n_docs):
        rng = _generator(seed, _DOC, d)
        k = int(_pick(w, rng.random(1))[0])
        doc_topics[d, k] = 1.0
        counts[d] = np.bincount(
            _pick(topics[k], rng.random(rng.poisson(doc_length))), minlength=n_terms
        )
    indptr = np.concatenate([[0], np.cumsum(counts.sum(axis=1))])
    z = np.repeat(doc_topics.argmax(axis=1), counts.sum(axis=1)).astype(np.uint16)
    return Corpus.from_matrix(counts), Truth(topics, doc_topics, indptr, z)


def sample_hdp(
    n_docs: int,
    n_terms: int,
    *,
    doc_length: float = 50.0,
    alpha: float = 1.0,
    gamma: float = 1.0,
    beta: npt.ArrayLike = 0.01,
    seed: int = 0,
) -> tuple[Corpus, Truth]:
    """Draw a corpus from a hierarchical Dirichlet process.

    g ~ GEM(gamma); theta_d ~ DP(alpha, g); the rest as in `sample_lda`. The truth contains all topics until
    1e-9 of g is left; most of them have no token.

    Parameters
    ----------
    n_docs, n_terms, doc_length, beta, seed
        As in `sample_lda`.
    alpha, gamma : float
        Concentrations of the documents and of the root measure.

    Examples
    --------
    >>> corpus, truth = sample_hdp(3, 5, doc_length=4, gamma=2.0, seed=1)
    >>> corpus.n_docs, truth.topics.shape[1], len(truth.assignments) == corpus.n_tokens
    (3, 5, True)
    """
    for name, value in (("alpha", alpha), ("gamma", gamma)):
        if not 0 < value < np.inf:
            raise DataError(f"{name} must be a finite number > 0, got {value!r}")
    rng = _generator(seed, _STICKS, 0)
    root: list[float] = []
    left = 1.0
    while left > _LEFT and len(root) < 2**16 - 1:
        share = rng.beta(1.0, gamma)
        root.append(left * share)
        left *= 1.0 - share
    mass = np.maximum(alpha * np.array([*root, left]), 1e-300)
    return sample_lda(
        n_docs, len(mass), n_terms, doc_length=doc_length, alpha=mass, beta=beta, seed=seed
    )


def sample_med_lda(
    n_docs: int,
    n_topics: int,
    n_terms: int,
    *,
    n_classes: int = 2,
    doc_length: float = 50.0,
    alpha: npt.ArrayLike = 0.1,
    beta: npt.ArrayLike = 0.01,
    noise: float = 0.1,
    seed: int = 0,
) -> tuple[Corpus, Truth]:
    """Draw a corpus whose labels depend on its topics.

    Words as in `sample_lda`; eta_i ~ N(0, I) for each class. The class of a document is the i with the
    largest eta_i . zbar_d + noise e. The target of a document is eta_0 . zbar_d + noise e, e ~ N(0, 1).
    Documents without tokens have zbar = 0.

    Parameters
    ----------
    n_docs, n_topics, n_terms, doc_length, alpha, beta, seed
        As in `sample_lda`.
    n_classes : int
        Number of classes, named "class 0", "class 1", ...; 0 or 1 gives targets instead.
    noise : float

    Examples
    --------
    >>> corpus, truth = sample_med_lda(3, 2, 5, n_classes=2, seed=1)
    >>> corpus.n_labels, truth.topics.shape
    (2, (2, 5))
    """
    if not isinstance(n_classes, int | np.integer) or n_classes < 0:
        raise DataError(f"n_classes must be a whole number >= 0, got {n_classes!r}")
    corpus, truth = sample_lda(
        n_docs, n_topics, n_terms, doc_length=doc_length, alpha=alpha, beta=beta, seed=seed
    )
    weights = np.array(
        [_generator(seed, _WEIGHT, i).normal(size=n_topics) for i in range(max(n_classes, 1))]
    )
    docs = np.repeat(np.arange(n_docs), np.diff(truth.indptr))
    zbar = np.zeros((n_docs, n_topics))
    np.add.at(zbar, (docs, truth.assignments), 1.0)
    zbar /= np.maximum(zbar.sum(axis=1, keepdims=True), 1.0)
    error = np.array(
        [_generator(seed, _NOISE, d).normal(size=len(weights)) for d in range(n_docs)]
    ).reshape(n_docs, len(weights))
    scores = zbar @ weights.T + noise * error
    if n_classes < 2:
        return Corpus.from_matrix(corpus.counts, targets=scores[:, 0]), truth
    names = [f"class {i}" for i in range(n_classes)]
    found = [names[i] for i in scores.argmax(axis=1)]
    return Corpus.from_matrix(corpus.counts, labels=found, label_names=names), truth


def _generator(seed: int, purpose: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, purpose, number])))


def _pick(weights: npt.NDArray[np.float64], u: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Draw by inversion from uniform numbers; a weight of zero is never drawn."""
    ends = np.cumsum(weights)
    found = np.searchsorted(ends, u * ends[-1], side="right")
    # u * ends[-1] may round up to ends[-1] itself
    last = np.int64(np.flatnonzero(weights)[-1])
    return np.asarray(np.minimum(found, last), np.int64)


def _check(sizes: dict[str, Any], doc_length: float) -> None:
    for name, size in sizes.items():
        least = 1 if name in ("n_topics", "n_terms") else 0
        if not isinstance(size, int | np.integer) or size < least:
            raise DataError(f"{name} must be a whole number >= {least}, got {size!r}")
    if sizes["n_topics"] > 2**16:
        raise DataError(f"n_topics must be at most {2**16}, got {sizes['n_topics']}")
    if not 0 <= doc_length < np.inf:
        raise DataError(f"doc_length must be a finite number >= 0, got {doc_length!r}")


def _parameter(name: str, value: npt.ArrayLike, size: int) -> npt.NDArray[np.float64]:
    array = np.asarray(value, np.float64)
    if array.shape not in ((), (size,)) or not (np.isfinite(array) & (array > 0)).all():
        raise DataError(f"{name} must be one or {size} finite numbers > 0, got {value!r:.80}")
    return np.broadcast_to(array, size).copy()
