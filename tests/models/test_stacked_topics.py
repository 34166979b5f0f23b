"""Stacked topics without labels: ratios of the joint, the posterior by enumeration, planted topics, files."""

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import label_stream as twin

from bayou import LDA, StackedTopics
from bayou.inference.labels import stacked
from bayou.kernels.labels import stacked_topics as kernels
from bayou.kernels.rng import GOLDEN, STACK_TOKEN, key, unit
from bayou.models import stacked_topics as model
from bayou.testing import check_model
from bayou.testing.cases import file_bytes, reload

ALPHA, MASS, BETA = np.array([0.4, 1.1]), np.array([0.5, 0.2, 0.9]), 0.3
SMALL = {"n_topics": 3, "n_subtopics": 4, "n_sweeps": 20, "n_kept": 10, "random_state": 0}


def counted(upper, lower, tokens, sizes):
    """n_ds, n_sk and n_kv of assignments; ``sizes`` = (super-topics, sub-topics, terms)."""
    indptr, terms = tokens
    docs = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    out = [np.zeros((len(indptr) - 1, sizes[0])), np.zeros(sizes[:2]), np.zeros(sizes[1:])]
    for table, rows, columns in zip(out, (docs, upper, lower), (upper, lower, terms), strict=True):
        np.add.at(table, (rows, columns), 1)
    return out


def log_joint(upper, lower, tokens, sizes):
    """ln p(s, z, w | g, h), theta, phi' and phi integrated out."""
    n_ds, n_sk, n_kv = counted(upper, lower, tokens, sizes)
    out = sum(twin.log_dm(row, ALPHA) for row in n_ds) + sum(twin.log_dm(row, MASS) for row in n_sk)
    return out + sum(twin.log_dm(row, np.full(sizes[2], BETA)) for row in n_kv)


def arrays(upper, lower, tokens, sizes):
    term_lower = np.zeros((sizes[2], sizes[1]), np.float32)
    lower_upper = np.zeros((sizes[1], sizes[0]), np.float32)
    kernels.count_pairs(term_lower, lower_upper, tokens[1], upper, lower)
    return term_lower, term_lower.sum(axis=0, dtype=float), (
        lower_upper, lower_upper.sum(axis=0, dtype=float))  # fmt: skip


def test_draws_follow_ratios_of_the_joint():
    rng = np.random.default_rng(0)
    tokens, sizes = (np.array([0, 2, 2, 14]), rng.integers(0, 4, 14).astype(np.uint32)), (2, 3, 4)
    upper = rng.integers(0, 2, 14).astype(np.uint16)
    lower = rng.integers(0, 3, 14).astype(np.uint16)
    mine = upper.copy(), lower.copy()
    term_lower, totals, counts = arrays(*mine, tokens, sizes)
    prior = (ALPHA, MASS, MASS.sum())
    for sweep in range(8):
        kernels.pair_sweep(*mine, tokens, term_lower, totals, counts, prior, BETA, 7, sweep)
        for d, (a, b) in enumerate(itertools.pairwise(tokens[0])):
            at = int(key(7, STACK_TOKEN, sweep, d))
            for i in range(a, b):
                p = np.empty((2, 3))
                for s, k in itertools.product(range(2), range(3)):
                    upper[i], lower[i] = s, k
                    p[s, k] = log_joint(upper, lower, tokens, sizes)
                p = np.exp(p - p.max())
                for axis, values in enumerate((upper, lower)):
                    at = (at + int(GOLDEN)) % 2**64
                    ends = np.cumsum(p.sum(axis=1) if axis == 0 else p[upper[i]])
                    found = np.searchsorted(ends, unit(np.uint64(at)) * ends[-1], "right")
                    values[i] = min(int(found), len(ends) - 1)
        np.testing.assert_array_equal(mine[0], upper)
        np.testing.assert_array_equal(mine[1], lower)
    again = arrays(upper, lower, tokens, sizes)
    np.testing.assert_array_equal(term_lower, again[0])
    np.testing.assert_array_equal(counts[0], again[2][0])


