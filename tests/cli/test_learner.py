"""Models that learn labels and numbers from a stream, from the command line."""

import json

import numpy as np
import pytest
from tests.cli.samples import KEEP_ALL, texts
from typer.testing import CliRunner

import bayou
from bayou.cli import app
from bayou.cli.documents import Batch
from bayou.cli.streams.learner import Learner
from bayou.metrics import progressive

TASKS = {
    "class": ("--label", "kind"),
    "labels": ("--label", "tags"),
    "number": ("--target", "n"),
}
N = 300


def rows(n=N, seed=1):
    for i, text in enumerate(texts(n, seed)):
        tags = ["fruit" if i % 2 else "beast"] + ["wolfish"] * ("wolf" in text)
        yield {"text": text, "kind": tags[0], "tags": tags, "n": text.count("wolf")}


def lines(some):
    return "".join(json.dumps(row) + "\n" for row in some)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A model a task, and more of the stream: whole, and cut within a mini-batch."""
    folder = tmp_path_factory.mktemp("stream")
    every = list(rows())
    (folder / "first.jsonl").write_text(lines(rows(100, 0)))
    (folder / "more.jsonl").write_text(lines(every))
    (folder / "texts.jsonl").write_text(lines({"text": row["text"]} for row in every))
    (folder / "head.jsonl").write_text(lines(every[:37]))
    (folder / "tail.jsonl").write_text(lines(every[37:]))
    for task, columns in TASKS.items():
        words = ["fit", str(folder / "first.jsonl"), "-m", "online-med-lda", *columns, "-k", "4"]
        done = CliRunner().invoke(app, [*words, *KEEP_ALL, "-o", str(folder / f"{task}.bayou")])
        assert done.exit_code == 0, done.stderr
    return folder


@pytest.mark.parametrize("task", list(TASKS))
def test_a_stream_may_be_cut_anywhere(invoke, models, tmp_path, task):
    columns, model = TASKS[task], models / f"{task}.bayou"
    done = invoke("update", model, models / "head.jsonl", *columns, "-o", "cut.bayou")
    assert "Learned from 37 documents" in done.stderr
    done = invoke("update", "cut.bayou", models / "tail.jsonl", *columns)
    assert f"Learned from {N - 37} documents" in done.stderr
    invoke("update", model, models / "more.jsonl", *columns, "-o", "whole.bayou")
    assert (tmp_path / "cut.bayou").read_bytes() == (tmp_path / "whole.bayou").read_bytes()

    mine, some = bayou.load(model), list(rows())
    y = [row[columns[1]] for row in some]
    mine.partial_fit([row["text"] for row in some], y)
    mine.save("python.bayou")
    assert (tmp_path / "python.bayou").read_bytes() == (tmp_path / "whole.bayou").read_bytes()


def test_standard_input_is_a_stream(invoke, models, tmp_path):
    model = models / "class.bayou"
    invoke("update", model, "-", *TASKS["class"], "-o", "pipe.bayou", input=lines(rows()))
    invoke("update", model, models / "more.jsonl", *TASKS["class"], "-o", "file.bayou")
    assert (tmp_path / "pipe.bayou").read_bytes() == (tmp_path / "file.bayou").read_bytes()


@pytest.mark.parametrize("task", ["class", "labels"])
def test_labels_come_late(invoke, models, task):
    some = list(rows(200, 2))
    for row in some[::4]:
        row["kind"], row["tags"] = "cart", [*row["tags"], "cart", "axle"]
        row["text"] = "apple wolf " * 8
    late = lines(some)
    invoke("update", models / f"{task}.bayou", "-", *TASKS[task], "-o", "l.bayou", input=late)
    learned = bayou.load("l.bayou")
    assert "cart" in learned.classes_.tolist()
    assert len(learned.classes_) == {"class": 3, "labels": 5}[task]
    assert "cart" in learned.predict_labels(["apple wolf " * 8])[0]


@pytest.mark.parametrize("task", list(TASKS))
def test_documents_without_an_answer_teach_words(invoke, models, task):
    bare = lines({"text": row["text"]} for row in rows(90))
    flag = TASKS[task][0]
    model, out = models / f"{task}.bayou", ("-o", "bare.bayou")
    if task == "number":
        with pytest.warns(bayou.data.errors.MissingTargetsWarning):
            done = invoke("update", model, "-", flag, "", *out, input=bare)
    else:
        done = invoke("update", model, "-", flag, "", *out, input=bare)
    assert "Learned from 90 documents" in done.stderr
    before, after = (bayou.load(path).estimator_.state_ for path in (model, "bare.bayou"))
    assert after.n_seen > before.n_seen
    assert np.array_equal(before.mean, after.mean)


def test_a_checkpoint_goes_on_within_a_mini_batch(invoke, models, tmp_path):
    columns, model = TASKS["class"], models / "class.bayou"
    (tmp_path / "kept").mkdir()
    kept = "kept/out.bayou.checkpoint"
    invoke("update", model, models / "head.jsonl", *columns, "-o", kept)
    resume = ("--checkpoint-dir", "kept", "--resume", "-o", "out.bayou")
    done = invoke("update", model, models / "more.jsonl", *columns, *resume)
    assert "Resuming after 37 documents" in done.stderr
    assert f"Learned from {N - 37} documents" in done.stderr
    invoke("update", model, models / "more.jsonl", *columns, "-o", "whole.bayou")
    assert (tmp_path / "out.bayou").read_bytes() == (tmp_path / "whole.bayou").read_bytes()


@pytest.mark.parametrize("batch_size", [1, 100, 1100])
def test_no_document_is_lost_when_learning_is_stopped(models, batch_size):
    learner = Learner(bayou.load(models / "class.bayou"))
    learner.estimator.set_params(batch_size=batch_size, callbacks=[lambda info: True])
    size = learner.block_size
    assert size % batch_size == 0
    some = list(rows(size + 37))
    for part in (some[:37], some[37:]):
        before, kinds = learner.n_seen, [[row["kind"]] for row in part]
        for at in range(0, len(part), size):
            few, theirs = part[at : at + size], kinds[at : at + size]
            names = list(range(len(few)))
            learner.learn_batch(Batch(names, [row["text"] for row in few], theirs))
        assert learner.n_seen == before + len(part)


@pytest.mark.parametrize("task", list(TASKS))
def test_progressive_is_the_one_of_the_library(invoke, models, tmp_path, task):
    columns, model = TASKS[task], models / f"{task}.bayou"
    before = model.read_bytes()
    words = ("evaluate", model, models / "more.jsonl", *columns, "--progressive")
    found = json.loads(invoke(*words, "--json", "-o", "after.bayou").stdout)
    assert model.read_bytes() == before
    invoke("update", model, models / "more.jsonl", *columns, "-o", "updated.bayou")
    assert (tmp_path / "after.bayou").read_bytes() == (tmp_path / "updated.bayou").read_bytes()

    mine, some = bayou.load(model), list(rows())
    y = [row[columns[1]] for row in some]
    if task == "labels":
        y = [[float(name in tags) for name in mine.classes_] for tags in y]
    cuts = [(i, i + 128) for i in range(0, N, 128)]
    truth = progressive(
        mine, [([row["text"] for row in some[a:b]], np.array(y[a:b])) for a, b in cuts]
    )
    name = {"class": "accuracy", "labels": "all labels right", "number": "R2"}[task]
    assert found["documents with answers"] == N
    assert found[name] == pytest.approx(truth.mean())
    assert [row["seen"] for row in found["stream"]] == [0, 128, 256]
    assert [row[name] for row in found["stream"]] == pytest.approx(truth.accuracy.tolist())
    if task == "labels":
        assert [row["micro-F1"] for row in found["stream"]] == pytest.approx(truth.f1.tolist())

    shown = invoke(*words).stdout
    assert name in shown
    assert truth.curve() in shown


def test_progressive_meets_labels_that_are_new(invoke, models):
    some = list(rows(200, 2))
    for row in some[1::4]:
        row["tags"] = ["cart", "axle"]
    some[7]["tags"] = []
    words = ("evaluate", models / "labels.bayou", "-", *TASKS["labels"], "--progressive", "--json")
    found = json.loads(invoke(*words, input=lines(some)).stdout)
    assert found["documents"] == 200
    assert found["documents with answers"] == 199
    assert found["stream"][0]["all labels right"] <= 0.75


def test_progressive_of_a_model_without_answers(invoke, files):
    done = invoke(
        "evaluate", files / "online-lda.bayou", files / "pets.jsonl", "--progressive", code=2
    )
    assert "online-med-lda" in done.stderr


@pytest.mark.parametrize(
    ("verb", "task", "words", "code", "message"),
    [
        ("update", "class", "texts", 1, "no field `kind` to learn from; name it with --label"),
        ("update", "class", ("--label", "kinds"), 1, "did you mean 'kind'"),
        ("update", "class", ("--label", "tags"), 1, "2 labels"),
        ("update", "class", ("--target", "n"), 2, "give --label"),
        ("update", "number", ("--label", "kind"), 2, "give --target"),
        ("update", "number", "texts", 1, "no field 'n'"),
        ("evaluate", "class", ("--label", "kind", "-o", "m.bayou"), 2, "--progressive"),
        ("evaluate", "class", "texts", 1, "name it with --label"),
        ("evaluate", "class", ("--progressive", "--label", "tags"), 1, "2 labels"),
    ],
)
def test_mistakes(invoke, models, verb, task, words, code, message):
    out = ("-o", "x.bayou") if verb == "update" else ()
    file = models / "more.jsonl"
    if words == "texts":  # a file without what the model remembers
        words, file = () if out else ("--progressive",), models / "texts.jsonl"
    done = invoke(verb, models / f"{task}.bayou", file, *words, *out, code=code)
    assert message in " ".join(done.stderr.replace("│", " ").split())
