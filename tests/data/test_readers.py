import csv
import gzip
import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayou.data import Corpus, DataError, Vectorizer, Vocabulary, iter_records, read, readers_matrix
from bayou.data.records import Options

RECORDS = [
    {"id": "a", "text": 'the cat sat, "quoted"\nnew line', "label": "x", "target": 1.5},
    {"id": "b", "text": "", "label": "y", "target": -2},
    {"id": "c", "text": "Ünïcode 语言文字 tab\there", "label": "x", "target": 0},
]
TEXT_FORMATS = ["jsonl", "csv", "tsv", "parquet"]


def _jsonl(records):
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def _csv(records, delimiter=","):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(records[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows(records)
    return out.getvalue().encode()


def _parquet(records):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(records), out)
    return out.getvalue()


def _bytes(format, records):
    match format:
        case "jsonl":
            return _jsonl(records)
        case "csv":
            return _csv(records)
        case "tsv":
            return _csv(records, "\t")
        case "parquet":
            return _parquet(records)


def _write(path, raw):
    path.write_bytes(gzip.compress(raw, 1) if path.name.endswith(".gz") else raw)
    return path


def _svmlight(counts, labels):
    lines = []
    for row, names in zip(counts, labels, strict=True):
        entries = "".join(f" {v}:{row[v]:g}" for v in np.flatnonzero(row))
        lines.append(",".join(map(str, names)) + entries + "\n")
    return "".join(lines).encode()


def _uci(counts):
    coo = sp.coo_array(counts)
    head = f"{counts.shape[0]}\n{counts.shape[1]}\n{coo.nnz}\n"
    rows, columns = coo.coords
    body = "".join(
        f"{d + 1} {v + 1} {n:g}\n" for d, v, n in zip(rows, columns, coo.data, strict=True)
    )
    return (head + body).encode()


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_text_formats(tmp_path, format, suffix):
    path = _write(tmp_path / f"docs.{format}{suffix}", _bytes(format, RECORDS))
    expected = Corpus.from_text(record["text"] for record in RECORDS)
    corpus = read(path)
    assert corpus.vocabulary == expected.vocabulary
    np.testing.assert_array_equal(corpus.counts.toarray(), expected.counts.toarray())
    assert corpus.ids == ("a", "b", "c")
    assert corpus.label_names == ("x", "y")
    assert corpus.labels.toarray().tolist() == [[1, 0], [0, 1], [1, 0]]
    assert corpus.targets.tolist() == [1.5, -2, 0]
    assert corpus.times is None
    assert [record["text"] for record in iter_records(path)] == [r["text"] for r in RECORDS]


_FIELD = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12)


@pytest.mark.parametrize("format", ["jsonl", "csv", "tsv"])
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(_FIELD, _FIELD), min_size=1, max_size=5), packed=st.booleans())
def test_any_text_survives(tmp_path, format, rows, packed):
    records = [{"text": text, "note": note} for text, note in rows]
    path = _write(tmp_path / f"f.{format}{'.gz' * packed}", _bytes(format, records))
    assert list(iter_records(path)) == records
    assert read(path).n_docs == len(rows)


COUNTS = np.array([[1, 0, 2, 0], [0, 0, 0, 0], [0, 30, 0, 0], [0, 0, 0, 0], [4, 0, 0, 5]])
LABELS = [[0, 2], [1], [], [], [2]]


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("scale", [1, 0.5, 1e-5, 1e10])
def test_svmlight(tmp_path, suffix, scale):
    path = _write(tmp_path / f"f.svm{suffix}", _svmlight(COUNTS * scale, LABELS))
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
    corpus = read(_write(tmp_path / "f.svm", raw))
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
    assert readers_matrix._svmlight_fast(_svmlight(COUNTS, LABELS)) is not None
    body = _uci(COUNTS).split(b"\n", 3)[3]
    fast, slow = readers_matrix._uci_fast(body), readers_matrix._uci_slow(body, "f", 4)
    np.testing.assert_array_equal(fast, slow)


@pytest.mark.parametrize("size", [1, 7, 64])
def test_chunks_may_end_anywhere(tmp_path, monkeypatch, size):
    path = _write(tmp_path / "f.svm", _svmlight(COUNTS, LABELS))
    whole = read(path)
    real = readers_matrix.iter_chunks
    monkeypatch.setattr(readers_matrix, "iter_chunks", lambda *a: real(*a, size=size))
    np.testing.assert_array_equal(read(path).counts.toarray(), whole.counts.toarray())
    path = _write(tmp_path / "docword.x.txt", _uci(COUNTS))
    np.testing.assert_array_equal(read(path).counts.toarray(), COUNTS)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("scale", [1, 0.5])
