"""Documents with dependent labels, drawn from the generative process of Dependency-LDA."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bayou.data.corpus import Corpus
from bayou.data.errors import DataError
from bayou.data.synthetic import _check, _generator, _parameter

_TERMS, _LINKS, _DOC = 20, 21, 22


class LabelTruth(NamedTuple):
    """The true parameters of documents with labels."""

    terms: npt.NDArray[np.float64]  # phi (labels, terms)
    links: npt.NDArray[np.float64]  # phi' (topics, labels)
    doc_topics: npt.NDArray[np.float64]  # theta' (documents, topics)


def sample_dependency_lda(
    n_docs: int,
    n_topics: int,
    n_labels: int,
    n_terms: int,
    *,
    n_label_tokens: int = 3,
    doc_length: float = 60.0,
    alpha: npt.ArrayLike = 0.2,
    beta_labels: npt.ArrayLike = 0.1,
    beta: npt.ArrayLike = 0.02,
    seed: int = 0,
) -> tuple[Corpus, LabelTruth]:
    """Draw a corpus with several labels per document.

    theta'_d ~ Dir(alpha), phi'_k ~ Dir(beta_labels) and phi_y ~ Dir(beta). A document draws `n_label_tokens`
    labels, each from the phi' of a topic, and keeps the distinct ones. It has Poisson(doc_length) words. Each
    word belongs to one of the label tokens and is drawn from the phi of that label.

    Parameters
    ----------
    n_docs, n_topics, n_labels, n_terms : int
    n_label_tokens : int
    doc_length : float
        Mean number of tokens.
    alpha, beta_labels, beta : float or array
    seed : int

    Examples
    --------
    >>> corpus, truth = sample_dependency_lda(3, 2, 4, 10, seed=1)
    >>> corpus.n_labels, truth.links.shape
    (4, (2, 4))
    """
    _check({"n_docs": n_docs, "n_topics": n_topics, "n_terms": n_terms}, doc_length)
    for name, size in (("n_labels", n_labels), ("n_label_tokens", n_label_tokens)):
        if not isinstance(size, int | np.integer) or size < 1:
            raise DataError(f"{name} must be a whole number >= 1, got {size!r}")
    prior = _parameter("beta", beta, n_terms)
    terms = np.array([_generator(seed, _TERMS, y).dirichlet(prior) for y in range(n_labels)])
    prior = _parameter("beta_labels", beta_labels, n_labels)
    links = np.array([_generator(seed, _LINKS, k).dirichlet(prior) for k in range(n_topics)])
    prior = _parameter("alpha", alpha, n_topics)
    counts = np.zeros((n_docs, n_terms))
    labels, doc_topics = [], np.zeros((n_docs, n_topics))
    for d in range(n_docs):
        rng = _generator(seed, _DOC, d)
        doc_topics[d] = rng.dirichlet(prior)
        tokens = rng.choice(n_labels, n_label_tokens, p=doc_topics[d] @ links)
        n_each = rng.multinomial(rng.poisson(doc_length), np.full(len(tokens), 1 / len(tokens)))
        for y, n in zip(tokens, n_each, strict=True):
            counts[d] += rng.multinomial(n, terms[y])
        labels.append([f"label {y}" for y in np.unique(tokens)])
    names = [f"label {y}" for y in range(n_labels)]
    corpus = Corpus.from_matrix(counts, labels=labels, label_names=names)
    return corpus, LabelTruth(terms, links, doc_topics)
