"""Slow, obvious twins of the measures of label sets and rankings: loops over documents, labels, pairs."""

import itertools
import math

import numpy as np


def one_set(true, found, both, one):
    """Precision, recall, F1 and Jaccard of two Python sets."""
    if not true and not found:
        return [both] * 4
    tp = len(true & found)
    precision = tp / len(found) if found else one
    recall = tp / len(true) if true else one
    return [precision, recall, 2 * tp / (len(true) + len(found)), tp / len(true | found)]


def as_sets(rows):
    return [set(np.flatnonzero(row).tolist()) for row in rows]


def set_scores(truth, predicted, both, one):
    """Mean over the rows; give transposed matrices for labels."""
    pairs = zip(as_sets(truth), as_sets(predicted), strict=True)
    return np.mean([one_set(a, b, both, one) for a, b in pairs], axis=0)


def auc(positives, negatives):
    """All pairs, one at a time."""
    if not len(positives) or not len(negatives):
        return math.nan
    wins = sum((p > q) + 0.5 * (p == q) for p in positives for q in negatives)
    return wins / (len(positives) * len(negatives))


def macro_auc(truth, scores):
    each = [auc(s[t > 0], s[t == 0]) for t, s in zip(truth.T, scores.T, strict=True)]
    kept = [a for a in each if not math.isnan(a)]
    return (sum(kept) / len(kept) if kept else math.nan), len(kept)


def ranking(scores):
    """Labels from best to worst, equal ones by number."""
    return sorted(range(len(scores)), key=lambda y: (-scores[y], y))


def over_documents(truth, scores, unlabelled, measure):
    values = []
    for true, given in zip(as_sets(truth), scores, strict=True):
        if true:
            values.append(measure(true, ranking(given)))
        elif unlabelled is not None:
            values.append(unlabelled)
    return sum(values) / len(values) if values else math.nan


def rank_one_error(truth, scores, unlabelled=None):
    return over_documents(truth, scores, unlabelled, lambda true, order: order[0] not in true)


def precision_at_k(truth, scores, k, unlabelled=None):
    def measure(true, order):
        return len(true & set(order[:k])) / k

    return over_documents(truth, scores, unlabelled, measure)


def ndcg_at_k(truth, scores, k, unlabelled=None):
    def measure(true, order):
        got = sum(1 / math.log2(r + 2) for r, y in enumerate(order[:k]) if y in true)
        return got / sum(1 / math.log2(r + 2) for r in range(min(k, len(true))))

    return over_documents(truth, scores, unlabelled, measure)


def propensities(truth, a, b):
    n = len(truth)
    scale = max(0.0, math.log(n) - 1) * (b + 1) ** a
    return [1 / (1 + scale * math.exp(-a * math.log(sum(column) + b))) for column in truth.T]


def psp_at_k(truth, scores, propensity, k):
    got = best = 0.0
    for true, given in zip(as_sets(truth), scores, strict=True):
        got += sum(1 / propensity[y] for y in ranking(given)[:k] if y in true)
        best += sum(sorted((1 / propensity[y] for y in true), reverse=True)[:k])
    return got / best if best else math.nan


def best_f1(truth, scores):
    """The best F1 of a label over all thresholds, trying every one."""
    cuts = [-math.inf, *scores]
    return max(one_set(*as_sets([truth, scores > t]), 0.0, 0.0)[2] for t in cuts)


def best_micro_f1(truth, scores):
    """The best micro-F1 over one threshold a label, trying every combination."""
    cuts = [[-math.inf, *column] for column in scores.T]
    best = 0.0
    for t in itertools.product(*cuts):
        best = max(best, set_scores([truth.ravel()], [(scores > np.array(t)).ravel()], 0, 0)[2])
    return best
