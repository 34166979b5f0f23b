"""Sampling under frozen topics against its twin, its exact law, and what the conditionals add up to."""

import itertools

import numpy as np
import pytest
from tests.reference import frozen as twin
from tests.reference.draws import alias_masses

from bayou.kernels.lda import frozen_sweep
from bayou.kernels.rng import METRIC

N_TOPICS, N_TERMS = 5, 8
ALPHA = np.array([0.9, 0.05, 0.4, 0.3, 0.01])


def world(seed, n_docs=6, dtype=np.float32):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, 12, n_docs)
    lengths[1] = 0
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    terms = np.concatenate([np.sort(rng.integers(0, N_TERMS, n)) for n in lengths]).astype(
        np.uint32
    )
    rows = rng.dirichlet(np.full(N_TERMS, 0.3), N_TOPICS).T.astype(dtype).copy() + dtype(1e-4)
    return indptr, terms, rows


def no_tables(n_topics=N_TOPICS, dtype=np.float32, n_terms=N_TERMS):
    none = np.empty((0, n_topics), dtype), np.empty((0, n_topics), np.uint16)
    return np.full(n_terms, -1, np.int32), *none


def tables_of(rows, alpha, which):
    at = np.full(len(rows), -1, np.int32)
    at[which] = np.arange(len(which))
    shape = (len(which), len(alpha))
    tables = (at, np.empty(shape, rows.dtype), np.empty(shape, np.uint16))
    frozen_sweep.build_tables(tables, np.array(which, np.int32), 0, len(which), rows, alpha)
    return tables


def run(indptr, terms, rows, alpha, own, tables, rate, words, cuts=None):
    n_kept, n = rate[1], len(terms)
    dtype = rows.dtype
    kept = np.zeros((n_kept, n), np.uint16)
    lists = (
        np.zeros((n_kept, n), np.uint16),
        np.zeros((n_kept, n), dtype),
        np.zeros((n_kept, len(indptr) - 1), np.int32),
    )
    slack = (rows.astype(np.float64) @ alpha.astype(np.float64)).astype(dtype)
    ids = np.arange(len(indptr) - 1, dtype=np.uint64)
    cuts = cuts or [0, len(indptr) - 1]
    for lo, hi in itertools.pairwise(cuts):
        frozen_sweep.sample_docs(
            kept, lists, (indptr, terms), ids, lo, hi, rows, slack, own, tables, alpha, rate, words
        )
    return kept, lists, slack


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("which", [[], [0, 3, 4, 7]])
def test_draws_are_those_of_the_twin(again, which):
    for seed in range(4):
        indptr, terms, rows = world(seed, dtype=np.float64)
        own = (np.array([0.002, 0.1, 0.3, 1.5, 9.0]) * again, 0.05, 0.4)
        tables = tables_of(rows, ALPHA, which)
        words, rate = (3, METRIC, 65_536 * seed), (4, 2)
        kept, lists, _ = run(indptr, terms, rows, ALPHA, own, tables, rate, words)
        given = [
            (tables[1][tables[0][v]], tables[2][tables[0][v]]) if tables[0][v] >= 0 else None
            for v in range(N_TERMS)
        ]
        slow = twin.sample(indptr, terms, rows, ALPHA, own, *rate, words, given)
        np.testing.assert_array_equal(kept, slow)
        for s in range(2):
            for d in range(len(indptr) - 1):
                span = slice(indptr[d], indptr[d] + lists[2][s, d])
                found = np.zeros(N_TOPICS)
                found[lists[0][s, span]] = lists[1][s, span]
                want = np.bincount(kept[s, indptr[d] : indptr[d + 1]], minlength=N_TOPICS)
                np.testing.assert_array_equal(found, want)
                assert (lists[1][s, span] > 0).all()


