"""The samplers over a corpus: counts stay true, scores are the joint, threads change nothing."""

import numpy as np
import pytest
from scipy import stats
from tests.reference import lda

from bayou.inference.lda import documents, fold_in, sampler
from bayou.run import shards

ALPHA, BETA, N_TERMS = np.array([0.2, 0.5, 0.1]), 0.1, 12


def serial(work, ends, cost=1.0):
    work(0, len(ends) - 1)


def make_chain(seed=0, lengths=(9, 0, 1, 14, 6)):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    terms = rng.integers(0, N_TERMS - 1, indptr[-1]).astype(np.uint32)  # the last term is unused
    return sampler.make_chain(documents.Tokens(indptr, terms), N_TERMS, seed)


def swept(kind, chain, n_sweeps, each=serial):
    state = sampler.start(chain, 3, sampler.N_PROPOSALS if kind == "mh" else 0, each)
    counts = sampler.count_terms(state, chain, 3, each)
    for step in range(1, n_sweeps + 1):
        if kind == "gibbs":
            sampler.gibbs(state, counts, chain, ALPHA, BETA, step)
        elif kind == "snapshot":
            sampler.snapshot(state, chain, ALPHA, BETA, step, each)
        else:
            sampler.metropolis(state, chain, ALPHA, BETA, step, each)
    if kind != "gibbs":
        counts = sampler.count_terms(state, chain, 3, each)
    return state, counts


KINDS = pytest.mark.parametrize("kind", ["gibbs", "snapshot", "mh"])


@KINDS
def test_counts_follow_the_topics(kind):
    chain = make_chain()
    state, counts = swept(kind, chain, 4)
    n_dk, n_vk, _ = lda.counts(state[:, 0], *chain.tokens, 3, N_TERMS)
    np.testing.assert_array_equal(counts, n_vk)
    np.testing.assert_array_equal(sampler.count_docs(state, chain, 3, serial), n_dk)


@pytest.mark.parametrize("kind", ["gibbs", "snapshot"])
def test_sweeps_are_their_twins(kind):
    chain = make_chain(3)
    z = lda.start_uniform(chain.tokens.indptr, 3, 3)
    twin = lda.gibbs_sweep if kind == "gibbs" else lda.snapshot_sweep
    for step in (1, 2, 3):
        z = twin(z, *chain.tokens, ALPHA, BETA, N_TERMS, 3, step)
    np.testing.assert_array_equal(swept(kind, chain, 3)[0][:, 0], z)


def test_metropolis_is_its_twin_with_totals_renewed_between_passes():
    chain = make_chain(4)
    state = sampler.start(chain, 3, 2, serial)
    twin = state.copy()
    docs = [(d, list(span)) for d, span in enumerate(lda.spans(chain.tokens.indptr))]
    words = [(v, np.flatnonzero(chain.tokens.terms == v).tolist()) for v in chain.by_term.terms]
    flat = np.full(3, BETA)
    for step in (1, 2, 3):
        sampler.metropolis(state, chain, ALPHA, BETA, step, serial)
        for groups, prior, purpose in ((words, flat, lda.WORD_PASS), (docs, ALPHA, lda.DOC_PASS)):
            inv = 1.0 / (np.bincount(twin[:, 0], minlength=3) + N_TERMS * BETA)
            table = sampler._table(prior)
            twin = lda.pass_over(twin, groups, prior, table, inv, (4, purpose, step))
        np.testing.assert_array_equal(state, twin)


def test_snapshot_of_a_single_token_is_exact():
    """With one token in all there is nothing to be stale: snapshot and exact weights agree."""
    chain = make_chain(5, lengths=(1,))
    drawn = []
    for kind in ("gibbs", "snapshot"):
        state = sampler.start(chain, 3, 0, serial)
        counts, seen = sampler.count_terms(state, chain, 3, serial), []
        for step in range(200):
            if kind == "gibbs":
                sampler.gibbs(state, counts, chain, ALPHA, BETA, step)
            else:
                sampler.snapshot(state, chain, ALPHA, BETA, step, serial)
            seen.append(int(state[0, 0]))
        drawn.append(seen)
    assert drawn[0] == drawn[1]


@KINDS
def test_log_joint_is_the_lgamma_formula(kind):
    chain = make_chain(1)
    state, counts = swept(kind, chain, 2)
    z = state[:, 0].astype(int)
    expected = lda.log_joint(z, *chain.tokens, ALPHA, BETA, N_TERMS) / len(z)
    assert sampler.log_joint(state, counts, chain, ALPHA, BETA) == pytest.approx(
        expected, rel=1e-12
    )


