"""The second stage of a stream, written out: sums over documents, and thresholds by trying them."""

import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-np.asarray(x, float)))


def logistic(zbar, scores, y, weight):
    """Slope and curvature of the weighted log-likelihood of every task."""
    p, yes = sigmoid(scores), y > 0
    slope = np.einsum("d,di,dk->ik", weight, yes - p, zbar)
    return slope, np.einsum("d,di->i", weight, p * (1.0 - p))


def micro_f1(p, y, weight, level):
    """Labels above the level, or the best one where none is."""
    given = p >= level
    for d in np.flatnonzero(~given.any(axis=1)):
        given[d, p[d].argmax()] = True
    right = (given & (y > 0)) * weight[:, None]
    return 2.0 * right.sum() / (((given * 1.0) + (y > 0)) * weight[:, None]).sum()
