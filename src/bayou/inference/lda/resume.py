"""What a checkpoint must satisfy beyond the shapes and ranges of its arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.data.errors import ModelFileError


def check_counts(
    z: NDArray[Any], terms: NDArray[Any], counts: NDArray[Any], totals: NDArray[Any]
) -> None:
    """Refuse counts (terms, topics) and totals that do not follow from the topic of each token."""
    n_topics = counts.shape[1]
    cells = np.bincount(terms.astype(np.int64) * n_topics + z, minlength=counts.size)
    cells = cells.reshape(counts.shape)
    if (cells != counts).any() or (cells.sum(axis=0) != totals).any():
        refuse("counts", "do not follow from the topics of the tokens")


def check_places(z: NDArray[Any], token_ptr: NDArray[Any], place_ptr: NDArray[Any]) -> None:
    """Refuse a token whose place is not below the number of places of its document."""
    most = np.repeat(np.maximum(np.diff(place_ptr), 1), np.diff(token_ptr))
    if z.shape[-1] != len(most) or (z >= most).any():
        refuse("z", "has places that a document does not have")


def refuse(name: str, why: str) -> None:
    """Raise the error for a checkpoint that contradicts itself."""
    raise ModelFileError(f"the checkpoint cannot be used: its array {name!r} {why}")