@KINDS
def test_threads_change_nothing(kind, monkeypatch):
    monkeypatch.setattr(shards, "_PIECE", 1e-6)
    monkeypatch.setattr(shards, "_LEAST", 0)
    chain = make_chain(2, lengths=[5, 0, 17, 1] * 10)
    whole = swept(kind, chain, 5)[0]
    for n_threads in (2, 4):
        with shards.Workers(n_threads) as workers:
            np.testing.assert_array_equal(swept(kind, chain, 5, workers.each)[0], whole)


@KINDS
@pytest.mark.parametrize("lengths", [(0,), (0, 0, 0), (1,), (1, 0, 1)])
def test_corpora_with_little_in_them(kind, lengths):
    chain = make_chain(lengths=lengths)
    state, counts = swept(kind, chain, 3)
    assert counts.sum() == sum(lengths)
    assert np.isfinite(sampler.log_joint(state, counts, chain, ALPHA, BETA))


def test_starts_from_a_point_estimate():
    chain = make_chain(6, lengths=(9, 0, 4000))
    rows = np.random.default_rng(0).dirichlet(np.ones(3), N_TERMS).astype(np.float32)
    n_dk = np.array([[1, 2, 6], [0, 0, 0], [3000, 0, 1000]], np.float32)
    state = sampler.start_from(chain, rows, n_dk, ALPHA, 2, serial)
    twin = lda.start_expected(*chain.tokens, rows, n_dk, ALPHA.astype(np.float32), 6)
    np.testing.assert_array_equal(state[:, 0], twin)
    assert np.isin(state[:9], state[:9, 0]).all()
    under = sampler.start_from_topics(chain, rows, ALPHA, 0, serial)
    assert under.shape == (4009, 1)
    assert under.max() < 3


def test_sampled_counts_have_the_exact_mean():
    """E[n_d] under fixed topics, by enumeration of a document, against the mean of many draws."""
    chain = make_chain(7, lengths=(4, 0, 3))
    rows = np.random.default_rng(1).dirichlet(np.ones(3), N_TERMS).astype(np.float32)
    draws = fold_in.draw_counts(rows, ALPHA, chain.tokens, chain.ids, 7, (20, 20_000), serial)
    np.testing.assert_array_equal(draws.sum(axis=2), np.tile([4, 0, 3], (20_000, 1)))
    for d, span in enumerate(lda.spans(chain.tokens.indptr)):
        states = list(np.ndindex(*[3] * len(span)))
        law = lda.polya(states, ALPHA, rows[chain.tokens.terms[span.start : span.stop]])
        mean = sum(p * np.bincount(s, minlength=3) for s, p in zip(states, law, strict=True))
        np.testing.assert_allclose(draws[:, d].mean(axis=0), mean, atol=0.06)


def drawn_topics(counts, beta, n):
    return np.array([sampler.draw_topics(counts, beta, 5, step, serial) for step in range(n)])


def test_drawn_topics_have_dirichlet_moments():
    counts = np.array([[5, 0, 40], [1, 0, 2], [0, 3, 9], [7, 2, 1]], np.float32)
    drawn = drawn_topics(counts, 0.5, 4000)
    np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-5)
    for k, column in enumerate(counts.T.astype(float)):
        law = stats.dirichlet(column + 0.5)
        np.testing.assert_allclose(drawn[:, :, k].mean(axis=0), law.mean(), atol=0.012)
        np.testing.assert_allclose(drawn[:, :, k].var(axis=0), law.var(), rtol=0.12, atol=1e-4)
    marginal = stats.beta(5.5, counts[:, 0].sum() + 4 * 0.5 - 5.5)
    assert stats.kstest(drawn[:, 0, 0], marginal.cdf).pvalue > 1e-3


def test_drawn_topics_of_empty_topics_are_topics():
    """With a small beta nearly all of a topic lies on one term; which one, chance decides."""
    for beta in (0.01, 1e-6, 1e-30):
        drawn = drawn_topics(np.zeros((3, 50), np.float32), beta, 40)
        assert np.isfinite(drawn).all()
        assert (drawn > 0).all()
        np.testing.assert_allclose(drawn.sum(axis=1), 1.0, rtol=1e-5)
        first = np.bincount(drawn.argmax(axis=1).ravel(), minlength=3) / 2000
        np.testing.assert_allclose(first, 1 / 3, atol=0.06)


def test_drawn_topics_do_not_depend_on_the_cut():
    counts = np.random.default_rng(0).poisson(2.0, (12, 3)).astype(np.float32)
    whole = sampler.draw_topics(counts, 0.1, 5, 7, serial)

    def piecewise(work, ends, cost=1.0):
        for i in reversed(range(len(ends) - 1)):
            work(i, i + 1)

    np.testing.assert_array_equal(sampler.draw_topics(counts, 0.1, 5, 7, piecewise), whole)
    assert not np.array_equal(sampler.draw_topics(counts, 0.1, 5, 8, serial), whole)
    assert not np.array_equal(sampler.draw_topics(counts, 0.1, 6, 7, serial), whole)
