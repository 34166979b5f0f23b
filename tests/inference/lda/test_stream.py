"""Mini-batches against slow twins; the common factor; the mass of the counts."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import stream as twin

from bayou.inference.lda import documents, hybrid, stream
from bayou.run import shards

ALPHA, BETA, N_TERMS = np.array([0.3, 0.1, 0.6]), 0.05, 14
KINDS = pytest.mark.parametrize("kind", ["hybrid", "scvb0"])


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def batch(seed, n_docs=6, fractional=False):
    """Counts with an empty document, over all terms but the last."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n_docs, N_TERMS)).astype(np.float32)
    if fractional:
        X *= rng.uniform(0.1, 1.5, X.shape).astype(np.float32)
    X[2], X[:, -1] = 0, 0
    return X


def local(step=1, burn_in=2, n_samples=3):
    return stream.BatchSettings(ALPHA, BETA, burn_in, n_samples, 9, step)


def start(scale=1.0, seed=0):
    """Global counts, and the same written out in double precision."""
    raw = np.random.default_rng(seed).gamma(1.0, 3.0, (N_TERMS, 3)).astype(np.float32)
    written = scale * raw.astype(np.float64)
    return stream.StreamCounts(raw, scale, written.sum(axis=0)), written


def stepped(kind, g, X, p, rho, gain, each=serial):
    pairs = documents.pairs_of(csr_array(X))
    if kind == "hybrid":
        tokens = documents.tokens_of(pairs)
        g, lists = hybrid.step(g, tokens, p, rho, gain, each)
        return g, hybrid.doc_topic(lists, tokens, len(p.alpha), each)
    return stream.scvb0_step(g, pairs, p, rho, gain, each)


def test_a_variational_step_is_its_twin():
    for scale in (1.0, 0.02):
        g, written = start(scale)
        for t in range(1, 5):
            X, rho, gain = batch(t, fractional=t == 3), (3.0 + t) ** -0.6, 4.0
            written, docs = twin.scvb0_step(written, X.astype(float), local(t), rho, gain)
            g, doc_topic = stepped("scvb0", g, X, local(t), rho, gain)
            np.testing.assert_allclose(doc_topic, docs, rtol=2e-4, atol=1e-5)
            np.testing.assert_allclose(g.scale * g.raw, written, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(g.topic, written.sum(axis=0), rtol=1e-4)


@KINDS
def test_only_the_rows_of_the_batch_are_written(kind):
    g, _ = start()
    before, X = g.raw.copy(), batch(3)
    X[:, 4] = 0
    after, _ = stepped(kind, g, X, local(), 0.2, 1.0)
    assert after.raw is g.raw
    assert after.scale == pytest.approx(0.8)
    unseen = X.sum(axis=0) == 0
    np.testing.assert_array_equal(after.raw[unseen], before[unseen])
    assert (after.raw[~unseen] != before[~unseen]).any(axis=1).all()


@KINDS
def test_a_small_factor_is_multiplied_in(kind):
    """Folded or not, the counts are the same; after folding the factor is one."""
    X, outcome = batch(5), []
    for scale in (1.2e-6, 0.5):  # 1.2e-6 falls under the threshold in this step
        raw = np.random.default_rng(0).gamma(1.0, 3.0, (N_TERMS, 3)) / scale
        g = stream.StreamCounts(raw.astype(np.float32), scale, scale * raw.sum(axis=0))
        outcome.append(stepped(kind, g, X, local(), 0.3, 2.0)[0])
    folded, plain = outcome
    assert folded.scale == 1.0
    assert plain.scale == pytest.approx(0.35)
    np.testing.assert_allclose(folded.raw, plain.scale * plain.raw, rtol=1e-4)
    np.testing.assert_allclose(folded.topic, plain.topic, rtol=1e-5)


@KINDS
def test_mass_is_blended_and_totals_follow_over_many_steps(kind):
    """Mass after a batch: (1 - rho) of what was, and rho * gain of the batch's tokens."""
    g, written = start()
    mass = written.sum()
    for t in range(1, 200):
        X, rho, gain = batch(t), (1.0 + t) ** -0.51, 3.0
        mass = (1 - rho) * mass + rho * gain * X.sum()
        g, doc_topic = stepped(kind, g, X, local(t), rho, gain)
        np.testing.assert_allclose(doc_topic.sum(axis=1), X.sum(axis=1), rtol=1e-4, atol=1e-6)
    assert g.scale * g.raw.sum(dtype=float) == pytest.approx(mass, rel=1e-4)
    assert g.topic.sum() == pytest.approx(mass, rel=1e-4)
    np.testing.assert_allclose(g.topic, g.scale * g.raw.sum(axis=0, dtype=float), rtol=1e-3)
    assert 1e-7 < g.scale <= 1.0


@KINDS
def test_threads_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(shards, "_PIECE", 1e-6)
    monkeypatch.setattr(shards, "_LEAST", 0)
    X = batch(8, n_docs=40)
    whole, docs = stepped(kind, start()[0], X, local(), 0.2, 1.0)
    for n_threads in (2, 4):
        with shards.Workers(n_threads) as workers:
            g, doc_topic = stepped(kind, start()[0], X, local(), 0.2, 1.0, workers.each)
        np.testing.assert_array_equal(g.raw, whole.raw)
        np.testing.assert_array_equal(g.topic, whole.topic)
        np.testing.assert_array_equal(doc_topic, docs)


@KINDS
def test_a_batch_of_empty_documents_only_decays(kind):
    g, written = start()
    X = np.zeros((3, N_TERMS), np.float32)
    after, doc_topic = stepped(kind, g, X, local(), 0.25, 5.0)
    np.testing.assert_allclose(after.scale * after.raw, 0.75 * written, rtol=1e-6)
    np.testing.assert_allclose(after.topic, 0.75 * written.sum(axis=0), rtol=1e-6)
    assert not doc_topic.any()


def test_the_start_is_noise_with_the_mass_asked_for():
    pairs = documents.pairs_of(csr_array(batch(1, n_docs=400)))
    g = stream.start(pairs, N_TERMS, 200, 1e5, 4, serial)
    assert g.topic.sum() == pytest.approx(1e5, rel=0.2)
    np.testing.assert_allclose(g.topic, g.scale * g.raw.sum(axis=0, dtype=float), rtol=1e-6)
    assert not g.raw[-1].any()  # the term that never occurs
    empty = documents.pairs_of(csr_array(np.zeros((2, N_TERMS), np.float32)))
    g = stream.start(empty, N_TERMS, 3, 1.0, 4, serial)
    assert np.isfinite(g.raw).all()


def test_the_pace_of_a_stream():
    p = SimpleNamespace(tau=3.0, kappa=0.7, n_docs=None)
    assert stream.pace(4, 20, 5, p) == (5, 25, 8.0**-0.7, 5.0, False)
    p.n_docs = 20
    assert stream.pace(4, 20, 5, p) == (5, 25, 8.0**-0.7, 4.0, True)
    assert not stream.pace(4, 19, 5, p).again
    for kappa in (0.6, 1.0):
        summed = sum((10.0 + t) ** -kappa for t in range(1, 201))
        assert stream.renewals(200, 10.0, kappa) == pytest.approx(summed, rel=0.02)


def test_a_pass_has_forty_steps_where_it_can():
    assert [stream.batch_size(n) for n in (1, 60, 2000, 100_000, None)] == [8, 8, 50, 128, 64]
