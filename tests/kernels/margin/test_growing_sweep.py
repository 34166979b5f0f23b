"""Topics born and dying under words and labels: draw for draw the twin, what is kept, the posterior."""

import numba
import numpy as np
import pytest
from tests.reference import growing, lda, margin_cases
from tests.reference.franchise import stirling

from bayou.inference.lda.documents import Tokens
from bayou.inference.margin import growth
from bayou.inference.margin.growth import TopicGrowth
from bayou.kernels.margin import growing_sweep

NONE = np.empty((0, 0, 0), np.float32)
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def f32(x):
    return np.ascontiguousarray(x, np.float32)


def corpus(lengths, terms, n_terms):
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return indptr, np.asarray(terms, np.uint32), margin_cases.even_weights(indptr), n_terms


def no_labels(n_docs, n_columns):
    none = np.zeros((n_docs, 1), np.float32)
    return none, none, np.zeros((1, n_columns), np.float32), NONE


def live_of(given, z, tables, delta, beta, by):
    """Documents with topics z on top of topics known before; gives what sweeps work on."""
    indptr, terms, rho, n_terms = given
    roots = growth.open_roots(np.asarray(tables, float), z, by)
    known = delta - beta if delta.size else np.zeros((n_terms, len(tables)))
    before = (f32(known), known.sum(axis=0))
    tokens, ids = Tokens(indptr, terms), np.arange(len(indptr) - 1, dtype=np.uint64)
    return growth.make_live(tokens, ids, f32(rho), z, before, roots)


def check_sound(live, by):
    """alpha (1 - sum pi) + sum alpha pi = alpha, counts follow the tokens, and free topics are free."""
    roots = live.roots
    used = roots.in_use
    assert roots.stick.sum() + roots.rest[0] == pytest.approx(1.0, rel=1e-12)
    assert (roots.stick[~used] == 0).all()
    assert np.array_equal(roots.own, np.bincount(live.z, minlength=len(used)))
    free = roots.free[: roots.n_free[0]]
    assert sorted(free) == np.flatnonzero(~used).tolist()
    assert np.allclose(roots.a[used], by.alpha * roots.stick[used], rtol=1e-6)
    if len(free):
        assert roots.a[free[-1]] == pytest.approx(by.alpha * roots.rest[0], rel=1e-6)
        assert (roots.a[free[:-1]] == 0).all()


@pytest.mark.parametrize("n_spread", [0, 1, 2])
def test_sweep_is_its_twin_draw_for_draw(n_spread):
    rng, by = np.random.default_rng(n_spread), TopicGrowth(1.3, 1.7, 9, 0.0)
    given = corpus((5, 1, 0, 7, 4), rng.integers(0, 6, 17), 6)
    tables, beta = np.array([2.0, 0.0, 0.7, 0.0]), 0.4
    delta = np.full((6, 4), beta)
    delta[:, [0, 2]] += rng.gamma(1.0, size=(6, 2))
    z = rng.choice([0, 1, 2], 17).astype(np.uint16)  # topic 3 has neither tables nor tokens
    live = live_of(given, z, tables, delta, beta, by)
    n = len(live.topic)
    eta, root = f32(rng.normal(size=(2, n))), rng.normal(size=(n_spread, n, n))
    omega, kappa = f32(rng.gamma(1, 2, (5, 2))), f32(rng.normal(0, 3, (5, 2)))
    omega[3], kappa[3] = 0, 0
    labels = (omega, kappa, eta, f32(root @ root.transpose(0, 2, 1)))
    wide = np.full((6, n), beta)
    wide[:, :4] = delta
    twin = growing.Sampler(given, z, live.roots.stick, live.roots.mortal, by[:2] + (beta,), wide)
    births = 0
    for number in range(6):
        growth.sweep(live, labels, by, (beta, 6 * beta), 7, number)
        twin.sweep(labels, 7, number, range(5))
        assert live.z.tolist() == twin.z
        assert np.allclose(live.roots.stick, twin.stick, rtol=1e-6, atol=1e-12)
        births += int(live.roots.born.sum())
        check_sound(live, by)
    assert births > 0


