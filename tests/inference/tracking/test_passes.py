"""CVB0 passes over a slice whose topics have priors."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import em as twin

from bayou import TopicTracker
from bayou.inference.lda import arrays, documents, em, prior
from bayou.inference.tracking import cvb0, expectations
from bayou.inference.tracking import prior as tracking
from bayou.run.shards import Workers

ALPHA = np.array([0.3, 0.1, 0.2])


def slice_of(seed=0, n_docs=12, n_terms=9):
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.2, (n_docs, n_terms)).astype(np.float32)
    X[3], X[:, 4] = 0, 0
    return X, documents.pairs_of(csr_array(X)), rng


def priors(rng, n_terms=9):
    memory = rng.dirichlet(np.ones(n_terms), 3).T.astype(np.float32)
    held = np.array([True, False, False])
    return tracking.make_prior(memory, np.array([np.inf, 5.0, 0.5]), 0.2, held)


def cut(pairs, known, begin):
    """A slice, with the rows of its terms alone."""
    here = tracking.slice_documents(pairs, len(known.rows))
    rows = None if begin is None else begin[here.terms]
    return here, known._replace(rows=known.rows[here.terms]), rows


def test_a_pass_is_the_dense_one_sided_cvb0_under_its_priors():
    X, pairs, rng = slice_of()
    known = priors(rng)
    n_dk = rng.gamma(1.0, 2.0, (12, 3)).astype(np.float32)
    n_vk = rng.gamma(1.0, 2.0, (9, 3)).astype(np.float32)
    (batch,) = em.make_batches(pairs, 1, 9)
    work = cvb0.PassWorkspace(pairs, batch, em.make_scratch([batch], 3), n_dk.copy())
    with Workers(1) as workers:
        single = known.rows.astype(np.float32)
        got = cvb0._pass(work, *cvb0._smooth_counts(n_vk, known, single), ALPHA, workers.each)
    docs, terms = twin.cavity_under(X.astype(float), n_dk, tracking.topic_rows(n_vk, known), ALPHA)
    there = X.sum(axis=1) > 0
    np.testing.assert_allclose(work.docs[there], docs[there], rtol=2e-4, atol=1e-5)
    np.testing.assert_allclose(got, terms, rtol=2e-4, atol=1e-5)


def learned(monkeypatch, n_threads=1, **constants):
    """A slice of some size, with other constants."""
    for name, value in constants.items():
        owner = {"LANES": arrays, "BLOCK": expectations}.get(name, cvb0)
        monkeypatch.setattr(owner, name, value)
    rng = np.random.default_rng(5)
    X = csr_array(rng.poisson(0.6, (90, 40)).astype(np.float32))
    memory = rng.dirichlet(np.ones(40), 3).T.astype(np.float32)
    known = tracking.make_prior(memory, np.array([np.inf, 5.0, 50.0]), 0.2, np.arange(3) < 1)
    here = tracking.slice_documents(documents.pairs_of(X), 40)
    how = tracking.SliceSettings(ALPHA, 4, 0, "fast", True)
    with Workers(n_threads) as workers:
        return cvb0.infer(here, known, how, memory, 5, workers.each)


def test_small_slices_learn_what_larger_ones_would(monkeypatch):
    """In one piece or in several, in one block of documents or in several."""
    (found, known) = learned(monkeypatch)
    assert found.term_topic.shape == (40, 3)
    assert known.rows.shape == (40, 3)
    for constants in ({"ALONE": 0}, {"BLOCK": 300}):
        with monkeypatch.context() as patch:
            (other, under) = learned(patch, **constants)
        np.testing.assert_array_equal(other.z, found.z)
        np.testing.assert_allclose(other.term_topic, found.term_topic, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(other.doc_topic, found.doc_topic, rtol=1e-3, atol=1e-4)
        assert under.beta == pytest.approx(known.beta, rel=1e-4)


def test_topics_that_nothing_can_have_change_next_to_nothing(monkeypatch):
    found, _ = learned(monkeypatch)
    other, _ = learned(monkeypatch, LANES=1)
    gap = np.abs(other.term_topic - found.term_topic).sum()
    assert gap < 0.05 * found.term_topic.sum()


def test_blocks_have_the_same_sums_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("bayou.run.shards._LEAST", 0)
    one, _ = learned(monkeypatch, 1, BLOCK=200, ALONE=0)
    two, _ = learned(monkeypatch, 2, BLOCK=200, ALONE=0)
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a, b)


def test_blocks_of_documents_are_no_more_than_they_are_worth():
    indptr = np.arange(0, 400_001, 100)
    assert expectations._blocks(indptr, 1000).tolist()[::15] == [0, 3750]
    assert len(expectations._blocks(indptr, 1000)) == 17
    assert expectations._blocks(indptr, expectations.MOST_CELLS).tolist() == [0, 4000], (
        "their sums are large"
    )
    assert expectations._blocks(indptr[:5], 10).tolist() == [0, 4]
    assert expectations._blocks(np.array([0, 400_000]), 10).tolist() == [0, 1], "one document"


@pytest.mark.parametrize("begin", ["noise", "memory"])
def test_every_token_is_counted_once_and_terms_that_are_not_there_not_at_all(begin):
    X, pairs, rng = slice_of()
    known = tracking.flat_prior(9, 3, 0.1) if begin == "noise" else priors(rng)
    rows = None if begin == "noise" else (known.rows / known.mass).astype(np.float32)
    how = tracking.SliceSettings(ALPHA, 3, 0, "fast", True)
    with Workers(1) as workers:
        gone = known.rows[4] - np.where(known.gain > 0, known.beta, 0.0)
        here, known, rows = cut(pairs, known, rows)
        found, under = cvb0.infer_first(here, known, how, rows, [5], workers.each)
        if rows is not None:
            later, _ = cvb0.infer(here, known, how, rows, 5, workers.each)
            np.testing.assert_allclose(later.doc_topic.sum(axis=1), X.sum(axis=1), rtol=1e-5)
    term_topic = here.spread(found.term_topic)
    np.testing.assert_allclose(term_topic.sum(axis=1), X.sum(axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.doc_topic.sum(axis=1), X.sum(axis=1), rtol=1e-5)
    assert len(found.z) == X.sum()
    assert under.beta != known.beta
    absent = np.where(known.gain > 0, under.beta, 0.0) + gone  # the term that the slice has none of
    np.testing.assert_allclose(under.rows.sum(axis=0) + absent, under.mass, rtol=1e-6)
    np.testing.assert_array_equal(under.rows[:, 0] == known.rows[:, 0], begin == "memory")


def test_several_topics_that_know_nothing_become_different():
    X, pairs, _ = slice_of(n_docs=60)
    known = tracking.flat_prior(9, 3, 0.1)
    begin = np.full((9, 3), 1 / 9, np.float32)
    with Workers(1) as workers:
        how = tracking.SliceSettings(ALPHA, 5, 0, "fast", False)
        found, _ = cvb0.infer(*cut(pairs, known, begin)[:2], how, begin[1:], 5, workers.each)
    gap = np.abs(found.term_topic[:, 0] - found.term_topic[:, 1]).sum()
    assert gap > 0.2 * X.sum() / 3


@pytest.mark.parametrize("strength", [0.0, 40.0])
def test_beta_is_learned_beside_a_memory(strength):
    rng = np.random.default_rng(0)
    memory = rng.dirichlet(np.full(300, 0.1), 15).T
    rows = np.array([rng.dirichlet(strength * m + 0.08) for m in memory.T])
    counts = np.array([rng.multinomial(4000, row) for row in rows]).T.astype(np.float32)
    known = tracking.make_prior(
        memory.astype(np.float32), np.full(15, strength), 0.5, np.zeros(15, bool)
    )
    for _ in range(60):
        known = tracking.estimate_beta(known, counts, 300)
    assert known.beta == pytest.approx(0.08, rel=0.15)
    if not strength:
        alone = 0.5
        for _ in range(60):
            alone = prior.estimate_beta(alone, counts)
        assert known.beta == pytest.approx(alone)


def test_beta_follows_the_amount_of_data():
    """Many terms and few tokens ask for a large beta; many tokens of few terms each for a small one."""
    rng = np.random.default_rng(1)
    few = TopicTracker(n_topics=3, random_state=0).fit(rng.poisson(0.05, (60, 200)))
    phi = rng.dirichlet(np.full(200, 0.02), 3)
    X = np.array([rng.multinomial(60, phi[i % 3]) for i in range(60)])
    many = TopicTracker(n_topics=3, random_state=0).fit(X)
    assert many.state_.beta < 0.1 < few.state_.beta
