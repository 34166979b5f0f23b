"""Numbers of passes and sweeps, step sizes of a stream, the guard's sizes and scores: values by hand."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou.inference.lda import documents, guard, prior, schedule, stream, sweeps
from bayou.inference.lda.schedule import CorpusSize


class Sweeps(NamedTuple):
    n_sweeps: int | None = None
    burn_in: int | None = None
    tol: float = 0.1


def test_scored_and_kept_sweeps():
    p = Sweeps(23, 7)
    assert [s for s in range(1, 24) if sweeps.is_scored(s, p)] == [7, 10, 20, 23]
    assert [s for s in range(8, 24) if sweeps.is_kept(s, 7, p)] == [12, 17, 22, 23]
    assert not any(sweeps.is_kept(s, -1, p) for s in range(24))
    assert sweeps.most(Sweeps()) == 200


def test_burn_in_ends_where_it_is_told_at_half_or_when_scores_are_flat():
    rising, flat = np.arange(9.0), np.array([0, 1, 2, 3, 3.05, 3.1, 3.2, 3.3, 3.4])
    told = Sweeps(40, 10)
    assert [sweeps.end_of_burn_in(s, -1, flat, told) for s in (9, 10, 11)] == [-1, 10, 11]
    assert sweeps.end_of_burn_in(30, 10, flat, told) == 10, "once"
    own = Sweeps(40)
    assert [sweeps.end_of_burn_in(s, -1, rising, own) for s in (19, 20)] == [-1, 20]
    assert sweeps.end_of_burn_in(12, -1, flat, own) == 12, "five scores gained less than 5 x 0.1"
    assert sweeps.end_of_burn_in(12, -1, flat[-5:], own) == -1, "too few scores"
    exact = np.array([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert sweeps.end_of_burn_in(12, -1, exact, own) == -1, "exactly 5 x 0.1 is a gain"


def test_training_ends_after_as_many_sweeps_as_burn_in_took():
    p = Sweeps(200)
    assert [sweeps.is_done(s, 70, p) for s in (139, 140)] == [False, True]
    assert [sweeps.is_done(s, 20, p) for s in (69, 70)] == [False, True], "50 at least"
    assert [sweeps.is_done(s, 150, p) for s in (199, 200)] == [False, True]
    assert not sweeps.is_done(140, 70, Sweeps(200, 70)), "a given burn-in does not end training"
    assert not sweeps.is_done(150, -1, p)


def size(n_docs=1000, n_pairs=50_000, n_tokens=200_000.0, n_terms=2000, whole=True):
    return CorpusSize(n_docs, n_pairs, n_tokens, n_terms, whole)


SHORT = size(n_docs=10_000, n_pairs=40 << 15, n_tokens=999_999.0, n_terms=2000)


@pytest.mark.parametrize(
    ("n_topics", "corpus", "n_sweeps", "expected"),
    [
        # online, sampled, cavity, rescue, batches
        (20, size(), None, (3, 0, 97, 100, 62)),
        (20, size(), 10, (3, 0, 7, 0, 62)),
        (20, size(), 2, (2, 0, 0, 0, 62)),
        (20, size(n_docs=15), None, (3, 0, 97, 100, 1)),
        (20, size(n_docs=5000), None, (3, 0, 97, 100, 64)),
        (400, size(), None, (1, 100, 20, 100, 8)),
        (400, size(), 11, (1, 0, 10, 0, 8)),
        (399, size(), None, (3, 0, 97, 100, 62)),
        (20, SHORT, None, (1, 99, 0, 100, 64)),
        (20, SHORT._replace(n_docs=10_100, n_pairs=100 << 15), None, (1, 99, 0, 100, 100)),
    ],
)
def test_passes_of_the_fast_inference(n_topics, corpus, n_sweeps, expected):
    plan = schedule.make_schedule(n_topics, corpus, n_sweeps, 0.01, (True, False))
    assert plan[:5] == expected
    assert plan.n_passes == sum(expected[:3])
    assert (plan.tol, plan.learn_alpha, plan.learn_beta) == (0.01, True, False)
    assert plan.clustered == (corpus.n_docs >= 10_000)


@pytest.mark.parametrize(
    "change",
    [{"whole": False}, {"n_docs": 9_999}, {"n_tokens": 1_000_000.0}, {"n_terms": 12_500}],
    ids=str,
)
def test_a_corpus_of_short_documents_is_large_dense_and_of_whole_counts(change):
    assert schedule.is_short(20, SHORT)
    assert schedule.is_short(20, SHORT._replace(n_terms=12_499))
    assert not schedule.is_short(20, SHORT._replace(**change))


@pytest.mark.parametrize(
    ("n_docs", "kept_out"),
    [(9, 0), (10, 2), (100, 20), (125, 25), (1250, 25), (1300, 26), (50_000, 1000), (90_000, 1000)],
)
def test_documents_that_are_kept_out(n_docs, kept_out):
    assert schedule.guard_size(n_docs) == kept_out


def pairs(rows):
    return documents.pairs_of(csr_array(np.array(rows, np.float32)))


def test_the_guard_is_compared_with_the_distribution_of_all_terms():
    train, scored = pairs([[3, 0, 1], [0, 0, 2]]), pairs([[1, 0, 0], [0, 4, 0]])
    mass = np.array([3.5, 0.5, 3.5]) / 7.5
    expected = (np.log(mass[0]) + 4 * np.log(mass[1])) / 5
    assert guard.unigram_score(train, scored, 3, 0.5) == pytest.approx(expected)
    assert guard.unigram_score(train, pairs([[0, 0, 0]]), 3, 0.5) == -np.inf
    assert guard.unigram_score(train, pairs([[1, 0, 0]]), 3, 0.5) == pytest.approx(np.log(mass[0]))


class Pace(NamedTuple):
    n_docs: int | None = None
    tau: float = 4.0
    kappa: float = 0.5


def test_steps_of_a_stream():
    now = stream.pace(4, 30, 10, Pace())
    assert now[:4] == (5, 40, pytest.approx(1 / 3), 4.0)
    known = Pace(n_docs=100)
    assert stream.pace(0, 0, 10, known)[3] == 10.0
    assert [stream.pace(9, n, 10, known)[4] for n in (99, 100)] == [False, True]
    assert stream.pace(9, 500, 10, Pace())[4] is False, "an open stream reads nothing again"


@pytest.mark.parametrize(
    ("n_docs", "expected"),
    [(None, 64), (10, 8), (359, 8), (360, 9), (4000, 100), (5120, 128), (9000, 128)],
)
def test_default_sizes_of_mini_batches(n_docs, expected):
    assert stream.batch_size(n_docs) == expected


@pytest.mark.parametrize("kappa", [0.6, 1.0])
def test_renewals_are_the_sum_of_step_sizes(kappa):
    total = sum((10.0 + t) ** -kappa for t in range(1, 2001))
    assert stream.renewals(2000, 10.0, kappa) == pytest.approx(total, rel=0.02)


@pytest.mark.parametrize(
    ("alpha", "n_topics", "expected"),
    [(None, 10, 0.1), (None, 1000, 0.05), (0.3, 4, 0.3), ([0.1, 0.2], 2, [0.1, 0.2])],
)
def test_alpha_is_one_number_or_one_per_topic(alpha, n_topics, expected):
    np.testing.assert_allclose(
        prior.resolve_alpha(alpha, n_topics), np.broadcast_to(expected, n_topics)
    )


@pytest.mark.parametrize("alpha", [[0.1, 0.2, 0.3], [[0.1, 0.2]], [0.1], 0.0, -1.0, "much"])
def test_alpha_of_another_shape_or_sign_is_refused(alpha):
    with pytest.raises(ValueError, match="alpha must be"):
        prior.resolve_alpha(alpha, 2)


def test_documents_are_selected_joined_and_narrowed():
    docs = pairs([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4], [5, 0, 0, 0]])
    dense = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 3, 0, 4], [5, 0, 0, 0]])

    def rows(p, n_terms=4):
        return csr_array((p.counts, p.terms, p.indptr), (p.n_docs, n_terms)).toarray()

    order = np.array([2, 0, 2, 1])
    np.testing.assert_array_equal(rows(docs.take(order)), dense[order])
    np.testing.assert_array_equal(
        rows(docs.join(docs.take(order))), np.vstack([dense, dense[order]])
    )
    keep = np.array([3, 0])
    np.testing.assert_array_equal(rows(docs.move_terms(keep, 4), 2), dense[:, keep])
    tokens = documents.tokens_of(docs)
    assert tokens.indptr.tolist() == [0, 3, 3, 10, 15]
    assert tokens.terms.tolist() == [0, 2, 2, 1, 1, 1, 3, 3, 3, 3, 0, 0, 0, 0, 0]
    ids = documents.content_ids(docs.take(order))
    assert ids[0] == ids[2]
    assert len(set(ids.tolist())) == 3
