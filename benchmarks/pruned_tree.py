"""Decision trees pruned as C4.5 prunes them, so that chains of trees compare with published ones of J48.

[Quinlan93] Quinlan. C4.5: programs for machine learning. 1993, chapter 4.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.stats import norm
from sklearn.tree import DecisionTreeClassifier

LEAF = -1  # what scikit-learn has in the place of a child
SLACK = 0.1  # errors by which a leaf may be worse than the branches it replaces, as in J48


def more_errors(n: float, errors: float, confidence: float) -> float:
    """How many errors to add to those seen among n documents: up to the upper end of an interval [Quinlan93].

    With none seen the end is exact; with one or more, that of the normal approximation to the binomial with
    its correction; between none and one they are joined by a line.
    """
    if errors < 1.0:
        none = n * (1.0 - confidence ** (1.0 / n))
        return none + errors * (more_errors(n, 1.0, confidence) - none) if errors > 0.0 else none
    if errors + 0.5 >= n:
        return max(n - errors, 0.0)
    z, f = float(norm.ppf(1.0 - confidence)), (errors + 0.5) / n
    spread = z * np.sqrt(f / n - f**2 / n + z**2 / (4.0 * n**2))
    return n * (f + z**2 / (2.0 * n) + spread) / (1.0 + z**2 / n) - errors


class PrunedTree(DecisionTreeClassifier):
    """CART, grown by information gain with two documents a leaf at least, cut back as C4.5 does.

    A split stands if its gain is more than it takes to say where it is, log2 of the places there are, a
    document. Then branches become a leaf where the leaf is expected to make no more errors than they do, from
    the bottom up. Nothing but the training documents is looked at.
    """

    def __init__(self, *, confidence: float = 0.25, random_state: Any = None) -> None:
        super().__init__(criterion="entropy", min_samples_leaf=2, random_state=random_state)
        self.confidence = confidence

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Grow, then cut back."""
        super().fit(X, y, sample_weight=sample_weight)
        tree = self.tree_
        left, right = tree.children_left, tree.children_right
        n = tree.weighted_n_node_samples
        wrong = n * (1.0 - tree.value[:, 0].max(axis=1))
        places = self._places(np.asarray(X))
        expected = np.empty(tree.node_count)
        for node in range(tree.node_count - 1, -1, -1):  # children come after their parents
            alone = wrong[node] + more_errors(n[node], wrong[node], self.confidence)
            expected[node], below = alone, (left[node], right[node])
            if LEAF in below:
                continue
            apart = sum(expected[child] for child in below)
            gain = tree.impurity[node] - sum(n[c] * tree.impurity[c] for c in below) / n[node]
            if alone <= apart + SLACK or gain <= np.log2(places[node]) / n[node]:
                left[node] = right[node] = LEAF
            else:
                expected[node] = apart
        return self

    def _places(self, X: Any) -> Any:
        """Where each node could have been split by the feature it is split by."""
        tree = self.tree_
        path = tree.decision_path(np.ascontiguousarray(X, np.float32)).tocsc()
        out = np.ones(tree.node_count)
        for node in np.flatnonzero(tree.children_left != LEAF):
            docs = path.indices[path.indptr[node] : path.indptr[node + 1]]
            out[node] = max(len(np.unique(X[docs, tree.feature[node]])) - 1, 1)
        return out
