"""Records with lone surrogates, NUL, escapes and NaN never stop a command and never reach a terminal."""

import csv
import json
import sqlite3
from pathlib import Path

import pytest
from tests.cli.samples import KEEP_ALL

ODD = [
    "x\ud800y",
    "nul\x00",
    "\x1b[31mred",
    "c1\x9b31m",
    "=1+1",
    "a\rb",
    "-1.5",
    float("nan"),
    ["list"],
]


def write_odd(path, label=None):
    rows = [{"id": id_, "text": "cat dog apple pear"} for id_ in ODD]
    rows += [{"id": f"d{i}", "text": "cat dog" if i % 2 else "apple pear"} for i in range(20)]
    for i, row in enumerate(rows):
        row["label"] = label if i % 2 and label else "plain"
    Path(path).write_text("\n".join(map(json.dumps, rows)))
    return rows


def test_a_stream_takes_every_id(invoke, files, tmp_path):
    rows = write_odd("odd.jsonl")
    invoke("stream", files / "online-lda.bayou", "odd.jsonl", "-o", "out.jsonl", "-o", "sqlite:///o.db#said",
           "--state", "s", "--block", "4")  # fmt: skip
    out = [json.loads(line) for line in Path("out.jsonl").read_bytes().decode().splitlines()]
    assert len(out) == len(rows)
    assert [row["id"] for row in out[:7]] == ODD[:7]
    assert out[7]["id"] == 8  # NaN is not an id, so the document is numbered
    assert "NaN" not in Path("out.jsonl").read_text()
    with sqlite3.connect("o.db") as db:
        found = db.execute("SELECT id, row FROM said ORDER BY n").fetchall()
    assert [json.loads(row) for _, row in found] == out
    assert found[0][0] == "x\\ud800y"
    assert found[1][0] == "nul\\x00"


@pytest.mark.parametrize("form", ["jsonl", "csv", "tsv", "parquet"])
def test_predictions_in_every_format(invoke, files, tmp_path, form):
    if form == "parquet":
        pytest.importorskip("pyarrow")
    rows = write_odd("odd.jsonl", label="lab\ud800\x1b[1mel")
    invoke(
        "fit",
        "odd.jsonl",
        "-m",
        "med-lda",
        "--label",
        "label",
        "-k",
        "2",
        "-o",
        "m.bayou",
        *KEEP_ALL,
    )
    good = [row for row in rows if isinstance(row["id"], str)]
    Path("odd.jsonl").write_text("\n".join(map(json.dumps, good)))
    invoke("predict", "m.bayou", "odd.jsonl", "-o", f"out.{form}")
    if form == "jsonl":
        assert len(Path("out.jsonl").read_bytes().decode().splitlines()) == len(good)
    elif form != "parquet":
        with open(f"out.{form}", newline="", encoding="utf-8") as file:
            found = list(csv.DictReader(file, delimiter="\t" if form == "tsv" else ","))
        assert [row["id"] for row in found[:7]] == [
            "x\\ud800y", "nul\x00", "\x1b[31mred", "c1\x9b31m", "'=1+1", "a\rb", "-1.5",
        ]  # fmt: skip
        invoke("predict", "m.bayou", f"out.{form}", "--text", "id", "-o", "again.jsonl")


@pytest.mark.parametrize("verb", ["topics", "inspect", "evaluate"])
def test_nothing_that_a_terminal_obeys(invoke, tmp_path, verb):
    write_odd("odd.jsonl", label="lab\x1b[1mel\u202e\x9b")
    invoke(
        "fit",
        "odd.jsonl",
        "-m",
        "med-lda",
        "--label",
        "label",
        "-k",
        "2",
        "-o",
        "m.bayou",
        *KEEP_ALL,
    )
    given = ["odd.jsonl", "--label", "label"] if verb == "evaluate" else []
    done = invoke(verb, "m.bayou", *given)
    assert "lab\\x1b[1mel" in done.stdout
    assert not set(done.stdout + done.stderr) & set("\x1b\x9b\u202e")
    done = invoke(verb, "m.bayou", *given, "--json")
    assert not set(done.stdout) & set("\x1b\x9b\u202e")


def test_errors_and_paths(invoke, tmp_path):
    done = invoke("fit", "no\x1b[31m.csv", code=1)
    assert "\x1b" not in done.stderr
    assert "no\\x1b[31m.csv" in done.stderr
    (tmp_path / "t.csv").write_text("te\x1bxt,b\x9b\na,b\n")
    done = invoke("fit", "t.csv", code=1)
    assert not set(done.stderr) & set("\x1b\x9b")


def test_commands_print_through_one_function():
    folder = Path(__file__).parents[2] / "src/bayou/cli"
    for path in folder.rglob("*.py"):
        if path.name not in ("terminal.py", "shell.py"):
            assert "typer.echo" not in path.read_text(), path.name


def test_deep_json_is_a_dead_letter(invoke, files, tmp_path):
    deep = '{"id": ' + "[" * 100_000 + "]" * 100_000 + ', "text": "cat"}'
    Path("deep.jsonl").write_text('{"id": "a", "text": "cat dog"}\n' + deep + "\n")
    invoke("stream", files / "online-lda.bayou", "deep.jsonl", "--state", "s", "-o", "o.jsonl")
    assert len(Path("o.jsonl").read_text().splitlines()) == 1
    dead = [path.read_text() for path in Path().rglob("*.jsonl") if "dead" in path.name]
    assert len(dead) == 1
    assert "not valid JSON" in dead[0]
    invoke("predict", files / "lda.bayou", "deep.jsonl", "-o", "p.jsonl", code=1)
