"""Documents as pairs and tokens, indices by term, and inference under fixed topics."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import lda

from bayou.inference.lda import arrays, documents, fold_in
from bayou.metrics import completion_halves, document_completion
from bayou.results.posterior import Posterior, proportions

ALPHA = np.array([0.3, 0.1, 0.6])


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def backwards(work, ends, cost=1.0):
    for i in reversed(range(len(ends) - 1)):
        work(i, i + 1)


def matrix(seed=0, n_docs=9, n_terms=12, mean=0.8):
    X = np.random.default_rng(seed).poisson(mean, (n_docs, n_terms)).astype(np.float32)
    X[[0, 4]], X[:, -1], X[5] = 0, 0, 0
    X[5, 3] = 1
    return X


def pairs(X):
    return documents.pairs_of(csr_array(X))


def rows(n_terms=12, n_topics=3, seed=2, sharp=0.3):
    phi = np.random.default_rng(seed).dirichlet(np.full(n_terms, sharp), n_topics).T
    return np.ascontiguousarray(phi + 1e-6, np.float32)


def dense(p, n_terms):
    return csr_array((p.counts, p.terms, p.indptr), shape=(p.n_docs, n_terms)).toarray()


def test_pairs_are_the_matrix():
    X = matrix()
    p = pairs(X)
    assert (p.n_docs, p.n_tokens) == (9, X.sum())
    assert [a.dtype for a in p] == [np.int64, np.int32, np.float32]
    np.testing.assert_array_equal(dense(p, 12), X)


@pytest.mark.parametrize("docs", [[], [0], [8, 1, 1, 4], list(range(9)), [5, 0, 4]])
def test_select_takes_documents_in_the_order_given(docs):
    X = matrix()
    chosen = documents.select(pairs(X), np.array(docs, np.int64))
    assert chosen.n_docs == len(docs)
    np.testing.assert_array_equal(dense(chosen, 12), X[docs])


def test_tokens_are_counts_written_out():
    X = matrix(1)
    tokens = documents.tokens_of(pairs(X))
    assert tokens.n_docs == 9
    assert tokens.terms.dtype == np.uint32
    for row, span in zip(X, lda.spans(tokens.indptr), strict=True):
        found = tokens.terms[span.start : span.stop]
        np.testing.assert_array_equal(found, np.repeat(np.arange(12), row.astype(int)))
    halves = documents.tokens_of(pairs(np.array([[0.5, 1.5, 2.5, 0.4]], np.float32)))
    np.testing.assert_array_equal(halves.terms, [1, 1, 2, 2])  # half to even


@pytest.mark.parametrize(("lo", "hi"), [(0, 9), (3, 7), (4, 5), (0, 0), (8, 9)])
def test_pairs_are_grouped_by_term(lo, hi):
    p = pairs(matrix(2))
    index = documents.index_pairs(p, lo, hi, 12)
    first, last = p.indptr[lo], p.indptr[hi]
    np.testing.assert_array_equal(index.terms, np.unique(p.terms[first:last]))
    assert sorted(index.at) == list(range(last - first))
    owner = np.repeat(np.arange(p.n_docs), np.diff(p.indptr))
    for term, span in zip(index.terms, lda.spans(index.termptr), strict=True):
        at = index.at[span.start : span.stop]
        assert (p.terms[first + at] == term).all()
        assert (np.diff(at) > 0).all()  # in document order
        np.testing.assert_array_equal(index.rows[span.start : span.stop] + lo, owner[first + at])


def test_tokens_are_grouped_by_term():
    tokens = documents.tokens_of(pairs(matrix(3)))
    index = documents.index_tokens(tokens, 12)
    assert sorted(index.at) == list(range(len(tokens.terms)))
    for term, span in zip(index.terms, lda.spans(index.termptr), strict=True):
        at = index.at[span.start : span.stop]
        np.testing.assert_array_equal(at, np.flatnonzero(tokens.terms == term))


def test_rows_and_totals():
    n_vk = np.random.default_rng(0).gamma(1.0, 3.0, (12, 3)).astype(np.float32)
    totals = arrays.topic_totals(n_vk)
    assert totals.dtype == np.float64
    np.testing.assert_allclose(totals, n_vk.sum(axis=0, dtype=float), rtol=1e-14)
    got = arrays.topic_rows(n_vk, 0.2, backwards)
    np.testing.assert_allclose(got, (n_vk + 0.2) / (totals + 12 * 0.2), rtol=1e-6)
    np.testing.assert_array_equal(got, arrays.topic_rows(n_vk, 0.2, serial))
    slack = fold_in.prior_mass(got, ALPHA.astype(np.float32))
    np.testing.assert_allclose(slack, got @ ALPHA, rtol=1e-6)


@pytest.mark.parametrize("n_topics", [3, 600])  # from 500 topics on some are dropped
def test_expected_counts_are_what_a_posterior_serves(n_topics):
    X, phi = matrix(4), rows(n_topics=n_topics)
    alpha = np.random.default_rng(0).gamma(1.0, 0.1, n_topics) + 1e-3
    counts = fold_in.expected_counts(phi, alpha, pairs(X), backwards)
    post = Posterior(
        rows=phi,
        alpha=alpha,
        beta=0.1,
        topic_tokens=np.ones(n_topics),
        scores=np.zeros(0),
        score_steps=np.zeros(0, np.int64),
    )
    np.testing.assert_array_equal(post.transform(csr_array(X)), proportions(counts, alpha))
    np.testing.assert_allclose(counts.sum(axis=1), X.sum(axis=1), rtol=1e-4)


def test_sampled_counts_are_keyed_by_the_names_of_documents():
    X, phi = matrix(5), rows(sharp=2.0)
    tokens = documents.tokens_of(pairs(X))
    ids = documents.content_ids(pairs(X))
    assert ids[0] == ids[4]  # both empty
    assert len(set(ids)) == 8
    shared = (3, (2, 4), serial)  # seed, burn-in and samples

    def draw(tokens, ids, seed=3, n_samples=4, burn_in=2, each=serial):
        return fold_in.draw_counts(phi, ALPHA, tokens, ids, seed, (burn_in, n_samples), each)

    whole = fold_in.draw_counts(phi, ALPHA, tokens, ids, *shared)
    assert whole.shape == (4, 9, 3)
    np.testing.assert_array_equal(whole.sum(axis=2), np.tile(X.sum(axis=1), (4, 1)))
    np.testing.assert_array_equal(draw(tokens, ids, each=backwards), whole)
    order = np.random.default_rng(0).permutation(9)
    moved = documents.tokens_of(pairs(X[order]))
    np.testing.assert_array_equal(draw(moved, ids[order]), whole[:, order])
    np.testing.assert_array_equal(draw(tokens, ids, n_samples=2, burn_in=4), whole[2:])
    assert not np.array_equal(draw(tokens, ids, seed=4), whole)
    assert not np.array_equal(draw(tokens, ids + np.uint64(1)), whole)


def test_sampled_counts_are_their_twin():
    X, phi = matrix(6, n_docs=6), rows(sharp=2.0)
    tokens, ids = documents.tokens_of(pairs(X)), documents.content_ids(pairs(X))
    a32 = ALPHA.astype(np.float32)
    z = lda.start_docs(*tokens, ids, phi, a32, 3, 6, 0)
    got = fold_in.draw_counts(phi, ALPHA, tokens, ids, 3, (1, 3), serial)
    for sweep in range(1, 5):
        z = lda.fixed_sweep(z, *tokens, ids, phi, a32, 3, 6, sweep)
        if sweep > 1:
            n_dk = lda.counts(z, *tokens, 3, 12)[0]
            np.testing.assert_array_equal(got[sweep - 2], n_dk)


def test_proportions_are_drawn_around_their_mean():
    X = matrix(7)
    n_dk = np.random.default_rng(0).multinomial(20, [0.2, 0.5, 0.3], (2000, 9)).astype(np.float32)
    ids = documents.content_ids(pairs(X))
    theta = fold_in.draw_proportions(n_dk, ALPHA, ids, 1, backwards)
    assert theta.shape == n_dk.shape
    np.testing.assert_allclose(theta.sum(axis=2), 1.0)
    np.testing.assert_allclose(theta.mean(axis=0), proportions(n_dk, ALPHA).mean(axis=0), atol=0.02)
    np.testing.assert_array_equal(theta, fold_in.draw_proportions(n_dk, ALPHA, ids, 1, serial))


@pytest.mark.parametrize(("mean", "sharp"), list(itertools.product([0.8, 5.0], [0.1, 1.0])))
def test_completion_is_the_measure_of_the_same_name(mean, sharp):
    X, phi = matrix(8, n_docs=200, mean=mean), rows(sharp=sharp)
    phi /= phi.sum(axis=0)
    halves = [documents.pairs_of(csr_array(half)) for half in completion_halves(X)]
    value = fold_in.completion(phi, ALPHA, *halves, serial)
    slow = document_completion(phi.T, ALPHA, X, n_iter=200)
    assert value == pytest.approx(slow, abs=1e-3)
