import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bayou.data import Corpus, DataError, FractionalCountsWarning, Vocabulary

DENSE = np.array([[1, 0, 2], [0, 0, 0], [0, 3, 0]])


def _assert_canonical(matrix, dtype=np.float32):
    assert isinstance(matrix, sp.csr_array)
    assert matrix.data.dtype == dtype
    assert matrix.indices.dtype == np.int32
    assert matrix.indptr.dtype == np.int32
    for start, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        assert (np.diff(matrix.indices[start:end]) > 0).all()
    assert matrix.data.all()


COUNTS = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6),
    elements=st.sampled_from([0, 0, 1, 2, 0.5, 7, 1e6]),
)


FORMS = [
    np.asarray,
    np.asfortranarray,
    sp.csr_array,
    sp.csr_matrix,
    sp.csc_array,
    sp.csc_matrix,
    sp.coo_array,
    sp.coo_matrix,
    sp.lil_array,
    sp.dok_array,
    lambda x: sp.csr_array(x.astype(np.float32)),
    pd.DataFrame,
    lambda x: x.astype(object),
]


@pytest.mark.parametrize("form", FORMS)
@given(COUNTS)
def test_every_form_gives_the_same_corpus(form, counts):
    corpus = Corpus.from_matrix(form(counts))
    _assert_canonical(corpus.counts)
    assert corpus.counts.shape == counts.shape == (corpus.n_docs, corpus.n_terms)
    np.testing.assert_array_equal(corpus.counts.toarray(), counts)
    np.testing.assert_allclose(corpus.doc_lengths(), counts.sum(axis=1))
    np.testing.assert_allclose(corpus.term_counts(), counts.sum(axis=0))
    assert corpus.n_tokens == pytest.approx(counts.sum())
    assert corpus.is_fractional == bool((counts == 0.5).any())


def test_lists_booleans_and_integers():
    for form in (DENSE.tolist(), tuple(map(tuple, DENSE.tolist())), DENSE.astype(np.uint8)):
        np.testing.assert_array_equal(Corpus.from_matrix(form).counts.toarray(), DENSE)
    assert Corpus.from_matrix([[True, False]]).n_tokens == 1
    assert Corpus(counts=DENSE).n_docs == 3


def test_the_canonical_array_still_computes():
    """Scipy's conversions refuse index arrays of different widths."""
    counts = Corpus.from_matrix(DENSE).counts
    np.testing.assert_array_equal(counts @ np.eye(3), DENSE)
    np.testing.assert_array_equal(counts.T.toarray(), DENSE.T)
    np.testing.assert_array_equal((counts @ counts.T).toarray(), DENSE @ DENSE.T)
    np.testing.assert_array_equal(counts[[2, 0]].toarray(), DENSE[[2, 0]])
    np.testing.assert_array_equal(counts[:, [2, 0]].toarray(), DENSE[:, [2, 0]])
    np.testing.assert_array_equal(counts.sum(axis=0), DENSE.sum(axis=0))
    np.testing.assert_array_equal((counts + counts).toarray(), 2 * DENSE)
    np.testing.assert_array_equal(counts.tocsc().toarray(), DENSE)
    np.testing.assert_array_equal(counts.tocoo().toarray(), DENSE)
    np.testing.assert_array_equal(sp.vstack([counts, counts]).toarray(), np.vstack([DENSE, DENSE]))


def test_duplicates_are_summed_and_the_input_is_left_alone():
    parts = (np.array([1.0, 2.0, 0.0, 4.0]), np.array([1, 1, 0, 0]), np.array([0, 3, 4]))
    raw = sp.csr_array(parts, shape=(2, 2))
    corpus = Corpus.from_matrix(raw)
    _assert_canonical(corpus.counts)
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 3], [4, 0]])
    assert raw.data.tolist() == [1, 2, 0, 4]
    assert raw.indices.tolist() == [1, 1, 0, 0]


def test_sums_of_small_integers_do_not_overflow():
    parts = (np.array([200, 100], np.uint8), np.array([0, 0]), np.array([0, 2]))
    assert Corpus.from_matrix(sp.csr_array(parts, shape=(1, 1))).n_tokens == 300
    parts = (np.array([True, True]), np.array([0, 0]), np.array([0, 2]))
    assert Corpus.from_matrix(sp.csr_array(parts, shape=(1, 1))).n_tokens == 2


