"""The chain under words and labels: what it visits, what it keeps, and on what it does not depend."""

import numpy as np
import pytest
from tests.reference import lda, margin, margin_cases

from bayou.inference.lda.documents import Tokens
from bayou.inference.margin import gibbs, setup
from bayou.models.med_lda import sweep_chain
from bayou.run.shards import Workers
from bayou.testing.cases import always_threads

KINDS = [(light, exact) for light in (False, True) for exact in (False, True)]
each_kind = pytest.mark.parametrize(("light", "exact"), KINDS)
TOY = (
    np.array([0, 3, 6]), np.array([0, 0, 1, 1, 2, 0]), np.full(6, 1 / 3), np.array([0.6, 0.6]), 0.5, 3,
)  # fmt: skip
TOY_TASKS = {
    "hinge": ("hinge", np.array([[0.7], [1.2]]), 1.5, np.array([[1.0], [-1.0]]), 1.3),
    "insensitive": ("insensitive", np.array([[0.7], [1.2]]), 0.2, np.array([[0.9], [-1.1]]), 1.3),
    "logistic": ("logistic", np.array([[1.0], [2.0]]), 0.0, np.array([[1.0], [-1.0]]), 4.0),
    "smooth-hinge": ("smooth-hinge", np.array([[0.7], [1.2]]), 1.5, np.array([[1.0], [-1.0]]), 1.3),
}


def begin(corpus, task, seed=1, **kind):
    chain = margin.chain(corpus, task, **kind)
    return chain, gibbs.start(chain, seed, margin.serial)


def visited(corpus, task, light, n_sweeps, seed=1, **kind):
    chain, state = begin(corpus, task, light=light, **kind)
    seen = np.empty((n_sweeps, len(state.z)), np.uint16)
    for sweep in range(n_sweeps):
        sweep_chain(state, chain, seed, sweep + 1, margin.serial)
        seen[sweep] = state.z
    return seen


def folded(places, n_tokens):
    """Both namings of two topics are one state: a chain swaps them only by turning its weights round."""
    return np.minimum(places, 2**n_tokens - 1 - places)


def distance_to_enumeration(loss, light, n_sweeps):
    return distance_to_law(TOY, TOY_TASKS[loss], light, n_sweeps)


def distance_to_law(corpus, task, light, n_sweeps, **kind):
    states, law = margin.posterior(corpus, task)
    n = len(states[0])
    place = folded(lda.place_of(np.array(states), 2), n)
    wanted = np.bincount(place, law, minlength=2**n)
    seen = visited(corpus, task, light, n_sweeps, **kind)
    return lda.distance(folded(lda.place_of(seen, 2), n), wanted)


SINGLE = (  # documents of one token
    np.arange(5), np.array([0, 0, 0, 1]), np.ones(4), np.array([0.5, 0.5]), 0.05, 2,
)  # fmt: skip
WEAK = (
    "hinge",
    np.array([[0.1], [0.2], [0.1], [0.15]]),
    1.0,
    np.array([[1.0], [-1], [1], [-1]]),
    1.0,
)


@pytest.mark.parametrize("light", [False, True], ids=["gibbs", "light"])
@pytest.mark.parametrize("n_proposals", [1, 2])
def test_the_default_chain_visits_the_posterior_where_a_block_is_one_token(light, n_proposals):
    """Counts that stand still during a block are the exact ones here; labels are weak, so words decide."""
    steps = setup.LightSteps(n_proposals=n_proposals)
    found = distance_to_law(SINGLE, WEAK, light, 30_000, exact=False, n_blocks=4, steps=steps)
    print(f"total variation {found:.4f}")
    assert found < 0.01


@pytest.mark.parametrize("light", [False, True], ids=["gibbs", "light"])
@pytest.mark.parametrize("loss", margin.LOSSES)
def test_the_chain_visits_the_posterior(loss, light):
    found = distance_to_enumeration(loss, light, 6000)
    print(f"total variation {found:.4f}")
    assert found < 0.06


@pytest.mark.slow
@pytest.mark.parametrize("light", [False, True], ids=["gibbs", "light"])
@pytest.mark.parametrize("loss", margin.LOSSES)
def test_a_long_chain_visits_the_posterior(loss, light):
    found = distance_to_enumeration(loss, light, 300_000)
    print(f"total variation {found:.4f}")
    assert found < 0.012


