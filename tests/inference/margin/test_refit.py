"""The refit: weights, shares, calibration and noise against scikit-learn and direct computation."""

import numpy as np
import pytest
from scipy.sparse import csr_array, hstack
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from bayou.inference.margin import calibration, linear, refit
from bayou.inference.margin.linear import RefitEvidence, RefitPlan
from bayou.inference.margin.tasks import MarginTask

N, K, V, T = 60, 4, 7, 3
ORDER = np.arange(N)


def evidence(kind="multi-label", *, words=True, separate=False, seed=0):
    """Documents with topics, words and responses that depend on both."""
    rng = np.random.default_rng(seed)
    zbar = rng.dirichlet(np.ones(K * (T if separate else 1)), N).astype(np.float32)
    beside = rng.random((N, V)) * (rng.random((N, V)) < 0.5)
    truth = zbar[:, :T] - 0.2 + 0.5 * beside[:, :T] - 0.12 + 0.1 * rng.normal(size=(N, T))
    if kind == "multi-class":
        codes = truth.argmax(axis=1).astype(np.int32)
        y = np.where(np.eye(T)[codes] > 0, 1.0, -1.0)
    else:
        codes = np.zeros(0, np.int32)
        y = truth if kind == "regression" else np.where(truth > 0, 1.0, -1.0)
    if kind == "binary":
        y = y[:, :1]
    n = y.shape[1]
    cost = np.where(y > 0, 4.0, 1.0) if kind in ("multi-label", "binary") else np.ones((N, n))
    chain = rng.normal(size=(zbar.shape[1], n))
    seen = RefitEvidence(
        zbar, csr_array(beside) if words else None, y.astype(np.float32), cost.astype(np.float32),
        np.ones(V, np.float32), np.full(V, 0.5, np.float32), chain,
        np.stack([chain, chain + 0.1, chain - 0.3]).astype(np.float32), 1, separate,
    )  # fmt: skip
    scale = (
        (np.zeros(n), np.ones(n)) if kind != "regression" else (np.full(n, 2.0), np.full(n, 3.0))
    )
    task = MarginTask(kind, np.arange(n), y, cost, cost, codes, np.ones(N, bool), scale)
    return seen, task


def plan(model="svm", q=0.0, fit=True):
    return RefitPlan(fit, q, model, 5)


@pytest.mark.parametrize(
    ("model", "q", "strength"),
    [("svm", 0.0, 1.0), ("svm", 2.0, 0.25), ("svm", 0.5, 1.0), ("logistic", 3.0, 1 / 9),
     ("ridge", 0.0, 1e3), ("ridge", 2.0, 1.0)],
)  # fmt: skip
def test_strength(model, q, strength):
    assert plan(model, q).strength == pytest.approx(strength)


def test_words_are_scaled_and_stand_behind_the_topics():
    seen, _ = evidence()
    found = linear.stack(seen.zbar, seen.words, 3.0).toarray()
    np.testing.assert_allclose(found[:, :K], seen.zbar)
    np.testing.assert_allclose(found[:, K:], 3.0 * seen.words.toarray())
    assert linear.stack(seen.zbar, None, 3.0).shape == (N, K)


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_weights_are_those_of_a_linear_classifier_per_task(model):
    seen, _ = evidence()
    cost = seen.cost.copy()
    cost[::7, 1] = 0.0  # nothing is known
    x = seen.zbar.astype(float)
    weights, intercept = linear.fit_margins(x, seen.y, cost, 0.5, model, 5)
    for i in range(T):
        use = cost[:, i] > 0
        machine = (
            LinearSVC(C=0.5, random_state=5, max_iter=2000)
            if model == "svm"
            else LogisticRegression(C=0.5, random_state=5, max_iter=2000, solver="liblinear")
        )
        machine.fit(x[use], seen.y[use, i], sample_weight=cost[use, i])
        np.testing.assert_allclose(weights[:, i], machine.coef_[0], rtol=1e-6)
        np.testing.assert_allclose(intercept[i], machine.intercept_[0], rtol=1e-6)


def test_tasks_with_one_sign_or_no_document_have_no_weights():
    seen, _ = evidence()
    y, cost = seen.y.copy(), seen.cost.copy()
    y[:, 0], cost[:, 1] = -1.0, 0.0
    weights, intercept = linear.fit_margins(seen.zbar.astype(float), y, cost, 1.0, "svm", 0)
    assert not weights[:, :2].any()
    assert intercept[:2].tolist() == [-1.0, 0.0]
    assert weights[:, 2].any()


def test_a_chain_for_each_task_gives_a_task_its_own_topics_only():
    seen, _ = evidence(separate=True)
    weights, words, intercept = linear.fit_tasks(seen, plan("svm", 2.0), ORDER)
    for i in range(T):
        at = slice(i * K, (i + 1) * K)
        both, one = linear.fit_margins(
            linear.stack(seen.zbar[:, at], seen.words, 2.0), seen.y[:, i : i + 1],
            seen.cost[:, i : i + 1], 0.25, "svm", 5,
        )  # fmt: skip
        np.testing.assert_allclose(weights[at, i], both[:K, 0])
        np.testing.assert_allclose(words[:, i], both[K:, 0])
        assert intercept[i] == one[0]
        outside = np.delete(weights[:, i], np.r_[at])
        assert not outside.any()


