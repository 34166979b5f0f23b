"""Weights of a second stage, learned along a stream on features that no label has changed.

Labels change the topics of a document while it is learned, but not those of a new document. Weights that
were learned together with topics are therefore too large for new documents. So every document is first
treated as a new one: its average topics zbar follow from its words and the topics before it, it is scored,
and then the weights v of a second stage learn from it. They are kept as sums, in memory that does not grow:

labels   logistic regression by Newton's steps along the stream, one curvature for all tasks:
         v_i += (h_i (G + r I))^-1 sum_d (yes_di - p_di) zbar_d,   G = sum_d zbar_d zbar_d',   h_i the
         average of p_i (1 - p_i)
numbers  ridge regression: (G + r I) (v - m) = sum_d (y_d - m) zbar_d, m the mean of y

The second stage learns from new documents only, not from documents that the topics were learned from. Topics
move, most at first, so document s of t counts s / t: the sums decay. Labels are assigned above the threshold
that gives the best micro-F1 for the documents so far, scored before they were learned.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bayou.inference.lda.arrays import F32, F64, Each
from bayou.inference.margin.online_state import OnlineMarginSettings, OnlineMarginState
from bayou.inference.margin.online_weights import solve_means
from bayou.inference.margin.setup import unit_ends
from bayou.kernels.margin import refit as kernels

RIDGE, RIDGE_NUMBERS = 1.0, 0.1  # [r], in documents of one topic
FIRST = 20.0  # documents at p = 1/2 that the curvature starts with
MEMORY = 1.0  # document s of t counts as (s / t) to this power


class RefitBatch(NamedTuple):
    """Documents that the second stage learns from."""

    zbar: F32  # average topics from words alone, documents x topics
    y: F64  # documents x tasks: positive for a label; or numbers, NaN where not known
    weight: F64  # documents


def score(state: OnlineMarginState, zbar: F32, p: OnlineMarginSettings, each: Each) -> F64:
    """Scores of documents (documents x tasks) by the second stage; targets are not scaled."""
    mean = weights(state, p, each)
    out, rows = np.empty((len(zbar), len(mean))), zbar.astype(np.float64)

    def work(lo: int, hi: int) -> None:
        kernels.score_rows(out, rows, mean, lo, hi)

    each(work, unit_ends(len(rows)), 1.0 * mean.size)
    return out


def weights(state: OnlineMarginState, p: OnlineMarginSettings, each: Each) -> F64:
    """Weights of the second stage (tasks x topics), intercept included: rows of zbar sum to one."""
    if p.loss.classifies:
        return state.refitted
    centre = state.moments[1][:, None]
    ones = np.ones(state.gram.shape[1])
    off = solve_means(
        _add_ridge(state.gram, RIDGE_NUMBERS), state.refitted - centre * (state.gram @ ones), each
    )
    return np.asarray(centre + off, np.float64)


def learn(
    state: OnlineMarginState, lesson: RefitBatch, scores: F64, p: OnlineMarginSettings, each: Each
) -> OnlineMarginState:
    """The state after learning from documents that had these ``scores``."""
    weight = lesson.weight
    total = state.lessons + float(weight.sum())
    left = (state.lessons / total) ** MEMORY if total > 0.0 else 1.0
    state = fade_sums(state, left)._replace(lessons=total)
    if p.loss.classifies:
        return _learn_labels(state, lesson, scores, each)
    zbar, y = lesson.zbar.astype(np.float64), lesson.y
    gram, linear = state.gram.copy(), state.refitted.copy()
    for i in range(y.shape[1]):
        known = ~np.isnan(y[:, i])
        some = np.where(known, weight, 0.0)
        kernels.add_gram(gram[i], zbar, some)
        kernels.add_linear(linear[i], zbar, np.where(known, y[:, i], 0.0), some)
    return state._replace(gram=gram, refitted=linear)


def fade_sums(state: OnlineMarginState, left: float) -> OnlineMarginState:
    """Every sum times ``left``; weights of labels are not sums and stay."""
    numbers = state.moments.size > 0
    return state._replace(
        gram=state.gram * left, bend=state.bend * left, curve=state.curve * left,
        refitted=state.refitted * left if numbers else state.refitted,
    )  # fmt: skip


def _learn_labels(
    state: OnlineMarginState, lesson: RefitBatch, scores: F64, each: Each
) -> OnlineMarginState:
    """A Newton step of all tasks from the documents of a mini-batch."""
    zbar, y, weight = lesson.zbar.astype(np.float64), lesson.y, lesson.weight
    gram, curve = state.gram.copy(), state.curve.copy()
    slope, bend = np.zeros_like(state.refitted), state.bend.copy()
    kernels.add_gram(gram[0], zbar, weight)
    kernels.add_curve(curve, scores, y, weight, state.yes > 0.0)

    def work(lo: int, hi: int) -> None:
        kernels.add_logistic(slope, bend, scores, zbar, y, weight, lo, hi)

    each(work, unit_ends(len(slope)), 2.0 * zbar.size)
    curvature = (bend + 0.25 * FIRST) / (gram.sum() + FIRST)  # rows sum to one: sum of weights
    step = solve_means(_add_ridge(gram, RIDGE), slope, each) / curvature[:, None]
    return state._replace(gram=gram, bend=bend, curve=curve, refitted=state.refitted + step)


def threshold(curve: F64) -> float:
    """The probability above which a label is assigned, by the micro-F1 of the documents so far.

    A document without a label above it gets its best one.
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
    """Covariance of the weights of every target, given the noise of targets around their predictions."""
    return np.asarray(
        np.linalg.inv(_add_ridge(state.gram, RIDGE_NUMBERS)) * noise[:, None, None], np.float64
    )


def _add_ridge(gram: F64, ridge: float) -> F64:
    return gram + ridge * np.eye(gram.shape[1])
