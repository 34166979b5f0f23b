"""A slice against its memory: repeats, cells, drift, leading terms, each beside its slow twin."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gammaln
from tests.reference import tracking as twin

from bayou.kernels import alias
from bayou.kernels.tracking import quiet, slices


def a_slice(seed=0, n_docs=25, n_terms=12, n_topics=4):
    """Tokens whose equal terms stand together, their topics, and a memory of all topics but the last."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 20, n_docs)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    docs = [np.sort(rng.integers(0, n_terms, n)) for n in lengths]
    terms = np.concatenate(docs).astype(np.uint32)
    z = rng.integers(0, n_topics, len(terms)).astype(np.uint16)
    memory = rng.gamma(0.5, 1.0, (n_terms, n_topics - 1)).astype(np.float32)
    memory[3] = 0.0
    return indptr, terms, z, memory


def test_repeats_are_counted_by_document_topic_and_term():
    indptr, terms, z, memory = a_slice()
    times, shares = np.empty(len(z), np.int64), np.empty(len(z))
    lengths = np.zeros((3, len(indptr) - 1), np.int64)
    scale = 1.0 / memory.sum(axis=0, dtype=np.float64)
    n, n_once, logs = slices.repeats_into(times, shares, lengths, z, (indptr, terms), memory, scale)
    again, once, expected = twin.repeats(z, indptr, terms, memory.astype(np.float64))
    got = sorted(zip(times[:n].tolist(), shares[:n].tolist(), strict=True))
    np.testing.assert_allclose(got, again, rtol=1e-6)
    assert n_once == len(once)
    assert logs == pytest.approx(sum(np.log(q) for _, q in once), rel=1e-6)
    np.testing.assert_array_equal(lengths, expected)


def test_cells_are_the_terms_that_are_expected_and_the_rest():
    _, terms, z, memory = a_slice(1, n_docs=8)
    counts = np.zeros((12, 4), np.float32)
    np.add.at(counts, (terms, z), 1.0)
    there = np.flatnonzero(counts.any(axis=1))
    place = np.full(12, -1, np.int32)
    place[there] = np.arange(len(there))
    sizes = counts[:, :3].sum(axis=0).astype(np.float64)
    begin = np.concatenate([[0], np.cumsum(sizes.astype(np.int64) + 2)])
    shares, mine = np.empty(begin[-1]), np.empty(begin[-1])
    scale = 1.0 / memory.sum(axis=0, dtype=np.float64)
    n = slices.cells_into(shares, mine, begin, memory, scale, sizes, counts[there], place)
    for k in range(3):
        q, c = twin.cells(memory[:, k].astype(np.float64), counts[:, k].astype(np.float64))
        span = slice(begin[k], begin[k] + n[k])
        np.testing.assert_allclose(shares[span], q, rtol=1e-6)
        np.testing.assert_array_equal(mine[span], c)


def test_drift_of_every_topic_is_what_its_parts_give():
    rng = np.random.default_rng(2)
    q, counts = np.array([0.5, 0.3, 0.2, 0.6, 0.4]), np.array([9.0, 8.0, 3.0, 0.0, 0.0])
    begin, n = np.array([0, 3, 5]), np.array([3, 2])
    lengths = np.zeros((2, 6), np.int64)
    lengths[0] = rng.multinomial(20, np.full(6, 1 / 6))
    out, drawn = np.full((4, 2), np.nan), np.empty((2, 30))
    keys, ids = (7, 3, (0.2, 0.1)), np.array([5, 9])
    most = np.array([30, 30])
    slices.drift_topics(out, 0, 2, begin, n, q, counts, lengths, 10.0, drawn, most, keys, ids)
    assert np.isnan(out[:, 1]).all(), "a topic without tokens"
    p = counts[:3] / 20
    assert out[0, 0] == pytest.approx(twin.jsd(p, q[:3]))
    table = np.empty(3), np.empty(3, np.int64)
    alias.build_alias_into(*table, q[:3], np.empty(3, np.int64), np.empty(3, np.int64))
    null = np.empty(30)
    some = lengths[0][lengths[0] > 0]
    m = quiet.divergences(null, some, q[:3], table, 10.0, 7, 3, 5, (0.2, 0.1))
    assert out[1, 0] == pytest.approx(null[:m].mean())
    assert out[2, 0] == pytest.approx(np.log(np.maximum(null[:m], 1e-12)).std())
    assert out[3, 0] == pytest.approx(np.sqrt(1 - np.sqrt(p * q[:3]).sum()))
    most[0] = 2
    slices.drift_topics(out, 0, 1, begin, n, q, counts, lengths, 10.0, drawn, most, keys, ids)
    assert out[1, 0] == pytest.approx(null[:2].mean()), "no more than are asked for"


