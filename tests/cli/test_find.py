"""`bayou find`."""

import csv
import json
from pathlib import Path

import pytest
from tests.cli.samples import texts

import bayou


def test_prints_the_best_documents_with_their_passages(invoke, files):
    done = invoke("find", files / "lda.bayou", files / "pets.jsonl", "--topic", "0", "--top", "3")
    lines = done.stdout.splitlines()
    expected = bayou.load(files / "lda.bayou").find(list(texts()), topic=0, top=3)
    assert [line.split() for line in lines[::2]] == [
        [f"{f.score:.3f}", f"d{f.position}"] for f in expected
    ]
    assert all("[" in line for line in lines[1::2])


def test_rows_in_a_file(invoke, files):
    words = (
        "--text",
        "body",
        "--id",
        "name",
        "--like",
        "wolf fox",
        "--top",
        "2",
        "-o",
        "found.csv",
    )
    assert not invoke("find", files / "lda.bayou", files / "pets.csv", *words).stdout
    with Path("found.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [list(row) for row in rows] == [["id", "score", "passage"]] * 2
    assert all(int(row["id"][1:]) % 2 == 0 and "[" not in row["passage"] for row in rows)
    out = invoke("find", files / "lda.bayou", files / "pets.jsonl", *words[4:-1], "-").stdout
    assert [json.loads(line)["id"] for line in out.splitlines()] == [row["id"] for row in rows]


@pytest.mark.parametrize(
    "asked", [(), ("--topic", "0", "--like", "wolf"), ("--topic", "9"), ("--label", "fruit")]
)
def test_a_question_that_cannot_be_answered(invoke, files, asked):
    done = invoke("find", files / "lda.bayou", files / "pets.jsonl", *asked, code=2)
    assert "give one of" in done.stderr or "no topic 9" in done.stderr or "no labels" in done.stderr


def test_escapes_of_a_document_do_not_reach_the_terminal(invoke, files):
    line = json.dumps({"id": "\x1b[31m", "text": "wolf \x1b[2J bear"})
    done = invoke("find", files / "lda.bayou", "-", "--topic", "0", input=line + "\n")
    assert "\x1b" not in done.stdout
