"""What stands beside the counts: labels, targets, times, identifiers."""

import contextlib
from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from bayou.data import Corpus, DataError

DENSE = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


@pytest.mark.parametrize(
    ("beside", "why"),
    [
        ({"vocabulary": ["a"]}, "vocabulary has 1 terms, but the counts have 3"),
        ({"vocabulary": ["a", "a", "b"]}, "distinct"),
        ({"labels": ["x"]}, "labels: 1 entries for 3 documents"),
        ({"labels": "xyz"}, "one entry per document"),
        ({"labels": 5}, "labels"),
        ({"labels": [0.5, 1, 2]}, "labels of document 0 .* targets"),
        ({"labels": ["a", 1, "b"]}, "mix strings and numbers"),
        ({"labels": [{}, object(), "b"]}, "labels of document 1"),
        ({"labels": [b"a", b"b", b"c"]}, "labels of document 0"),
        ({"labels": ["a", "b", "c"], "label_names": ["a", "b"]}, "document 2 has label 'c'"),
        ({"labels": [0, 1, 2], "label_names": ["a", "b"]}, "document 2 has label 2"),
        ({"labels": [0, 1, 0], "label_names": ["a", "a"]}, "twice"),
        ({"labels": [0, 1, 0], "label_names": "ab"}, "list of strings"),
        ({"labels": [0, 1, 0], "label_names": [0, 1]}, "must be strings"),
        ({"label_names": ["a"]}, "without labels"),
        ({"labels": np.array([[0, 1], [2, 0], [1, 1]])}, "document 1 has 2"),
        ({"labels": np.array([[0, 1], [np.nan, 0], [1, 1]])}, "document 1 has nan"),
        ({"labels": np.eye(2)}, "labels: 2 entries"),
        ({"labels": np.zeros((3, 1, 1))}, "one or two dimensions"),
        ({"labels": np.eye(3), "label_names": ["a"]}, "1 label names for 3"),
        ({"targets": [1, 2]}, "targets: 2 entries"),
        ({"targets": [1, np.nan, 3]}, "document 1 has nan"),
        ({"targets": [1, "x", 3]}, "document 1 is 'x'"),
        ({"targets": np.zeros((3, 1, 1))}, "one or two dimensions"),
        ({"times": ["2020"]}, "times: 1 entries"),
        ({"times": ["2020", "yesterday", "2021"]}, "document 1: 'yesterday' is not a time"),
        ({"times": ["2020", True, "2021"]}, "document 1: True is not a time"),
        ({"times": ["2020", "5/6/2020", "2021"]}, "document 1: '5/6/2020' is not a time"),
        (
            {"times": ["2020", "5.6.20 07:00", "2021"]},
            "is not a time: day and month are ambiguous",
        ),
        (
            {"times": ["2020", 98, "2021"]},
            "document 1: 98 is not a time: as seconds such a small number",
        ),
        (
            {"times": ["2020", "36526.0", "2021"]},
            "'36526.0' is not a time: as seconds such a small number",
        ),
        (
            {"times": ["2020", "36526.5", "2021"]},
            "'36526.5' is not a time: as seconds such a small number",
        ),
        (
            {"times": ["2020", 202005, "2021"]},
            "202005 is not a time: as seconds such a small number",
        ),
        ({"times": ["2020", -1, "2021"]}, "-1 is not a time: as seconds such a small number"),
        ({"times": ["2020", "0", "2021"]}, "'0' is not a time: as seconds such a small number"),
        ({"times": ["2020", "6 Ju 2020", "2021"]}, "'6 Ju 2020' is not a time; write"),
        ({"times": ["2020", "31 February 2020", "2021"]}, "is not a time; write"),
        ({"times": ["2020", "2020-05/06", "2021"]}, "document 1: '2020-05/06' is not a time"),
        ({"times": ["2020", 20201399, "2021"]}, "document 1: 20201399 is not a time"),
        (
            {"times": ["2020", "20201399120000", "2021"]},
            "document 1: '20201399120000' is not a time",
        ),
        ({"times": ["2020", "6 May 2020 01:00 PM", "2021"]}, "document 1: '6 May .* is not a time"),
        (
            {"times": ["2020", "6 May 2020 01:00 CEST", "2021"]},
            "document 1: '6 May .* is not a time",
        ),
        ({"times": [1e300, 1, 1]}, "document 0: 1e.300 is not a time"),
        ({"times": [np.array([1, 2]), 1, 1]}, "document 0: .* is not a time"),
        ({"times": [[], 1, 1]}, "document 0: .* is not a time"),
        ({"labels": [np.complex128(1), 1, 2]}, "labels of document 0"),
        ({"targets": [1, 10**400, 2]}, "document 1 has inf"),
        ({"times": "2020"}, "one entry per document"),
        ({"ids": ["a"]}, "ids: 1 entries"),
        ({"ids": "abc"}, "one entry per document"),
    ],
)
def test_refused_fields(beside, why):
    with pytest.raises(DataError, match=why):
        Corpus.from_matrix(DENSE, **beside)


