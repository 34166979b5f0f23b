"""Mini-batches with births: the chain against its twin and against the enumerated posterior."""

from collections import Counter

import numpy as np
import pytest
from tests.inference.lda.test_stream import serial
from tests.reference import births as twin

from bayou.inference.hdp import births
from bayou.inference.lda import stream
from bayou.inference.lda.documents import Tokens
from bayou.kernels.hdp import birth_sweep

B1, B0, BETA, N_TERMS = 1.5, 0.8, 0.4, 4


def tokens_of(docs):
    ends = np.concatenate([[0], np.cumsum([len(d) for d in docs])])
    return Tokens(ends, np.array([v for d in docs for v in d], np.uint32))


def known_of(held, n_slots):
    """What is known as arrays; ``held`` maps slots to (counts of terms, tables)."""
    counts, tables = np.zeros((N_TERMS, n_slots)), np.zeros(n_slots)
    for k, (c, t) in held.items():
        counts[:, k], tables[k] = c, t
    prior = (B1, BETA, float(N_TERMS))
    return births.BatchPrior(counts, counts.sum(axis=0), tables, prior, B0)


ONE = {0: (np.array([2.0, 0.0, 0.5, 0.0]), 1.6)}


@pytest.mark.parametrize("held", [{}, ONE], ids=["from nothing", "one known"])
def test_draws_are_those_of_the_twin(held):
    docs, n_slots = [[0, 1, 1, 3], [], [2, 2, 0], [3]], 4
    known, tokens = known_of(held, n_slots), tokens_of(docs)
    named = np.isin(np.arange(n_slots), list(held))
    b = births.begin(tokens, N_TERMS, known, named)
    z, g = {}, {k: b.share[k] for k in held} | {twin.REST: b.share[-1]}
    for number in range(30):
        births.sweep(b, known, 5, number)
        twin.sweep(z, docs, g, held, B1, B0, BETA, N_TERMS, n_slots, 5, number)
        g = twin.shares(z, docs, g, held, B1, B0, n_slots, 5, number)
        want = [z[d, i] for d, doc in enumerate(docs) for i in range(len(doc))]
        np.testing.assert_array_equal(b.z, want)
        np.testing.assert_allclose(b.share[-1], g[twin.REST], rtol=1e-9)
        # births and deaths keep the whole: alpha (1 - sum pi) + sum alpha pi = alpha
        assert b.share.sum() == pytest.approx(1.0, abs=1e-12)
        assert set(np.flatnonzero(b.kind)) == set(want) | set(held)
        np.testing.assert_array_equal(b.totals, np.bincount(want, minlength=n_slots))
        np.testing.assert_array_equal(b.counts.sum(axis=0), b.totals)


LONG = pytest.param(300_000, 0.01, marks=pytest.mark.slow)


@pytest.mark.parametrize(("n", "distance"), [(40_000, 0.02), LONG])
@pytest.mark.parametrize("held", [{}, ONE], ids=["from nothing", "one known"])
def test_the_chain_visits_the_enumerated_posterior(held, n, distance):
    """Partitions of five tokens in two documents, tables and shares summed out."""
    docs, n_slots = [[0, 0, 1], [1, 2]], 6
    known = known_of(held, n_slots)
    named = np.isin(np.arange(n_slots), list(held))
    b = births.begin(tokens_of(docs), N_TERMS, known, named)
    found = Counter()
    for number in range(n):
        births.sweep(b, known, 1, number)
        found[twin.named(b.z, len(held))] += 1
    law = twin.law(docs, held, B1, B0, BETA, N_TERMS)
    assert set(found) <= set(law)
    assert 0.5 * sum(abs(found[z] / n - p) for z, p in law.items()) < distance


def test_without_a_slot_nothing_is_born():
    docs = [[0, 1, 2, 3] * 3] * 4
    known = known_of({}, 1)
    b = births.begin(tokens_of(docs), N_TERMS, known, np.zeros(1, bool))
    for number in range(5):
        births.sweep(b, known, 1, number)
    assert (b.z == 0).all()
    assert b.kind.tolist() == [birth_sweep.NEWBORN]


def test_a_step_blends_counts_and_gives_tables():
    rng = np.random.default_rng(0)
    docs = [rng.integers(0, N_TERMS, 8).tolist() for _ in range(5)]
    g = stream.StreamCounts(np.zeros((N_TERMS, 10), np.float32), 1.0, np.zeros(10))
    p = stream.BatchSettings(np.array([B1]), BETA, 2, 3, 7, 1)
    root = (np.zeros(10), np.zeros(10, bool), B0)
    after, opened = births.step(g, root, tokens_of(docs), p, (0.0, 2.0), serial)
    assert after.scale == 1.0
    np.testing.assert_allclose(after.raw.sum(axis=0), after.topic, rtol=1e-5)
    assert after.topic.sum() <= 2.0 * 40 + 1e-6  # less what newborn topics took with them
    assert ((opened > 0) == (after.topic > 0)).all()
    assert (opened <= after.topic / 2.0 + 1e-9).all()


def test_expected_tables_are_those_of_the_counts():
    z, indptr = np.array([0, 0, 2, 2, 2], np.int32), np.array([0, 2, 5])
    out, share = np.zeros(3), np.array([0.5, 0.1, 0.2, 0.2])
    birth_sweep.count_tables(out, z, indptr, share, 2.0)
    np.testing.assert_allclose(out, [1 + 1 / 2, 0, 1 + 0.4 / 1.4 + 0.4 / 2.4])
