"""Priors, memories and tests of change, each by itself."""

import tracemalloc

import numpy as np
import pytest
from scipy import stats
from tests.reference.tracking import jsd

from bayou.inference.lda.documents import Pairs, Tokens
from bayou.inference.tracking import change, evidence, history, memory, prior
from bayou.inference.tracking import state as slots
from bayou.run.shards import Workers


@pytest.mark.parametrize("strength", [50, 500, 5000])
def test_strength_is_recovered_by_its_evidence(strength):
    rng = np.random.default_rng(0)
    known = rng.dirichlet(np.full(400, 0.1), 20).T
    rows = np.array([rng.dirichlet(strength * m + 1e-3) for m in known.T])
    counts = np.array([rng.multinomial(4000, row) for row in rows]).T
    found = memory.estimate_strength(counts.astype(np.float32), known.astype(np.float32), 1e-3)
    assert found == pytest.approx(strength, rel=0.15)


def test_weight_is_the_share_of_memory():
    strength = memory.strength_of_weight(6000.0, 6, 0.2)
    assert strength == pytest.approx(250.0)
    assert strength / (strength + 1000.0) == pytest.approx(0.2)


def every_term(n_terms):
    """A slice that has all terms of the model, one document each."""
    ends, terms = np.arange(n_terms + 1), np.arange(n_terms, dtype=np.int32)
    return prior.slice_documents(Pairs(ends, terms, np.ones(n_terms, np.float32)), n_terms)


def test_learning_beta_needs_room_for_cells_and_not_for_tokens():
    counts, known = np.full((6, 2), 2e6, np.float32), prior.flat_prior(6, 2, 0.1)
    prior.estimate_beta(known, np.ones((6, 2), np.float32), 6)  # compiled before it is measured
    tracemalloc.start()
    try:
        prior.estimate_beta(known, counts, 6)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_limits_of_strength_and_rho():
    rng = np.random.default_rng(1)
    known = rng.dirichlet(np.ones(5), 3).T.astype(np.float32)
    counts, here = rng.poisson(30.0, (5, 3)).astype(np.float32), every_term(5)
    none, free = np.zeros(3, bool), np.ones(3)
    strong = prior.make_prior(known, np.full(3, 1e12), 0.01, none)
    np.testing.assert_allclose(prior.topic_rows(counts, strong), known, rtol=1e-4)
    everywhere = memory.all_rows(counts, here, known, np.full(3, 1e12), 0.01, free)
    np.testing.assert_allclose(everywhere, known, rtol=1e-4)
    weak = prior.make_prior(known, np.zeros(3), 0.01, none)
    flat = prior.flat_prior(5, 3, 0.01)
    np.testing.assert_allclose(weak.rows, flat.rows)
    phi = prior.topic_rows(counts, flat)
    np.testing.assert_allclose(phi, (counts + 0.01) / (counts.sum(axis=0) + 0.05), rtol=1e-6)
    nothing = memory.all_rows(counts, here, known, np.zeros(3), 0.01, free)
    np.testing.assert_allclose(nothing, phi, rtol=1e-6)
    still = memory.blend(known, counts, here, 20.0, np.zeros(3))
    np.testing.assert_allclose(still, known, rtol=1e-6)
    last = memory.blend(known, counts, here, 0.0, np.ones(3))
    np.testing.assert_allclose(last, counts / counts.sum(axis=0), rtol=1e-6)


