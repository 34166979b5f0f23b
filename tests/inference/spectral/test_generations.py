"""Generations of moments: rescaling the sums of a live generation, or replacing it, loses nothing."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou.inference.lda.documents import pairs_of
from bayou.inference.spectral import moment_stream, moments
from bayou.inference.spectral.reservoir import slice_pairs
from bayou.inference.spectral.settings import MomentSettings, complete

V, HALF, BURN_IN = 6, 2, 10
SPAN = moment_stream._HALVINGS * HALF  # documents between two rescalings


def settings(generation=10**6):
    return complete(MomentSettings(
        n_topics=2, mode="basis", weighting="documents", decomposition="power", smoothing=None, beta=0.1,
        burn_in=BURN_IN, reservoir=10, half_life=HALF, generation=generation, max_share=None, n_polish=0,
        alpha0=0.0,
    ))  # fmt: skip


@pytest.fixture(scope="module")
def pairs():
    counts = np.random.default_rng(0).poisson(1.5, (2 * SPAN + 50, V)).astype(np.float32)
    return pairs_of(csr_array(counts + np.eye(V, dtype=np.float32)[np.arange(len(counts)) % V] * 3))


def each(work, ends, cost):
    work(0, len(ends) - 1)


def learn(pairs, p, cuts=()):
    state, lo = moment_stream.init(V, p), 0
    for hi in (*cuts, pairs.n_docs):
        state = moment_stream.update(state, slice_pairs(pairs, lo, hi), p, 7, each)
        lo = hi
    return state


def weighted(pairs, basis, first, origin):
    """Sums of the documents ``first`` and on with weights 2^((t - origin) / half-life), at once."""
    some = slice_pairs(pairs, first, pairs.n_docs)
    weights = moments.document_weights(some, False, None)
    times = first + np.arange(some.n_docs) - origin
    return moments.add(moments.empty(basis), some, weights * np.exp2(times / HALF))


def test_rescaled_sums_are_those_of_weights_with_a_later_origin(pairs):
    now = learn(pairs, settings()).now
    assert now.origin == 2 * SPAN  # two rescalings
    wanted = weighted(pairs, now.sums.basis, 0, 2 * SPAN)
    assert now.sums.weight == pytest.approx(wanted.weight, rel=1e-9)
    for name in ("seen", "cube", "once"):
        np.testing.assert_allclose(
            getattr(now.sums, name), getattr(wanted, name), rtol=1e-8, atol=1e-12, err_msg=name
        )
    assert now.sums.n_docs == pairs.n_docs  # numbers of documents are not weights


def test_rescaling_does_not_depend_on_how_the_stream_is_cut(pairs):
    p = settings()
    one = learn(pairs, p).now
    two = learn(pairs, p, (3, BURN_IN, 77, SPAN, SPAN + 1, SPAN + 40)).now
    assert one.origin == two.origin
    for name in ("seen", "cube", "once", "weight"):
        np.testing.assert_array_equal(
            getattr(one.sums, name), getattr(two.sums, name), err_msg=name
        )


def test_a_call_that_crosses_the_border_is_cut_there(pairs):
    p, some = settings(), slice_pairs(pairs, 0, SPAN + 10)
    one, two = learn(some, p).now, learn(some, p, (SPAN - 5,)).now
    assert one.origin == two.origin == SPAN
    assert one.sums.weight == two.sums.weight


def test_an_origin_moves_by_several_spans_at_once(pairs):
    p = settings()
    began = learn(slice_pairs(pairs, 0, 50), p).now
    weight = began.sums.weight
    moved = moment_stream._move_origin(began, 3 * SPAN + 5, p)
    assert moved.origin == 3 * SPAN
    assert moved.sums.weight == weight * 2.0 ** (-3 * moment_stream._HALVINGS)
    assert moment_stream._move_origin(moved, 4 * SPAN - 1, p) is moved


def test_a_generation_is_replaced_by_the_one_that_began_before(pairs):
    p = settings(generation=100)
    state = learn(pairs, p)  # 306 documents: generations begin at 100, 200 and 300
    assert (state.now.since, state.next.since) == (200, 300)
    assert state.now.sums.n_docs == pairs.n_docs - 200
    wanted = weighted(pairs, state.now.sums.basis, 200, state.now.origin)
    np.testing.assert_allclose(state.now.sums.once, wanted.once, rtol=1e-8)
    assert state.next.waiting.pairs.n_docs == pairs.n_docs - 300  # no basis yet
    assert moment_stream.generation_to_solve(state, p) is state.now


def test_a_generation_without_a_basis_does_not_replace_the_current_one(pairs):
    short = pairs._replace(counts=pairs.counts.copy())
    lo, hi = short.indptr[100], short.indptr[200]
    short.counts[lo:hi] = 0.0  # documents 100 .. 199 have no moments
    state = learn(slice_pairs(short, 0, 201), settings(generation=100))
    assert (state.now.since, state.next.since) == (0, 200)


def test_the_first_document_of_a_later_generation_has_a_small_weight_exponent():
    """Weights never exceed 2^64: the origin of a new generation is near its first document."""
    p = settings()
    for since in (0, SPAN - 1, SPAN, 5 * SPAN + 3):
        began = moment_stream.begin_generation(since, V, p)
        assert began.since == since
        assert 0 <= since - began.origin < SPAN
        assert began.origin % SPAN == 0