def test_uci(tmp_path, suffix, scale):
    path = _write(tmp_path / f"docword.test.txt{suffix}", _uci(COUNTS * scale))
    vocabulary = _write(tmp_path / f"vocab.txt{suffix}", b"ape\nb\xc3\xa9e\r\ncat\ndog")
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
    path = _write(tmp_path / "f.svm", _svmlight(COUNTS, LABELS))
    names = _write(tmp_path / "labels.txt.gz", b"x\ny\nz\n")
    corpus = read(
        path, vocabulary=Vocabulary("abcdef"[i] for i in range(6)), label_names=str(names)
    )
    assert corpus.counts.shape == (5, 6)
    assert corpus.label_names == ("x", "y", "z")
    with pytest.raises(DataError, match="label 2 of document 0 is beyond"):
        read(path, label_names=["x", "y"])
    with pytest.raises(DataError, match="term 3 of document 4 is beyond the vocabulary of 3"):
        read(path, vocabulary=["x", "y", "z"])
    with pytest.raises(DataError, match="distinct"):
        read(path, vocabulary=_write(tmp_path / "v.txt", b"a\na\n"))


def test_folder(tmp_path):
    (tmp_path / "pos").mkdir()
    (tmp_path / "neg").mkdir()
    _write(tmp_path / "pos" / "b.txt", b"good\r\nfilm")
    _write(tmp_path / "pos" / "a.txt.gz", b"fine film")
    _write(tmp_path / "neg" / "10234", b"bad film")
    _write(tmp_path / "neg" / "empty.txt", b"")
    _write(tmp_path / "neg" / "notes.pdf", b"\xff")
    _write(tmp_path / "neg" / ".hidden", b"\xff")
    corpus = read(tmp_path)
    assert corpus.ids == ("neg/10234", "neg/empty.txt", "pos/a.txt.gz", "pos/b.txt")
    assert corpus.label_names == ("neg", "pos")
    assert corpus.labels.indices.tolist() == [0, 0, 1, 1]
    assert corpus.doc_lengths().tolist() == [2, 0, 2, 2]


def test_guessed_and_named_fields(tmp_path):
    records = [
        {"text": "aa", "labels": ["x", "y"], "date": "1999", "split": "train", "body": "other"},
        {"text": "bb", "labels": [], "date": None, "split": "test", "body": "words", "target": 3},
        {"text": "aa cc", "split": "train", "body": "here", "id": 7},
    ]
    path = _write(tmp_path / "f.jsonl", _jsonl(records))
    corpus = read(path)
    assert corpus.labels.toarray().tolist() == [[1, 1], [0, 0], [0, 0]]
    assert np.isnat(corpus.times).tolist() == [False, True, True]
    assert corpus.ids is None  # not everywhere
    assert corpus.targets is None
    train = read(path, split="train", text="body", time="")
    assert train.vocabulary.terms == ("here", "other")
    assert train.times is None
    with pytest.raises(DataError, match="line 3: no field 'labels'"):
        read(path, label="labels")
    with pytest.raises(DataError, match="no records whose split is 'dev'"):
        read(path, split="dev")


def test_separated_labels(tmp_path):
    path = _write(tmp_path / "f.csv", b"text,tags\naa,x | y\nbb,\ncc,y\n")
    corpus = read(path, label="tags", label_separator="|")
    assert corpus.label_names == ("x", "y")
    assert corpus.labels.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]


def test_vectorizers_and_vocabularies(tmp_path):
    path = _write(tmp_path / "f.jsonl", _jsonl(RECORDS))
    vectorizer = Vectorizer(max_features=2)
    assert read(path, vectorizer=vectorizer).n_terms == 2
    other = _write(tmp_path / "g.jsonl", _jsonl([{"text": "something else"}]))
    again = read(other, vectorizer=vectorizer)
    assert again.vocabulary == vectorizer.vocabulary_
    assert again.n_tokens == 0
    assert read(path, vocabulary=["cat", "dog"]).doc_lengths().tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="give the vocabulary to the Vectorizer"):
        read(path, vocabulary=["cat"], vectorizer=Vectorizer())


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed):
    raw = _jsonl(RECORDS)
    code = "from bayou.data import read; print(read('-', format='jsonl'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=gzip.compress(raw) if packed else raw,
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.startswith(b"Corpus(3 documents")


