"""Topics under words and labels: draw for draw the twin, and what the sweeps have in common."""

import numba
import numpy as np
import pytest
from tests.reference import lda, margin, margin_cases

from bayou.kernels.lda.sweep import gibbs_sweep
from bayou.kernels.margin import tilted_sweep
from bayou.kernels.rng import TOKEN

NONE = np.empty((0, 0, 0), np.float32)  # weights are drawn and have no covariance
long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


def f32(x):
    return np.ascontiguousarray(x, np.float32)


def labels_of(seed, n_docs, n_tasks, n_topics, scale=3.0):
    rng = np.random.default_rng(seed)
    omega, kappa = rng.gamma(1, scale, (n_docs, n_tasks)), rng.normal(0, scale, (n_docs, n_tasks))
    return f32(omega), f32(kappa), f32(rng.normal(size=(n_tasks, n_topics))), NONE


def words_of(z, corpus):
    indptr, terms, _, alpha, beta, n_terms = corpus
    _, n_vk, n_k = lda.counts(z, indptr, terms, len(alpha), n_terms)
    return f32(n_vk), n_k, f32(1.0 / (n_k + n_terms * beta))


def run(z, corpus, labels, live, sweep, words=None, ids=None):
    indptr, terms, rho, alpha, beta, _ = corpus
    n_docs = len(indptr) - 1
    words = words_of(z, corpus) if words is None else words
    ids = np.arange(n_docs, dtype=np.uint64) if ids is None else ids
    tilted_sweep.sweep_docs(
        z, (indptr, terms, ids), f32(rho), 0, n_docs, words, int(live),
        (f32(alpha), np.float32(beta)), labels, 7, TOKEN, sweep,
    )  # fmt: skip
    return words


@pytest.mark.parametrize("live", [True, False], ids=["live", "at rest"])
@pytest.mark.parametrize(("n_topics", "n_tasks"), [(1, 1), (2, 1), (4, 3), (19, 5)])
def test_sweep_is_its_twin_draw_for_draw(n_topics, n_tasks, live):
    corpus, z = margin_cases.corpus(n_topics, n_topics, lengths=(5, 1, 0, 9, 6))
    indptr, terms, rho, alpha, beta, n_terms = corpus
    labels = labels_of(1, 5, n_tasks, n_topics)
    labels[0][3], labels[1][3] = 0, 0  # a document without labels among the others
    ids = np.array([3, 9, 0, 4, 11], np.uint64)
    twin = z.copy()
    for sweep in range(3):
        frozen = None if live else twin.copy()
        run(z, corpus, labels, live, sweep, ids=ids)
        twin = margin.gibbs_sweep(
            twin, (indptr, terms), ids, rho, (alpha, beta, n_terms), labels, 7, sweep, frozen
        )
        np.testing.assert_array_equal(z, twin)


@pytest.mark.parametrize("n_spread", [1, 3])
def test_weights_with_a_covariance_draw_as_their_twin(n_spread):
    corpus, z = margin_cases.corpus(2, 4, lengths=(5, 1, 0, 9, 6))
    indptr, terms, rho, alpha, beta, n_terms = corpus
    root = np.random.default_rng(3).normal(size=(n_spread, 4, 4))
    labels = (*labels_of(1, 5, 3, 4)[:3], f32(root @ root.transpose(0, 2, 1)))
    twin = z.copy()
    for sweep in range(3):
        run(z, corpus, labels, True, sweep)
        twin = margin.gibbs_sweep(
            twin, (indptr, terms), range(5), rho, (alpha, beta, n_terms), labels, 7, sweep
        )
        np.testing.assert_array_equal(z, twin)


