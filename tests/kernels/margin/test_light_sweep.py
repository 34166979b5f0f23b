"""Metropolis-Hastings steps under words and labels: each leaves the target as it is."""

import numba
import numpy as np
import pytest
from tests.kernels.margin.test_tilted_sweep import f32, labels_of, words_of
from tests.reference import lda, margin, margin_cases

from bayou.inference.lda.documents import Tokens
from bayou.inference.margin import setup
from bayou.kernels import alias
from bayou.kernels.margin import light_sweep

long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")


@pytest.mark.parametrize("seed", range(20))
def test_each_proposal_leaves_the_target_as_it_is(seed):
    """K x K transition matrices with any constant table of the labels: pi T = pi."""
    rng = np.random.default_rng(seed)
    n_topics = int(rng.integers(2, 8))
    docs, words = rng.gamma(1, 1, n_topics) + 0.01, rng.gamma(1, 1, n_topics) + 0.01
    sizes, g = rng.uniform(5, 20, n_topics), rng.normal(0, 3, n_topics)
    target = docs * words / sizes * np.exp(g)
    target /= target.sum()
    proposals = margin.light_proposals(docs, words, rng.normal(0, 2, n_topics))
    for proposal, stays in zip(proposals, (1.0, 1.0, 0.0), strict=True):
        # a token that is picked itself proposes to stay
        step = margin.light_matrix(target, proposal, stays)
        assert (step >= 0).all()
        np.testing.assert_allclose(target @ step, target, atol=1e-14)


def run(z, corpus, labels, words, sweep, by_task, live=True, seen=None, n_steps=6, kinds="mixed"):
    indptr, terms, rho, alpha, beta, n_terms = corpus
    n_docs = len(indptr) - 1
    termptr, at = setup.index_terms(Tokens(indptr, terms), n_terms)
    prob, other = np.empty(len(alpha), np.float32), np.empty(len(alpha), np.int64)
    room = np.empty(len(alpha), np.int64), np.empty(len(alpha), np.int64)
    alias.build_alias_into(prob, other, np.array(alpha), *room)
    omega, kappa, eta = labels[:3]
    light_sweep.sweep_docs(
        z, z if seen is None else seen, (indptr, terms, np.arange(n_docs, dtype=np.uint64)),
        (termptr, at), f32(rho), 0, n_docs, words[:2], live,
        (f32(alpha), float(alpha.sum()), (prob, other), np.float32(beta)),
        (omega, kappa, eta, np.ascontiguousarray(eta.T)), by_task,
        setup.LightSteps(kinds, n_steps).for_kernel(), 7, sweep,
    )  # fmt: skip


@pytest.mark.parametrize("n_tasks", [1, 5])
def test_both_ways_to_look_labels_up_draw_the_same(n_tasks):
    corpus, z = margin_cases.corpus(1, 6, lengths=(8, 1, 0, 12))
    labels, other = labels_of(2, 4, n_tasks, 6), z.copy()
    for sweep in range(4):
        run(z, corpus, labels, words_of(z, corpus), sweep, True)
        run(other, corpus, labels, words_of(other, corpus), sweep, False)
        np.testing.assert_array_equal(z, other)


def test_live_counts_follow_and_resting_ones_do_not():
    corpus, z = margin_cases.corpus(2, 4, lengths=(8, 1, 0, 12))
    labels = labels_of(3, 4, 2, 4)
    words = words_of(z, corpus)
    for sweep in range(3):
        run(z, corpus, labels, words, sweep, True)
        for found, wanted in zip(words[:2], words_of(z, corpus)[:2], strict=True):
            np.testing.assert_array_equal(found, wanted)
    words, seen = words_of(z, corpus), z.copy()
    run(z, corpus, labels, words, 9, True, live=False, seen=seen)
    assert (z != seen).any()
    np.testing.assert_array_equal(words[0], words_of(seen, corpus)[0])


def test_documents_without_labels_draw_from_documents_and_words_alone():
    corpus, z = margin_cases.corpus(4, 4, lengths=(8, 1, 0, 12))
    _, _, eta, _ = labels_of(3, 4, 2, 4)
    none, other = np.zeros((4, 2), np.float32), z.copy()
    run(z, corpus, (none, none, eta), words_of(z, corpus), 1, True)
    run(other, corpus, (none, none, eta * 100), words_of(other, corpus), 1, False)
    np.testing.assert_array_equal(z, other)


