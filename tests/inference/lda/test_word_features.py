"""Damped counts, inverse document frequency and unit-length word vectors, against values by hand."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from bayou.inference.lda import features


def sparse(rows):
    return csr_array(np.asarray(rows, np.float32))


@pytest.mark.parametrize(
    ("tf", "expected"),
    [
        # ln(1 + n): 0.41, 0.69, 1.10, 1.39, 1.95, 2.08, 3.04
        ("log", [1, 1, 2, 2, 2, 3, 4]),
        ("binary", [0.5, 1, 1, 1, 1, 1, 1]),
        ("none", [0.5, 1, 2, 3, 6, 7, 20]),
    ],
)
def test_counts_are_damped(tf, expected):
    counts = sparse([[0.5, 1, 2, 3, 6, 7, 20], [0] * 7])
    got = features.damp_counts(counts, tf)
    assert got.data.dtype == np.float32
    np.testing.assert_array_equal(got.toarray(), [expected, [0] * 7])
    assert counts.data.tolist() == [0.5, 1, 2, 3, 6, 7, 20], "the input is not changed"


def test_inverse_frequency_counts_documents_and_not_tokens():
    counts = sparse([[9, 1, 0, 0], [1, 0, 2, 0], [4, 0, 2, 0]])
    expected = 1 + np.log([4 / 4, 4 / 2, 4 / 3, 4 / 1])
    np.testing.assert_allclose(features.inverse_frequency(counts), expected, rtol=1e-6)


def test_words_have_unit_length():
    counts = sparse([[1, 2, 0, 0], [0, 0, 0, 0], [0, 7, 1, 0.1], [0, 0, 0, 0.2]])
    weight = np.array([2.0, 0.5, 3.0, 1.0], np.float32)
    got = features.unit_words(counts, weight).toarray()
    first = np.array([2.0, 0.5 * (1 + np.log(2)), 0, 0])
    # 1 + ln 0.1 is negative: such a count is no evidence for a word
    third = np.array([0, 0.5 * (1 + np.log(7)), 3.0, 0])
    np.testing.assert_allclose(got[0], first / np.linalg.norm(first), rtol=1e-6)
    np.testing.assert_allclose(got[2], third / np.linalg.norm(third), rtol=1e-6)
    assert not got[1].any(), "an empty document"
    assert not got[3].any(), "a document of nothing but fractions"
