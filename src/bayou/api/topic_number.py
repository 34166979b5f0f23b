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
            The smallest and the largest number.
        """
        check_is_fitted(self)
        number("level", level, 0.0, 1.0)
        low, high = self.topic_number_.interval(level, large)
        least = 0 if large else 1  # a model has a topic even if there is no token
        return max(low, least), max(high, least)


class TopicTrace(NamedTuple):
    """Ids of the topics, the numbers of topics that a sampler visited, and the concentrations at its end."""

    ids: Annotated[NDArray[np.int64], Array("topics")]
    trace: Annotated[NDArray[np.int64], Array("sweeps", 3)]  # chain, topics, large topics
    concentrations: Annotated[NDArray[np.float64], Array(2)]


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    both = np.array(model.concentrations_)
    return checkpoint.arrays_of(TopicTrace(model.topic_ids_, model.trace_, both), "hdp")


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    found = schema.read(TopicTrace, arrays, "hdp", {"topics": model.posterior_.n_topics})
    if not (found.trace[:, 0] == 0).any():
        raise ModelFileError("the file's array 'trace' has no sweep of the first chain")
    model.topic_ids_, model.trace_ = found.ids, found.trace
    model.concentrations_ = (float(found.concentrations[0]), float(found.concentrations[1]))


TRACE = Saved(_pack, _unpack)
