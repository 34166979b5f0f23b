"""Orders of labels for classifier chains: blocks, similarity, and a search for dissimilar orders.

A chain is a permutation c of the labels; the label at position p is in block p // b. When it is predicted,
the known labels are the set prev(c[p]):

    blocks               prev = c[0 .. b * (p // b))       all earlier blocks, none of its own
    inside-out blocks    prev = c[b * (p // b) .. p)       its own block only

b = 1 makes blocks a plain chain and inside-out blocks binary relevance; b >= L the other way round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayou.kernels.rng import CHAIN, key, permutation

I64 = NDArray[np.int64]

_ROWS = 512  # labels whose sets are compared at a time
_LOOSER = 0.05  # by how much the search raises its limit


class LabelOrder(NamedTuple):
    """An order of labels and its blocks."""

    order: I64  # label at each position
    block_size: int
    inside_out: bool

    @property
    def blocks(self) -> list[I64]:
        """The labels of each block, in order."""
        cuts = range(0, len(self.order), self.block_size)
        return [self.order[start : start + self.block_size] for start in cuts]

    def previous(self, position: int) -> I64:
        """The labels in prev of a position, sorted.

        Sorted, so that the features of a learner do not depend on the order inside a block.
        """
        start = position - position % self.block_size
        known = self.order[start:position] if self.inside_out else self.order[:start]
        return np.sort(known)


def draw_order(
    n_labels: int, block_sizes: Sequence[int], inside_out: bool, seed: int, draw: int
) -> LabelOrder:
    """Draw the order of chain number ``draw`` and, if there are several, its block size."""
    order = np.asarray(permutation(n_labels, np.uint64(key(seed, CHAIN, draw, 0))), np.int64)
    which = int(key(seed, CHAIN, draw, 1)) % len(block_sizes)
    return LabelOrder(order, block_sizes[which], inside_out)


def frequency_order(counts: I64) -> I64:
    """The most frequent label first; ties by number."""
    return np.argsort(-counts, kind="stable").astype(np.int64)


def _previous_matrix(chain: LabelOrder, labels: slice) -> NDArray[np.bool_]:
    """Whether each label (columns) is in prev of each of some labels (rows)."""
    position = np.empty(len(chain.order), np.int64)
    position[chain.order] = np.arange(len(chain.order))
    block = position // chain.block_size
    if not chain.inside_out:
        return np.asarray(block[labels, None] > block, np.bool_)
    same = block[labels, None] == block
    return np.asarray(same & (position[labels, None] > position), np.bool_)


def similarity(a: LabelOrder, b: LabelOrder) -> float:
    """Jaccard similarity of two chains as sets of pairs (label, label in its prev).

    It is 1 exactly if the chains are equivalent. Divided by L (L - 1) / 2 instead, the similarity of a chain
    of blocks to itself would be below 1.

    Examples
    --------
    >>> similarity(LabelOrder(np.arange(3), 1, False), LabelOrder(np.array([0, 2, 1]), 1, False))
    0.5
    """
    both = either = 0
    for start in range(0, len(a.order), _ROWS):
        one, two = (_previous_matrix(c, slice(start, start + _ROWS)) for c in (a, b))
        both += int((one & two).sum())
        either += int((one | two).sum())
    return both / either if either else 1.0


def search(
    n_chains: int, n_labels: int, block_sizes: Sequence[int], inside_out: bool,
    max_similarity: float, max_fails: int, seed: int,
) -> list[LabelOrder]:  # fmt: skip
    """Chains whose pairwise similarity is at most ``max_similarity``, as far as such are found.

    Chains are drawn one after the other. After more than ``max_fails`` consecutive rejections the limit is
    raised by 0.05. From 1 on every chain is accepted.
    """
    limit, fails, draw = max_similarity, 0, 0
    found: list[LabelOrder] = []
    while len(found) < n_chains:
        chain = draw_order(n_labels, block_sizes, inside_out, seed, draw)
        draw += 1
        if limit >= 1 or all(similarity(chain, other) <= limit for other in found):
            found.append(chain)
            fails = 0
            continue
        fails += 1
        if fails > max_fails:
            limit, fails = limit + _LOOSER, 0
    return found
