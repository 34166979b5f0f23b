"""A collection of documents: counts of terms, labels, targets, times and ids."""

from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bayou.data.counting import count_tokens
from bayou.data.counts import CSR, as_counts, round_counts, sum_groups, take_rows
from bayou.data.errors import DataError
from bayou.data.fields import as_ids, as_labels, as_names, as_targets
from bayou.data.memory import check_tokens
from bayou.data.text import Vectorizer
from bayou.data.times import as_times
from bayou.data.token_pattern import TOKEN_PATTERN
from bayou.data.vocabulary import Vocabulary, as_vocabulary


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Corpus:
    """Documents as counts of terms, with optional labels, targets, times and identifiers.

    The constructor checks all data, so later code need not. Documents may be empty. Counts may
    be fractional and are then kept as weights. Samplers need whole tokens and use `tokens`, which
    rounds half to even and warns once with `FractionalCountsWarning`.

    Parameters
    ----------
    counts : matrix, documents by terms
        Any form that `from_matrix` accepts; stored as csr_array with float32 data, sorted
        distinct indices and no stored zeros.
    vocabulary : Vocabulary or iterable of str, optional
        The name of each column. Default: the column names of a data frame.
    labels : class vector, list of label lists or indicator matrix, optional
        Stored as csr_array of int8, documents by labels. An empty string means no label. A
        nested *list* is a list of label lists; a two-dimensional array, sparse matrix or frame is
        an indicator.
    label_names : iterable of str, optional
        The name of each label. Whole-number labels are then positions in this list.
    targets : array (n_docs,) or (n_docs, t), optional
        Finite numbers to predict.
    times : iterable, optional
        Dates, ISO strings, years or seconds since 1970; stored as datetime64[us], NaT if missing.
    ids : iterable of str, optional

    Examples
    --------
    >>> corpus = Corpus.from_text(["big cat", "big dog"], labels=["yes", "no"])
    >>> corpus
    Corpus(2 documents, 3 terms, 4 tokens, 2 labels)
    >>> corpus[1:].doc_lengths()
    array([2.])
    """

    counts: CSR
    vocabulary: Vocabulary | None = None
    labels: CSR | None = None
    label_names: tuple[str, ...] | None = None
    targets: npt.NDArray[np.float64] | None = None
    times: npt.NDArray[np.datetime64] | None = None
    ids: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        counts, columns = as_counts(self.counts)
        n_docs, n_terms = counts.shape
        names = as_vocabulary(columns if self.vocabulary is None else self.vocabulary)
        if names is not None and len(names) != n_terms:
            raise DataError(
                f"the vocabulary has {len(names)} terms, but the counts have {n_terms} columns"
            )
        put = object.__setattr__  # the dataclass is frozen
        put(self, "counts", counts)
        put(self, "vocabulary", names)
        if self.labels is not None:
            labels, label_names = as_labels(self.labels, n_docs, self.label_names)
            put(self, "labels", labels)
            put(self, "label_names", label_names)
        elif self.label_names is not None:
            raise DataError(
                f"{len(as_names(self.label_names))} label names were given without labels"
            )
        if self.targets is not None:
            put(self, "targets", as_targets(self.targets, n_docs))
        if self.times is not None:
            put(self, "times", as_times(self.times, n_docs))
        if self.ids is not None:
            put(self, "ids", as_ids(self.ids, n_docs))

    @classmethod
    def from_matrix(
        cls,
        X: Any,
        *,
        vocabulary: Iterable[str] | None = None,
        labels: Any = None,
        label_names: Iterable[str] | None = None,
        targets: Any = None,
        times: Any = None,
        ids: Any = None,
    ) -> "Corpus":
        """Create a corpus from a matrix of counts, documents by terms.

        Parameters
        ----------
        X : scipy sparse matrix or array, ndarray, nested list, pandas or polars frame
            The column names of a frame are the terms, unless `vocabulary` is given.
        vocabulary, labels, label_names, targets, times, ids
            As in `Corpus`.

        Examples
        --------
        >>> Corpus.from_matrix([[2, 0], [0, 0]], targets=[0.5, 1.5])
        Corpus(2 documents, 2 terms, 2 tokens, targets)
        """
        fields: dict[str, Any] = {"label_names": label_names, "targets": targets, "times": times}
        fields |= {"vocabulary": vocabulary, "labels": labels, "ids": ids}
        return cls(counts=X, **fields)

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Iterable[str]],
        *,
        vocabulary: Iterable[str] | None = None,
        min_df: float = 1,
        max_df: float = 1.0,
        **fields: Any,
    ) -> "Corpus":
        """Create a corpus from lists of tokens.

        Parameters
        ----------
        documents : iterable of token lists
        vocabulary : iterable of str, optional
            The terms to count; other terms are dropped. Default: all terms, in alphabetical order.
        min_df, max_df : int or float
            Drop terms in fewer than `min_df` or more than `max_df` documents: a number of
            documents (``int``) or a fraction (``float``).
        **fields
            labels, label_names, targets, times, ids, as in `Corpus`.

        Examples
        --------
        >>> Corpus.from_tokens([["a", "b"], ["b"]], min_df=2).vocabulary
        Vocabulary(1 terms: 'b')
        """
        given = as_vocabulary(vocabulary)
        counts, terms = count_tokens(documents, vocabulary=given, min_df=min_df, max_df=max_df)
        return cls.from_matrix(counts, vocabulary=terms, **fields)

    @classmethod
    def from_text(
        cls,
        texts: Iterable[str],
        *,
        vocabulary: Iterable[str] | None = None,
        min_df: float = 1,
        max_df: float = 1.0,
        max_features: int | None = None,
        stop_words: str | Iterable[str] | None = None,
        lowercase: bool = True,
        min_length: int = 2,
        ngrams: tuple[int, int] = (1, 1),
        token_pattern: str = TOKEN_PATTERN,
        **fields: Any,
    ) -> "Corpus":
        """Create a corpus from texts.

        Parameters
        ----------
        texts : iterable of str
        vocabulary, min_df, max_df, max_features, stop_words, lowercase, min_length, ngrams, \
token_pattern
            As in `Vectorizer`.
        **fields
            labels, label_names, targets, times, ids, as in `Corpus`.
        """
        vectorizer = Vectorizer(
            vocabulary=vocabulary,
            min_df=min_df,
            max_df=max_df,
            max_features=max_features,
            stop_words=stop_words,
            lowercase=lowercase,
            min_length=min_length,
            ngrams=ngrams,
            token_pattern=token_pattern,
        )
        counts = vectorizer.fit_transform(texts)
        return cls.from_matrix(counts, vocabulary=vectorizer.vocabulary_, **fields)

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return int(self.counts.shape[0])

    @property
    def n_terms(self) -> int:
        """Number of terms (columns)."""
        return int(self.counts.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels; 0 without labels."""
        return 0 if self.labels is None else int(self.labels.shape[1])

    @property
    def n_tokens(self) -> float:
        """Sum of all counts; a whole number unless counts are fractional."""
        return float(self.counts.data.sum(dtype=np.float64))

    @property
    def is_fractional(self) -> bool:
        """Whether any count is not a whole number."""
        return bool((np.rint(self.counts.data) != self.counts.data).any())

    def doc_lengths(self) -> npt.NDArray[np.float64]:
        """Sum of the counts of each document."""
        rows = np.repeat(np.arange(self.n_docs), np.diff(self.counts.indptr))
        return sum_groups(rows, self.counts.data, self.n_docs)

    def term_counts(self) -> npt.NDArray[np.float64]:
        """Sum of the counts of each term."""
        return sum_groups(self.counts.indices, self.counts.data, self.n_terms)

    def without_labels(self, ids: tuple[str, ...] | None = None) -> "Corpus":
        """The same documents without labels and targets; ``ids`` replaces their ids."""
        out, put = copy(self), object.__setattr__  # its fields were checked before
        for name in ("labels", "label_names", "targets"):
            put(out, name, None)
        if ids is not None and ids is not self.ids:
            put(out, "ids", as_ids(ids, self.n_docs))
        return out

    def rounded(self) -> "Corpus":
        """The same corpus with counts rounded as by `tokens`, which warns if some were fractional."""
        if not self.is_fractional:
            return self
        self.tokens()
        whole = self.counts.copy()
        np.rint(whole.data, out=whole.data)
        return replace(self, counts=whole)

    def tokens(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32]]:
        """All tokens one by one: each term repeated by its count.

        Fractional counts are rounded half to even, with one `FractionalCountsWarning`.

        Returns
        -------
        indptr : int64 array (n_docs + 1,)
            The tokens of document d are ``terms[indptr[d]:indptr[d + 1]]``.
        terms : uint32 array (n_tokens,)

        Examples
        --------
        >>> indptr, terms = Corpus.from_matrix([[2, 0, 1], [0, 0, 0]]).tokens()
        >>> indptr.tolist(), terms.tolist()
        ([0, 3, 3], [0, 0, 2])
        """
        counts = self.counts
        times = self.whole_counts().astype(np.int64)
        check_tokens(int(times.sum()))
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(times)])
        return ends[counts.indptr], np.repeat(counts.indices.astype(np.uint32), times)

    def whole_counts(self) -> npt.NDArray[np.float32]:
        """Counts rounded as by `tokens`, with its warning; a `DataError` if a count is too large."""
        return round_counts(self.counts, stacklevel=4)

    def __len__(self) -> int:
        return self.n_docs

    def __getitem__(self, key: Any) -> "Corpus":
        if isinstance(key, int | np.integer):
            raise DataError(
                f"corpus[{key}] is ambiguous; use corpus[{key}:{key}+1] for one document"
            )
        empty = isinstance(key, list | tuple) and not key
        rows = np.arange(self.n_docs)[np.asarray(key, np.intp) if empty else key]
        return Corpus(
            counts=take_rows(self.counts, rows),
            vocabulary=self.vocabulary,
            labels=None if self.labels is None else take_rows(self.labels, rows),
            label_names=self.label_names,
            targets=None if self.targets is None else self.targets[rows],
            times=None if self.times is None else self.times[rows],
            ids=None if self.ids is None else tuple(self.ids[d] for d in rows),
        )

    def __repr__(self) -> str:
        parts = [f"{self.n_docs} documents, {self.n_terms} terms, {self.n_tokens:.10g} tokens"]
        if self.labels is not None:
            parts.append(f"{self.n_labels} labels")
        parts += [name for name in ("targets", "times", "ids") if getattr(self, name) is not None]
        return f"Corpus({', '.join(parts)})"
