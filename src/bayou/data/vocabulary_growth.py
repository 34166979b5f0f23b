"""A vocabulary that follows a stream: frequent new words get a column, unused terms lose theirs.

The evidence of a word is the number of documents that contain it, halved every ``memory`` documents. The
vocabulary is revised every ``every`` documents. It therefore depends only on the documents and their order.
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
_LEAD = 2  # a candidate needs this many times the evidence of a term to take its column
_COUNTS = ("n_docs", "mass", "n_added", "n_dropped")


@dataclass(frozen=True, kw_only=True)
class Growth:
    """Settings of a growing vocabulary.

    Parameters
    ----------
    max_terms : int
        Maximum number of columns. When all are used, a new word needs more than twice the evidence of the
        weakest term to take its column.
    min_docs : int
        Number of documents that must contain a word before it gets a column.
    memory : int
        Number of documents after which evidence is halved. A term whose evidence reaches zero loses its
        column. After n documents with the term, this takes log2(n) + 1 times ``memory`` without it.
    every : int
        Number of documents between two revisions.

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
    """The change of a vocabulary: columns that stay, in order, and the terms added after them."""

    keep: I64
    new: tuple[str, ...]


class VocabularyReport(NamedTuple):
    """The size of a growing vocabulary, its changes so far, and its candidates."""

    n_terms: int
    n_added: int
    n_dropped: int
    dropped_tokens: float  # tokens that were counted for terms that lost their columns
    n_candidates: int  # words without a column for which evidence is kept
    unknown_share: float  # of all tokens since the first vocabulary was chosen
    candidates: list[tuple[str, int]]  # the candidates with most evidence


