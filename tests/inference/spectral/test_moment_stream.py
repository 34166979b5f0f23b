"""Moments along a stream: weights in the order of time, waiting documents, generations, what is kept."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou import SpectralLeader
from bayou.inference.lda.documents import pairs_of
from bayou.inference.spectral import moment_stream, moments, reservoir
from bayou.run.shards import Workers

EACH = Workers(1).each
RNG = np.random.default_rng(2)
COUNTS = RNG.poisson(1.5, (400, 6))
COUNTS[5] = [1, 1, 0, 0, 0, 0]  # too short for a third moment
COUNTS[9] = [60, 1, 0, 0, 0, 0]  # mostly one term
LENGTHS = COUNTS.sum(axis=1)
FIT = (LENGTHS >= 3) & (np.arange(400) != 9)


def pairs(lo=0, hi=400):
    return pairs_of(csr_array(COUNTS[lo:hi].astype(np.float32)))


def settings(**given):
    return SpectralLeader(**{"n_topics": 2, "burn_in": 20, "n_polish": 0, **given}).resolve()


def learn(p, n=400, order=None):
    docs = pairs(0, n) if order is None else pairs(0, n).take(order)
    return moment_stream.update(moment_stream.init(6, p), docs, p, 3, EACH)


def direct_sums(basis, lo, hi, factor):
    """Sums over documents lo .. hi with an explicit weight: tokens x factor of the document's number."""
    t = np.arange(lo, hi)
    weights = np.where(FIT[lo:hi], LENGTHS[lo:hi] * factor(t), 0.0)
    return moments.add(moments.empty(basis), pairs(lo, hi), weights)


def assert_same_sums(got, expected, factor=1.0):
    for name in ("seen", "cube", "once", "weight"):
        wanted = factor * np.asarray(getattr(expected, name))
        scale = np.abs(wanted).max()
        np.testing.assert_allclose(getattr(got, name), wanted, rtol=1e-9, atol=1e-10 * scale)


def test_a_later_document_counts_twice_as_much_after_a_half_life():
    p = settings(half_life=10)
    stream = moment_stream.begin_generation(640, 6, p)._replace(origin=640)
    got = moment_stream.weights_of(stream, pairs(0, 30), 660, p)
    expected = LENGTHS[:30] * 2.0 ** ((20 + np.arange(30)) / 10)
    np.testing.assert_allclose(got[FIT[:30]], expected[FIT[:30]])
    assert got[5] <= 0
    assert got[9] < 0, "documents that are left out stay left out"
    plain = moment_stream.weights_of(stream, pairs(0, 30), 660, settings())
    np.testing.assert_array_equal(plain[FIT[:30]], LENGTHS[:30][FIT[:30]])
    by_documents = moment_stream.weights_of(
        stream, pairs(0, 30), 660, settings(half_life=10, weighting="documents")
    )
    np.testing.assert_allclose(by_documents[0], 4.0)


@pytest.mark.parametrize("half_life", [3, 40])
def test_sums_are_those_of_the_documents_in_the_order_of_time(half_life):
    """With a half-life of 3 the sums are rescaled, after 192 documents each time."""
    p = settings(half_life=half_life, generation=10_000)
    state = learn(p)
    now = state.now
    assert now.since == 0
    assert now.origin == (384 if half_life == 3 else 0)
    expected = direct_sums(now.sums.basis, 0, 400, lambda t: 2.0 ** ((t - now.origin) / half_life))
    assert_same_sums(now.sums, expected)
    back = learn(p, order=np.arange(400)[::-1])
    reverse = direct_sums(back.now.sums.basis, 0, 400, lambda t: 2.0 ** ((399 - t) / half_life))
    assert_same_sums(back.now.sums, reverse, 2.0 ** (-now.origin / half_life))
    one, other = (m.sums.once[:, 2] / m.sums.weight for m in (now, back.now))
    assert np.abs(one - other).max() > 1e-3


def test_without_a_half_life_all_documents_count_the_same():
    state = learn(settings())
    expected = direct_sums(state.now.sums.basis, 0, 400, np.ones_like)
    assert_same_sums(state.now.sums, expected)
    np.testing.assert_array_equal(state.known, COUNTS.sum(axis=0))
    assert state.n_seen == 400
    assert state.next is None


def test_waiting_documents_fade_in_the_order_of_time_too():
    p = settings(half_life=5, burn_in=50)
    stream = learn(p, 30).now
    assert stream.sums.basis.shape == (6, 0)
    assert stream.waiting.pairs.n_docs == 30
    sums = moment_stream.sums_of(stream, p, 3)
    expected = direct_sums(sums.basis, 0, 30, lambda t: 2.0 ** ((t - 30) / 5))
    assert_same_sums(sums, expected)
    steady = moment_stream.sums_of(stream, settings(burn_in=50), 3)
    assert_same_sums(steady, direct_sums(steady.basis, 0, 30, np.ones_like))


@pytest.mark.parametrize("n", [19, 20, 21])
def test_the_basis_is_chosen_when_the_burn_in_is_full(n):
    stream = learn(settings(), n).now
    assert stream.sums.basis.shape == (6, 0 if n < 20 else 4), "twice the number of topics"
    assert stream.waiting.pairs.n_docs == (n if n < 20 else 0)
    assert stream.sums.n_docs == (0 if n < 20 else int(FIT[:n].sum()))


def test_history_keeps_all_documents_and_a_reservoir_some():
    state = learn(settings(mode="history"), 60)
    assert state.now.waiting.pairs.n_docs == 60
    assert state.pool.pairs.n_docs == 0
    state = learn(settings(mode="reservoir", reservoir=25), 60)
    assert (state.now.waiting.pairs.n_docs, state.pool.pairs.n_docs) == (0, 25)
    solved = moment_stream.generation_to_solve(state, settings(mode="reservoir"))
    assert solved.waiting is state.pool
    assert moment_stream.generation_to_solve(state, settings()) is state.now


