"""The loops behind the measures, draw for draw against slow twins; small enough for plain Python."""

import numpy as np
import pytest
from tests.reference import lda
from tests.reference import metrics as twin
from tests.reference.draws import mix

from bayou.kernels import evaluate
from bayou.kernels.rng import METRIC, permutation

TOPICS = np.random.default_rng(0).dirichlet(np.full(5, 0.7), 3)
BY_TERM = np.ascontiguousarray(TOPICS.T)
ALPHA = np.array([0.4, 0.1, 0.9])
X = np.array([[2, 0, 1, 0, 3], [0, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 1, 1, 1, 1]])


def csr(X):
    """(indptr, terms, counts) of the entries that are not zero."""
    rows, terms = np.nonzero(X)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=len(X)))])
    return indptr, terms.astype(np.int32), X[rows, terms].astype(float)


def tokens_of(X):
    docs = [np.repeat(np.arange(X.shape[1]), row) for row in X]
    indptr = np.concatenate([[0], np.cumsum([len(doc) for doc in docs])])
    return indptr, np.concatenate(docs), docs


def stream_at(key):
    stream = lda.Stream()
    stream.at = int(key)
    return stream


def test_keys_are_hashes_of_content():
    keys = evaluate.content_keys(*csr(X), 7, evaluate.GIBBS)
    for row, key in zip(X, keys, strict=True):
        expected = lda.key(7, METRIC, evaluate.GIBBS, 0)
        for v in np.flatnonzero(row):
            expected = mix(((expected ^ int(v)) + lda.GOLDEN) & lda.MASK)
            expected = mix(((expected ^ int(row[v])) + lda.GOLDEN) & lda.MASK)
        assert int(key) == expected
    again = evaluate.content_keys(*csr(X[::-1]), 7, evaluate.GIBBS)
    np.testing.assert_array_equal(again[::-1], keys)
    assert not np.array_equal(evaluate.content_keys(*csr(X), 7, evaluate.SPLIT), keys)


def test_whole_rows_are_dealt_in_turn_and_fractional_ones_halved():
    mixed = X.astype(float)
    mixed[3, 2] = 1.5
    indptr, terms, counts = csr(mixed)
    keys = evaluate.content_keys(indptr, terms, counts, 0, evaluate.SPLIT)
    halves = np.zeros((2, len(counts)))
    evaluate.split_into(halves[0], halves[1], indptr, counts, keys)
    np.testing.assert_array_equal(halves.sum(axis=0), counts)
    for d, span in enumerate(lda.spans(indptr)):
        if d == 3:
            np.testing.assert_array_equal(halves[0, span], counts[span] / 2)
            continue
        places = np.repeat(list(span), counts[span].astype(int)).astype(int)
        order = permutation(len(places), keys[d])
        for side in (0, 1):
            dealt = np.bincount(places[order[side::2]], minlength=len(counts))[span]
            np.testing.assert_array_equal(halves[side, span], dealt)


@pytest.mark.parametrize("n_iter", [1, 2, 9])
def test_fixed_point_is_its_twin(n_iter):
    theta = np.empty((len(X), 3))
    evaluate.fold_in_em_into(theta, *csr(X), BY_TERM, ALPHA, n_iter)
    for row, got in zip(X, theta, strict=True):
        np.testing.assert_allclose(got, twin.fold_in_em(TOPICS, ALPHA, row, n_iter), rtol=1e-12)


def test_a_term_without_probability_is_passed_over():
    hole = BY_TERM.copy()
    hole[0] = 0.0
    theta, without = np.empty((2, len(X), 3))
    evaluate.fold_in_em_into(theta, *csr(X), hole, ALPHA, 4)
    left = X.copy()
    left[:, 0] = 0
    evaluate.fold_in_em_into(without, *csr(left), hole, ALPHA, 4)
    np.testing.assert_allclose(theta, without, rtol=1e-12)


