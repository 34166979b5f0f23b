"""The frozen result of training: all that prediction, measures and reports need, and nothing more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.data.container import pack_strings, unpack_strings
from bayou.data.errors import ModelFileError
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
        try:
            given = {name: arrays[f"posterior.{name}"] for name in _ARRAYS}
            beta = float(arrays["posterior.beta"][0])
        except (KeyError, IndexError) as error:
            raise ModelFileError(f"the model file lacks the array {error}; save it again") from None
        n_terms, n_topics = given["rows"].shape if given["rows"].ndim == 2 else (-1, -1)
        if given["alpha"].shape != (n_topics,) or given["topic_tokens"].shape != (n_topics,):
            raise ModelFileError(
                "the arrays of the model file do not fit each other; save it again"
            )
        packed = arrays.get("posterior.vocabulary")
        names = None if packed is None else unpack_strings(packed)
        if names is not None and len(names) != n_terms:
            raise ModelFileError(f"the model file names {len(names)} terms but has {n_terms}")
        vocabulary = None if names is None else Vocabulary(names)
        return cls(beta=beta, vocabulary=vocabulary, **given)
