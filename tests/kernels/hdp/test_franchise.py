"""The samplers of the HDP: the law of one token, whole chains against enumeration, twins draw for draw."""

import itertools

import numba
import numpy as np
import pytest
from scipy import special
from tests.reference import franchise as reference

from bayou.inference.hdp import franchise
from bayou.inference.lda.documents import Tokens
from bayou.kernels.hdp import direct_sweep, split_merge
from bayou.kernels.hdp import franchise as kernels

DOCS, TERMS, N_TERMS = [0, 0, 0, 1], [0, 1, 0, 1], 3
PRIOR = franchise.FranchisePrior(1.3, 0.8, 0.0, 0.4)
PITMAN_YOR = PRIOR._replace(discount=0.3)
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def corpus_of(docs, terms, n_terms, prior, kind):
    indptr = np.searchsorted(docs, np.arange(max(docs) + 2)).astype(np.int64)
    tokens = Tokens(indptr, np.array(terms, np.uint32))
    return franchise.make_corpus(tokens, n_terms, kind)


def counted(chain, corpus):
    """The counts that the tokens of a chain add up to."""
    term_topic = np.zeros_like(chain.counts.term_topic)
    np.add.at(term_topic, (corpus.tokens.terms, chain.z), 1)
    tables = np.bincount(chain.z, weights=chain.heads, minlength=term_topic.shape[1])
    return term_topic, tables


def check_counts(chain, corpus):
    term_topic, tables = counted(chain, corpus)
    counts = chain.counts
    np.testing.assert_array_equal(counts.term_topic, term_topic)
    np.testing.assert_array_equal(counts.topic, term_topic.sum(axis=0))
    np.testing.assert_array_equal(counts.tables, tables)
    assert counts.sizes[:2].tolist() == [tables.sum(), (counts.topic > 0).sum()]
    assert ((counts.ids >= 0) == (counts.topic > 0)).all()
    named = counts.ids[counts.ids >= 0]
    assert len(set(named)) == len(named)
    assert named.max(initial=-1) < counts.sizes[2]
    indptr = corpus.tokens.indptr
    for lo, hi in itertools.pairwise(indptr):  # a topic of a document has a table
        for k in set(chain.z[lo:hi].tolist()):
            assert chain.heads[lo:hi][chain.z[lo:hi] == k].sum() >= 1


# -- the law of one token --------------------------------------------------------------------------------


def transition(law, kernel_of=None, prior=PRIOR):
    """The matrix of one sweep over all tokens, and the stationary law it should have."""
    names = list(law)
    place = {state: s for s, state in enumerate(names)}
    matrix = np.eye(len(names))
    for i in range(len(TERMS)):
        step = np.zeros((len(names), len(names)))
        for s, state in enumerate(names):
            kernel = None if kernel_of is None else kernel_of(i)
            for new, p in reference.token_moves(
                state, i, DOCS, TERMS, N_TERMS, prior, kernel
            ).items():
                step[s, place[new]] += p
        matrix = matrix @ step
    return matrix, np.array(list(law.values()))


@pytest.mark.parametrize("prior", [PRIOR, PITMAN_YOR])
def test_topic_and_table_of_a_token_leave_the_posterior_as_it_is(prior):
    matrix, law = transition(reference.states(DOCS, TERMS, N_TERMS, prior), prior=prior)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0)
    np.testing.assert_allclose(law @ matrix, law, atol=1e-15)
    values = np.sort(np.abs(np.linalg.eigvals(matrix)))
    assert values[-2] < 0.95  # and from anywhere it is reached


def test_proposals_from_a_fixed_stock_leave_the_posterior_as_it_is():
    """Whatever the stock says: c(k) = p(k) - p_empty(k) + stale(k), here with p_empty = p / 3."""
    stale = {-1: 0.3, 0: 2.0, 1: 0.01, 2: 0.7, 3: 0.2}

    def kernel_of(i):
        def kernel(p, now, names):
            c = {k: w * 2 / 3 + stale[names[k]] / (i + 1) for k, w in p.items()}
            total = sum(c.values())
            out = {k: c[k] / total * min(1.0, p[k] * c[now] / (p[now] * c[k])) for k in p}
            out[now] += 1 - sum(out.values())
            return out

        return kernel

    matrix, law = transition(reference.states(DOCS, TERMS, N_TERMS, PRIOR), kernel_of)
    np.testing.assert_allclose(law @ matrix, law, atol=1e-15)


def test_placements_of_heads_are_alike():
    """p(z, u) summed over the placements u of the heads is p(z, m)."""
    counts = reference.doc_counts((0, 0, 1, 0), DOCS)
    ways = [reference.combinations(counts, m) for m in reference.table_counts(counts)]
    assert sum(ways) == 3  # two tokens of topic 0 in document 0: {1}, {2}, {1, 2}


# -- draw for draw ---------------------------------------------------------------------------------------


