"""A vocabulary that follows a stream: words that keep coming get a column, words that stay away lose it.

Evidence is the number of documents that a word was in, halved every ``memory`` documents. Every ``every``
documents the vocabulary is revised, so that it depends on the documents in their order and on nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data import container
from bayou.data.corpus import Corpus
from bayou.data.errors import DataError, ModelFileError
from bayou.data.vocabulary import Vocabulary

I64 = NDArray[np.int64]
_LEAD = 2  # how many times the evidence of a term a candidate needs to take its column
_COUNTS = ("n_docs", "mass", "n_added", "n_dropped")


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a vocabulary follows a stream.

    Parameters
    ----------
    max_terms : int
        Most columns at a time. When all are taken, a word needs twice the evidence of the weakest term to
        take its column.
    min_docs : int
        Documents that a word must have been in before it gets a column.
    memory : int
        Documents after which evidence is halved. A term whose evidence has come to nothing is dead and
        loses its column: one that was in n documents, after log2(n) + 1 times as many without it.
    every : int
        Documents between two revisions.

    Examples
    --------
    >>> Growth(max_terms=1000).min_docs
    5
    """

    max_terms: int = 50_000
    min_docs: int = 5
    memory: int = 100_000
    every: int = 1_024

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if type(value) is not int or value < 1:
                raise DataError(f"{name} must be a whole number > 0, got {value!r}")
        if self.memory < self.every:
            raise DataError(
                f"memory must be at least every = {self.every} documents, got {self.memory}"
            )


class Revision(NamedTuple):
    """What becomes of a vocabulary: columns that stay, in their order, and terms behind them."""

    keep: I64
    new: tuple[str, ...]


class VocabularyReport(NamedTuple):
    """What has become of a vocabulary."""

    n_terms: int
    n_added: int
    n_dropped: int
    dropped_tokens: float  # that were counted for the terms that lost their columns
    n_candidates: int  # words without a column that are watched
    unknown_share: float  # of all tokens since the first vocabulary was chosen
    candidates: list[tuple[str, int]]  # those with most evidence