class _Stdin:
    def __init__(self, raw):
        self.buffer = io.BufferedReader(io.BytesIO(raw))


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "svmlight", "uci"])
def test_standard_input_in_every_format(monkeypatch, format):
    raw = {"svmlight": _svmlight(COUNTS, LABELS), "uci": _uci(COUNTS)}.get(format)
    monkeypatch.setattr(sys, "stdin", _Stdin(raw or _bytes(format, RECORDS)))
    assert read("-", format=format).n_docs == (5 if raw else 3)


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("f.jsonl", b"", "the file is empty"),
        ("f.jsonl", b"\n\n", "no records"),
        ("f.jsonl", b'{"text": "a"}\n{"text": \n', "f.jsonl, line 2: not valid JSON"),
        ("f.jsonl", b'{"text": "a"}\n[1]\n', "line 2: expected a JSON object"),
        ("f.jsonl", b'{"text": 3}\n', "line 1: 'text' is not text but 3"),
        ("f.jsonl", b'{"txt": "a"}\n', r"line 1: no field 'text' \(there are: txt\)"),
        ("f.jsonl", b"[" * 100_000, "line 1: not valid JSON"),
        ("f.jsonl", b'{"a":' + b"1" * 5000 + b"}", "line 1: not valid JSON"),
        ("f.jsonl", b'{"text": "\xff"}\n', "line 1: not valid UTF-8"),
        ("f.jsonl", b'{"text": "a", "target": "high"}\n', "line 1: target 'high' is not a number"),
        ("f.jsonl", b'{"text": "a", "target": NaN}\n', "f.jsonl: targets must be finite"),
        ("f.jsonl", b'{"text": "a", "date": "soon"}\n', "line 1: 'soon' is not a time"),
        ("f.jsonl", b'{"text": "a", "date": []}\n', r"line 1: \[\] is not a time"),
        ("f.jsonl", b'{"text": "a", "labels": [[1]]}\n', "labels of document 0"),
        ("f.csv", b"text,text\na,b\n", "line 1: two columns have the same name"),
        ("f.csv", b"text,label\na\n", "line 2: 1 fields, but 2 columns"),
        ("f.csv", b'text\n"unclosed\n', "line 2: unexpected end of data"),
        ("f.csv", b'text\n"a"b\n', "line 2: "),
        ("f.csv", b"text\n", "no records"),
        ("f.csv", b"text\na\n\xff\n", "line 3: not valid UTF-8"),
        ("f.tsv", b"text\tid\na\tb\tc\n", "line 2: 3 fields"),
        ("f.svm", b"0 1:2\n0 1:x\n", "line 2: count 'x' is not"),
        ("f.svm", b"0 1:2\n0 x:1\n", "line 2: term 'x' is not a whole"),
        ("f.svm", b"0 1:2\n-1 1:1\n", "line 2: label '-1' is not a whole"),
        ("f.svm", b"0 1:2\n0 1\n", "line 2: expected term:count, got '1'"),
        ("f.svm", b"0 1:nan\n", "line 1: count 'nan'"),
        ("f.svm", b"0 1:-1\n", "line 1: count '-1'"),
        ("f.svm", b"0 1:1e999\n", "line 1: count '1e999'"),
        ("f.svm", b"0 9999999999:1\n", "line 1: term '9999999999' is over"),
        ("f.svm", b"0 " + b"9" * 5000 + b":1\n", "line 1: term '9+' is over"),
        ("f.svm", b",0 1:2\n", "line 1: label ''"),
        ("f.svm", b"0, 1:2\n", "line 1: label ''"),
        ("f.svm", b"0 1:2:3\n", "line 1: count '2:3'"),
        ("f.svm", b"0 1_0:2\n", "line 1: term '1_0'"),
        ("f.svm", b"# only a comment\n", "no documents"),
        ("docword.f.txt", b"1\n1\n", "header of three numbers is cut short"),
        ("docword.f.txt", b"1\nx\n1\n", "line 2: size 'x'"),
        ("docword.f.txt", b"1\n1\n2\n1 1 1\n", "2 entries announced, 1 found"),
        ("docword.f.txt", b"1\n1\n1\n2 1 1\n", "line 4: document 2 is not in 1 .. 1"),
        ("docword.f.txt", b"1\n1\n1\n1 0 1\n", "line 4: term 0 is not in 1 .. 1"),
        ("docword.f.txt", b"1\n1\n1\n1 1\n", "line 4: expected three numbers"),
        ("docword.f.txt", b"1\n1\n1\n1 1 x\n", "line 4: count 'x'"),
        ("docword.f.txt", b"2000000000\n1\n1\n1 1 1\n", "2000000000 documents announced"),
        ("f.parquet", b"PAR1 nonsense PAR1", "not a valid Parquet file"),
        ("f.jsonl.gz", b"plain text", "not gzip data"),
        ("f.dat", b"x", "does not tell the format"),
    ],
)
def test_refused_files(tmp_path, name, raw, why):
    (tmp_path / name).write_bytes(raw)
    with pytest.raises(DataError, match=why):
        read(tmp_path / name)


