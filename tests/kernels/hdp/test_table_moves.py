"""Moves of whole tables: their seats, the law of a table's topic, and chains against enumeration."""

import math

import numba
import numpy as np
import pytest
from tests.kernels.hdp.test_franchise import check_counts, corpus_of
from tests.reference import franchise as reference

from bayou import HDP, Corpus
from bayou.inference.hdp import franchise, scores, sweeps, table_moves
from bayou.kernels.hdp import dishes
from bayou.kernels.hdp import table_moves as kernels

DOCS, TERMS, N_TERMS = [0, 0, 0, 1, 1], [0, 1, 0, 1, 1], 3
PRIOR = franchise.FranchisePrior(1.3, 0.8, 0.0, 0.4)
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def seats_of(chain, corpus, mass, seed, step):
    order, ends = np.empty(len(chain.z), np.int64), np.empty(len(chain.z), np.int64)
    n = dishes.seat_tokens(order, ends, chain.z, corpus.tokens.indptr, mass, seed, step)
    return order, ends, n


def tables_of(order, ends, n):
    """The tables as sets of tokens."""
    return [tuple(sorted(part.tolist())) for part in np.split(order, ends[: n - 1])]


@long_chain
def test_seats_are_those_of_a_chinese_restaurant():
    """Five tokens of one topic: a partition into tables has probability ~ x^m prod (size - 1)!."""
    corpus = corpus_of([0] * 5, [0, 1, 1, 2, 0], N_TERMS, PRIOR, "tables")
    chain = franchise.start(corpus, 1, PRIOR, 1)
    x, found = 0.7, {}
    for step in range(20_000):
        seats = seats_of(chain, corpus, np.full(len(chain.counts.topic), x), 1, step)
        name = tuple(sorted(tables_of(*seats)))
        found[name] = found.get(name, 0) + 1 / 20_000
    law = {}
    for z in reference.partitions(5):
        sizes = [z.count(k) for k in set(z)]
        name = tuple(sorted(tuple(i for i in range(5) if z[i] == k) for k in set(z)))
        law[name] = x ** len(sizes) * math.prod(math.factorial(n - 1) for n in sizes)
    total = sum(law.values())
    assert len(law) == 52
    assert 0.5 * sum(abs(found.get(name, 0) - p / total) for name, p in law.items()) < 0.03


def test_tables_have_one_topic_and_all_tokens():
    rng = np.random.default_rng(1)
    docs = np.sort(rng.integers(0, 6, 80))
    corpus = corpus_of(docs, rng.integers(0, 9, 80), 9, PRIOR, "tables")
    chain = franchise.start(corpus, 4, PRIOR, 1)
    order, ends, n = seats_of(chain, corpus, np.full(len(chain.counts.topic), 0.5), 3, 1)
    assert sorted(order.tolist()) == list(range(80))
    for table in tables_of(order, ends, n):
        assert len(set(chain.z[list(table)])) == len(set(docs[list(table)])) == 1
    dishes.mark_heads(chain.heads, chain.counts.tables, chain.z, order, ends, n)
    chain.counts.sizes[0] = n
    check_counts(chain, corpus)


def run(move, n, docs=DOCS, terms=TERMS):
    """Partitions after each of n draws of the tables and a move."""
    corpus = corpus_of(docs, terms, N_TERMS, PRIOR, "tables")
    chain, found = franchise.start(corpus, 2, PRIOR, 3), []
    for step in range(1, n + 1):
        root = franchise.draw_root(chain, PRIOR, 3, step)
        chain = move(chain, corpus, root, step)
        found.append(reference.canonical(chain.z))
    check_counts(chain, corpus)
    return found


def tokens_and(move):
    """A sweep over tokens first: tables alone cannot divide the tokens of a table."""

    def both(chain, corpus, root, step):
        chain, _ = franchise.sweep_tables(chain, corpus, PRIOR, (0, True), 3, step)
        return move(chain, corpus, franchise.draw_root(chain, PRIOR, 3, step), step)

    return both


def all_moves(chain, corpus, root, step):
    return table_moves.move_tables(chain, corpus, root, PRIOR, 12, 3, step)[0]


def only_splits(chain, corpus, root, step):
    """Seats, then splits and merges alone."""
    mass = PRIOR.alpha * root[: len(chain.counts.topic)]
    order, ends, n = seats_of(chain, corpus, mass, 3, step)
    dishes.mark_heads(chain.heads, chain.counts.tables, chain.z, order, ends, n)
    chain.counts.sizes[0] = n
    chain, _ = franchise.with_room(chain, corpus)
    counts, terms = tuple(chain.counts), corpus.tokens.terms
    kernels.split_merge_tables(chain.z, order, ends, n, terms, counts, tuple(PRIOR), 12, 3, step)
    return chain


@long_chain
@pytest.mark.parametrize("move", [all_moves, only_splits])
def test_moves_of_tables_reach_the_posterior(move):
    """Documents are seated anew each time, so that moves of tables alone come everywhere."""
    law = reference.posterior(DOCS, TERMS, N_TERMS, PRIOR)
    assert reference.distance(run(move, 40_000), law) < 0.015


@long_chain
def test_a_chain_with_the_move_reaches_the_posterior():
    law = reference.posterior(DOCS, TERMS, N_TERMS, PRIOR)
    assert reference.distance(run(tokens_and(all_moves), 40_000), law) < 0.015


@long_chain
def test_the_default_sweep_reaches_the_posterior():
    """The sweep that `HDP` runs by default, with its concentrations held fixed."""
    how = HDP(learn_alpha=False, learn_gamma=False).resolve().how
    assert (how.sampler, how.n_moves) == ("alias", 20)
    corpus = corpus_of(DOCS, TERMS, N_TERMS, PRIOR, "alias")
    chain, found = franchise.start(corpus, 2, PRIOR, 3), []
    for step in range(1, 40_001):
        chain, prior, _ = sweeps.draw_chain(chain, corpus, PRIOR, how, step < 10, 3, step)
        assert prior == PRIOR
        found.append(reference.canonical(chain.z))
    law = reference.posterior(DOCS, TERMS, N_TERMS, PRIOR)
    assert reference.distance(found, law) < 0.015


def test_the_words_of_a_state_are_those_of_the_reference():
    corpus = corpus_of(DOCS, TERMS, N_TERMS, PRIOR, "tables")
    chain = franchise.start(corpus, 2, PRIOR, 3)
    expected = reference.log_words(chain.z.tolist(), TERMS, N_TERMS, PRIOR.beta) / len(TERMS)
    assert scores.log_words(chain.counts, PRIOR.beta) == pytest.approx(expected)


@long_chain
def test_a_table_of_many_tokens_is_weighed_without_underflow():
    counts = np.zeros((2, 300))
    counts[0, :150], counts[1, 150:] = 8, 8
    corpus = Corpus.from_matrix(np.repeat(counts, 20, axis=0))
    model = HDP(n_sweeps=30, n_topics=2, n_chains=1, random_state=0).fit(corpus)
    assert model.n_large_ == 2
    assert np.isfinite(model.components_).all()
