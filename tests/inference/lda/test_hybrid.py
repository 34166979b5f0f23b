"""Sampled mini-batches against their slow twin."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from tests.inference.lda.test_stream import batch, local, serial, start
from tests.reference import frozen as twin

from bayou.inference.lda import documents, hybrid


def tokens_of(X):
    return documents.tokens_of(documents.pairs_of(csr_array(X)))


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_a_step_is_its_twin(scale, again, monkeypatch):
    monkeypatch.setattr(hybrid, "_LEAST_DRAWS", 1e9)  # the twin scans
    g, written = start(scale)
    for t in range(1, 4):
        tokens, rho, gain = tokens_of(batch(t)), (3.0 + t) ** -0.6, 4.0
        p = local(t)._replace(again=again)
        written, kept = twin.step(written, *tokens, p, rho, gain)
        g, lists = hybrid.step(g, tokens, p, rho, gain, serial)
        found = hybrid.doc_topic(lists, tokens, 3, serial)
        np.testing.assert_allclose(found, twin.doc_counts(kept, tokens.indptr, 3), rtol=1e-5)
        np.testing.assert_allclose(g.scale * g.raw, written, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(g.topic, written.sum(axis=0), rtol=1e-4)


def test_tables_are_built_for_busy_terms_alone():
    tokens, p = tokens_of(batch(1, n_docs=60)), local(burn_in=10)
    f = hybrid.freeze_topics(start()[0], tokens, p, serial)
    at, prob, alias = hybrid._tables(f, tokens, 13, serial)
    tally = np.diff(f.by_term.termptr)
    assert 0 < len(prob) == len(alias) == (at >= 0).sum() <= len(tally)
    assert tally[at >= 0].min() >= tally[at < 0].max(initial=0)


def test_expected_tables_of_a_batch():
    tokens, p = tokens_of(batch(2)), local()
    _, lists = hybrid.step(start()[0], tokens, p, 0.1, 1.0, serial)
    opened = hybrid.doc_tables(lists, tokens, p.alpha)
    n_d = hybrid.doc_topic(lists, tokens, 3, serial)
    assert (opened <= n_d.sum(axis=0) + 1e-6).all()  # no table without a customer
    assert opened.sum() > 0
