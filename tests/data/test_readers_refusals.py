"""Files that cannot be read: one clear error with the file and the line."""

import gzip
import os
import sys

import numpy as np
import pytest
from data_files import (
    COUNTS,
    LABELS,
    RECORDS,
    csv_bytes,
    jsonl_bytes,
    parquet_bytes,
    svmlight_bytes,
    uci_bytes,
    write,
)

from bayou.data import DataError, iter_records, read


@pytest.mark.parametrize(
    ("name", "raw", "why"),
    [
        ("f.jsonl", b"", "the file is empty"),
        ("f.csv", "text\na\n".encode("utf-16"), "UTF-16; save it as UTF-8"),
        ("f.jsonl", b"\n\n", "no records"),
        ("f.jsonl", b'{"text": "a"}\n{"text": \n', "f.jsonl, line 2: not valid JSON"),
        ("f.jsonl", b'{"text": "a"}\n[1]\n', "line 2: expected a JSON object"),
        ("f.jsonl", b'{"text": 3}\n', "line 1: field 'text' must be text, got 3"),
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
        ("f.csv", b"text,label\na\n", "line 2: 1 fields, but the header names 2 columns"),
        ("f.csv", b'text\n"unclosed\n', "line 2: a quote is opened but never closed"),
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
        ("f.svm", b"0 9999999999:1\n", "line 1: term '9999999999' is larger than"),
        ("f.svm", b"0 " + b"9" * 5000 + b":1\n", "line 1: term '9+' is larger than"),
        ("f.svm", b",0 1:2\n", "line 1: label ''"),
        ("f.svm", b"0, 1:2\n", "line 1: label ''"),
        ("f.svm", b"0 1:2:3\n", "line 1: count '2:3'"),
        ("f.svm", b"0 1_0:2\n", "line 1: term '1_0'"),
        ("f.svm", b"# only a comment\n", "no documents"),
        ("docword.f.txt", b"1\n1\n", "three lines with one number each; it is truncated"),
        ("docword.f.txt", b"1\nx\n1\n", "line 2: size 'x'"),
        ("docword.f.txt", b"1\n1\n2\n1 1 1\n", "header announces 2 entries, the file has 1"),
        ("docword.f.txt", b"1\n1\n1\n2 1 1\n", "line 4: document 2 is not in 1 .. 1"),
        ("docword.f.txt", b"1\n1\n1\n1 0 1\n", "line 4: term 0 is not in 1 .. 1"),
        ("docword.f.txt", b"1\n1\n1\n1 1\n", "line 4: expected three numbers"),
        ("docword.f.txt", b"1\n1\n1\n1 1 x\n", "line 4: count 'x'"),
        ("docword.f.txt", b"2000000000\n1\n1\n1 1 1\n", "header announces 2000000000 documents"),
        ("f.parquet", b"PAR1 nonsense PAR1", "not a valid Parquet file"),
        ("f.jsonl.gz", b"plain text", "not gzip data"),
        ("f.dat", b"x", "cannot infer the format from the name"),
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
    with pytest.raises(DataError, match="standard input has no name"):
        read("-")
    path = write(tmp_path / "f.svm", b"0 1:1\n")
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
        read(write(tmp_path / "docword.a.txt", b"1\n1\n0\n"), label_names=["a"])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"pip install 'bayou\[frames\]'"):
        read(write(tmp_path / "f.parquet", b"PAR1"))


def test_replacing_bad_bytes(tmp_path):
    path = write(tmp_path / "f.jsonl", b'{"text": "good \xff word"}\n')
    assert read(path, encoding_errors="replace").vocabulary.terms == ("good", "word")


@pytest.mark.parametrize("name", ["f.jsonl", "f.csv", "f.svm", "docword.f.txt", "f.jsonl.gz"])
def test_long_lines_are_refused_unread(tmp_path, name):
    path = write(tmp_path / name, b"1" * 5_000)
    with pytest.raises(DataError, match="line 1: longer than 100 bytes"):
        list(iter_records(path, max_line_bytes=100))


def test_a_long_line_in_the_middle(tmp_path):
    path = write(tmp_path / "f.svm", b"0 1:1\n0 " + b"1:1 " * 100 + b"\n0 1:1\n")
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
    path = write(tmp_path / "f.csv", csv_bytes([{"text": text}]))
    assert read(path).n_tokens == 50_000


def _sources():
    return {
        "f.jsonl": jsonl_bytes(RECORDS),
        "f.csv": csv_bytes(RECORDS),
        "f.tsv": csv_bytes(RECORDS, "\t"),
        "f.svm": svmlight_bytes(COUNTS, LABELS),
        "docword.f.txt": uci_bytes(COUNTS),
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
    original = parquet_bytes(RECORDS)
    path = tmp_path / "f.parquet"
    for cut in range(0, len(original), 97):
        path.write_bytes(original[:cut])
        with pytest.raises(DataError):
            read(path)
