"""Alias tables: a discrete draw in constant time after a linear build.

[Walker77] Walker. An efficient method for generating discrete random variables with general
distributions. TOMS 3, 1977.
[Vose91] Vose. A linear algorithm for generating random numbers with a given distribution. IEEE
Transactions on Software Engineering 17, 1991.
"""

import numpy as np

from bayou.kernels.compile import jit
from bayou.kernels.rng import uniform

_NO_MASS = 1e-280  # below this n / total may overflow


@jit
def _sort_cells(prob, alias, weights, scale, small, large):
    """Scale the weights to mean 1 and put every cell on a stack, small or large; the stack sizes."""
    n_small = 0
    n_large = 0
    for k in range(len(weights)):
        share = weights[k] * scale
        alias[k] = k
        if share < 1.0:
            prob[k] = share
            small[n_small] = k
            n_small += 1
        else:
            prob[k] = 1.0
            large[n_large] = k
            n_large += 1
    return n_small, n_large


@jit
def build_alias_into(prob, alias, weights, small, large):
    """Fill an alias table for ``weights`` [Vose91]; return their sum.

    ``small`` and ``large`` are integer scratch arrays of the same length. The remaining mass of the current
    large cell is kept in double precision. The stored (rounded) probability is subtracted from it, so a
    float32 table has an error of at most one rounding per cell. Cells left over by rounding keep all their
    mass. Weights without mass give the uniform table and the sum 0.
    """
    total = 0.0
    for k in range(len(weights)):
        total += weights[k]
    if not (total > _NO_MASS):
        for k in range(len(weights)):
            prob[k] = 1.0
            alias[k] = k
        return 0.0
    scale = len(weights) / total
    n_small, n_large = _sort_cells(prob, alias, weights, scale, small, large)
    while n_large > 0 and n_small > 0:
        giver = large[n_large - 1]
        rest = weights[giver] * scale
        while rest >= 1.0 and n_small > 0:
            n_small -= 1
            taker = small[n_small]
            alias[taker] = giver
            rest -= 1.0 - prob[taker]
        n_large -= 1
        if rest < 1.0:
            prob[giver] = rest
            small[n_small] = giver
            n_small += 1
    for i in range(n_small):
        prob[small[i]] = 1.0
    return total


@jit
def pick_alias(u, prob, alias):
    """The index for one uniform number u in [0, 1), which selects the cell and then cell or alias.

    Any other u, such as NaN or a quotient that was rounded up to 1, gives an index of the table as well.
    """
    x = u * len(prob)
    k = max(min(np.int64(x), len(prob) - 1), 0)
    if x - k < prob[k]:
        return k
    return np.int64(alias[k])


@jit
def draw_alias(stream, prob, alias):
    """An index from the table by two uniform numbers: one for the cell, one for cell or alias."""
    k = np.int64(uniform(stream) * len(prob))
    if uniform(stream) < prob[k]:
        return k
    return np.int64(alias[k])
