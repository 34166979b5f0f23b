"""Slow, obvious twins of chains of labels: sets of pairs, and one learner after the other."""

import math

import numpy as np
from sklearn.base import clone


def previous(order, size, inside_out):
    """The set of labels that each label looks at."""
    out = {}
    for p, label in enumerate(order):
        start = size * math.floor(p / size)
        out[label] = set(order[start:p]) if inside_out else set(order[:start])
    return out


def similarity(a, b):
    pairs = [{(y, x) for y, known in previous(*c).items() for x in known} for c in (a, b)]
    either = pairs[0] | pairs[1]
    return len(pairs[0] & pairs[1]) / len(either) if either else 1.0


def probabilities(learner, X, Y, new, order, size, inside_out):
    """Fit and predict label by label, in the order of the chain."""
    looks = previous(list(order), size, inside_out)
    out = np.zeros((len(new), Y.shape[1]))
    for label in order:
        known = sorted(looks[label])
        if Y[:, label].all() or not Y[:, label].any():
            out[:, label] = (Y[:, label].sum() + 1) / (len(Y) + 2)
            continue
        fitted = clone(learner).fit(np.hstack([X, Y[:, known]]), Y[:, label])
        beside = np.hstack([new, out[:, known] > 0.5])
        out[:, label] = fitted.predict_proba(beside)[:, 1]
    return out
