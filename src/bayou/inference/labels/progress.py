"""Progressive validation: some documents are scored before they are learned, and the scores are tallied.

The tally counts ln(share) in bins, of all labels and of the true ones. It gives a threshold, probabilities
and, in models with topics over labels, the mixture of scores.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.labels import scores
from bayou.inference.lda.arrays import F64, Each
from bayou.results.label_posterior import LabelPosterior
from bayou.results.label_response import sigmoid_of_bins

BINS = 400
LEAST = 1e-12  # share of the lowest bin
MEMORY = 2000.0  # documents that the tally stands for, approximately
_EDGES = -np.arange(BINS + 1) / BINS * -np.log(LEAST)
_MIDDLE = 0.5 * (_EDGES[1:] + _EDGES[:-1])
_STEP = 0.5  # learning rate of the regression of the number of labels


class TallyChoice(NamedTuple):
    """What follows from a tally."""

    mixture: int  # the one that ranks labels best
    threshold: float
    slope: float
    offset: float


def empty_tally(n_mixtures: int) -> F64:
    """No scores."""
    return np.zeros((n_mixtures, 2, BINS))


def tally_scores(
    tally: F64, mixes: F64, post: LabelPosterior, counts: csr_array, truth: csr_array, each: Each
) -> F64:
    """The tally with the scores of documents, under every mixture."""
    pairs = scores.pairs_with_labels(counts, post)
    found = scores.infer(post, pairs, each)
    for i, mix in enumerate(mixes):
        shares = scores.label_shares(post.with_mix(float(mix)), found)
        tally = update_tally(tally, i, shares, truth)
    return tally


def update_tally(tally: F64, mixture: int, shares: F64, truth: csr_array) -> F64:
    """The tally with documents whose labels are all known; the weight of older ones decays."""
    place = np.log(np.maximum(shares, LEAST)) / np.log(LEAST) * BINS
    place = np.minimum(place.astype(np.int64), BINS - 1)
    rows = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    out = tally.copy()
    out[mixture] *= max(1.0 - len(shares) / MEMORY, 0.0)
    out[mixture, 0] += np.bincount(place.ravel(), minlength=BINS)
    out[mixture, 1] += np.bincount(place[rows, truth.indices], minlength=BINS)
    return out


def choose_from_tally(tally: F64, n_each: float) -> TallyChoice:
    """The best mixture, the threshold of the largest micro-F1, and the sigmoid of the largest likelihood.

    ``n_each`` is the mean number of labels. With an empty tally the threshold is half of an even share.
    """
    if not tally.any():
        return TallyChoice(0, 0.5 / max(n_each, 1.0), 1.0, 0.0)
    best = int(np.argmax([_auc(*one) for one in tally]))
    every, yes = tally[best]
    hits, given = np.cumsum(yes), np.cumsum(every)
    at = int(np.argmax(2.0 * hits / np.maximum(given + hits[-1], 1e-300)))
    slope, offset = sigmoid_of_bins(_MIDDLE, yes + 1.0 / BINS, every + 2.0 / BINS)
    return TallyChoice(best, float(np.exp(_EDGES[at + 1])), slope, offset)


def _auc(every: F64, yes: F64) -> float:
    """Area under the ROC curve of the tally, bins from the best score to the worst; ties count half."""
    no = every - yes
    total = yes.sum() * no.sum()
    below = no.sum() - np.cumsum(no)
    return float((yes * (below + 0.5 * no)).sum() / total) if total > 0.0 else 0.5


def update_size_weights(sizes: F64, mean: float, counts: csr_array, n_each: F64) -> F64:
    """Weights of terms for the number of labels after more documents: least squares by AdaGrad.

    ``sizes`` holds weights and sums of squared gradients (2 x terms); ``mean`` is the mean number of labels
    of the documents so far.
    """
    out = sizes.copy()
    weight, squares = out[0], out[1]
    for d, n in enumerate(n_each.tolist()):
        at = slice(counts.indptr[d], counts.indptr[d + 1])
        terms, x = counts.indices[at], counts.data[at].astype(np.float64)
        norm = float(np.sqrt((x * x).sum()))
        if norm == 0.0:
            continue
        slope = (mean + float(weight[terms] @ x) - n) * x / norm
        squares[terms] += slope**2
        weight[terms] -= _STEP / norm * slope / np.sqrt(squares[terms] + 1.0)
    return out