def test_given_topics_stand_in_for_counts():
    """phi in place of counts, nothing taken out of it: n_dk + alpha times phi times the tilt."""
    corpus, z = margin_cases.corpus(2, 4, lengths=(5, 1, 0, 9, 6))
    indptr, terms, rho, alpha, _, n_terms = corpus
    phi = np.random.default_rng(4).dirichlet(np.ones(n_terms), 4).T
    labels, twin = labels_of(1, 5, 3, 4), z.copy()
    words = (f32(phi), np.zeros(4), np.ones(4, np.float32))
    tilted_sweep.sweep_docs(
        z, (indptr, terms, np.arange(5, dtype=np.uint64)), f32(rho), 0, 5, words,
        tilted_sweep.GIVEN, (f32(alpha), np.float32(0.0)), labels, 7, TOKEN, 1,
    )  # fmt: skip
    for d, span in enumerate(lda.spans(indptr)):
        stream = lda.Stream(7, lda.TOKEN, 1, d)
        for i in span:
            rest = margin.zbar_of(twin, rho, indptr, 4)[d]
            rest[twin[i]] -= rho[i]
            g = margin.core(labels[2], labels[0][d], labels[1][d], rest, rho[i])
            docs = lda.counts(twin, indptr, terms, 4, n_terms, without=i)[0][d] + alpha
            twin[i] = lda.pick(
                docs * phi[terms[i]] * np.exp(g - g.max()), np.float32(stream.next())
            )
    np.testing.assert_array_equal(z, twin)
    np.testing.assert_array_equal(words[0], f32(phi))


def test_live_counts_follow():
    corpus, z = margin_cases.corpus(3, lengths=(5, 1, 0, 9, 6))
    n_vk, n_k, inverse = run(z, corpus, labels_of(1, 5, 3, 4), True, 1)
    wanted = words_of(z, corpus)
    np.testing.assert_array_equal(n_vk, wanted[0])
    np.testing.assert_array_equal(n_k, wanted[1])
    np.testing.assert_allclose(inverse, wanted[2], rtol=1e-6)
    assert n_k.sum() == len(z)


def test_counts_at_rest_are_brought_up_to_date():
    corpus, z = margin_cases.corpus(4, lengths=(5, 1, 0, 9, 6))
    before = z.copy()
    n_vk, n_k, _ = run(z, corpus, labels_of(1, 5, 3, 4), False, 1)
    np.testing.assert_array_equal(n_vk, words_of(before, corpus)[0])
    tilted_sweep.count_moves(n_vk, n_k, corpus[1], before, z, 0, len(z))
    np.testing.assert_array_equal(n_vk, words_of(z, corpus)[0])
    np.testing.assert_array_equal(n_k, words_of(z, corpus)[1])
    anew, sizes = np.zeros_like(n_vk), np.zeros_like(n_k)
    tilted_sweep.count_tokens(anew, sizes, corpus[1], z)
    np.testing.assert_array_equal(anew, n_vk)
    np.testing.assert_array_equal(sizes, n_k)


@pytest.mark.parametrize("n_topics", [1, 2, 5, 40])
def test_without_labels_it_is_lda_draw_for_draw(n_topics):
    corpus, z = margin_cases.corpus(5, n_topics, lengths=(5, 1, 0, 9, 6))
    indptr, terms, _, alpha, beta, _ = corpus
    _, _, eta, _ = labels_of(1, 5, 2, n_topics)
    none = np.zeros((5, 2), np.float32)
    other = z.copy()
    n_vk, n_k, _ = words_of(other, corpus)
    for sweep in range(4):
        run(z, corpus, (none, none, eta, NONE), True, sweep)
        gibbs_sweep(other, (indptr, terms), n_vk, n_k, alpha, beta, 7, sweep)
        np.testing.assert_array_equal(z, other)


def test_weak_labels_are_nearly_no_labels():
    """As c goes to zero, so do omega and kappa; draws are LDA's but for ties."""
    corpus, z = margin_cases.corpus(5, 5, lengths=(5, 1, 0, 9, 6))
    omega, kappa, eta, _ = labels_of(1, 5, 2, 5)
    other = z.copy()
    run(z, corpus, (omega * np.float32(1e-12), kappa * np.float32(1e-6), eta, NONE), True, 1)
    run(other, corpus, (omega * 0, kappa * 0, eta, NONE), True, 1)
    np.testing.assert_array_equal(z, other)


