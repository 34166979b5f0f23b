"""A uniform sample of a stream, however the stream is cut."""

from itertools import pairwise

import numpy as np
import pytest

from bayou.inference.lda.documents import Pairs
from bayou.inference.spectral import reservoir


def documents(lo, hi):
    n = hi - lo
    return Pairs(np.arange(n + 1), np.arange(lo, hi, dtype=np.int32), np.ones(n, np.float32))


def sample(ends, size, seed):
    kept = reservoir.none()
    for lo, hi in pairwise(ends):
        kept = reservoir.sample_pairs(kept, documents(lo, hi), size, seed)
    return kept


def test_every_document_is_as_likely():
    hits = np.zeros(60)
    for seed in range(4000):
        kept = sample([0, 60], 6, seed)
        assert kept.pairs.n_docs == 6
        hits[kept.terms] += 1
    expected = 4000 * 6 / 60
    assert ((hits - expected) ** 2 / expected).sum() / 59 < 1.5


@pytest.mark.parametrize("ends", [[0, 60], range(61), [0, 3, 4, 40, 60], [0, 6, 60]])
def test_cuts_change_nothing(ends):
    whole, cut = sample([0, 60], 6, 3), sample(list(ends), 6, 3)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_array_equal(one, other)


def test_few_documents_are_all_kept():
    assert sorted(sample([0, 2, 4], 6, 0).terms) == [0, 1, 2, 3]


def test_a_long_stream_is_skipped_through():
    kept = sample([0, 100_000], 100, 0)
    assert kept.n_drawn < 3 * 100 * (2 + np.log(100_000 / 100))
    assert kept.n_seen == 100_000