class VocabularyAccount:
    """What is known of words in the vocabulary and out of it.

    Attributes
    ----------
    evidence : int64 array (terms,)
        Documents that each term was in, as far as they are remembered.
    strangers : dict of str to int
        The same of words without a column, after a revision at most twice as many as there may be columns.
    n_docs, mass : int
        Documents so far, and those of them that are remembered.
    n_added, n_dropped : int
        Terms that got a column, and that lost it.
    dropped_tokens : float
        Tokens that models had counted for the terms they lost.
    """

    def __init__(self, growth: Growth, evidence: I64, mass: int) -> None:
        if len(evidence) > growth.max_terms:
            raise DataError(
                f"the vocabulary has {len(evidence)} terms, more than max_terms = {growth.max_terms}; "
                "raise it, or begin with fewer"
            )
        self.growth, self.evidence, self.mass = growth, evidence, mass
        self.strangers: dict[str, int] = {}
        self.n_docs = self.n_added = self.n_dropped = 0
        self.dropped_tokens = 0.0

    @property
    def room(self) -> int:
        """Documents until the next revision."""
        return self.growth.every - self.n_docs % self.growth.every

    def saw(self, n_docs: int, terms: I64, strangers: Iterable[str]) -> None:
        """Add documents, at most `room`: each term once a document, and each word that is none."""
        self.evidence += np.bincount(terms, minlength=len(self.evidence))
        for word in strangers:
            self.strangers[word] = self.strangers.get(word, 0) + 1
        self.n_docs += n_docs
        self.mass += n_docs

    def revise(self, vocabulary: Vocabulary, max_share: float = 1.0) -> Revision | None:
        """What changes when a revision is due; words in more than such a share of documents stay out.

        A term that lost its column to another keeps its evidence, as a stranger.
        """
        if self.n_docs % self.growth.every:
            return None
        if self.n_docs // self.growth.memory > (self.n_docs - 1) // self.growth.memory:
            self.evidence //= 2
            self.mass //= 2
            self.strangers = {w: n // 2 for w, n in self.strangers.items() if n > 1}
        keep, new = self._choose_terms(max_share * self.mass)
        gone = np.setdiff1d(np.flatnonzero(self.evidence), keep, assume_unique=True).tolist()
        n_dropped = len(self.evidence) - len(keep)
        counts = np.array([self.strangers.pop(word) for word in new], np.int64)
        self.strangers |= {vocabulary[v]: int(self.evidence[v]) for v in gone}
        self.evidence = np.concatenate([self.evidence[keep], counts])
        self.n_added += len(new)
        self.n_dropped += n_dropped
        self._forget()
        return Revision(keep, new) if len(new) or n_dropped else None

    def _choose_terms(self, most: float) -> tuple[I64, tuple[str, ...]]:
        """Terms that stay, and words that get a column."""
        able = [
            (-n, word)
            for word, n in self.strangers.items()
            if n >= self.growth.min_docs and n <= most
        ]
        able.sort()
        alive = np.flatnonzero(self.evidence > 0)
        n_free = max(self.growth.max_terms - len(alive), 0)
        weakest = alive[np.argsort(self.evidence[alive], kind="stable")]
        n_moved = 0
        for (n, _), v in zip(able[n_free:], weakest, strict=False):
            if -n <= _LEAD * self.evidence[v]:
                break
            n_moved += 1
        keep = np.setdiff1d(alive, weakest[:n_moved], assume_unique=True)
        if not len(keep) and not able:  # a model has at least one column
            keep = np.zeros(1, np.int64)
        chosen = able[: n_free + n_moved]
        return keep.astype(np.int64), tuple(sorted(word for _, word in chosen))

    def _forget(self) -> None:
        """Of too many strangers, half; those of least evidence go."""
        if len(self.strangers) > 2 * self.growth.max_terms:
            order = sorted((-n, word) for word, n in self.strangers.items())
            self.strangers = {word: -n for n, word in order[: self.growth.max_terms]}

    def candidates(self, n: int) -> list[tuple[str, int]]:
        """The words without a column that have most evidence, with it."""
        order = sorted((-count, word) for word, count in self.strangers.items())
        return [(word, -count) for count, word in order[:n]]

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What a file holds of it beside `figures`."""
        words = sorted(self.strangers)
        return {
            "evidence": self.evidence,
            "strangers": container.pack_strings(words),
            "counts": np.array([self.strangers[word] for word in words], np.int64),
        }

    def figures(self) -> dict[str, Any]:
        """Settings and counts, as JSON has them."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {"growth": asdict(self.growth), "dropped_tokens": self.dropped_tokens} | counts

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], given: Any, n_terms: int
    ) -> VocabularyAccount:
        """The inverse of `arrays` and `figures`, for a vocabulary of so many terms."""
        try:
            growth = Growth(**given["growth"])
            account = cls(growth, arrays["evidence"], 0)
            for name in _COUNTS:
                setattr(account, name, _count(given[name]))
            account.dropped_tokens = float(given["dropped_tokens"])
            words, counts = container.unpack_strings(arrays["strangers"]), arrays["counts"]
            account.strangers = dict(zip(words, map(int, counts), strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the growing vocabulary in the file cannot be used: {error!s:.100}; save it again"
            ) from None
        shapes = account.evidence.shape == (n_terms,) and account.evidence.dtype == np.int64
        if (
            not shapes
            or (account.evidence < 0).any()
            or min(account.strangers.values(), default=1) < 1
        ):
            raise ModelFileError("the file's evidence does not fit its vocabulary; save it again")
        return account


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.40} is no count")
    return value


def revise_vocabulary(vocabulary: Vocabulary, revision: Revision) -> Vocabulary:
    """The vocabulary after a revision."""
    return vocabulary.revised(revision.keep.tolist(), revision.new)


def open_account(growth: Any, n_terms: int, first: Corpus | None) -> VocabularyAccount:
    """The account of a vocabulary that was chosen from the first documents, or of one that was found."""
    if not isinstance(growth, Growth):
        raise DataError(f"growth must be a bayou.data.Growth, got {growth!r:.80}")
    if first is None:
        return VocabularyAccount(growth, np.full(n_terms, growth.min_docs, np.int64), 0)
    met = np.bincount(first.counts.indices, minlength=n_terms)
    return VocabularyAccount(growth, np.maximum(met, 1).astype(np.int64), first.n_docs)


def report_of(
    account: VocabularyAccount | None, n_terms: int, met: tuple[int, int], n: int
) -> VocabularyReport:
    """A report; ``met`` are tokens in the vocabulary and out of it."""
    share = met[1] / max(sum(met), 1)
    if account is None:
        return VocabularyReport(n_terms, 0, 0, 0.0, 0, share, [])
    return VocabularyReport(
        n_terms,
        account.n_added,
        account.n_dropped,
        account.dropped_tokens,
        len(account.strangers),
        share,
        account.candidates(n),
    )
