"""The base of models that have not been moved to `Topics` yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from bayou.api.estimator import Estimator, Saved
from bayou.api.topics import POSTERIOR, Topics


@dataclass(kw_only=True, eq=False, repr=False)
class TopicEstimator(Topics, Estimator, abstract=True):
    """A topic model whose file holds its posterior."""

    saved: ClassVar[tuple[Saved, ...]] = (POSTERIOR,)

    def _n_columns(self) -> int:
        return self.posterior_.n_terms
