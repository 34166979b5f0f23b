"""Models that learn from labels and numbers, from the command line, as a user meets them."""

import csv
import json

import pytest
from tests.cli.samples import KEEP_ALL, texts

QUICK = ("-k", "4", "--set", "n_sweeps=5", "--set", "n_kept=2", *KEEP_ALL)
TASKS = {
    "class": ("--label", "class"),
    "labels": ("--label", "tags", "--label-separator", "|"),
    "number": ("--target", "n"),
}


def rows_of(text):
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    """A table of texts with a class, labels and a number; a file of lines with the same."""
    folder = tmp_path_factory.mktemp("supervised")
    with (
        (folder / "animals.csv").open("w") as table,
        (folder / "animals.jsonl").open("w") as lines,
    ):
        table.write("text,class,tags,n\n")
        for i, text in enumerate(texts()):
            tags = ["fruit" if i % 2 else "beast"] + ["wolfish"] * ("wolf" in text)
            n = text.count("wolf")
            table.write(f"{text},{tags[0]},{'|'.join(tags)},{n}\n")
            row = {"id": f"d{i}", "text": text, "label": tags[0], "labels": tags, "n": n}
            lines.write(json.dumps(row) + "\n")
    return folder


def finish(started, code=0):
    out, err = started.communicate(timeout=300)
    assert started.returncode == code, (out, err)
    assert "Traceback" not in err
    return out, err


@pytest.mark.parametrize("task", list(TASKS))
def test_from_a_file_to_answers(process, invoke, animals, tmp_path, task):
    """A classifier is fitted and applied in two processes; each of them imports everything again."""

    def run(*words):
        if task == "class" and words[0] in ("fit", "predict"):
            return finish(process(*words))
        done = invoke(*words)
        return done.stdout, done.stderr

    file, columns = animals / "animals.csv", TASKS[task]
    out, err = run("fit", file, "-m", "med-lda", *columns, *QUICK, "-o", "m.bayou")
    assert out.splitlines()[0].split()[:4] == ["topic", "share", "weights", "terms"]
    assert "Fitted 4 topics in 5 passes" in err

    rows = rows_of(run("predict", "m.bayou", file)[0])
    assert len(rows) == 120
    assert len(rows[0]["topics"]) == 4
    if task == "class":
        assert (
            sum(row["prediction"] == ("beast", "fruit")[i % 2] for i, row in enumerate(rows)) > 108
        )
        assert rows[0]["probability"] == rows[0]["probabilities"][rows[0]["prediction"]]
        assert sum(rows[0]["probabilities"].values()) == pytest.approx(1.0, abs=1e-5)
    elif task == "labels":
        assert {"beast", "fruit", "wolfish"} == set(rows[0]["probabilities"])
        assert sum(len(row["prediction"]) == 2 for row in rows) > 20
    else:
        assert all(row["std"] > 0 for row in rows)

    _adds_up(run("explain", "m.bayou", file)[0], rows, task)
    found = json.loads(run("evaluate", "m.bayou", file, *columns, "--json")[0])
    assert found["perplexity"] > 1
    first = {"class": "accuracy", "labels": "micro-F1", "number": "R2"}[task]
    assert 0.5 < found[first] <= 1.0
    run("report", "m.bayou", file, "--test", file, *columns, "-o", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert ('id="targets"' if task == "number" else 'id="classes"') in page
    assert "did not learn from" in page
    assert ("Calibration of probabilities" in page) == (task != "number")
    assert ("calibration error" in found) == ("reliability" in found) == (task != "number")
    if task != "number":
        rights = sum(row["n"] * row["right"] for row in found["reliability"])
        n = sum(row["n"] for row in found["reliability"])
        assert 0 <= found["calibration error"] <= 1
        assert 0 < rights <= n


def _adds_up(explained, rows, task):
    for one, row in zip(rows_of(explained), rows, strict=True):
        (first, *_) = one["explained"]
        by_term = first["base"] + sum(term["part"] for term in first["terms"])
        by_topic = first["base"] + sum(topic["part"] for topic in first["topics"])
        by_topic += first.get("words", 0.0)  # what words add beside the topics
        assert by_term == pytest.approx(first["score"], abs=1e-4)
        assert by_topic == pytest.approx(first["score"], abs=1e-4)
        if task == "number":
            assert first["score"] == pytest.approx(row["prediction"], abs=1e-4)
        elif task == "class":
            assert first["for"] == row["prediction"]
            assert first["score"] > 0
        else:
            said = {part["for"] for part in one["explained"]}
            assert said == set(row["prediction"])


@pytest.fixture(scope="module")
def models(animals):
    """Fitted once, for the tests that look at single things."""
    from typer.testing import CliRunner

    from bayou.cli import app

    for task, columns in TASKS.items():
        words = ["fit", str(animals / "animals.csv"), "-m", "med-lda", *columns, *QUICK]
        done = CliRunner().invoke(app, [*words, "-o", str(animals / f"{task}.bayou")])
        assert done.exit_code == 0, done.stderr
    return animals


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("-m", "med-lda"), "give one of them"),
        (("-m", "med-lda", "--label", "class", "--target", "n"), "give only one of them"),
        (("-m", "med-lda-regressor", "--label", "class"), "needs --target"),
        (("-m", "med-lda-classifier"), "needs --label"),
        (("-m", "med-lad", "--label", "class"), "did you mean 'med-lda'"),
        (("-m", "med-lda", "--label", "class", "--set", "n_kept=9"), "n_kept"),
        (("-m", "med-lda", "--label", "class", "--set", "n_sweep=9"), "n_sweeps"),
    ],
)
def test_what_is_learned_must_be_named(invoke, animals, words, message):
    quick = ("--set", "n_sweeps=5")
    assert message in invoke("fit", animals / "animals.csv", *words, *quick, code=2).stderr