@pytest.mark.parametrize(("reservoir_size", "kept"), [(1000, 14), (5, 5)])
def test_em_sees_the_latest_documents_of_a_fading_stream(reservoir_size, kept):
    state = learn(settings(half_life=7, reservoir=reservoir_size, n_polish=2), 90)
    last = reservoir.slice_pairs(pairs(0, 90), 90 - kept, 90)
    for got, expected in zip(state.pool.pairs, last, strict=True):
        np.testing.assert_array_equal(got, expected)
    assert learn(settings(half_life=7, n_polish=0), 90).pool.pairs.n_docs == 0
    assert learn(settings(n_polish=2, reservoir=30), 90).pool.pairs.n_docs == 30, "a sample"


def test_generations_replace_each_other():
    """A generation begins every 50 documents and is solved when the next one begins."""
    p = settings(half_life=10, generation=50)
    for n, now, later in (
        (50, 0, None),
        (51, 0, 50),
        (100, 0, 50),
        (101, 50, 100),
        (400, 300, 350),
    ):
        state = learn(p, n)
        assert state.now.since == now
        assert (None if state.next is None else state.next.since) == later
    assert state.now.sums.n_docs == FIT[300:400].sum()
    assert state.next.sums.n_docs == FIT[350:400].sum()
    origin = state.now.origin
    expected = direct_sums(state.now.sums.basis, 300, 400, lambda t: 2.0 ** ((t - origin) / 10))
    assert_same_sums(state.now.sums, expected)


@pytest.mark.parametrize("first", [1, 30, 50, 77])
def test_generations_begin_at_the_same_documents_however_a_stream_is_cut(first):
    p = settings(half_life=10, generation=50)
    state = moment_stream.update(moment_stream.init(6, p), pairs(0, first), p, 3, EACH)
    state = moment_stream.update(state, pairs(first, 400), p, 3, EACH)
    whole = learn(p)
    assert (state.now.since, state.next.since) == (whole.now.since, whole.next.since) == (300, 350)
    np.testing.assert_array_equal(state.now.sums.seen, whole.now.sums.seen)
    np.testing.assert_array_equal(state.next.sums.cube, whole.next.sums.cube)


def test_a_generation_without_a_basis_does_not_replace_another():
    p = settings(half_life=10, generation=50)
    state = learn(p, 50)
    empty = pairs_of(csr_array(np.zeros((60, 6), np.float32)))
    state = moment_stream.update(state, empty, p, 3, EACH)
    assert state.now.since == 0, "the documents from 50 on have no moments"
    assert state.next.since == 100
    assert state.n_seen == 110


def test_the_origin_is_a_multiple_of_64_half_lives():
    for since, origin in ((0, 0), (639, 0), (640, 640), (1300, 1280)):
        stream = moment_stream.begin_generation(since, 6, settings(half_life=10))
        assert (stream.since, stream.origin) == (since, origin)
    assert moment_stream.begin_generation(77, 6, settings()).origin == 64


def test_a_burn_in_without_moments_is_passed_over():
    """The basis is chosen from the first 20 documents after documents that are too short."""
    p = settings()
    short = csr_array(np.eye(6, dtype=np.float32)[np.arange(20) % 6])
    state = moment_stream.update(moment_stream.init(6, p), pairs_of(short), p, 3, EACH)
    assert state.now.sums.basis.shape[1] == 0
    state = moment_stream.update(state, pairs(0, 30), p, 3, EACH)
    assert state.now.since == 20
    assert state.now.sums.basis.shape[1] == 4
    assert state.now.sums.n_docs == FIT[:30].sum()
    assert state.now.sums.n_short >= 20


def test_fit_chooses_one_basis_from_all_documents():
    for given, rank in (({}, 4), ({"half_life": 10}, 0), ({"mode": "history"}, 0)):
        p = settings(**given)
        state = moment_stream.choose_basis(moment_stream.init(6, p), pairs(), p, 3)
        assert state.now.sums.basis.shape == (6, rank)
    p = settings()
    state = moment_stream.choose_basis(moment_stream.init(6, p), pairs(), p, 3)
    some = pairs().take(moment_stream.solve.sample_of(400, 80, 3))
    weights = moments.document_weights(some, True, 0.4)
    expected = moments.main_directions(some, weights, 6, 4, 3)
    np.testing.assert_allclose(state.now.sums.basis, expected, err_msg="four times the burn-in")


def test_topics_are_smoothed_by_the_tokens_they_have():
    state = learn(settings())
    rows = RNG.dirichlet(np.ones(6), 2).T
    found = moment_stream.solve.Solution(
        np.array([0.7, 0.3]), rows, moment_stream.solve.nothing(state.now.sums, 2).diagnosis
    )
    known = found._replace(diagnosis=found.diagnosis._replace(rank=2))
    total = state.known.sum()
    unigram = (state.known + 0.01) / (total + 0.06)
    for smoothing, pseudo in ((None, 6.0), (40.0, 40.0)):
        p = settings(smoothing=smoothing)
        got, base, used = moment_stream.smooth(state, known, p)
        tokens = np.array([0.7, 0.3]) * total
        expected = (rows * tokens + pseudo * unigram[:, None]) / (tokens + pseudo)
        np.testing.assert_allclose(got, expected)
        np.testing.assert_allclose(base, unigram)
        assert used == pseudo
        bare, _, _ = moment_stream.smooth(state, found, p)
        np.testing.assert_allclose(bare, np.column_stack([unigram, unigram]), err_msg="rank 0")