@pytest.mark.parametrize("again", [False, True])
def test_conditionals_add_up_as_written_out(again):
    indptr, terms, rows = world(9, dtype=np.float64)
    own = (np.array([0.002, 0.1, 0.3, 1.5, 9.0]) * again, 0.05, 0.4)
    words, rate = (3, METRIC, 0), (3, 3)
    kept, lists, slack = run(indptr, terms, rows, ALPHA, own, no_tables(dtype=float), rate, words)
    order = np.argsort(terms, kind="stable").astype(np.int32)
    distinct, begins = np.unique(terms[order], return_index=True)
    by_term = (distinct.astype(np.int32), np.append(begins, len(terms)), order)
    doc_of = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    out = np.zeros((N_TERMS, N_TOPICS))
    frozen_sweep.expect_terms(
        out, kept, lists, by_term, (doc_of, indptr), 0, len(distinct), rows[distinct],
        slack[distinct], own, ALPHA, 2.0,
    )  # fmt: skip
    want = 2.0 * twin.expected(kept, indptr, terms, rows, ALPHA, own)
    np.testing.assert_allclose(out, want, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(out.sum(), 2.0 * len(terms), rtol=1e-10)


def test_the_two_parts_are_the_conditional():
    """n_dk phi_vk, and the alias table times its sum, give (n_dk + a_k) phi_vk to rounding."""
    _, _, rows = world(1, dtype=np.float64)
    at, prob, alias = tables_of(rows, ALPHA, list(range(N_TERMS)))
    n_d = np.array([3.0, 0.0, 1.0, 0.0, 0.0])
    for v in range(N_TERMS):
        slack = (ALPHA * rows[v]).sum()
        parts = n_d * rows[v] + slack * alias_masses(prob[at[v]], alias[at[v]])
        np.testing.assert_allclose(parts, (n_d + ALPHA) * rows[v], rtol=0, atol=1e-12)


def test_the_polya_form_is_the_margin_of_tables_and_indicators():
    """While topics are frozen tables sum out: q*(z) by enumeration has conditionals (n + b1 g) f."""
    rng = np.random.default_rng(2)
    g, b1 = rng.dirichlet(np.ones(3)), 1.7
    rows = rng.dirichlet(np.ones(4), 3).T
    terms = [0, 1, 1, 3]
    states, law = twin.table_indicator_margin(terms, rows, g, b1)
    mass = dict(zip(states, law, strict=True))
    for z in states:
        for i in range(4):
            n_d = np.bincount(z[:i] + z[i + 1 :], minlength=3)
            want = (n_d + b1 * g) * rows[terms[i]]
            found = np.array([mass[(*z[:i], k, *z[i + 1 :])] for k in range(3)])
            np.testing.assert_allclose(found / found.sum(), want / want.sum(), atol=1e-12)


@pytest.mark.parametrize("which", [[], [0, 1, 3]])
def test_the_chain_reaches_the_enumerated_law(which):
    """Four tokens in 20 000 documents alike: the frequency of each of their assignments."""
    rng = np.random.default_rng(4)
    g, b1, n_docs = np.array([0.5, 0.3, 0.2]), 1.3, 20_000
    rows = rng.dirichlet(np.ones(4), 3).T.astype(np.float32).copy()
    terms = np.tile(np.array([0, 1, 1, 3], np.uint32), n_docs)
    indptr = np.arange(n_docs + 1) * 4
    alpha = (b1 * g).astype(np.float32)
    own = (np.zeros(3, np.float32), 0.01, 0.04)
    tables = tables_of(rows, alpha, which)
    kept, _, _ = run(indptr, terms, rows, alpha, own, tables, (12, 1), (1, METRIC, 0))
    states, law = twin.table_indicator_margin([0, 1, 1, 3], rows.astype(float), g, b1)
    codes = kept[0].reshape(n_docs, 4).astype(int) @ np.array([27, 9, 3, 1])
    found = np.bincount(codes, minlength=81) / n_docs
    assert [tuple(s) for s in states] == list(itertools.product(range(3), repeat=4))
    assert 0.5 * np.abs(found - law).sum() < 0.03  # 0.018 is what 20 000 exact draws give


def test_any_cut_of_the_documents_gives_the_same():
    indptr, terms, rows = world(5)
    own, rate = (np.zeros(N_TOPICS, np.float32), 0.05, 0.4), (3, 2)
    alpha = ALPHA.astype(np.float32)
    whole = run(indptr, terms, rows, alpha, own, no_tables(), rate, (1, METRIC, 0))
    parts = run(indptr, terms, rows, alpha, own, no_tables(), rate, (1, METRIC, 0), [0, 1, 4, 6])
    np.testing.assert_array_equal(whole[0], parts[0])
    for a, b in zip(whole[1], parts[1], strict=True):
        np.testing.assert_array_equal(a, b)


def test_lists_give_counts_and_expected_tables():
    indptr, terms, rows = world(6)
    alpha = ALPHA.astype(np.float32)
    own = (np.zeros(N_TOPICS, np.float32), 0.05, 0.4)
    kept, lists, _ = run(indptr, terms, rows, alpha, own, no_tables(), (3, 2), (1, METRIC, 0))
    n_dk = np.zeros((len(indptr) - 1, N_TOPICS), np.float32)
    frozen_sweep.count_lists(n_dk, lists, indptr, 0, len(indptr) - 1)
    np.testing.assert_allclose(n_dk, twin.doc_counts(kept, indptr, N_TOPICS))
    tables = np.zeros(N_TOPICS)
    frozen_sweep.count_tables(tables, lists, indptr, ALPHA)
    want = np.zeros(N_TOPICS)
    for z in kept:
        for lo, hi in itertools.pairwise(indptr):
            for k in range(N_TOPICS):  # a customer opens a table with probability x / (x + i)
                n = int((z[lo:hi] == k).sum())
                want[k] += sum(ALPHA[k] / (ALPHA[k] + i) for i in range(n)) / len(kept)
    np.testing.assert_allclose(tables, want, rtol=1e-10)