def test_what_is_learned_in_the_terms_of_a_slice_is_what_all_terms_would_give():
    """Terms that a slice has none of are left out of inference and come back in the estimate."""
    rng = np.random.default_rng(4)
    known = rng.dirichlet(np.ones(7), 2).T.astype(np.float32)
    counts = rng.poisson(3.0, (7, 2)).astype(np.float32)
    counts[[1, 4]] = 0
    there = np.array([0, 2, 3, 5, 6])
    pairs = Pairs(np.array([0, 5]), there.astype(np.int32), np.ones(5, np.float32))
    here, pull = prior.slice_documents(pairs, 7), np.array([9.0, 2.0])
    assert here.terms.tolist() == there.tolist()
    assert here.place.tolist() == [0, -1, 1, 2, -1, 3, 4]
    whole = prior.make_prior(known, pull, 0.1, np.zeros(2, bool))
    part = prior.make_prior(
        known[there], pull, 0.1, np.zeros(2, bool), (known.sum(axis=0, dtype=np.float64), 7)
    )
    np.testing.assert_allclose(part.mass, whole.mass, rtol=1e-6)
    all_of = prior.topic_rows(counts, whole)
    np.testing.assert_allclose(prior.topic_rows(counts[there], part), all_of[there], rtol=1e-6)
    rows = memory.all_rows(counts[there], here, known, pull, 0.1, np.ones(2))
    np.testing.assert_allclose(rows, all_of, rtol=1e-6)
    assert prior.estimate_beta(part, counts[there], 7).beta == pytest.approx(
        prior.estimate_beta(whole, counts, 7).beta
    )
    np.testing.assert_array_equal(here.spread(counts[there]), counts)


def test_a_memory_is_worth_what_it_has_earned():
    """Its own tokens where a topic has stood still; less, the more of its divergence is no chance."""
    drift = change.Drift(
        *(np.array(v) for v in ([0.02, 0.05, 0.3, np.nan], [0.02] * 4, [0.1] * 4, [0.1] * 4))
    )
    state = slots.TrackerState(**dict.fromkeys(slots.TrackerState._fields))
    state = state._replace(doubt=np.full(4, 1 / 4000), strength=77.0)
    judged = evidence.SliceEvidence(**dict.fromkeys(evidence.SliceEvidence._fields))
    worth = evidence.memory_weights(state, judged._replace(drift=drift), np.full(4, 1000.0))
    assert worth[0] == pytest.approx(4000.0), "no more divergence than a sample of 1000 has"
    assert worth[1] == pytest.approx(1000 * 0.02 / (0.02 / 4 + 0.05 - 0.025))
    assert worth[0] > worth[1] > worth[2] > 0
    assert worth[3] == 77.0, "not known"


def test_a_topic_held_fast_stays_what_it_is():
    given, counts = np.array([[0.9], [0.1]], np.float32), np.array([[0], [50]], np.float32)
    held = prior.make_prior(given, np.array([np.inf]), 0.01, np.ones(1, bool))
    np.testing.assert_allclose(prior.topic_rows(counts, held), given)
    rows = memory.all_rows(counts, every_term(2), given, np.zeros(1), 0.01, held.gain)
    np.testing.assert_allclose(rows, given)


def test_memory_moves_as_the_handbook_says():
    """For beta -> 0 the update is m + rho N / (S + N) (n / N - m); without tokens it stays."""
    before = np.array([0.5, 0.3, 0.2])
    n, s, rho = np.array([2.0, 6.0, 12.0]), 30.0, 0.3
    both = before[:, None].astype(np.float32), n[:, None].astype(np.float32)
    moved = memory.blend(*both, every_term(3), s, np.array([rho]))[:, 0]
    expected = before + rho * 20 / (30 + 20) * (n / 20 - before)
    np.testing.assert_allclose(moved, expected, rtol=1e-6)
    for none in (0.0, s):  # also where the memory has no strength at all
        kept = memory.blend(both[0], 0 * both[1], every_term(3), none, np.array([rho]))
        np.testing.assert_allclose(kept, both[0], rtol=1e-6)


def documents(rng, n_docs, length, q, burst):
    """Tokens of documents drawn from urns over q."""
    terms = []
    for _ in range(n_docs):
        doc = []
        for i in range(length):
            fresh = rng.random() < burst / (burst + i)
            doc.append(rng.choice(len(q), p=q) if fresh else doc[rng.integers(i)])
        terms.append(sorted(doc))
    indptr = np.arange(n_docs + 1, dtype=np.int64) * length
    return Tokens(indptr, np.concatenate(terms).astype(np.uint32))


