"""What is read off models that have topics over labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from bayou.data.checks import whole


class TopicsOverLabels:
    """Topics over labels as users see them."""

    if TYPE_CHECKING:
        labels_: Any
        classes_: Any

    @property
    def links_(self) -> NDArray[np.float64]:
        """Topics over labels of the first chain (topics, labels); rows sum to one [phi']."""
        check_is_fitted(self)
        return np.asarray(self.labels_.member_links(0))

    def top_labels(self, n: int = 10) -> list[list[Any]]:
        """The most probable labels of each topic over labels of the first chain."""
        whole("n", n, 0)
        best = np.argsort(-self.links_, axis=1, kind="stable")[:, :n]
        return [self.classes_[row].tolist() for row in best]
