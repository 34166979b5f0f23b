"""Result mixins of models that learn the number of topics: from a chain, or from a stream."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayou.api.bases import EstimatorBase, StreamingBase
from bayou.api.estimator import Saved
from bayou.inference.margin import growth
from bayou.results.posterior import Posterior, check_arrays


class TopicCourse(EstimatorBase):
    """The number of topics and its course, from `posterior_`.

    Attributes
    ----------
    n_topics_ : int
        Number of topics.
    n_topics_course_ : int64 array (sweeps,)
        Number of topics after each sweep.
    topic_ids_ : int64 array (topics,)
        A number per topic, given at birth and never given again.
    """

    posterior_: Posterior
    n_topics_course_: NDArray[np.int64]
    topic_ids_: NDArray[np.int64]

    @property
    def n_topics_(self) -> int:
        """Number of topics."""
        return self.posterior_.n_topics

    def n_topics_interval(self, level: float = 0.9) -> tuple[int, int]:
        """Interval that holds the number of topics in ``level`` of the last half of all sweeps."""
        last = self.n_topics_course_[len(self.n_topics_course_) // 2 :]
        return growth.between(last, self.n_topics_, level)


class GrowingTopics(StreamingBase):
    """Number and ids of the topics of an online model, from its current state.

    Attributes
    ----------
    n_topics_ : int
        Current number of topics.
    topic_ids_ : int64 array (topics,)
        A number per topic, assigned at birth and never reused.
    """

    @property
    def n_topics_(self) -> int:
        """Current number of topics."""
        return len(self._current().topic)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """Ids of the topics, in their order; later topics have larger ids."""
        ids: NDArray[np.int64] = self._current().ids
        return ids

    def n_topics_interval(self, level: float = 0.9) -> tuple[int, int]:
        """Interval of the number of topics after ``level`` of the latest hundred mini-batches."""
        return growth.between(self._current().course, self.n_topics_, level)


def _pack(model: Any) -> dict[str, NDArray[Any]]:
    return {"ids": model.topic_ids_, "course": model.n_topics_course_}


def _unpack(model: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    none = np.zeros((0, 0))
    ids, course = arrays.get("ids", none), arrays.get("course", none)
    check_arrays("ids", ids, np.int64, (model.posterior_.n_topics,))
    check_arrays("course", course, np.int64, (course.size,))
    model.topic_ids_, model.n_topics_course_ = ids, course


TOPIC_COURSE = Saved(_pack, _unpack)  # after POSTERIOR, which gives the number of topics