@pytest.mark.parametrize("burst", [8.0, 60.0])
def test_burstiness_is_found(burst):
    rng = np.random.default_rng(2)
    q = rng.dirichlet(np.full(60, 0.3))
    tokens = documents(rng, 150, 30, q, burst)
    z = np.zeros(len(tokens.terms), np.uint16)
    found = change.count_repeats(z, tokens, q[:, None].astype(np.float32))
    assert found.times.sum() + found.n_once == found.lengths.sum() == 150 * 30
    assert change.burstiness(found) == pytest.approx(burst, rel=0.25)


def test_drift_expects_what_chance_does_and_sees_change():
    rng = np.random.default_rng(3)
    q = rng.dirichlet(np.full(200, 0.3))
    p = q.copy()
    p[:5] = 0.0
    p = 0.9 * p / p.sum()
    p[:5] += 0.02
    ratios = []
    with Workers(1) as workers:
        for truth in (q, p):
            tokens = documents(rng, 60, 40, truth, 50.0)
            z = np.zeros(len(tokens.terms), np.uint16)
            memory = q[:, None].astype(np.float32)
            found = change.count_repeats(z, tokens, memory)
            counts = np.bincount(tokens.terms, minlength=200)[:, None].astype(np.float32)
            counted = counts, np.arange(200, dtype=np.int32)
            gap = change.drift(
                found,
                counted,
                memory,
                50.0,
                (np.zeros(1, np.int64), np.ones(1, bool)),
                (1, 1),
                workers.each,
            )
            ratios.append(float(np.log(gap.value / gap.expected)[0] / gap.spread[0]))
    assert abs(ratios[0]) < 4
    assert ratios[1] > 6


def test_errors_of_shares_are_those_of_documents_drawn_anew():
    rng = np.random.default_rng(6)
    docs = rng.gamma(0.3, 8.0, (150, 4)).astype(np.float32)
    docs[:, 3] = 0.0
    share, error = change.shares(docs)
    np.testing.assert_allclose(share, docs.sum(axis=0) / docs.sum(), rtol=1e-6)
    drawn = docs[rng.integers(0, 150, (4000, 150))].sum(axis=1)
    drawn /= drawn.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(error, drawn.std(axis=0), rtol=0.05, atol=1e-9)
    low, high = change.interval(share, error)
    np.testing.assert_allclose(low, np.quantile(drawn, 0.025, axis=0), atol=0.012)
    np.testing.assert_allclose(high, np.quantile(drawn, 0.975, axis=0), atol=0.012)
    assert low[3] == high[3] == 0.0
    edges = np.array([1.0, 1.0 - 1e-15, 0.5, 1e-25, 0.0])
    for error in (np.zeros(5), np.array([1e-9, 1e-3, 5.0, 1e-25, 0.0]), np.full(5, 0.1)):
        low, high = change.interval(edges, error)
        assert (low >= 0).all()
        assert (low <= edges).all()
        assert (edges <= high).all()
        assert (high <= 1).all()


@pytest.mark.parametrize("n_docs", [2, 4])
def test_errors_of_shares_in_few_documents(n_docs):
    """Documents of one length: the error of a mean, by the bootstrap, over n and not n - 1."""
    docs = np.array([[9, 1], [4, 6], [7, 3], [2, 8]], np.float32)[:n_docs]
    share, error = change.shares(docs)
    parts = docs[:, 0] / 10
    np.testing.assert_allclose(share, [parts.mean(), 1 - parts.mean()])
    np.testing.assert_allclose(error, parts.std() / np.sqrt(n_docs))
    low, high = change.interval(share, error)
    odds, width = share / (1 - share), 1.96 * error / (share * (1 - share))
    np.testing.assert_allclose(low / (1 - low), odds * np.exp(-width))
    np.testing.assert_allclose(high / (1 - high), odds * np.exp(width))


