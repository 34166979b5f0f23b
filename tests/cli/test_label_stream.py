"""Models of labels on a stream, from the command line."""

import json

import pytest
from tests.cli.samples import KEEP_ALL
from tests.cli.test_stream import lines, rows

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