def twin_case(prior, kind, seed):
    rng = np.random.default_rng(seed)
    docs = np.sort(rng.integers(0, 4, 24)).tolist()
    terms = rng.integers(0, 5, 24).tolist()
    corpus = corpus_of(docs, terms, 5, prior, kind)
    return docs, terms, corpus, franchise.start(corpus, 3, prior, seed)


@pytest.mark.parametrize("prior", [PRIOR, PITMAN_YOR])
def test_the_exact_sweep_is_its_twin_draw_for_draw(prior):
    docs, terms, corpus, chain = twin_case(prior, "tables", 1)
    z, heads = chain.z.astype(int).tolist(), chain.heads.astype(int).tolist()
    n_slots = len(chain.counts.topic)
    for sweep in range(1, 8):
        chain, _ = franchise.sweep_tables(chain, corpus, prior, (0, True), 9, sweep)
        reference.seat_sweep(z, heads, docs, terms, 5, n_slots, prior, 9, sweep)
        assert chain.z.tolist() == z
        check_counts(chain, corpus)
        heads = chain.heads.astype(int).tolist()  # the same number of each, elsewhere
    assert chain.counts.sizes[2] > 3  # a topic was born


# -- chains against enumeration --------------------------------------------------------------------------


def run(kind, prior, n, moves=0):
    """Partitions after each of n sweeps of a chain over the tiny corpus."""
    corpus = corpus_of(DOCS, TERMS, N_TERMS, prior, kind)
    chain = franchise.start(corpus, 2, prior, 3)
    found = []
    for step in range(1, n + 1):
        root = franchise.draw_root(chain, prior, 3, step)
        if kind == "direct":
            chain, root, _ = franchise.sweep_direct(chain, corpus, root, prior, 3, step)
        elif kind != "moves":
            how = (4 * (kind == "alias"), step < 10)
            chain, _ = franchise.sweep_tables(chain, corpus, prior, how, 3, step)
        if moves:
            franchise.move_topics(chain, corpus, root, prior, moves, 3, step)
        if moves or kind == "direct":
            franchise.seat(chain, corpus, root, prior, 3, step)
        found.append(reference.canonical(chain.z))
    check_counts(chain, corpus)
    return found


@long_chain
@pytest.mark.parametrize(
    ("kind", "prior"),
    [
        ("tables", PRIOR),
        ("tables", PITMAN_YOR),
        ("alias", PRIOR),
        ("alias", PITMAN_YOR),
        ("direct", PRIOR),
    ],
)
def test_chains_reach_the_posterior_of_a_tiny_corpus(kind, prior):
    law = reference.posterior(DOCS, TERMS, N_TERMS, prior)
    assert reference.distance(run(kind, prior, 60_000), law) < 0.01


@long_chain
def test_folds_and_scatters_alone_reach_the_posterior():
    law = reference.posterior(DOCS, TERMS, N_TERMS, PRIOR)
    assert reference.distance(run("moves", PRIOR, 40_000, moves=12), law) < 0.01


def test_a_merge_that_cannot_be_weighed_is_refused():
    """A share of the root that is no number makes the odds none; the topics stay as they are."""
    corpus = corpus_of(DOCS, TERMS, N_TERMS, PRIOR, "direct")
    chain = franchise.start(corpus, 2, PRIOR, 1)
    root = np.full(len(chain.counts.topic), np.nan)
    z, counts = chain.z.copy(), tuple(chain.counts)
    assert chain.counts.sizes[1] == 2
    stream = np.array([7], np.uint64)
    assert not split_merge.fold(chain.z, counts, root, tuple(PRIOR), stream)
    np.testing.assert_array_equal(chain.z, z)


# -- the prior alone -------------------------------------------------------------------------------------


@long_chain
@pytest.mark.parametrize("kind", ["tables", "alias", "direct"])
def test_without_terms_to_tell_topics_apart_tables_are_those_of_the_prior(kind):
    """One term only: the words say nothing, and E[tables] = sum_i b1 / (b1 + i)."""
    prior = franchise.FranchisePrior(2.0, 1.0, 0.0, 0.5)
    docs = [0] * 12 + [1] * 5
    corpus = corpus_of(docs, [0] * 17, 1, prior, kind)
    chain = franchise.start(corpus, 2, prior, 1)
    tables, live = [], []
    for step in range(1, 8001):
        if kind == "direct":
            root = franchise.draw_root(chain, prior, 1, step)
            chain, root, _ = franchise.sweep_direct(chain, corpus, root, prior, 1, step)
            franchise.seat(chain, corpus, root, prior, 1, step)
        else:
            how = (4 * (kind == "alias"), step < 10)
            chain, _ = franchise.sweep_tables(chain, corpus, prior, how, 1, step)
        tables.append(int(chain.counts.sizes[0]))
        live.append(int(chain.counts.sizes[1]))
    expected = sum(2.0 * (special.digamma(2.0 + n) - special.digamma(2.0)) for n in (12, 5))
    assert np.mean(tables) == pytest.approx(expected, rel=0.03)
    assert 1.5 < np.mean(live) < 5