@pytest.mark.parametrize(
    ("lines", "columns", "message"),
    [
        ("text,y\na wolf,\na bear,\n", ("--label", "y"), "no document of the corpus has a label"),
        ("text,y\na wolf,x\na bear,x\n", ("--label", "y"), "one class only"),
        ("text,y\na wolf,x\n", ("--label", "z"), "no field 'z'"),
        ("text,y\na wolf,1\na bear,\n", ("--target", "y"), "is not a number"),
    ],
)
def test_labels_that_teach_nothing(invoke, tmp_path, lines, columns, message):
    (tmp_path / "t.csv").write_text(lines)
    done = invoke("fit", "t.csv", "-m", "med-lda", *columns, *KEEP_ALL, code=1)
    assert message in done.stderr


def test_full_names_labels_as_lists_and_documents_without_any(invoke, animals, tmp_path):
    rows = rows_of((animals / "animals.jsonl").read_text())
    for row in rows[:5]:
        row["labels"] = []
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("-m", "med-lda-classifier", "--label", "labels", *QUICK, "-o", "m.bayou")
    invoke("fit", "some.jsonl", *words)
    (found,) = rows_of(
        invoke("evaluate", "m.bayou", "some.jsonl", "--label", "labels", "--json").stdout
    )
    assert (found["documents"], found["documents with labels"]) == (120, 115)
    assert [row["name"] for row in found["classes"]] == ["beast", "fruit", "wolfish"]


def test_a_checkpoint_goes_on_to_the_same_model(invoke, animals, tmp_path):
    words = ("fit", animals / "animals.csv", "-m", "med-lda", *TASKS["class"], *QUICK)
    invoke(*words, "-o", "whole.bayou")
    kept = (*words, "-o", "m.bayou", "--checkpoint-dir", "c")
    invoke(*kept, "--max-time", "1e-9")
    assert (tmp_path / "c" / "m.bayou.checkpoint").exists()
    invoke(*kept, "--resume")
    assert (tmp_path / "m.bayou").read_bytes() == (tmp_path / "whole.bayou").read_bytes()