@pytest.mark.parametrize("schedule", [(0, 1), (2, 3)])
def test_gibbs_is_its_twin_draw_for_draw(schedule):
    indptr, tokens, docs = tokens_of(X)
    keys = evaluate.content_keys(*csr(X), 3, evaluate.GIBBS)
    theta = np.empty((len(X), 3))
    evaluate.fold_in_gibbs_into(theta, indptr, tokens, BY_TERM, ALPHA, schedule, keys)
    for doc, got, key in zip(docs, theta, keys, strict=True):
        expected = twin.gibbs_proportions(TOPICS, ALPHA, doc, *schedule, stream_at(key))
        np.testing.assert_allclose(got, expected, rtol=1e-12)


def test_gibbs_has_the_exact_mean():
    tokens = np.array([0, 4, 4])
    theta = np.empty((1, 3))
    keys = np.array([11], np.uint64)
    ends = np.array([0, 3])
    evaluate.fold_in_gibbs_into(theta, ends, tokens, BY_TERM, ALPHA, (5, 1500), keys)
    exact = twin.exact_proportions(TOPICS, ALPHA, tokens)
    np.testing.assert_allclose(theta[0], exact, atol=0.03)


def test_log_likelihood_is_that_of_the_mixture():
    theta = np.random.default_rng(1).dirichlet(np.ones(3), len(X))
    sums = np.empty(len(X))
    evaluate.log_likelihood_into(sums, *csr(X), theta, BY_TERM)
    np.testing.assert_allclose(sums, (X * np.log(theta @ TOPICS)).sum(axis=1), rtol=1e-12)


@pytest.mark.parametrize("n_particles", [1, 3])
def test_left_to_right_is_its_twin_draw_for_draw(n_particles):
    indptr, tokens, docs = tokens_of(X)
    keys = evaluate.content_keys(*csr(X), 5, evaluate.LEFT_TO_RIGHT)
    evidence = np.empty(len(X))
    evaluate.left_to_right_into(evidence, indptr, tokens, BY_TERM, ALPHA, n_particles, keys)
    for doc, got, key in zip(docs, evidence, keys, strict=True):
        ordered = doc[permutation(len(doc), key)]
        stream = stream_at(mix((int(key) + lda.GOLDEN) & lda.MASK))
        expected = twin.left_to_right(TOPICS, ALPHA, ordered, n_particles, stream)
        assert got == pytest.approx(expected, rel=1e-12, abs=1e-12)
    assert evidence[1] == 0.0
    exact = twin.exact_evidence(TOPICS, ALPHA, [1])  # one token needs no luck
    assert evidence[2] == pytest.approx(np.log(exact))


def test_left_to_right_of_an_impossible_token():
    hole = BY_TERM.copy()
    hole[4] = 0.0
    evidence, keys = np.empty(1), np.array([1], np.uint64)
    tokens = np.array([0, 4])
    evaluate.left_to_right_into(evidence, np.array([0, 2]), tokens, hole, ALPHA, 2, keys)
    assert evidence[0] == -np.inf


def test_windows_are_counted():
    docs = [[0, 1, 0, 2, 1], [2, 2], [], [1, 0, 3]]
    sets = list(twin.windows(docs, 2))
    found = [[i for i, s in enumerate(sets) if v in s] for v in range(4)]
    starts, stops, ends = [], [], [0]
    for places in found:  # runs of windows that follow each other
        runs = np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)
        starts += [run[0] for run in runs]
        stops += [run[-1] + 1 for run in runs]
        ends.append(len(starts))
    arrays = [np.array(a, np.int64) for a in (ends, starts, stops)]
    shared = np.empty((4, 4))
    evaluate.count_windows_into(shared, *arrays, np.array([3, 0, 1, 2]))
    expected = [[sum(a in s and b in s for s in sets) for b in (3, 0, 1, 2)] for a in (3, 0, 1, 2)]
    np.testing.assert_array_equal(shared, expected)
    assert evaluate.overlap(arrays[1], arrays[2], 0, 0, 1, 2) == 0
