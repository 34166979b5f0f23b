"""The Metropolis-Hastings passes: twins draw for draw, and invariance with fixed tables.

What staleness does. Within a pass the other side's counts and n_k are frozen and the proposals come
from a frozen table, so a pass is an exact Markov kernel for the law that these tables define:

    document pass   prod_d Polya(z_d | alpha) x prod_i (n_vk + beta) / (n_k + V beta)
    term pass       prod_v Polya(z_v | beta)  x prod_i (n_dk + alpha_k) / (n_k + V beta)

That is what is proved here. Between passes the tables are renewed from the tokens that have moved,
and a frozen table still contains the token itself, so whole sweeps only approximate the collapsed
posterior: a token moves against counts that are up to one pass old. The more tokens share a table,
the less one of them matters to it; `tests/statistical` compares the chain with the exact sampler's
on a corpus of useful size.
"""

import itertools

import numba
import numpy as np
import pytest
from tests.reference import lda

from bayou.kernels.alias import build_alias_into
from bayou.kernels.lda import mh_sweep

long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")
LENGTHS = [6, 0, 1, 13, 5]


def table(weights):
    n = len(weights)
    prob, alias = np.empty(n, np.float32), np.empty(n, np.int64)
    build_alias_into(prob, alias, weights, np.empty(n, np.int64), np.empty(n, np.int64))
    return prob, alias


def grouped(terms):
    distinct, tally = np.unique(terms, return_counts=True)
    at = np.argsort(terms, kind="stable").astype(np.int32)
    return distinct.astype(np.int32), np.concatenate([[0], np.cumsum(tally)]), at


def corpus(seed, n_topics, n_terms, n_proposals):
    rng = np.random.default_rng(seed)
    indptr = np.concatenate([[0], np.cumsum(LENGTHS)]).astype(np.int64)
    terms = rng.integers(0, n_terms, indptr[-1]).astype(np.uint32)
    state = rng.integers(0, n_topics, (indptr[-1], 1 + n_proposals)).astype(np.uint16)
    return indptr, terms, state, rng.gamma(1.0, 0.5, n_topics) + 0.01


def inverse_totals(state, n_topics, vbeta):
    return 1.0 / (np.bincount(state[:, 0], minlength=n_topics) + vbeta)


@pytest.mark.parametrize("n_proposals", [1, 2, 4])
@pytest.mark.parametrize(("n_topics", "n_terms"), [(1, 3), (2, 2), (5, 9), (40, 8)])
def test_sweeps_are_their_twins_draw_for_draw(n_topics, n_terms, n_proposals):
    indptr, terms, state, alpha = corpus(n_topics, n_topics, n_terms, n_proposals)
    beta, by_term = np.full(n_topics, 0.2), grouped(terms)
    docs = [(d, list(span)) for d, span in enumerate(lda.spans(indptr))]
    words = [(v, np.flatnonzero(terms == v).tolist()) for v in by_term[0]]
    prior_tables = table(beta), table(alpha)
    twin = state.copy()
    for sweep in range(3):
        inv = inverse_totals(state, n_topics, 0.2 * n_terms)
        mh_sweep.term_pass(state, by_term, 0, len(by_term[0]), beta, prior_tables[0], inv, 7, sweep)
        twin = lda.pass_over(twin, words, beta, prior_tables[0], inv, (7, lda.WORD_PASS, sweep))
        np.testing.assert_array_equal(state, twin)
        inv = inverse_totals(state, n_topics, 0.2 * n_terms)
        mh_sweep.doc_pass(state, indptr, 0, len(LENGTHS), alpha, prior_tables[1], inv, 7, sweep)
        twin = lda.pass_over(twin, docs, alpha, prior_tables[1], inv, (7, lda.DOC_PASS, sweep))
        np.testing.assert_array_equal(state, twin)


def test_first_proposals_are_topics_of_the_own_document():
    indptr, _, state, _ = corpus(1, 5, 9, 2)
    twin, flat = state.copy(), (np.ones(1, np.float32), np.zeros(1, np.int64))
    mh_sweep.propose_first(state, indptr, 0, len(LENGTHS), flat, 4)
    for d, span in enumerate(lda.spans(indptr)):
        stream = lda.Stream(4, lda.DOC_PASS, 2**64 - 1, d)
        lda.propose(twin, list(span), 0.0, flat, stream)
        assert np.isin(state[span.start : span.stop], state[span.start : span.stop, 0]).all()
    np.testing.assert_array_equal(state, twin)


