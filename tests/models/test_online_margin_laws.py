"""Laws of online max-margin models: labels reach the topics, and the default is a max-margin posterior."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from tests.models.test_online_med_lda import COUNTS, NUMBERS, SEVERAL, THREE

from bayou import (
    MedHDPClassifier,
    OnlineMedHDPClassifier,
    OnlineMedHDPRegressor,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
    load,
)
from bayou.inference.margin import (
    online,
    online_response,
    online_state,
    online_weights,
    rounds,
    stream_growth,
)
from bayou.inference.margin.batch import make
from bayou.inference.margin.examples import examples_of
from bayou.run.shards import Workers

POSTERIORS = ("gibbs", "averaging")
CLASSIFIERS = (OnlineMedLDAClassifier, OnlineMedHDPClassifier)
REGRESSORS = (OnlineMedLDARegressor, OnlineMedHDPRegressor)
N_DOCS = len(THREE)


@pytest.mark.parametrize("size", [1, 16, N_DOCS])
@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_permuted_responses_change_the_topics(kind, posterior, size):
    name = "classifier" if kind in CLASSIFIERS else "regressor"
    given = {"batch_size": size, "n_rounds": 2 if size == N_DOCS else None, "n_passes": 1}
    model = kind(n_topics=5, random_state=0, n_threads=1, **{name: posterior}, **given)
    order = np.random.default_rng(0).permutation(N_DOCS)
    for y in (THREE, SEVERAL) if kind in CLASSIFIERS else (NUMBERS,):
        one, other = (clone(model).fit(COUNTS, some) for some in (y, y[order]))
        if len(one.components_) == len(other.components_):
            assert np.abs(one.components_ - other.components_).max() > 1e-3


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_the_default_is_the_posterior_of_the_loss(kind, monkeypatch):
    """No floor, so that documents weigh by their distance to the margin, and lambda is drawn."""
    y = THREE if kind in CLASSIFIERS else NUMBERS
    model = kind(n_topics=5, random_state=0, n_threads=1).fit(COUNTS, y)
    p = model.resolve()
    assert (p.gibbs, p.floor, p.shared) == (True, 0.0, False)
    assert len(model.state_.precision) == len(model.state_.mean)
    drawn = []
    augment = online_weights.augment_into

    def watch(out, zbar, weights, cost, run, sweep):
        augment(out, zbar, weights, cost, run, sweep)
        drawn.append((sweep is not None, out[0][run.batch.cost > 0.0]))

    monkeypatch.setattr(online_weights, "augment_into", watch)
    clone(model).fit(COUNTS, y)
    for some in (True, False):  # in the topic step, and in expectation in that of the weights
        omega = np.concatenate([found for how, found in drawn if how is some])
        assert omega.std() > 0.1 * omega.mean() > 0.0


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_floor_out_of_reach_is_a_ridge_regression(kind):
    model = kind(n_topics=5, random_state=0, n_threads=1, weight_floor="auto").fit(COUNTS, THREE)
    assert model.resolve().shared
    assert len(model.state_.precision) == 1


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_many_tasks_have_no_covariance(kind):
    y = np.random.default_rng(0).integers(0, 2, (N_DOCS, 11))
    model = kind(n_topics=350, random_state=0, n_threads=1).partial_fit(COUNTS[:5], y[:5])
    assert not model.resolve().gibbs
    assert not len(model.state_.precision)
    few = kind(n_topics=5, random_state=0, n_threads=1).partial_fit(COUNTS[:5], y[:5])
    assert few.resolve().gibbs


def settings():
    p = OnlineMedLDAClassifier(
        n_topics=3, cost=0.7, margin=2.0, alpha=0.4, beta=0.3, tf="none", idf=False, n_sweeps=60,
        burn_in=20, variance=1.5,
    ).resolve()  # fmt: skip
    assert p.gibbs
    assert p.floor == 0.0
    return p


def state_with_weights(p, rng):
    """Some topics, and other weights with another covariance for each of four tasks."""
    state = online_state.init(4, 4, p)
    state.raw[:] = rng.gamma(1.0, 2.0, state.raw.shape)
    state.topic[:] = state.raw.sum(axis=0)
    for i in range(4):
        root = rng.normal(size=(3, 3))
        state.precision[i] = root @ root.T + np.eye(3)
        state.mean[i] = rng.normal(0.0, 2.0, 3)
        state.linear[i] = state.precision[i] @ state.mean[i]
    return state


def exact_moments(terms, y, rows, state, p):
    """Expected counts, c^2 zbar zbar' / lambda and c y (1 + c l / lambda) zbar of a document, by enumeration.

    With lambda integrated out, q(z) ~ p(z) prod_n exp(E ln phi) prod_i exp(-c gap_i - b_i(z)), where
    b_i = c sqrt(gap_i^2 + zbar' S_i zbar), gap_i = l - y_i mu_i . zbar, and E[1 / lambda_i | z] = 1 / b_i.
    """
    n, k = len(terms), len(p.alpha)
    c, width, spread = 0.7, 2.0, np.linalg.inv(state.precision)
    total, counts = 0.0, np.zeros((4, k))
    precision, linear = np.zeros((4, k, k)), np.zeros((4, k))
    for z in np.ndindex(*[k] * n):
        weight, seen = 1.0, np.zeros(k)
        for v, t in zip(terms, z, strict=True):
            weight *= (seen[t] + p.alpha[t]) * rows[v, t]
            seen[t] += 1.0
        zbar = seen / n
        gap = width - y * (state.mean @ zbar)
        b = c * np.sqrt(gap**2 + np.einsum("k,ikj,j->i", zbar, spread, zbar))
        weight *= np.exp(-c * gap - b)[:3].prod()  # no document has the last label
        total += weight
        np.add.at(counts, (list(terms), list(z)), weight)
        precision += weight * (c**2 / b)[:, None, None] * np.outer(zbar, zbar)
        linear += weight * (c * y * (1.0 + c * width / b))[:, None] * zbar
    return counts / total, precision / total, linear / total


def test_shared_topics_against_enumeration():
    """Four tasks, each with its own covariance: the statistics of a mini-batch are those of q(z, lambda)."""
    p, copies = settings(), 4000
    state = state_with_weights(p, np.random.default_rng(3))
    texts = [(0, 1, 1, 2), (3, 2, 0)]
    signs = np.array([[1, -1, 1, -1], [-1, 1, -1, -1]], np.int8)
    rows = np.zeros((2 * copies, 4))
    for d, terms in enumerate(texts):
        np.add.at(rows[d], list(terms), 1.0)
    rows[2:] = np.tile(rows[:2], (copies - 1, 1))
    y = np.tile(signs, (copies, 1))
    examples = examples_of(csr_array(rows), y, np.full(2 * copies, 0.7))
    state, batch = online.read_labels(state, examples, p, 5)
    with Workers(1) as workers:
        run = online_weights.OnlineRun(batch, p, 5, workers.each)
        chain = rounds.start_round(rounds.begin(state, run), 0)
        for j in range(p.n_sweeps):
            chain = rounds.draw_lambda(rounds.add_sweep(rounds.draw_topics(chain, j), j), j)
    found = chain.sums
    exact = [exact_moments(terms, y[d], chain.rows, state, p) for d, terms in enumerate(texts)]
    counts, precision, linear = (sum(x) for x in zip(*exact, strict=True))
    assert np.allclose(found.counts / copies, counts, atol=0.01)
    assert np.allclose((found.precision - state.precision) / copies, precision, atol=0.01)
    assert np.allclose((found.linear - state.linear) / copies, linear, atol=0.02)


@pytest.mark.parametrize("kind", [*CLASSIFIERS, *REGRESSORS])
def test_sampled_predictions_are_keyed_by_seed_and_document(kind):
    y = THREE if kind in CLASSIFIERS else NUMBERS
    model = kind(n_topics=5, random_state=0, n_threads=1, prediction="sampled").fit(COUNTS, y)
    score = model.decision_function if kind in CLASSIFIERS else model.predict
    some = score(COUNTS[10:20])
    assert np.array_equal(some, score(COUNTS)[10:20])
    assert np.array_equal(some, score(COUNTS[10:20]))
    for one, expected in zip(model.explain(COUNTS[10:20]), some, strict=True):
        np.testing.assert_allclose(one.scores, np.ravel(expected), rtol=1e-5, atol=1e-5)
    assert not model.resolve().refit
    assert model.score(COUNTS, y) > (0.8 if kind in CLASSIFIERS else 0.2)
    model.set_params(prediction="mean")
    assert not np.array_equal(some, score(COUNTS[10:20]))
    with pytest.raises(ValueError, match="refit=True needs prediction='mean'"):
        kind(prediction="sampled", refit=True).fit(COUNTS, y)


def test_drawn_weights_have_the_mean_and_covariance_of_the_posterior():
    state = state_with_weights(settings(), np.random.default_rng(3))
    draws = np.array([online_response.draw_weights(state, seed) for seed in range(4000)])
    for i in range(4):
        spread = np.linalg.inv(state.precision[i])
        assert np.allclose(draws[:, i].mean(axis=0), state.mean[i], atol=0.08)
        assert np.allclose(np.cov(draws[:, i].T), spread, atol=0.08)
    flat = state._replace(precision=state.precision[:0], linear=state.linear[:0])
    assert np.array_equal(online_response.draw_weights(flat, 1), state.mean)


@pytest.mark.parametrize("posterior", POSTERIORS)
def test_one_vs_all_is_a_binary_model_per_class(posterior):
    """The topics and weights of a class are those of a model that knows this class and the rest."""
    given = {"n_topics": 4, "classifier": posterior, "random_state": 0, "n_threads": 1}
    whole = OnlineMedLDAClassifier(**given, multi_class="one-vs-all").fit(COUNTS, THREE)
    variance = whole.resolve().variance
    for i, name in enumerate(whole.classes_):
        y = np.where(name == THREE, "yes", "a rest")
        alone = OnlineMedLDAClassifier(**given, variance=variance, n_passes=2).fit(COUNTS, y)
        own = slice(4 * i, 4 * (i + 1))
        assert np.array_equal(whole.state_.mean[i], alone.state_.mean[0])
        assert np.array_equal(whole.components_[own], alone.components_)
        assert np.array_equal(whole.weights_[own, i], alone.weights_[:, 0])
    assert whole.score(COUNTS, THREE) > 0.9
    assert np.count_nonzero(whole.weights_) <= 12


def test_one_vs_all_on_a_stream():
    """Cut into calls, saved, and with a class that comes late, it is the same model."""
    model = OnlineMedLDAClassifier(
        n_topics=4, batch_size=16, random_state=0, n_threads=1, multi_class="one-vs-all"
    )
    names = ["ant", "bee", "cow", "dog"]
    order = np.argsort(THREE == "cow", kind="stable")
    rows, y = COUNTS[order], THREE[order]
    n = int((y != "cow").sum()) // 16 * 16
    early = clone(model).partial_fit(rows, y, classes=names)
    late = clone(model).partial_fit(rows[:30], y[:30], classes=["ant", "bee", "dog"])
    late.partial_fit(rows[30:n], y[30:n]).partial_fit(rows[n:], y[n:], classes=["cow"])
    assert np.array_equal(early.decision_function(rows), late.decision_function(rows))
    for one, row in zip(early.explain(rows[:3]), early.decision_function(rows[:3]), strict=True):
        assert np.allclose(one.scores, row, rtol=1e-4, atol=1e-3)
    assert np.allclose(early.transform(rows).sum(axis=1), 1.0, atol=1e-5)
    with pytest.raises(ValueError, match="refit needs topics that all tasks share"):
        clone(model).set_params(refit=True).fit(rows, y)
    with pytest.raises(ValueError, match="needs topics that all tasks share"):
        clone(model).set_params(weight_floor="auto").fit(rows, y)


def test_one_vs_all_in_a_file(tmp_path):
    model = OnlineMedLDAClassifier(
        n_topics=4, batch_size=16, random_state=0, n_threads=1, multi_class="one-vs-all"
    )
    whole = clone(model).partial_fit(COUNTS, THREE)
    half = clone(model).partial_fit(COUNTS[:50], THREE[:50], classes=whole.classes_)
    half.save(tmp_path / "m.bayou")
    again = load(tmp_path / "m.bayou").partial_fit(COUNTS[50:], THREE[50:])
    assert np.array_equal(whole.decision_function(COUNTS), again.decision_function(COUNTS))


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_logistic_loss(kind):
    model = kind(n_topics=6, random_state=0, n_threads=1, loss="logistic", n_passes=3)
    assert model.fit(COUNTS, THREE).score(COUNTS, THREE) > 0.8
    hinge = clone(model).set_params(loss="hinge").fit(COUNTS, THREE)
    assert not np.array_equal(hinge.components_, model.components_)
    for other in ({"classifier": "averaging"}, {"weight_floor": "auto"}):
        with pytest.raises(ValueError, match="loss='logistic' needs classifier='gibbs'"):
            clone(model).set_params(**other).fit(COUNTS, THREE)


def test_order_of_tokens():
    """In the order of terms a document that is given twice has the same tokens, in random order not."""
    rows = csr_array(np.tile([[3.0, 2.0, 4.0, 1.0]], (2, 1)))
    examples = examples_of(rows, np.ones((2, 1), np.int8), np.ones(2))
    for shuffle in (True, False):
        batch = make(examples, np.ones((2, 1)), np.ones((2, 1)), 4, "none", 0, 1, shuffle=shuffle)
        ordered = [
            bool((np.diff(x.astype(int)) >= 0).all()) for x in np.split(batch.tokens.terms, 2)
        ]
        assert ordered == [not shuffle] * 2
    one, other = (
        OnlineMedLDAClassifier(n_topics=4, random_state=0, n_threads=1, token_order=order)
        for order in ("term", "random")
    )
    assert not one.resolve().shuffle
    assert other.resolve().shuffle


@pytest.mark.parametrize("kind", [OnlineMedHDPClassifier, OnlineMedHDPRegressor])
def test_weights_of_new_topics(kind):
    """Around the level of the other topics, or around zero as published."""
    y = THREE if kind is OnlineMedHDPClassifier else NUMBERS
    model = kind(random_state=0, n_threads=1).fit(COUNTS, y)
    for level in (True, False):
        by = model.set_params(weight_level=level).resolve().growth
        assert stream_growth.newborn_mean(model.state_, by).any() == level


def test_weights_of_a_chain_around_zero():
    model = MedHDPClassifier(n_topics=4, n_sweeps=6, n_kept=2, random_state=0, n_threads=1)
    plain, level = (
        clone(model).set_params(weight_level=x).fit(COUNTS, THREE) for x in (False, True)
    )
    assert not np.array_equal(plain.components_, level.components_)
    assert plain.score(COUNTS, THREE) > 0.6


def test_published_settings():
    averaging = OnlineMedLDAClassifier.published()
    gibbs = OnlineMedLDAClassifier.published("gibbs")
    assert (averaging.variance, gibbs.variance) == (1e-3, 1.0)
    for model in (averaging, gibbs, OnlineMedHDPClassifier.published()):
        assert (model.prediction, model.token_order, model.weight_floor) == (
            "sampled",
            "term",
            None,
        )
    assert averaging.multi_class == "one-vs-all"
    assert not OnlineMedHDPClassifier.published().weight_level
