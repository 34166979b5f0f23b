"""Files that are there already: a model may replace a model, and nothing else."""

import json

import pytest
from tests.cli.samples import KEEP_ALL

HOW = ("--slice", "20", "-k", "2", "--min-df", "2", "--stop-words", "none")


def one_file(tmp_path, text):
    path = tmp_path / "precious.jsonl"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "{pets}", "-k", "2", *KEEP_ALL, "-o", "{it}"),
        ("fit", "{pets}", "-k", "2", *KEEP_ALL, "-o", "new.bayou", "--report", "{it}"),
        ("track", "{pets}", *HOW, "-o", "{it}"),
        ("track", "{pets}", *HOW, "--report", "{it}"),
        ("track", "{pets}", *HOW, "--alerts", "{it}"),
        ("update", "{online}", "{pets}", "-o", "{it}"),
        ("report", "{lda}", "{pets}", "-o", "{it}"),
        ("evaluate", "{online}", "{pets}", "--progressive", "-o", "{it}"),
    ],
    ids=lambda words: " ".join(w for w in words if w.startswith(("-", "{it")) or w.isalpha()),
)
def test_a_file_of_another_kind_is_never_written_over(invoke, files, tmp_path, words):
    kept = '{"text": "years of work"}\n'
    names = {"pets": files / "pets.jsonl", "it": one_file(tmp_path, kept)}
    names |= {"lda": files / "lda.bayou", "online": files / "online-lda.bayou"}
    said = invoke(*(word.format(**names) for word in words), code=2).stderr
    assert "already exists and is" in " ".join(said.replace("│", "").split())
    assert names["it"].read_text() == kept


def test_a_model_a_report_and_what_is_empty_may_be_replaced(invoke, files, tmp_path):
    (tmp_path / "m.bayou").touch()
    (tmp_path / "m.html").write_text("\n<!doctype html>old")
    how = ("fit", files / "pets.jsonl", "-k", "2", *KEEP_ALL, "-o", "m.bayou")
    invoke(*how, "--report", "m.html")
    first = (tmp_path / "m.bayou").read_bytes()
    invoke(*how, "--seed", "3")
    assert (tmp_path / "m.bayou").read_bytes() != first
    assert "old" not in (tmp_path / "m.html").read_text()[:30]


def test_a_tracker_that_goes_on_adds_to_its_alerts(invoke, tmp_path):
    rows = [{"text": ("apple pear plum", "wolf bear lynx")[d % 2]} for d in range(40)]
    storms, trade = ([{"text": text}] * 20 for text in ("storm flood rain", "sugar cocoa tea"))
    for name, some in (("a.jsonl", rows + storms), ("b.jsonl", trade * 2)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in some))
    alerts = tmp_path / "alerts.jsonl"
    invoke("track", "a.jsonl", *HOW, "-o", "t.bayou", "--alerts", alerts)
    first = alerts.read_text()
    assert first
    alerts.write_text(first.rstrip("\n"))  # as a crash may leave it
    invoke("track", "b.jsonl", "--from", "t.bayou", "-o", "t.bayou", "--alerts", alerts)
    assert alerts.read_text().startswith(first)
    lines = alerts.read_text().splitlines()
    assert len(lines) > len(first.splitlines())
    assert all(json.loads(line)["kind"] for line in lines)
    invoke("track", "a.jsonl", *HOW, "--alerts", alerts)  # one that begins, begins a file
    assert alerts.read_text() == first