class VocabularyAccount:
    """Evidence of the words inside and outside the vocabulary.

    Attributes
    ----------
    evidence : int64 array (terms,)
        Number of documents that contain each term, halved every ``memory`` documents.
    unknown_words : dict of str to int
        The evidence of words without a column. A revision keeps at most ``2 * max_terms`` of them.
    n_docs, mass : int
        Number of documents so far, and the same number halved like the evidence.
    n_added, n_dropped : int
        Number of terms that got a column, and that lost it.
    dropped_tokens : float
        Number of tokens that models had counted for the dropped terms.
    """

    def __init__(self, growth: Growth, evidence: I64, mass: int) -> None:
        if len(evidence) > growth.max_terms:
            raise DataError(
                f"the vocabulary has {len(evidence)} terms, more than max_terms = {growth.max_terms}; "
                "raise max_terms, or start with fewer terms"
            )
        self.growth, self.evidence, self.mass = growth, evidence, mass
        self.unknown_words: dict[str, int] = {}
        self.n_docs = self.n_added = self.n_dropped = 0
        self.dropped_tokens = 0.0

    @property
    def n_until_revision(self) -> int:
        """Number of documents until the next revision."""
        return self.growth.every - self.n_docs % self.growth.every

    def add_documents(self, n_docs: int, terms: I64, unknown_words: Iterable[str]) -> None:
        """Add at most `n_until_revision` documents: each term and each unknown word once per document."""
        self.evidence += np.bincount(terms, minlength=len(self.evidence))
        for word in unknown_words:
            self.unknown_words[word] = self.unknown_words.get(word, 0) + 1
        self.n_docs += n_docs
        self.mass += n_docs

    def revise(self, vocabulary: Vocabulary, max_share: float = 1.0) -> Revision | None:
        """Revise the vocabulary if due. Words in more than ``max_share`` of the documents are excluded.

        A term that lost its column to another word keeps its evidence as an unknown word.
        """
        if self.n_docs % self.growth.every:
            return None
        if self.n_docs // self.growth.memory > (self.n_docs - 1) // self.growth.memory:
            self.evidence //= 2
            self.mass //= 2
            self.unknown_words = {w: n // 2 for w, n in self.unknown_words.items() if n > 1}
        keep, new = self._choose_terms(max_share * self.mass)
        gone = np.setdiff1d(np.flatnonzero(self.evidence), keep, assume_unique=True).tolist()
        n_dropped = len(self.evidence) - len(keep)
        counts = np.array([self.unknown_words.pop(word) for word in new], np.int64)
        self.unknown_words |= {vocabulary[v]: int(self.evidence[v]) for v in gone}
        self.evidence = np.concatenate([self.evidence[keep], counts])
        self.n_added += len(new)
        self.n_dropped += n_dropped
        self._forget()
        return Revision(keep, new) if len(new) or n_dropped else None

    def _choose_terms(self, most: float) -> tuple[I64, tuple[str, ...]]:
        """Terms that stay, and words that get a column."""
        able = [
            (-n, word)
            for word, n in self.unknown_words.items()
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
        if not len(keep) and not able:  # a model needs at least one column
            keep = np.zeros(1, np.int64)
        chosen = able[: n_free + n_moved]
        return keep.astype(np.int64), tuple(sorted(word for _, word in chosen))

    def _forget(self) -> None:
        """If there are too many unknown words, keep those with most evidence."""
        if len(self.unknown_words) > 2 * self.growth.max_terms:
            order = sorted((-n, word) for word, n in self.unknown_words.items())
            self.unknown_words = {word: -n for n, word in order[: self.growth.max_terms]}

    def candidates(self, n: int) -> list[tuple[str, int]]:
        """The words without a column that have most evidence, with their evidence."""
        order = sorted((-count, word) for word, count in self.unknown_words.items())
        return [(word, -count) for count, word in order[:n]]

    # -- files ---------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The arrays for a model file; the rest is in `figures`."""
        words = sorted(self.unknown_words)
        return {
            "evidence": self.evidence,
            "strangers": container.pack_strings(words),
            "counts": np.array([self.unknown_words[word] for word in words], np.int64),
        }

    def figures(self) -> dict[str, Any]:
        """Settings and counts as JSON."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        return {"growth": asdict(self.growth), "dropped_tokens": self.dropped_tokens} | counts

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[Any]], given: Any, n_terms: int
    ) -> VocabularyAccount:
        """The inverse of `arrays` and `figures`, for a vocabulary of ``n_terms`` terms."""
        try:
            growth = Growth(**given["growth"])
            account = cls(growth, arrays["evidence"], 0)
            for name in _COUNTS:
                setattr(account, name, _count(given[name]))
            account.dropped_tokens = float(given["dropped_tokens"])
            words, counts = container.unpack_strings(arrays["strangers"]), arrays["counts"]
            account.unknown_words = dict(zip(words, map(int, counts), strict=True))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(
                f"the growing vocabulary in the file cannot be used: {error!s:.100}; save it again"
            ) from None
        shapes = account.evidence.shape == (n_terms,) and account.evidence.dtype == np.int64
        if (
            not shapes
            or (account.evidence < 0).any()
            or min(account.unknown_words.values(), default=1) < 1
        ):
            raise ModelFileError("the file's evidence does not match its vocabulary; save it again")
        return account


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r:.40} is not a count")
    return value


def revise_vocabulary(vocabulary: Vocabulary, revision: Revision) -> Vocabulary:
    """The vocabulary after a revision."""
    return vocabulary.revised(revision.keep.tolist(), revision.new)


def open_account(growth: Any, n_terms: int, first: Corpus | None) -> VocabularyAccount:
    """The account of a vocabulary chosen from the documents ``first``, or of a given one (None)."""
    if not isinstance(growth, Growth):
        raise DataError(f"growth must be a bayou.data.Growth, got {growth!r:.80}")
    if first is None:
        return VocabularyAccount(growth, np.full(n_terms, growth.min_docs, np.int64), 0)
    met = np.bincount(first.counts.indices, minlength=n_terms)
    return VocabularyAccount(growth, np.maximum(met, 1).astype(np.int64), first.n_docs)


def report_of(
    account: VocabularyAccount | None, n_terms: int, met: tuple[int, int], n: int
) -> VocabularyReport:
    """A report; ``met`` are the numbers of known and unknown tokens."""
    share = met[1] / max(sum(met), 1)
    if account is None:
        return VocabularyReport(n_terms, 0, 0, 0.0, 0, share, [])
    return VocabularyReport(
        n_terms,
        account.n_added,
        account.n_dropped,
        account.dropped_tokens,
        len(account.unknown_words),
        share,
        account.candidates(n),
    )
