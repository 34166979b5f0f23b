"""Sampling under topics that stand still: twins draw for draw, exact laws, counting."""

import itertools

import numba
import numpy as np
import pytest
from scipy import stats
from tests.reference import lda

from bayou.kernels.lda import fixed_sweep
from bayou.kernels.rng import FOLD_IN, TOKEN

long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")
LENGTHS = [6, 0, 1, 13, 5]


def corpus(seed, n_topics, n_terms):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    terms = rng.integers(0, n_terms, indptr[-1]).astype(np.uint32)
    z = rng.integers(0, n_topics, indptr[-1]).astype(np.uint16)
    alpha = (rng.gamma(1.0, 0.5, n_topics) + 0.01).astype(np.float32)
    rows = rng.dirichlet(np.full(n_terms, 0.5), n_topics).T.astype(np.float32)
    ids = rng.integers(0, 2**64, len(LENGTHS), dtype=np.uint64)
    return indptr, terms, z, alpha, np.ascontiguousarray(rows), ids


def slack(rows, alpha):
    out = np.empty(len(rows), np.float32)
    for lo, hi in ((1, len(rows)), (0, 1)):
        fixed_sweep.slack_terms(out, rows, lo, hi, alpha)
    return out


SIZES = pytest.mark.parametrize(("n_topics", "n_terms"), [(1, 3), (2, 2), (5, 9), (16, 4), (40, 8)])


@SIZES
def test_sweep_under_fixed_rows_is_its_twin(n_topics, n_terms):
    indptr, terms, z, alpha, rows, ids = corpus(n_topics, n_topics, n_terms)
    own = np.zeros(n_topics, np.float32)
    twin = z.copy()
    for sweep in range(3):
        fixed_sweep.sweep_docs(
            z,
            (indptr, terms),
            ids,
            0,
            len(ids),
            rows,
            slack(rows, alpha),
            own,
            alpha,
            3,
            FOLD_IN,
            sweep,
        )
        twin = lda.fixed_sweep(twin, indptr, terms, ids, rows, alpha, 3, FOLD_IN, sweep)
        np.testing.assert_array_equal(z, twin)


@SIZES
def test_snapshot_removes_a_tokens_own_count_exactly(n_topics, n_terms):
    """The kernel corrects a row by s_k = 1 / (n_k + V beta); the twin counts without the token."""
    indptr, terms, z, alpha, _, _ = corpus(n_topics, n_topics, n_terms)
    beta, ids = 0.2, np.arange(len(LENGTHS), dtype=np.uint64)
    twin = z.copy()
    for sweep in range(3):
        _, n_vk, n_k = lda.counts(z, indptr, terms, n_topics, n_terms)
        own = (1.0 / (n_k + n_terms * beta)).astype(np.float32)
        rows = ((n_vk + beta) / (n_k + n_terms * beta)).astype(np.float32)
        fixed_sweep.sweep_docs(
            z,
            (indptr, terms),
            ids,
            0,
            len(ids),
            rows,
            slack(rows, alpha),
            own,
            alpha,
            3,
            TOKEN,
            sweep,
        )
        twin = lda.snapshot_sweep(twin, indptr, terms, alpha, beta, n_terms, 3, sweep)
        np.testing.assert_array_equal(z, twin)


@SIZES
def test_starts_are_their_twins(n_topics, n_terms):
    indptr, terms, z, alpha, rows, ids = corpus(n_topics, n_topics, n_terms)
    tokens, n_docs = (indptr, terms), len(ids)
    fixed_sweep.start_docs(z, tokens, ids, 0, n_docs, rows, alpha, 9, FOLD_IN, 4)
    twin = lda.start_docs(indptr, terms, ids, rows, alpha, 9, FOLD_IN, 4)
    np.testing.assert_array_equal(z, twin)
    fixed_sweep.start_uniform(z, indptr, 0, n_docs, n_topics, 9)
    np.testing.assert_array_equal(z, lda.start_uniform(indptr, n_topics, 9))
    shape = (n_docs, n_topics)
    doc_topic = np.random.default_rng(1).gamma(1.0, 2.0, shape).astype(np.float32)
    fixed_sweep.start_from_counts(z, tokens, 0, n_docs, rows, doc_topic, alpha, 9)
    twin = lda.start_expected(indptr, terms, rows, doc_topic, alpha, 9)
    np.testing.assert_array_equal(z, twin)


