"""Parts of a slice step: seeds, priors of the first slice and of later ones, starts, states, empty slices."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import TopicTracker
from bayou.inference.lda.documents import Pairs, pairs_of
from bayou.inference.tracking import evidence, prior
from bayou.inference.tracking import slice as parts
from bayou.run.shards import Workers

EACH = Workers(1).each
N_TERMS = 8
NO_FIXED = np.zeros((N_TERMS, 0), np.float32)
FIXED = np.array([[0.7, 0.3, 0, 0, 0, 0, 0, 0]], np.float32).T


def settings(**given):
    return TopicTracker(**{"n_topics": 3, "alpha": 0.2, "n_sweeps": 10, **given}).resolve()


def documents(seed=0, n_docs=20):
    """Documents in which the last two terms do not occur."""
    counts = np.random.default_rng(seed).poisson(0.9, (n_docs, N_TERMS)).astype(np.float32)
    counts[:, 6:] = 0
    pairs = pairs_of(csr_array(counts))
    return pairs, prior.slice_documents(pairs, N_TERMS)


def test_only_the_first_start_of_the_first_slice_has_the_seed_of_the_model():
    assert parts.slice_seed(5, 0) == 5
    others = {parts.slice_seed(5, step, start) for step in range(4) for start in range(3)}
    assert len(others) == 12
    assert all(0 <= seed < 2**32 for seed in others)
    assert parts.slice_seed(6, 1) != parts.slice_seed(5, 1) == parts.slice_seed(5, 1)


@pytest.mark.parametrize(("beta", "learns"), [(None, True), (0.3, False)])
def test_beta_is_learned_if_it_is_not_given(beta, learns):
    p = settings(beta=beta, inference="snapshot", burn_in=4)
    alpha = np.array([0.1, 0.5])
    how = parts.slice_settings(alpha, p)
    assert how == prior.SliceSettings(alpha, 10, 4, "snapshot", learns, False)
    _, here = documents()
    assert parts.first_prior(here, NO_FIXED, p).beta == (parts.FIRST_BETA if beta is None else beta)


def test_the_first_prior_is_that_of_lda():
    _, here = documents()
    known = parts.first_prior(here, NO_FIXED, settings(beta=0.3))
    np.testing.assert_allclose(known.rows, np.full((6, 3), 0.3))
    np.testing.assert_allclose(known.mass, 8 * 0.3, err_msg="terms that are not there count")
    assert known.gain.tolist() == [1, 1, 1]


def test_fixed_topics_are_the_first_columns_of_the_first_prior():
    _, here = documents()
    fixed = {"mine": FIXED[:, 0]}
    known = parts.first_prior(here, FIXED, settings(beta=0.3, fixed=fixed))
    np.testing.assert_allclose(known.rows[:, 0], FIXED[:6, 0])
    np.testing.assert_allclose(known.rows[:, 1:], 0.3)
    np.testing.assert_allclose(known.mass, [1.0, 2.4, 2.4, 2.4])
    assert known.gain.tolist() == [0, 1, 1, 1], "held exactly"
    soft = parts.first_prior(here, FIXED, settings(beta=0.3, fixed=fixed, fixed_strength=50.0))
    np.testing.assert_allclose(soft.rows[:, 0], 0.3 + 50 * FIXED[:6, 0], rtol=1e-6)
    np.testing.assert_allclose(soft.mass, [52.4, 2.4, 2.4, 2.4], rtol=1e-6)
    assert soft.gain.tolist() == [1, 1, 1, 1]


def test_the_first_slice_starts_from_noise_from_fixed_topics_or_from_moments():
    pairs, here = documents(n_docs=200)
    p = settings(beta=0.3)
    known = parts.first_prior(here, NO_FIXED, p)
    assert parts.first_start(pairs, here, known, NO_FIXED, p, 0) is None
    q = settings(beta=0.3, fixed={"mine": FIXED[:, 0]})
    known = parts.first_prior(here, FIXED, q)
    start = parts.first_start(pairs, here, known, FIXED, q, 0)
    np.testing.assert_allclose(start[:, 0], FIXED[:6, 0], rtol=1e-6)
    np.testing.assert_allclose(start[:, 1:], 1 / 8, rtol=1e-6)
    q = settings(beta=0.3, fixed={"mine": FIXED[:, 0]}, start="spectral")
    start = parts.first_start(pairs, here, known, FIXED, q, 0)
    assert start.shape == (6, 4)
    np.testing.assert_allclose(start[:, 0], FIXED[:6, 0])
    np.testing.assert_allclose(start.sum(axis=0), 1.0, rtol=1e-5)
    assert np.abs(start[:, 1] - start[:, 2]).sum() > 0.1


@pytest.mark.parametrize("inference", ["snapshot", "gibbs"])
def test_the_likeliest_of_several_starts_is_kept(inference):
    _, here = documents(n_docs=60)
    p = settings(beta=0.3, inference=inference, burn_in=2, n_starts=5)
    known = parts.first_prior(here, NO_FIXED, p)
    how = parts.slice_settings(p.alpha, p)
    alone = {seed: prior.infer(here, known, how, None, seed, EACH) for seed in range(11, 16)}
    order = sorted(alone, key=lambda seed: evidence.likelihood(*alone[seed], here, EACH))
    worst, *rest, best = order
    seeds = [worst, rest[0], best, *rest[1:]]  # neither first nor last, so that it must be chosen
    found, _ = parts.infer_first(here, known, None, p, seeds, EACH)
    np.testing.assert_array_equal(found.z, alone[best][0].z)
    one, _ = parts.infer_first(here, known, None, p, [worst], EACH)
    np.testing.assert_array_equal(one.z, alone[worst][0].z)


def test_alpha_is_learned_in_the_first_slice_if_it_is_not_given():
    _, here = documents(n_docs=60)
    for inference in ("fast", "snapshot"):
        for alpha, learns in ((None, True), (0.2, False)):
            p = settings(alpha=alpha, inference=inference, n_sweeps=10)
            known = parts.first_prior(here, NO_FIXED, p)
            found, _ = parts.infer_first(here, known, None, p, [3], EACH)
            assert len(set(found.alpha.tolist())) == 1
            assert (found.alpha[0] != p.alpha[0]) == learns


def found_topics(here, n_topics, seed=1):
    rng = np.random.default_rng(seed)
    counts = rng.gamma(1.0, 5.0, (len(here.terms), n_topics)).astype(np.float32)
    counts[:, -1] = 0.0  # a topic without tokens
    docs = np.zeros((here.pairs.n_docs, n_topics), np.float32)
    return prior.SliceTopics(counts, docs, np.zeros(0, np.uint16), np.full(n_topics, 0.4))


@pytest.mark.parametrize("strength", [None, 30.0])
def test_the_first_state_knows_as_much_as_its_tokens(strength):
    _, here = documents()
    p = settings(beta=0.3, fixed={"mine": FIXED[:, 0]}, fixed_strength=strength, window=2)
    found, known = found_topics(here, 4), parts.first_prior(here, FIXED, p)
    state = parts.first_state(found, known, here, FIXED, p)
    tokens = found.term_topic.sum(axis=0, dtype=np.float64)
    assert state.n_fixed == 1
    assert (state.n_ids, state.ids.tolist()) == (4, [0, 1, 2, 3])
    np.testing.assert_allclose(state.doubt, [0, 1 / tokens[1], 1 / tokens[2], 1.0], rtol=1e-6)
    np.testing.assert_allclose(state.tokens, tokens)
    np.testing.assert_allclose(state.memory[:, :1], FIXED)
    np.testing.assert_allclose(state.memory[:6, 1], found.term_topic[:, 1] / tokens[1], rtol=1e-5)
    np.testing.assert_allclose(state.memory[:, 3], 1 / 8, err_msg="its prior")
    np.testing.assert_array_equal(state.past, state.memory[None])
    assert state.near.tolist() == [-1] * 4
    assert state.beta == 0.3
    np.testing.assert_array_equal(state.alpha, found.alpha)
    wide = np.zeros((8, 4))
    wide[:6] = found.term_topic
    pull = np.zeros(4) if strength is None else np.array([strength, 0, 0, 0])
    before = np.hstack([FIXED, np.zeros((8, 3))])
    rows = (wide + 0.3 + pull * before) / (tokens + 2.4 + pull)
    if strength is None:
        rows[:, :1] = FIXED
    np.testing.assert_allclose(state.rows, rows, rtol=1e-5)
    alone = parts.first_state(found, known, here, FIXED, p._replace(window=None))
    assert alone.past.shape == (0, 8, 4)


def test_the_first_slice_is_recorded():
    pairs, here = documents()
    p = settings(beta=0.3)
    done = parts.first_slice(None, pairs, NO_FIXED, p, 4, EACH)
    assert (done.state.step, done.state.n_seen) == (1, 20)
    assert (done.judged, done.events, done.born) == (None, [], {})
    later = parts.first_slice(done.state._replace(step=2, n_seen=7), pairs, NO_FIXED, p, 4, EACH)
    assert (later.state.step, later.state.n_seen) == (3, 27), "after slices without tokens"
    assert not np.array_equal(later.doc_topic, done.doc_topic), "another slice, other draws"
    share = done.doc_topic.sum(axis=0) / done.doc_topic.sum()
    np.testing.assert_allclose(done.seen.share, share, rtol=1e-5)
    np.testing.assert_allclose(done.state.logit, np.log(share / (1 - share)), rtol=1e-4)
    np.testing.assert_allclose(done.state.usual[:6] * here.pairs.n_tokens, np.bincount(
        here.pairs.terms, here.pairs.counts), rtol=1e-5)  # fmt: skip
    np.testing.assert_allclose(done.state.spread[:6], np.bincount(here.pairs.terms) / 20)
    assert done.state.doc_doubt == pytest.approx(1 / 20)


def later_state(n_fixed=0, **given):
    _, here = documents()
    p = settings(beta=0.3, fixed={"mine": FIXED[:, 0]} if n_fixed else {}, **given)
    fixed = FIXED if n_fixed else NO_FIXED
    found, known = found_topics(here, 3 + n_fixed), parts.first_prior(here, fixed, p)
    state = parts.first_state(found, known, here, fixed, p)
    return state._replace(strength=25.0), p


def test_the_prior_of_a_later_slice_is_its_memory_and_flat_for_spare_topics():
    state, p = later_state(n_spare=2)
    _, here = documents(3)
    known, alpha = parts.memory_prior(state, here, p)
    np.testing.assert_allclose(known.rows[:, :3], 0.3 + 25 * state.memory[here.terms], rtol=1e-5)
    np.testing.assert_allclose(known.mass, [27.4] * 3 + [2.4] * 2, rtol=1e-5)
    np.testing.assert_allclose(known.rows[:, 3:], 0.3)
    np.testing.assert_allclose(alpha, [0.4, 0.4, 0.4, 0.1, 0.1], err_msg="0.1 at most")
    _, small = parts.memory_prior(state._replace(alpha=np.array([0.01, 0.03, 0.05])), here, p)
    np.testing.assert_allclose(small[3:], 0.03, err_msg="the mean of the others")


def test_a_later_slice_holds_its_fixed_topics():
    _, here = documents(3)
    state, p = later_state(n_fixed=1, n_spare=0)
    known, _ = parts.memory_prior(state, here, p)
    np.testing.assert_allclose(known.rows[:, 0], FIXED[here.terms, 0])
    assert known.gain.tolist() == [0, 1, 1, 1]
    state, p = later_state(n_fixed=1, n_spare=0, fixed_strength=60.0)
    known, _ = parts.memory_prior(state, here, p)
    np.testing.assert_allclose(known.mass, [62.4, 27.4, 27.4, 27.4], rtol=1e-5)


@pytest.mark.parametrize(
    ("n_fixed", "most", "n_spares"), [(0, 5, 2), (0, 4, 1), (0, 3, 0), (0, 2, 0), (1, 4, 1)]
)
def test_spare_topics_end_where_the_number_of_topics_does(n_fixed, most, n_spares):
    state, p = later_state(n_fixed, n_spare=2, max_topics=most)
    _, here = documents(3)
    known, alpha = parts.memory_prior(state, here, p)
    assert len(alpha) == known.rows.shape[1] == 3 + n_fixed + n_spares


def test_a_slice_without_tokens_only_counts():
    state, _ = later_state()
    state = state._replace(step=4, n_seen=30)
    done = parts.empty_slice(state, Pairs(np.zeros(3, np.int64), *Pairs.none()[1:]))
    assert (done.state.step, done.state.n_seen) == (5, 32)
    assert done.before is state
    for name in state._fields[2:]:
        assert getattr(done.state, name) is getattr(state, name)
    assert done.doc_topic.shape == (2, 3)
    assert np.isnan([done.seen.share, done.seen.low, done.seen.high]).all()
    assert done.seen.of(0).tolist() == [0.0] * 8
    assert done.judged is None
