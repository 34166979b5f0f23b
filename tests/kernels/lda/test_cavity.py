"""Average topics of documents under fixed topics, and under topics that have forgotten them."""

import numpy as np
import pytest
from tests.reference import lda, margin

from bayou.kernels.lda import cavity

N_TERMS, N_TOPICS, BETA = 9, 5, 0.2


def f32(x):
    return np.ascontiguousarray(x, np.float32)


@pytest.fixture
def case():
    """Distinct terms of documents (one of them empty) with counts, and the tokens they stand for."""
    rng = np.random.default_rng(1)
    docs = [np.sort(rng.choice(N_TERMS, n, replace=False)) for n in (4, 1, 0, 7)]
    indptr = np.concatenate([[0], np.cumsum([len(d) for d in docs])]).astype(np.int64)
    terms = np.concatenate(docs).astype(np.int32)
    counts = rng.integers(1, 4, len(terms))
    ends = np.concatenate([[0], np.cumsum(counts)])
    tokens = np.repeat(terms, counts).astype(np.uint32)
    z = rng.integers(0, N_TOPICS, len(tokens)).astype(np.uint16)
    alpha, weight = rng.gamma(2, 0.3, N_TOPICS) + 0.1, rng.uniform(1, 4, N_TERMS)
    return (indptr, terms, f32(counts)), (ends[indptr], tokens, z), alpha, weight


def rows(seed=2):
    return np.random.default_rng(seed).dirichlet(np.full(N_TERMS, 0.3), N_TOPICS).T


def spans(pairs):
    return [slice(r.start, r.stop) for r in lda.spans(pairs[0])]


@pytest.mark.parametrize("n_iter", [0, 1, 5])
def test_averages_and_shares_are_their_twin(case, n_iter):
    pairs, _, alpha, weight = case
    out, shares = np.empty((4, N_TOPICS), np.float32), np.empty((12, N_TOPICS), np.float32)
    phi = rows() + 1e-4
    cavity.zbar_docs(out, pairs, 0, 4, f32(phi), f32(alpha), f32(weight), n_iter)
    cavity.share_docs(shares, pairs, 0, 4, f32(phi), f32(alpha), f32(weight), n_iter)
    for d, at in enumerate(spans(pairs)):
        v = pairs[1][at]
        zbar, parts = margin.cavity_zbar(phi[v], pairs[2][at], alpha, weight[v], n_iter)
        np.testing.assert_allclose(out[d], zbar, rtol=2e-4, atol=1e-6)
        np.testing.assert_allclose(shares[at], parts, rtol=2e-4, atol=1e-6)
        if len(v):
            np.testing.assert_allclose(shares[at].sum(axis=0), out[d], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(out.sum(axis=1), 1.0, rtol=1e-5)
    np.testing.assert_allclose(out[2], alpha / alpha.sum(), rtol=1e-6)  # no terms: the prior mean


def test_leave_one_out_forgets_the_document(case):
    """Counts are made again without the document's own tokens."""
    pairs, own, alpha, weight = case
    _, tokens, z = own
    n_vk = np.zeros((N_TERMS, N_TOPICS))
    np.add.at(n_vk, (tokens, z), 1)
    n_vk += np.random.default_rng(3).integers(0, 3, n_vk.shape)  # of other documents
    out = np.empty((4, N_TOPICS), np.float32)
    cavity.zbar_without(
        out, pairs, 0, 4, (f32(n_vk), n_vk.sum(axis=0)), own, f32(alpha), np.float32(BETA),
        f32(weight), 5,
    )  # fmt: skip
    for d, at in enumerate(spans(pairs)):
        rest = n_vk.copy()
        for i in range(own[0][d], own[0][d + 1]):
            rest[tokens[i], z[i]] -= 1
        phi = (rest + BETA) / (rest.sum(axis=0) + N_TERMS * BETA)
        v = pairs[1][at]
        zbar, _ = margin.cavity_zbar(phi[v], pairs[2][at], alpha, weight[v], 5)
        np.testing.assert_allclose(out[d], zbar, rtol=5e-4, atol=1e-5)


def test_a_document_alone_in_the_corpus_is_left_with_the_prior(case):
    pairs, own, alpha, weight = case
    only = (pairs[0][:2], pairs[1], pairs[2])
    tokens, z = own[1][: own[0][1]], own[2][: own[0][1]]
    n_vk = np.zeros((N_TERMS, N_TOPICS), np.float32)
    np.add.at(n_vk, (tokens, z), 1)
    out = np.empty((1, N_TOPICS), np.float32)
    cavity.zbar_without(
        out, only, 0, 1, (n_vk, n_vk.sum(axis=0).astype(float)), (own[0][:2], tokens, z),
        f32(alpha), np.float32(BETA), f32(weight), 5,
    )  # fmt: skip
    flat = np.full((int(only[0][1]), N_TOPICS), 1 / N_TERMS)
    wanted, _ = margin.cavity_zbar(
        flat, pairs[2][: len(flat)], alpha, weight[pairs[1][: len(flat)]], 5
    )
    np.testing.assert_allclose(out[0], wanted, rtol=1e-4)
