"""Where a chain begins that is to find the number of its topics."""

import numpy as np
import pytest

from bayou.data.synthetic import sample_lda
from bayou.inference.hdp import initial_topics
from bayou.inference.lda import documents
from bayou.run.shards import Workers


def drawn(corpus, n_topics, seed=1, n_threads=1):
    pairs, tokens = documents.pairs_of(corpus.counts), documents.Tokens(*corpus.tokens())
    with Workers(n_threads) as workers:
        return initial_topics.draw_initial_topics(
            pairs, tokens, corpus.n_terms, n_topics, 0.05, seed, workers.each
        )


@pytest.mark.parametrize("n_topics", [4, 30])  # several documents a topic, and few
def test_tokens_of_a_term_gather(n_topics):
    """Topics come to say something: of a term's tokens most are in few topics."""
    corpus, _ = sample_lda(60, 4, 40, doc_length=50, beta=0.02, seed=3)
    z = drawn(corpus, n_topics)
    assert len(z) == corpus.n_tokens
    assert z.max() < n_topics
    terms = documents.Tokens(*corpus.tokens()).terms
    counts = np.zeros((corpus.n_terms, n_topics))
    np.add.at(counts, (terms, z), 1.0)
    used = counts.sum(axis=0)
    alike = counts.sum(axis=1, keepdims=True) * used / used.sum()  # were topics all alike
    assert np.abs(counts - alike).sum() > 0.5 * counts.sum()


def test_threads_and_seeds():
    corpus, _ = sample_lda(60, 4, 40, doc_length=50, seed=3)
    one = drawn(corpus, 20)
    np.testing.assert_array_equal(one, drawn(corpus, 20, n_threads=2))
    assert (one != drawn(corpus, 20, seed=2)).any()


def test_the_length_of_a_document_is_of_those_that_have_words():
    tokens = documents.Tokens(np.array([0, 4, 4, 6]), np.zeros(6, np.int32))
    assert initial_topics.mean_length(tokens) == 3.0
    assert (
        initial_topics.mean_length(documents.Tokens(np.zeros(3, np.int64), np.zeros(0, np.int32)))
        == 0
    )