@pytest.mark.parametrize(
    ("labels", "names", "indicator"),
    [
        (["b", "a", "b"], ("a", "b"), [[0, 1], [1, 0], [0, 1]]),
        (np.array(["b", "a", "b"]), ("a", "b"), [[0, 1], [1, 0], [0, 1]]),
        (pd.Series(["b", "a", None]), ("a", "b"), [[0, 1], [1, 0], [0, 0]]),
        (pl.Series(["b", "a", None]), ("a", "b"), [[0, 1], [1, 0], [0, 0]]),
        (["b", "a", float("nan")], ("a", "b"), [[0, 1], [1, 0], [0, 0]]),
        ([10, 9, 10], ("9", "10"), [[0, 1], [1, 0], [0, 1]]),
        (np.array([1.0, 0.0, np.nan]), ("0", "1"), [[0, 1], [1, 0], [0, 0]]),
        ([True, False, True], ("0", "1"), [[0, 1], [1, 0], [0, 1]]),
        ([["b", "a", "b"], [], ["a"]], ("a", "b"), [[1, 1], [0, 0], [1, 0]]),
        ([{"b"}, ("a",), np.array(["a"])], ("a", "b"), [[0, 1], [1, 0], [1, 0]]),
        ([[0, 1], [1, 0], [1]], ("0", "1"), [[1, 1], [1, 1], [0, 1]]),
        (np.array([[0, 1], [1, 0], [1, 1]]), None, [[0, 1], [1, 0], [1, 1]]),
        (sp.csr_matrix([[0, 1], [1, 0], [1, 1]]), None, [[0, 1], [1, 0], [1, 1]]),
        (pd.DataFrame({"u": [0, 1, 1], "v": [1, 0, 1]}), ("u", "v"), [[0, 1], [1, 0], [1, 1]]),
        ([[], [], []], (), [[], [], []]),
    ],
)
def test_forms_of_labels(labels, names, indicator):
    corpus = Corpus.from_matrix(DENSE, labels=labels)
    assert isinstance(corpus.labels, sp.csr_array)
    assert corpus.labels.data.dtype == np.int8
    assert corpus.labels.indices.dtype == np.int32
    assert corpus.labels.indptr.dtype == np.int32
    assert corpus.labels.data.all()
    assert corpus.label_names == names
    np.testing.assert_array_equal(corpus.labels.toarray(), np.array(indicator).reshape(3, -1))
    assert corpus.n_labels == corpus.labels.shape[1]


