"""Every mistake gets one sentence that says what to do, and its own exit code."""

import errno
import os

import pytest
from typer.testing import CliRunner

from bayou import BayesPAClassifier, TextModel
from bayou.cli import app
from bayou.data import container


def complaint(done):
    """The one line that an error is."""
    lines = [line for line in done.stderr.splitlines() if line.startswith("bayou: ")]
    assert len(lines) == 1, done.stderr
    assert not done.stdout
    return lines[0]


def test_bad_json_on_line_seven_of_ten(invoke, small):
    text = complaint(invoke("fit", small(line7='{"text": "a'), code=1))
    assert "small.jsonl, line 7: not valid JSON" in text


@pytest.mark.parametrize(
    ("column", "message"),
    [("txet", "did you mean 'text'?"), ("review", "name the right one with --text")],
)
def test_a_missing_column(invoke, small, column, message):
    text = complaint(invoke("fit", small(), "--text", column, code=1))
    assert f"line 1: no field {column!r} (there are: text)" in text
    assert message in text
    assert "--label" in complaint(invoke("fit", small(), "--label", "class", "-q", code=1))


def test_files_that_are_something_else(invoke, tmp_path):
    (tmp_path / "book.xlsx").write_bytes(b"PK\x03\x04 and so on")
    (tmp_path / "notes.txt").write_text("Some notes\n")
    for name in ("book.xlsx", "notes.txt"):
        assert "save it as CSV" in complaint(invoke("fit", name, code=1))
    (tmp_path / "list.json").write_text('[{"text": "a"}]\n')
    assert "write one object per line" in complaint(invoke("fit", "list.json", code=1))
    (tmp_path / "text.csv").write_text("Review,Name\na b,c\n")
    text = complaint(invoke("fit", "text.csv", "--text", "review", code=1))
    assert text.endswith("did you mean 'Review'? Name it with --text")


def test_files_without_documents(invoke, tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    (tmp_path / "blank.jsonl").write_text("\n\n")
    (tmp_path / "header.csv").write_text("text\n")
    assert "the file is empty" in complaint(invoke("fit", "empty.jsonl", code=1))
    assert "no documents" in complaint(invoke("fit", "blank.jsonl", code=1))
    assert "no documents" in complaint(invoke("fit", "header.csv", code=1))
    (tmp_path / "wordless.jsonl").write_text('{"text": "of the"}\n')
    assert "no term is left" in complaint(invoke("fit", "wordless.jsonl", code=1))


def test_no_documents_to_predict(invoke, files, tmp_path):
    (tmp_path / "blank.jsonl").write_text("\n")
    words = ("predict", files / "lda.bayou", "blank.jsonl", "-o", "out.csv")
    assert "no documents" in complaint(invoke(*words, code=1))
    assert not (tmp_path / "out.csv").exists()


def test_a_line_of_a_gigabyte_is_refused_without_reading_it(invoke, tmp_path):
    with (tmp_path / "long.jsonl").open("wb") as file:
        file.truncate(2**30)  # a hole: it takes no space
    text = complaint(invoke("fit", "long.jsonl", "--max-line-bytes", "1000000", code=1))
    assert "longer than 1000000 bytes; raise --max-line-bytes" in text


def test_paths_that_cannot_be_read_or_written(invoke, small, tmp_path, monkeypatch):
    assert "nowhere.csv: no such file" in complaint(invoke("fit", "nowhere.csv", code=1))
    (tmp_path / "folder").mkdir()
    assert "no text files" in complaint(invoke("fit", "folder", code=1))
    assert "does not exist" in complaint(invoke("fit", small(), "-o", "no/m.bayou", code=2))
    assert "is a folder" in complaint(invoke("fit", small(), "-o", "folder", code=2))
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert "is not writable" in complaint(invoke("fit", small(), "-o", "m.bayou", code=2))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
def test_a_file_that_may_not_be_read(invoke, small):
    path = small()
    path.chmod(0)
    assert "check its permissions" in complaint(invoke("fit", path, code=1))


def test_a_file_that_may_not_be_read_even_for_root(invoke, small, monkeypatch):
    def refuse(self, *args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(self))

    path = small()
    monkeypatch.setattr("pathlib.Path.open", refuse)
    text = complaint(invoke("fit", path, code=1))
    assert "small.jsonl: permission denied; check its permissions" in text


def test_a_full_disk_leaves_nothing_behind(invoke, small, files, tmp_path, monkeypatch):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = small()
    monkeypatch.setattr(container.os, "fsync", full)
    words = ("fit", path, "-k", "2", "--min-df", "1", "--max-df", "1.0", "-q", "-o", "m.bayou")
    assert "no space left on device; free some space" in complaint(invoke(*words, code=1))
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("bayou.cli.output.Writer.write", full)
    words = ("predict", files / "lda.bayou", path, "-o", "out.csv")
    assert "free some space" in complaint(invoke(*words, code=1))
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_that_are_not_text(invoke, tmp_path):
    (tmp_path / "latin.csv").write_bytes("text\nna\xefve cat\nna\xefve dog\n".encode("latin-1"))
    text = complaint(invoke("fit", "latin.csv", code=1))
    assert "line 2: not valid UTF-8" in text
    assert "--encoding-errors replace" in text
    words = ("fit", "latin.csv", "-k", "1", "--encoding-errors", "replace", "--max-df", "1.0")
    invoke(*words)


def test_counts_are_not_texts(invoke, tmp_path):
    (tmp_path / "c.svm").write_text("0 1:2\n")
    assert "holds counts, not text" in complaint(invoke("fit", "c.svm", code=1))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--set", "n_topcs=3"), "did you mean 'n_topics'?"),
        (("--set", "n_topics"), "expected name=value"),
        (("--set", "n_topics=many"), "must be a whole number; got 'many'"),
        (("--set", "n_sweeps=many"), "must be a whole number or none"),
        (("--set", "alpha=x,y"), "must be a number, or one for each topic"),
        (("--set", "learn_alpha=perhaps"), "must be true or false"),
        (("--set", "n_topics=0"), "at least 1; got 0"),
        (
            ("--set", "n_topics=4", "-k", "3"),
            "n_topics is given twice, by --topics and by --set n_topics=4",
        ),
        (("--set", "beta=1", "--set", "beta=2"), "by --set beta=1 and by --set beta=2"),
        (("--set", "inference=magic"), "must be one of 'fast', 'gibbs'"),
        (("--set", "random_state=3"), "--seed"),
        (("--model", "ldaa"), "did you mean 'lda'?"),
        (("--model", "ldaa"), "`bayou models` lists all"),
        (("--model", "bert"), "no model 'bert'; `bayou models` lists all"),
        (("--min-df", "few"), "'few' is not a number"),
        (("--format", "xml"), "not one of jsonl, csv"),
        (("--colour",), "No such option"),
        (("--topics", "0"), "--topics"),
        (("--seed", "x"), "--seed"),
    ],
)
def test_wrong_options(invoke, small, words, message):
    text = complaint(invoke("fit", small(), *words, code=2))
    assert message in text
    assert "bayou fit --help" in text


