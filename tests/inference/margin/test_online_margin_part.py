"""A mini-batch of online MedLDA: what is conserved, and the mean field by enumeration."""

import numpy as np
import pytest
from tests.reference.online_margin import Enumerated

from bayou.api.streaming import copy_state
from bayou.data import schema
from bayou.inference.margin import online, online_state, online_weights, rounds
from bayou.inference.margin.examples import Examples
from bayou.inference.margin.loss import HINGE, INSENSITIVE
from bayou.inference.margin.online_state import OnlineMarginSettings
from bayou.kernels.margin import response
from bayou.models import (
    online_med_hdp,
    online_med_lda,
    online_med_lda_regressor,
)
from bayou.run.shards import Workers

N_TERMS, N_TOPICS = 12, 4


def how(gibbs=True, **changes):
    plain = {
        "gibbs": gibbs, "loss": HINGE, "width": 16.0, "variance": 1.0 if gibbs else 1e-2,
        "floor": 0.0, "shared": False, "positive": 1.0, "alpha": np.full(N_TOPICS, 0.3), "beta": 0.1,
        "n_rounds": 2, "n_sweeps": 3, "burn_in": 1, "ghosts": 1.0, "decay": 1.0, "tf": "none",
        "idf": True,
    }  # fmt: skip
    return OnlineMarginSettings(**{**plain, **changes})


def documents(n_docs=20, n_tasks=3, seed=0, numbers=False):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.6, (n_docs, N_TERMS))
    counts[3] = 0  # an empty document is legal
    docs, terms = np.nonzero(counts)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(docs, minlength=n_docs))])
    y = (
        rng.normal(size=(n_docs, n_tasks))
        if numbers
        else rng.choice([-1, 1], (n_docs, n_tasks)).astype(np.int8)
    )
    if numbers:
        y[5] = np.nan
    else:
        y[5] = 0
    return Examples(indptr, terms, counts[docs, terms].astype(float), y, np.full(n_docs, 2.0))


def update(state, examples, settings, seed, each):
    """One mini-batch by the model that has such settings."""
    fixed, growing = online_med_lda, online_med_hdp
    if not settings.loss.classifies:
        fixed = online_med_lda_regressor
    model = fixed if settings.growth is None else growing
    return model.update(state, examples, settings, seed, each)


def is_sound(state, examples, settings):
    """Whether a file with these arrays could be read."""
    dims = {"terms": len(state.raw)}
    schema.check(state, dims)
    schema.check(examples, dims)
    now = (
        settings if settings.growth is None else settings._replace(alpha=np.ones_like(state.topic))
    )
    online_state.check_arrays(state, examples, now)
    return True


def learn(settings, examples=None, n_batches=3):
    examples = documents() if examples is None else examples
    with Workers(1) as workers:
        state = online_state.init(N_TERMS, examples.y.shape[1], settings)
        for _ in range(n_batches):
            state = update(state, examples, settings, 7, workers.each)
    return state


EVERY = [
    how(),
    how(floor=300.0, shared=True),
    how(floor=20.0),
    how(gibbs=False),
    how(ghosts=3.0),
    how(gibbs=False, ghosts=2.5),
]


@pytest.mark.parametrize("settings", EVERY, ids=lambda h: f"{h.gibbs}-{h.floor}-{h.ghosts}")
def test_mass_of_the_topics_is_that_of_the_tokens(settings):
    examples = documents()
    state = learn(settings, examples)
    tokens = 3 * settings.ghosts * examples.data.sum()
    assert state.topic.sum() == pytest.approx(tokens, rel=1e-12)
    assert np.allclose(state.scale * state.raw.sum(axis=0, dtype=float), state.topic, rtol=1e-5)
    assert (state.raw >= 0).all()
    assert state.n_seen == 60
    assert state.mass == 60.0
    assert np.array_equal(state.seen_in, 3.0 * np.bincount(examples.indices, minlength=N_TERMS))
    assert is_sound(state, examples, settings)


