"""Counts of terms from lists of tokens."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bayou.data.counts import CSR
from bayou.data.errors import DataError
from bayou.data.vocabulary import Vocabulary

MAX_COMMON = 1_000  # names of common terms that are kept


class CommonTerms(NamedTuple):
    """Terms in more documents than `max_df` allows."""

    n_terms: int = 0
    first: tuple[str, ...] = ()  # at most 1,000, by residual IDF: the most informative first


class Counted(NamedTuple):
    """Counts, the chosen terms, and the terms that were too common."""

    counts: CSR
    vocabulary: Vocabulary
    common: CommonTerms


def count_tokens(
    documents: Iterable[Iterable[str]],
    *,
    vocabulary: Vocabulary | None = None,
    min_df: float = 1,
    max_df: float = 1.0,
    max_features: int | None = None,
) -> tuple[CSR, Vocabulary]:
    """Count the terms of each document.

    Parameters
    ----------
    documents : iterable of iterables of str
        The tokens of each document; a document may be empty.
    vocabulary : Vocabulary, optional
        The terms to count; other terms are dropped. Default: all terms found, in alphabetical
        order, subject to the three limits below.
    min_df, max_df : int or float
        Drop terms in fewer than `min_df` or more than `max_df` documents: a number of documents
        (``int``) or a fraction of the documents (``float`` in 0 .. 1).
    max_features : int, optional
        Keep only the N most frequent terms.

    Returns
    -------
    counts : sparse array, documents by terms
    vocabulary : Vocabulary

    Examples
    --------
    >>> counts, vocabulary = count_tokens([["b", "a", "b"], []])
    >>> counts.toarray().tolist(), vocabulary.terms
    ([[1.0, 2.0], [0.0, 0.0]], ('a', 'b'))
    """
    check_limits(min_df, max_df, max_features)
    if vocabulary is not None:
        # 1 == 1.0 in Python, but as limits they mean one document and all documents
        whole = _is_whole(min_df), _is_whole(max_df)
        if (min_df, max_df, max_features) != (1, 1.0, None) or whole != (True, False):
            raise DataError(
                "min_df, max_df and max_features select the terms of a vocabulary; "
                "leave them out when the vocabulary is given"
            )
        return _count(documents, vocabulary.numbers, grow=False), vocabulary
    return choose_terms(documents, min_df, max_df, max_features)[:2]


def choose_terms(
    documents: Iterable[Iterable[str]], min_df: float, max_df: float, max_features: int | None
) -> Counted:
    """Count all terms and keep those within the limits of `count_tokens`."""
    numbers: defaultdict[str, int] = defaultdict()
    numbers.default_factory = numbers.__len__  # each new term gets the next number
    counts = _count(documents, numbers, grow=True)
    terms = np.array(list(numbers), dtype=object)
    keep = _choose_columns(counts, terms, min_df, max_df, max_features)
    common = _common_terms(counts, terms, max_df)
    return Counted(counts[:, keep], Vocabulary(terms[keep]), common)


def _common_terms(counts: CSR, terms: npt.NDArray[np.object_], max_df: float) -> CommonTerms:
    """Terms over the limit. Residual IDF is log2(N / df) minus its value if tokens fell at random.

    Tokens that fall on N documents at random reach a share 1 - exp(-cf / N) of them. A term that
    is concentrated in fewer documents has a larger IDF than that.
    """
    n_docs, n_terms = counts.shape
    df = np.bincount(counts.indices, minlength=n_terms)
    high = max_df if _is_whole(max_df) else max_df * n_docs
    over = np.flatnonzero(df > high)
    total = np.bincount(counts.indices, weights=counts.data, minlength=n_terms)[over]
    residual = np.log2(n_docs / df[over]) + np.log2(-np.expm1(-total / n_docs))
    order = np.lexsort((terms[over].astype(str), -residual))[:MAX_COMMON]
    return CommonTerms(len(over), tuple(terms[over[order]]))


def check_limits(min_df: float, max_df: float, max_features: int | None) -> None:
    """Raise a `DataError` unless the document-frequency limits are counts or fractions."""
    for name, limit in (("min_df", min_df), ("max_df", max_df)):
        share = isinstance(limit, float | np.floating)
        if not ((_is_whole(limit) and limit >= 0) or (share and 0.0 <= limit <= 1.0)):
            raise DataError(
                f"{name} must be a whole number of documents >= 0 or a fraction from 0.0 to 1.0, "
                f"got {limit!r}"
            )
    if max_features is not None and not (_is_whole(max_features) and max_features > 0):
        raise DataError(f"max_features must be a whole number > 0 or None, got {max_features!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _count(documents: Iterable[Iterable[str]], found: Mapping[str, int], *, grow: bool) -> CSR:
    if isinstance(documents, str | bytes):
        raise DataError("expected a list of token lists, got one string")
    indptr, indices, data = array("q", [0]), array("i"), array("f")
    for d, tokens in enumerate(documents):
        if isinstance(tokens, str | bytes | Mapping) or not isinstance(tokens, Iterable):
            raise DataError(
                f"document {d} must be a list of tokens, got {type(tokens).__name__}; "
                "use from_text for running text"
            )
        try:
            bag: dict[str, int] = Counter(tokens)
        except TypeError as error:
            raise DataError(f"document {d}: tokens must be strings ({error})") from None
        if not set(map(type, bag)) <= {str}:
            _refuse_token(d, bag)
        if not grow:
            bag = {token: n for token, n in bag.items() if token in found}
        indices.extend(map(found.__getitem__, bag))
        data.extend(bag.values())
        indptr.append(len(indices))
    shape = (len(indptr) - 1, len(found))
    counts = sp.csr_array(
        (np.array(data, np.float32), np.array(indices, np.int32), np.array(indptr, np.int64)),
        shape=shape,
    )
    counts.sort_indices()
    return counts


def _refuse_token(d: int, bag: Iterable[Any]) -> None:
    for token in bag:
        if not isinstance(token, str):  # subclasses of str are allowed
            raise DataError(f"document {d}: tokens must be strings, got {token!r:.80}")


def _choose_columns(
    counts: CSR,
    terms: npt.NDArray[np.object_],
    min_df: float,
    max_df: float,
    max_features: int | None,
) -> npt.NDArray[np.intp]:
    """Columns to keep, sorted by term."""
    n_docs, n_terms = counts.shape
    df = np.bincount(counts.indices, minlength=n_terms)
    low = min_df if _is_whole(min_df) else min_df * n_docs
    high = max_df if _is_whole(max_df) else max_df * n_docs
    keep = np.flatnonzero((df >= low) & (df <= high))
    keep = keep[np.argsort(terms[keep], kind="stable")]
    if max_features is not None and len(keep) > max_features:
        total = np.bincount(counts.indices, weights=counts.data, minlength=n_terms)
        # the sort is stable and the terms are alphabetical: ties go to the first term
        best = np.argsort(-total[keep], kind="stable")[:max_features]
        keep = keep[np.sort(best)]
    return keep
