"""Topics that are one are merged, others are not; names and counts stay in order."""

import numpy as np
import pytest

from bayou.inference.hdp import merge, root
from bayou.inference.lda import stream


def counts(seed=0, n_terms=50, tokens=2000.0):
    """Two topics of one theme, two of others, and an empty slot."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(n_terms, 0.2), 3)
    rows = [rng.multinomial(int(tokens), themes[k]) for k in (0, 0, 1, 2)]
    return np.array([*rows, np.zeros(n_terms)]).T.astype(np.float32)


def predictive(counts, beta):
    """ln of the probability of one column, token after token."""
    total, seen = 0.0, np.zeros(len(counts))
    for v, n in enumerate(counts.astype(int)):
        for _ in range(n):
            total += np.log((seen[v] + beta) / (seen.sum() + len(counts) * beta))
            seen[v] += 1
    return total


def test_evidence_is_the_product_of_predictive_probabilities():
    X = counts(tokens=60)[:, :3].astype(float)
    want = [predictive(X[:, k], 0.1) for k in range(3)]
    np.testing.assert_allclose(merge.evidence(X, 0.1), want, rtol=1e-10)
    both = merge.gain(X[:, :2], 0.1)
    assert both == pytest.approx(predictive(X[:, 0] + X[:, 1], 0.1) - sum(want[:2]), rel=1e-9)


def test_pairs_are_alike_and_disjoint():
    found = merge.pairs(counts(), np.arange(4))
    assert found[0] == (0, 1)
    flat = [k for pair in found for k in pair]
    assert len(flat) == len(set(flat))


def test_one_theme_becomes_one_topic():
    for scale in (1.0, 0.25):
        raw = counts() / np.float32(scale)
        g = stream.StreamCounts(raw.copy(), scale, scale * raw.sum(axis=0, dtype=float))
        tables = np.array([10.0, 30.0, 20.0, 5.0, 0.0])
        names = root.TopicIds(np.array([7, 8, 9, 10, root.SPARE]), 11, 2)
        after = merge.merge_topics(g, tables, names, np.arange(4), 0.05)
        assert after.ids.tolist() == [
            root.SPARE,
            8,
            9,
            10,
            root.SPARE,
        ]  # more tables: the name stays
        assert (after.n_born, after.n_died) == (11, 3)
        np.testing.assert_allclose(g.raw[:, 1], raw[:, 0] + raw[:, 1])
        assert not g.raw[:, 0].any()
        assert tables.tolist() == [0.0, 40.0, 20.0, 5.0, 0.0]
        np.testing.assert_allclose(g.topic, scale * g.raw.sum(axis=0, dtype=float))


def test_what_has_become_one_becomes_one_with_a_third():
    rng = np.random.default_rng(1)
    theme = rng.dirichlet(np.full(50, 0.2))
    raw = np.array([rng.multinomial(2000, theme) for _ in range(5)]).T.astype(np.float32)
    g = stream.StreamCounts(raw, 1.0, raw.sum(axis=0, dtype=float))
    tables = np.arange(5, 0, -1.0)
    after = merge.merge_topics(g, tables, root.first_names(5), np.arange(5), 0.05)
    assert (after.ids != root.SPARE).sum() == 1
    assert (after.n_born, after.n_died) == (5, 4)
    assert g.topic.max() == g.topic.sum() == 10_000
    assert tables.max() == 15.0
