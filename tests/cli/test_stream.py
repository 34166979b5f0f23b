"""``bayou stream``: from the command line, with real models."""

import errno
import json
import os
import random
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.samples import BEAST, FRUIT, KEEP_ALL

import bayou

SPACE = ["rocket", "moon", "mars", "orbit", "comet", "star"]
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")


def lines(n, seed=0, space=True):
    draw = random.Random(seed)
    for i in range(n):
        kind = ("beast", "fruit", "space")[i % (3 if space else 2)]
        words = {"beast": BEAST, "fruit": FRUIT, "space": SPACE}[kind]
        text = " ".join(draw.choices(words, k=8))
        yield {"id": f"s{i}", "text": text, "label": kind, "size": float(i % 3)}


def written(path, rows):
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Models of a stream that know beasts and fruit: of topics, classes, label lists, numbers."""
    from typer.testing import CliRunner

    from bayou.cli import app

    folder = tmp_path_factory.mktemp("models")
    first = written(folder / "first.jsonl", lines(80, 9, space=False))
    lists = [row | {"label": [row["label"], "any"]} for row in lines(80, 9, space=False)]
    several = written(folder / "several.jsonl", lists)
    for name, kind, file, flags in (
        ("topics", "online-lda", first, []),
        ("classes", "online-med-lda", first, ["--label", "label"]),
        ("lists", "online-med-lda", several, ["--label", "label"]),
        ("numbers", "online-med-lda", first, ["--target", "size"]),
    ):
        words = ["fit", file, "-m", kind, "-k", "4", "-o", folder / f"{name}.bayou", *flags]
        done = CliRunner().invoke(app, [str(word) for word in [*words, *KEEP_ALL, "-q"]])
        assert done.exit_code == 0, done.stderr
    return folder


def rows(path):
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def test_topics_of_a_stream_with_words_that_are_new(invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(3000))
    done = invoke("stream", models / "topics.bayou", "docs.jsonl", "-o", "out.jsonl", "--state", "s",
                  "-o", "sqlite:///out.db#said", "--metrics", "m.prom", "--block", "512")  # fmt: skip
    out = rows("out.jsonl")
    assert [row["n"] for row in out] == list(range(1, 3001))
    assert set(out[0]) == {"n", "id", "topic", "share", "unknown", "known_words", "topics"}
    assert len(out[0]["topics"]) == 3
    assert out[2]["unknown"] == 1.0  # about space, before it was known
    assert out[-1]["unknown"] == 0.0
    with sqlite3.connect("out.db") as db:
        found = db.execute("SELECT n, id, topic, row FROM said ORDER BY n").fetchall()
    assert [json.loads(row[3]) for row in found] == out
    assert found[7][:3] == (8, "s7", out[7]["topic"])
    model = bayou.load("s/model.bayou")
    assert set(model.vocabulary_) == {*FRUIT, *BEAST, *SPACE}
    assert model.vocabulary_report().n_added == 6
    assert "3,000 documents" in done.stderr
    assert "bayou_stream_vocabulary_terms 18\n" in Path("m.prom").read_text()
    newest = max(Path("s").glob("checkpoint-*"))
    assert bayou.load(newest).vocabulary_ == model.vocabulary_  # a checkpoint is a model


def test_it_learns_what_update_would(invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(600))
    invoke("stream", models / "classes.bayou", "docs.jsonl", "--label", "label", "--state", "s",
           "--closed", "--block", "64")  # fmt: skip
    invoke("update", models / "classes.bayou", "docs.jsonl", "--label", "label", "-o", "u.bayou")
    assert Path("s/model.bayou").read_bytes() == Path("u.bayou").read_bytes()


def test_classes_that_are_new(invoke, models, tmp_path):
    sample = list(lines(900))
    for row in sample[::4]:
        del row["label"]  # not known
    sample[5]["label"] = ["beast", "fruit"]
    written(tmp_path / "docs.jsonl", sample)
    invoke("stream", models / "classes.bayou", "docs.jsonl", "--label", "label", "--state", "s",
           "-o", "out.jsonl", "--block", "100", "--min-docs", "2", "--top", "0")  # fmt: skip
    out = rows("out.jsonl")
    assert len(out) == 899
    assert set(bayou.load("s/model.bayou").classes_) == {"beast", "fruit", "space"}
    truth = {row["id"]: row.get("label") for row in sample}
    last = [row for row in out[-200:] if truth[row["id"]] is not None]
    assert np_mean(row["prediction"] == truth[row["id"]] for row in last) > 0.9
    dead = rows("s/dead-letters.jsonl")
    assert len(dead) == 1
    assert "2 labels" in dead[0]["reason"]


def test_columns_are_those_of_fit(invoke, tmp_path):
    """Text, labels, what separates them and ids are looked for where `bayou fit` had them."""
    tags = {"beast": "beast|any", "fruit": "any"}
    sample = [
        {"key": row["id"], "body": row["text"], "kind": tags[row["label"]], "n": row["size"]}
        for row in lines(80, space=False)
    ]
    written(tmp_path / "docs.jsonl", sample)
    asked = ("--text", "body", "--label", "kind", "--label-separator", "|", "--id", "key")
    invoke(
        "fit", "docs.jsonl", "-m", "online-med-lda", "-k", "2", *KEEP_ALL, *asked, "-o", "m.bayou"
    )
    for state, flags in (("a", ()), ("b", asked)):
        invoke("stream", "m.bayou", "docs.jsonl", "--state", state, *flags, "-o", f"{state}.jsonl")
    assert Path("a.jsonl").read_bytes() == Path("b.jsonl").read_bytes()
    assert Path("a/model.bayou").read_bytes() == Path("b/model.bayou").read_bytes()
    assert rows("a.jsonl")[3]["id"] == "s3"
    assert set(bayou.load("a/model.bayou").classes_) == {"any", "beast"}
    invoke("stream", "m.bayou", "docs.jsonl", "--state", "c", "--label-separator", "")
    assert set(bayou.load("c/model.bayou").classes_) == {"any", "beast", "beast|any"}
    invoke("fit", "docs.jsonl", "-k", "2", "-m", "online-lda", *KEEP_ALL, "--text", "body", "--id", "key",
           "-o", "t.bayou")  # fmt: skip
    written(tmp_path / "few.jsonl", [{"body": "wolf", "id": "i"}, {"text": "bear", "key": "k"}])
    for state, flags, ids in (("d", (), ["i", "k"]), ("e", ("--id", ""), [1, 2])):
        invoke("stream", "t.bayou", "few.jsonl", "--state", state, "-o", f"{state}.jsonl", *flags)
        assert [row["id"] for row in rows(f"{state}.jsonl")] == ids
        assert [row["known_words"] for row in rows(f"{state}.jsonl")] == [1, 1]


@pytest.mark.parametrize(("name", "what"), [("classes", "label"), ("numbers", "target")])
def test_a_stream_without_answers_is_remarked_on(invoke, models, tmp_path, name, what):
    """It may be meant, and it may be that the column has another name."""
    written(tmp_path / "d.jsonl", [{"text": row["text"]} for row in lines(20)])
    words = ("stream", models / f"{name}.bayou", "d.jsonl", "--state")
    field = "label" if what == "label" else "size"
    remark = f"No field `{field}` in the first 20 documents"
    err = invoke(*words, "s").stderr
    assert remark in err
    assert f"name the field with --{what}" in err
    assert "No field" not in invoke(*words, "t", f"--{what}", "").stderr


def np_mean(values):
    values = list(values)
    return sum(values) / len(values)


def test_label_lists_and_numbers(invoke, models, tmp_path):
    sample = [row | {"label": [row["label"], "any", "new"]} for row in lines(200)]
    written(tmp_path / "docs.jsonl", sample)
    invoke("stream", models / "lists.bayou", "docs.jsonl", "--label", "label", "--state", "s",
           "-o", "out.jsonl", "--block", "64")  # fmt: skip
    assert set(bayou.load("s/model.bayou").classes_) == {"beast", "fruit", "space", "any", "new"}
    assert isinstance(rows("out.jsonl")[0]["prediction"], list)
    sample = [
        *lines(100),
        {"text": "wolf", "size": 1e40},
        {"text": "wolf", "size": "x"},
        {"text": "bear"},
    ]
    written(tmp_path / "docs.jsonl", sample)
    invoke("stream", models / "numbers.bayou", "docs.jsonl", "--target", "size", "--state", "t",
           "-o", "numbers.jsonl", "--block", "64")  # fmt: skip
    out = rows("numbers.jsonl")
    assert len(out) == 101
    assert out[-1]["id"] == 101
    assert {"prediction", "std"} <= set(out[0])
    assert len(rows("t/dead-letters.jsonl")) == 2


@pytest.mark.parametrize("flags", [(), ("--label", "label")])
def test_documents_without_an_id_are_never_left_out(invoke, tmp_path, models, flags):
    """The number of a document stands for its id in the answers, but is none."""
    texts = [{"id": "2"}, {}, {"id": 4}, {}, {"id": ""}, {"id": None}, {"id": None}, {"id": "2"}]
    sample = [{"text": "wolf", "label": "beast"} | row for row in texts]
    written(tmp_path / "docs.jsonl", sample)
    model = models / ("classes.bayou" if flags else "topics.bayou")
    invoke("stream", model, "docs.jsonl", *flags, "--state", "s", "-o", "out.jsonl",
           "--remember", "100")  # fmt: skip
    assert [row["id"] for row in rows("out.jsonl")] == ["2", 2, 4, 4, 5, 6, 7]


def test_mixtures_and_labels_meet_new_words_and_a_basis_says_no(invoke, tmp_path):
    first = list(lines(80, 9, space=False))
    texts, kinds = [row["text"] for row in first], [[row["label"]] for row in first]
    written(tmp_path / "docs.jsonl", lines(120))
    for name, estimator, y in (
        ("em", bayou.StepwiseEM(n_topics=3, random_state=0), ()),
        ("labels", bayou.OnlineLabeledLDA(batch_size=32), (kinds,)),
        ("basis", bayou.SpectralLeader(n_topics=2, random_state=0), ()),
    ):
        bayou.TextModel(estimator=estimator).partial_fit(texts, *y).save(f"{name}.bayou")
    for name in ("em", "labels"):
        invoke("stream", f"{name}.bayou", "docs.jsonl", "-o", f"{name}.jsonl", "--state", name,
               "--block", "32")  # fmt: skip
        out = rows(f"{name}.jsonl")
        assert out[2]["unknown"] == 1.0
        assert out[-1]["unknown"] == 0.0
    said = invoke("stream", "basis.bayou", "docs.jsonl", "--state", "basis", code=1).stderr
    assert "leave out growth (bayou stream --closed) or use StepwiseEM" in said
    invoke("stream", "basis.bayou", "docs.jsonl", "--state", "basis", "--closed")


def test_a_folder_and_standard_input(invoke, models, tmp_path):
    for i, row in enumerate(lines(40)):
        (tmp_path / "in" / row["label"]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / row["label"] / f"{i}.txt").write_text(row["text"])
    invoke("stream", models / "classes.bayou", "in", "--label", "label", "--state", "s",
           "-o", "out.jsonl")  # fmt: skip
    assert sorted(row["id"] for row in rows("out.jsonl"))[0] == "beast/0.txt"


def test_update_goes_on_growing(invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(64, space=False))
    written(tmp_path / "more.jsonl", lines(64))
    invoke("stream", models / "topics.bayou", "docs.jsonl", "--state", "s", "--block", "32")
    assert not set(SPACE) & set(bayou.load("s/model.bayou").vocabulary_)
    invoke("update", "s/model.bayou", "more.jsonl", "-o", "m.bayou", "--checkpoint-dir", "c")
    model = bayou.load("m.bayou")
    assert set(SPACE) <= set(model.vocabulary_)
    assert (model.growth.every, model.account_.n_docs) == (32, 128)


def test_answers_on_standard_output(invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(20))
    done = invoke("stream", models / "topics.bayou", "docs.jsonl", "--state", "s", "-o", "-", "-q")
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()][-1] == "s19"


def test_the_same_command_goes_on_and_another_one_is_refused(invoke, models, tmp_path):
    path = written(tmp_path / "docs.jsonl", lines(100))
    words = ["stream", models / "topics.bayou", "docs.jsonl", "--state", "s", "--block", "32"]
    invoke(*words)
    before = Path("s/model.bayou").read_bytes()
    done = invoke(*words)
    assert "Resuming after 100 documents" in done.stderr
    assert Path("s/model.bayou").read_bytes() == before
    with path.open("a") as file:
        file.write(json.dumps({"text": "wolf bear"}) + "\n")
    invoke(*words)
    assert bayou.load("s/model.bayou").estimator_.n_seen_ == 80 + 101
    done = invoke(*words, "--text", "body", code=1)
    assert "started with other settings (columns)" in done.stderr
    done = invoke("stream", models / "classes.bayou", *words[2:], "--label", "label", code=3)
    assert "was not started with" in done.stderr


def test_a_start_between_a_rotation_and_the_new_file(invoke, models, tmp_path):
    path = written(tmp_path / "docs.jsonl", lines(20))
    words = ["stream", models / "topics.bayou", "docs.jsonl", "--state", "s", "--block", "32"]
    invoke(*words)
    path.rename(tmp_path / "docs.jsonl.1")
    assert "Done" in invoke(*words).stderr
    written(path, lines(5, 20))
    invoke(*words)
    assert bayou.load("s/model.bayou").estimator_.n_seen_ == 80 + 25


def test_mistakes(invoke, models, files, tmp_path):
    written(tmp_path / "docs.jsonl", lines(10))
    topics = models / "topics.bayou"
    assert "no such file" in invoke("stream", topics, "none.jsonl", code=1).stderr
    assert "learns from a whole corpus" in invoke(
        "stream", files / "lda.bayou", "docs.jsonl", "--state", "s", code=2
    ).stderr  # fmt: skip
    assert "cannot be combined with --max-terms" in invoke(
        "stream", topics, "docs.jsonl", "--closed", "--max-terms", "5", code=2
    ).stderr  # fmt: skip
    assert "more than max_terms = 3" in invoke(
        "stream", topics, "docs.jsonl", "--max-terms", "3", "--state", "t", code=1
    ).stderr  # fmt: skip
    assert "does not name a table" in invoke(
        "stream", topics, "docs.jsonl", "-o", "sqlite:///x.db", "--state", "u", code=1
    ).stderr  # fmt: skip
    Path("out.jsonl").write_text("mine\n")
    done = invoke("stream", topics, "docs.jsonl", "-o", "out.jsonl", "--state", "v", code=1)
    assert "already holds rows" in done.stderr


def waited(path, n):
    """Until a file has so many lines."""
    until = time.monotonic() + 120
    while time.monotonic() < until:
        if path.exists() and path.read_bytes().count(b"\n") >= n:
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not grow")


@posix
def test_sigterm_is_clean_and_what_follows_is_as_if_it_had_not_been(
    process, invoke, models, tmp_path
):
    sample = list(lines(500))
    written(tmp_path / "docs.jsonl", sample[:300])
    words = ["stream", models / "topics.bayou", "docs.jsonl", "-o", "out.jsonl", "--block", "128"]
    one = process(*words, "--state", "s", "-f")
    waited(tmp_path / "out.jsonl", 300)  # answers do not wait for a block to be full
    one.send_signal(signal.SIGTERM)
    _, err = one.communicate(timeout=60)
    assert one.returncode == 0, err
    assert "Stopped; the model is" in err
    assert bayou.load("s/model.bayou").estimator_.n_seen_ == 80 + 256
    written(tmp_path / "docs.jsonl", sample)
    invoke(*words, "--state", "s")
    same(invoke, words)
    assert [row["id"] for row in rows("out.jsonl")] == [f"s{i}" for i in range(500)]


def same(invoke, words):
    """An undisturbed run gives the same files."""
    os.rename("out.jsonl", "torn.jsonl")
    invoke(*words, "--state", "t")
    assert Path("out.jsonl").read_bytes() == Path("torn.jsonl").read_bytes()
    assert Path("s/model.bayou").read_bytes() == Path("t/model.bayou").read_bytes()


@posix
def test_a_disk_that_is_full(process, invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(400))
    words = ["stream", models / "topics.bayou", "docs.jsonl", "-o", "out.jsonl", "--block", "32"]
    full = process(*words, "--state", "s", "-q")
    resource.prlimit(full.pid, resource.RLIMIT_FSIZE, (30_000, 30_000))  # while it is starting
    _, err = full.communicate(timeout=120)
    assert full.returncode == 1
    assert "file too large" in err
    assert Path("out.jsonl").stat().st_size == 30_000  # in the middle of a row
    assert not list(Path("s").glob(".*.tmp"))
    invoke(*words, "--state", "s")
    same(invoke, words)


def test_a_stream_of_which_nothing_can_be_used_says_so(invoke, models, tmp_path):
    written(tmp_path / "docs.jsonl", lines(20))
    done = invoke("stream", models / "topics.bayou", "docs.jsonl", "--text", "body", "--state", "s",
                  "-o", "out.jsonl", code=1)  # fmt: skip
    assert "none of the 20 records could be used" in done.stderr
    assert "--text" in done.stderr
    assert "remove s and start again" in done.stderr
    written(tmp_path / "docs.jsonl", lines(120))
    done = invoke(
        "stream", models / "topics.bayou", "docs.jsonl", "--text", "body", "--state", "t", code=1
    )
    assert "the first 100 records are all unusable" in done.stderr
    assert "start again without t" in done.stderr


def test_a_source_with_nothing_in_it_says_so(invoke, models, tmp_path):
    (tmp_path / "docs.jsonl").write_text("")
    (tmp_path / "folder").mkdir()
    how = ("stream", models / "topics.bayou")
    for source in ("docs.jsonl", "folder"):
        done = invoke(*how, source, "--state", f"s-{source}")
        assert f"There were no documents in {source}; nothing was learned" in done.stderr
    written(tmp_path / "docs.jsonl", lines(20))
    assert "nothing was learned" not in invoke(*how, "docs.jsonl", "--state", "s-docs.jsonl").stderr
    assert "no more documents in" in invoke(*how, "docs.jsonl", "--state", "s-docs.jsonl").stderr


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl.gz"])
def test_a_file_of_answers_holds_what_its_name_says(invoke, models, tmp_path, name):
    written(tmp_path / "docs.jsonl", lines(20))
    said = invoke(
        "stream", models / "topics.bayou", "docs.jsonl", "-o", name, "--state", "s", code=2
    )
    assert f"{name} would contain JSON lines" in " ".join(said.stderr.split())


@posix
def test_standard_input_that_is_closed_is_not_waited_for(models, tmp_path):
    for words in (f"stream {models / 'topics.bayou'} - --state {tmp_path / 's'}", "track -"):
        line = f"exec {sys.executable} -m bayou {words} <&-"
        done = subprocess.run(
            line, shell=True, check=False, capture_output=True, text=True, timeout=60
        )
        assert "standard input is closed" in done.stderr
        assert done.returncode == 1


@posix
def test_stopped_while_a_server_is_still_awaited(process, models):
    pytest.importorskip("redis")
    started = process(
        "stream", models / "topics.bayou", "redis://127.0.0.1:1/0#news", "--state", "s"
    )
    assert "is unavailable" in started.stderr.readline()
    started.send_signal(signal.SIGTERM)
    assert "Stopped before anything was read" in started.communicate(timeout=60)[1]
    assert started.returncode == 0


def test_figures_that_cannot_be_kept_or_served(invoke, models, tmp_path, monkeypatch):
    written(tmp_path / "docs.jsonl", lines(20))
    how = ("stream", models / "topics.bayou", "docs.jsonl")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = invoke(*how, "--metrics-port", port, "--state", "s", code=1).stderr
        assert "another --metrics-port" in " ".join(said.split())

    def full(*given):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("bayou.run.gauges.Gauges.write", full)
    done = invoke(*how, "--metrics", "m.prom", "--state", "t")
    assert "m.prom could not be written: no space left on device" in done.stderr
    assert "Done" in done.stderr


@posix
def test_a_block_that_is_not_full_is_told_with_the_words_that_are_unknown(
    process, models, tmp_path
):
    written(tmp_path / "docs.jsonl", lines(60))
    words = ("stream", models / "topics.bayou", "docs.jsonl", "--state", "s", "-f")
    one = process(*words, "-o", "out.jsonl", "--report-seconds", "0.1", "--metrics", "m.prom")
    said = ""
    while "60 wait" not in said:
        said = one.stderr.readline()
    one.send_signal(signal.SIGTERM)
    _, said = one.communicate(timeout=120)
    assert one.returncode == 0
    assert "60 wait for a block of 4,096" in said
    assert "60 documents waited for a block of 4,096: not learned" in said
    shares = [row["unknown"] for row in rows(tmp_path / "out.jsonl")]
    told = [line for line in (tmp_path / "m.prom").read_text().splitlines() if "share " in line]
    assert float(told[-1].split()[-1]) == pytest.approx(sum(shares) / 60, abs=1e-3)
