"""The second stage of a stream: what it comes to, and what it leaves alone."""

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression, Ridge
from tests.inference.margin.test_online_margin_part import documents, how, update
from tests.reference import online_refit as reference

from bayou.inference.margin import online_refit, online_state
from bayou.inference.margin.loss import INSENSITIVE
from bayou.run.shards import Workers

N_TOPICS = 4


def streamed(zbar, y, settings, size, weight=None):
    """The state after mini-batches of a stream whose features are given."""
    weight = np.ones(len(zbar)) if weight is None else weight
    with Workers(1) as workers:
        state = online_state.init(5, y.shape[1], settings)
        for lo in range(0, len(zbar), size):
            at = slice(lo, lo + size)
            n = np.array([~np.isnan(y[: lo + size])]).sum(axis=(0, 1)).astype(float)
            if not settings.loss.classifies:
                mean = np.nanmean(y[: lo + size], axis=0)
                state = state._replace(moments=np.stack([n, mean, n]))
            else:
                state = state._replace(yes=(y[: lo + size] > 0).sum(axis=0).astype(float))
            scores = online_refit.score(state, zbar[at], settings, workers.each)
            lesson = online_refit.RefitBatch(zbar[at], y[at], weight[at])
            state = online_refit.learn(state, lesson, scores, settings, workers.each)
        return state, online_refit.weights(state, settings, workers.each)


def features(n, seed=0):
    return np.random.default_rng(seed).dirichlet(np.full(N_TOPICS, 0.5), n).astype(np.float32)


def test_labels_come_to_logistic_regression():
    zbar, rng = features(20_000), np.random.default_rng(1)
    true = np.array([[2.0, -1.0, -3.0, 0.5], [-4.0, -5.0, -2.0, -6.0]])
    y = np.where(rng.random((len(zbar), 2)) < expit(zbar @ true.T), 1.0, -1.0)
    _, found = streamed(zbar, y, how(refit=True), 64)
    for i in range(2):
        batch = LogisticRegression(C=1e3, fit_intercept=False).fit(zbar, y[:, i])
        gap = expit(zbar @ found[i]) - expit(zbar @ batch.coef_[0])
        assert np.abs(gap).mean() < 0.02


def test_numbers_come_to_ridge_regression():
    zbar, rng = features(300), np.random.default_rng(2)
    y = (zbar @ [3.0, 1.0, -1.0, 7.0] + 0.1 * rng.normal(size=len(zbar)))[:, None]
    settings = how(refit=True, loss=INSENSITIVE)
    _, found = streamed(zbar, y, settings, 300)
    batch = Ridge(alpha=online_refit.RIDGE_NUMBERS, fit_intercept=False).fit(
        zbar, y[:, 0] - y.mean()
    )
    assert np.allclose(found[0], batch.coef_ + y.mean(), rtol=1e-4)


def test_targets_that_are_not_known_teach_nothing():
    zbar, y = features(60), np.random.default_rng(0).normal(size=(60, 2))
    some = y.copy()
    some[::3, 1] = np.nan
    settings = how(refit=True, loss=INSENSITIVE)
    state, _ = streamed(zbar, some, settings, 60)
    keep = ~np.isnan(some[:, 1])
    assert np.allclose(state.gram[1], zbar[keep].T @ zbar[keep], rtol=1e-5)
    assert np.allclose(state.gram[0], zbar.T @ zbar, rtol=1e-5)


def test_older_documents_count_less():
    zbar = features(80)
    y = np.ones((80, 1))
    state, _ = streamed(zbar, y, how(refit=True), 20)
    counts = np.repeat(
        [1 / 4, 2 / 4, 3 / 4, 1.0], 20
    )  # document s of t counts s / t, by mini-batches
    assert np.allclose(state.gram[0], zbar.T @ (counts[:, None] * zbar), rtol=1e-5)
    assert state.lessons == 80


def test_weight_two_is_twice_the_document():
    zbar, y = features(40), np.where(np.random.default_rng(3).random((40, 2)) < 0.4, 1.0, -1.0)
    heavy, _ = streamed(zbar, y, how(refit=True), 40, np.full(40, 2.0))
    twice, _ = streamed(np.repeat(zbar, 2, axis=0), np.repeat(y, 2, axis=0), how(refit=True), 80)
    assert np.allclose(heavy.refitted, twice.refitted)
    assert np.allclose(heavy.curve, twice.curve)


def test_the_threshold_is_the_best_there_was():
    rng = np.random.default_rng(7)
    p = rng.beta(1.0, 4.0, (300, 6))
    y = np.where(rng.random(p.shape) < p, 1.0, -1.0)
    curve = np.zeros((4, 50))
    online_refit.kernels.add_curve(curve, logit(p), y, np.ones(300), np.ones(6, bool))
    level = online_refit.threshold(curve)
    tried = {j / 50: reference.micro_f1(p, y, np.ones(300), j / 50) for j in range(1, 50)}
    assert tried[level] == pytest.approx(max(tried.values()))
    assert online_refit.threshold(np.zeros((4, 50))) == 0.5


def test_topics_and_first_weights_do_not_know_of_it():
    examples = documents()
    with Workers(1) as workers:
        both = []
        for settings in (how(), how(refit=True)):
            state = online_state.init(12, 3, settings)
            for _ in range(2):
                state = update(state, examples, settings, 7, workers.each)
            both.append(state)
    plain, refitted = both
    assert (plain.raw == refitted.raw).all()
    assert (plain.mean == refitted.mean).all()
    assert refitted.refitted.any()
    assert not len(plain.refitted)


def test_what_is_forgotten():
    examples = documents()
    settings = how(refit=True, decay=0.98, cost=2.0)
    with Workers(1) as workers:
        state = online_state.init(12, 3, settings)
        for _ in range(200):
            state = update(state, examples, settings, 7, workers.each)
    known = 19  # one of the twenty documents has no labels
    left = settings.decay**20
    assert state.lessons == pytest.approx(known / (1.0 - left), rel=1e-3)
    assert np.isfinite(state.refitted).all()
