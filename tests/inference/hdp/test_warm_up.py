"""Merges of the first sweeps: the gain against the reference, and what is merged."""

import math

import numpy as np
import pytest
from tests.kernels.hdp.test_franchise import check_counts, corpus_of
from tests.reference import franchise as reference

from bayou import HDP
from bayou.inference.hdp import franchise, sweeps, warm_up

PRIOR = franchise.FranchisePrior(1.3, 0.8, 0.0, 0.4)


def made(n_docs, topics, seed=1, n_terms=12):
    """Documents of 20 tokens; the first half of them uses the first six terms, the others the rest."""
    rng = np.random.default_rng(seed)
    docs = np.repeat(np.arange(n_docs), 20)
    terms = rng.integers(0, 6, len(docs)) + 6 * (docs >= n_docs // 2)
    corpus = corpus_of(docs, terms, n_terms, PRIOR, "tables")
    z = topics(docs, terms, rng).astype(np.uint16)
    return corpus, franchise.start(corpus, int(z.max()) + 1, PRIOR, 1, z), docs, terms


def log_target(z, docs, terms, g, n_terms):
    """ln p(z, g, w) without the factors that two states of the same unseen mass share."""
    value = reference.log_words(list(z), list(terms), n_terms, PRIOR.beta)
    for k in np.unique(z):
        value += math.log(PRIOR.gamma) - math.log(g[k])
        for n in np.bincount(docs[z == k]):
            if n:
                value += math.lgamma(PRIOR.alpha * g[k] + n) - math.lgamma(PRIOR.alpha * g[k])
    return value


def test_the_gain_is_the_ratio_of_two_states():
    """With the Jacobian g1 + g2 of the shares of the two topics."""
    corpus, chain, docs, terms = made(6, lambda d, t, rng: rng.integers(0, 3, len(d)))
    root = np.full(len(chain.counts.topic) + 1, 0.1)
    root[:3] = 0.2, 0.3, 0.25
    z = chain.z.astype(int)
    at = np.flatnonzero((z == 0) | (z == 2))
    found = warm_up.log_gain(chain, corpus, root, PRIOR, [0, 2], at)
    one, g = np.where(z == 2, 0, z), root.copy()
    g[0] += g[2]
    expected = log_target(z, docs, terms, root, 12) - log_target(one, docs, terms, g, 12)
    assert found == pytest.approx(expected + math.log(g[0]))


def test_parts_of_a_topic_are_merged_and_topics_are_not():
    """Two themes, the first of them divided at random between two topics in every document."""
    corpus, chain, docs, _ = made(
        20, lambda d, t, rng: np.where(d < 10, rng.integers(0, 2, len(d)), 2)
    )
    root = franchise.draw_root(chain, PRIOR, 1, 1)
    assert warm_up.merge_topics(chain, corpus, root, PRIOR) == 1
    assert len(np.unique(chain.z[docs < 10])) == len(np.unique(chain.z[docs >= 10])) == 1
    assert chain.counts.sizes[1] == (chain.counts.topic > 0).sum() == 2
    franchise.seat(chain, corpus, root, PRIOR, 1, 1)
    check_counts(chain, corpus)
    assert warm_up.merge_topics(chain, corpus, root, PRIOR) == 0


def test_likeness_is_that_of_the_words():
    _, chain, _, _ = made(6, lambda d, t, rng: rng.integers(0, 3, len(d)))
    found, counts = warm_up.likeness(chain), chain.counts.term_topic.astype(float)
    rows = counts / np.maximum(counts.sum(axis=0), 1)
    expected = rows.T @ rows
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(found, expected)


def test_merges_end_within_the_warm_up(monkeypatch):
    """Kept sweeps come from the exact sampler alone."""
    steps = []
    monkeypatch.setattr(warm_up, "merge_topics", lambda *given: steps.append(0))
    corpus, chain, _, _ = made(6, lambda d, t, rng: rng.integers(0, 3, len(d)))
    how = HDP(n_sweeps=40, sampler="tables").resolve().how
    for step in range(1, 41):
        before = len(steps)
        chain, _, _ = sweeps.draw_chain(chain, corpus, PRIOR, how, False, 1, step)
        assert (len(steps) > before) == (step in (5, 10))
    assert HDP(burn_in=0).resolve().how.last_merges == 0
    assert HDP(n_sweeps=90, burn_in=30).resolve().how.last_merges == 15