def test_frames_name_the_terms():
    columns = ["ape", "bee", "cat"]
    frames = [
        pd.DataFrame(DENSE, columns=columns),
        pl.DataFrame(DENSE, schema=columns),
        pd.DataFrame.sparse.from_spmatrix(sp.csr_matrix(DENSE), columns=columns),
        pd.DataFrame(DENSE, columns=columns).astype("Int64"),
    ]
    for frame in frames:
        corpus = Corpus.from_matrix(frame)
        assert corpus.vocabulary == Vocabulary(columns)
        np.testing.assert_array_equal(corpus.counts.toarray(), DENSE)
    assert Corpus.from_matrix(frames[0], vocabulary=list("xyz")).vocabulary[0] == "x"
    assert Corpus.from_matrix(pd.DataFrame(DENSE)).vocabulary is None


def _with(value, dtype=np.float64):
    counts = DENSE.astype(dtype)
    counts[2, 1] = value
    return counts


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        (_with(np.nan), r"document 2, term 1: nan is not a finite"),
        (sp.csr_array(_with(np.inf)), r"document 2, term 1: inf is not a finite"),
        (_with(-1), r"document 2, term 1: -1.0 is negative"),
        (pd.DataFrame(_with(-1), columns=list("abc")), r"document 2, term 1 \('b'\)"),
        (pl.DataFrame(_with(np.nan), schema=list("abc")), r"document 2, term 1 \('b'\)"),
        (pd.DataFrame(_with(1)).astype("Int64").mask(DENSE == 3), "document 2, term 1: nan"),
        (_with(1e300), "document 2, term 1: .* 32-bit"),
        (_with("x", object), "document 2, column 1 is 'x'"),
        (_with(None, object), "document 2, term 1: nan"),
        (DENSE.astype(str), "document 0, column 0 is"),
        (DENSE.astype(complex), "dtype complex128"),
        (sp.csr_array(DENSE.astype(complex)), "dtype complex128"),
        (DENSE.astype("datetime64[s]"), "dtype datetime64"),
        ([[1, 2], [1]], "document 1 has 1 columns, document 0 has 2"),
        ([1, 2, 3], "two dimensions .* got 1"),
        (DENSE[None], "two dimensions .* got 3"),
        ([[10**400]], "document 0, term 0: inf is not a finite"),
        ([[np.complex128(1), None]], "document 0, column 0"),
        (5, "two dimensions .* got 0"),
        (None, "two dimensions .* got 0"),
        ("text", "real numbers"),
        ({"a": 1}, "real numbers"),
        ([], "two dimensions"),
    ],
)
def test_refused_counts(counts, why):
    with pytest.raises(DataError, match=why):
        Corpus.from_matrix(counts)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 9], [0, 1, 2]), ([0, -1], [0, 1, 2]), ([0, 1], [0, 2, 1])]
)
def test_broken_sparse_arrays_are_refused(indices, indptr):
    raw = sp.csr_array((2, 3))
    raw.data, raw.indices, raw.indptr = np.ones(2), np.array(indices), np.array(indptr)
    with pytest.raises(DataError, match="not a valid sparse matrix"):
        Corpus.from_matrix(raw)


def _full():
    return Corpus.from_matrix(
        DENSE,
        vocabulary=["a", "b", "c"],
        labels=[["x"], [], ["y", "x"]],
        targets=[[1, 2], [3, 4], [5, 6]],
        times=["2020", None, "2022"],
        ids=[10, 11, 12],
    )


@pytest.mark.parametrize(
    "key",
    [
        slice(1, 3),
        slice(None, None, -1),
        slice(5, 9),
        [2, 0, 0],
        np.array([1, 2]),
        np.array([True, False, True]),
        [False, False, True],
        [],
        np.array([], int),
        [-1],
    ],
)
def test_slices_take_everything_along(key):
    corpus = _full()
    part = corpus[key]
    rows = np.arange(3)[np.array(key, int) if isinstance(key, list) and not key else key]
    assert len(part) == part.n_docs == len(rows)
    _assert_canonical(part.counts)
    np.testing.assert_array_equal(part.counts.toarray(), DENSE[rows])
    _assert_canonical(part.labels, np.int8)
    np.testing.assert_array_equal(part.labels.toarray(), corpus.labels.toarray()[rows])
    np.testing.assert_array_equal(part.targets, corpus.targets[rows])
    np.testing.assert_array_equal(part.times, corpus.times[rows])
    assert part.ids == tuple(corpus.ids[d] for d in rows)
    assert part.vocabulary is corpus.vocabulary
    assert part.label_names == corpus.label_names