def test_words_that_are_data_errors(invoke, small):
    text = complaint(invoke("fit", small(), "--stop-words", "klingon", code=1))
    assert "--stop-words must be" in text
    assert "min_df" in complaint(invoke("fit", small(), "--min-df", "2.5", code=1))


def test_unknown_verbs_and_results(invoke, files, small):
    text = complaint(invoke("predcit", code=2))
    assert "predict" in text
    words = ("predict", files / "lda.bayou", small(), "-o", "out.xlsx")
    assert ".jsonl, .csv, .tsv or .parquet" in complaint(invoke(*words, code=2))


@pytest.mark.parametrize("verb", ["predict", "explain", "evaluate", "update", "report"])
def test_files_that_are_no_models(invoke, small, tmp_path, verb):
    path = small()
    assert "no such file" in complaint(invoke(verb, "none.bayou", path, code=3))
    assert "not a bayou model file" in complaint(invoke(verb, path, path, code=3))
    container.save(tmp_path / "c.bayou", {}, {"kind": "checkpoint"})
    assert "holds 'checkpoint', not a model" in complaint(invoke(verb, "c.bayou", path, code=3))


def test_a_damaged_model(invoke, files, tmp_path):
    raw = bytearray((files / "lda.bayou").read_bytes())
    raw[-1] ^= 1
    (tmp_path / "bad.bayou").write_bytes(raw)
    assert "digest" in complaint(invoke("inspect", "bad.bayou", code=3))
    assert "digest" in complaint(invoke("topics", "bad.bayou", code=3))


def test_an_error_of_ours_is_a_sentence_too(invoke, files, monkeypatch):
    def broken(*args):
        raise RuntimeError("a wire\ncame off")

    monkeypatch.setattr("bayou.cli.listing.topics_of", broken)
    text = complaint(invoke("topics", files / "lda.bayou", code=1))
    assert "RuntimeError: a wire came off" in text
    assert "bayou -v" in text


