"""Texts, or a corpus, as counts of the terms that are known; and what is not known in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.data.corpus import Corpus
from bayou.data.counting import count_tokens
from bayou.data.label_forms import labels_in, one_array
from bayou.data.text import TokenizedTexts, Vectorizer


class Reading(NamedTuple):
    """Some documents."""

    corpus: Corpus
    lengths: NDArray[np.int64]  # tokens of each document, known or not
    strangers: list[str]  # words that are no terms, each once a document


def read(X: Iterable[str] | Corpus, vectorizer: Vectorizer, *, watch: bool = False) -> Reading:
    """All documents at once; strangers are looked for if they are to be watched."""
    terms = vectorizer.vocabulary_
    if isinstance(X, Corpus):
        strange: list[str] = []
        if watch and X.vocabulary is not None and X.vocabulary is not terms:
            unknown = np.array([word not in terms for word in X.vocabulary], np.bool_)
            strange = [
                X.vocabulary[v] for v in X.counts.indices[unknown[X.counts.indices]].tolist()
            ]
        return Reading(X, X.doc_lengths().astype(np.int64), strange)
    lengths: list[int] = []
    strangers: list[str] = []

    def iter_tokens() -> Iterator[list[str]]:
        for tokens in vectorizer.tokens(X):
            lengths.append(len(tokens))
            if watch:
                strangers.extend(terms.missing(tokens))
            yield tokens

    counts, _ = count_tokens(iter_tokens(), vocabulary=terms)
    corpus = Corpus.from_matrix(counts, vocabulary=terms)
    return Reading(corpus, np.array(lengths, np.int64), strangers)


def pieces(
    X: Iterable[str] | Corpus, vectorizer: Vectorizer, room: Callable[[], int]
) -> Iterator[tuple[slice, Reading]]:
    """The documents ``room()`` at a time, read with the vocabulary of the moment."""
    at = 0
    if isinstance(X, Corpus):
        while at < X.n_docs:
            some = slice(at, min(at + room(), X.n_docs))
            yield some, read(X[some], vectorizer, watch=True)
            at = some.stop
        return
    cut = vectorizer.tokens(X)
    while tokens := TokenizedTexts(islice(cut, room())):
        yield slice(at, at + len(tokens)), read(tokens, vectorizer, watch=True)
        at += len(tokens)


def rows_of(values: Any, some: slice) -> Any:
    """What belongs to some of the documents; a number or None belongs to all."""
    if isinstance(values, list | tuple):  # of label lists too, which make no array
        return values[some]
    if values is None or (np.ndim(values) == 0 and not hasattr(values, "shape")):
        return values
    return values.iloc[some] if hasattr(values, "iloc") else values[some]


def labels_of(y: Any, corpus: Corpus | None) -> Any:
    """All labels that documents have, to be announced; None where the columns of a matrix say it."""
    if y is None:
        return None if corpus is None else corpus.label_names
    given = one_array(y)
    return labels_in(given) or None if given.ndim == 1 else None
