"""Weights refitted along a stream, on features that labels have not shaped.

The labels of a document shape its topics while it is learned, and nothing shapes those of documents to come:
weights that were learned together with topics expect too much. So every document is also looked at as one to
come: its average topics zbar follow from its words under what was known before it, it is scored, and then the
weights v of a second stage learn from it. They are kept as sums, in memory that does not grow:

labels   logistic regression by Newton's steps along the stream, one curvature for all tasks:
         v_i += (h_i (G + r I))^-1 sum_d (yes_di - p_di) zbar_d,   G = sum_d zbar_d zbar_d',   h_i the
         average of p_i (1 - p_i)
numbers  ridge regression: (G + r I) (v - m) = sum_d (y_d - m) zbar_d, m the mean of y

Only documents that are new teach it: topics know those that they were learned from. Topics move, most at
first, so document s counts for s / t when t have come: sums fade by themselves. Several labels are given
where their probability is above the threshold that would have given the documents so far, scored before they
were learned, the best micro-F1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, I64, Each
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.rounds import solve_means
from bayou.kernels.margin import refit as kernels
from bayou.kernels.margin import response

RIDGE, RIDGE_NUMBERS = 1.0, 0.1  # [r], in documents of one topic
FIRST = 20.0  # documents at p = 1/2 that the curvature begins with
MEMORY = 1.0  # document s of t counts as (s / t) to this power


class RefitBatch(NamedTuple):
    """Documents that the second stage learns from."""

    zbar: F32  # average topics from words alone, documents x topics
    y: F64  # documents x tasks: positive for a yes; or numbers, NaN where not known
    weight: F64  # documents


def score(state: OnlineMarginState, zbar: F32, how: OnlineMarginSettings, each: Each) -> F64:
    """Scores of documents (documents x tasks) by the second stage; numbers as they are."""
    mean = weights(state, how, each)
    out, rows = np.empty((len(zbar), len(mean))), zbar.astype(np.float64)

    def work(lo: int, hi: int) -> None:
        kernels.score_rows(out, rows, mean, lo, hi)

    each(work, _counting(len(rows)), 1.0 * mean.size)
    return out


def weights(state: OnlineMarginState, how: OnlineMarginSettings, each: Each) -> F64:
    """Weights of the second stage (tasks x topics); rows of zbar sum to one, so they hold the intercept."""
    if how.loss == response.HINGE:
        return state.refitted
    centre = state.moments[1][:, None]
    ones = np.ones(state.gram.shape[1])
    off = solve_means(
        _add_ridge(state.gram, RIDGE_NUMBERS), state.refitted - centre * (state.gram @ ones), each
    )
    return np.asarray(centre + off, np.float64)


def learn(
    state: OnlineMarginState, lesson: RefitBatch, scores: F64, how: OnlineMarginSettings, each: Each
) -> OnlineMarginState:
    """The state when documents with these ``scores`` have been learned."""
    weight = lesson.weight
    zbar, y = lesson.zbar.astype(np.float64), lesson.y
    total = state.lessons + float(weight.sum())
    left = (state.lessons / total) ** MEMORY if total > 0.0 else 1.0
    state = fade_sums(state, left)._replace(lessons=total)
    if how.loss == response.HINGE:
        return _labels(state, zbar, y, weight, scores, how, each)
    gram, linear = state.gram.copy(), state.refitted.copy()
    for i in range(y.shape[1]):
        known = ~np.isnan(y[:, i])
        some = np.where(known, weight, 0.0)
        kernels.add_gram(gram[i], zbar, some)
        kernels.add_linear(linear[i], zbar, np.where(known, y[:, i], 0.0), some)
    return state._replace(gram=gram, refitted=linear)


def fade_sums(state: OnlineMarginState, left: float) -> OnlineMarginState:
    """Every sum times ``left``; weights that are no sums stay."""
    numbers = state.moments.size > 0
    return state._replace(
        gram=state.gram * left, bend=state.bend * left, curve=state.curve * left,
        refitted=state.refitted * left if numbers else state.refitted,
    )  # fmt: skip


def _labels(
    state: OnlineMarginState,
    zbar: F64,
    y: F64,
    weight: F64,
    scores: F64,
    how: OnlineMarginSettings,
    each: Each,
) -> OnlineMarginState:
    """A Newton step of all tasks from the documents of a mini-batch."""
    gram, curve = state.gram.copy(), state.curve.copy()
    slope, bend = np.zeros_like(state.refitted), state.bend.copy()
    kernels.add_gram(gram[0], zbar, weight)
    kernels.add_curve(curve, scores, y, weight, state.yes > 0.0)

    def work(lo: int, hi: int) -> None:
        kernels.add_logistic(slope, bend, scores, zbar, y, weight, lo, hi)

    each(work, _counting(len(slope)), 2.0 * zbar.size)
    curvature = (bend + 0.25 * FIRST) / (gram.sum() + FIRST)  # rows sum to one: sum of weights
    step = solve_means(_add_ridge(gram, RIDGE), slope, each) / curvature[:, None]
    return state._replace(gram=gram, bend=bend, curve=curve, refitted=state.refitted + step)


def threshold(curve: F64) -> float:
    """The probability above which a label should be given, by the micro-F1 of documents so far.

    A document none of whose labels is above it gets its best one.
    """
    labels, right, docs, hits = curve
    wanted = right.sum()
    if wanted <= 0.0:
        return 0.5
    above = np.cumsum(np.stack([labels, right])[:, ::-1], axis=1)[:, ::-1]
    below = np.cumsum(np.stack([docs, hits]), axis=1) - np.stack([docs, hits])
    given, met = above + below
    best = int(np.argmax(2.0 * met[1:] / (given[1:] + wanted))) + 1
    return float(best / curve.shape[1])


def covariance(state: OnlineMarginState, noise: F64) -> F64:
    """Of the weights of every target, where targets have so much noise around their predictions."""
    return np.asarray(
        np.linalg.inv(_add_ridge(state.gram, RIDGE_NUMBERS)) * noise[:, None, None], np.float64
    )


def _add_ridge(gram: F64, ridge: float) -> F64:
    return gram + ridge * np.eye(gram.shape[1])


def _counting(n: int) -> I64:
    return np.arange(n + 1, dtype=np.int64)
