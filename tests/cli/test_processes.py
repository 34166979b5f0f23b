"""What only a process of its own can show: pipes, signals, full disks, exit codes."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.samples import KEEP_ALL, texts

import bayou
from bayou.data import container

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and devices")


def test_pipes(process, files, tmp_path):
    lines = "".join(json.dumps({"text": text}) + "\n" for text in texts(40))
    fit = process("fit", "-", "-k", "2", "-o", "m.bayou", *KEEP_ALL, stdin=subprocess.PIPE)
    out, err = fit.communicate(lines, timeout=600)
    assert fit.returncode == 0, err
    assert "\x1b" not in out + err  # no colours off a terminal
    source = process("predict", "m.bayou", "-", stdin=subprocess.PIPE)
    out, err = source.communicate(lines, timeout=600)
    assert (source.returncode, err) == (0, "")
    assert len([json.loads(line) for line in out.splitlines()]) == 40


@posix
def test_a_reader_that_has_seen_enough_is_no_error(process, files, tmp_path):
    many = tmp_path / "many.jsonl"
    many.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts(5000)))
    predict = process("predict", files / "lda.bayou", many)
    predict.stdout.readline()
    predict.stdout.close()
    assert predict.stderr.read() == ""
    assert predict.wait(60) == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_standard_output_on_a_full_disk(process, files):
    with open("/dev/full", "w") as full:
        predict = process("predict", files / "lda.bayou", files / "pets.jsonl", stdout=full)
        _, err = predict.communicate(timeout=600)
    assert predict.returncode == 1
    assert err == "bayou: no space left on device; free some space or write elsewhere\n"


@posix
def test_ctrl_c_keeps_a_checkpoint_and_resume_ends_as_if_nothing_had_happened(
    process, files, tmp_path
):
    settings = ("inference=gibbs", "n_sweeps=3000", "tol=0")
    words = ["fit", files / "pets.jsonl", "-k", "2", *KEEP_ALL, "-o", "m.bayou"]
    words += [word for pair in settings for word in ("--set", pair)]
    fit = process(*words, "-v")
    for line in fit.stderr:
        if line.startswith("pass 5/"):
            break
    fit.send_signal(signal.SIGINT)
    out, err = fit.communicate(timeout=600)
    assert fit.returncode == 130, err
    assert not out
    assert "Continue with:" in err
    assert "--resume" in err
    assert not (tmp_path / "m.bayou").exists()
    kept = tmp_path / "m.bayou.checkpoint"
    assert container.peek(kept, verify=True)["kind"] == "checkpoint"
    again = process(*words, "--resume")
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0, err
    assert not kept.exists()
    whole = bayou.TextModel(
        estimator=bayou.LDA(
            n_topics=2, inference="gibbs", n_sweeps=3000, tol=0.0, random_state=0, n_threads=1
        ),
        vectorizer=bayou.Vectorizer(stop_words="english"),
    ).fit(texts())
    whole.columns_ = bayou.load(tmp_path / "m.bayou").columns_  # of the command line alone
    whole.save(tmp_path / "whole.bayou")
    assert (tmp_path / "whole.bayou").read_bytes() == (tmp_path / "m.bayou").read_bytes()


@posix
def test_ctrl_c_while_a_stream_is_awaited_saves_what_was_learned(process, files, tmp_path):
    (tmp_path / "s.bayou").write_bytes((files / "online-lda.bayou").read_bytes())
    before = bayou.load(tmp_path / "s.bayou").estimator_.n_seen_
    update = process("update", "s.bayou", "-", "-v", stdin=subprocess.PIPE)
    for text in texts(4096 + 10):
        update.stdin.write(json.dumps({"text": text}) + "\n")
    update.stdin.flush()
    assert "4,096 documents" in update.stderr.readline()
    update.send_signal(signal.SIGINT)
    assert update.wait(60) == 130
    err = update.stderr.read()
    assert "bayou update s.bayou - -v --skip 4096" in err
    update.stdin.close()
    assert bayou.load(tmp_path / "s.bayou").estimator_.n_seen_ == before + 4096


@posix
def test_ctrl_c_keeps_an_update_in_its_folder_and_leaves_the_model_alone(process, files, tmp_path):
    model = tmp_path / "s.bayou"
    model.write_bytes((files / "online-lda.bayou").read_bytes())
    words = ("update", "s.bayou", "-", "-v", "--checkpoint-dir", "kept")
    update = process(*words, stdin=subprocess.PIPE)
    lines = [json.dumps({"text": text}) + "\n" for text in texts(4096 + 10)]
    update.stdin.write("".join(lines))
    update.stdin.flush()
    assert "4,096 documents" in update.stderr.readline()
    update.send_signal(signal.SIGINT)
    assert update.wait(60) == 130
    assert "bayou update s.bayou - -v --checkpoint-dir kept --resume" in update.stderr.read()
    update.stdin.close()
    assert model.read_bytes() == (files / "online-lda.bayou").read_bytes()
    kept = bayou.load(tmp_path / "kept" / "s.bayou.checkpoint")
    again = process(*words, "--resume", stdin=subprocess.PIPE)
    _, err = again.communicate("".join(lines), timeout=600)
    assert again.returncode == 0, err
    assert "after 4,096 documents" in err
    assert bayou.load(model).estimator_.n_seen_ == kept.estimator_.n_seen_ + 10


@posix
def test_colours_only_where_they_are_welcome(files, tmp_path):
    """On a terminal errors are red, unless NO_COLOR is set."""
    pty = pytest.importorskip("pty")

    def seen(**environ):
        master, slave = pty.openpty()
        done = subprocess.run(
            [sys.executable, "-m", "bayou", "topics", "none.bayou"],
            stderr=slave,
            stdout=slave,
            stdin=subprocess.DEVNULL,
            cwd=tmp_path,
            env={**os.environ, "TERM": "xterm", **environ},
            check=False,
        )
        os.close(slave)
        text = os.read(master, 4096).decode()
        os.close(master)
        assert done.returncode == 3
        return text

    environ = {name: os.environ[name] for name in ("NO_COLOR",) if name in os.environ}
    if not environ:
        assert "\x1b[31m" in seen()
    assert "\x1b[3" not in seen(NO_COLOR="1")