def test_passes_may_be_cut_in_any_pieces():
    indptr, terms, state, alpha = corpus(0, 4, 9, 2)
    by_term, beta = grouped(terms), np.full(4, 0.2)
    inv, whole = inverse_totals(state, 4, 1.8), state.copy()
    n = len(by_term[0])
    mh_sweep.term_pass(whole, by_term, 0, n, beta, table(beta), inv, 3, 1)
    for lo, hi in ((2, n), (1, 2), (0, 1)):
        mh_sweep.term_pass(state, by_term, lo, hi, beta, table(beta), inv, 3, 1)
    np.testing.assert_array_equal(state, whole)
    mh_sweep.doc_pass(whole, indptr, 0, 5, alpha, table(alpha), inv, 3, 1)
    for lo, hi in ((3, 5), (0, 1), (1, 3)):
        mh_sweep.doc_pass(state, indptr, lo, hi, alpha, table(alpha), inv, 3, 1)
    np.testing.assert_array_equal(state, whole)


ALPHA = np.array([0.3, 0.9, 0.1])
TOTALS = np.array([4.0, 9.0, 2.0])  # frozen n_k + V beta
# Frozen n_vk + beta (or n_dk + alpha_k) of the four tokens of a group.
WEIGHTS = np.array([[1.2, 3.2, 0.2], [0.2, 2.2, 1.2], [1.2, 3.2, 0.2], [5.2, 0.2, 0.2]])


@pytest.mark.parametrize("n_tokens", [1, 2, 4])
def test_the_acceptance_rule_leaves_its_law_invariant(n_tokens):
    """The whole transition matrix is written out with the twin's rule: pi P = pi to rounding."""
    weights = WEIGHTS[:n_tokens]
    laws = weights / weights.sum(axis=1, keepdims=True)
    states, scan = lda.settle_matrix(ALPHA, 1 / TOTALS, laws, 3)
    np.testing.assert_allclose(scan.sum(axis=1), 1, rtol=1e-12)
    law = lda.polya(states, ALPHA, weights / TOTALS)
    np.testing.assert_allclose(law @ scan, law, rtol=1e-11)


def fixed_proposals(n_steps, n_tokens, n_proposals, seed):
    """Proposals of every token at every step, from its own frozen table."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum(WEIGHTS[:n_tokens], axis=1)
    u = rng.random((n_steps, n_tokens, n_proposals)) * edges[:, -1:]
    return (u[..., None] >= edges[:, None, :-1]).sum(axis=-1).astype(np.uint16)


def long_run(n_tokens, n_proposals, step):
    proposals = fixed_proposals(100_000, n_tokens, n_proposals, n_tokens)
    state = np.zeros((n_tokens, 1 + n_proposals), np.uint16)
    seen = np.empty((len(proposals), n_tokens), np.uint16)
    for sweep, fresh in enumerate(proposals):
        state[:, 1:] = fresh
        step(state, sweep)
        seen[sweep] = state[:, 0]
    law = lda.polya(
        list(itertools.product(range(3), repeat=n_tokens)), ALPHA, WEIGHTS[:n_tokens] / TOTALS
    )
    distance = lda.distance(lda.place_of(seen, 3), law)
    print(f"total variation {distance:.4f} over {len(law)} assignments")
    return distance


@long_chain
@pytest.mark.parametrize(("n_tokens", "n_proposals"), [(1, 2), (4, 1), (4, 2)])
def test_document_pass_visits_the_law_of_its_fixed_tables(n_tokens, n_proposals):
    """Term proposals come afresh from n_vk + beta, the factor that the pass cannot see."""
    indptr, prior = np.array([0, n_tokens], np.int64), table(ALPHA)

    def step(state, sweep):
        mh_sweep.doc_pass(state, indptr, 0, 1, ALPHA, prior, 1 / TOTALS, 8, sweep)

    assert long_run(n_tokens, n_proposals, step) < 0.015


@long_chain
@pytest.mark.parametrize(("n_tokens", "n_proposals"), [(1, 2), (4, 2)])
def test_term_pass_visits_the_law_of_its_fixed_tables(n_tokens, n_proposals):
    """The same with the sides exchanged: the tokens of one term, proposals from n_dk + alpha_k."""
    by_term = grouped(np.full(n_tokens, 6))
    prior = table(ALPHA)

    def step(state, sweep):
        mh_sweep.term_pass(state, by_term, 0, 1, ALPHA, prior, 1 / TOTALS, 8, sweep)

    assert long_run(n_tokens, n_proposals, step) < 0.015


@long_chain
def test_proposals_have_weight_count_plus_prior():
    """Over many sweeps a token's proposals have the law n_k + prior_k, its own token included."""
    n, topics = 60_000, np.array([0, 0, 2, 0], np.uint16)
    indptr, prior = np.arange(n + 1, dtype=np.int64) * 4, table(ALPHA)
    state = np.zeros((4 * n, 2), np.uint16)
    state[:, 0] = state[:, 1] = np.tile(topics, n)  # a token that proposes its own topic stays
    mh_sweep.doc_pass(state, indptr, 0, n, ALPHA, prior, 1 / TOTALS, 8, 0)
    np.testing.assert_array_equal(state[:, 0], np.tile(topics, n))
    law = (np.bincount(topics, minlength=3) + ALPHA) / (4 + ALPHA.sum())
    assert lda.distance(state[:, 1].astype(int), law) < 0.005
