"""The weight of words beside topics: measures, and what is chosen where topics or words carry the labels."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import accuracy_score, f1_score

from bayou.inference.margin import refit, residual
from bayou.inference.margin.linear import RefitEvidence, RefitPlan, fit_numbers, fit_tasks

AUTO = RefitPlan(True, 0.0, "svm", 0, auto=True)


def evidence(n=600, n_tasks=3, topics=0.0, words=0.0, seed=0, cost=1.0, n_terms=40):
    """Documents whose topics and whose words show the class, each as strongly as the numbers say."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_tasks, n)
    hot = np.eye(n_tasks)[codes]
    zbar = rng.dirichlet(np.ones(4), n)
    zbar[:, :n_tasks] += topics * hot
    x = rng.normal(0, 1, (n, n_terms))
    x[:, :n_tasks] += words * hot
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = (2 * hot - 1).astype(np.float32)
    costs = np.full(y.shape, cost, np.float32)
    zeros = np.zeros((4, n_tasks))
    f32 = np.float32
    return RefitEvidence(
        (zbar / zbar.sum(axis=1, keepdims=True)).astype(f32), csr_array(x), y, costs, np.ones(n_terms, f32),
        np.ones(n_terms, f32), zeros, np.zeros((1, 4, n_tasks), f32), 1, False,
    )  # fmt: skip


def held(n, part=5):
    return np.arange(n) % part == 0


@pytest.mark.parametrize("kind", ["binary", "multi-class", "multi-label"])
def test_measures_are_accuracy_and_micro_f1(kind):
    rng = np.random.default_rng(3)
    y = np.where(rng.random((50, 1 if kind == "binary" else 4)) < 0.4, 1.0, -1.0)
    if kind == "multi-class":
        y = 2 * np.eye(4)[rng.integers(0, 4, 50)] - 1
    scores = y + rng.normal(0, 1.5, y.shape)
    found = residual.count_hits(scores, y, np.ones(50), kind).measure
    if kind == "binary":
        wanted = accuracy_score(y[:, 0] > 0, scores[:, 0] > 0)
    elif kind == "multi-class":
        wanted = accuracy_score(y.argmax(axis=1), scores.argmax(axis=1))
    else:
        given = scores > 0
        bare = ~given.any(axis=1)
        given[bare, scores[bare].argmax(axis=1)] = True
        assert bare.any()
        wanted = f1_score(y > 0, given, average="micro")
    assert found == pytest.approx(wanted)


def test_documents_count_by_their_weight():
    scores, y = np.array([[1.0], [1.0]]), np.array([[1.0], [-1.0]])
    assert residual.count_hits(scores, y, np.array([3.0, 1.0]), "binary").measure == 0.75


def test_better_means_more_than_the_standard_error():
    """Of 100 documents, 10 are right by the new plan only: gain 0.1, standard error 0.03."""
    ones = np.ones(100)
    old, new = np.zeros(100), np.where(np.arange(100) < 10, 1.0, 0.0)
    hits = [residual.Hits(x, ones) for x in (new, old)]
    assert residual.is_better(*hits, 3.0)
    assert not residual.is_better(*hits, 3.5)
    assert not residual.is_better(hits[0], hits[0], 1.0)
    assert not residual.is_better(hits[1], hits[0], 1.0)


def test_a_number_is_left_as_it_is():
    seen, plan = evidence(), RefitPlan(True, 0.5, "svm", 0)
    assert residual.choose(seen, "multi-class", held(600), plan) is plan
    assert residual.choose(seen._replace(words=None), "multi-class", held(600), AUTO) is AUTO


def test_topics_that_decide_get_more_weight():
    """Topics show the class and words are noise: less weight of words is better on new documents."""
    seen = evidence(topics=0.4, n_terms=300)
    found = residual.choose(seen, "multi-class", held(600), AUTO)
    assert found.q < residual.START
    seen = evidence(words=4.0)
    assert residual.choose(seen, "multi-class", held(600), AUTO).q == residual.START


def test_the_choice_looks_at_documents_that_the_chain_has_not_seen():
    """Topics that show the labels of the documents of the chain only, as a chain makes them."""
    seen, apart = evidence(topics=0.4, words=1.5), held(600)
    fresh = evidence(topics=0.0, seed=1).zbar
    seen = seen._replace(zbar=np.where(apart[:, None], fresh, seen.zbar))
    assert residual.choose(seen, "multi-class", apart, AUTO).q == residual.START


def test_few_documents_or_none_held_out_keep_the_start():
    seen, none = evidence(n=40, topics=0.4), np.zeros(40, bool)
    found = residual.choose(seen, "multi-class", none, AUTO)
    assert (found.q, found.c, found.positive) == (residual.START, 1.0, 1.0)
    assert residual.choose(evidence(), "multi-class", np.zeros(600, bool), AUTO).q == residual.START


def test_the_cost_of_positive_labels_is_free_unless_given():
    seen = evidence(n=300, words=1.0, cost=1.0)
    free = AUTO._replace(free_positive=True)
    assert residual.choose(seen, "multi-label", held(300), AUTO).positive == 1.0
    assert residual.choose(seen, "multi-label", held(300), free).positive in (0.25, 0.5, 1.0)
    assert residual.choose(seen, "multi-class", held(300), free).positive == 1.0


