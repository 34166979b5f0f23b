"""The floor above the labels: twins of both floors together, and what joins them."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.kernels.labels.test_label_sweep import (
    DOCS,
    N_LABELS,
    N_TERMS,
    label_of,
    laid_out,
    prior_of,
)
from tests.reference import labels as twin
from tests.reference.lda import Stream, pick

from bayou.inference.labels import assignments as part
from bayou.kernels.labels import links


@pytest.mark.parametrize("blocked", [True, False])
def test_both_floors_are_their_twin_draw_for_draw(blocked):
    slow_sweep = twin.block_sweep if blocked else twin.alternating_sweep
    data, prior, n_topics = laid_out(), prior_of(), 2
    alpha, beta_y = np.array([0.4, 0.9]), 0.2
    z = part.start_chain(data, 5)
    k = np.zeros(len(z), np.uint16)
    links.start_links(k, data.token_ptr, n_topics, 5)
    chain = part.chain_counts(z, np.zeros(len(data.cell_labels), np.float32), data, prior)
    n_yk, n_k = np.zeros((N_LABELS, n_topics), np.float32), np.zeros(n_topics)
    labels = np.array(label_of(data, z), np.uint32)
    links.count_links(n_yk, n_k, labels, k)
    slow_z, slow_k = labels.tolist(), k.tolist()
    for sweep in range(3):
        links.block_sweep(
            z, k, data.whole, chain.cells, chain.totals, (prior.beta, prior.vbeta),
            (n_yk, n_k, alpha, beta_y), chain.kept, blocked, 5, sweep,
        )  # fmt: skip
        slow_z, slow_k = slow_sweep(
            DOCS, slow_z, slow_k, N_TERMS, N_LABELS, n_topics, 0.1, beta_y, alpha, 5, sweep
        )
        assert label_of(data, z) == slow_z
        assert k.tolist() == slow_k
    counted = np.zeros((N_LABELS, n_topics))
    np.add.at(counted, (slow_z, slow_k), 1)
    np.testing.assert_array_equal(n_yk, counted)
    np.testing.assert_array_equal(n_k, counted.sum(axis=0))
    assert chain.kept.sum() == pytest.approx(3 * len(z))


def test_labels_are_drawn_from_their_probabilities():
    counts = csr_array(np.array([[2.0, 1.0], [0.0, 3.0]]))
    data = part.prepare(counts, csr_array(np.ones((2, 2))))
    share = np.array([0.9, 0.1, 0.2, 0.8, 0.5, 0.5], np.float32)
    labels = np.zeros(6, np.uint32)
    links.draw_shares(labels, data.whole, share, 7, 2)
    wanted = []
    for d, pairs in enumerate([[(0, 2), (1, 1)], [(2, 3)]]):
        stream = Stream(7, twin.LABEL_TOPICS, 3, d)
        for p, n in pairs:
            wanted += [pick(share[2 * p : 2 * p + 2], stream.next()) for _ in range(n)]
    assert labels.tolist() == wanted


def test_places_become_labels():
    out = np.zeros(3, np.uint32)
    links.labels_of(
        out, np.array([1, 0, 0], np.int32), np.array([0, 2, 3]), np.array([0, 2, 3]),
        np.array([4, 7, 9], np.int32),
    )  # fmt: skip
    assert out.tolist() == [7, 4, 9]
