import numpy as np
import pytest

from bayou.data import Corpus, DataError
from bayou.data.counting import choose_terms


def test_from_tokens():
    documents = [["b", "a", "b"], [], ("c",), iter(["a"])]
    corpus = Corpus.from_tokens(documents, labels=[1, 0, 1, 0])
    assert corpus.vocabulary.terms == ("a", "b", "c")
    np.testing.assert_array_equal(
        corpus.counts.toarray(), [[1, 2, 0], [0, 0, 0], [0, 0, 1], [1, 0, 0]]
    )
    assert corpus.n_labels == 2
    fixed = Corpus.from_tokens([["b", "x"], ["c"]], vocabulary=["c", "b", "q"])
    np.testing.assert_array_equal(fixed.counts.toarray(), [[0, 1, 0], [1, 0, 0]])
    assert Corpus.from_tokens([["a"], ["a", "b"]], max_df=0.5).vocabulary.terms == ("b",)
    assert Corpus.from_tokens([]).n_docs == 0


@pytest.mark.parametrize(
    ("documents", "why"),
    [
        ("text", "one string"),
        (["text"], "document 0 .* from_text"),
        ([["a"], 3], "document 1"),
        ([["a"], ["b", 3]], "document 1: tokens must be strings, got 3"),
        ([["a"], None], "document 1"),
        ([["a"], [["b"]]], "document 1: tokens must be strings"),
        ([["a"], {"b": 2}], "document 1"),
    ],
)
def test_refused_tokens(documents, why):
    with pytest.raises(DataError, match=why):
        Corpus.from_tokens(documents)


def test_common_terms_are_ordered_by_residual_idf():
    documents = [["uneven"] * 4 + ["even"]] * 3 + [["rare"]]
    found = choose_terms(documents, 1, 0.5, None)
    assert found.vocabulary.terms == ("rare",)
    assert found.common == (2, ("uneven", "even"))
    assert choose_terms(documents, 1, 3, None).common == (0, ())
    assert choose_terms([], 1, 0.5, None).common == (0, ())
