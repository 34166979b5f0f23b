"""Texts from lists, arrays and tables."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bayou.data.counts import is_frame
from bayou.data.errors import DataError


def as_texts(X: Any) -> Iterable[Any]:
    """An iterable of texts from any container; of a table its only column.

    Examples
    --------
    >>> list(as_texts(np.array([["one text"], ["another"]], dtype=object)))
    ['one text', 'another']
    """
    what = type(X).__name__
    if is_frame(X):
        names = list(X.columns)
        if len(names) == 1:
            return X[names[0]]  # type: ignore[no-any-return]
        raise DataError(
            f"expected a list of texts, got a table of {len(names)} columns "
            f"({', '.join(map(repr, names))!s:.80}); give the column of texts, such as frame['text']"
        )
    if isinstance(X, np.ndarray) and X.ndim != 1:
        if X.ndim == 2 and X.shape[1] == 1:
            return X[:, 0]
        raise DataError(
            f"expected a list of texts, got an array of shape {X.shape}; pass one column"
        )
    if isinstance(X, Mapping):
        raise DataError(f"expected a list of texts, got a {what}; pass its values as a list")
    if isinstance(X, set | frozenset):
        raise DataError(f"expected a list of texts, got a {what}, which has no order; pass a list")
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise DataError(f"expected a list of texts, got {what}; put a single text in a list")
    return X