@long_chain
def test_births_and_deaths_keep_all_mass():
    prior = franchise.FranchisePrior(3.0, 40.0, 0.0, 0.01)  # topics galore
    rng = np.random.default_rng(0)
    docs = np.repeat(np.arange(30), 12).tolist()
    corpus = corpus_of(docs, rng.integers(0, 50, 360).tolist(), 50, prior, "alias")
    chain = franchise.start(corpus, 2, prior, 1)
    slots = len(chain.counts.topic)
    for step in range(1, 15):
        root = franchise.draw_root(chain, prior, 1, step)
        chain, root, _ = franchise.sweep_direct(chain, corpus, root, prior, 1, step)
        assert root.sum() == pytest.approx(1.0, abs=1e-12)
        assert ((root[:-1] > 0) == (chain.counts.topic > 0)).all()
        franchise.move_topics(chain, corpus, root, prior, 5, 1, step)
        assert root.sum() == pytest.approx(1.0, abs=1e-12)
        franchise.seat(chain, corpus, root, prior, 1, step)
        check_counts(chain, corpus)
        chain, old = franchise.sweep_tables(chain, corpus, prior, (1, True), 1, step)
        assert len(old) == len(chain.counts.topic)
        check_counts(chain, corpus)
    assert len(chain.counts.topic) > slots  # room was made along the way
    mass = franchise.mass_of(chain.counts, prior)
    rest = prior.alpha * prior.gamma / (chain.counts.sizes[0] + prior.gamma)
    assert mass.sum() + rest == pytest.approx(prior.alpha)


def test_slots_that_nobody_uses_are_given_back():
    prior = franchise.FranchisePrior(1.0, 0.1, 0.0, 0.5)
    corpus = corpus_of([0] * 40, [0] * 40, 2, prior, "tables")
    chain = franchise.start(corpus, 30, prior, 1)
    chain.z[:] = 0
    chain.counts.term_topic[:] = 0
    chain.counts.term_topic[0, 0] = 40
    chain.counts.topic[:] = chain.counts.term_topic.sum(axis=0)
    chain.counts.ids[1:] = -1
    chain.counts.sizes[1] = 1
    franchise.seat(chain, corpus, (chain.counts.topic > 0) * 1.0, prior, 1, 0)
    smaller, old = franchise.with_room(chain, corpus)
    assert len(smaller.counts.topic) == len(old) < len(chain.counts.topic)
    assert old[0] == 0
    assert (old[1:] == -1).all()
    check_counts(smaller, corpus)


def test_no_draw_of_a_birth_is_used_twice():
    """Two topics born in one document, the sweep stopping for a slot in between, break off other shares."""
    tokens = (np.array([0, 6]), np.arange(6, dtype=np.uint32))
    z, n_slots, prior = np.zeros(6, np.uint16), 4, (1e9, 1.0, 0.0, 0.1)
    whole = counts_for(z, tokens, n_slots)
    root = np.array([1e-9, 0.0, 0.0, 0.0, 1.0])
    at, shares, left = 0, [], 1.0
    while at < 6 and len(shares) < 3:
        few = 2 + len(shares)  # one slot is free, whenever it goes on
        counts = tuple(np.ascontiguousarray(a[..., :few]) for a in whole[:4]) + (whole[4],)
        part = np.append(root[:few], left)
        at = direct_sweep.direct_sweep(z, tokens, counts, part, prior, 1, 1, at)
        whole = counts_for(z, tokens, n_slots)
        root[:few], now = part[:-1], part[-1]
        shares.append(1.0 - now / left)
        left = now
    assert len(set(np.round(shares, 9))) == len(shares) == 3


def counts_for(z, tokens, n_slots):
    term_topic = np.zeros((6, n_slots), np.float32)
    kernels.count(term_topic, tokens[1], z)
    topic = np.bincount(z, minlength=n_slots).astype(float)
    ids = np.where(topic > 0, np.arange(n_slots), -1)
    sizes = np.array([0, (topic > 0).sum(), n_slots])
    return term_topic, topic, np.zeros(n_slots, np.int64), ids, sizes


@pytest.mark.parametrize("discount", [0.0, 0.4])
def test_more_tables_than_ratios_are_tabulated_at_first(discount):
    """A large concentration seats nearly everybody alone: the tables are those of the prior all the same."""
    terms = np.zeros(300, int)
    prior = franchise.FranchisePrior(400.0, 1.0, discount, 0.5)
    corpus = corpus_of(np.zeros(300, int), terms, 1, prior, "tables")
    chain = franchise.start(corpus, 1, prior, 5)
    ratios, factors = franchise.stirling(chain, corpus, discount)
    most = int(chain.heads.sum())
    assert most > 100
    assert min(factors.shape[1], ratios.shape[1]) > most
    assert not factors.flags.writeable
    chain, _ = franchise.sweep_tables(chain, corpus, prior, (0, False), 5, 1)
    check_counts(chain, corpus)
