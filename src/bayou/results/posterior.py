"""The immutable result of training, with all that prediction, metrics and reports need."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou._version import __version__
from bayou.data import container
from bayou.data.checks import MAX_TOPICS
from bayou.data.container import pack_strings, unpack_strings
from bayou.data.errors import DataError, ModelFileError
from bayou.data.schema import LEAST_FLOAT, is_in_reach
from bayou.data.vocabulary import Vocabulary
from bayou.kernels.lda.fold_in import em_rows
from bayou.kernels.spectral.mixture import posterior_docs

MAX_STEPS, MOVED = (
    20,
    0.01,
)  # inference under fixed topics: most steps, fraction of tokens still moving
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
        Measured log-likelihoods per token, and the number of passes before each.
    draws : float32 array (draws, terms, topics) or None
        Posterior draws of the topics, if the sampler kept any.
    vocabulary : Vocabulary or None
    single : bool
        Whether each document has one topic, drawn in proportion to alpha: a mixture of multinomials.
    """

    rows: NDArray[np.float32]
    alpha: NDArray[np.float64]
    beta: float
    topic_tokens: NDArray[np.float64]
    scores: NDArray[np.float64]
    score_steps: NDArray[np.int64]
    draws: NDArray[np.float32] | None = None
    vocabulary: Vocabulary | None = None
    single: bool = False

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

    def transform(self, counts: csr_array) -> NDArray[np.float64]:
        """Topic proportions of documents (documents x terms counts), as by the model's `transform`."""
        if counts.shape[1] != self.n_terms:
            raise DataError(
                f"the counts have {counts.shape[1]} terms, but the topics have {self.n_terms}"
            )
        out = np.empty((counts.shape[0], self.n_topics), np.float32)
        pairs = (
            counts.indptr.astype(np.int64),
            counts.indices.astype(np.int32),
            counts.data.astype(np.float32),
        )
        if self.single:
            return single_topics(pairs, self.rows, self.alpha / self.alpha.sum())
        alpha = self.alpha.astype(np.float32)
        em_rows(out, pairs, 0, len(out), self.rows, alpha, MAX_STEPS, np.float32(MOVED))
        return proportions(out, self.alpha)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write only the posterior to a file, for a service that never trains."""
        container.save(path, self.arrays(), {"kind": "posterior", "bayou": __version__})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Posterior:
        """Read a file written by `save`, or the posterior in a batch model's file."""
        return cls.from_arrays(container.load(path)[0])

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The posterior as arrays, for a model file."""
        out = {f"posterior.{name}": getattr(self, name) for name in _ARRAYS}
        out["posterior.beta"] = np.array([self.beta])
        if self.draws is not None:
            out["posterior.draws"] = self.draws
        if self.single:
            out["posterior.single"] = np.ones(1, np.int64)
        if self.vocabulary is not None:
            out["posterior.vocabulary"] = pack_strings(self.vocabulary)
        return out

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Posterior:
        """The inverse of `arrays`; checks shapes."""
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
        draws = arrays.get("posterior.draws")
        if draws is not None:
            n_draws = max(len(draws) if draws.ndim else 0, 1)
            check_arrays("draws", draws, np.float32, (n_draws, *shape))
        least = min(given["alpha"].min(initial=1.0), beta[0])
        if not 1 <= n_topics <= MAX_TOPICS or not least > LEAST_FLOAT:
            raise ModelFileError("the model file's priors must be positive; save it again")
        sums = given["rows"].sum(axis=0, dtype=np.float64)
        if n_terms and not ((sums > 1e-3) & (sums < 1e3)).all():
            raise ModelFileError("the model file's topics must sum to one; save it again")
        if (
            "posterior.single" not in arrays
            and not given["rows"].max(axis=1, initial=1.0 - n_terms).all()
        ):
            raise ModelFileError("the model file has a term without a topic; save it again")
        vocabulary = unpack_vocabulary(arrays.get("posterior.vocabulary"), n_terms)
        single = "posterior.single" in arrays
        return cls(beta=float(beta[0]), vocabulary=vocabulary, draws=draws, single=single, **given)


def logs(
    rows: NDArray[Any], weights: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """ln phi and ln w of a mixture, finite."""
    finite = (np.maximum(np.asarray(a, np.float64), 1e-300) for a in (rows, weights))
    log_rows, log_weights = map(np.log, finite)
    return log_rows, log_weights


def single_topics(
    pairs: tuple[NDArray[Any], ...], rows: NDArray[np.float32], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """p(topic | document) of a mixture of multinomials; rows sum to one."""
    n_docs = len(pairs[0]) - 1
    out, loglik = np.empty((n_docs, len(weights))), np.empty(n_docs)
    posterior_docs(out, loglik, pairs, 0, n_docs, *logs(rows, weights))
    return out


def proportions(doc_topic: NDArray[np.float32], alpha: NDArray[np.float64]) -> NDArray[np.float64]:
    """theta = (n_dk + alpha_k) / (N_d + sum alpha); rows sum to one; empty documents give the prior mean."""
    theta = doc_topic.astype(np.float64) + alpha
    theta /= theta.sum(axis=-1, keepdims=True)
    return theta


def check_arrays(
    name: str,
    array: Any,
    dtype: Any,
    shape: tuple[int, ...],
    *,
    finite: bool = True,
    signed: bool = False,
) -> None:
    """Raise a `ModelFileError` if an array of a model file has the wrong shape, type or values."""
    if not isinstance(array, np.ndarray) or array.dtype != dtype or array.shape != shape:
        raise ModelFileError(
            f"the model file's array {name!r} is missing or does not fit the others; save it again"
        )
    if finite and not (is_in_reach(array) and ((array >= 0) | signed).all()):
        raise ModelFileError(
            f"the model file's array {name!r} holds impossible numbers; save it again"
        )


def unpack_vocabulary(packed: NDArray[Any] | None, n_terms: int) -> Vocabulary | None:
    """The terms that `pack_strings` packed, or None without terms."""
    if packed is None:
        return None
    names = unpack_strings(packed)
    if len(names) != n_terms:
        raise ModelFileError(
            f"the model file names {len(names)} terms but has {n_terms} columns; save it again"
        )
    try:
        return Vocabulary(names)
    except DataError as error:
        raise ModelFileError(f"the terms of the model file cannot be used: {error}") from None
