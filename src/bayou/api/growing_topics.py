"""Result mixin of online models whose number of topics changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.inference.margin import growth

if TYPE_CHECKING:
    from bayou.api.streaming import Streaming as Base
else:
    Base = object


class GrowingTopics(Base):
    """Number and ids of the topics, from the current state (`topic`, `ids`, `course`).

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
        check_is_fitted(self)
        return len(self._current().topic)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """Ids of the topics, in their order; later topics have larger ids."""
        check_is_fitted(self)
        ids: NDArray[np.int64] = self._current().ids
        return ids

    def n_topics_interval(self, level: float = 0.9) -> tuple[int, int]:
        """Interval of the number of topics after ``level`` of the latest hundred mini-batches."""
        return growth.between(self._current().course, self.n_topics_, level)
