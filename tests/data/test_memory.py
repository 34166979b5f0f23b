"""Memory is estimated before it is taken."""

import numpy as np
import pytest
import scipy.sparse as sp

import bayou
from bayou.data import DataError, memory


def test_more_than_there_is(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    memory.check_memory(0.9e9, "it", "x")
    with pytest.raises(
        DataError, match=r"needs at least 1\.1 GB of memory, and 1\.0 GB are available; x"
    ):
        memory.check_memory(1.1e9, "it", "x")
    with pytest.raises(DataError, match="1,000 topics over 1,000,000 terms needs at least 12"):
        bayou.LDA(n_topics=1000).fit(sp.csr_array(([1.0], ([0], [0])), shape=(2, 1_000_000)))
    with pytest.raises(DataError, match="100,000,000 tokens"):
        memory.check_tokens(100_000_000)


def test_what_is_available():
    assert memory.available_bytes() > 2**20


SAMPLERS = (
    bayou.LDA(n_topics=2, inference="gibbs", n_sweeps=2),
    bayou.HDP(n_sweeps=2, burn_in=1),
    bayou.MedLDAClassifier(n_topics=2, n_sweeps=2, n_kept=1, tf="none"),
    bayou.OnlineLDA(n_topics=2, inference="hybrid"),
    bayou.OnlineHDP(n_topics=3),
)


@pytest.mark.parametrize("model", SAMPLERS, ids=lambda model: type(model).__name__)
def test_one_enormous_count_is_one_clear_error(model):
    counts = np.ones((48, 12))
    counts[3, 4] = 1e9
    y = np.arange(48) % 2
    with pytest.raises(DataError, match="at most 16777215 tokens of one term"):
        model.fit(counts, y)


@pytest.mark.parametrize(
    "kind", [bayou.MedLDAClassifier, bayou.OnlineMedLDAClassifier, bayou.BayesPAClassifier]
)
def test_more_labels_than_memory_holds(monkeypatch, kind):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1e9)
    y = sp.csr_array((np.ones(3), ([0, 1, 2], [0, 1, 999_999])), shape=(100, 1_000_000))
    with pytest.raises(DataError, match="100 documents for each of 1,000,000 labels needs"):
        kind().fit(np.ones((100, 3)), y)