def test_scores_are_topics_words_and_intercept():
    seen, _ = evidence()
    rng = np.random.default_rng(1)
    weights, words, intercept = rng.normal(size=(K, T)), rng.normal(size=(V, T)), rng.normal(size=T)
    topics = seen.zbar.astype(float) @ weights + intercept
    np.testing.assert_allclose(linear.total_scores(seen, weights, words, intercept, 0.0), topics)
    both = topics + 2.0 * seen.words.toarray() @ words
    np.testing.assert_allclose(linear.total_scores(seen, weights, words, intercept, 2.0), both)


@pytest.mark.parametrize(("model", "q"), [("svm", 0.0), ("svm", 2.0), ("logistic", 0.5)])
def test_a_classifier_without_words_or_with_them(model, q):
    seen, task = evidence()
    found = refit.respond(seen, task, ORDER, plan(model, q))
    weights, words, intercept = linear.fit_tasks(seen, plan(model, q), ORDER)
    np.testing.assert_allclose(found.weights, weights)
    np.testing.assert_allclose(found.intercept, intercept)
    if q:
        np.testing.assert_allclose(found.words, q * words, rtol=1e-6)
        assert found.word_weight is seen.word_weight
    else:
        assert found.words is None
        assert found.share == 1.0
        x, _ = refit._cross_validate(seen, plan(model, q), "multi-label")
        for i in range(T):  # a label is not more probable for its cost
            assert (found.slope[i], found.offset[i]) == calibration.sigmoid(x[:, i], seen.y[:, i])


def test_without_a_refit_the_weights_of_the_chain_stay():
    seen, task = evidence()
    found = refit.respond(seen, task, ORDER, plan(fit=False))
    np.testing.assert_array_equal(found.weights, seen.chain)
    assert not found.intercept.any()


def test_scores_for_probabilities_are_of_documents_left_out():
    """Each third of the documents is scored by weights of the other two."""
    seen, task = evidence()
    scores, share = refit._cross_validate(seen, plan("svm", 2.0), "multi-label")
    x = hstack([csr_array(seen.zbar.astype(float)), seen.words * 2.0], format="csr")
    wanted, topics = np.zeros((N, T)), np.zeros((N, T))
    for fold in range(3):
        out = np.arange(N) % 3 == fold
        both, intercept = linear.fit_margins(x[~out], seen.y[~out], seen.cost[~out], 0.25, "svm", 5)
        wanted[out] = x[out] @ both + intercept
        topics[out] = seen.zbar[out] @ both[:K]
    np.testing.assert_allclose(scores, wanted, rtol=1e-6, atol=1e-9)
    gap = wanted - wanted.mean(axis=0)
    assert share == pytest.approx((topics * gap).sum() / (gap**2).sum())
    found = refit.respond(seen, task, ORDER, plan("svm", 2.0))
    assert found.share == pytest.approx(share)
    assert found.slope[0] == pytest.approx(calibration.sigmoid(wanted[:, 0], seen.y[:, 0])[0])


def test_share_of_topics_in_the_lead_of_the_best_class():
    total = np.array([[3.0, 1.0, 2.0], [0.0, 5.0, 1.0]])
    topics = np.array([[1.0, 9.0, 0.5], [7.0, 2.0, -1.0]])
    # leads 3 - 2 and 5 - 1; of the topics 1 - 0.5 and 2 - (-1)
    assert refit._share(topics, total, "multi-class") == pytest.approx(3.5 / 5.0)


def test_share_of_topics_in_the_variance_of_the_scores_of_labels():
    rng = np.random.default_rng(2)
    topics, words = rng.normal(size=(50, 2)), 0.5 * rng.normal(size=(50, 2))
    total = topics + words + [7.0, -40.0]  # intercepts do not count
    mine, rest = (refit._share(part, total, "multi-label") for part in (topics, words))
    assert mine + rest == pytest.approx(1.0)
    assert mine == pytest.approx(0.8, abs=0.05)
    assert refit._share(0.3 * (total - 2.0), total, "binary") == pytest.approx(0.3)


def test_probabilities_of_classes_are_fitted_to_scores_of_documents_left_out():
    seen, task = evidence("multi-class")
    found = refit.respond(seen, task, ORDER, plan())
    scores, _ = refit._cross_validate(seen, plan(), "multi-class")
    link = calibration.fit_classes(scores, task.codes)
    np.testing.assert_allclose(found.slope, np.full(T, link.slope))
    np.testing.assert_allclose(found.offset, np.full(T, link.offset))
    assert found.power == pytest.approx(link.power)


def test_the_order_of_documents_brings_codes_to_scores():
    seen, task = evidence("multi-class")
    turn = np.random.default_rng(3).permutation(N)  # the evidence's i-th document is turn[i]
    moved = task._replace(codes=np.empty_like(task.codes))
    moved.codes[turn] = task.codes
    one = refit.respond(seen, task, ORDER, plan())
    two = refit.respond(seen, moved, turn, plan())
    assert one.slope[0] == two.slope[0]
    assert refit.respond(seen, moved, ORDER, plan()).slope[0] != one.slope[0]