@pytest.mark.parametrize("ghosts", [1.0, 2.0])
def test_averaging_moves_by_its_dual_variables(ghosts):
    """0 <= tau <= 2c, and mu - mu_t = sigma^2 sum tau y zhat."""
    settings, rng = how(gibbs=False), np.random.default_rng(1)
    zhat, y = rng.dirichlet(np.ones(N_TOPICS), 9), rng.choice([-1.0, 1.0], (9, 3))
    before, cost = rng.normal(size=(3, N_TOPICS)), np.full((9, 3), 2.0 * ghosts)
    with Workers(1) as workers:
        mean, duals = online_weights.solve_duals(before, zhat, y, cost, settings, workers.each)
    tau = duals * y
    assert (tau >= 0).all()
    assert (tau <= 2 * cost).all()
    assert (tau > 0).any()
    assert np.allclose(mean - before, settings.variance * duals.T @ zhat, atol=1e-12)


def test_precisions_grow_and_stay_positive_definite():
    before = None
    for n in (1, 2, 3):
        state = learn(how(), n_batches=n)
        assert np.linalg.eigvalsh(state.precision).min() >= 1.0 - 1e-9
        assert np.allclose(
            np.einsum("ikj,ij->ik", state.precision, state.mean), state.linear, rtol=1e-6, atol=1e-6
        )
        if before is not None:
            assert np.linalg.eigvalsh(state.precision - before).min() > -1e-9
        before = state.precision


def test_one_precision_serves_all_tasks_when_the_floor_is_out_of_reach():
    examples = documents()
    one, each = (learn(how(floor=300.0, shared=s), examples) for s in (True, False))
    assert one.precision.shape == (1, N_TOPICS, N_TOPICS)
    assert np.allclose(each.precision, np.repeat(one.precision, 3, axis=0))
    assert np.allclose(one.mean, each.mean)
    assert np.array_equal(one.raw, each.raw)


def test_shared_weights_are_a_ridge_regression():
    """omega = c^2 / floor and a target of y (margin + floor / c): the normal equations of the kept zbar."""
    settings = how(floor=300.0, shared=True, n_sweeps=1, burn_in=0, n_rounds=1)
    state = learn(settings, n_batches=1)
    c, target = 2.0, 16.0 + 300.0 / 2.0
    gram = (state.precision[0] - np.eye(N_TOPICS)) * 300.0 / c**2
    assert np.allclose(gram, gram.T)
    # zbar of a document sums to one, so the sums of gram and of linear count documents and labels
    known = np.flatnonzero(np.diff(documents().indptr) > 0)
    known = known[known != 5]
    assert gram.sum() == pytest.approx(len(known), rel=1e-5)
    pull = c**2 / 300.0 * target * documents().y[known].astype(float).sum(axis=0)
    assert np.allclose(state.linear.sum(axis=1), pull, rtol=1e-5, atol=1e-5)


def test_tasks_without_a_yes_have_no_say_in_the_topics():
    """So that a class may be announced late: with or without it, the others learn the same."""
    examples = documents()
    never = examples.y.copy()
    never = np.column_stack([never, np.where(never[:, 0] == 0, 0, -1).astype(np.int8)])
    for settings in (how(), how(gibbs=False), how(floor=300.0, shared=True)):
        with_it = learn(settings, examples._replace(y=never))
        without = learn(settings, examples)
        assert np.array_equal(with_it.raw, without.raw)
        assert np.array_equal(with_it.mean[:3], without.mean)


def test_lambda_begins_at_one():
    """The topics of the first sweep are those under omega = c^2, kappa = c y (1 + c margin)."""
    settings = how(n_rounds=1, n_sweeps=1, burn_in=0)
    seen = {}
    start_rows = response.start_rows

    def watched(omega, kappa, *rest):
        start_rows(omega, kappa, *rest)
        seen["omega"], seen["kappa"] = omega.copy(), kappa.copy()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rounds.response, "start_rows", watched)
        learn(settings, n_batches=1)
    y = documents().y
    assert np.array_equal(seen["omega"], np.where(y == 0, 0.0, 4.0))
    assert np.allclose(seen["kappa"], 2.0 * y * (1 + 2.0 * 16.0))


def test_decay_scales_what_was_known_and_leaves_the_prior():
    settings = how(variance=2.0)
    state = learn(settings)
    with Workers(1) as workers:
        less = online.fade(state, 0.25, settings, workers.each)
    assert less.scale * 1.0 == 0.25
    assert np.allclose(less.topic, 0.25 * state.topic)
    prior = np.eye(N_TOPICS) / 2.0
    assert np.allclose(less.precision - prior, 0.25 * (state.precision - prior))
    assert np.allclose(less.linear, 0.25 * state.linear)
    assert np.allclose(np.einsum("ikj,ij->ik", less.precision, less.mean), less.linear)
    assert less.mass == 15.0


