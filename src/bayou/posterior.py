"""The frozen result of training: all that prediction, measures and reports need, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.data.container import pack_strings, unpack_strings
from bayou.data.errors import DataError, ModelFileError
from bayou.data.vocabulary import Vocabulary

_ARRAYS = ("rows", "alpha", "topic_tokens", "scores", "score_steps")


@dataclass(frozen=True, eq=False, kw_only=True)
class Posterior:
    """Topics and priors after training.

    Parameters
    ----------
    rows : float32 array (terms, topics)
        Probability of each term in each topic [phi], term-major as kernels read it.
    alpha : float64 array (topics,)
        Prior of a document's topics.
    beta : float
        Prior of a topic's terms.
    topic_tokens : float64 array (topics,)
        Expected number of training tokens in each topic.
    scores, score_steps : arrays
        Log-likelihood per token where it was measured, and after how many passes.
    vocabulary : Vocabulary or None
    """

    rows: NDArray[np.float32]
    alpha: NDArray[np.float64]
    beta: float
    topic_tokens: NDArray[np.float64]
    scores: NDArray[np.float64]
    score_steps: NDArray[np.int64]
    vocabulary: Vocabulary | None = None

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return len(self.alpha)

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return len(self.rows)

    @property
    def topics(self) -> NDArray[np.float64]:
        """Topics x terms in double precision; rows sum to one."""
        topics = np.array(self.rows.T, dtype=np.float64, order="C")
        topics /= topics.sum(axis=1, keepdims=True)
        return topics

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything as arrays, for a model file."""
        out = {f"posterior.{name}": getattr(self, name) for name in _ARRAYS}
        out["posterior.beta"] = np.array([self.beta])
        if self.vocabulary is not None:
            out["posterior.vocabulary"] = pack_strings(self.vocabulary)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Posterior:
        """The inverse of `arrays`; shapes are checked."""
        beta = arrays.get("posterior.beta", np.zeros(0))
        given = {name: arrays.get(f"posterior.{name}", np.zeros(0)) for name in _ARRAYS}
        n_terms, n_topics = shape = given["rows"].shape if given["rows"].ndim == 2 else (-1, -1)
        n_scores = (given["scores"].size,)
        check_arrays("rows", given["rows"], np.float32, shape)
        check_arrays("beta", beta, np.float64, (1,))
        for name in ("alpha", "topic_tokens"):
            check_arrays(name, given[name], np.float64, (n_topics,))
        check_arrays("scores", given["scores"], np.float64, n_scores, finite=False)
        check_arrays("score_steps", given["score_steps"], np.int64, n_scores)
        vocabulary = unpack_vocabulary(arrays.get("posterior.vocabulary"), n_terms)
        return cls(beta=float(beta[0]), vocabulary=vocabulary, **given)


def check_arrays(
    name: str, array: Any, dtype: Any, shape: tuple[int, ...], *, finite: bool = True
) -> None:
    """Refuse an array of a model file that cannot be what its name says."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"the model file's array {name!r} is missing or does not fit the others; save it again"
        )
    if finite and not (np.isfinite(array) & (array >= 0)).all():
        raise ModelFileError(f"the model file's array {name!r} holds impossible numbers")


def unpack_vocabulary(packed: NDArray[Any] | None, n_terms: int) -> Vocabulary | None:
    """The terms that `pack_strings` packed, or None where there are none."""
    if packed is None:
        return None
    names = unpack_strings(packed)
    if len(names) != n_terms:
        raise ModelFileError(f"the model file names {len(names)} terms but has {n_terms}")
    try:
        return Vocabulary(names)
    except DataError as error:
        raise ModelFileError(f"the terms of the model file cannot be used: {error}") from None
