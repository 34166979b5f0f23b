"""Split R-hat, intervals over chains, matched topics, and the order of turns."""

import numpy as np
import pytest

from bayou.inference.hdp import agreement, chains, franchise, rounds
from bayou.inference.lda.documents import Tokens

PRIOR = franchise.FranchisePrior(1.3, 0.8, 0.0, 0.4)


def test_split_rhat_by_hand():
    parts = [np.array([1.0, 3, 2, 4, 1, 3, 2, 4, 1, 3]), np.array([2.0, 4, 1, 3, 2, 4, 1, 3, 2, 4])]
    halves = np.array([parts[0][:5], parts[0][5:], parts[1][:5], parts[1][5:]])
    within = np.mean([np.var(half, ddof=1) for half in halves])
    between = 5 * np.var([half.mean() for half in halves], ddof=1)
    expected = np.sqrt((4 / 5 * within + between / 5) / within)
    assert agreement.split_rhat(parts) == pytest.approx(max(expected, 1.0))
    apart = [parts[0], parts[1] + 10]
    between = 5 * np.var(
        [half.mean() + shift for half, shift in zip(halves, (0, 0, 10, 10), strict=True)], ddof=1
    )
    expected = np.sqrt((4 / 5 * within + between / 5) / within)
    assert agreement.split_rhat(apart) == pytest.approx(expected)
    assert expected > 3


def test_split_rhat_at_the_edge():
    still = np.ones(20)
    assert agreement.split_rhat([still, still]) == 1.0
    assert agreement.split_rhat([still, still + 1]) == np.inf
    assert agreement.split_rhat([still[:5], still]) == np.inf  # too few to say
    assert agreement.split_rhat([np.arange(40.0)]) > 1.5  # one chain that still moves


def trace_of(*chains):
    return np.concatenate(
        [np.column_stack([np.full(len(k), c), k, k]) for c, k in enumerate(chains)]
    )


def test_intervals_pool_chains_that_agree_and_span_those_that_do_not():
    rng = np.random.default_rng(0)
    one, two = rng.integers(10, 21, 200), rng.integers(10, 21, 200)
    pooled = agreement.TraceNumber(trace_of(one, two), 100).interval(0.9, False)
    assert pooled == tuple(
        np.quantile(np.append(one[100:], two[100:]), [0.05, 0.95], method="inverted_cdf")
    )
    apart = agreement.TraceNumber(trace_of(one, two + 30), None).interval(0.9, True)
    assert apart[0] == np.quantile(one[100:], 0.05, method="inverted_cdf")
    assert apart[1] == np.quantile(two[100:] + 30, 0.95, method="inverted_cdf")


def numbers(*chains):
    """A trace of all and large topics, and fits, of chains of 40 sweeps around given means."""
    wave = np.tile([-1.0, 1.0], 20)
    trace = np.concatenate(
        [
            np.column_stack([np.full(40, c), n + wave, large + wave])
            for c, (n, large, _) in enumerate(chains)
        ]
    )
    fits = np.concatenate([fit + 0.001 * wave for _, _, fit in chains])
    return trace.astype(np.int64), fits, 0


@pytest.mark.parametrize(
    ("other", "agrees"),
    [
        ((100, 50, -7.0), True),
        ((120, 54, -7.015), True),  # within 20 %, 10 % and 0.02 nats
        ((126, 50, -7.0), False),
        ((100, 56, -7.0), False),
        ((100, 50, -7.03), False),
    ],
)
def test_chains_agree_if_no_mean_is_far_from_another(other, agrees):
    found = numbers((100, 50, -7.0), other)
    assert agreement.is_agreed(*found) == agrees
    assert "do not agree" in agreement.describe(*found)


def test_one_topic_more_is_no_disagreement_and_few_sweeps_are():
    trace, fits, _ = numbers((8, 4, -7.0), (9, 5, -7.0))
    assert agreement.split_rhat([trace[:40, 2].astype(float), trace[40:, 2].astype(float)]) > 1.1
    assert agreement.differences(trace, fits, 0) == (0.0, 0.0, 0.0)
    assert agreement.is_agreed(trace, fits, 0)
    assert not agreement.is_agreed(trace, fits, 35)
    assert "too few sweeps" in agreement.describe(trace, fits, 35)


def test_recurrence_matches_topics_one_to_one():
    rows = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0]]).T
    found = agreement.recurrence(rows, [rows[:, [1, 0]]])
    assert found.tolist()[1] == pytest.approx(1.0)
    assert sorted(found[[0, 2]].tolist()) == pytest.approx(
        [0.0, 1.0]
    )  # one of the two equal topics
    assert agreement.affinity(rows, rows)[0, 1] == 0.0


def test_every_chain_has_its_turn_in_every_round():
    ends = rounds.ends(200, 3, None)
    assert ends == (100, 200)
    assert rounds.ends(200, 1, None) == rounds.ends(200, 2, 7) == (200,)
    assert rounds.ends(60, 2, None) == (60,)
    turns = [rounds.find_turn(step, ends, 3) for step in range(600)]
    for chain in range(3):
        mine = [turn.sweep for turn in turns if turn.chain == chain]
        assert mine == list(range(1, 201))
    assert [step for step, turn in enumerate(turns) if turn.is_first] == [
        0,
        100,
        200,
        300,
        400,
        500,
    ]
    assert {turn.end for turn in turns[:300]} == {100}


def test_a_chain_that_waited_is_the_same_chain():
    rng = np.random.default_rng(2)
    tokens = Tokens(np.arange(0, 65, 8), rng.integers(0, 9, 64).astype(np.uint32))
    corpus = franchise.make_corpus(tokens, 9, "alias")
    chain = franchise.start(corpus, 12, PRIOR, 1)
    for step in range(1, 20):
        chain, _ = franchise.sweep_tables(chain, corpus, PRIOR, (1, True), 1, step)
    waiting = rounds.park(rounds.none_waits(2, 64), 1, chain, PRIOR._replace(alpha=3.0))
    again, prior = rounds.resume(waiting, 1, corpus, PRIOR)
    assert prior == PRIOR._replace(alpha=3.0)
    live, back = (np.flatnonzero(c.counts.topic > 0) for c in (chain, again))
    np.testing.assert_array_equal(chain.counts.ids[chain.z], again.counts.ids[again.z])
    np.testing.assert_array_equal(chain.heads, again.heads)
    for name in ("term_topic", "topic", "tables", "ids"):
        old, new = (getattr(c.counts, name) for c in (chain, again))
        np.testing.assert_array_equal(old[..., live], new[..., back])
    np.testing.assert_array_equal(chain.counts.sizes, again.counts.sizes)


@pytest.mark.parametrize(
    ("n_docs", "n_tokens", "first"),
    [(3000, 420_000, 324), (300, 24_000, 50), (1350, 1_683_000, 649), (2, 30, 1)],
)
def test_the_default_start_has_several_documents_per_topic(n_docs, n_tokens, first):
    assert chains.first_topics(None, n_docs, n_tokens, 0) == first
    found = [chains.first_topics(40, n_docs, n_tokens, chain) for chain in range(5)]
    assert found == [min(n, n_tokens) for n in (40, 60, 10, 90, 2)]