def test_chain_under_fixed_roots_reaches_the_posterior():
    tokens, sizes = (np.array([0, 2, 3]), np.array([0, 1, 1], np.uint32)), (2, 3, 2)
    pairs = list(itertools.product(range(2), range(3)))
    wanted = {}
    for state in itertools.product(pairs, repeat=3):
        upper, lower = np.array(state).T
        wanted[state] = np.exp(log_joint(upper, lower, tokens, sizes))
    total = sum(wanted.values())
    upper, lower = np.zeros(3, np.uint16), np.zeros(3, np.uint16)
    term_lower, totals, counts = arrays(upper, lower, tokens, sizes)
    prior, seen, n = (ALPHA, MASS, MASS.sum()), Counter(), 30_000
    for sweep in range(n):
        kernels.pair_sweep(upper, lower, tokens, term_lower, totals, counts, prior, BETA, 1, sweep)
        seen[tuple(zip(upper.tolist(), lower.tolist(), strict=True))] += 1
    gap = sum(abs(seen[s] / n - w / total) for s, w in wanted.items()) / 2
    assert gap < 0.03


@pytest.fixture(scope="module")
def planted():
    """Six sub-topics of four terms each; two kinds of documents that use three of them."""
    rng = np.random.default_rng(1)
    counts = np.zeros((160, 24))
    for d in range(160):
        shares = rng.dirichlet(np.full(3, 5.0))
        for k, n in enumerate(rng.multinomial(60, shares)):
            first = 4 * (3 * (d % 2) + k)
            counts[d, first : first + 4] += rng.multinomial(n, np.full(4, 0.25))
    return csr_array(counts)


def test_planted_super_topics_are_found(planted):
    made = StackedTopics(n_topics=6, n_subtopics=12, n_sweeps=150, n_kept=50, random_state=0)
    shares = made.fit_transform(planted)
    first, second = shares[::2].mean(axis=0), shares[1::2].mean(axis=0)
    assert np.minimum(first, second).sum() < 0.1  # the two kinds use different super-topics
    assert made.n_used_ <= 6
    np.testing.assert_allclose(made.links_.sum(axis=1), 1.0)
    np.testing.assert_allclose(made.components_, made.links_ @ made.subtopics_, rtol=1e-4)
    best = made.links_[first.argmax()]
    assert (made.subtopics_.T @ best)[:12].sum() > 0.95


def test_super_topics_with_even_links_say_nothing(planted):
    """c1 large: all super-topics have the sub-topics of the root, and terms are those of all documents."""
    made = StackedTopics(**SMALL, subtopic_concentration=1e7).fit(planted)
    np.testing.assert_allclose(made.links_, np.tile(made.links_[0], (3, 1)), rtol=0.05, atol=0.01)
    one = LDA(n_topics=1, random_state=0).fit(planted)
    np.testing.assert_allclose(made.components_[0], one.components_[0], atol=0.02)


def test_roots_follow_the_tables():
    """Given the topics of tokens the levels are redrawn as in the supervised stacked HDP."""
    tokens = (np.array([0, 3, 5]), np.array([0, 1, 2, 3, 1], np.uint32))
    p = StackedTopics(**SMALL).resolve()
    state = model.init(tokens, 4, p, 3)
    counts = model.count(state, tokens[1])
    before = model.chain_of(state, counts)
    after = model.sweep(state, counts, tokens, p, 3)
    chain = before._replace(z=after.upper)
    wanted = stacked.redraw_levels(chain, tokens[0], (True, True, True), 3, 0)
    np.testing.assert_array_equal(
        after.roots, np.concatenate([wanted.topics.root, wanted.labels.root])
    )
    assert after.roots.min() > 0
    assert not after.term_kept.any()


def test_laws():
    check_model(StackedTopics(n_topics=3, n_subtopics=4, n_sweeps=6, n_kept=3))


def test_files_and_checkpoints(planted, tmp_path):
    made = StackedTopics(**SMALL).fit(planted)
    again = reload(made)
    np.testing.assert_array_equal(again.links_, made.links_)
    np.testing.assert_array_equal(again.subtopics_, made.subtopics_)
    assert again.top_subtopics(2) == made.top_subtopics(2)
    stop = {"callbacks": lambda info: info.step >= 9}
    part = StackedTopics(**SMALL, **stop).fit(planted, checkpoint=tmp_path / "c")
    assert part.n_iter_ == 9
    whole = StackedTopics(**SMALL).fit(planted, checkpoint=tmp_path / "c")
    assert file_bytes(whole) == file_bytes(made)


def test_corners():
    empty = StackedTopics(**SMALL).fit([[0, 0], [1, 2]])
    assert empty.transform([[0, 0]]).sum() == pytest.approx(1.0)
    for bad in ({"n_subtopics": 0}, {"concentration": 0.0}, {"n_kept": 30}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            StackedTopics(**{**SMALL, **bad}).fit([[1, 2]])