def test_label_names_fix_the_columns():
    names = ["c", "b", "a"]
    for labels in (["a", "b", "a"], [2, 1, 2], [["a"], ["b"], ["a"]]):
        corpus = Corpus.from_matrix(DENSE, labels=labels, label_names=iter(names))
        assert corpus.label_names == tuple(names)
        np.testing.assert_array_equal(corpus.labels.indices, [2, 1, 2])


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2020-05-06", "2020-05-06"),
        ("20200506", "2020-05-06"),
        ("2020-05", "2020-05-01"),
        ("1789", "1789-01-01"),
        (1789, "1789-01-01"),
        (np.int64(1789), "1789-01-01"),
        ("2020-05-06T07:08:09.5", "2020-05-06T07:08:09.5"),
        ("2020-05-06 07:08+02:00", "2020-05-06T05:08"),
        ("2020-05-06T07:08Z", "2020-05-06T07:08"),
        (86400000.5, "1972-09-27T00:00:00.5"),
        ("1588748889", "2020-05-06T07:08:09"),
        ("1588748889.0", "2020-05-06T07:08:09"),
        ("1588748889.5", "2020-05-06T07:08:09.5"),
        (-86400000, "1967-04-07"),
        ("1996.0", "1996-01-01"),
        ("1996.", "1996-01-01"),
        (1996.0, "1996-01-01"),
        ("20200506.0", "2020-05-06"),
        ("20200506070000.0", "2020-05-06T07"),
        ("6 May 2020", "2020-05-06"),
        ("6th of May 2020", "2020-05-06"),
        ("Wednesday, May 6, 2020", "2020-05-06"),
        ("Sept. 6, 2020 07:00", "2020-09-06T07"),
        ("06-May-2020", "2020-05-06"),
        ("May 2020", "2020-05-01"),
        (date(2020, 5, 6), "2020-05-06"),
        (datetime(2020, 5, 6, 7), "2020-05-06T07"),
        (20200506, "2020-05-06"),
        (20200506070000, "2020-05-06T07"),
        ("20200506070000", "2020-05-06T07"),
        (1588748400, "2020-05-06T07"),
        (1588748400000, "2020-05-06T07"),
        ("1588748400000", "2020-05-06T07"),
        (1588748400000000, "2020-05-06T07"),
        (1588748400000000000, "2020-05-06T07"),
        (-2e11, "1963-08-31T04:26:40"),
        ("2020/5/6", "2020-05-06"),
        ("2020.05.06 07:00", "2020-05-06T07"),
        ("2020-5-6T07:00", "2020-05-06T07"),
        ("2020-05-06 07:00:00 UTC", "2020-05-06T07"),
        ("2020-05-06 04:00:00 -0300", "2020-05-06T07"),
        ("Wed, 06 May 2020 07:00:00 GMT", "2020-05-06T07"),
        ("6 May 2020 09:00:00 +0200", "2020-05-06T07"),
        ("Wed,  6 May 2020 09:00:00 +0200 (CEST)", "2020-05-06T07"),
        ("6 May 2020 03:00 EDT", "2020-05-06T07"),
        (datetime(2020, 5, 6, 7, tzinfo=timezone(timedelta(hours=-3))), "2020-05-06T10"),
        (datetime(2020, 5, 6, 7, tzinfo=UTC), "2020-05-06T07"),
        (pd.Timestamp("2020-05-06"), "2020-05-06"),
        (np.datetime64("2020-05"), "2020-05-01"),
        (None, "NaT"),
        ("", "NaT"),
        ("  ", "NaT"),
        (float("nan"), "NaT"),
        (pd.NaT, "NaT"),
    ],
)
def test_forms_of_times(value, expected):
    corpus = Corpus.from_matrix([[1]], times=[value])
    assert corpus.times.dtype == np.dtype("datetime64[us]")
    np.testing.assert_array_equal(corpus.times, np.array([expected], "datetime64[us]"))


def test_times_as_arrays():
    stamps = np.array(["2020-01-01", "NaT", "2021-01-01"], "datetime64[D]")
    for times in (stamps, stamps.astype("datetime64[ns]"), pd.Series(stamps), pl.Series(stamps)):
        corpus = Corpus.from_matrix(DENSE, times=times)
        np.testing.assert_array_equal(corpus.times, stamps.astype("datetime64[us]"))


_ANY = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.binary(max_size=3)
    | st.complex_numbers()
    | st.dates()
    | st.datetimes(timezones=st.none() | st.just(UTC)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=6,
)


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=300)
@given(
    st.sampled_from(["counts", "vocabulary", "labels", "label_names", "targets", "times", "ids"]),
    _ANY,
)
def test_anything_at_all_is_taken_or_refused(name, value):
    with contextlib.suppress(DataError):
        corpus = Corpus(**({"counts": DENSE} | {name: value}))
        assert corpus[:1].n_docs <= 1
    with contextlib.suppress(DataError):
        Corpus(**({"counts": DENSE} | {name: [value, value, value]}))
    if name == "label_names":
        with contextlib.suppress(DataError):
            Corpus(counts=DENSE, labels=[0, 1, 0], label_names=value)