def case(n_docs=30, n_tasks=3, n_topics=5, seed=2):
    lengths = np.random.default_rng(seed).integers(0, 20, n_docs)
    corpus, _ = margin_cases.corpus(seed, n_topics, lengths, 25)
    task, _ = margin_cases.task(seed, "hinge", n_docs, n_tasks)
    task[1][3] = 0.0  # a document of which nothing is known
    return corpus, task


@each_kind
def test_counts_stay_consistent(light, exact):
    corpus, task = case()
    chain, state = begin(corpus, task, light=light, exact=exact, n_blocks=4)
    for step in range(1, 5):
        sweep_chain(state, chain, 3, step, margin.serial)
        _, n_vk, n_k = lda.counts(state.z, corpus[0], corpus[1], 5, 25)
        np.testing.assert_array_equal(state.counts, n_vk)
        np.testing.assert_array_equal(state.topic, n_k)
        assert state.topic.sum() == len(state.z)
        assert np.isfinite(state.eta).all()
        assert (state.omega[3] == 0).all()
        assert (state.kappa[3] == 0).all()
        assert (state.omega[[0, 1, 2]] > 0).all()


@each_kind
@pytest.mark.parametrize("n_threads", [2, 4])
def test_threads_change_nothing(light, exact, n_threads):
    corpus, task = case()
    ends = []
    for threads in (1, n_threads):
        chain, state = begin(corpus, task, light=light, exact=exact, n_blocks=4)
        with always_threads(), Workers(threads) as workers:
            for step in range(1, 4):
                sweep_chain(state, chain, 3, step, workers.each)
        ends.append([np.asarray(x).tobytes() for x in state])
    assert ends[0] == ends[1]


def test_blocks_of_single_tokens_are_exact():
    """A block of one document of one token: counts at rest are live counts, draw for draw."""
    corpus, _ = margin_cases.corpus(4, 4, [1] * 10, 3)
    task, _ = margin_cases.task(4, "hinge", 10, 2)
    ends = []
    for exact in (True, False):
        chain, state = begin(corpus, task, exact=exact, n_blocks=10)
        for step in range(1, 6):
            sweep_chain(state, chain, 3, step, margin.serial)
        ends.append(state)
    np.testing.assert_array_equal(ends[0].z, ends[1].z)
    np.testing.assert_array_equal(ends[0].eta, ends[1].eta)


@pytest.mark.parametrize("loss", ["hinge", "smooth-hinge"])
def test_a_power_of_two_scales_the_chain_exactly(loss):
    """(c, l, s) and (c l, 1, s / l**2) with l = 4: weights a quarter, topics the same, draw for draw."""
    corpus, (_, cost, _, y, variance) = case()
    ends = []
    for task in ((loss, cost, 4.0, y, variance), (loss, cost * 4.0, 1.0, y, variance / 16.0)):
        chain, state = begin(corpus, task)
        for step in range(1, 4):
            sweep_chain(state, chain, 3, step, margin.serial)
        ends.append(state)
    np.testing.assert_array_equal(ends[0].z, ends[1].z)
    np.testing.assert_allclose(ends[0].eta / 4.0, ends[1].eta, rtol=1e-4, atol=1e-6)


def test_no_labels_leave_lda():
    """Costs of zero: topics of the exact sampler are those of LDA's kernel with the same keys."""
    from bayou.kernels.lda.sweep import gibbs_sweep

    corpus, (loss, cost, width, y, variance) = case()
    chain, state = begin(corpus, (loss, cost * 0, width, y, variance))
    z, n_vk, n_k = state.z.copy(), state.counts.copy(), state.topic.copy()
    for sweep in range(1, 4):
        sweep_chain(state, chain, 3, sweep, margin.serial)
        gibbs_sweep(z, tuple(chain.tokens), n_vk, n_k, *chain.prior, 3, sweep)
        np.testing.assert_array_equal(state.z, z)


def test_order_is_a_permutation_within_and_of_documents():
    corpus, _ = margin_cases.corpus(6, 3, [4, 0, 7, 1, 12], 9)
    tokens = Tokens(corpus[0], corpus[1])
    found, order = setup.order_tokens(tokens, 0)
    assert sorted(order) == list(range(5))
    for at, d in enumerate(order):
        mine = found.terms[found.indptr[at] : found.indptr[at + 1]]
        theirs = corpus[1][corpus[0][d] : corpus[0][d + 1]]
        assert sorted(mine) == sorted(theirs)


def test_the_light_sampler_is_for_many_topics():
    assert not setup.is_light(40, 20, 100.0)
    assert setup.is_light(400, 20, 100.0)