def test_tracebacks_only_when_asked_for(files, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for words in (["-v", "topics", "none.bayou"], ["predict", "-v", "none.bayou", "x"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 3
        assert "Traceback" in done.stderr


def test_a_model_without_topics_is_one_for_python(invoke, small, tmp_path):
    inner = TextModel(estimator=BayesPAClassifier())
    inner.fit(["red apple", "blue sea"] * 3, ["fruit", "water"] * 3).save(tmp_path / "model")
    for words in (["topics", "model"], ["predict", "model", small()]):
        text = complaint(invoke(*words, code=3))
        assert "holds a BayesPAClassifier, which has no topics" in text


@pytest.mark.parametrize(
    ("verb", "flag"),
    [
        (("predict", "MODEL", "docs.csv"), "-o"),
        (("explain", "MODEL", "docs.csv"), "-o"),
        (("report", "MODEL", "docs.csv"), "-o"),
        (("fit", "docs.csv", "-k", "2"), "-o"),
        (("fit", "docs.csv", "-k", "2"), "--report"),
        (("update", "MODEL", "docs.csv"), "-o"),
        (("track", "docs.csv", "--slice", "50"), "--alerts"),
        (("track", "docs.csv", "--slice", "50"), "-o"),
        (("stream", "MODEL", "docs.csv"), "--metrics"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else x,
)
def test_what_is_read_is_never_written_over(invoke, files, tmp_path, verb, flag):
    text = "text,id\nwolf bear,1\npear plum,2\n"
    (tmp_path / "docs.csv").write_text(text)
    (tmp_path / "link.csv").symlink_to("docs.csv")
    words = [files / "online-lda.bayou" if word == "MODEL" else word for word in verb]
    for name in ("docs.csv", "./docs.csv", "link.csv"):
        said = complaint(invoke(*words, flag, name, code=2))
        assert "would overwrite docs.csv, which this command needs; name another file" in said
    assert (tmp_path / "docs.csv").read_text() == text


@pytest.mark.parametrize(
    "flags",
    [
        ("-o", "q.jsonl", "-o", "q.jsonl"),
        ("-o", "q.jsonl", "--alerts", "q.jsonl"),
        ("--alerts", "q.jsonl", "--dead-letters", "q.jsonl"),
        ("--metrics", "q.jsonl", "--dead-letters", "q.jsonl"),
        ("-o", "s/dead-letters.jsonl"),
        ("-o", "sqlite:///q.db#a", "--alerts", "sqlite:///q.db#a"),
        ("-o", "MODEL"),
    ],
    ids=" ".join,
)
def test_results_of_a_stream_are_kept_apart(invoke, files, small, flags):
    model = files / "online-lda.bayou"
    words = [model if word == "MODEL" else word for word in flags]
    said = complaint(invoke("stream", model, small(), "--state", "s", *words, code=2))
    assert "name another file" in said


def test_two_results_of_one_command_are_two_files(invoke, small):
    words = ("fit", small(), "-k", "2", "-o", "one", "--report", "one")
    assert "name another file" in complaint(invoke(*words, code=2))


def test_what_came_is_told_of_numbers_too(invoke, small):
    for words in (("-k", "0"), ("-k0",), ("--topics=0",)):
        assert "got '0'" in complaint(invoke("fit", small(), *words, code=2))
    assert "got 'few'" in complaint(invoke("fit", small(), "-k", "few", code=2))


def test_tables_that_cannot_be_read(invoke, tmp_path):
    for text, message in (
        ('text,label\n"wolf,x\n', "line 2: a quote is opened but never closed; close it"),
        ("text,text\nwolf,x\n", "two columns have the same name, 'text'; rename one of them"),
        ('text,label\n"wolf"s,x\n', "double the quotes inside them"),
    ):
        (tmp_path / "t.csv").write_text(text)
        assert message in complaint(invoke("fit", "t.csv", code=1))


def test_the_flags_of_the_command_line_are_spoken_of(invoke, small, tmp_path):
    said = complaint(invoke("fit", small(), "--stop-words", "klingon", code=1))
    assert (
        "--stop-words must be a language such as english or de, a file, or none, got 'klingon'"
        in said
    )
    (tmp_path / "one.csv").write_text("text,label\n" + "wolf bear,x\npear plum,x\n" * 10)
    words = ("fit", "one.csv", "-m", "med-lda", "--label", "label", "-k", "2")
    said = complaint(invoke(*words, "--min-df", "1", "--max-df", "1.0", code=1))
    assert "the label column has one class only, 'x'" in said


def test_a_stream_has_a_folder_and_says_why_records_are_dead(invoke, files, tmp_path):
    model = files / "online-lda.bayou"
    (tmp_path / "file").write_text("")
    said = complaint(invoke("stream", model, "-", "--state", "file", code=2))
    assert "file is a file; name a folder" in said
    (tmp_path / "latin.csv").write_bytes("text\ncafé\n".encode("latin-1"))
    done = invoke("stream", model, "latin.csv", "--state", "s", code=1)
    assert "none of the 1 records could be used (latin.csv, line 2: not valid UTF-8" in done.stderr
