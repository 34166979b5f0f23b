"""What a state of online max-margin learning predicts with: topics, features, weights and calibration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from bayou.inference.lda import documents, sampled_fold_in
from bayou.inference.lda import features as lda_features
from bayou.inference.lda.arrays import F32, F64, Each, topic_totals
from bayou.inference.lda.documents import Pairs
from bayou.inference.margin import batch, calibration, one_vs_all, online_refit
from bayou.inference.margin.online import batch_features
from bayou.inference.margin.online_state import (
    N_SCORED,
    OnlineMarginSettings,
    OnlineMarginState,
    document_prior,
    target_scale,
    term_weight,
    topic_posterior,
)
from bayou.kernels.draw import draw_normal
from bayou.kernels.rng import WEIGHTS, key
from bayou.results.posterior import Posterior
from bayou.results.response import Response

N_PRIOR = 10
N_LATEST = (
    32  # least number of scored documents that probabilities are fitted to, if there are as many
)


def posterior(
    state: OnlineMarginState, p: OnlineMarginSettings, vocabulary: Any, each: Each
) -> Posterior:
    """Topics from the current counts."""
    # n_k is summed anew: along a stream n_k and the single-precision n_vk round differently
    totals = state.scale * topic_totals(state.raw)
    known = topic_posterior(state, p)._replace(topic=totals)
    every, n_topics = np.arange(len(state.raw), dtype=np.int64), _number_of_topics(state, p)
    rows, alpha = batch.mean_rows(known, every, each), document_prior(state, p)
    if p.separate:
        alpha = np.tile(alpha, n_topics // len(alpha))
    return Posterior(
        rows=np.ascontiguousarray(rows[:, :n_topics]), alpha=alpha, beta=p.beta,
        topic_tokens=totals[:n_topics], scores=np.zeros(0), score_steps=np.zeros(0, np.int64),
        vocabulary=vocabulary,
    )  # fmt: skip


def document_features(
    state: OnlineMarginState, p: OnlineMarginSettings, counts: csr_array, each: Each
) -> F32:
    """Average topics of documents, computed from the rows of their own terms only."""
    terms, places = np.unique(counts.indices, return_inverse=True)
    damped = lda_features.damp_counts(counts, p.tf)
    if p.draw_seed is not None:
        found = _draw_features(state, p, documents.pairs_of(damped), each)
        return found[:, : _number_of_topics(state, p)]
    pairs = documents.pairs_of(damped)._replace(terms=places.astype(np.int32))
    weight = term_weight(state.mass, state.seen_in[terms], p.idf)
    found = batch_features(state, p, terms.astype(np.int64), weight, pairs, each)
    return found[:, : _number_of_topics(state, p)]


def _draw_features(
    state: OnlineMarginState, p: OnlineMarginSettings, pairs: Pairs, each: Each
) -> F32:
    """Average topics of documents from a draw of the topics and of z, as the papers predict."""
    seed, weight = int(p.draw_seed or 0), term_weight(state.mass, state.seen_in, p.idf)
    found = []
    for part in one_vs_all.parts(state, p):
        rows = sampled_fold_in.draw_rows(part.raw * np.float32(part.scale), p.beta, seed, each)
        prior = document_prior(part, p)
        found.append(sampled_fold_in.draw_zbar(rows, prior, weight, pairs, seed, each))
    return found[0] if len(found) == 1 else np.hstack(found)


def draw_weights(state: OnlineMarginState, seed: int) -> F64:
    """w_i ~ N(mu_i, P_i^-1) of every task; "averaging" predicts by the mean."""
    out = state.mean.copy()
    for i in range(len(out) if len(state.precision) else 0):
        stream, noise = np.empty(1, np.uint64), np.empty(out.shape[1])
        stream[0] = np.uint64(key(seed, WEIGHTS, 0, i))
        for k in range(len(noise)):
            noise[k] = draw_normal(stream)
        root = np.linalg.cholesky(state.precision[min(i, len(state.precision) - 1)])
        out[i] += np.linalg.solve(root.T, noise)
    return out


def _number_of_topics(state: OnlineMarginState, p: OnlineMarginSettings) -> int:
    """Number of topics that predictions use: with "one-vs-all" not those of a class to come."""
    return len(state.topic) - (len(p.alpha) if p.separate else 0)


def class_rule(
    state: OnlineMarginState, p: OnlineMarginSettings, kind: str, classes: NDArray[Any]
) -> Response:
    """Weights of topics for classes or labels, without calibration of probabilities."""
    n = len(state.mean) - 1  # the last task is that of a class to come
    refit = len(state.bend) > 0
    means = state.mean if p.draw_seed is None else draw_weights(state, p.draw_seed)
    weights, intercept = (state.refitted if refit else means[:n]), 0.0
    if p.separate:
        weights = one_vs_all.stack_weights(weights)
    if refit and kind == "multi-label":
        level = online_refit.threshold(state.curve)
        intercept = float(np.log1p(-level) - np.log(level))
    return _response(
        state, p, kind=kind, classes=classes, weights=np.ascontiguousarray(weights[:n].T),
        intercept=np.full(n, intercept), noise=np.zeros(n),
        covariance=np.zeros((0, weights.shape[1], weights.shape[1])),
        n_members=n if p.separate else 1,
    )  # fmt: skip


def class_response(
    state: OnlineMarginState, p: OnlineMarginSettings, kind: str, classes: NDArray[Any]
) -> Response:
    """`class_rule` with probabilities fitted to documents that were scored before they were learned.

    The intercept of two classes is fitted too: at score 0 each has probability 1/2.
    """
    rule = class_rule(state, p, kind, classes)
    if len(state.bend) and kind != "multi-class":  # scores of logistic regressions are log-odds
        return replace(rule, slope=np.ones(rule.n_tasks), offset=-rule.intercept)
    slope, offset = fit_calibration(state, kind, rule.n_tasks)
    return replace(rule, slope=slope, offset=offset).balance_border()


def target_response(state: OnlineMarginState, p: OnlineMarginSettings, each: Each) -> Response:
    """Weights of topics for targets, and the errors of predictions before documents were learned."""
    n = len(state.mean)
    centre, deviation = target_scale(state)
    slope, offset, noise = fit_correction(state, n)
    if len(state.bend):
        weights, intercept = online_refit.weights(state, p, each), np.zeros(n)
        covariance = online_refit.covariance(state, noise)
    else:
        scale, means = deviation * slope, state.mean
        if p.draw_seed is not None:
            means = draw_weights(state, p.draw_seed)
        weights, intercept = means * scale[:, None], centre * slope + offset
        covariance = weight_covariance(state, scale)
    return _response(
        state, p, kind="regression", classes=np.arange(n), weights=np.ascontiguousarray(weights.T),
        intercept=intercept, noise=noise, covariance=covariance,
    )  # fmt: skip


def _response(state: OnlineMarginState, p: OnlineMarginSettings, **own: Any) -> Response:
    """A response without chains, draws and word weights."""
    n, k = len(own["intercept"]), len(own["weights"])
    return Response(
        **own, term_weight=term_weight(state.mass, state.seen_in, p.idf), slope=np.ones(n),
        offset=np.zeros(n), share=1.0, draws=np.zeros((0, k, n), np.float32), centre=np.zeros(k),
    )  # fmt: skip


def recent_scores(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64]:
    """Scores of the latest documents before they were learned, and their true responses."""
    n = min(state.n_scored, N_SCORED)
    return state.scores[:n, :n_tasks], state.truths[:n, :n_tasks]


def latest_scores(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64]:
    """`recent_scores` of the last quarter of the stream: earlier scores come from a weaker model."""
    n = min(state.n_scored, N_SCORED, max(state.n_scored // 4, N_LATEST))
    at = np.arange(state.n_scored - n, state.n_scored) % N_SCORED
    return state.scores[at, :n_tasks], state.truths[at, :n_tasks]


def fit_calibration(state: OnlineMarginState, kind: str, n_tasks: int) -> tuple[F64, F64]:
    """Slopes and offsets from scores to probabilities, fitted to the latest scores.

    Documents were scored before they were learned, so their scores are like those of new documents.
    """
    scores, truth = latest_scores(state, n_tasks)
    unit = max(float(np.abs(state.mean[:n_tasks]).max(initial=0.0)), 1e-12)
    slope, offset = np.full(n_tasks, 1.0 / unit), np.zeros(n_tasks)
    if kind == "multi-class":
        use = np.flatnonzero((truth > 0.0).any(axis=1))
        size = float(np.abs(scores[use]).mean()) if len(use) else 0.0
        if size > 0.0:
            codes = truth[use].argmax(axis=1)
            slope[:] = calibration.temperature(scores[use] / size, codes) / size
        return slope, offset
    for i in range(n_tasks):
        use = np.flatnonzero(~np.isnan(truth[:, i]))
        weight = np.abs(truth[use, i]) if kind == "binary" else np.ones(len(use))
        found = calibration.sigmoid(scores[use, i], truth[use, i], weight)
        slope[i], offset[i] = found[0] or slope[i], found[1]
    return slope, offset


def fit_correction(state: OnlineMarginState, n_tasks: int) -> tuple[F64, F64, F64]:
    """Slope, offset and noise of targets around the recent scores.

    Targets change the topics of the documents that weights are learned from, so scores of new documents are
    too small. The slope is shrunk towards one as if by `N_PRIOR` further documents.
    """
    scores, truth = recent_scores(state, n_tasks)
    number, _, squares = state.moments
    slope, offset = np.ones(n_tasks), np.zeros(n_tasks)
    noise = squares / np.maximum(number, 1.0)
    for i in range(n_tasks):
        use = np.flatnonzero(~np.isnan(truth[:, i]))
        if len(use) < 2:
            continue
        x, y = scores[use, i], truth[use, i]
        gap = x - x.mean()
        spread = float(gap @ gap)
        if spread > 1e-12 * squares[i]:
            fitted = float(gap @ (y - y.mean())) / spread
            slope[i] = (len(use) * fitted + N_PRIOR) / (len(use) + N_PRIOR)
        offset[i] = y.mean() - slope[i] * x.mean()
        noise[i] = float(((y - slope[i] * x - offset[i]) ** 2).mean())
    return slope, offset, noise


def weight_covariance(state: OnlineMarginState, scale: F64) -> F64:
    """Covariance of the weights of every task, times ``scale`` squared; no rows for "averaging"."""
    if not len(state.precision):
        return state.precision
    return np.asarray(np.linalg.inv(state.precision) * scale[:, None, None] ** 2, np.float64)
