"""Every form of file, made small; and the real ones where they are at hand."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pytest

from bayou.data import DataError, Vectorizer
from bayou.datasets import list_corpora, load_corpus

TEXTS = [
    {"id": "a", "text": "red fish", "labels": ["x"], "date": "2001", "split": "train"},
    {"id": "b", "text": "blue fish", "labels": ["x", "z"], "date": "2002", "split": "train"},
    {"id": "c", "text": "blue bird", "labels": ["y"], "date": "2003-05-31", "split": "test"},
    {"id": "d", "text": "", "labels": [], "split": "dev"},
]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def _jsonl(records: list[dict]) -> str:
    return "\n".join(map(json.dumps, records))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    _write(tmp_path / "texts" / "docs.jsonl.gz", _jsonl(TEXTS))
    _write(tmp_path / "texts" / "concepts.jsonl.gz", '{"id": "x", "parents": []}')
    _write(tmp_path / "parts" / "one.jsonl", '{"text": "a word", "target": 2.5}')
    _write(tmp_path / "parts" / "two.jsonl", '{"text": "words and", "size": 3, "kind": "k"}')
    _write(tmp_path / "counts" / "train.svm.gz", "0 0:2 2:1\n0,1 1:1\n")
    _write(tmp_path / "counts" / "test.svm.gz", "1 0:1\n \n")
    _write(tmp_path / "counts" / "vocab.txt.gz", "ape\nbee\ncat\ndog\n")
    _write(tmp_path / "counts" / "labels.txt.gz", "no\nyes\nmaybe\n")
    _write(tmp_path / "counts" / "train.meta.tsv.gz", "i1\t2019-01-02\ni2\t2019-01-03\n")
    _write(tmp_path / "counts" / "test.meta.tsv.gz", "i3\t2019-day-32\ti\ni4\t\tj\n")
    _write(tmp_path / "lone" / "lone.svm", " 0:1\n 1:2\n")
    _write(tmp_path / "lone" / "vocab.txt", "ape\nbee\n")
    _write(tmp_path / "uci" / "docword.zoo.txt.gz", "2\n3\n2\n1 1 4\n2 3 1\n")
    _write(tmp_path / "uci" / "vocab.zoo.txt.gz", "ape\nbee\ncat\n")
    _write(tmp_path / "real" / "train.svm", "0 0:0.5 1:-0.25\n")
    _write(tmp_path / "real" / "vocab.txt", "ape\nbee\n")
    _write(tmp_path / "README.md", "not a corpus")
    _write(tmp_path / "notes" / "notes.txt", "nor is this")
    return tmp_path


def test_list_says_what_is_there(folder):
    found = {item.name: (item.form, sorted(item.files)) for item in list_corpora(folder)}
    assert found == {
        "counts": ("svmlight", ["test", "train"]),
        "lone": ("svmlight", ["all"]),
        "parts/one": ("text", ["all"]),
        "parts/two": ("text", ["all"]),
        "real": ("svmlight", ["train"]),
        "texts": ("text", ["all"]),
        "uci": ("uci", ["all"]),
    }


def test_folder_from_the_environment(folder, monkeypatch):
    monkeypatch.setenv("BAYOU_DATA", str(folder))
    assert len(list_corpora()) == 7
    assert load_corpus("uci").n_docs == 2


def test_texts_of_a_part_have_the_terms_and_labels_of_all(folder):
    train = load_corpus("texts", folder=folder, split="train")
    test = load_corpus("texts", folder=folder, split="test")
    dev = load_corpus("texts", folder=folder, split="dev")
    assert train.vocabulary.terms == ("blue", "fish", "red")
    assert test.vocabulary == dev.vocabulary == train.vocabulary
    assert test.counts.toarray().tolist() == [[1, 0, 0]]
    assert train.label_names == test.label_names == dev.label_names == ("x", "y", "z")
    assert (train.ids, test.ids) == (("a", "b"), ("c",))
    assert str(test.times[0]).startswith("2003-05-31")
    assert (dev.n_docs, dev.n_tokens) == (1, 0)


def test_all_texts(folder):
    corpus = load_corpus("texts", folder=folder)
    assert corpus.n_docs == 4
    assert "bird" in corpus.vocabulary
    assert np.isnat(corpus.times[3])


def test_a_vectorizer_is_fitted_once(folder):
    vectorizer = Vectorizer(stop_words=["blue"])
    test = load_corpus("texts", folder=folder, split="test", vectorizer=vectorizer)
    train = load_corpus("texts", folder=folder, split="train", vectorizer=vectorizer)
    assert test.vocabulary.terms == train.vocabulary.terms == ("fish", "red")


def test_fields_of_texts(folder):
    assert load_corpus("parts/one", folder=folder).targets.tolist() == [2.5]
    corpus = load_corpus("parts/two", folder=folder, label="kind", target="size")
    assert (corpus.label_names, corpus.targets.tolist()) == (("k",), [3.0])
    corpus = load_corpus("texts", folder=folder, label="", time="")
    assert corpus.labels is None
    assert corpus.times is None


def test_whole_number_labels(folder):
    _write(folder / "n" / "n.jsonl", '{"text": "one", "label": 7}\n{"text": "two", "label": null}')
    corpus = load_corpus("n", folder=folder)
    assert corpus.label_names == ("7",)
    assert corpus.labels.toarray().tolist() == [[1], [0]]


def test_counts(folder):
    train, test = (load_corpus("counts", folder=folder, split=s) for s in ("train", "test"))
    assert train.counts.toarray().tolist() == [[2, 0, 1, 0], [0, 1, 0, 0]]
    assert test.counts.toarray().tolist() == [[1, 0, 0, 0], [0, 0, 0, 0]]
    assert train.labels.toarray().tolist() == [[1, 0, 0], [1, 1, 0]]
    assert test.label_names == ("no", "yes", "maybe")
    assert test.ids == ("i3", "i4")
    assert str(test.times[0]).startswith("2019-02-01")
    assert np.isnat(test.times[1])
    both = load_corpus("counts", folder=folder)
    assert both.ids == ("i1", "i2", "i3", "i4")
    assert both.labels.toarray().tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 0]]
    assert both.times.shape == (4,)
    assert load_corpus("counts", folder=folder, time="").times is None


def test_parts_of_which_one_has_no_dates(folder):
    (folder / "counts" / "test.meta.tsv.gz").unlink()
    both = load_corpus("counts", folder=folder)
    assert (both.ids, both.times) == (None, None)


def test_counts_without_labels_or_split(folder):
    lone = load_corpus("lone", folder=folder)
    assert (lone.n_docs, lone.labels) == (2, None)
    uci = load_corpus("uci", folder=folder)
    assert uci.counts.toarray().tolist() == [[4, 0, 0], [0, 0, 1]]
    assert uci.vocabulary.terms == ("ape", "bee", "cat")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "count"}, "no corpus 'count' in .*; did you mean 'counts'?"),
        ({"name": "../texts"}, "no corpus '../texts'"),
        ({"name": "zzzzzz"}, "there are: 'counts', 'lone', 'parts/one'"),
        ({"name": "parts"}, "holds several corpora; load one of 'parts/one', 'parts/two'"),
        ({"name": 3}, "must be a string, got 3"),
        ({"name": "texts", "split": "tset"}, "parts are 'dev', 'test', 'train' and 'all'"),
        ({"name": "parts/one", "split": "train"}, 'it has no split; use "all"'),
        ({"name": "counts", "split": "dev"}, "its parts are 'test', 'train' and 'all'"),
        ({"name": "uci", "split": "train"}, 'it has no split; use "all"'),
        ({"name": "counts", "label": "x"}, "holds counts, not texts"),
        ({"name": "counts", "vectorizer": Vectorizer()}, "holds counts, not texts"),
        ({"name": "real"}, "'real' cannot be read as counts of terms: .* line 1: count '-0.25'"),
        ({"name": "texts", "target": "size"}, "line 1: no field 'size'"),
    ],
)
def test_refusals(folder, given, message):
    with pytest.raises(DataError, match=message):
        load_corpus(**given, folder=folder)


def test_refused_files(folder):
    _write(folder / "counts" / "test.meta.tsv.gz", "i3\t2019-02-31\ni4\t\n")
    with pytest.raises(
        DataError, match=r"test.meta.tsv.gz, line 1: .* is not a time;.* or pass time="
    ):
        load_corpus("counts", folder=folder)
    _write(folder / "counts" / "test.meta.tsv.gz", "i3\t2019\ni4\n")
    with pytest.raises(DataError, match=r"test.meta.tsv.gz, line 2: expected an id, a tab"):
        load_corpus("counts", folder=folder)
    _write(folder / "counts" / "test.meta.tsv.gz", "i3\t2019\n")
    with pytest.raises(DataError, match=r"test.meta.tsv.gz: 1 lines for 2 documents"):
        load_corpus("counts", folder=folder, split="test")
    (folder / "counts" / "labels.txt.gz").unlink()
    with pytest.raises(DataError, match=r"no labels.txt next to"):
        load_corpus("counts", folder=folder)
    (folder / "uci" / "vocab.zoo.txt.gz").unlink()
    with pytest.raises(DataError, match=r"no vocab.zoo.txt next to"):
        load_corpus("uci", folder=folder)
    _write(folder / "bad" / "bad.jsonl", "{")
    with pytest.raises(DataError, match=r"bad.jsonl, line 1: not valid JSON"):
        load_corpus("bad", folder=folder)


def test_no_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("BAYOU_DATA", raising=False)
    with pytest.raises(DataError, match="pass folder=, or set BAYOU_DATA"):
        load_corpus("texts")
    with pytest.raises(DataError, match="is not a folder"):
        list_corpora(tmp_path / "nowhere")
    monkeypatch.setenv("BAYOU_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataError, match=r"BAYOU_DATA is .*nowhere', which is not a folder"):
        list_corpora()
    with pytest.raises(DataError, match="there are: none"):
        load_corpus("texts", folder=tmp_path)


# Published sizes: documents for training and testing, terms (0: depends on the tokeniser), labels.
REAL = {
    "20news_bow": (11_269, 7_505, 61_188, 20),
    "reuters21578/modapte90": (7_770, 3_019, 0, 90),
    "tripadvisor5000": (2_500, 2_500, 0, 0),
    "mulan_medical": (333, 645, 1_449, 45),
    "uci_nips": (1_350, 150, 7_605, 0),
}


@pytest.mark.corpus
@pytest.mark.skipif("BAYOU_DATA" not in os.environ, reason="BAYOU_DATA is not set")
@pytest.mark.parametrize("name", REAL)
def test_real_corpora_with_a_split(name):
    if name not in {found.name for found in list_corpora()}:
        pytest.skip(f"{name} is not in BAYOU_DATA")
    n_train, n_test, n_terms, n_labels = REAL[name]
    train, test = (load_corpus(name, split=split) for split in ("train", "test"))
    assert (train.n_docs, test.n_docs) == (n_train, n_test)
    assert train.vocabulary == test.vocabulary
    assert n_terms in (0, train.n_terms)
    assert train.n_labels == test.n_labels == n_labels
    assert train.label_names == test.label_names


@pytest.mark.corpus
@pytest.mark.skipif("BAYOU_DATA" not in os.environ, reason="BAYOU_DATA is not set")
@pytest.mark.parametrize(
    ("name", "n_docs", "n_terms"), [("uci_kos", 3_430, 6_906), ("poliblog5k", 5_000, 2_632)]
)
def test_real_corpora_without_a_split(name, n_docs, n_terms):
    if name not in {found.name for found in list_corpora()}:
        pytest.skip(f"{name} is not in BAYOU_DATA")
    corpus = load_corpus(name)
    assert (corpus.n_docs, corpus.n_terms) == (n_docs, n_terms)
    assert (corpus.times is not None) == (name == "poliblog5k")