def test_births_and_deaths_conserve():
    """Over many sweeps, with tables and sticks redrawn; topics are born and die all the time."""
    rng, by = np.random.default_rng(3), TopicGrowth(3.0, 4.0, 12, 0.0)
    given = corpus((6, 3, 8), rng.integers(0, 5, 17), 5)
    live = live_of(given, np.zeros(17, np.uint16), [0.0], np.zeros((5, 0)), 0.3, by)
    sizes = set()
    for number in range(200):
        growth.sweep(live, no_labels(3, len(live.topic)), by, (0.3, 1.5), 1, number)
        tables = growth.renew_sticks(live, np.zeros(len(live.topic)), by, 1, number)
        check_sound(live, by)
        used = live.roots.in_use
        assert (tables[used] >= 1).all()
        assert (tables[~used] == 0).all()
        assert (tables <= live.roots.own).all()
        assert np.array_equal(live.topic, live.roots.own)
        sizes.add(int(used.sum()))
    assert len(sizes) > 4


def test_at_the_ceiling_nobody_is_born():
    rng, by = np.random.default_rng(4), TopicGrowth(5.0, 5.0, 2, 0.0)
    given = corpus((9,), rng.integers(0, 5, 9), 5)
    z = rng.integers(0, 2, 9).astype(np.uint16)
    live = live_of(given, z, [1.0, 1.0], np.full((5, 2), 0.5), 0.3, by)
    for number in range(20):
        growth.sweep(live, no_labels(1, 2), by, (0.3, 1.5), 1, number)
        check_sound(live, by)
    assert len(live.topic) == 2


def test_topics_known_before_survive_without_tokens():
    by = TopicGrowth(2.0, 1.0, 30, 0.0)
    one, z = corpus((1,), [0], 3), np.zeros(1, np.uint16)
    live = live_of(one, z, [3.0, 4.0], np.full((3, 2), 1.0), 0.2, by)
    assert live.roots.in_use[:2].all()
    assert live.roots.stick[:2] == pytest.approx([3 / 8, 4 / 8])
    for number in range(50):
        growth.sweep(live, no_labels(1, len(live.topic)), by, (0.2, 0.6), 1, number)
        growth.renew_sticks(live, np.pad([3.0, 4.0], (0, 16)), by, 1, number)
        assert live.roots.in_use[:2].all()


def test_tables_have_the_law_of_their_stirling_numbers():
    """One document of six tokens in one topic, P(s) ~ S(6, s) mass^s; and the expectation."""
    by, n = TopicGrowth(2.5, 1.0, 3, 0.0), 6
    same, z = corpus((n,), [0] * n, 2), np.zeros(n, np.uint16)
    live = live_of(same, z, [0.0], np.zeros((2, 0)), 0.2, by)
    live.roots.stick[0] = 0.6
    drawn = [growth.seats(live, by, 5, i, drawn=True)[0] for i in range(4000)]
    ways = np.array([float(stirling(n, 0.0)[n][s]) * 1.5**s for s in range(1, n + 1)])
    found = np.bincount(np.array(drawn, int), minlength=n + 1)[1:] / len(drawn)
    assert 0.5 * np.abs(found - ways / ways.sum()).sum() < 0.03
    expected = growth.seats(live, by, 5, 0, drawn=False)[0]
    assert expected == pytest.approx((ways / ways.sum()) @ np.arange(1, n + 1), rel=1e-9)


def test_sticks_have_the_moments_of_their_dirichlet_law():
    by = TopicGrowth(2.0, 1.5, 5, 0.0)
    four, z = corpus((4,), [0, 1, 0, 1], 2), np.array([0, 0, 1, 1], np.uint16)
    live = live_of(four, z, [0.0, 0.0], np.zeros((2, 0)), 0.2, by)
    weights = np.array([2.0, 0.4, 0.0, 0.0, 0.0])
    draws = []
    for i in range(6000):
        growing_sweep.draw_sticks(tuple(live.roots), weights, by.alpha, by.gamma, 3, i)
        draws.append([*live.roots.stick[:2], live.roots.rest[0]])
    a = np.array([2.0, 0.4, 1.5])
    mean, total = a / a.sum(), a.sum()
    assert np.allclose(np.mean(draws, axis=0), mean, atol=0.012)
    assert np.allclose(np.var(draws, axis=0), mean * (1 - mean) / (total + 1), atol=0.006)
    check_sound(live, by)


# -- the posterior, by enumeration of all partitions ---------------------------------------------------

FIVE = corpus((3, 2), [0, 1, 0, 1, 2], 3)
SIX = corpus((4, 2), [0, 1, 0, 2, 1, 2], 3)