def test_documents_may_be_swept_in_any_pieces():
    indptr, terms, z, alpha, rows, ids = corpus(0, 4, 9)
    own, whole = np.full(4, 0.05, np.float32), z.copy()
    args = (rows, slack(rows, alpha), own, alpha, 3, TOKEN, 1)
    fixed_sweep.sweep_docs(whole, (indptr, terms), ids, 0, 5, *args)
    for lo, hi in ((3, 5), (0, 1), (1, 3)):
        fixed_sweep.sweep_docs(z, (indptr, terms), ids, lo, hi, *args)
    np.testing.assert_array_equal(z, whole)


def test_counting_is_counting():
    indptr, terms, z, _, _, _ = corpus(7, 4, 9)
    n_dk, n_vk, n_k = lda.counts(z, indptr, terms, 4, 9)
    docs = np.zeros((len(LENGTHS), 4), np.float32)
    for lo, hi in ((2, 5), (0, 2)):
        fixed_sweep.count_docs(docs, z, indptr, lo, hi, np.float32(0.5))
    np.testing.assert_array_equal(docs, 0.5 * n_dk)
    distinct, tally = np.unique(terms, return_counts=True)
    at = np.argsort(terms, kind="stable")
    by_term = (distinct.astype(np.int32), np.concatenate([[0], np.cumsum(tally)]), at)
    out = np.ones((9, 4), np.float32)
    for lo, hi in ((3, len(distinct)), (0, 3)):
        fixed_sweep.count_terms(out, z, by_term, lo, hi, np.float32(2.0))
    np.testing.assert_array_equal(out, 1 + 2 * n_vk)
    inv, rows = (1 / (n_k + 9 * 0.3)).astype(np.float32), np.zeros((9, 4), np.float32)
    for lo, hi in ((3, len(distinct)), (0, 3)):
        fixed_sweep.count_rows(rows, z, by_term, lo, hi, np.float32(0.3), inv)
    np.testing.assert_allclose(rows[distinct], ((n_vk + 0.3) * inv)[distinct], rtol=1e-6)
    alpha = np.array([0.1, 2.0, 0.5, 0.0], np.float32)
    np.testing.assert_allclose(slack(rows, alpha), rows @ alpha, rtol=1e-5)
    topic = np.zeros(4, np.int64)
    fixed_sweep.count_topics(topic, z, 0, len(z))
    np.testing.assert_array_equal(topic, n_k)


def test_content_ids_are_hashes_of_content():
    indptr = np.array([0, 2, 2, 4, 6, 7], np.int64)
    terms = np.array([1, 5, 1, 5, 1, 5, 1], np.int32)
    counts = np.array([2, 1, 2, 1, 1, 2, 0.5], np.float32)
    out = np.empty(5, np.uint64)
    fixed_sweep.content_ids(out, (indptr, terms, counts), 0, 5)
    np.testing.assert_array_equal(out, lda.content_ids((indptr, terms, counts)))
    assert out[0] == out[2]
    assert len(set(out.tolist())) == 4


def test_log_joint_is_the_lgamma_formula():
    indptr, terms, z, alpha, _, _ = corpus(3, 4, 9)
    alpha, beta = alpha.astype(np.float64), 0.3
    _, n_vk, n_k = lda.counts(z, indptr, terms, 4, 9)
    parts = [fixed_sweep.log_joint_docs(z, indptr, d, d + 1, alpha) for d in range(len(LENGTHS))]
    words = fixed_sweep.log_joint_terms(n_vk, n_k, beta)
    expected = lda.log_joint(z, indptr, terms, alpha, beta, 9)
    assert sum(parts) + words == pytest.approx(expected, rel=1e-12)


