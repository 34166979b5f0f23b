"""Growing topics on a stream and in a chain: what is conserved, what is integrated out, and the posterior."""

import numba
import numpy as np
import pytest
from tests.inference.margin.test_online_margin_part import (
    N_TERMS,
    documents,
    how,
    is_sound,
    update,
)
from tests.kernels.margin.test_growing_sweep import FIVE, SIX, corpus, distance
from tests.reference import growing, margin

from bayou.api.streaming import copy_state
from bayou.inference.margin import growing as growing_columns
from bayou.inference.margin import growth, online_state, stream_growth
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.growth import SPARE, TopicGrowth
from bayou.inference.margin.loss import HINGE, INSENSITIVE
from bayou.models import med_hdp
from bayou.run.shards import Workers

BY = TopicGrowth(1.5, 1.2, 40, 1.0)
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def growing_how(gibbs=True, by=BY, **changes):
    return how(gibbs, **{"growth": by, "n_sweeps": 3, **changes})


def learn(settings, examples=None, n_batches=3, each=None):
    examples = documents() if examples is None else examples
    states = []
    with Workers(1) as workers:
        state = online_state.init(N_TERMS, examples.y.shape[1], settings)
        for _ in range(n_batches):
            state = update(state, examples, settings, 7, each or workers.each)
            states.append(copy_state(state))
    return states


EVERY = [
    growing_how(),
    growing_how(floor=300.0, shared=True),
    growing_how(gibbs=False),
    growing_how(gibbs=False, ghosts=2.5),
    growing_how(n_rounds=1, n_sweeps=1, burn_in=0),
    growing_how(decay=0.97),
    growing_how(floor=300.0, shared=True, refit=True),
    growing_how(gibbs=False, refit=True),
]


@pytest.mark.parametrize(
    "settings", EVERY, ids=lambda h: f"{h.gibbs}-{h.floor}-{h.ghosts}-{h.decay}-{h.refit}"
)
def test_a_stream_keeps_its_books(settings):
    examples = documents()
    states = learn(settings, examples)
    before = None
    for state in states:
        n = len(state.topic)
        assert is_sound(state, examples, settings)
        assert (state.tables > 0).all()
        assert (state.tables <= state.topic + 1e-9).all()  # a table has a token at least
        assert np.allclose(state.scale * state.raw.sum(axis=0, dtype=float), state.topic, rtol=1e-5)
        assert (state.topic >= 1.0 - 1e-9).all()
        prior = online_state.document_prior(state, settings)
        rest = BY.gamma / (state.tables.sum() + BY.gamma)
        assert prior.sum() + BY.alpha * rest == pytest.approx(BY.alpha, rel=1e-12)
        assert state.mean.shape[1] == n == state.raw.shape[1]
        assert len(set(state.ids.tolist())) == n
        assert (np.diff(state.ids) > 0).all()
        if settings.gibbs:
            assert np.linalg.eigvalsh(state.precision).min() > 0
            assert np.allclose(
                np.einsum("ikj,ij->ik", np.broadcast_to(state.precision, (3, n, n)), state.mean),
                state.linear, rtol=1e-6, atol=1e-6,
            )  # fmt: skip
        if settings.refit:  # rows of zbar sum to one, whatever came and went
            assert state.gram.sum() == pytest.approx((state.lessons + states[0].lessons) / 2.0)
        if before is not None:  # numbers are never given twice, and older topics come first
            fresh = set(state.ids.tolist()) - set(before.ids.tolist())
            assert all(i >= before.n_born for i in fresh)
        before = state
    tokens = (
        examples.data.sum() * settings.ghosts * sum(settings.decay ** (20 * i) for i in range(3))
    )
    assert states[-1].topic.sum() <= tokens + 1e-6
    assert states[-1].topic.sum() > 0.8 * tokens  # what topics that were given up had is lost


def test_topics_are_born_and_given_up(monkeypatch):
    monkeypatch.setattr(stream_growth, "PRUNE_EVERY", 60)  # documents: every third batch
    states = learn(growing_how(by=BY._replace(gamma=60.0, least=5.0), beta=1.0), n_batches=6)
    born = [s.n_born for s in states]
    assert born[-1] > born[0]
    assert any(len(s.topic) < s.n_born for s in states)
    for state in (states[2], states[5]):
        assert (state.topic >= 5.0).all()


