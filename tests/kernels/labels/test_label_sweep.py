"""Labels of tokens: draw for draw their twins, conditionals of the joint, and the posterior of the chain."""

from collections import Counter

import numba
import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.reference import labels as twin

from bayou.inference.labels import assignments as part
from bayou.run.shards import Workers

long_chain = pytest.mark.skipif(bool(numba.config.DISABLE_JIT), reason="a long chain")
N_TERMS, N_LABELS = 4, 3
DOCS = [([0, 0, 1, 3], [0, 2]), ([1, 2, 3], [1]), ([0, 2, 2], [0, 1, 2]), ([], [1]), ([3], [1, 2])]
EACH = Workers(1).each


def laid_out(docs=DOCS, n_terms=N_TERMS, n_labels=N_LABELS):
    counts, own = np.zeros((len(docs), n_terms)), np.zeros((len(docs), n_labels))
    for d, (terms, mine) in enumerate(docs):
        np.add.at(counts[d], terms, 1.0)
        own[d, mine] = 1.0
    return part.prepare(csr_array(counts), csr_array(own))


def prior_of(greedy=False, boost=0.0, alpha=None, beta=0.1, n_terms=N_TERMS, n_labels=N_LABELS):
    alpha = np.array([0.3, 1.1, 0.7][:n_labels]) if alpha is None else np.asarray(alpha, float)
    ones = np.ones(n_labels)
    return part.LabelPrior(beta * ones, beta * n_terms * ones, ones, alpha, boost, greedy)


def label_of(data, z):
    """The label of every token from its place in the document."""
    docs = np.repeat(np.arange(len(data.docs)), np.diff(data.token_ptr))
    return data.label_ids[data.label_ptr[docs] + z].tolist()


KINDS = [{"greedy": False}, {"greedy": True}, {"greedy": False, "boost": 2.5}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_sweeps_are_their_twins_draw_for_draw(kind):
    data, prior = laid_out(), prior_of(**kind)
    z = part.start_chain(data, 3)
    chain = part.chain_counts(z, np.zeros(len(data.cell_labels), np.float32), data, prior)
    slow, kept = label_of(data, z), np.zeros((N_TERMS, N_LABELS))
    for sweep in range(3):
        part.draw(chain, data, prior, 3, sweep, True)
        slow, seen = twin.gibbs_sweep(
            DOCS, slow, N_TERMS, N_LABELS, 0.1, prior.alpha, prior.boost, prior.greedy, 3, sweep
        )
        assert label_of(data, z) == slow
        for (d, v), p in zip(twin.flat(DOCS), seen, strict=True):
            kept[v, DOCS[d][1]] += p
    np.testing.assert_allclose(data.term_label(chain.kept).toarray(), kept, atol=1e-5)
    counted = np.zeros((N_TERMS, N_LABELS))
    for (_, v), y in zip(twin.flat(DOCS), slow, strict=True):
        counted[v, y] += 1
    np.testing.assert_array_equal(data.term_label(chain.cells).toarray(), counted)
    np.testing.assert_array_equal(chain.totals, counted.sum(axis=0))


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_cvb0_is_its_twin(kind):
    data, prior = laid_out(), prior_of(**kind)
    soft = part.soft_counts(part.start_soft(data, N_LABELS, 0, EACH), data, prior, EACH)
    gamma = []
    for d, _ in twin.flat(DOCS):
        gamma.append(np.isin(np.arange(N_LABELS), DOCS[d][1]) / len(DOCS[d][1]))
    for _ in range(4):
        part.step_soft(soft, data, prior, EACH)
        gamma = twin.cvb0(
            DOCS, gamma, N_TERMS, N_LABELS, 0.1, prior.alpha, prior.boost, prior.greedy
        )
        n_vy = np.zeros((N_TERMS, N_LABELS))
        for (_, v), g in zip(twin.flat(DOCS), gamma, strict=True):
            n_vy[v] += g
        np.testing.assert_allclose(data.term_label(soft.cells).toarray(), n_vy, atol=1e-5)
        np.testing.assert_allclose(soft.totals, n_vy.sum(axis=0), atol=1e-5)


@long_chain
@pytest.mark.parametrize("kind", KINDS[:2], ids=str)
def test_chain_visits_what_the_posterior_says(kind):
    docs = [([0, 1], [0, 1]), ([1, 1], [0, 2])]
    data, prior = laid_out(docs), prior_of(**kind, beta=0.5)
    logs = {
        z: twin.log_joint(docs, z, N_TERMS, N_LABELS, 0.5, prior.alpha, greedy=prior.greedy)
        for z in twin.assignments(docs)
    }
    p = np.exp(np.array(list(logs.values())))
    wanted = dict(zip(logs, p / p.sum(), strict=True))
    z = part.start_chain(data, 1)
    chain = part.chain_counts(z, np.zeros(len(data.cell_labels), np.float32), data, prior)
    seen = Counter()
    n = 20_000
    for sweep in range(n):
        part.draw(chain, data, prior, 1, sweep, False)
        seen[tuple(label_of(data, z))] += 1
    # tokens of a term within a document stand together, so states are compared as they are
    assert sum(abs(seen[z] / n - q) for z, q in wanted.items()) / 2 < 0.02


def test_given_terms_stay():
    given = csr_array(np.array([[0, 0, 0], [0, 0.25, 0], [0, 0.75, 0], [0, 0, 0]], np.float32))
    counts = csr_array(np.array([[2.0, 1, 1, 0], [0, 1, 1, 1]]))
    data = part.prepare(counts, csr_array(np.ones((2, 3))), given)
    ones = np.ones(3)
    known = np.array([0.0, 1.0, 0.0])
    prior = part.LabelPrior(0.1 * (1 - known), 0.4 * (1 - known), 1 - known, ones, 0.0, False)
    z = part.start_chain(data, 0)
    chain = part.chain_counts(z, np.zeros(len(data.cell_labels), np.float32), data, prior)
    soft = part.soft_counts(part.start_soft(data, 3, 0, EACH), data, prior, EACH)
    for sweep in range(3):
        part.draw(chain, data, prior, 0, sweep, False)
        part.step_soft(soft, data, prior, EACH)
        for cells in (chain.cells, soft.cells):
            column = data.term_label(cells).toarray()[:, 1]
            np.testing.assert_array_equal(column, given.toarray()[:, 1])
    assert soft.totals[1] == chain.totals[1] == 1.0
    moved = np.delete(data.term_label(soft.cells).toarray(), 1, axis=1)
    assert 0 < moved.sum() < counts.sum()  # the rest of the tokens


def test_documents_may_use_their_labels_and_the_free_topics():
    indicator = csr_array(np.array([[1, 0], [0, 0], [0, 1]]))
    known = np.array([True, False, True])
    rows = part.allowed_labels(indicator, known, 2).toarray()
    assert rows.tolist() == [[1, 0, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
    assert part.own_labels(indicator).toarray().tolist() == [[1, 0], [0, 0], [0, 1]]


def test_cells_are_where_terms_and_labels_meet():
    data = laid_out()
    meet = data.term_label(np.ones(len(data.cell_labels), np.float32)).toarray()
    wanted = np.zeros((N_TERMS, N_LABELS))
    for terms, own in DOCS:
        wanted[np.ix_(terms, own)] = 1
    np.testing.assert_array_equal(meet, wanted)
