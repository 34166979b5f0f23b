"""Which terms of a document gave it which topics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False, kw_only=True)
class Explanation:
    """Which terms of a document gave it which topics.

    ``base + parts.sum(axis=0)`` is ``proportions``: every share of a topic comes from a term or from
    the prior.

    Parameters
    ----------
    proportions : float64 array (topics,)
        What `TextModel.transform` gives for the document.
    base : float64 array (topics,)
        The prior's part of them.
    terms : tuple of str
        The known terms of the document, each once, in order of appearance.
    counts : float64 array (terms,)
    topics : float64 array (terms, topics)
        Probability of each topic for a token of the term in this document; rows sum to one.
    unknown : tuple of str
        Tokens that the model has never learned, each once.
    """

    proportions: NDArray[np.float64]
    base: NDArray[np.float64]
    terms: tuple[str, ...]
    counts: NDArray[np.float64]
    topics: NDArray[np.float64]
    unknown: tuple[str, ...]

    @property
    def parts(self) -> NDArray[np.float64]:
        """What each term adds to each topic's share (terms, topics)."""
        total = self.counts.sum()
        scale = (1.0 - self.base.sum()) / total if total else 0.0
        return np.asarray(self.topics * self.counts[:, None] * scale, np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginExplanation:
    """Where the scores of one document come from.

    ``base + parts.sum(axis=0)`` is ``scores``: every score comes from terms, through topics or directly, and
    from what is the same for all documents.

    Parameters
    ----------
    classes : array
        What the tasks are named after; two classes are one task, which speaks for the second.
    terms : tuple of str
        The known terms of the document.
    counts : float64 array (terms,)
    shares : float64 array (terms, topics)
        What each term adds to the document's average topics; all add up to one.
    weights : float64 array (topics, tasks)
    words : float64 array (terms, tasks)
        What terms say directly, beside the topics; zero without a word residual.
    base : float64 array (tasks,)
        The part that no term decides.
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
        """What each term adds to each score (terms, tasks)."""
        return np.asarray(self.shares @ self.weights + self.words, np.float64)

    @property
    def topic_parts(self) -> NDArray[np.float64]:
        """What each topic adds to each score (topics, tasks)."""
        return np.asarray(self.shares.sum(axis=0)[:, None] * self.weights, np.float64)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The scores that are explained (tasks,)."""
        return np.asarray(self.base + self.parts.sum(axis=0), np.float64)

    def term_topic(self, task: int) -> NDArray[np.float64]:
        """What each term adds to one score through each topic (terms, topics)."""
        return np.asarray(self.shares * self.weights[:, task], np.float64)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelExplanation:
    """Which terms of a document voted for which labels, and which topics over labels pulled them.

    ``base + votes.sum(axis=0)`` is ``scores``, the share of each label, and so is
    ``base + topic_parts.sum(axis=0)`` where there are topics over labels.

    Parameters
    ----------
    classes : array
        The labels.
    terms : tuple of str
        The terms of the document that some label has met.
    counts : float64 array (terms,)
    votes : float64 array (terms, labels)
        What each term adds to the share of each label.
    base : float64 array (labels,)
        The part of the shares that no term decides: the prior's.
    shares : float64 array (terms, topics)
        What each term adds to the document's topics over labels; without columns where there are none.
    links : float64 array (topics, labels)
        Probability of each label in each topic [phi'].
    prior : float64 array (topics,)
        The prior's part of the document's topics.
    n_given : int
        How many labels the document is given.
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
        """What each term adds to each score (terms, labels)."""
        return self.votes

    @property
    def words(self) -> NDArray[np.float64]:
        """What terms say beside the labels' own scores: nothing."""
        return np.zeros_like(self.votes)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The shares that are explained (labels,)."""
        return np.asarray(self.base + self.votes.sum(axis=0), np.float64)

    @property
    def topic_parts(self) -> NDArray[np.float64]:
        """How much of what the terms add to each score each topic has pulled there (topics, labels)."""
        total = self.shares.sum()
        theta = self.shares.sum(axis=0) * (1.0 - self.prior.sum()) / (total or 1.0) + self.prior
        pull = theta[:, None] * self.links
        whole = pull.sum(axis=0)
        part = np.divide(pull, whole, out=np.zeros_like(pull), where=whole > 0)
        return np.asarray(part * self.votes.sum(axis=0), np.float64)
