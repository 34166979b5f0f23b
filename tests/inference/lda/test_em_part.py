"""Online passes and CVB0 sweeps over a corpus against dense twins; starts; expected counts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import em as twin

from bayou.inference.lda import arrays, documents, em, fold_in
from bayou.results.posterior import proportions
from bayou.run import shards

ALPHA, BETA = np.array([0.2, 0.5, 0.1, 0.3]), 0.1


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def backwards(work, ends, cost=1.0):
    """One item at a time from the last: what no scheduler would do worse."""
    for i in reversed(range(len(ends) - 1)):
        work(i, i + 1)


def problem(seed=0, n_docs=23, n_terms=18, fractional=False):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.8, (n_docs, n_terms)).astype(float)
    if fractional:
        X *= rng.uniform(0.05, 1.5, X.shape)
    X[5] = 0
    n_vk = rng.gamma(1.0, 2.0, (n_terms, 4)).astype(np.float32)
    return X.astype(np.float32), documents.pairs_of(csr_array(X.astype(np.float32))), n_vk


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_batches", [1, 4, 23])
@pytest.mark.parametrize("fractional", [False, True])
def test_online_pass_is_the_dense_stochastic_update(n_batches, fractional):
    """n_vk <- (1 - rho) n_vk + rho (N / N_B) batch, with the decay written out on every row."""
    X, pairs, n_vk = problem(fractional=fractional)
    n_dk = em.level_documents(pairs, 4)
    batches = em.make_batches(pairs, n_batches, len(n_vk))
    assert len(batches) == n_batches
    expected, docs = n_vk.astype(float), n_dk.astype(float)
    for t, (lo, hi, _) in enumerate(batches, start=8):
        if not X[lo:hi].any():
            continue
        rows = twin.topic_rows(expected, BETA)
        for _ in range(5):
            r = twin.responsibilities(docs[lo:hi], rows, ALPHA)
            docs[lo:hi], by_term = twin.sums(X[lo:hi].astype(float), r)
        rho = (1.0 + t) ** -0.6
        expected = (1 - rho) * expected + rho * X.sum() / X[lo:hi].sum() * by_term
    scratch = em.make_scratch(batches, 4)
    em.online_pass(n_vk, n_dk, em.EMPass(pairs, batches, scratch, ALPHA, BETA, serial), 7)
    close(n_dk, docs)
    close(n_vk, expected)


@pytest.mark.parametrize("fractional", [False, True])
def test_fresh_pass_is_the_dense_cvb0_batch_after_batch(fractional):
    X, pairs, n_vk = problem(6, fractional=fractional)
    n_dk, smooth = em.level_documents(pairs, 4), np.zeros_like(n_vk)
    batches, rates = em.make_batches(pairs, 4, len(n_vk)), np.array([0.6, 0.3, 0.2, 0.1])
    expected, docs = n_vk.astype(float), n_dk.astype(float)
    for (lo, hi, _), rho in zip(batches, rates, strict=True):
        batch = X[lo:hi].astype(float)
        docs[lo:hi], terms = twin.cavity_step(batch, docs[lo:hi], expected, ALPHA, BETA)
        expected = (1 - rho) * expected + rho * X.sum() / batch.sum() * terms
    scratch = em.make_scratch(batches, 4)
    em.fresh_pass(
        n_vk, n_dk, smooth, em.EMPass(pairs, batches, scratch, ALPHA, BETA, serial), rates
    )
    close(n_dk, docs)
    close(n_vk, expected)


def test_the_common_factor_survives_many_batches():
    """The factor falls under its smallest value within a pass and is folded in on the way."""
    X, pairs, n_vk = problem(n_docs=200)
    n_dk = em.level_documents(pairs, 4)
    batches = em.make_batches(pairs, 200, len(n_vk))
    scratch = em.make_scratch(batches, 4)
    em.online_pass(n_vk, n_dk, em.EMPass(pairs, batches, scratch, ALPHA, BETA, serial), 0)
    assert np.isfinite(n_vk).all()
    assert n_vk.sum() == pytest.approx(X.sum(), rel=1e-3)


@pytest.mark.parametrize("n_batches", [1, 5])
@pytest.mark.parametrize("step", [1.0, 1.5])
@pytest.mark.parametrize("fractional", [False, True])
def test_cavity_sweep_is_the_dense_one(n_batches, step, fractional):
    """Batches bound the memory of a sweep; its result is that of the whole corpus at once."""
    X, pairs, n_vk = problem(1, fractional=fractional)
    n_dk = em.level_documents(pairs, 4)
    old = n_vk.astype(float)
    docs, terms = twin.cavity_step(X.astype(float), n_dk.astype(float), old, ALPHA, BETA)
    batches = em.make_batches(pairs, n_batches, len(n_vk))
    scratch, new = em.make_scratch(batches, 4), np.zeros_like(n_vk)
    em.cavity_sweep(n_vk, n_dk, new, em.EMPass(pairs, batches, scratch, ALPHA, BETA, serial), step)
    close(n_dk, docs)
    close(n_vk, np.maximum(old + step * (terms - old), 0))
    assert not new.any()


def sweeps(each):
    _, pairs, n_vk = problem(2, n_docs=60)
    n_dk = em.level_documents(pairs, 4)
    batches = em.make_batches(pairs, 7, len(n_vk))
    scratch, new = em.make_scratch(batches, 4), np.zeros_like(n_vk)
    shared = em.EMPass(pairs, batches, scratch, ALPHA, BETA, each)
    em.online_pass(n_vk, n_dk, shared, 0)
    em.fresh_pass(n_vk, n_dk, new, shared, np.full(7, 0.2))
    new[:] = 0.0
    for step in (1.5, 1.0):
        em.cavity_sweep(n_vk, n_dk, new, shared, step)
    return n_vk, n_dk


def test_the_order_of_the_work_does_not_change_a_bit(monkeypatch):
    monkeypatch.setattr(shards, "_PIECE", 1e-6)
    monkeypatch.setattr(shards, "_LEAST", 0)
    whole = sweeps(serial)
    for actual, expected in zip(sweeps(backwards), whole, strict=True):
        np.testing.assert_array_equal(actual, expected)
    for n_threads in (2, 4):
        with shards.Workers(n_threads) as workers:
            for actual, expected in zip(sweeps(workers.each), whole, strict=True):
                np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize("n_topics", [3, 50])
def test_starts_hold_the_corpus_mass(n_topics):
    X, pairs, _ = problem(3)
    noise = em.noise_start(pairs, 18, n_topics, 4, serial)
    assert (noise >= 0).all()
    assert noise.sum() == pytest.approx(X.sum(), rel=0.4)
    docs = em.document_start(pairs, 18, n_topics, 4)
    np.testing.assert_allclose(docs.sum(axis=0), X.sum() / n_topics, rtol=1e-4)
    level = em.level_documents(pairs, n_topics)
    np.testing.assert_allclose(level.sum(axis=1), X.sum(axis=1), rtol=1e-5)


def test_starts_of_corpora_with_little_in_them():
    for X in (np.zeros((3, 4)), np.eye(1, 4), np.vstack([np.zeros(4), np.eye(2, 4)])):
        pairs = documents.pairs_of(csr_array(X.astype(np.float32)))
        for start in (em.document_start(pairs, 4, 5, 0), em.noise_start(pairs, 4, 5, 0, serial)):
            assert start.shape == (4, 5)
            assert np.isfinite(start).all()


@pytest.mark.parametrize("fractional", [False, True])
def test_expected_counts_rest_where_the_twin_rests(fractional):
    X, pairs, n_vk = problem(4, fractional=fractional)
    rows = arrays.topic_rows(n_vk, BETA, serial)
    np.testing.assert_allclose(rows.sum(axis=0), 1, rtol=1e-5)
    out = fold_in.expected_counts(rows, ALPHA, pairs, serial, max_iter=2000, tol=1e-7)
    for d, x in enumerate(X.astype(float)):
        np.testing.assert_allclose(out[d], twin.fold_in(x, rows, ALPHA, 2000), atol=5e-3)
    fixed = twin.sums(X.astype(float), twin.responsibilities(out, rows, ALPHA))[0]
    np.testing.assert_allclose(fixed, out, atol=1e-4)


def test_expected_counts_of_empty_and_single_token_documents():
    X = np.zeros((4, 18), np.float32)
    X[1, 3], X[3, 2] = 1, 0.25
    rows = arrays.topic_rows(problem()[2], BETA, serial)
    out = fold_in.expected_counts(rows, ALPHA, documents.pairs_of(csr_array(X)), serial)
    np.testing.assert_allclose(out.sum(axis=1), [0, 1, 0, 0.25], rtol=1e-5)
    theta = proportions(out, ALPHA)
    np.testing.assert_allclose(theta[[0, 2]], np.tile(ALPHA / ALPHA.sum(), (2, 1)))


def test_completion_scores_one_half_given_the_other():
    X, pairs, n_vk = problem(5)
    rows = arrays.topic_rows(n_vk, BETA, serial)
    value = fold_in.completion(rows, ALPHA, pairs, pairs, serial)
    theta = proportions(fold_in.expected_counts(rows, ALPHA, pairs, serial), ALPHA)
    assert value == pytest.approx((X * np.log(theta @ rows.T)).sum() / X.sum(), rel=1e-4)
    none = documents.pairs_of(csr_array(np.zeros((23, 18), np.float32)))
    assert np.isnan(fold_in.completion(rows, ALPHA, pairs, none, serial))
