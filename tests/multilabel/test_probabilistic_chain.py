"""Probabilistic chains: against enumeration of all label sets, the greedy chain, and corners."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayou import BlockClassifierChain, Corpus, ProbabilisticChain
from bayou.metrics.multilabel import subset_accuracy

LOGISTIC = LogisticRegression()
ORDER = [2, 0, 3, 1]


@parametrize_with_checks([ProbabilisticChain(LogisticRegression(), n_samples=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 4))
    Y = (X @ rng.normal(size=(4, 4)) + rng.normal(size=(150, 4)) > 0.3).astype(int)
    Y[:, 3] = Y[:, 0] ^ (rng.random(150) < 0.2)
    return X, Y


def enumerate_sets(model, x):
    """p(y | x) of every set, factor by factor."""
    chain = model.chain_
    out = {}
    for y in itertools.product((0, 1), repeat=4):
        p = 1.0
        for position, label in enumerate(ORDER):
            before = sorted(ORDER[:position])
            features = np.concatenate([x, [y[b] for b in before]])[None]
            one = chain.estimators_[label].predict_proba(features)[0, 1]
            p *= one if y[label] else 1.0 - one
        out[y] = p
    assert sum(out.values()) == pytest.approx(1.0)
    return out


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_all_beams_find_the_most_probable_set(data, form):
    X, Y = data
    model = ProbabilisticChain(LOGISTIC, order=ORDER, n_beams=16).fit(form(X), Y)
    found, log_p = model.most_probable_sets(form(X[:30]))
    for x, y, value in zip(X[:30], found, log_p, strict=True):
        every = enumerate_sets(model, x)
        assert tuple(y) == max(every, key=every.get)
        assert np.exp(value) == pytest.approx(max(every.values()))
    np.testing.assert_array_equal(model.predict(form(X[:30])), found)


def test_probabilities_are_sums_over_all_sets(data):
    X, Y = data
    model = ProbabilisticChain(LOGISTIC, order=ORDER, n_samples=16).fit(X, Y)
    found = model.predict_proba(X[:20])
    for x, row in zip(X[:20], found, strict=True):
        every = enumerate_sets(model, x)
        wanted = [sum(p for y, p in every.items() if y[j]) for j in range(4)]
        np.testing.assert_allclose(row, wanted)


def test_drawn_sets_come_near_the_exact_probabilities(data):
    X, Y = data
    exact = ProbabilisticChain(LOGISTIC, order=ORDER, n_samples=16, random_state=0)
    exact.fit(X, Y)
    wanted = exact.predict_proba(X[:40])
    found = exact._sample(X[:40])  # sixteen draws
    many = ProbabilisticChain(LOGISTIC, order=ORDER, n_samples=15, random_state=0)
    many.fit(X, Y).n_samples = 4000
    close = many._sample(X[:40])
    assert np.abs(close - wanted).max() < 0.03
    assert np.abs(found - wanted).mean() < 0.1
    np.testing.assert_allclose(close[:, ORDER[0]], wanted[:, ORDER[0]])  # the first has no draws


def test_one_beam_is_the_greedy_chain(data):
    X, Y = data
    greedy = BlockClassifierChain(LOGISTIC, order=ORDER).fit(X, Y).predict(X)
    one = ProbabilisticChain(LOGISTIC, order=ORDER, n_beams=1).fit(X, Y)
    np.testing.assert_array_equal(one.predict(X), greedy)
    wide = ProbabilisticChain(LOGISTIC, order=ORDER, n_beams=16).fit(X, Y)
    assert (wide.most_probable_sets(X)[1] >= one.most_probable_sets(X)[1] - 1e-12).all()


def test_the_loss_decides_what_is_predicted():
    """Two labels, one of them at a time, 30 / 30, or none, 40: the best set is empty; so are the labels."""
    X = np.zeros((1000, 1))
    Y = np.zeros((1000, 2), int)
    Y[:300, 0] = 1
    Y[300:600, 1] = 1
    model = ProbabilisticChain(LogisticRegression(C=1e6)).fit(X, Y)
    assert model.predict(X[:1]).tolist() == [[0, 0]]
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.3, 0.3]], atol=0.01)
    # 45 / 35 / 20 with the second and third set sharing a label: mode {0}, label 1 more probable than not
    Y = np.repeat([[1, 0], [0, 1], [1, 1]], [450, 350, 200], axis=0)
    subset = ProbabilisticChain(LogisticRegression(C=1e6)).fit(X, Y)
    hamming = ProbabilisticChain(LogisticRegression(C=1e6), loss="hamming").fit(X, Y)
    assert subset.predict(X[:1]).tolist() == [[1, 0]]
    assert hamming.predict(X[:1]).tolist() == [[1, 1]]


def test_better_sets_than_the_greedy_chain():
    """A first label that is a coin and decides all others: the greedy chain takes the wrong branch."""
    rng = np.random.default_rng(0)
    X, coin = np.zeros((900, 1)), rng.random(900) < 0.45
    parts = rng.integers(0, 3, 900)
    Y = np.column_stack([coin, *(~coin & (parts == i) for i in range(3))]).astype(int)
    model = ProbabilisticChain(LogisticRegression(C=1e4), n_beams=16).fit(X, Y)
    greedy = BlockClassifierChain(LogisticRegression(C=1e4)).fit(X, Y)
    assert subset_accuracy(Y, model.predict(X)) > subset_accuracy(Y, greedy.predict(X)) + 0.1


def test_rows_do_not_depend_on_others_and_corners(data):
    X, Y = data
    model = ProbabilisticChain(LOGISTIC, n_samples=5, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X)[17], model.predict_proba(X[[17]])[0])
    names = Corpus(counts=csr_array(np.abs(X).round()), labels=csr_array(Y))
    assert len(ProbabilisticChain(LOGISTIC).fit(names).predict_labels(names[:3])) == 3
    for bad, match in (
        ({"n_beams": 0}, "n_beams"),
        ({"loss": "f1"}, "loss"),
        ({"n_samples": 0}, "n_sam"),
    ):
        with pytest.raises(ValueError, match=match):
            ProbabilisticChain(LOGISTIC, **bad).fit(X, Y)
