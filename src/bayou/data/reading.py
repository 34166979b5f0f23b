"""Counts of known terms in texts or a corpus, and the words that are not in the vocabulary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.data.counting import count_tokens
from bayou.data.label_entries import labels_in, one_array
from bayou.data.text import TokenizedTexts, Vectorizer


class Reading(NamedTuple):
    """The counts of some documents."""

    corpus: Corpus
    lengths: NDArray[np.int64]  # tokens per document, known and unknown
    unknown_words: list[str]  # words outside the vocabulary, each once per document


def read(X: Iterable[str] | Corpus, vectorizer: Vectorizer, *, watch: bool = False) -> Reading:
    """Read all documents; with ``watch`` also collect the unknown words."""
    terms = vectorizer.vocabulary_
    if isinstance(X, Corpus):
        unknown: list[str] = []
        if watch and X.vocabulary is not None and X.vocabulary is not terms:
            is_unknown = np.array([word not in terms for word in X.vocabulary], np.bool_)
            unknown = [
                X.vocabulary[v] for v in X.counts.indices[is_unknown[X.counts.indices]].tolist()
            ]
        return Reading(X, X.doc_lengths().astype(np.int64), unknown)
    lengths: list[int] = []
    unknown_words: list[str] = []

    def iter_tokens() -> Iterator[list[str]]:
        for tokens in vectorizer.tokens(X):
            lengths.append(len(tokens))
            if watch:
                unknown_words.extend(terms.missing(tokens))
            yield tokens

    counts, _ = count_tokens(iter_tokens(), vocabulary=terms)
    corpus = Corpus.from_matrix(counts, vocabulary=terms)
    return Reading(corpus, np.array(lengths, np.int64), unknown_words)


def pieces(
    X: Iterable[str] | Corpus, vectorizer: Vectorizer, next_size: Callable[[], int]
) -> Iterator[tuple[slice, Reading]]:
    """Read ``next_size()`` documents at a time, each piece with the vocabulary current at that time."""
    at = 0
    if isinstance(X, Corpus):
        while at < X.n_docs:
            some = slice(at, min(at + next_size(), X.n_docs))
            yield some, read(X[some], vectorizer, watch=True)
            at = some.stop
        return
    cut = vectorizer.tokens(X)
    while tokens := TokenizedTexts(islice(cut, next_size())):
        yield slice(at, at + len(tokens)), read(tokens, vectorizer, watch=True)
        at += len(tokens)


def rows_of(values: Any, some: slice) -> Any:
    """The values of some documents; a number or None applies to all documents."""
    if isinstance(values, list | tuple):  # also label lists, which do not convert to an array
        return values[some]
    if values is None or (np.ndim(values) == 0 and not hasattr(values, "shape")):
        return values
    return values.iloc[some] if hasattr(values, "iloc") else values[some]


def labels_of(y: Any, corpus: Corpus | None) -> Any:
    """All labels of the documents; None for an indicator matrix, whose columns are the labels."""
    if y is None:
        return None if corpus is None else corpus.label_names
    given = one_array(y)
    return labels_in(given) or None if given.ndim == 1 else None
