import gzip
import io
import subprocess
import sys

import numpy as np
import pytest
from data_files import (
    COUNTS,
    LABELS,
    RECORDS,
    TEXT_FORMATS,
    jsonl_bytes,
    svmlight_bytes,
    text_bytes,
    uci_bytes,
    write,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bayou.data import Corpus, DataError, Vectorizer, iter_records, read
from bayou.data.records import Options


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_text_formats(tmp_path, format, suffix):
    path = write(tmp_path / f"docs.{format}{suffix}", text_bytes(format, RECORDS))
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
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(_FIELD, _FIELD), min_size=1, max_size=5), packed=st.booleans())
def test_any_text_survives(tmp_path, format, rows, packed):
    records = [{"text": text, "note": note} for text, note in rows]
    path = write(tmp_path / f"f.{format}{'.gz' * packed}", text_bytes(format, records))
    assert list(iter_records(path)) == records
    assert read(path).n_docs == len(rows)


def test_folder(tmp_path):
    (tmp_path / "pos").mkdir()
    (tmp_path / "neg").mkdir()
    write(tmp_path / "pos" / "b.txt", b"good\r\nfilm")
    write(tmp_path / "pos" / "a.txt.gz", b"fine film")
    write(tmp_path / "neg" / "10234", b"bad film")
    write(tmp_path / "neg" / "empty.txt", b"")
    write(tmp_path / "neg" / "notes.pdf", b"\xff")
    write(tmp_path / "neg" / ".hidden", b"\xff")
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
    path = write(tmp_path / "f.jsonl", jsonl_bytes(records))
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
    path = write(tmp_path / "f.csv", b"text,tags\naa,x | y\nbb,\ncc,y\n")
    corpus = read(path, label="tags", label_separator="|")
    assert corpus.label_names == ("x", "y")
    assert corpus.labels.toarray().tolist() == [[1, 1], [0, 0], [0, 1]]


def test_vectorizers_and_vocabularies(tmp_path):
    path = write(tmp_path / "f.jsonl", jsonl_bytes(RECORDS))
    vectorizer = Vectorizer(max_features=2)
    assert read(path, vectorizer=vectorizer).n_terms == 2
    other = write(tmp_path / "g.jsonl", jsonl_bytes([{"text": "something else"}]))
    again = read(other, vectorizer=vectorizer)
    assert again.vocabulary == vectorizer.vocabulary_
    assert again.n_tokens == 0
    assert read(path, vocabulary=["cat", "dog"]).doc_lengths().tolist() == [1, 0, 0]
    with pytest.raises(DataError, match="give the vocabulary to the Vectorizer"):
        read(path, vocabulary=["cat"], vectorizer=Vectorizer())


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed):
    raw = jsonl_bytes(RECORDS)
    code = "from bayou.data import read; print(read('-', format='jsonl'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=gzip.compress(raw) if packed else raw,
        capture_output=True,
        check=True,
        timeout=600,
    )
    assert done.stdout.startswith(b"Corpus(3 documents")


class _Stdin:
    def __init__(self, raw):
        self.buffer = io.BufferedReader(io.BytesIO(raw))


@pytest.mark.parametrize("format", [*TEXT_FORMATS, "svmlight", "uci"])
def test_standard_input_in_every_format(monkeypatch, format):
    raw = {"svmlight": svmlight_bytes(COUNTS, LABELS), "uci": uci_bytes(COUNTS)}.get(format)
    monkeypatch.setattr(sys, "stdin", _Stdin(raw or text_bytes(format, RECORDS)))
    assert read("-", format=format).n_docs == (5 if raw else 3)


@pytest.mark.parametrize("format", TEXT_FORMATS)
def test_records_stream(tmp_path, format):
    path = write(tmp_path / f"f.{format}", text_bytes(format, RECORDS))
    records = iter_records(path)
    assert next(records)["id"] == "a"
    records.close()


def test_options_have_defaults():
    assert Options() == Options("strict", 64 * 2**20)


def test_a_spreadsheet_where_the_comma_is_the_decimal_point(tmp_path):
    (tmp_path / "a.csv").write_text('text;target\n"a, cat";1\nb dog;2\n')
    assert [r["text"] for r in iter_records(tmp_path / "a.csv")] == ["a, cat", "b dog"]
    (tmp_path / "b.csv").write_text("text,a;b\nx;y,1\n")
    assert list(iter_records(tmp_path / "b.csv")) == [{"text": "x;y", "a;b": "1"}]
