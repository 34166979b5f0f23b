"""Models of labels on a stream, from the command line."""

import json

import pytest
from tests.cli.samples import KEEP_ALL
from tests.cli.test_learner import lines, rows

import bayou

MODELS = {
    "online-labeled-lda": ("--set", "batch_size=16"),
    "online-dependency-lda": ("-k", "3", "--set", "batch_size=16", "--set", "n_chains=2"),
}


@pytest.mark.parametrize("model", list(MODELS))
def test_a_stream_brings_labels_and_may_be_cut_anywhere(invoke, tmp_path, model):
    more = list(rows(90))
    for row in more[50:]:
        row["tags"] = [*row["tags"], "late"]
    for name, some in {
        "first": rows(60, 0),
        "more": more,
        "head": more[:37],
        "tail": more[37:],
    }.items():
        (tmp_path / f"{name}.jsonl").write_text(lines(some))
    invoke(
        "fit", "first.jsonl", "-m", model, "--label", "tags", *MODELS[model], *KEEP_ALL, "--seed", "1",
        "-o", "m.bayou",
    )  # fmt: skip
    invoke("update", "m.bayou", "head.jsonl", "--label", "tags", "-o", "cut.bayou")
    done = invoke("update", "cut.bayou", "tail.jsonl", "--label", "tags")
    assert "Learned from 53 documents" in done.stderr
    learned = bayou.load(tmp_path / "cut.bayou")
    assert learned.classes_.tolist() == ["beast", "fruit", "wolfish", "late"]
    said = [
        json.loads(line)
        for line in invoke("predict", "cut.bayou", "tail.jsonl").stdout.splitlines()
    ]
    assert len(said) == 53
    assert all(row["prediction"] for row in said)
    found = json.loads(
        invoke(
            "evaluate", "m.bayou", "more.jsonl", "--label", "tags", "--progressive", "--json"
        ).stdout
    )
    assert found["documents"] == 90
    assert found["micro-F1"] > 0.5


def test_labels_are_listed_and_changed(invoke, tmp_path):
    (tmp_path / "first.jsonl").write_text(lines(rows(60, 0)))
    fit = ("fit", "first.jsonl", "--label", "tags", *KEEP_ALL, "--seed", "1")
    invoke(*fit, "-m", "online-labeled-lda", "-o", "m.bayou")
    said = [json.loads(line) for line in invoke("labels", "m.bayou", "--json").stdout.splitlines()]
    assert [(row["number"], row["label"]) for row in said] == [
        (0, "beast"),
        (1, "fruit"),
        (2, "wolfish"),
    ]
    done = invoke("labels", "m.bayou", "--add", "new", "--remove", "fruit", "-o", "n.bayou")
    assert [line.split()[:3:2] for line in done.stdout.splitlines()] == [
        ["0", "beast"], ["2", "wolfish"], ["3", "new"],
    ]  # fmt: skip
    invoke("labels", "n.bayou", "--merge", "beast", "--merge", "wolfish", "--into", "animal")
    done = invoke("labels", "n.bayou", "--split", "animal", "--into", "cat", "--into", "wolf")
    assert [line.split()[2] for line in done.stdout.splitlines()] == ["new", "cat", "wolf"]
    assert "classes_" in dir(bayou.load(tmp_path / "m.bayou"))
    for words in (
        ("--merge", "beast"),
        ("--into", "x"),
        ("--merge", "beast", "--split", "fruit", "--into", "x"),
        ("--merge", "beast", "--merge", "fruit", "--into", "x", "--into", "y"),
    ):
        assert "--" in invoke("labels", "m.bayou", *words, code=2).stderr
    assert "not among" in invoke("labels", "m.bayou", "--remove", "nobody", code=1).stderr
    invoke(*fit, "-m", "labeled-lda", "-o", "whole.bayou")
    assert "cannot change" in invoke("labels", "whole.bayou", "--add", "x", code=2).stderr
    listed = invoke("labels", "whole.bayou", "-n", "2").stdout.splitlines()
    assert listed[0].split()[2] == "beast"
    assert len(listed[0].split()) == 5  # and two terms
    single = ("fit", "first.jsonl", "--label", "tags", *KEEP_ALL, "-m", "med-lda", "-k", "2")
    invoke(*single, "--set", "n_sweeps=2", "--set", "n_kept=1", "-o", "margin.bayou")
    assert "nan" not in invoke("labels", "margin.bayou").stdout
    row = json.loads(invoke("labels", "margin.bayou", "--json").stdout.splitlines()[0])
    assert row == {"number": 0, "label": "beast"}
    invoke("fit", "first.jsonl", "-k", "2", *KEEP_ALL, "-o", "lda.bayou")
    assert "no labels" in invoke("labels", "lda.bayou", code=2).stderr