def test_tables_of_answers(invoke, models, tmp_path):
    words = (models / "animals.csv", "-o", "p.csv")
    heads = {
        "class": ["id", "prediction", "probability", "p_beast", "p_fruit", "topic"],
        "labels": ["id", "prediction", "p_beast", "p_fruit", "p_wolfish", "topic"],
        "number": ["id", "prediction", "std", "topic"],
    }
    for task, head in heads.items():
        invoke("predict", models / f"{task}.bayou", *words)
        with (tmp_path / "p.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        assert rows[0][: len(head)] == head
        assert len(rows) == 121
    invoke("predict", models / "labels.bayou", *words, "--top", "2")
    assert (tmp_path / "p.csv").read_text().startswith("id,prediction,class_1,p_1,class_2,p_2,")
    invoke("explain", models / "class.bayou", *words, "--top", "2")
    with (tmp_path / "p.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["id"] == "1"]
    assert {row["for"] for row in rows} == {"beast", "fruit"}
    for name in ("beast", "fruit"):
        mine = [row for row in rows if row["for"] == name]
        assert sum(float(r["part"]) for r in mine) == pytest.approx(
            float(mine[0]["score"]), abs=1e-4
        )


def test_unknown_words_and_no_words(invoke, models):
    lines = '{"text": "zebra wolf"}\n{"text": ""}\n'
    for task in TASKS:
        rows = rows_of(invoke("predict", models / f"{task}.bayou", "-", input=lines).stdout)
        assert [row["unknown"] for row in rows] == [0.5, 0.0]
        told = rows_of(invoke("explain", models / f"{task}.bayou", "-", input=lines).stdout)
        assert told[0]["unknown"] == ["zebra"]
        assert told[1]["explained"][0]["terms"] == []
        assert told[1]["explained"][0]["base"] == told[1]["explained"][0]["score"]


def test_evaluate_says_what_is_missing_and_what_is_strange(invoke, models):
    lines = '{"text": "wolf bear", "kind": "fish"}\n{"text": "pear plum", "kind": "fruit"}\n'
    words = ("evaluate", models / "class.bayou", "-")
    assert "name it with --label" in invoke(*words, input=lines).stderr
    done = invoke(*words, "--label", "kind", input=lines)
    assert "labels that the model does not know" in done.stderr
    assert "accuracy                         0.5000" in done.stdout
    assert "give --label" in invoke(*words, "--target", "n", input=lines, code=2).stderr
    number = ("evaluate", models / "number.bayou", "-")
    assert "give --target" in invoke(*number, "--label", "kind", input=lines, code=2).stderr
    assert "name it with --target" in invoke(*number, input=lines).stderr


def test_topics_and_inspect_name_the_classes(invoke, models):
    rows = rows_of(invoke("topics", models / "labels.bayou", "--json").stdout)
    assert set(rows[0]["weights"]) == {"beast", "fruit", "wolfish"}
    values = list(rows[0]["weights"].values())
    assert values == sorted(values, reverse=True)
    assert "beast +" in invoke("topics", models / "class.bayou").stdout
    out = invoke("inspect", models / "labels.bayou").stdout
    assert "beast, fruit, wolfish" in out
    assert "multi-label" in out


def test_models_lists_the_family(invoke):
    out = invoke("models").stdout
    assert "med-lda-classifier with --label" in out
    assert "Gibbs max-margin topic models" in out
    both = invoke("models", "med-lda").stdout
    assert "--set margin=none" in both
    assert "--set epsilon=0.001" in both


def test_the_corpus_that_is_always_there(invoke):
    words = ("fit", "builtin:docstrings/test", "-m", "med-lda", "--dry-run")
    for column in ("--label=package", "--label=parameters", "--target=n_parameters"):
        assert "would fit MedLDA" in invoke(*words, column).stdout
    assert "builtin:docstrings/test" in invoke("fit", "builtin:docstring", code=2).stderr
    assert "no field 'label'" in invoke(*words, "--label", "label", code=1).stderr
