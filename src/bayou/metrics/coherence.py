"""Topic coherence: co-occurrence of a topic's top terms. NPMI and C_V, one value per topic.

Both use the fraction of windows of a reference corpus that contain one term, or two terms. For a matrix of
counts, the window is the document. For token sequences, a window slides over each sequence token by token; a
shorter sequence is one window. Documents without tokens have no window.

A term occurs in a union of intervals of window numbers. The number of windows shared by two terms is the
overlap of their intervals. The cost is proportional to the occurrences of the terms, for any window width.

[Bouma09] Bouma. Normalized (pointwise) mutual information in collocation extraction. GSCL 2009.
[Roeder15] Roeder, Both, Hinneburg. Exploring the space of topic coherence measures. WSDM 2015.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayou.kernels.evaluate import count_windows_into
from bayou.metrics.topics import Floats, Ints, check_count, top_terms


class _Windows(NamedTuple):
    """The windows in which each term of interest occurs."""

    offsets: Ints  # (n_columns + 1,) intervals of column i are offsets[i] .. offsets[i + 1]
    starts: Ints  # first window of an interval
    stops: Ints  # one past its last window
    n_windows: int


def npmi(
    topics: Any,
    reference: Any,
    *,
    top_n: int = 10,
    window: int | None = None,
    vocabulary: Sequence[str] | None = None,
    eps: float = 1e-12,
) -> Floats:
    """Normalised pointwise mutual information of top terms, averaged over pairs [Bouma09].

    For a pair, log((p_ij + eps) / (p_i p_j)) / -log(p_ij + eps): 1 if the terms only occur
    together, 0 if they are independent or one is not in the reference, near -1 if they never
    co-occur.

    Parameters
    ----------
    topics : array of shape (n_topics, n_terms), or a list of top terms for each topic
        Term probabilities; or term numbers (names, with a vocabulary), best first.
    reference : sparse or dense array of shape (n_docs, n_terms), or list of token sequences
        Counts, or documents as term numbers (names, with a vocabulary). Numbers below 0 and names
        not in the vocabulary are other tokens; they occupy a position in a window.
    top_n : int
        Number of terms per topic.
    window : int, optional
        Width of the sliding window, for token sequences only. Default: 10.
    vocabulary : sequence of str, optional
        Names of the columns.
    eps : float
        Added to joint probabilities. With 0, pairs that never co-occur get exactly -1.

    Returns
    -------
    array of shape (n_topics,); NaN for a topic with fewer than two terms

    Examples
    --------
    >>> X = np.array([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]])
    >>> npmi([[0, 1], [0, 2]], X, eps=0.0)
    array([ 1., -1.])
    >>> npmi([["a", "b"]], [["a", "b", "c"], ["c"]], vocabulary=["a", "b", "c"]).round(3)
    array([1.])
    """
    _check_eps(eps)
    lists, windows = _prepare(topics, reference, top_n, window, 10, vocabulary)
    values = np.full(len(lists), np.nan)
    for k, columns in enumerate(lists):
        if len(columns) > 1:
            pairs = np.tril_indices(len(columns), -1)
            values[k] = _npmi_matrix(columns, windows, eps)[pairs].mean()
    return values


def c_v(
    topics: Any,
    reference: Any,
    *,
    top_n: int = 10,
    window: int | None = None,
    vocabulary: Sequence[str] | None = None,
    eps: float = 1e-12,
) -> Floats:
    """C_V coherence: similarity of the contexts of a topic's top terms [Roeder15].

    The NPMI values of a term with all top terms form its context vector. The measure is the mean
    cosine between the vector of each term and the sum of all vectors. It is defined for token
    sequences and a sliding window of 110. For a matrix of counts the window is the document, and the
    values are not comparable with published ones.

    Parameters
    ----------
    topics, reference, top_n, vocabulary, eps
        As in `npmi`.
    window : int, optional
        Width of the sliding window, for token sequences only. Default: 110.

    Returns
    -------
    array of shape (n_topics,); NaN for a topic without terms

    Examples
    --------
    >>> X = np.array([[1, 1, 0], [2, 1, 0], [0, 0, 1], [0, 0, 3]])
    >>> c_v([[0, 1], [0, 2]], X, eps=0.0).round(3)
    array([1., 0.])
    """
    _check_eps(eps)
    lists, windows = _prepare(topics, reference, top_n, window, 110, vocabulary)
    values = np.full(len(lists), np.nan)
    for k, columns in enumerate(lists):
        if len(columns) > 0:
            vectors = _npmi_matrix(columns, windows, eps)
            whole = vectors.sum(axis=0)
            norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(whole)
            values[k] = np.mean(vectors @ whole / np.where(norms > 0, norms, 1.0))
    return values


def _check_eps(eps: float) -> None:
    if not 0 <= eps < 1:
        raise ValueError(f"eps must be at least 0 and below 1; got {eps!r}")


def _npmi_matrix(columns: Ints, windows: _Windows, eps: float) -> Floats:
    """NPMI of all pairs of terms of one topic, including each term with itself."""
    shared = np.empty((len(columns), len(columns)))
    count_windows_into(shared, windows.offsets, windows.starts, windows.stops, columns)
    joint = shared / max(windows.n_windows, 1)
    single = joint.diagonal()
    independent = np.outer(single, single)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = np.log((joint + eps) / independent) / -np.log(joint + eps)
    values[(joint == 0) & (eps == 0)] = -1.0  # the limits at p_ij = 0 ...
    values[joint == 1] = 1.0  # ... and at p_ij = 1, where the formula is 0 / 0
    values[independent == 0] = 0.0
    return np.asarray(values)


def _prepare(
    topics: Any,
    reference: Any,
    top_n: int,
    window: int | None,
    default_window: int,
    vocabulary: Sequence[str] | None,
) -> tuple[list[Ints], _Windows]:
    """Top terms as columns of interest, and the windows in which they occur."""
    numbers = _numbering(vocabulary or (), topics, reference)
    lists = _term_lists(topics, check_count("top_n", top_n, 1), numbers)
    terms = np.unique(np.concatenate([np.empty(0, np.int64), *lists]))
    columns = [np.searchsorted(terms, row) for row in lists]
    if _is_matrix(reference):
        if window is not None:
            raise ValueError(
                "window needs token sequences; in a matrix of counts the window is the document"
            )
        return columns, _document_windows(sparse.csr_array(reference), terms)
    width = default_window if window is None else check_count("window", window, 1)
    return columns, _sliding_windows(reference, terms, width, numbers)


def _is_matrix(value: Any) -> bool:
    """Whether a value is a matrix, as opposed to a list of sequences."""
    return bool(sparse.issparse(value) or getattr(value, "ndim", 1) == 2)


def _holds_probabilities(topics: Any) -> bool:
    """Whether topics are probabilities: a matrix of floats; integers are numbers of top terms."""
    return _is_matrix(topics) and np.issubdtype(topics.dtype, np.floating)


def _numbering(vocabulary: Sequence[str], topics: Any, reference: Any) -> dict[str, int]:
    """The number of each name, after a check that all inputs have the same number of terms."""
    numbers = {str(name): v for v, name in enumerate(vocabulary)}
    if len(numbers) < len(vocabulary):
        raise ValueError(
            f"{len(vocabulary) - len(numbers)} names occur twice in the vocabulary; names must be distinct"
        )
    sizes = {"vocabulary": len(numbers)} if numbers else {}
    if _holds_probabilities(topics):
        sizes["topics"] = topics.shape[1]
    if _is_matrix(reference):
        sizes["reference"] = reference.shape[1]
    if len(set(sizes.values())) > 1:
        said = ", ".join(f"{size} in {name}" for name, size in sizes.items())
        raise ValueError(f"the number of terms must be the same everywhere; got {said}")
    return numbers


def _term_lists(topics: Any, top_n: int, numbers: Mapping[str, int]) -> list[Ints]:
    """The first top_n terms of every topic as term numbers."""
    if _holds_probabilities(topics):
        return list(top_terms(topics, check_count("top_n", top_n, 1, topics.shape[1])))
    lists = [_as_numbers(row, numbers, "topics")[:top_n] for row in topics]
    for k, row in enumerate(lists):
        if (row < 0).any() or len(np.unique(row)) < len(row):
            raise ValueError(
                f"topic {k} must list different terms, each a number from 0 on or a name in the "
                f"vocabulary; got {list(topics[k])[:top_n]}"
            )
    return lists


def _as_numbers(row: Sequence[Any], numbers: Mapping[str, int], what: str) -> Ints:
    """Term numbers of a sequence of numbers or names; -1 for an unknown name."""
    if isinstance(row, str):
        raise ValueError(f"{what} must hold sequences of terms; got the string {row[:40]!r}")
    if len(row) == 0:
        return np.empty(0, np.int64)
    if isinstance(row[0], str):
        if not numbers:
            raise ValueError(f"{what} hold names; pass the vocabulary with their numbers")
        return np.array([numbers.get(name, -1) for name in row], np.int64)
    terms = np.asarray(row)
    if terms.ndim != 1 or not np.issubdtype(terms.dtype, np.integer):
        raise ValueError(
            f"{what} must hold term numbers or names; got entries of type {terms.dtype}. "
            f"Pass a matrix as an array, not as a list"
        )
    return terms.astype(np.int64)


def _document_windows(matrix: Any, terms: Ints) -> _Windows:
    """Every document with a token is one window."""
    if len(terms) and terms[-1] >= matrix.shape[1]:
        raise ValueError(
            f"reference has {matrix.shape[1]} terms but a topic lists term {terms[-1]}"
        )
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise ValueError("reference must hold finite, non-negative counts")
    present = sparse.csr_array(matrix > 0)
    filled = np.diff(present.indptr) > 0
    columns = sparse.csc_array(present[np.flatnonzero(filled)][:, terms])
    columns.sort_indices()
    starts = columns.indices.astype(np.int64)
    return _Windows(columns.indptr.astype(np.int64), starts, starts + 1, int(filled.sum()))


def _sliding_windows(
    sequences: Any, terms: Ints, width: int, numbers: Mapping[str, int]
) -> _Windows:
    """Windows of the given width, numbered across all documents."""
    docs = [_as_numbers(row, numbers, "reference") for row in sequences]
    lengths = np.array([len(row) for row in docs], np.int64)
    per_doc = np.where(lengths > 0, np.maximum(lengths - width + 1, 1), 0)
    tokens = np.concatenate([np.empty(0, np.int64), *docs])
    doc = np.repeat(np.arange(len(docs)), lengths)
    place = np.arange(len(tokens)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    first = (np.cumsum(per_doc) - per_doc)[doc]
    starts = first + np.maximum(place - width + 1, 0)
    stops = first + np.minimum(place, per_doc[doc] - 1) + 1
    column = np.searchsorted(terms, tokens)
    known = np.isin(tokens, terms)
    return _merge_windows(
        column[known], starts[known], stops[known], len(terms), int(per_doc.sum())
    )


def _merge_windows(
    column: NDArray[np.intp], starts: Ints, stops: Ints, n_columns: int, n_windows: int
) -> _Windows:
    """Disjoint intervals by column: each starts after the previous one of the same column."""
    order = np.argsort(column, kind="stable")
    column, starts, stops = column[order], starts[order], stops[order]
    same = column[1:] == column[:-1]
    starts[1:] = np.where(same, np.maximum(starts[1:], stops[:-1]), starts[1:])
    offsets = np.searchsorted(column, np.arange(n_columns + 1))
    return _Windows(offsets.astype(np.int64), starts, stops, n_windows)
