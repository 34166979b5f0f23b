"""What supervised models are told, in every form it may come in."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from bayou.data import Corpus, DataError
from bayou.data.errors import MissingTargetsWarning
from bayou.data.label_forms import pack_classes, unpack_classes
from bayou.data.reading import labels_of
from bayou.data.supervision import merge_classes, read_labels, read_targets, signs

ALPHABETS = {
    "strings": st.sampled_from(["a", "bb", "ü", "nan", ""]),
    "integers": st.integers(-3, 3),
    "booleans": st.booleans(),
    "whole floats": st.integers(-3, 3).map(float),
}


def counts(n_docs):
    return np.ones((n_docs, 2))


@pytest.mark.parametrize("alphabet", ALPHABETS)
@given(data=st.data())
def test_a_vector_is_read_back_from_its_codes(alphabet, data):
    entries = data.draw(st.lists(st.none() | ALPHABETS[alphabet], min_size=1, max_size=12))
    said = [None if entry == "" else entry for entry in entries]
    present = sorted({e for e in said if e is not None})
    if len(present) < 2:
        with pytest.raises(ValueError, match=r"class|no document has a label"):
            read_labels(entries, len(entries))
        return
    found = read_labels(entries, len(entries))
    assert found.kind == ("binary" if len(present) == 2 else "multi-class")
    assert found.classes.tolist() == present
    assert [None if c < 0 else present[c] for c in found.codes] == said
    assert found.known.tolist() == [e is not None for e in said]
    back = found.indicator.toarray()
    assert (back.sum(axis=1) == found.known).all()
    assert (back.argmax(axis=1)[found.known] == found.codes[found.known]).all()


@given(st.lists(st.none() | st.lists(st.sampled_from("pqrs"), max_size=4), min_size=1, max_size=9))
def test_label_lists_are_read_back_from_the_indicator(entries):
    if not any(entries):
        with pytest.raises(ValueError, match="no document has a label"):
            read_labels(entries, len(entries))
        return
    found = read_labels(entries, len(entries))
    assert found.kind == "multi-label"
    assert len(found.codes) == 0
    rows = [set(found.classes[row != 0].tolist()) for row in found.indicator.toarray()]
    assert rows == [set(entry or ()) for entry in entries]
    assert found.known.tolist() == [entry is not None for entry in entries]


@pytest.mark.parametrize("empty", ["", " ", "\t"])
def test_an_empty_string_is_no_label(empty):
    for form in (list, np.array, pd.Series, lambda y: np.array(y, object)):
        found = read_labels(form(["b", empty, "a"]), 3)
        assert found.classes.tolist() == ["a", "b"]
        assert found.codes.tolist() == [1, -1, 0]
        assert found.known.tolist() == [True, False, True]
    found = read_labels([["x", empty], [empty], ["y"], []], 4)
    assert found.classes.tolist() == ["x", "y"]
    assert found.indicator.toarray().tolist() == [[1, 0], [0, 0], [0, 1], [0, 0]]
    assert found.known.tolist() == [True, False, True, True]
    corpus = Corpus.from_matrix(counts(3), labels=["b", empty, "a"])
    assert corpus.label_names == ("a", "b")
    assert read_labels(None, 3, corpus=corpus).known.tolist() == [True, False, True]
    assert read_labels(["a"], 1, classes=["a", empty, "b"]).classes.tolist() == ["a", "b"]
    with pytest.raises(DataError, match="no document has a label"):
        read_labels([empty, empty], 2)


@given(st.lists(st.tuples(*[st.booleans()] * 3), min_size=1, max_size=8))
def test_indicators_are_equal_in_every_form(rows):
    dense = np.array(rows, np.int64)
    n = len(dense)
    forms = [
        dense,
        dense.astype(bool),
        dense.astype(float),
        sp.csr_array(dense),
        sp.csc_matrix(dense),
        pd.DataFrame(dense),
    ]
    for form in forms:
        found = read_labels(form, n)
        assert found.kind == "multi-label"
        assert found.classes.tolist() == [0, 1, 2]
        np.testing.assert_array_equal(found.indicator.toarray(), dense)
        assert found.known.all()


def test_an_indicator_row_of_nan_is_a_document_without_labels():
    found = read_labels(np.array([[1, 0], [np.nan, np.nan], [0, 0]]), 3)
    assert found.known.tolist() == [True, False, True]
    np.testing.assert_array_equal(signs(found), [[1, -1], [0, 0], [-1, -1]])
    with pytest.raises(DataError, match="document 1 has NaN for some"):
        read_labels(np.array([[1.0, 0], [np.nan, 1]]), 2)


def test_an_indicator_may_be_written_as_lists():
    found = read_labels([[1, 0, 0], [0, 1, 1], None], 3)
    np.testing.assert_array_equal(signs(found), [[1, -1, -1], [-1, 1, 1], [0, 0, 0]])
    assert read_labels([[True, False], [True, True]], 2).classes.tolist() == [0, 1]
    assert read_labels(list(np.eye(3)), 3).indicator.shape == (3, 3)
    assert read_labels([[0], [1]], 2).kind == "multi-label"  # one label each
    assert read_labels([[1, 2], [1, 0]], 2).classes.tolist() == [0, 1, 2]


def test_names_of_the_columns_of_a_frame_are_the_labels():
    frame = pd.DataFrame({"z": [1, 0], "a": [0, 1]})
    assert read_labels(frame, 2).classes.tolist() == ["z", "a"]


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(["a", None, "b"]),
        pl.Series(["a", None, "b"]),
        pd.Series(["a", np.nan, "b"], dtype=object),
        np.array(["a", None, "b"], object),
        ("a", float("nan"), "b"),
        pd.Series(["a", pd.NA, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
    ],
)
def test_vectors_of_other_libraries(y):
    found = read_labels(y, 3)
    assert found.classes.tolist() == ["a", "b"]
    assert found.codes.tolist() == [0, -1, 1]


def test_numbers_keep_their_type():
    assert read_labels(np.array([3, 1], np.int16), 2).classes.dtype == np.int16
    assert read_labels([True, False], 2).classes.dtype == bool
    assert read_labels(np.array([1.0, np.nan, 0.0]), 3).classes.dtype == np.float64
    assert read_labels(pd.Series([1, None, 0], dtype="Int64"), 3).classes.tolist() == [0, 1]
    assert read_labels(["a\0", "a"], 2).classes.tolist() == ["a", "a\0"]


def test_a_column_is_a_vector_with_scikit_learns_warning():
    for form in (np.array([[0], [1]]), pd.DataFrame({"y": [0, 1]})):
        with pytest.warns(DataConversionWarning):
            assert read_labels(form, 2).kind == "binary"


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        ([0.5, 1.5], "Unknown label type: continuous"),
        ([0, 1, 1], "inconsistent numbers of samples"),
        ([1, 1], r"one class only, 1; .* two classes"),
        (["a", "a"], r"one class only, 'a'"),
        ([None, np.nan], "no document has a label"),
        (np.array([np.nan, np.nan]), "no document has a label"),
        ([[], []], "no document has a label"),
        ([None, None], "no document has a label"),
        (np.full((2, 2), np.nan), "no document has a label"),
        (None, "requires y to be passed, but the target y is None"),
        ([np.inf, 1.0], "Input y contains infinity"),
        (["a", 1], "mix strings and numbers"),
        ([b"a", b"b"], "Unknown label type"),
        (np.array([1j, 2]), "Complex data not supported"),
        (np.array([[0, 2], [1, 0]]), "Unknown label type.*only 0 and 1; got 2"),
        ("ab", "1d array"),
        (3, "1d array"),
        (np.zeros((2, 2, 2)), "dim 3"),
        ([["a"], "b"], "label lists for all documents, but document 1"),
        ([["a", None], ["b"]], "document 0 is missing"),
        ([{"a": 1}, 1], "cannot be"),
    ],
)
def test_what_cannot_be_meant_is_refused(y, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_labels(y, 2)


def test_no_documents():
    for read in (read_labels, read_targets):
        with pytest.raises(DataError, match="no documents"):
            read([], 0)


def test_a_corpus_of_classes():
    corpus = Corpus.from_matrix(
        counts(4), labels=["z", "a", None, "z"], label_names=["z", "q", "a"]
    )
    found = read_labels(None, 4, corpus=corpus)
    assert found.kind == "multi-class"
    assert found.classes.tolist() == ["a", "q", "z"]
    assert found.codes.tolist() == [2, 0, -1, 2]
    plain = Corpus.from_matrix(counts(2), labels=np.eye(2, dtype=int))
    assert read_labels(None, 2, corpus=plain).classes.tolist() == [0, 1]
    assert read_labels([5, 6], 2, corpus=plain).classes.tolist() == [5, 6]


def test_a_corpus_of_several_labels():
    corpus = Corpus.from_matrix(counts(3), labels=[["z", "a"], ["a"], []])
    found = read_labels(None, 3, corpus=corpus)
    assert found.kind == "multi-label"
    assert found.known.tolist() == [True, True, False]
    np.testing.assert_array_equal(signs(found), [[1, 1], [1, -1], [0, 0]])


def test_a_corpus_without_labels_is_refused():
    with pytest.raises(DataError, match="requires y to be passed"):
        read_labels(None, 2, corpus=Corpus.from_matrix(counts(2)))
    none = Corpus.from_matrix(counts(2), labels=[None, None], label_names=["a", "b"])
    with pytest.raises(DataError, match="no document of the corpus"):
        read_labels(None, 2, corpus=none)
    single = Corpus.from_matrix(counts(2), labels=["a", None])
    with pytest.raises(ValueError, match="two classes"):
        read_labels(None, 2, corpus=single)


def test_signs_of_classes():
    np.testing.assert_array_equal(signs(read_labels(["b", "a", None], 3)), [[1], [-1], [0]])
    several = signs(read_labels(["b", "a", "c", None], 4))
    np.testing.assert_array_equal(several, [[-1, 1, -1], [1, -1, -1], [-1, -1, 1], [0, 0, 0]])
    assert several.dtype == np.int8


def test_part_of_a_stream():
    found = read_labels(["b", "b"], 2, classes=["c", "b"])
    assert (found.kind, found.codes.tolist()) == ("binary", [0, 0])
    assert read_labels([None], 1, classes=["c", "b"]).codes.tolist() == [-1]
    several = read_labels([["b"], None], 2, classes=["c", "b"])
    np.testing.assert_array_equal(signs(several), [[-1, 1], [0, 0]])
    assert not read_labels([None, None], 2, classes=["a", "b"]).known.any()
    with pytest.raises(DataError, match="'x', which is not among"):
        read_labels(["x"], 1, classes=["c", "b"])
    with pytest.raises(DataError, match="3 columns for 2 classes"):
        read_labels(np.ones((1, 3)), 1, classes=["c", "b"])
    with pytest.raises(ValueError, match="two classes"):
        read_labels(["b"], 1, classes=["b"])
    for bad in ([], ["a", "a"], 3):
        with pytest.raises(ValueError):
            read_labels(["a"], 1, classes=bad)


def test_part_of_a_stream_from_a_corpus():
    corpus = Corpus.from_matrix(counts(3), labels=["b", None, "c"])
    found = read_labels(None, 3, corpus=corpus, classes=["a", "b", "c"])
    assert found.codes.tolist() == [1, -1, 2]
    found = read_labels(None, 3, corpus=corpus, classes=["a", "b", "c"], multi_label=True)
    np.testing.assert_array_equal(signs(found), [[-1, 1, -1], [0, 0, 0], [-1, -1, 1]])
    two = Corpus.from_matrix(counts(1), labels=[["a", "b"]])
    with pytest.raises(DataError, match="document 0 has 2 labels"):
        read_labels(None, 1, corpus=two, classes=["a", "b"], multi_label=False)


def test_labels_that_are_not_among_the_classes_may_be_taken():
    found = read_labels(["x", "b", None], 3, classes=["c", "b"], others=True)
    assert found.classes.tolist() == ["b", "c", "x"]
    assert found.codes.tolist() == [2, 0, -1]
    several = read_labels([["x", "b"], []], 2, classes=["c", "b"], others=True)
    assert several.classes.tolist() == ["c", "b", "x"]
    np.testing.assert_array_equal(several.indicator.toarray(), [[0, 1, 1], [0, 0, 0]])
    assert merge_classes(np.array([3, 5]), [4, 5], in_order=True).tolist() == [3, 5, 4]


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "a\0"], [True, False], [3, -1], [0.0, 2.0]])
def test_classes_in_files(classes):
    array = np.array(classes, object if "a\0" in classes else None)
    back, several = unpack_classes(pack_classes(array, True))
    assert (back.tolist(), back.dtype, several) == (array.tolist(), array.dtype, True)


def test_what_was_settled_stays():
    with pytest.raises(DataError, match="one class"):
        read_labels([["a"], ["b"]], 2, multi_label=False)
    with pytest.raises(DataError, match="label lists"):
        read_labels(["a", "b"], 2, multi_label=True)


def test_targets():
    corpus = Corpus.from_matrix(counts(2), targets=[1.5, -2.0])
    for y in ([1.5, -2], np.array([1.5, -2]), pd.Series([1.5, -2]), None):
        np.testing.assert_array_equal(read_targets(y, 2, corpus=corpus), [[1.5], [-2.0]])
    assert read_targets(np.ones((2, 3)), 2).shape == (2, 3)
    assert read_targets(sp.csr_array(np.ones((2, 1))), 2).dtype == np.float64


def test_missing_targets_warn_once_with_their_number():
    with pytest.warns(MissingTargetsWarning, match="2 of 4") as caught:
        found = read_targets([1, None, np.nan, 2], 4)
    assert len(caught) == 1
    assert np.isnan(found).ravel().tolist() == [False, True, True, False]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_targets([1, 2], 2)
    with pytest.warns(MissingTargetsWarning):
        assert read_targets([np.nan], 1, partial=True).shape == (1, 1)


@pytest.mark.parametrize(
    ("y", "complaint"),
    [
        ([1.0, np.inf], "Input y contains infinity"),
        ([np.nan, np.nan], "no document has a target"),
        ([[1, np.nan], [2, np.nan]], r"no document has a target \(column 1\)"),
        ([1.0], "inconsistent numbers of samples"),
        (["a", "b"], "real numbers"),
        (np.zeros((2, 1, 1)), "1d array"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_targets_that_cannot_be_meant(y, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_targets(y, 2)


@pytest.mark.parametrize("y", [[None, None], [np.nan, np.nan]])
def test_of_a_batch_of_a_stream_of_labels_nothing_may_be_known(y):
    found = read_labels(y, 2, classes=["a", "b"], multi_label=True)
    assert found.kind == "multi-label"
    assert not found.known.any()
    assert found.indicator.shape == (2, 2)


@pytest.mark.parametrize(
    "y",
    [
        [[1, 0, 0], [0, 1, 1]],
        [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]],
        [[1, 0, 0], None],
        [(True, False, False), np.array([0, 1, 1])],
    ],
)
def test_an_indicator_in_lists_names_no_labels(y):
    assert labels_of(y, None) is None
    assert read_labels(y, 2).classes.tolist() == [0, 1, 2]


def test_lists_that_are_no_indicator_name_their_labels():
    assert labels_of([["a"], ["b", "a"]], None) == ["a", "b"]
    assert labels_of([[0], [1]], None) == [0, 1]
    assert labels_of([[0, 2], [1, 0]], None) == [0, 1, 2]