def test_at_the_ceiling_topics_stay_as_they_are():
    settings = growing_how(by=BY._replace(most=4, least=0.0))
    state = learn(settings, n_batches=4)[-1]
    assert len(state.topic) <= 4


def test_a_topic_is_integrated_out_of_the_covariance():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 5, 7))
    precision = root @ root.transpose(0, 2, 1) + np.eye(5)
    linear, keep = rng.normal(size=(3, 5)), np.array([True, False, True, True, False])
    inner, left = stream_growth.marginal(precision, linear, keep)
    spread = np.linalg.inv(precision)
    mean = np.einsum("ikj,ij->ik", spread, linear)
    assert np.allclose(np.linalg.inv(inner), spread[:, keep][:, :, keep])
    assert np.allclose(np.einsum("ikj,ij->ik", np.linalg.inv(inner), left), mean[:, keep])
    assert not np.allclose(
        inner, precision[:, keep][:, :, keep]
    )  # that would be to know it is zero
    shared, one = stream_growth.marginal(precision[:1], linear, keep)
    assert shared.shape == (1, 3, 3)
    mean = np.einsum("kj,ij->ik", spread[0], linear)
    assert np.allclose(np.einsum("kj,ij->ik", np.linalg.inv(shared[0]), one), mean[:, keep])


@pytest.mark.parametrize("numbers", [False, True])
def test_the_second_stage_follows_births_and_deaths(numbers):
    """As if its sums had been made of features in which the topics were others from the start."""
    rng = np.random.default_rng(3)
    zbar, y = rng.dirichlet(np.ones(3), 50), rng.normal(size=(50, 2))
    settings = growing_how(refit=True, loss=INSENSITIVE if numbers else HINGE)
    state = online_state.init(N_TERMS, 2, settings)._replace(
        gram=np.stack([zbar.T @ zbar] * (2 if numbers else 1)), tables=np.array([3.0, 9.0, 1.0, 4.0, 0.0]),
        refitted=y.T @ zbar,
    )  # fmt: skip
    keep = np.array(
        [True, False, True, True, False]
    )  # one dies, one is born, one that might have been is not
    gram, refitted = stream_growth.move_second_stage(state, keep, BY)
    stick = np.array([3.0, 1.0, 4.0]) / 8.0
    moved = np.column_stack([zbar[:, 0], zbar[:, 2], np.zeros(50)]) + np.outer(zbar[:, 1], stick)
    assert np.allclose(moved.sum(axis=1), 1.0)
    assert np.allclose(gram, moved.T @ moved)
    if numbers:
        assert np.allclose(refitted, y.T @ moved)
    else:
        assert np.array_equal(refitted[:, :2], state.refitted[:, [0, 2]])
        assert np.allclose(refitted[:, 2], (zbar @ state.refitted.T).mean(axis=0))
    same = stream_growth.move_second_stage(state, np.arange(5) < 3, BY)
    assert same[0] is state.gram
    assert same[1] is state.refitted


def test_room_for_newborn_topics_changes_nothing_known():
    settings = growing_how(variance=2.0)
    state = learn(settings)[-1]
    room, n = stream_growth.add_spare_topics(state, settings, BY), len(state.topic)
    assert len(room.topic) == n + SPARE
    assert np.array_equal(room.precision[:, :n, :n], state.precision)
    assert (room.precision[:, :n, n:] == 0).all()
    assert np.allclose(room.precision[:, n:, n:], np.eye(SPARE) / 2.0)
    level = state.mean @ (state.tables / state.tables.sum())
    assert np.allclose(room.mean[:, n:], level[:, None])
    assert np.allclose(room.linear[:, n:], room.mean[:, n:] / 2.0)
    back = stream_growth.marginal(room.precision, room.linear, np.arange(n + SPARE) < n)
    assert np.allclose(back[0], state.precision)
    assert np.allclose(back[1], state.linear)


def test_averaging_moves_by_its_dual_variables_and_newborn_topics_begin_at_the_level():
    settings = growing_how(gibbs=False, n_rounds=1, by=BY._replace(gamma=60.0), beta=1.0)
    first, second = learn(settings, n_batches=2)
    assert (
        np.abs(first.mean).max() <= settings.variance * 2 * 2.0 * 20
    )  # 0 <= tau <= 2c, 20 documents
    level = first.mean @ (first.tables / first.tables.sum())
    new = second.ids >= first.n_born
    reach = settings.variance * 2 * 2.0 * 20
    assert new.any()
    assert (np.abs(second.mean[:, new] - level[:, None]) <= reach).all()


