"""What the verbs that use a model print."""

import csv
import inspect
import json

import numpy as np
import pytest
from tests.cli.samples import texts

import bayou
from bayou.api.topics import Topics
from bayou.cli import app
from bayou.cli.catalogue import classes, find, name_of
from bayou.registry import MODELS

VERBS = [
    "demo",
    "fit",
    "update",
    "stream",
    "labels",
    "predict",
    "explain",
    "find",
    "topics",
    "evaluate",
    "report",
    "track",
    "inspect",
    "models",
    "doctor",
]


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_predict_gives_a_row_a_document(invoke, files):
    rows = rows_of(invoke("predict", files / "lda.bayou", files / "pets.jsonl").stdout)
    shares = bayou.load(files / "lda.bayou").transform(texts())
    assert [row["id"] for row in rows] == [f"d{i}" for i in range(120)]
    np.testing.assert_allclose([row["topics"] for row in rows], shares, atol=1e-6)
    assert rows[0]["topic"] == shares[0].argmax()
    top = rows_of(invoke("predict", files / "lda.bayou", files / "pets.jsonl", "--top", "1").stdout)
    assert top[3]["topics"] == [[rows[3]["topic"], rows[3]["share"]]]


def test_documents_without_names_are_numbered_and_unknown_words_counted(invoke, files):
    lines = '{"text": "wolf zebra"}\n\n{"text": ""}\n{"text": "\\ud800 zebra"}\n'
    rows = rows_of(invoke("predict", files / "lda.bayou", "-", input=lines).stdout)
    assert [row["id"] for row in rows] == [1, 2, 3]
    assert [row["unknown"] for row in rows] == [0.5, 0.0, 1.0]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl"])
def test_results_in_files(invoke, files, tmp_path, suffix):
    name = f"out.{suffix}"
    words = (files / "pets.csv", "--text", "body", "--id", "name", "-o", name)
    assert not invoke("predict", files / "lda.bayou", *words).stdout
    invoke("explain", files / "lda.bayou", *words[:-1], f"why.{suffix}")
    assert {path.name for path in tmp_path.iterdir()} == {name, f"why.{suffix}"}
    if suffix == "jsonl":
        assert len(rows_of((tmp_path / name).read_text())) == 120
        return
    if suffix == "parquet":
        parquet = pytest.importorskip("pyarrow.parquet")
        rows = parquet.read_table(tmp_path / name).to_pylist()
    else:
        with (tmp_path / name).open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter="\t" if suffix == "tsv" else ","))
    assert len(rows) == 120
    assert list(rows[0]) == ["id", "topic", "share", "unknown", "known_words", "topic_0", "topic_1"]
    assert rows[1]["id"] == "d1"


def test_explanations_add_up_to_the_shares(invoke, files):
    line = json.dumps({"id": "x", "text": "Wolf wolf pear zebra"})
    (row,) = rows_of(invoke("explain", files / "lda.bayou", "-", input=line).stdout)
    assert (row["id"], row["unknown"]) == ("x", ["zebra"])
    (told,) = rows_of(invoke("predict", files / "lda.bayou", "-", input=line).stdout)
    for topic in row["topics"]:
        whole = topic["prior"] + sum(term["part"] for term in topic["terms"])
        assert whole == pytest.approx(topic["share"], abs=1e-4)
        assert topic["share"] == pytest.approx(told["topics"][topic["topic"]])
    first = row["topics"][0]
    assert (first["terms"][0]["term"], first["terms"][0]["count"]) == ("wolf", 2)


def test_topics_of_any_model(invoke, files, tmp_path):
    lines = invoke("topics", files / "lda.bayou", "-n", "3").stdout.splitlines()
    assert [len(line.split()) for line in lines] == [3, 5, 5]
    rows = rows_of(invoke("topics", files / "online-lda.bayou", "--json").stdout)
    assert sum(row["share"] for row in rows) == pytest.approx(1, abs=1e-5)
    assert len(rows[0]["terms"]) == 10
    bayou.load(files / "lda.bayou").estimator_.save(tmp_path / "plain.bayou")
    assert invoke("topics", "plain.bayou").stdout == invoke("topics", files / "lda.bayou").stdout
    done = invoke("predict", "plain.bayou", files / "pets.jsonl", code=3)
    assert "takes counts, not texts" in done.stderr


def test_evaluate(invoke, files):
    (found,) = rows_of(
        invoke("evaluate", files / "lda.bayou", files / "pets.jsonl", "--json").stdout
    )
    model = bayou.load(files / "lda.bayou")
    assert found["perplexity"] == pytest.approx(model.perplexity(texts()))
    assert found["documents"] == 120
    assert "perplexity" in invoke("evaluate", files / "lda.bayou", files / "pets.jsonl").stdout
    nothing = invoke("evaluate", files / "lda.bayou", "-", input='{"text": "zebra"}\n')
    assert "not defined" in nothing.stdout


def test_inspect_models_and_checkpoints(invoke, files):
    done = invoke("inspect", files / "lda.bayou")
    assert "estimator.parameters.n_topics" in done.stdout
    assert "the digest is correct" in done.stdout
    (found,) = rows_of(invoke("inspect", files / "lda.bayou", "--json").stdout)
    assert (found["kind"], found["estimator"]["estimator"]) == ("text-model", "LDA")


def test_models_are_listed_with_their_papers(invoke):
    out = invoke("models").stdout
    for name in ("lda", "online-lda", "Blei, Ng, Jordan", "Hoffman, Blei, Bach"):
        assert name in out
    assert max(map(len, out.splitlines())) <= 80
    assert "--set n_topics=50" in invoke("models", "lda").stdout
    for row in rows_of(invoke("models", "--json").stdout):
        assert row["line"]
        assert row["paper"]
        if row["name"] in ("lda", "online-lda"):
            assert row["parameters"]["n_topics"] == 50
    assert "did you mean 'lda'" in invoke("models", "lad", code=2).stderr
    kinds = {getattr(bayou, name) for name in MODELS}
    assert {find(name) for name in classes()} == {k for k in kinds if issubclass(k, Topics)}
    assert all(name_of(find(name)) == name for name in classes())


def test_doctor(invoke, monkeypatch, tmp_path):
    done = invoke("doctor")
    assert "a trial fit" in done.stdout
    assert "BAD" not in done.stdout
    assert {"frames", "languages", "report", "redis", "sql"} <= set(done.stdout.split())
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert "NUMBA_CACHE_DIR" in invoke("doctor", "--json", code=1).stdout


def test_there_are_no_other_verbs():
    assert {command.name for command in app.registered_commands} == set(VERBS)


@pytest.mark.parametrize("verb", VERBS)
def test_lines_of_help_are_not_broken_on_eighty_columns(verb):
    command = next(command for command in app.registered_commands if command.name == verb)
    _, *lines = inspect.cleandoc(command.callback.__doc__).splitlines()
    assert [line for line in lines if len(line) > 78] == []


@pytest.mark.parametrize("verb", VERBS)
def test_help_fits_eighty_columns(invoke, verb):
    done = invoke(verb, "--help")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "…" not in done.stdout  # nothing was cut off
    assert f"bayou {verb}" in done.stdout