def test_counts_at_rest_are_exact_for_single_tokens():
    """A block of one document of one token has nothing to wait for: both ways are the same draw.

    With more tokens in the block they differ by how often earlier tokens of it moved n_vk and n_k.
    """
    corpus, z = margin_cases.corpus(6, 5, lengths=(1,) * 12, n_terms=4)
    labels = labels_of(2, 12, 3, 5)
    other = z.copy()
    run(z, corpus, labels, True, 1)
    indptr, terms, rho, alpha, beta, _ = corpus
    for d in range(12):
        words, before = words_of(other, corpus), other.copy()
        tilted_sweep.sweep_docs(
            other, (indptr, terms, np.arange(12, dtype=np.uint64)), f32(rho), d, d + 1, words,
            tilted_sweep.STILL, (f32(alpha), np.float32(beta)), labels, 7, TOKEN, 1,
        )  # fmt: skip
        tilted_sweep.count_moves(words[0], words[1], terms, before, other, d, d + 1)
    np.testing.assert_array_equal(z, other)


def test_ranges_do_not_matter_at_rest():
    corpus, z = margin_cases.corpus(8, 6, lengths=(5, 1, 0, 9, 6, 4, 8))
    indptr, terms, rho, alpha, beta, _ = corpus
    labels, words = labels_of(3, 7, 3, 6), words_of(z, corpus)
    whole = z.copy()
    rest = (words, tilted_sweep.STILL, (f32(alpha), np.float32(beta)), labels, 7, TOKEN, 1)
    tokens = (indptr, terms, np.arange(7, dtype=np.uint64))
    tilted_sweep.sweep_docs(whole, tokens, f32(rho), 0, 7, *rest)
    for lo, hi in ((4, 7), (0, 1), (1, 4)):
        tilted_sweep.sweep_docs(z, tokens, f32(rho), lo, hi, *rest)
    np.testing.assert_array_equal(z, whole)


def test_strong_labels_do_not_overflow():
    corpus, z = margin_cases.corpus(9, 8, lengths=(20, 1))
    labels = (f32([[1e6], [1e6]]), f32([[1e7], [-1e7]]), f32(np.linspace(-9, 9, 8)[None]), NONE)
    for sweep in range(5):
        run(z, corpus, labels, True, sweep)
    assert z.max() < 8


@long_chain
def test_chain_visits_the_enumerated_law():
    """One document, fixed weights and pseudo-observations, counts live."""
    corpus, z = margin_cases.corpus(10, 3, lengths=(3, 2), n_terms=3)
    labels = labels_of(5, 2, 2, 3, 2.0)
    _, law = margin.document_law(corpus, *(x.astype(float) for x in labels[:3]))
    words, seen = words_of(z, corpus), np.empty((30_000, len(z)), np.uint16)
    for sweep in range(len(seen)):
        run(z, corpus, labels, True, sweep, words)
        seen[sweep] = z
    assert lda.distance(lda.place_of(seen, 3), law) < 0.03


def test_start_and_shuffle_are_keyed_by_document():
    indptr = np.array([0, 400, 400, 900])
    ids = np.array([5, 6, 7], np.uint64)
    z = np.empty(900, np.uint16)
    tilted_sweep.start_uniform(z, indptr, ids, 0, 3, 4, 1)
    assert np.bincount(z, minlength=4).min() > 170
    alone = np.empty(900, np.uint16)
    tilted_sweep.start_uniform(alone, indptr, ids, 2, 3, 4, 1)
    np.testing.assert_array_equal(alone[400:], z[400:])
    terms = np.arange(900, dtype=np.uint32)
    tilted_sweep.shuffle_tokens(terms, indptr, ids, 0)
    assert sorted(terms[:400]) == list(range(400))
    assert (terms[:400] != np.arange(400)).any()
    other = np.arange(400, 900, dtype=np.uint32)
    tilted_sweep.shuffle_tokens(other, np.array([0, 500]), ids[2:], 0)
    np.testing.assert_array_equal(other, terms[400:])