def visited(given, tables, delta, labels, by, beta, n_sweeps):
    """Partitions that the sampler goes through: tokens, tables, sticks, again and again."""
    z = np.zeros(len(given[1]), np.uint16)
    live = live_of(given, z, tables, delta, beta, by)
    n, seen = len(live.topic), np.empty((n_sweeps, len(z)), np.uint16)
    known = np.pad(np.asarray(tables, float), (0, n - len(tables)))
    words = (beta, given[3] * beta)
    for number in range(n_sweeps):
        growth.sweep(live, labels(n), by, words, 11, number)
        growth.renew_sticks(live, known, by, 11, number)
        seen[number] = live.z
    n_known = int(np.count_nonzero(tables))
    rows, times = np.unique(seen, axis=0, return_counts=True)
    found = {}
    for row, t in zip(rows, times, strict=True):
        name = growing.named(row, n_known)
        found[name] = found.get(name, 0.0) + t / n_sweeps
    return found


def distance(found, states, law):
    assert set(found) <= set(states)
    return 0.5 * sum(abs(found.get(s, 0.0) - p) for s, p in zip(states, law, strict=True))


def prior_case(given, n_sweeps):
    """No labels, nothing known before."""
    by, beta, none = TopicGrowth(1.4, 1.3, 30, 0.0), 0.5, np.zeros((given[3], 0))
    states = growing.partitions(len(given[1]), 0)
    law = growing.law([
        growing.log_topics(z, given[0], by.alpha, by.gamma, [])
        + growing.log_words(z, given[1], beta, given[3], none)
        for z in states
    ])  # fmt: skip
    found = visited(given, [0.0], none, lambda n: no_labels(2, n), by, beta, n_sweeps)
    return distance(found, states, law)


def margin_case(given, n_sweeps, kept=True):
    """A topic known before, labels at c = 1.7, and weights that are known up to a covariance."""
    rng = np.random.default_rng(5)
    by, beta, variance, c = TopicGrowth(1.4, 1.3, 30, 0.0), 0.5, 1.6, 1.7
    delta, tables = beta + rng.gamma(1.0, size=(given[3], 1)), [2.2]
    mean, spread = np.array([0.9]), np.array([[0.5]])
    aug, y = np.array([0.8, 2.1]), np.array([1.0, -1.0])
    omega, kappa = c**2 / aug, c * y * (1 + c * 1.2 / aug)
    states = growing.partitions(len(given[1]), 1)
    law = growing.law([
        growing.log_topics(z, given[0], by.alpha, by.gamma, tables)
        + growing.log_words(z, given[1], beta, given[3], delta)
        + growing.log_labels(z, given, omega, kappa, mean, spread, variance)
        for z in states
    ])  # fmt: skip

    def labels(n):
        eta, cov = np.zeros((1, n)), np.eye(n)[None] * (variance if kept else 0.0)
        eta[0, 0], cov[0, 0, 0] = mean[0], spread[0, 0]
        return f32(omega[:, None]), f32(kappa[:, None]), f32(eta), f32(cov)

    found = visited(given, tables, delta, labels, by, beta, n_sweeps)
    return distance(found, states, law)


@long_chain
def test_chain_visits_the_partitions_of_five_tokens():
    assert prior_case(FIVE, 60_000) < 0.02


@long_chain
def test_chain_visits_the_partitions_under_labels():
    assert margin_case(FIVE, 60_000) < 0.02
    # without what labels say of a topic that is not there yet the chain goes elsewhere
    assert margin_case(FIVE, 20_000, kept=False) > 0.1


@long_chain
@pytest.mark.slow
def test_partitions_of_six_tokens():
    assert prior_case(SIX, 500_000) < 0.01


@long_chain
@pytest.mark.slow
def test_partitions_of_six_tokens_under_labels():
    assert margin_case(SIX, 900_000) < 0.01


def test_twins_agree_on_what_a_partition_is():
    states = growing.partitions(5, 0)
    assert len(states) == len(set(states)) == 52
    assert len(growing.partitions(6, 0)) == 203
    assert growing.named([7, 3, 7, 0], 0) == (0, 1, 0, 2)
    assert growing.named([7, 3, 7, 0], 1) == (1, 2, 1, 0)
    total = sum(np.exp(growing.log_topics(z, [0, 3, 5], 1.4, 1.3, [])) for z in states)
    assert total == pytest.approx(1.0)
    known = growing.partitions(4, 2)
    total = sum(np.exp(growing.log_topics(z, [0, 2, 4], 1.4, 1.3, [2.0, 0.5])) for z in known)
    assert total == pytest.approx(1.0)
    assert lda.TOKEN != growing.GROWTH