def test_rare_positive_labels_may_cost_more():
    """Labels that words show weakly: at their plain cost hardly any is given."""
    rng = np.random.default_rng(0)
    seen = evidence(n=900)
    yes = rng.random((900, 3)) < 0.35
    x = rng.normal(0, 1, (900, 40))
    x[:, :3] += 0.8 * yes
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.where(yes, 1, -1).astype(np.float32)
    cost = np.where(yes, 4, 1).astype(np.float32)  # as `class_task` makes it
    seen = seen._replace(words=csr_array(x), y=y, cost=cost)
    found = residual.choose(seen, "multi-label", held(900), AUTO._replace(free_positive=True))
    assert found.positive > 0.25


@pytest.mark.parametrize(
    ("topics", "words", "wanted"), [(3.0, 0.0, (0.0,)), (0.0, 3.0, (1.0, 2.0))]
)
def test_numbers_take_words_where_these_carry_them(topics, words, wanted):
    seen, rng = evidence(), np.random.default_rng(2)
    assert seen.words is not None
    y = (
        topics * seen.zbar[:, :1]
        + words * seen.words[:, [0]].toarray()
        + rng.normal(0, 0.1, (600, 1))
    )
    plan = RefitPlan(True, 0.0, "ridge", 0, auto=True)
    seen = seen._replace(y=y.astype(np.float32), cost=seen.cost[:, :1])
    assert residual.choose_numbers(seen, y, held(600), plan).q in wanted
    assert residual.choose_numbers(seen, y, np.zeros(600, bool), plan).q == residual.NUMBERS[0]


@pytest.mark.parametrize("kind", ["binary", "multi-label"])
def test_the_share_of_topics_does_not_depend_on_intercepts(kind):
    rng = np.random.default_rng(7)
    topic, words = rng.normal(0, 1, (5000, 2)), rng.normal(0, 2, (5000, 2))
    for shift in (0.0, -30.0):
        total = topic + words + shift
        assert refit._share(topic, total, kind) == pytest.approx(0.2, abs=0.02)
        assert refit._share(words, total, kind) == pytest.approx(0.8, abs=0.02)
        assert refit._share(topic + 9.0, total, kind) == pytest.approx(0.2, abs=0.02)


# -- the linear models themselves -----------------------------------------------------------------


def repeat(seen, times):
    rows = np.repeat(np.arange(len(seen.y)), times)
    return seen._replace(
        zbar=seen.zbar[rows], words=seen.words[rows], y=seen.y[rows], cost=seen.cost[rows]
    )


@pytest.mark.parametrize("model", ["svm", "logistic"])
def test_a_cost_of_three_is_the_document_three_times(model):
    seen, plan = evidence(n=90, topics=0.2, words=0.5), RefitPlan(True, 1.0, model, 0)
    times = np.where(np.arange(90) % 2, 3, 1)
    heavy = seen._replace(cost=seen.cost * times[:, None].astype(np.float32))
    found = fit_tasks(heavy, plan, np.arange(90))
    wanted = fit_tasks(repeat(seen, times), plan, np.arange(times.sum()))
    plain = fit_tasks(seen, plan, np.arange(90))
    for mine, theirs, other in zip(found, wanted, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=0.01)
        assert np.abs(mine - other).max() > 0.05


def test_the_factor_on_positive_labels_is_a_cost():
    seen, plan = evidence(n=90, topics=0.2), RefitPlan(True, 1.0, "svm", 0)
    dear = seen._replace(cost=np.where(seen.y > 0, 2.5, 1.0).astype(np.float32))
    found = fit_tasks(seen, plan._replace(positive=2.5), np.arange(90))
    np.testing.assert_array_equal(found[0], fit_tasks(dear, plan, np.arange(90))[0])


def test_weights_of_numbers_repeat_documents():
    rng = np.random.default_rng(5)
    x, times = rng.normal(0, 1, (60, 4)), rng.integers(1, 4, 60)
    y = x[:, :1] + rng.normal(0, 1, (60, 1))
    found = fit_numbers(x, y, times.astype(float), 0.5)
    rows = np.repeat(np.arange(60), times)
    wanted = fit_numbers(x[rows], y[rows], np.ones(len(rows)), 0.5)
    for i in (0, 1):
        np.testing.assert_allclose(found[i], wanted[i], atol=1e-8)


def test_noise_counts_the_degrees_of_freedom():
    """30 weights fitted to 60 documents take half of the noise away; the estimate puts it back."""
    rng, found, spread = np.random.default_rng(6), [], []
    for _ in range(60):
        x = rng.normal(0, 1, (60, 30))
        _, _, noise, covariance = fit_numbers(x, rng.normal(0, 2, (60, 1)), np.ones(60), 1e-6)
        found.append(noise[0])
        spread.append(np.trace(covariance[0]))
    assert np.mean(found) == pytest.approx(4.0, rel=0.08)
    # of weights: noise times the trace of the inverse of a Wishart matrix, 30 / (59 - 30 - 1)
    assert np.mean(spread) == pytest.approx(4.0 * 30 / 28, rel=0.15)