def test_other_refusals(tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.csv")
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.csv", format="csv")
    with pytest.raises(DataError, match="no text files"):
        read(tmp_path)
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path, format="csv")
    with pytest.raises(DataError, match="standard input must be given"):
        read("-")
    path = _write(tmp_path / "f.svm", b"0 1:1\n")
    with pytest.raises(DataError, match="not a folder"):
        read(path, format="folder")
    with pytest.raises(DataError, match="unknown format 'xml'"):
        read(path, format="xml")
    with pytest.raises(DataError, match="holds counts"):
        read(path, text="body")
    with pytest.raises(DataError, match="encoding_errors"):
        read(path, encoding_errors="ignore")
    with pytest.raises(DataError, match="max_line_bytes"):
        read(path, max_line_bytes=0)
    with pytest.raises(DataError, match="no labels"):
        read(_write(tmp_path / "docword.a.txt", b"1\n1\n0\n"), label_names=["a"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'bayou\[frames\]'"):
        read(_write(tmp_path / "f.parquet", b"PAR1"))


def test_replacing_bad_bytes(tmp_path):
    path = _write(tmp_path / "f.jsonl", b'{"text": "good \xff word"}\n')
    assert read(path, encoding_errors="replace").vocabulary.terms == ("good", "word")


@pytest.mark.parametrize("name", ["f.jsonl", "f.csv", "f.svm", "docword.f.txt", "f.jsonl.gz"])
def test_long_lines_are_refused_unread(tmp_path, name):
    path = _write(tmp_path / name, b"1" * 5_000)
    with pytest.raises(DataError, match="line 1: longer than 100 bytes"):
        list(iter_records(path, max_line_bytes=100))


def test_a_long_line_in_the_middle(tmp_path):
    path = _write(tmp_path / "f.svm", b"0 1:1\n0 " + b"1:1 " * 100 + b"\n0 1:1\n")
    with pytest.raises(DataError, match="line 2: longer than 50 bytes"):
        read(path, max_line_bytes=50)
    assert read(path, max_line_bytes=1000).n_docs == 3


def test_a_packed_bomb_is_refused_in_little_memory(tmp_path):
    """A gigabyte of zeros in a megabyte, without a line end."""
    path = tmp_path / "f.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=1) as file:
        block = bytes(2**20)
        for _ in range(80):
            file.write(block)
    with pytest.raises(DataError, match="line 1: longer than"):
        read(path)


def test_long_csv_fields(tmp_path):
    text = "word " * 50_000
    path = _write(tmp_path / "f.csv", _csv([{"text": text}]))
    assert read(path).n_tokens == 50_000


def _sources():
    return {
        "f.jsonl": _jsonl(RECORDS),
        "f.csv": _csv(RECORDS),
        "f.tsv": _csv(RECORDS, "\t"),
        "f.svm": _svmlight(COUNTS, LABELS),
        "docword.f.txt": _uci(COUNTS),
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(_sources()))
def test_damaged_files_are_read_or_refused(tmp_path, name, packed):
    """Whatever the damage: a corpus or a DataError, nothing else."""
    original = _sources()[name]
    original = gzip.compress(original, mtime=0) if packed else original
    path = tmp_path / (name + ".gz" * packed)
    rng = np.random.default_rng(11)
    refused = []
    for i in range(300):
        raw = bytearray(original)
        at = int(rng.integers(len(raw)))
        match i % 4:
            case 0:
                raw[at] ^= 1 << int(rng.integers(8))
            case 1:
                del raw[at:]
            case 2:
                raw[at:at] = rng.bytes(3)
            case 3:
                raw[at] = int(rng.choice(list(b'0",:\n\t {}[-')))
        path.write_bytes(raw)
        try:
            corpus = read(path)
        except DataError as error:
            refused.append(str(error))
        else:
            assert corpus.n_docs > 0
    assert len(refused) > 30
    assert all(os.fspath(path) in message for message in refused)


def test_damaged_parquet(tmp_path):
    original = _parquet(RECORDS)
    path = tmp_path / "f.parquet"
    for cut in range(0, len(original), 97):
        path.write_bytes(original[:cut])
        with pytest.raises(DataError):
            read(path)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_records_stream(tmp_path, format):
    path = _write(tmp_path / f"f.{format}", _bytes(format, RECORDS))
    records = iter_records(path)
    assert next(records)["id"] == "a"
    records.close()


def test_options_have_defaults():
    assert Options() == Options("strict", 64 * 2**20)
