import os
import time
from pathlib import Path

import numpy as np
import pytest
from data_files import COUNTS, LABELS, svmlight_bytes, uci_bytes, write
from hypothesis import given, settings
from hypothesis import strategies as st

from bayou.data import DataError, Vocabulary, iter_records, read, readers_matrix


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("scale", [1, 0.5, 1e-5, 1e10])
def test_svmlight(tmp_path, suffix, scale):
    path = write(tmp_path / f"f.svm{suffix}", svmlight_bytes(COUNTS * scale, LABELS))
    corpus = read(path)
    np.testing.assert_allclose(corpus.counts.toarray(), COUNTS * scale, rtol=1e-6)
    assert corpus.labels.shape == (5, 3)
    assert [
        row.tolist() for row in np.split(corpus.labels.indices, corpus.labels.indptr[1:-1])
    ] == (LABELS)
    records = list(iter_records(path))
    assert [record["labels"] for record in records] == LABELS
    assert records[4]["terms"].tolist() == [0, 3]
    np.testing.assert_allclose(records[4]["counts"], [4 * scale, 5 * scale], rtol=1e-6)


@pytest.mark.parametrize(
    ("raw", "counts", "labels"),
    [
        (b"1 2:3", [[0, 0, 3]], [[0, 1]]),
        (b"1 2:3\r\n0 0:1\r\n", [[0, 0, 3], [1, 0, 0]], [[0, 1], [1, 0]]),
        (b"\xef\xbb\xbf0 1:2\n", [[0, 2]], [[1]]),
        (b"0\t1:2  0:1 \n", [[1, 2]], [[1]]),
        (b" 1:2\n", [[0, 2]], None),
        (b"1:2\n", [[0, 2]], None),
        (b"0 1:2 1:3\n", [[0, 5]], [[1]]),
        (b"0,0 1:2\n", [[0, 2]], [[1]]),
        (b"# head\n0 1:2 # tail 5:5\n", [[0, 2]], [[1]]),
        (b"0 1:2e1 0:.5\n", [[0.5, 20]], [[1]]),
        (b"0 1:0\n", [[0, 0]], [[1]]),
        (b"\n\n", np.zeros((2, 0)), None),
    ],
)
def test_svmlight_spellings(tmp_path, raw, counts, labels):
    corpus = read(write(tmp_path / "f.svm", raw))
    np.testing.assert_array_equal(corpus.counts.toarray(), counts)
    assert labels == (None if corpus.labels is None else corpus.labels.toarray().tolist())


@settings(max_examples=300)
@given(
    st.lists(
        st.text("0123456789,,:: \n", max_size=12)
        | st.from_regex(r"(\d(,\d)?)?( \d:\d){0,3}\n", fullmatch=True),
        max_size=6,
    )
)
def test_the_fast_parser_agrees_with_the_slow_one(pieces):
    """The slow parser decides; the fast one may decline, never differ."""
    chunk = ("".join(pieces) + "\n").encode()
    fast = readers_matrix._svmlight_fast(chunk)
    if fast is None:
        return
    slow = readers_matrix._svmlight_slow(chunk, "f", 1)
    for one, two in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(one, two)


def test_the_fast_parser_is_used():
    assert readers_matrix._svmlight_fast(svmlight_bytes(COUNTS, LABELS)) is not None
    body = uci_bytes(COUNTS).split(b"\n", 3)[3]
    fast, slow = readers_matrix._uci_fast(body), readers_matrix._uci_slow(body, "f", 4)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_may_end_anywhere(tmp_path, monkeypatch, size):
    path = write(tmp_path / "f.svm", svmlight_bytes(COUNTS, LABELS))
    whole = read(path)
    real = readers_matrix.iter_chunks
    monkeypatch.setattr(readers_matrix, "iter_chunks", lambda *a: real(*a, size=size))
    np.testing.assert_array_equal(read(path).counts.toarray(), whole.counts.toarray())
    path = write(tmp_path / "docword.x.txt", uci_bytes(COUNTS))
    np.testing.assert_array_equal(read(path).counts.toarray(), COUNTS)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("scale", [1, 0.5])
def test_uci(tmp_path, suffix, scale):
    path = write(tmp_path / f"docword.test.txt{suffix}", uci_bytes(COUNTS * scale))
    vocabulary = write(tmp_path / f"vocab.txt{suffix}", b"ape\nb\xc3\xa9e\r\ncat\ndog")
    corpus = read(path, vocabulary=vocabulary)
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS * scale)
    assert corpus.vocabulary.terms == ("ape", "bée", "cat", "dog")
    assert [record["terms"].tolist() for record in iter_records(path)] == [
        [0, 2],
        [],
        [1],
        [],
        [0, 3],
    ]


def test_sidecar_names(tmp_path):
    path = write(tmp_path / "f.svm", svmlight_bytes(COUNTS, LABELS))
    names = write(tmp_path / "labels.txt.gz", b"x\ny\nz\n")
    corpus = read(
        path, vocabulary=Vocabulary("abcdef"[i] for i in range(6)), label_names=str(names)
    )
    assert corpus.counts.shape == (5, 6)
    assert corpus.label_names == ("x", "y", "z")
    with pytest.raises(DataError, match="label 2 of document 0 is not in the"):
        read(path, label_names=["x", "y"])
    with pytest.raises(
        DataError, match="term 3 of document 4 is not in the vocabulary, which has 3"
    ):
        read(path, vocabulary=["x", "y", "z"])
    with pytest.raises(DataError, match="distinct"):
        read(path, vocabulary=write(tmp_path / "v.txt", b"a\na\n"))


@pytest.mark.corpus
@pytest.mark.skipif("BAYOU_DATA" not in os.environ, reason="BAYOU_DATA is not set")
def test_fifteen_million_entries_load_in_half_a_minute():
    folder = Path(os.environ["BAYOU_DATA"], "arxiv_big")
    start = time.perf_counter()
    corpus = read(
        folder / "train.svm.gz",
        vocabulary=folder / "vocab.txt.gz",
        label_names=folder / "labels.txt.gz",
    )
    assert time.perf_counter() - start < 30
    assert (corpus.n_docs, corpus.n_terms, corpus.n_labels) == (219_621, 14_822, 176)
    assert corpus.n_tokens == 15_350_985
