"""Average topics of documents: from tokens, under fixed topics, and without the document's own counts."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import margin as twin

from bayou.inference.lda.documents import pairs_of, tokens_of
from bayou.inference.margin import features
from bayou.run.shards import Workers

EACH = Workers(1).each
N_TERMS, N_TOPICS, BETA = 7, 4, 0.3


@pytest.fixture
def case():
    """Documents of 9, 1, 0 and 14 tokens, their topics, and a weight per term."""
    rng = np.random.default_rng(3)
    rows = [rng.multinomial(n, np.full(N_TERMS, 1 / N_TERMS)) for n in (9, 1, 0, 14)]
    pairs = pairs_of(csr_array(np.array(rows, np.float32)))
    tokens = tokens_of(pairs)
    z = rng.integers(0, N_TOPICS, len(tokens.terms)).astype(np.uint16)
    weight = rng.uniform(0.5, 4.0, N_TERMS).astype(np.float32)
    return pairs, tokens, z, weight, rng


def docs_of(tokens):
    return np.repeat(np.arange(tokens.n_docs), np.diff(tokens.indptr))


def test_tokens_of_a_document_share_one_by_the_weights_of_their_terms(case):
    _, tokens, _, weight, _ = case
    rho = features.token_weights(tokens, weight)
    docs = docs_of(tokens)
    np.testing.assert_allclose(np.bincount(docs, rho, 4), [1, 1, 0, 1], rtol=1e-6)
    for d in (0, 3):
        mine = docs == d
        wanted = weight[tokens.terms[mine]]
        np.testing.assert_allclose(rho[mine], wanted / wanted.sum(), rtol=1e-6)


@pytest.mark.parametrize("n_topics", [N_TOPICS, 40])
def test_rows_of_averages_hold_the_topics_of_tokens(case, n_topics):
    _, tokens, z, weight, _ = case
    rho = features.token_weights(tokens, weight)
    start, number, topics, values = features.token_zbar(z, rho, tokens.indptr, n_topics, EACH)
    dense = np.zeros((4, n_topics))
    np.add.at(dense, (docs_of(tokens), z), rho)
    for d in range(4):
        at = slice(start[d], start[d] + number[d])
        assert len(set(topics[at])) == number[d] == np.count_nonzero(dense[d])
        np.testing.assert_allclose(values[at], dense[d, topics[at]], rtol=1e-5)
    assert (np.diff(start) >= number[:-1]).all(), "rows do not overlap"
    assert len(topics) == np.minimum([9, 1, 0, 14], n_topics).sum()


def test_averages_under_fixed_topics_are_their_twin(case):
    pairs, _, _, weight, rng = case
    phi = rng.dirichlet(np.full(N_TERMS, 0.4), N_TOPICS).T + 1e-3
    alpha = rng.gamma(2.0, 0.3, N_TOPICS) + 0.1
    rows = phi.astype(np.float32)
    got = features.zbar(rows, alpha, weight, pairs, EACH)
    shares = features.term_shares(rows, alpha, weight, pairs)
    for d in range(4):
        at = slice(pairs.indptr[d], pairs.indptr[d + 1])
        v = pairs.terms[at]
        wanted, parts = twin.cavity_zbar(phi[v], pairs.counts[at], alpha, weight[v], 5)
        np.testing.assert_allclose(got[d], wanted, rtol=5e-4, atol=1e-6)
        np.testing.assert_allclose(shares[at], parts, rtol=5e-4, atol=1e-6)
    np.testing.assert_allclose(got[2], alpha / alpha.sum(), rtol=1e-6)


def test_averages_without_the_document_forget_its_own_tokens_only(case):
    """As if the document had not been counted; counts of other documents stay."""
    pairs, tokens, z, weight, rng = case
    alpha = rng.gamma(2.0, 0.3, N_TOPICS) + 0.1
    mine = np.zeros((4, N_TERMS, N_TOPICS))
    np.add.at(mine, (docs_of(tokens), tokens.terms, z), 1.0)
    n_vk = mine.sum(axis=0) + rng.integers(0, 3, (N_TERMS, N_TOPICS))
    counted = n_vk.astype(np.float32), n_vk.sum(axis=0)
    got = features.zbar_without(counted, (tokens, z), alpha, BETA, weight, pairs, EACH)
    np.testing.assert_array_equal(counted[0], n_vk, "the counts are not changed")
    for d in range(4):
        rest = n_vk - mine[d]
        rows = ((rest + BETA) / (rest.sum(axis=0) + N_TERMS * BETA)).astype(np.float32)
        wanted = features.zbar(rows, alpha, weight, pairs, EACH)[d]
        np.testing.assert_allclose(got[d], wanted, rtol=5e-4, atol=1e-5)
        known = ((n_vk + BETA) / (n_vk.sum(axis=0) + N_TERMS * BETA)).astype(np.float32)
        with_own = features.zbar(known, alpha, weight, pairs, EACH)[d]
        assert d == 2 or np.abs(got[d] - with_own).max() > 1e-3
