"""Topics over labels by direct assignment: draws of the twin, and the posterior by enumeration."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from tests.reference import label_stream as twin

from bayou.inference.labels import roots, stacked
from bayou.inference.labels.roots import Level
from bayou.kernels.labels import stacked as kernels
from bayou.kernels.rng import GOLDEN, STACK_TOKEN, key, unit

TOKENS = (np.array([0, 2, 3]), np.array([0, 1, 1], np.uint32))  # two documents, two labels
G, H = np.array([0.3, 0.7]), np.array([0.6, 0.4])


def counted(z, tokens=TOKENS, n_topics=2, n_labels=2):
    label_topic = np.zeros((n_labels, n_topics), np.float32)
    np.add.at(label_topic, (tokens[1], z), 1)
    return label_topic, label_topic.sum(axis=0, dtype=float)


def doc_counts(z, tokens=TOKENS, n_topics=2):
    indptr = tokens[0]
    pieces = [z[a:b] for a, b in itertools.pairwise(indptr)]
    return np.array([np.bincount(p, minlength=n_topics) for p in pieces])


def log_joint(z, alpha, mass):
    label_topic, _ = counted(np.array(z))
    above = sum(twin.log_dm(row, alpha) for row in doc_counts(np.array(z)))
    return above + sum(twin.log_dm(label_topic[:, k], mass) for k in range(2))


def test_sweeps_draw_what_the_twin_draws():
    rng = np.random.default_rng(0)
    tokens = (np.array([0, 3, 3, 7, 9]), rng.integers(0, 4, 9).astype(np.uint32))
    alpha, mass = np.array([0.5, 1.0, 0.2]), np.array([0.3, 0.1, 2.0, 0.6])
    z = rng.integers(0, 3, 9).astype(np.uint16)
    label_topic, topic = counted(z, tokens, 3, 4)
    mine, lt, n_k = z.copy(), label_topic.copy(), topic.copy()
    for sweep in range(3):
        kernels.stack_sweep(mine, tokens, lt, n_k, alpha, mass, 7, sweep)
        for d, (a, b) in enumerate(itertools.pairwise(tokens[0])):
            at = int(key(7, STACK_TOKEN, sweep, d))
            for i in range(a, b):
                at = (at + int(GOLDEN)) % 2**64
                n = np.bincount(np.delete(z[a:b], i - a), minlength=3)
                y, rest = tokens[1][i], np.delete(np.arange(9), i)
                n_yk = np.array([((z[rest] == k) & (tokens[1][rest] == y)).sum() for k in range(3)])
                n_all = np.array([(z[rest] == k).sum() for k in range(3)])
                w = (n + alpha) * (n_yk + mass[y]) / (n_all + mass.sum())
                ends = np.cumsum(w)
                z[i] = min(int(np.searchsorted(ends, unit(np.uint64(at)) * ends[-1], "right")), 2)
        np.testing.assert_array_equal(mine, z)
    np.testing.assert_allclose(lt, counted(z, tokens, 3, 4)[0])


def test_chain_under_fixed_roots_reaches_the_posterior():
    alpha, mass = 1.5 * G, 2.0 * H
    states = list(itertools.product(range(2), repeat=3))
    weights = np.exp([log_joint(z, alpha, mass) for z in states])
    z = np.zeros(3, np.uint16)
    label_topic, topic = counted(z)
    seen, n = Counter(), 20_000
    for sweep in range(n):
        kernels.stack_sweep(z, TOKENS, label_topic, topic, alpha, mass, 1, sweep)
        seen[tuple(z.tolist())] += 1
    found = np.array([seen[s] / n for s in states])
    assert 0.5 * np.abs(found - weights / weights.sum()).sum() < 0.02


@pytest.mark.slow
def test_whole_chain_reaches_the_posterior_with_roots_summed_out():
    b1, b0, c1, c0 = 1.3, 0.8, 0.9, 1.7
    states = list(itertools.product(range(2), repeat=3))
    weights = np.array(
        [
            twin.franchise(doc_counts(np.array(z)), b1, b0)
            * twin.franchise(counted(np.array(z))[0].T, c1, c0)
            for z in states
        ]
    )
    chain = stacked.StackedChain(
        np.zeros(3, np.uint16), *counted(np.zeros(3, int)), Level(G, b1, b0), Level(H, c1, c0)
    )
    seen, n = Counter(), 40_000
    for sweep in range(n):
        chain = stacked.sweep(chain, TOKENS, (False, False, False), 1, sweep)
        seen[tuple(chain.z.tolist())] += 1
    found = np.array([seen[s] / n for s in states])
    assert 0.5 * np.abs(found - weights / weights.sum()).sum() < 0.02


def test_the_franchise_by_hand_is_that_of_given_roots_on_average():
    rng = np.random.default_rng(0)
    counts = np.array([[2, 0], [1, 1]])
    drawn = rng.dirichlet([0.4, 0.4], 40_000)
    mean = np.mean(
        [math.exp(sum(twin.log_dm(row, 1.3 * g) for row in counts)) for g in drawn[:4000]]
    )
    assert twin.franchise(counts, 1.3, 0.8) == pytest.approx(mean, rel=0.05)


def test_tables_are_between_one_and_the_tokens():
    z = np.array([0, 0, 0, 1, 1, 1, 1], np.uint16)
    tables, per_doc = np.zeros(2, np.int64), np.zeros(2, np.int64)
    kernels.document_tables(tables, per_doc, z, np.array([0, 4, 7]), np.array([1.0, 1.0]), 3, 0)
    assert tables.sum() == per_doc.sum()
    assert (tables >= [1, 2]).all()
    assert (tables <= [3, 4]).all()
    n = np.array([3, 1, 0, 3])
    same, also = np.zeros(2, np.int64), np.zeros(2, np.int64)
    at = (np.array([0, 2, 4]), np.array([0, 1, 0, 1], np.int32))
    kernels.entry_tables(same, also, n, *at, np.array([1.0, 1.0]), 3, 0)
    np.testing.assert_array_equal(also, per_doc)
    np.testing.assert_array_equal(same, tables)


def test_roots_follow_tables_and_concentrations_are_learned():
    level = roots.start(3, None, None)
    tables, per_place, sizes = np.array([400, 40, 0]), np.full(44, 10), np.full(44, 30)
    found = [
        roots.redraw_level(level, tables, per_place, sizes, (True, True), 1, s) for s in range(300)
    ]
    assert np.mean([one.root for one in found], axis=0) == pytest.approx(
        [0.908, 0.091, 0.001], abs=0.01
    )
    assert all(one.below > 0 and one.above > 0 for one in found)
    still = roots.redraw_level(level, tables, per_place, sizes, (False, False), 1, 0)
    assert (still.below, still.above) == (level.below, level.above)
