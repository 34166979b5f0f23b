"""Result mixin of models that learn the number of topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.api.bases import EstimatorBase
from bayou.api.estimator import Saved
from bayou.data import schema
from bayou.data.checks import number
from bayou.data.errors import ModelFileError
from bayou.data.schema import Array
from bayou.results.posterior import Posterior
from bayou.run import checkpoint


class NumberOfTopics(Protocol):
    """Results about the number of topics."""

    @property
    def n_large(self) -> int:
        """Number of large topics."""

    def interval(self, level: float, large: bool) -> tuple[int, int]:
        """Ends of the interval of probability ``level`` of the number of (large) topics."""


class TopicNumber(EstimatorBase):
    """Number of topics, and an interval of it, from `posterior_` and `topic_number_`.

    Attributes
    ----------
    n_topics_ : int
        Number of topics: the rows of `components_`.
    n_large_ : int
        Number of topics that hold a thousandth of all tokens, and at least 50.
    """

    posterior_: Posterior

    if TYPE_CHECKING:

        @property
        def topic_number_(self) -> NumberOfTopics:
            """Results about the number of topics."""

    @property
    def n_topics_(self) -> int:
        """Number of topics: the rows of `components_`."""
        check_is_fitted(self)
        return self.posterior_.n_topics

    @property
    def n_large_(self) -> int:
        """Number of topics that hold a thousandth of all tokens, and at least 50."""
        check_is_fitted(self)
        return self.topic_number_.n_large

    def n_topics_interval(self, *, level: float = 0.9, large: bool = False) -> tuple[int, int]:
        """Interval of the number of topics.

        Parameters
        ----------
        level : float
            Probability of the interval.
        large : bool
            Whether only topics count that hold a thousandth of all tokens, and at least 50.

        Returns
        -------
        (int, int)
            The smallest and the largest number. They always include `n_topics_` or `n_large_`.
        """
        check_is_fitted(self)
        number("level", level, 0.0, 1.0)
        low, high = self.topic_number_.interval(level, large)
        point, least = (self.n_large_, 0) if large else (self.n_topics_, 1)
        return max(min(low, point), least), max(high, point)


class TopicTrace(NamedTuple):
    """Ids of the topics, the numbers of topics that a sampler visited, and the concentrations at its end."""

    ids: Annotated[NDArray[np.int64], Array("topics")]
    trace: Annotated[NDArray[np.int64], Array("sweeps", 3)]  # chain, topics, large topics
    concentrations: Annotated[NDArray[np.float64], Array(2)]


class ChainAgreement(NamedTuple):
    """How far chains from different starts agree. Files of earlier versions lack it."""

    rhats: Annotated[NDArray[np.float64], Array(3, finite=False)]
    recurrence: Annotated[NDArray[np.float64], Array("topics", finite=False)]


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    both, agreed = np.array(model.concentrations_), np.array(model.rhats_)
    trace = TopicTrace(model.topic_ids_, model.trace_, both)
    found = ChainAgreement(agreed, model.topic_recurrence_)
    return {**checkpoint.arrays_of(trace, "hdp"), **checkpoint.arrays_of(found, "chains")}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    dims = {"topics": model.posterior_.n_topics}
    found = schema.read(TopicTrace, arrays, "hdp", dims)
    if not (found.trace[:, 0] == 0).any():
        raise ModelFileError("the file's array 'trace' has no sweep of the first chain")
    model.topic_ids_, model.trace_ = found.ids, found.trace
    model.concentrations_ = (float(found.concentrations[0]), float(found.concentrations[1]))
    agreed = ChainAgreement(np.full(3, np.nan), np.full(dims["topics"], np.nan))
    if "chains.rhats" in arrays:
        agreed = schema.read(ChainAgreement, arrays, "chains", dims)
    model.rhats_ = tuple(float(value) for value in agreed.rhats)
    model.topic_recurrence_ = agreed.recurrence


TRACE = Saved(_pack, _unpack)
