"""Sums over documents for the second stage of a stream, and the results of thresholds on probabilities.

``zbar`` are average topics from words alone (documents x topics), ``weight`` is one number per document.
"""

import math

import numpy as np

from bayou.kernels.compile import fast_jit, jit


@fast_jit
def _dot(a, i, b, j):
    out = 0.0
    for k in range(a.shape[1]):
        out += a[i, k] * b[j, k]
    return out


@fast_jit
def _add(out, i, rows, d, by):
    for k in range(out.shape[1]):
        out[i, k] += by * rows[d, k]


@jit
def score_rows(scores, zbar, mean, lo, hi):
    """``scores[d, i] = zbar_d . mean_i`` of documents lo .. hi."""
    for d in range(lo, hi):
        for i in range(mean.shape[0]):
            scores[d, i] = _dot(zbar, d, mean, i)


@jit
def add_gram(gram, zbar, weight):
    """``G += sum_d weight_d zbar_d zbar_d'``."""
    for d in range(weight.size):
        for k in range(gram.shape[0]):
            a = weight[d] * zbar[d, k]
            if a != 0.0:
                _add(gram, k, zbar, d, a)


@jit
def add_linear(linear, zbar, y, weight):
    """``b += sum_d weight_d y_d zbar_d`` of one task."""
    for d in range(weight.size):
        for k in range(linear.size):
            linear[k] += weight[d] * y[d] * zbar[d, k]


@jit
def add_logistic(slope, bend, scores, zbar, y, weight, lo, hi):
    """Add slope and curvature of the likelihood of tasks lo .. hi.

    ``slope_i += sum_d weight_d (yes_di - p_di) zbar_d``, ``bend_i += sum_d weight_d p_di (1 - p_di)`` with
    p = 1 / (1 + exp(-score)); ``y`` is positive for a label.
    """
    for i in range(lo, hi):
        for d in range(weight.size):
            if weight[d] > 0.0:
                p = 1.0 / (1.0 + math.exp(-scores[d, i]))
                miss = (1.0 if y[d, i] > 0.0 else 0.0) - p
                bend[i] += weight[d] * p * (1.0 - p)
                _add(slope, i, zbar, d, weight[d] * miss)


@jit
def add_curve(curve, scores, y, weight, shown):
    """Results of a threshold on probabilities: four rows of bins between 0 and 1.

    Number of labels by their probability, and of right ones; number of documents by the probability of their
    best label, and of those whose best label is right. Only labels that are ``shown`` count.
    """
    n_bins = curve.shape[1]
    for d in range(weight.size):
        best, top, right = -1.0, 0, False
        for i in range(shown.size):
            if shown[i] and weight[d] > 0.0:
                p = 1.0 / (1.0 + math.exp(-scores[d, i]))
                at = max(min(np.int64(p * n_bins), n_bins - 1), 0)  # for any score, also for NaN
                curve[0, at] += weight[d]
                if y[d, i] > 0.0:
                    curve[1, at] += weight[d]
                if p > best:
                    best, top, right = p, at, y[d, i] > 0.0
        if best >= 0.0:
            curve[2, top] += weight[d]
            if right:
                curve[3, top] += weight[d]
