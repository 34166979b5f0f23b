"""`bayou fit` on documents that come one after the other: words from the first, the rest as it comes."""

import json
import os
import signal
import subprocess

import pytest
import typer
from tests.cli.samples import KEEP_ALL, texts
from tests.cli.test_learner import TASKS, lines, rows

import bayou
from bayou.cli import documents, training
from bayou.cli.messages import Messages
from bayou.cli.streams.learner import Learner
from bayou.data.table import Columns

HOW = ("-m", "online-med-lda", "-k", "4", *KEEP_ALL)


@pytest.mark.parametrize("task", list(TASKS))
def test_a_fit_as_documents_come_is_partial_fits_in_their_order(invoke, tmp_path, task):
    every = list(rows(200))
    (tmp_path / "f.jsonl").write_text(lines(every))
    done = invoke("fit", "f.jsonl", *HOW, *TASKS[task], "--first", "50", "-o", "m.bayou")
    assert "Learned from 200 documents, words from the first 50" in done.stderr

    found = bayou.load(tmp_path / "m.bayou")
    assert Learner(found).n_seen == 200
    kind = bayou.OnlineMedLDARegressor if task == "number" else bayou.OnlineMedLDAClassifier
    words = bayou.Vectorizer(min_df=1, max_df=1.0).fit([row["text"] for row in every[:50]])
    mine = kind(n_topics=4, random_state=0)
    for lo, hi in ((0, 50), (50, 130), (130, 200)):
        some = every[lo:hi]
        counts = words.transform([row["text"] for row in some])
        corpus = bayou.Corpus.from_matrix(counts, vocabulary=words.vocabulary_)
        mine.partial_fit(corpus, [row[TASKS[task][1]] for row in some])
    assert (found.estimator_.state_.raw == mine.state_.raw).all()
    assert (found.estimator_.weights_ == mine.weights_).all()


def test_standard_input_is_learned_as_it_comes(invoke, tmp_path):
    every = lines(rows(200))
    done = invoke("fit", "-", *HOW, *TASKS["class"], "-o", "pipe.bayou", input=every)
    assert "words from the first 200" in done.stderr
    (tmp_path / "f.jsonl").write_text(every)
    invoke("fit", "f.jsonl", *HOW, *TASKS["class"], "--first", "9999", "-o", "file.bayou")
    assert (tmp_path / "pipe.bayou").read_bytes() == (tmp_path / "file.bayou").read_bytes()


def test_topics_without_labels(invoke, tmp_path):
    some = "".join(json.dumps({"text": t}) + "\n" for t in texts(60))
    invoke("fit", "-", "-m", "online-lda", "-k", "2", *KEEP_ALL, "-o", "m.bayou", input=some)
    assert bayou.load(tmp_path / "m.bayou").estimator_.n_seen_ == 60


@pytest.mark.parametrize("model", ["stepwise-em", "spectral-leader", "spectral-lda"])
def test_mixtures_predict_topics_and_need_no_labels(invoke, tmp_path, model):
    some = "".join(json.dumps({"text": t}) + "\n" for t in texts(60))
    how = ("-m", model, "-k", "2", *KEEP_ALL, "--first", "40")
    done = invoke("fit", "-", *how, "-o", "m.bayou", input=some)
    assert "Learned from 60 documents, words from the first 40" in done.stderr
    assert bayou.load(tmp_path / "m.bayou").estimator_.n_seen_ == 60


def test_labels_that_come_later_become_labels(invoke, tmp_path):
    some = list(rows(120))
    for row in some[80:]:
        row["kind"] = "cart"
    given = lines(some)
    invoke("fit", "-", *HOW, "--label", "kind", "--first", "40", "-o", "m.bayou", input=given)
    assert list(bayou.load(tmp_path / "m.bayou").classes_) == ["beast", "cart", "fruit"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["-m", "lda", "--first", "10"], "learns from a whole corpus at once"),
        (["-m", "online-lda", "--first", "10", "--report", "r.html"], "documents are not kept"),
        (["-m", "online-lda", "--first", "10", "--checkpoint-dir", "c"], "has no checkpoints"),
        (["-m", "online-lda", "--first", "0"], "--first"),
    ],
)
def test_what_cannot_be_meant(invoke, tmp_path, words, says):
    (tmp_path / "f.jsonl").write_text(lines(rows(20)))
    done = invoke("fit", "f.jsonl", *words, code=2)
    assert says in " ".join(done.stderr.replace("│", " ").split())


def test_first_documents_without_words_or_labels(invoke, tmp_path):
    bare = "".join(json.dumps({"text": t}) + "\n" for t in texts(20))
    done = invoke("fit", "-", *HOW, "--label", "kind", input=bare, code=1)
    assert "label" in done.stderr
    done = invoke(
        "fit", "-", "-m", "online-lda", "--min-df", "1000", "--max-df", "1.0", input=bare, code=1
    )
    assert "min_df" in done.stderr or "no term is left" in done.stderr


def test_dry_run_reads_the_first_documents_and_writes_nothing(invoke, tmp_path):
    (tmp_path / "f.jsonl").write_text(lines(rows(60)))
    done = invoke("fit", "f.jsonl", "-m", "online-lda", "--first", "30", "--dry-run")
    assert "from 30 documents on" in done.stdout
    assert not (tmp_path / "model.bayou").exists()


def test_time_is_over(invoke, tmp_path):
    (tmp_path / "f.jsonl").write_text(lines(rows(3000)))
    done = invoke(
        "fit", "f.jsonl", *HOW, *TASKS["class"], "--first", "10", "--max-time", "0.000001"
    )
    assert "Learned from 1,034 documents" in done.stderr


def test_options_that_read_the_same_documents():
    columns = Columns("body", "kind", "", "", "")
    source = documents.Source("f.csv", columns, None, "replace", label_separator=";")
    assert documents.flags(source) == [
        "--text", "body", "--label", "kind", "--label-separator", ";", "--encoding-errors", "replace",
    ]  # fmt: skip
    assert documents.flags(documents.Source("f", Columns("text", "", "", "", ""))) == []


@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
def test_ctrl_c_says_how_to_go_on_with_labels(process, tmp_path):
    """After the first documents a pipe that stays open is awaited; Ctrl-C saves what was learned."""
    words = ["fit", "-", *HOW, "--label", "kind", "--first", "50", "-o", "m.bayou", "-v"]
    learner = process(*words, stdin=subprocess.PIPE)
    learner.stdin.write(lines(rows(1200)))
    learner.stdin.flush()
    assert "1,024 documents" in learner.stderr.readline()
    learner.send_signal(signal.SIGINT)
    assert learner.wait(60) == 130
    said = learner.stderr.read()
    learner.stdin.close()
    assert "Learned from 1,074 documents" in said
    assert "bayou update m.bayou - --label kind" in said
    assert Learner(bayou.load(tmp_path / "m.bayou")).n_seen == 1074


def test_a_fit_that_was_stopped_names_the_labels_in_its_advice(capsys, tmp_path):
    class Model:
        def save(self, path):
            path.write_text("saved")

    out = tmp_path / "m.bayou"
    reading = documents.flags(documents.Source("f.csv", Columns("body", "kind", "", "", "")))
    job = training.Job((), out, None, Messages(False, False))
    with pytest.raises(typer.Exit):
        training._stop(job, Model(), 7, reading)
    assert out.read_text() == "saved"
    said = capsys.readouterr().err
    assert f"bayou update {out} FILE --text body --label kind" in said.replace("\n", " ")
