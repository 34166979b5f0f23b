"""Explanations of predictions: the contribution of each term of a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """Contributions of the terms of a document to its topic proportions.

    ``base + parts.sum(axis=0)`` equals ``proportions``: all of a topic's share comes from terms or from
    the prior.

    Parameters
    ----------
    proportions : float64 array (topics,)
        The result of `TextModel.transform` for the document.
    base : float64 array (topics,)
        The prior's contribution.
    terms : tuple of str
        The known terms of the document, each once, in order of appearance.
    counts : float64 array (terms,)
    topics : float64 array (terms, topics)
        Probability of each topic for a token of the term in this document; rows sum to one.
    unknown : tuple of str
        Tokens outside the vocabulary, each once.
    """

    proportions: NDArray[np.float64]
    base: NDArray[np.float64]
    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    topics: NDArray[np.float64]
    unknown: tuple[str, ...]

    @property
    def parts(self) -> NDArray[np.float64]:
        """Contribution of each term to each topic's share (terms, topics)."""
        total = self.counts.sum()
        scale = (1.0 - self.base.sum()) / total if total else 0.0
        return np.asarray(self.topics * self.counts[:, None] * scale, np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginExplanation:
    """Contributions of the terms and topics of a document to its scores.

    ``base + parts.sum(axis=0)`` equals ``scores``. A score is the sum of the terms' contributions, through
    topics or directly, and a part that is the same for all documents.

    Parameters
    ----------
    classes : array
        Names of the tasks. Binary: one task; positive scores favour ``classes[1]``.
    terms : tuple of str
        The known terms of the document.
    counts : float64 array (terms,)
    shares : float64 array (terms, topics)
        Contribution of each term to the document's mean topic proportions; the sum is one.
    weights : float64 array (topics, tasks)
    words : float64 array (terms, tasks)
        Direct contributions of terms, not through topics; zero without a word residual.
    base : float64 array (tasks,)
        The part that does not depend on terms.
    """

    classes: NDArray[Any]
    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    shares: NDArray[np.float64]
    weights: NDArray[np.float64]
    words: NDArray[np.float64]
    base: NDArray[np.float64]

    @property
    def parts(self) -> NDArray[np.float64]:
        """Contribution of each term to each score (terms, tasks)."""
        return np.asarray(self.shares @ self.weights + self.words, np.float64)

    @property
    def topic_parts(self) -> NDArray[np.float64]:
        """Contribution of each topic to each score (topics, tasks)."""
        return np.asarray(self.shares.sum(axis=0)[:, None] * self.weights, np.float64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The explained scores (tasks,)."""
        return np.asarray(self.base + self.parts.sum(axis=0), np.float64)

    def term_topic(self, task: int) -> NDArray[np.float64]:
        """Contribution of each term to one score through each topic (terms, topics)."""
        return np.asarray(self.shares * self.weights[:, task], np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelExplanation:
    """Contributions of the terms of a document, and of its topics over labels, to the label scores.

    ``base + votes.sum(axis=0)`` equals ``scores``, the share of each label. With topics over labels,
    ``base + topic_parts.sum(axis=0)`` equals ``scores`` too.

    Parameters
    ----------
    classes : array
        The labels.
    terms : tuple of str
        The terms of the document that occurred in training with some label.
    counts : float64 array (terms,)
    votes : float64 array (terms, labels)
        Contribution of each term to the share of each label.
    base : float64 array (labels,)
        The part of the shares that does not depend on terms: the prior's.
    shares : float64 array (terms, topics)
        Contribution of each term to the document's topics over labels; no columns without such topics.
    links : float64 array (topics, labels)
        Probability of each label in each topic [phi'].
    prior : float64 array (topics,)
        The prior's part of the document's topics.
    n_given : int
        Number of labels predicted for the document.
    """

    classes: NDArray[Any]
    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    votes: NDArray[np.float64]
    base: NDArray[np.float64]
    shares: NDArray[np.float64]
    links: NDArray[np.float64]
    prior: NDArray[np.float64]
    n_given: int

    @property
    def parts(self) -> NDArray[np.float64]:
        """Contribution of each term to each score (terms, labels)."""
        return self.votes

    @property
    def words(self) -> NDArray[np.float64]:
        """Direct contributions of terms besides the votes: zero."""
        return np.zeros_like(self.votes)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The explained shares (labels,)."""
        return np.asarray(self.base + self.votes.sum(axis=0), np.float64)

    @property
    def topic_parts(self) -> NDArray[np.float64]:
        """The part of the terms' contributions that each topic accounts for (topics, labels)."""
        total = self.shares.sum()
        theta = self.shares.sum(axis=0) * (1.0 - self.prior.sum()) / (total or 1.0) + self.prior
        pull = theta[:, None] * self.links
        whole = pull.sum(axis=0)
        part = np.divide(pull, whole, out=np.zeros_like(pull), where=whole > 0)
        return np.asarray(part * self.votes.sum(axis=0), np.float64)