def test_a_long_stream_with_decay_has_the_memory_it_says():
    settings = how(decay=0.9, gibbs=False)
    state = learn(settings, n_batches=40)
    assert state.n_seen == 800
    # batches of 20 fade as one: 20 / (1 - 0.9^20) documents right after a batch
    assert state.mass == pytest.approx(20.0 / (1.0 - 0.9**20), rel=1e-6)
    assert state.scale > 1e-6
    assert np.allclose(state.scale * state.raw.sum(axis=0, dtype=float), state.topic, rtol=1e-4)


def test_moments_of_targets_do_not_depend_on_batches():
    parts = [documents(numbers=True, seed=s) for s in (0, 1, 2)]
    moments = np.zeros((3, 3))
    for part in parts:
        moments = online.add_moments(moments, part)
    y = np.concatenate([part.y for part in parts])
    assert np.allclose(moments[1], np.nanmean(y, axis=0))
    assert np.allclose(moments[2] / moments[0], np.nanvar(y, axis=0))


def test_numbers_are_learned_from():
    for settings in (
        how(loss=INSENSITIVE, width=0.01),
        how(gibbs=False, loss=INSENSITIVE, width=0.01),
    ):
        state = learn(settings, documents(numbers=True))
        assert np.isfinite(state.mean).all()
        assert (np.abs(state.mean).sum(axis=1) > 0).all()


# -- mean field by enumeration -------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_gibbs_mean_field_never_rises(seed):
    rng = np.random.default_rng(seed)
    docs, y = [[0, 2, 2], [1]], [[1, -1], [-1, -1]]
    delta = rng.gamma(1.0, size=(3, 2)) + 0.3
    root = rng.normal(size=(2, 2, 2))
    precision = np.eye(2) + root @ root.transpose(0, 2, 1)
    field = Enumerated(
        docs, y, np.array([0.4, 0.7]), delta, precision, rng.normal(size=(2, 2)), 1.3, 2.0
    )
    now = field.objective()
    for _ in range(6):
        for step in (field.step_topics, field.step_weights, field.step_phi):
            step()
            after = field.objective()
            assert after <= now + 1e-10
            now = after


def test_many_sweeps_come_to_the_enumerated_update():
    """Topics sampled under fixed q(w), q(phi): P, b and Delta are the expectations over all assignments."""
    n_topics, alpha, beta = 2, np.array([0.5, 0.8]), 0.4
    settings = how(
        alpha=alpha, beta=beta, width=2.0, n_rounds=1, n_sweeps=30_000, burn_in=200, idf=False
    )
    docs, y = [[0, 2, 2], [1]], np.array([[1], [-1]], np.int8)
    examples = Examples(
        np.array([0, 2, 3]), np.array([0, 2, 1]), np.array([1.0, 2.0, 1.0]), y, np.full(2, 1.3)
    )
    rng = np.random.default_rng(0)
    state = online_state.init(3, 1, settings)._replace(
        raw=rng.gamma(1.0, size=(3, n_topics)).astype(np.float32),
        precision=np.array([[[2.0, 0.5], [0.5, 1.0]]]), linear=np.array([[1.0, -2.0]]),
        yes=np.ones(1),
    )  # fmt: skip
    mean = np.linalg.solve(state.precision[0], state.linear[0])[None]
    state = state._replace(topic=state.raw.sum(axis=0, dtype=float), mean=mean)
    delta = state.raw.astype(float) + beta
    field = Enumerated(docs, y.astype(float), alpha, delta, state.precision, state.linear, 1.3, 2.0)
    field.step_topics()
    field.step_weights()
    field.step_phi()
    with Workers(1) as workers:
        after = update(copy_state(state), examples, settings, 3, workers.each)
    assert np.allclose(after.raw + beta, field.delta, atol=0.03)
    assert np.allclose(after.precision, field.p, rtol=0.03, atol=0.03)
    assert np.allclose(after.linear, field.b, rtol=0.03, atol=0.03)