def test_bad_keys():
    corpus = _full()
    with pytest.raises(DataError, match="ambiguous"):
        corpus[1]
    with pytest.raises(IndexError):
        corpus[[5]]
    with pytest.raises(IndexError):
        corpus[np.array([True, False])]


@given(COUNTS, st.data())
def test_slicing_equals_slicing_the_matrix(counts, data):
    corpus = Corpus.from_matrix(counts)
    rows = data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=8)) if len(counts) else []
    np.testing.assert_array_equal(corpus[rows].counts.toarray(), counts[np.array(rows, int)])


def test_it_is_frozen_shown_and_pickled():
    corpus = _full()
    with pytest.raises(AttributeError):
        corpus.counts = None
    assert repr(corpus) == ("Corpus(3 documents, 3 terms, 6 tokens, 2 labels, targets, times, ids)")
    back = pickle.loads(pickle.dumps(corpus))
    assert repr(back) == repr(corpus)
    _assert_canonical(back.counts)
    assert corpus != back  # identity, not contents
    assert Corpus.from_matrix(DENSE).n_labels == 0


@given(hnp.arrays(np.int64, (4, 5), elements=st.integers(0, 3)))
def test_tokens_write_counts_out(counts):
    indptr, terms = Corpus.from_matrix(counts).tokens()
    assert indptr.dtype == np.int64
    assert terms.dtype == np.uint32
    for d in range(4):
        part = terms[indptr[d] : indptr[d + 1]]
        assert (np.diff(part.astype(int)) >= 0).all()
        np.testing.assert_array_equal(np.bincount(part, minlength=5), counts[d])


def test_fractional_counts_are_kept_and_rounded_only_as_tokens():
    corpus = Corpus.from_matrix([[0.5, 1.5, 2.5, 0.4], [2, 0, 0, 0]])
    assert corpus.is_fractional
    assert corpus.n_tokens == pytest.approx(6.9)
    with pytest.warns(FractionalCountsWarning) as seen:
        indptr, terms = corpus.tokens()
    assert len(seen) == 1
    assert terms.tolist() == [1, 1, 2, 2, 0, 0]
    assert indptr.tolist() == [0, 4, 6]


def test_counts_beyond_writing_out():
    with pytest.raises(DataError, match="document 1 holds term 0 1e"):
        Corpus.from_matrix([[1], [1e12]]).tokens()


def test_from_text_passes_everything_on():
    corpus = Corpus.from_text(
        ["The cat sat", "the dog", "DOG dog"],
        stop_words="english",
        max_features=2,
        ngrams=(1, 2),
        targets=[1, 2, 3],
    )
    assert corpus.vocabulary.terms == ("cat", "dog")
    assert corpus.targets.tolist() == [1, 2, 3]
    assert corpus.doc_lengths().tolist() == [1, 1, 2]


def test_a_corpus_without_its_labels():
    corpus = Corpus.from_matrix(
        [[1, 0], [0, 2]], labels=[["a"], []], targets=[1, 2], ids=["x", "y"]
    )
    bare = corpus.without_labels()
    assert bare.labels is bare.label_names is bare.targets is None
    assert bare.ids == ("x", "y")
    assert bare.counts is corpus.counts
    assert corpus.n_labels == 1
    assert corpus.without_labels(("1", "2")).ids == ("1", "2")
    with pytest.raises(DataError, match="1 entries for 2 documents"):
        corpus.without_labels(("1",))


def test_whole_counts_are_those_of_the_tokens():
    corpus = Corpus.from_matrix([[1.4, 0, 2.5], [0.4, 3, 0]])
    with pytest.warns(FractionalCountsWarning):
        assert corpus.whole_counts().tolist() == [1, 2, 0, 3]
    with pytest.raises(DataError, match=r"document 1 holds term 0 1e.10 times"):
        Corpus.from_matrix([[1, 0], [1e10, 0]]).whole_counts()
