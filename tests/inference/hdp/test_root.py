"""The root of a hierarchical Dirichlet process: shares, concentrations, births, deaths, how many."""

import itertools

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln

from bayou.inference.hdp import root


def test_shares_are_the_mean_of_the_root():
    tables = np.array([3.0, 0.0, 1.0])
    np.testing.assert_allclose(root.shares(tables, 1.5), (tables + 0.5) / 5.5)
    assert root.shares(tables, 1.5).sum() == pytest.approx(1.0)


def test_alpha_at_rest_is_the_mode_of_its_posterior():
    """At the fixed point, with tables at their expectation, d/db ln p(tables, lengths | b) p(b) b = 0."""
    lengths = np.array([20.0, 35.0, 8.0])
    n_tables, b = 14.0, 1.0
    for _ in range(200):
        b = root.document_concentration(b, n_tables, lengths, 1.0)

    def log_posterior(x):  # of ln b: shape 1 + tables in place of tables, rate 1
        return (1 + n_tables) * np.log(x) - x + (gammaln(x) - gammaln(x + lengths)).sum()

    grid = b * np.exp(np.linspace(-0.5, 0.5, 2001))
    assert grid[np.argmax([log_posterior(x) for x in grid])] == pytest.approx(b, rel=1e-3)


def test_alpha_of_simulated_restaurants_is_found():
    rng, true = np.random.default_rng(0), 4.0
    lengths = rng.integers(50, 150, 400)
    n_tables = sum((rng.random(n) < true / (true + np.arange(n))).sum() for n in lengths)
    b = 1.0
    for _ in range(100):
        b = root.document_concentration(b, float(n_tables), lengths.astype(float), 1.0)
    assert b == pytest.approx(true, rel=0.1)


def test_gamma_follows_the_number_of_topics():
    many, few = np.full(50, 20.0), np.where(np.arange(50) < 3, 300.0, 0.0)
    found = []
    for tables in (many, few):
        b = 1.0
        for _ in range(200):
            b = root.root_concentration(b, tables)
        found.append(b)
    assert found[0] > 5 * found[1] > 0
    assert root.root_concentration(1.0, few, 3) == pytest.approx(
        (1 + 3) / (1 + sum(1 / (1 + i) for i in range(900))), rel=1e-9
    )


def test_births_and_deaths():
    names = root.first_names(4)
    tables = np.array([5.0, 0.01, 0.3, 2.0])
    names, dead = root.settle_topics(names, tables)
    assert dead.tolist() == [1]
    assert names.ids.tolist() == [0, -1, 2, 3]  # between the two bounds nothing changes
    assert (names.n_born, names.n_died) == (4, 1)
    names, dead = root.settle_topics(names, np.array([5.0, 0.6, 0.04, 2.0]))
    assert names.ids.tolist() == [0, -1, -1, 3]  # not born yet, and one more dead
    names, dead = root.settle_topics(names, np.array([5.0, 0.8, 0.9, 2.0]))
    assert names.ids.tolist() == [0, 5, 4, 3]  # the larger first; no number twice
    assert (names.n_born, names.n_died, len(dead)) == (6, 2, 0)


def test_topics_of_a_handful_of_tables_are_given_up():
    tables = np.array([6.0, 4.9, 9.0, 0.0])
    names, few = root.drop_small_topics(
        root.TopicIds(np.array([0, 1, root.SPARE, 3]), 4, 0), tables
    )
    assert names.ids.tolist() == [0, -1, -1, -1]
    assert few.tolist() == [1, 3]
    assert (names.n_born, names.n_died) == (4, 2)
    names, few = root.drop_small_topics(root.first_names(3), np.array([1.0, 2.0, 0.5]))
    assert names.ids.tolist() == [-1, 1, -1]  # somebody must stay


def test_topics_in_use_are_ordered_and_never_none():
    names = root.TopicIds(np.array([0, 1, -1, 3]), 4, 0)
    tables, use = np.array([2.0, 0.5, 9.0, 1.0]), np.array([10.0, 50.0, 90.0, 20.0])
    assert root.living(names, tables, use).tolist() == [3, 0]
    assert root.living(names, np.zeros(4), use).tolist() == [0]


def test_the_law_of_how_many_are_in_use():
    tables = np.array([0.2, 1.0, 3.0, 80.0, 0.0])
    law, used = root.how_many(root.in_use(tables)), 1 - np.exp(-tables)
    want = np.zeros(6)
    for x in itertools.product([0, 1], repeat=5):
        want[sum(x)] += np.prod(np.where(x, used, 1 - used))
    np.testing.assert_allclose(law, want[: len(law)], atol=1e-12)
    assert law.sum() == pytest.approx(1.0)
    even = root.how_many(root.in_use(np.full(400, np.log(2.0))))
    low, high = root.interval(even, 0.9)
    assert (low, high) == tuple(stats.binom(400, 0.5).ppf([0.05, 0.95]))
    assert root.interval(law, 1.0)[1] <= 5


def test_who_is_large_is_a_simulated_corpus():
    """Poisson tables, exponential tokens at each: how often a topic has 50 tokens and a thousandth."""
    rng = np.random.default_rng(0)
    tables, tokens = np.array([30.0, 60.0, 8.0, 500.0]), np.array([70.0, 60.0, 50.0, 40_000.0])
    drawn = rng.gamma(rng.poisson(tables, (20_000, 4)) + 1e-9) * (tokens / tables)
    found = (drawn >= root.least_large(tokens)).mean(axis=0)
    np.testing.assert_allclose(root.large(tables, tokens), found, atol=0.08)
    assert root.large(tables, tokens)[3] > 0.999
    assert root.large(np.zeros(2), np.zeros(2)).tolist() == [0.0, 0.0]


def test_all_of_a_law_is_where_it_has_mass():
    assert root.interval(np.array([0.0, 0.0, 0.5, 0.5]), 1.0) == (2, 3)
    assert root.interval(root.how_many(np.array([1.0, 1.0, 0.5])), 1.0) == (2, 3)
    assert root.interval(np.ones(1), 1.0) == (0, 0)


def test_documents_without_tokens_do_not_move_alpha():
    assert root.document_concentration(3.7, 0.0, np.zeros(5), 100.0) == 3.7
    assert root.document_concentration(3.7, 0.0, np.zeros(0), 100.0) == 3.7