def test_a_batch_without_tokens_leaves_the_topics():
    empty = Examples(
        np.zeros(4, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        np.ones((3, 2), np.int8),
        np.ones(3),
    )
    for settings in (growing_how(), growing_how(gibbs=False)):
        state = learn(settings, empty, n_batches=1)[0]
        assert len(state.topic) == 4
        assert np.isfinite(online_state.document_prior(state, settings)).all()
        full = learn(settings, n_batches=1)[0]
        with Workers(1) as workers:
            none = Examples(*empty[:3], np.ones((3, 3), np.int8), empty.costs)
            later = update(copy_state(full), none, settings, 7, workers.each)
        assert np.array_equal(later.ids, full.ids)
        assert np.array_equal(later.topic, full.topic)


def test_numbers_are_learned_from():
    for settings in (
        growing_how(loss=INSENSITIVE, width=0.01),
        growing_how(gibbs=False, loss=INSENSITIVE, width=0.01),
    ):
        state = learn(settings, documents(numbers=True))[-1]
        assert np.isfinite(state.mean).all()
        assert (np.abs(state.mean).sum(axis=1) > 0).all()


@long_chain
def test_one_round_over_everything_is_the_batch_posterior():
    """|B| = D, one round: Delta and tables of a topic from before are expectations over all partitions."""
    by, beta, c = TopicGrowth(1.4, 1.3, 30, 0.0), 0.5, 1.7
    settings = growing_how(
        by=by, beta=beta, width=1.2, n_rounds=1, n_sweeps=20_000, burn_in=100, idf=False, variance=1.6,
    )  # fmt: skip
    rng = np.random.default_rng(2)
    given = corpus((3, 2), [0, 0, 1, 1, 2], 3)
    examples = Examples(
        np.array([0, 2, 4]), np.array([0, 1, 1, 2]), np.array([2.0, 1.0, 1.0, 1.0]),
        np.array([[1], [-1]], np.int8), np.full(2, c),
    )  # fmt: skip
    raw = rng.gamma(1.0, size=(3, 1)).astype(np.float32)
    state = online_state.init(3, 1, settings._replace(alpha=np.ones(1)))._replace(
        raw=raw, topic=raw.sum(axis=0, dtype=float), tables=np.array([2.2]),
        precision=np.array([[[2.0]]]), linear=np.array([[0.8]]), mean=np.array([[0.4]]),
        told=5, yes=np.array([3.0]),
    )  # fmt: skip
    states = growing.partitions(5, 1)
    logs, counts = [], []
    for z in states:
        zbar = margin.zbar_of(z, given[2], given[0], max(z) + 2)
        mu, cov = np.full(zbar.shape[1], 0.4), np.eye(zbar.shape[1]) * 1.6
        cov[0, 0] = 0.5
        gap = 1.2 - np.array([1.0, -1.0]) * (zbar @ mu)
        b = c * np.sqrt(gap**2 + np.einsum("dk,kj,dj->d", zbar, cov, zbar))
        logs.append(
            growing.log_topics(z, given[0], by.alpha, by.gamma, [2.2])
            + growing.log_words(z, given[1], beta, 3, raw.astype(float) + beta)
            - (c * gap + b).sum()
        )
        counts.append(
            np.bincount([w for w, k in zip(given[1], z, strict=True) if k == 0], minlength=3)
        )
    expected = growing.law(logs) @ np.array(counts)
    with Workers(1) as workers:
        after = update(copy_state(state), examples, settings, 3, workers.each)
    assert np.allclose(after.raw[:, 0] - raw[:, 0], expected, atol=0.02)


# -- the chain of the batch model ----------------------------------------------------------------------


def chain_of(given, cost, y, beta=0.5):
    indptr, terms, rho, n_terms = given
    plain = (indptr, terms, rho, np.ones(1), beta, n_terms)
    return margin.chain(plain, ("hinge", cost, 1.2, y, 1.6))


def chain_start(chain, by, n_topics=2):
    rows = np.full((chain.n_terms, n_topics), 1.0 / chain.n_terms, np.float32)
    return med_hdp.init_chain(chain, (rows, np.ones(n_topics)), by, 5, margin.serial)


def chain_distance(given, n_sweeps):
    """Fixed (omega, kappa): a cost of zero leaves them alone. Weights and their level are drawn."""
    by, beta = TopicGrowth(1.4, 1.3, 30, 0.0), 0.5
    omega, kappa = np.array([2.9, 0.8]), np.array([2.5, -1.9])
    chain = chain_of(given, np.zeros((2, 1)), np.zeros((2, 1)))
    state = chain_start(chain, by)
    state.omega[:, 0], state.kappa[:, 0] = omega, kappa
    seen = np.empty((n_sweeps, len(given[1])), np.uint16)
    for number in range(n_sweeps):
        state = med_hdp.sweep_chain(state, chain, by, 5, margin.serial)
        if number % 512 == 0:  # what nobody needs here grows
            state = state._replace(course=np.zeros(0, np.int64))
        seen[number] = state.z
    rows, times = np.unique(seen, axis=0, return_counts=True)
    found = {}
    for row, t in zip(rows, times, strict=True):
        name = growing.named(row, 0)
        found[name] = found.get(name, 0.0) + t / n_sweeps
    states = growing.partitions(len(given[1]), 0)
    law = growing.law([
        growing.log_topics(z, given[0], by.alpha, by.gamma, [])
        + growing.log_words(z, given[1], beta, given[3], np.zeros((given[3], 0)))
        + growing.log_evidence(z, given, omega, kappa, 1.6)
        for z in states
    ])  # fmt: skip
    return distance(found, states, law)


@long_chain
def test_chain_with_weights_visits_the_partitions():
    assert chain_distance(FIVE, 12_000) < 0.035


@long_chain
@pytest.mark.slow
def test_chain_with_weights_visits_the_partitions_closely():
    assert chain_distance(FIVE, 100_000) < 0.01


def test_a_chain_keeps_its_books():
    rng = np.random.default_rng(0)
    given = corpus((6, 0, 9, 4), rng.integers(0, 5, 19), 5)
    y = rng.choice([-1.0, 1.0], (4, 3))
    chain, by = chain_of(given, np.full((4, 3), 1.5), y, 0.4), TopicGrowth(2.0, 3.0, 30, 0.0)
    state, numbers = chain_start(chain, by, 3), []
    for step in range(40):
        before = state.n_born
        state = med_hdp.sweep_chain(state, chain, by, 2, margin.serial)
        state = growing_columns.keep(state) if step >= 10 else state
        n = int((state.ids >= 0).sum())
        numbers.append(n)
        assert len(state.topic) == min(n + SPARE, 30)
        assert (state.topic[:n] > 0).all()
        assert (state.topic[n:] == 0).all()
        assert np.array_equal(np.bincount(state.z, minlength=len(state.topic)), state.topic)
        assert state.stick.sum() + state.rest == pytest.approx(1.0, rel=1e-12)
        assert (np.diff(state.ids[:n]) > 0).all()
        assert state.ids[:n].max() < state.n_born >= before
        for k in range(
            n
        ):  # of sweeps before its birth a topic has the level, and nothing of another topic
            unborn = state.draws[: state.n_draws - state.n_kept[k], :, k]
            assert (unborn == unborn[:1]).all()
    assert state.course.tolist() == numbers
    assert len(set(numbers)) > 2
    found, prior = growing_columns.sample_of(state, chain, by)
    assert found.counts.shape == (1, 5, numbers[-1]) == (1, 5, state.n_topics)
    assert 0 < prior.alpha.sum() < by.alpha
    assert found.draws.shape == (30, 1, 3, numbers[-1])
    assert np.isfinite(found.mean).all()


def test_one_sweep_of_the_stream_is_one_of_the_chain():
    """The same tokens, topics, sticks and keys: one kernel draws for both."""
    by = TopicGrowth(1.4, 1.3, 30, 0.0)
    chain = chain_of(SIX, np.zeros((2, 1)), np.zeros((2, 1)))
    state = chain_start(chain, by)
    z = state.z.copy()
    own = state.topic.astype(np.int64)
    roots = growth.roots_of(state.stick, state.rest, own, np.ones(len(own), bool), by)
    none = (np.zeros((3, len(own)), np.float32), np.zeros(len(own)))
    live = growth.make_live(chain.tokens, chain.ids, chain.rho, z, none, roots)
    labels = (state.omega, state.kappa, state.eta, np.empty((0, 0, 0), np.float32))
    state = med_hdp.sweep_chain(state, chain, by, 5, margin.serial)
    growth.sweep(live, labels, by, (0.5, 1.5), 5, 1)
    assert growing.named(z, 0) == growing.named(state.z, 0)
