"""Scores of labels under a frozen model, sparse against dense."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import labels as twin

from bayou.kernels.labels import scores


def model(seed=0, n_terms=6, n_labels=4):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(0.8, (n_terms, n_labels)).astype(np.float64)
    counts[0] = [3, 0, 0, 1]
    scale = 1 / (counts.sum(axis=0) + n_terms * 0.1)
    cells = csr_array(counts)
    rate = (cells.data * scale[cells.indices]).astype(np.float32)
    words = (cells.indptr.astype(np.int64), cells.indices.astype(np.int32), rate)
    return words, 0.1 * scale, (counts + 0.1) * scale


@pytest.mark.parametrize(("strength", "n_steps"), [(0.0, 1), (3.0, 4), (-1.0, 5)])
def test_scores_are_those_of_the_dense_model(strength, n_steps):
    words, base, phi = model()
    indptr = np.array([0, 2, 2, 5])
    pairs = (indptr, np.array([0, 3, 1, 2, 5], np.int32), np.array([2, 1, 1, 3, 1], np.float32))
    prior = np.random.default_rng(1).dirichlet(np.ones(4), 3)
    out = np.empty((3, 4))
    scores.score_docs(out, pairs, 0, 3, words, base, prior, strength, n_steps)
    for d in range(3):
        at = slice(indptr[d], indptr[d + 1])
        wanted = twin.scores(pairs[1][at], pairs[2][at], phi, prior[d], strength, n_steps)
        np.testing.assert_allclose(out[d], wanted, rtol=1e-6 if n_steps == 1 else 1e-5)
    np.testing.assert_allclose(out.sum(axis=1), 1.0)
    one = np.empty((3, 4))
    scores.score_docs(one, pairs, 0, 3, words, base, prior[:1], strength, n_steps)
    np.testing.assert_array_equal(one[0], out[0])  # one prior for all


def test_documents_whose_terms_few_labels_have_met_are_read_by_cells():
    n_terms, n_labels = 4, 40
    counts = np.zeros((n_terms, n_labels))
    counts[np.arange(n_terms), 9 * np.arange(n_terms)] = [3, 1, 2, 4]
    counts[0, 1] = 5
    scale = 1 / (counts.sum(axis=0) + n_terms * 0.1)
    cells = csr_array(counts)
    rate = (cells.data * scale[cells.indices]).astype(np.float32)
    words = (cells.indptr.astype(np.int64), cells.indices.astype(np.int32), rate)
    pairs = (np.array([0, 3]), np.array([0, 1, 3], np.int32), np.array([2, 1, 4], np.float32))
    assert not scores._is_dense_faster(pairs, 0, words, n_labels)
    prior = np.random.default_rng(1).dirichlet(np.ones(n_labels), 1)
    out = np.empty((1, n_labels))
    scores.score_docs(out, pairs, 0, 1, words, 0.1 * scale, prior, 3.0, 4)
    wanted = twin.scores(*pairs[1:], (counts + 0.1) * scale, prior[0], 3.0, 4)
    np.testing.assert_allclose(out[0], wanted, rtol=1e-6)


def test_topics_over_labels_as_terms():
    words, base, phi = model()
    links = np.random.default_rng(3).dirichlet(np.ones(4), 3)
    out = np.empty((6, 3), np.float32)
    rest = (links @ base).astype(np.float32)
    scores.term_topics(out, words, np.ascontiguousarray(links.T, np.float32), rest)
    np.testing.assert_allclose(out, phi @ links.T, rtol=1e-5)


def test_priors_are_mixtures_of_topics():
    rng = np.random.default_rng(2)
    counts, alpha = rng.gamma(1.0, 1.0, (3, 2)).astype(np.float32), np.array([0.3, 0.7])
    rows = rng.dirichlet(np.ones(5), 2)
    out = np.zeros((3, 5))
    scores.label_priors(out, counts, 0, 3, alpha, rows)
    theta = (counts + alpha) / (counts + alpha).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(out, theta @ rows, rtol=1e-6)