def test_the_variance_of_log_odds_has_a_part_for_few_documents():
    docs = np.array([[9, 1, 0], [4, 6, 0], [7, 3, 0], [8, 2, 0]], np.float32)
    found = prior.SliceTopics(np.ones((4, 3), np.float32), docs, np.zeros(0), np.ones(3))
    seen = evidence.measure_shares(found, every_term(4))
    share, error = change.shares(docs)
    np.testing.assert_allclose(seen.measures.share, share)
    kept = np.array([28 / 40, 12 / 40, 1e-4])
    np.testing.assert_allclose(seen.logit, np.log(kept / (1 - kept)))
    np.testing.assert_allclose(seen.variance, (error / (kept * (1 - kept))) ** 2 + (3.0 / 4) ** 2)
    np.testing.assert_allclose(seen.measures.low, change.interval(share, error)[0])
    np.testing.assert_allclose(seen.measures.high, change.interval(share, error)[1])


def test_the_log_odds_of_all_and_of_nothing_are_finite():
    found = prior.SliceTopics(
        np.ones((2, 2), np.float32), np.array([[5, 0]], np.float32), None, None
    )
    seen = evidence.measure_shares(found, every_term(2))
    np.testing.assert_allclose(seen.logit, np.log((1 - 1e-4) / 1e-4) * np.array([1, -1]))
    assert np.isfinite(seen.variance).all()


def test_columns_without_mass_have_no_inverse():
    columns = np.array([[1.0, 0.0, 0.5], [3.0, 0.0, 0.0]], np.float32)
    assert change.inverse_sums(columns).tolist() == [0.25, 0.0, 2.0]


def test_parts_of_the_divergence_are_told_by_word():
    memory = np.array([0.5, 0.3, 0.1, 0.1])
    counts = np.array([10.0, 60.0, 20.0, 10.0])
    gained, lost = change.divergence_terms(counts, memory)
    assert gained.tolist() == [1, 2]
    assert lost.tolist() == [0]
    assert jsd(counts / 100, memory) > 0


def test_emerging_terms_by_the_beta_binomial():
    docs = np.array([0, 2, 30, 12, 50])
    expected = np.array([0.1, 0.0, 0.0, 0.1, 0.5])
    p = change.emergence_p(docs.astype(float), 100, expected, np.full(5, 200.0))
    assert p[0] == p[1] == 1.0, "terms of fewer than three documents are not judged"
    assert p[2] < 1e-10
    assert p[3] == pytest.approx(stats.betabinom.sf(11, 100, 20.5, 180.5))
    assert p[4] == 1.0, "as expected"


