"""Topics of (document, term) pairs under fixed topics: shares of each pair, and sums of each document."""

import numpy as np
from scipy.sparse import csr_array

from bayou.inference.lda import fold_in
from bayou.inference.lda.documents import pairs_of
from bayou.run.shards import Workers


def test_counts_times_shares_add_up_to_the_expected_counts_of_each_document():
    rng = np.random.default_rng(4)
    counts = rng.poisson(1.0, (6, 9)).astype(np.float32)
    counts[2] = 0
    pairs = pairs_of(csr_array(counts))
    rows = rng.dirichlet(np.full(9, 0.5), 3).T.astype(np.float32) + np.float32(1e-3)
    alpha = np.array([0.3, 0.1, 0.6])
    with Workers(1) as workers:
        expected = fold_in.expected_counts(rows, alpha, pairs, workers.each)
    shares = fold_in.pair_topics(rows, alpha, pairs)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, rtol=1e-5)
    docs = np.repeat(np.arange(6), np.diff(pairs.indptr))
    sums = np.zeros((6, 3))
    np.add.at(sums, docs, pairs.counts[:, None] * shares)
    there = counts.any(axis=1)
    np.testing.assert_allclose(sums[there], expected[there], rtol=1e-3, atol=1e-4)