def test_what_is_kept_and_what_is_found_are_mixed_term_by_term():
    rng = np.random.default_rng(4)
    memory, found = rng.random((6, 3)).astype(np.float32), rng.random((2, 3)).astype(np.float32)
    keep, floor, add = rng.random((3, 3)).astype(np.float32)
    place, out = np.array([-1, 0, -1, -1, 1, -1], np.int32), np.empty((6, 3), np.float32)
    slices.mix_into(out, memory, keep, floor, found, place, add)
    expected = keep * memory + floor
    expected[[1, 4]] += add * found
    np.testing.assert_allclose(out, expected, rtol=1e-6)


def test_leading_entries_are_those_of_a_stable_sort():
    rng = np.random.default_rng(3)
    rows = rng.integers(0, 6, (40, 5)).astype(np.float32)  # with many equals
    places, values = np.empty((5, 7), np.int64), np.empty((5, 7), np.float32)
    slices.largest_into(places, values, rows)
    for k in range(5):
        order = np.argsort(-rows[:, k], kind="stable")[:7]
        assert places[k].tolist() == order.tolist()
        np.testing.assert_array_equal(values[k], rows[order, k])


def urns(concentration, seed=4, n_docs=300):
    """Shares of terms, documents from urns of a known concentration, and what is counted of them."""
    rng = np.random.default_rng(seed)
    q, sizes = rng.dirichlet(np.ones(20)), rng.choice([3, 8, 40], n_docs)
    counts = np.array([rng.multinomial(n, rng.dirichlet(concentration * q)) for n in sizes])
    _, v = np.nonzero(counts > 1)
    once = np.log(q[np.nonzero(counts == 1)[1]])
    return q, counts, (counts[counts > 1], q[v], (float(len(once)), once.sum()))


BOUNDS = np.log(0.5), np.log(1e6)


@pytest.mark.parametrize("concentration", [2.0, 12.0, 70.0])
def test_the_likeliest_burst_is_that_of_a_search(concentration):
    """Against the log-likelihood of whole documents by gammas; its top is inside the bounds."""
    q, counts, seen = urns(concentration)
    assert {n > 12 for n in seen[0]} == {False, True}, "both ways to a ratio of gammas"

    def minus_log_lik(log_a):
        a = np.exp(log_a)
        every = gammaln(a * q + counts) - gammaln(a * q)
        return -every.sum() - (gammaln(a) - gammaln(a + counts.sum(axis=1))).sum()

    best = minimize_scalar(
        minus_log_lik, bounds=BOUNDS, method="bounded", options={"xatol": 1e-6}
    ).x
    assert BOUNDS[0] + 0.5 < best < BOUNDS[1] - 0.5
    assert best == pytest.approx(np.log(concentration), abs=0.5), "not far from that of the draws"
    sizes, many = np.unique(counts.sum(axis=1), return_counts=True)
    found = slices.likeliest_burst(*seen, sizes, many, BOUNDS)
    assert np.log(found) == pytest.approx(best, abs=0.0101)  # half the width that is near enough


def test_documents_that_repeat_nothing_have_the_largest_concentration():
    seldom, none = (30.0, -90.0), np.empty(0)
    found = slices.likeliest_burst(
        none.astype(np.int64), none, seldom, np.array([3]), np.array([10]), BOUNDS
    )
    assert np.log(found) == pytest.approx(BOUNDS[1], abs=0.0201)