def test_a_memory_is_worth_what_terms_like_it_show():
    """Rare terms that keep to it are not blamed for the drift of frequent ones, nor the other way round."""
    rng = np.random.default_rng(0)
    often, seldom = np.full(100, 0.2), np.full(1000, 0.01)
    expected = np.concatenate([often, seldom])

    def judged(drift, clusters):
        rates = np.clip(often * np.exp(rng.normal(0.0, drift, 100)), 0.0, 1.0)
        rare = clusters * rng.binomial(300 // clusters, seldom)
        docs = np.concatenate([rng.binomial(300, rates), rare]).astype(float)
        found = change.memory_worth(docs, 300, expected, 2000.0)
        return found[0], found[-1]

    assert judged(0.0, 1) == (pytest.approx(2000.0, rel=0.5), 2000.0)
    frequent, rare = judged(0.5, 1)
    assert frequent < 100
    assert rare > 1000
    assert judged(0.0, 5)[1] < 300, "documents come in fives that have the same words"
    few = change.memory_worth(np.full(10, 3.0), 300, np.full(10, 0.01), 2000.0)
    assert (few == 2000.0).all(), "too few terms to tell"


def test_the_worth_of_frequent_terms_follows_from_their_median_residual():
    """Terms expected in 70 of 100 documents and found in 90: the variance is that of a certainty S."""
    docs, expected = np.full(20, 90.0), np.full(20, 0.7)
    found = change.memory_worth(docs, 100, expected, 200.0)
    spread = 70 * 0.3 * (1 + 100 / 200)
    inflated = 20**2 / spread / 0.4549 * (1 + 100 / 200)
    np.testing.assert_allclose(found, 100 / (inflated - 1))
    np.testing.assert_allclose(change.memory_worth(docs[1:], 100, expected[1:], 200.0), 200.0)


def test_the_last_score_is_a_log_likelihood():
    trail = history.Trail()
    assert np.isnan(trail.last_score)
    trail.slices = trail.slices._replace(surprise=np.array([np.nan, 2.5]))
    assert trail.last_score == -2.5


def test_false_discoveries():
    assert change.reject_hypotheses(np.array([0.001, 0.04, 0.03, np.nan, 0.5]), 0.05).tolist() == [
        True, False, False, False, False,
    ]  # fmt: skip
    assert change.reject_hypotheses(np.array([0.01, 0.02, 0.03]), 0.05).all()
    assert not change.reject_hypotheses(np.full(3, np.nan), 0.05).any()


def test_quantiles_of_what_stands_in_order():
    drawn = np.sort(np.random.default_rng(0).normal(size=(50, 3)), axis=0)
    for part in (0.0, 0.025, 0.5, 0.975, 1.0):
        np.testing.assert_allclose(change.quantile(drawn, part), np.quantile(drawn, part, axis=0))


def test_scores_are_judged_by_the_past():
    z = np.array([3.0])
    assert change.usual_p(z, np.zeros(0))[0] == pytest.approx(2 * stats.norm.sf(3.0))
    noisy = np.random.default_rng(0).normal(0, 3.0, 2000)
    assert change.usual_p(z, noisy)[0] > 0.2


def test_terms_and_topics_come_and_go():
    from bayou import TopicTracker

    counts = np.random.default_rng(0).poisson(0.5, (30, 12))
    state = TopicTracker(n_topics=3, n_sweeps=4, random_state=0, window=2).fit(counts).state_
    wide = slots.grow_terms(state, 2)
    assert wide.memory.shape == (14, 3)
    assert wide.past.shape == (1, 14, 3)
    assert not wide.memory[12:].any()
    narrow = slots.take_terms(wide, np.arange(6))
    np.testing.assert_allclose(narrow.memory.sum(axis=0), 1.0, rtol=1e-5)
    more = slots.add_topic(
        wide, memory=np.full(14, 1 / 14), rows=np.full(14, 1 / 14), ids=7, doubt=0.1, tokens=10.0,
        logit=0.0, logit_doubt=0.1,
    )  # fmt: skip
    assert more.ids.tolist() == [0, 1, 2, 7]
    np.testing.assert_allclose(more.past[0, :, 3], 1 / 14)
    assert slots.take_topics(more, np.array([3])).ids.tolist() == [7]
    kept = slots.archive_topic(more, 3)
    assert kept.archive_ids.tolist() == [7]
    assert slots.drop_archive_entry(kept, 0).archive.shape == (14, 0)


@pytest.mark.parametrize("seed", range(20))
def test_what_falls_at_a_rate_is_what_the_definition_says(seed):
    """The largest i with p_(i) <= level i / n; those that are not known count for nothing."""
    rng = np.random.default_rng(seed)
    p = rng.random(30) ** rng.integers(1, 6)
    p[rng.integers(0, 30, 4)] = np.nan
    known = np.sort(p[np.isfinite(p)])
    under = known[known <= 0.1 * np.arange(1, len(known) + 1) / len(known)]
    most = under.max() if len(under) else -1.0
    np.testing.assert_array_equal(change.reject_hypotheses(p, 0.1), p <= most)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_medians_and_quantiles_of_a_few(n):
    values = np.random.default_rng(n).normal(size=n)
    assert change.median(values) == pytest.approx(np.median(values))
    for part in (0.0, 0.3, 0.95, 1.0):
        expected = np.quantile(values, part)
        assert change.quantile(np.sort(values), part) == pytest.approx(expected)
