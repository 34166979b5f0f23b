import numpy as np
import pytest
from scipy import stats

from bayou.data import DataError, sample_lda


def test_truth_is_the_draw_behind_the_corpus():
    corpus, truth = sample_lda(40, 4, 30, doc_length=25, alpha=0.5, beta=0.2, seed=3)
    indptr, terms = corpus.tokens()
    np.testing.assert_array_equal(indptr, truth.indptr)
    assert truth.assignments.dtype == np.uint16
    assert len(truth.assignments) == len(terms) == corpus.n_tokens
    np.testing.assert_allclose(truth.topics.sum(axis=1), 1)
    np.testing.assert_allclose(truth.doc_topics.sum(axis=1), 1)
    assert (truth.topics[truth.assignments, terms] > 0).all()
    docs = np.repeat(np.arange(40), np.diff(indptr))
    assert (truth.doc_topics[docs, truth.assignments] > 0).all()


def test_a_document_does_not_depend_on_the_others():
    few, few_truth = sample_lda(5, 3, 20, seed=9)
    many, many_truth = sample_lda(12, 3, 20, seed=9)
    np.testing.assert_array_equal(few.counts.toarray(), many[:5].counts.toarray())
    np.testing.assert_array_equal(few_truth.doc_topics, many_truth.doc_topics[:5])
    n = few_truth.indptr[-1]
    np.testing.assert_array_equal(few_truth.assignments, many_truth.assignments[:n])
    other, _ = sample_lda(5, 3, 20, seed=10)
    assert (other.counts != few.counts).nnz > 0


def test_frequencies_follow_the_truth():
    corpus, truth = sample_lda(300, 3, 8, doc_length=100, alpha=1.0, beta=1.0, seed=5)
    _, terms = corpus.tokens()
    for k in range(3):
        found = np.bincount(terms[truth.assignments == k], minlength=8)
        assert stats.chisquare(found, truth.topics[k] * found.sum()).pvalue > 1e-4
    lengths = corpus.doc_lengths()
    assert abs(lengths.mean() - 100) < 4
    docs = np.repeat(np.arange(300), np.diff(truth.indptr))
    share = np.bincount(truth.assignments, minlength=3)
    expected = truth.doc_topics[docs].sum(axis=0)
    assert stats.chisquare(share, expected).pvalue > 1e-4


def test_asymmetric_parameters_and_extremes():
    _, truth = sample_lda(200, 2, 4, alpha=[10.0, 0.1], beta=[1, 1, 1, 1e-6], seed=1)
    assert truth.doc_topics[:, 0].mean() > 0.9
    assert truth.topics[:, 3].max() < 0.01
    empty, truth = sample_lda(3, 2, 4, doc_length=0)
    assert empty.n_tokens == 0
    assert truth.indptr.tolist() == [0, 0, 0, 0]
    none, _ = sample_lda(0, 2, 4)
    assert none.n_docs == 0
    sparse, _ = sample_lda(20, 5, 50, alpha=1e-3, beta=1e-4, seed=2)
    assert sparse.n_docs == 20


@pytest.mark.parametrize(
    "bad",
    [
        {"n_docs": -1},
        {"n_topics": 0},
        {"n_topics": 70_000},
        {"n_terms": 0},
        {"n_docs": 1.5},
        {"doc_length": -1},
        {"doc_length": float("nan")},
        {"alpha": 0},
        {"alpha": [1, 2, 3]},
        {"beta": float("inf")},
        {"seed": -1},
    ],
)
def test_refusals(bad):
    with pytest.raises(DataError, match=next(iter(bad))):
        sample_lda(**({"n_docs": 2, "n_topics": 2, "n_terms": 4} | bad))
