"""What models on a stream share whose topics are born and die: parameters, and how many topics there are."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from bayou.api.online_supervised import OnlineSupervised
from bayou.data.checks import check_growth, number, whole
from bayou.inference.margin import growth
from bayou.inference.margin.growth import TopicGrowth


@dataclass(kw_only=True, eq=False, repr=False)
class GrowingOnline(OnlineSupervised, abstract=True):
    """Topics that a stream brings with it.

    Attributes
    ----------
    n_topics_ : int
        Topics there are now.
    topic_ids_ : int64 array (topics,)
        A number for each, given at birth and never again.
    """

    n_topics: int | None = None
    alpha: float | None = None
    gamma: float | None = None
    max_topics: int = 400
    min_tokens: float = 20.0

    @property
    def n_topics_(self) -> int:
        """Topics there are now."""
        return len(self._current().topic)

    @property
    def topic_ids_(self) -> NDArray[np.int64]:
        """The numbers of the topics, in their order; later ones were born later."""
        return self._current().ids

    def n_topics_interval(self, level: float = 0.9) -> tuple[int, int]:
        """Between how many topics there were after ``level`` of the latest hundred mini-batches."""
        return growth.between(self._current().course, self.n_topics_, level)

    def _checked_parameters(self) -> SimpleNamespace:
        p = super()._checked_parameters()
        whole("max_topics", p.max_topics, 1)
        if p.n_topics is None:
            p.n_topics = min(self._default_topics(), p.max_topics)
        check_growth(p)
        number("min_tokens", p.min_tokens, 0.0)
        return p

    def _n_topics(self, p: SimpleNamespace) -> int:
        return len(self.state_.topic) if hasattr(self, "state_") else int(p.n_topics)

    def _growth(self, p: SimpleNamespace) -> TopicGrowth:
        return TopicGrowth(float(p.alpha), float(p.gamma), int(p.max_topics), float(p.min_tokens))