def test_costs_count_in_the_probabilities_of_two_classes():
    seen, task = evidence("binary")
    found = refit._calibrate(seen.zbar.astype(float)[:, :1], 1.0, seen, task, ORDER)
    weight = seen.cost[:, 0].astype(float) / seen.cost.mean(dtype=float)
    wanted = calibration.sigmoid(seen.zbar[:, 0].astype(float), seen.y[:, 0], weight)
    assert (found[0][0], found[1][0]) == pytest.approx(wanted)


# -- numbers -----------------------------------------------------------------------------------


def test_numbers_are_ridge_regressions_on_known_documents():
    seen, _ = evidence("regression", words=False)
    y, weight, x = seen.y.astype(float), np.linspace(0.5, 2.0, N), seen.zbar.astype(float)
    y[:5, 0] = np.nan
    weight[7] = 0.0
    weights, intercept, noise, covariance = linear.fit_numbers(x, y, weight, 0.3)
    for t in range(T):
        use = ~np.isnan(y[:, t]) & (weight > 0)
        machine = Ridge(alpha=0.3).fit(x[use], y[use, t], sample_weight=weight[use])
        np.testing.assert_allclose(weights[:, t], machine.coef_, rtol=1e-6)
        assert intercept[t] == pytest.approx(machine.intercept_)
        mean = np.average(x[use], axis=0, weights=weight[use])
        gram = (x[use] - mean).T @ np.diag(weight[use]) @ (x[use] - mean)
        inverse = np.linalg.inv(gram + 0.3 * np.eye(K))
        error = np.average((y[use, t] - machine.predict(x[use])) ** 2, weights=weight[use])
        degrees = 1.0 + np.trace(inverse @ gram)  # of freedom, with the intercept
        assert noise[t] == pytest.approx(error / (1 - degrees / use.sum()))
        np.testing.assert_allclose(covariance[t], noise[t] * inverse, rtol=1e-6)


def test_a_regression_is_on_the_scale_of_its_targets():
    seen, task = evidence("regression", words=False)
    found = refit.respond(seen, task, ORDER, plan("ridge"))
    weight = np.ones(N)
    weights, intercept, noise, covariance = linear.fit_numbers(
        seen.zbar.astype(float), seen.y.astype(float), weight, 1e-3
    )
    np.testing.assert_allclose(found.weights, 3.0 * weights)
    np.testing.assert_allclose(found.intercept, 3.0 * intercept + 2.0)
    np.testing.assert_allclose(found.noise, 9.0 * noise)
    np.testing.assert_allclose(found.covariance, 9.0 * covariance)
    np.testing.assert_allclose(found.centre, seen.zbar.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.draws, 3.0 * seen.draws, rtol=1e-6)


def test_noise_of_held_out_documents_is_that_of_weights_without_them():
    seen, task = evidence("regression", words=False)
    out = np.arange(N) < 12
    task = task._replace(shown=np.where(out[:, None], 0.0, task.cost))
    found = refit.respond(seen, task, ORDER, plan("ridge"))
    x, y = seen.zbar.astype(float), seen.y.astype(float)
    weights, intercept, *_ = linear.fit_numbers(x[~out], y[~out], np.ones(N - 12), 1e-3)
    gap = y[out] - (x[out] @ weights + intercept)
    np.testing.assert_allclose(found.noise, 9.0 * (gap**2).mean(axis=0))


def test_noise_of_a_regression_with_words_is_of_documents_left_out():
    seen, task = evidence("regression")
    found = refit.respond(seen, task, ORDER, plan("ridge", 2.0))
    x = linear.stack(seen.zbar, seen.words, 2.0)
    gap, y = np.zeros((N, T)), seen.y.astype(float)
    for fold in range(3):
        out = np.arange(N) % 3 == fold
        weights, intercept, *_ = linear.fit_numbers(x[~out], y[~out], np.ones((~out).sum()), 1.0)
        gap[out] = y[out] - (x[out] @ weights + intercept)
    np.testing.assert_allclose(found.noise, 9.0 * (gap**2).mean(axis=0), rtol=1e-4)
    topics = seen.zbar.astype(float) @ found.weights
    total = topics + seen.words.toarray() @ found.words + found.intercept
    assert found.share == pytest.approx(np.var(topics) / np.var(total), rel=1e-5)


def test_a_regression_without_a_refit_has_the_spread_of_its_draws():
    seen, task = evidence("regression", words=False)
    found = refit.respond(seen, task, ORDER, plan("ridge", fit=False))
    gap = seen.y - seen.zbar.astype(float) @ seen.chain
    np.testing.assert_allclose(found.noise, 9.0 * (gap**2).mean(axis=0), rtol=1e-6)
    spread = seen.draws.astype(float) - seen.chain
    wanted = sum(np.outer(s[:, 1], s[:, 1]) for s in spread) / 2
    np.testing.assert_allclose(found.covariance[1], 9.0 * wanted, rtol=1e-6)
    assert not found.centre.any()