@long_chain
@pytest.mark.parametrize("n_topics", [2, 3])
def test_chain_under_fixed_rows_visits_the_exact_law(n_topics):
    """With topics fixed, p(z_d | w_d) is the Polya prior times the rows: documents are listed."""
    rng = np.random.default_rng(n_topics)
    indptr, terms = np.array([0, 4, 5, 5, 10], np.int64), rng.integers(0, 6, 10).astype(np.uint32)
    alpha = np.array([0.2, 0.9, 0.4], np.float32)[:n_topics]
    rows = rng.dirichlet(np.full(n_topics, 0.7), 6).astype(np.float32)
    ids = np.arange(4, dtype=np.uint64)
    z, own = np.zeros(10, np.uint16), np.zeros(n_topics, np.float32)
    seen, mass = np.empty((250_000, 10), np.uint16), slack(rows, alpha)
    for sweep in range(len(seen)):
        fixed_sweep.sweep_docs(
            z, (indptr, terms), ids, 0, 4, rows, mass, own, alpha, 2, FOLD_IN, sweep
        )
        seen[sweep] = z
    for span in lda.spans(indptr):
        if not len(span):
            continue
        states = list(itertools.product(range(n_topics), repeat=len(span)))
        law = lda.polya(states, alpha, rows[terms[span.start : span.stop]])
        places = lda.place_of(seen[:, span.start : span.stop], n_topics)
        distance = lda.distance(places, law)
        print(f"total variation {distance:.4f} over {len(law)} assignments")
        assert distance < 0.015


@long_chain
def test_sequential_start_follows_the_predictive_law():
    """p(z) = prod (n_k + a_k) phi / sum over the tokens before: its law is listed and compared."""
    alpha = np.array([0.3, 0.8], np.float32)
    rows = np.array([[0.7, 0.1], [0.2, 0.6]], np.float32)
    n, indptr = 50_000, np.arange(50_001, dtype=np.int64) * 3
    terms = np.tile(np.array([0, 1, 0], np.uint32), n)
    z, ids = np.empty(3 * n, np.uint16), np.arange(n, dtype=np.uint64)
    fixed_sweep.start_docs(z, (indptr, terms), ids, 0, n, rows, alpha, 1, FOLD_IN, 0)
    law = []
    for topics in itertools.product(range(2), repeat=3):
        p, n_d = 1.0, np.zeros(2)
        for v, k in zip((0, 1, 0), topics, strict=True):
            weights = (n_d + alpha) * rows[v]
            p *= weights[k] / weights.sum()
            n_d[k] += 1
        law.append(p)
    seen = np.bincount(lda.place_of(z.reshape(n, 3), 2), minlength=8)
    assert stats.chisquare(seen, np.array(law) * n / np.sum(law)).pvalue > 1e-4


def test_proportions_are_dirichlet_draws_keyed_by_document():
    counts = np.array([[3, 0, 1], [0, 0, 0], [3, 0, 1]], np.float32)
    alpha = np.array([0.5, 0.2, 1.0])
    ids = np.array([9, 4, 9], np.uint64)
    drawn = np.empty((800, 3, 3))
    for sweep, out in enumerate(drawn):
        fixed_sweep.draw_proportions(out, counts, ids, 0, 3, alpha, 1, sweep)
    np.testing.assert_array_equal(drawn[:, 0], drawn[:, 2])
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0, rtol=1e-12)
    for d in (0, 1):
        law = stats.dirichlet(counts[d] + alpha)
        np.testing.assert_allclose(drawn[:, d].mean(axis=0), law.mean(), atol=0.05)
        np.testing.assert_allclose(drawn[:, d].var(axis=0), law.var(), rtol=0.25)
    pieces = np.empty((3, 3))
    for d in (2, 0, 1):
        fixed_sweep.draw_proportions(pieces, counts, ids, d, d + 1, alpha, 1, 5)
    np.testing.assert_array_equal(pieces, drawn[5])