@long_chain
@pytest.mark.parametrize("by_task", [True, False])
@pytest.mark.parametrize("tilted", [True, False])
def test_chain_visits_the_enumerated_law(by_task, tilted):
    """Fixed weights and pseudo-observations, counts live: documents and words tie the tokens."""
    corpus, z = margin_cases.corpus(10, 3, lengths=(3, 2), n_terms=3)
    labels = labels_of(5, 2, 2, 3, 2.0 if tilted else 1e-20)
    if not tilted:
        labels = (labels[0] * 0, labels[1] * 0, labels[2])
    _, law = margin.document_law(corpus, *(x.astype(float) for x in labels[:3]))
    words, seen = words_of(z, corpus), np.empty((25_000, len(z)), np.uint16)
    for sweep in range(len(seen)):
        run(z, corpus, labels, words, sweep, by_task)
        seen[sweep] = z
    assert lda.distance(lda.place_of(seen, 3), law) < 0.035


@long_chain
@pytest.mark.parametrize("kinds", setup.PROPOSALS)
@pytest.mark.parametrize("tilted", [True, False])
def test_every_composition_of_proposals_visits_the_enumerated_law(kinds, tilted):
    corpus, z = margin_cases.corpus(11, 2, lengths=(3, 2), n_terms=2)
    labels = labels_of(5, 2, 2, 2, 1.0)
    if not tilted:
        labels = (labels[0] * 0, labels[1] * 0, labels[2])
    _, law = margin.document_law(corpus, *(x.astype(float) for x in labels[:3]))
    words, seen = words_of(z, corpus), np.empty((25_000, len(z)), np.uint16)
    for sweep in range(len(seen)):
        run(z, corpus, labels, words, sweep, True, n_steps=3, kinds=kinds)
        seen[sweep] = z
    assert lda.distance(lda.place_of(seen, 2), law) < 0.035


def test_proposals_in_turn_start_with_the_document():
    """One step of the cycle is the document's proposal, two steps are the document's and the word's."""
    corpus, z = margin_cases.corpus(2, 4, lengths=(8, 1, 0, 12))
    labels, found = labels_of(3, 4, 2, 4), {}
    for kinds, n_steps in (("document", 1), ("cyclic", 1), ("cyclic", 2), ("document", 2)):
        at = z.copy()
        run(at, corpus, labels, words_of(at, corpus), 3, True, n_steps=n_steps, kinds=kinds)
        found[kinds, n_steps] = at.tolist()
    assert found["document", 1] == found["cyclic", 1]
    assert found["document", 2] != found["cyclic", 2]


@long_chain
@pytest.mark.parametrize("n_steps", [1, 6])
def test_counts_at_rest_have_the_right_law_for_a_single_token(n_steps):
    """One token in a document of its own among fixed others; its moves are carried over after each sweep."""
    corpus, z = margin_cases.corpus(12, 3, lengths=(1, 6), n_terms=2)
    labels = labels_of(6, 2, 2, 3, 2.0)
    fixed, seen = z.copy(), np.empty(30_000, np.int64)
    indptr, terms, _, alpha, beta, n_terms = corpus
    weight = lda.token_weights(z, 0, 0, indptr, terms, alpha, beta, n_terms)
    weight *= np.exp(margin.core(labels[2], labels[0][0], labels[1][0], np.zeros(3), 1.0))
    for sweep in range(len(seen)):
        fixed[0] = z[0]
        z[:] = fixed
        run(z, corpus, labels, words_of_fast(fixed, corpus), sweep, True, False, fixed, n_steps)
        seen[sweep] = z[0]
    assert lda.distance(seen, weight / weight.sum()) < 0.02


def words_of_fast(z, corpus):
    n_vk = np.zeros((corpus[5], len(corpus[3])), np.float32)
    np.add.at(n_vk, (corpus[1], z), 1.0)
    return n_vk, n_vk.sum(axis=0).astype(np.float64)
