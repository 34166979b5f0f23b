"""``bayou fit`` and ``bayou update``: from files to models."""

import json
import sys
import types

import numpy as np
import pytest
from tests.cli.samples import KEEP_ALL, texts

import bayou


def test_a_csv_becomes_a_model_and_topics(invoke, files, tmp_path):
    done = invoke(
        "fit", files / "pets.csv", "--text", "body", "-k", "2", "-o", "pets.bayou", *KEEP_ALL
    )
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["topic", "share", "terms"]
    assert len(lines) == 3
    assert {"wolf", "bear"} <= set(" ".join(lines[1:]).split())
    assert "120 documents, 12 terms" in done.stderr
    assert "Saved to pets.bayou" in done.stderr
    model = bayou.load(tmp_path / "pets.bayou")
    assert isinstance(model, bayou.TextModel)
    assert model.estimator.n_topics == 2


def test_quiet_verbose_and_dry_run(invoke, files, tmp_path):
    words = ("fit", files / "pets.jsonl", "-k", "2", "-o", "m.bayou")
    assert not invoke(*words, "-q").stderr
    assert "pass 1/" in invoke(*words, "-v").stderr
    (tmp_path / "m.bayou").unlink()
    done = invoke(*words, "--dry-run")
    assert "would fit LDA" in done.stdout
    assert not list(tmp_path.iterdir())


def test_threads_do_not_change_a_byte_of_the_file_and_seeds_do(invoke, files, tmp_path):
    words = ("fit", files / "pets.jsonl", "-k", "3", "-q")
    invoke(*words, "--threads", "1", "-o", "a.bayou")
    invoke(*words, "--threads", "2", "-o", "b.bayou")
    invoke(*words, "--seed", "1", "-o", "c.bayou")
    a, b, c = ((tmp_path / f"{name}.bayou").read_bytes() for name in "abc")
    assert a == b != c


def test_settings_reach_the_model(invoke, files, tmp_path):
    settings = (
        "alpha=0.5,0.25",
        "inference=gibbs",
        "n-sweeps=20",
        "burn_in=none",
        "learn_beta=yes",
    )
    words = [word for pair in settings for word in ("--set", pair)]
    invoke("fit", files / "pets.jsonl", "-k", "2", *words, "-o", "m.bayou", "--ngrams", "2")
    model = bayou.load(tmp_path / "m.bayou")
    assert model.estimator.alpha == [0.5, 0.25]
    assert (model.estimator.inference, model.estimator.n_sweeps) == ("gibbs", 20)
    assert model.estimator.burn_in is None
    assert model.estimator.learn_beta is True
    assert model.vectorizer.ngrams == (1, 2)


def test_columns_that_only_a_report_would_use_are_named(invoke, files):
    words = ("fit", files / "pets.csv", "--text", "body", "-k", "2", "-o", "m.bayou")
    assert "learns from the text alone" in invoke(*words, "--label", "class").stderr


def test_tsv_parquet_folder_and_a_name_that_tells_nothing(invoke, tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    some = list(texts(20))
    (tmp_path / "a.tsv").write_text("text\n" + "\n".join(some) + "\n")
    (tmp_path / "a.data").write_text("".join(json.dumps({"text": t}) + "\n" for t in some))
    (tmp_path / "folder").mkdir()
    for i, text in enumerate(some):
        (tmp_path / "folder" / f"{i:02d}.txt").write_text(text)
    parquet.write_table(pyarrow.table({"text": some}), tmp_path / "a.parquet")
    seen = set()
    for name in ("a.tsv", "a.data", "a.parquet", "folder"):
        invoke("fit", name, "-k", "2", "-q", "-o", "m.bayou", *KEEP_ALL)
        seen.add((tmp_path / "m.bayou").read_bytes())
    assert len(seen) == 1


def test_a_checkpoint_that_was_asked_for(invoke, files, tmp_path):
    words = ("fit", files / "pets.jsonl", "-k", "2", "--set", "inference=gibbs", "-o", "m.bayou")
    words = (*words, "--set", "n_sweeps=60", "--set", "tol=0", "--checkpoint-dir", "c")
    invoke(*words, "--max-time", "1e-9")
    assert (tmp_path / "c" / "m.bayou.checkpoint").exists()
    cut = bayou.load(tmp_path / "m.bayou")
    assert cut.estimator_.n_iter_ == 1
    assert "--resume" in invoke(*words, code=2).stderr
    other = (*words, "--seed", "5", "--resume")
    assert "written with other" in invoke(*other, code=3).stderr
    invoke(*words, "--resume")
    assert not list((tmp_path / "c").iterdir())
    resumed = (tmp_path / "m.bayou").read_bytes()
    assert "starting from the beginning" in invoke(*words, "--resume").stderr
    assert (tmp_path / "m.bayou").read_bytes() == resumed


def test_online_models_have_no_checkpoints(invoke, files):
    words = ("fit", files / "pets.jsonl", "-m", "online-lda")
    assert "bayou update" in invoke(*words, "--checkpoint-dir", "c", code=2).stderr


def test_a_checkpoint_folder_that_cannot_be_one(invoke, files, tmp_path):
    (tmp_path / "file").write_text("")
    words = ("fit", files / "pets.jsonl", "-k", "2", "--checkpoint-dir")
    assert "is a file; name a folder" in invoke(*words, "file", code=2).stderr
    assert "does not exist" in invoke(*words, "no/such", code=2).stderr
    invoke(*words, "new", "--dry-run")
    assert not (tmp_path / "new").exists()


def test_update_resumes_from_a_checkpoint(invoke, files, tmp_path):
    """As after a machine that went down: the model is as it was, the checkpoint is further."""
    (tmp_path / "s.bayou").write_bytes((files / "online-lda.bayou").read_bytes())
    lines = [json.dumps({"text": text}) + "\n" for text in texts(5000)]
    (tmp_path / "all.jsonl").write_text("".join(lines))
    (tmp_path / "head.jsonl").write_text("".join(lines[:4096]))
    words = ("update", "s.bayou", "all.jsonl", "-q")
    (tmp_path / "c").mkdir()
    kept = tmp_path / "c" / "s.bayou.checkpoint"
    invoke("update", "s.bayou", "head.jsonl", "-q", "-o", kept)
    invoke(*words, "-o", "whole.bayou")
    words = (*words, "--checkpoint-dir", "c")
    assert "add --resume" in invoke(*words, code=2).stderr
    assert "4,096 documents" in invoke(*words[:3], *words[4:], "--resume", "--dry-run").stderr
    invoke(*words, "--resume")
    assert (tmp_path / "s.bayou").read_bytes() == (tmp_path / "whole.bayou").read_bytes()
    assert not kept.exists()
    kept.write_bytes((files / "online-lda.bayou").read_bytes())  # older than the model is now
    assert "not made from this model" in invoke(*words, "--resume", code=3).stderr
    assert "--skip" in invoke("update", "s.bayou", "all.jsonl", "--resume", code=2).stderr


def test_update_goes_on_and_counts_unknown_words(invoke, files, tmp_path):
    more = tmp_path / "more.jsonl"
    more.write_text('{"text": "wolf bear stoat"}\n{"text": ""}\n{"text": "pear stoat stoat"}\n')
    done = invoke("update", files / "online-lda.bayou", more, "-o", "new.bayou")
    assert "Learned from 3 documents, 50.0% of their words unknown" in done.stderr
    assert "topic" in done.stdout
    old, new = bayou.load(files / "online-lda.bayou"), bayou.load(tmp_path / "new.bayou")
    assert new.estimator_.n_seen_ == old.estimator_.n_seen_ + 3
    assert (new.n_known_, new.n_unknown_) == (3, 3)
    done = invoke("update", "new.bayou", more, "--skip", "2", "-q")
    assert bayou.load(tmp_path / "new.bayou").estimator_.n_seen_ == new.estimator_.n_seen_ + 1
    assert "3 documents" in invoke("update", "new.bayou", more, "--dry-run").stdout


def test_update_is_the_same_as_partial_fit(invoke, files, tmp_path):
    invoke(
        "update", files / "online-lda.bayou", files / "pets.csv", "--text", "body", "-o", "n.bayou"
    )
    model = bayou.load(files / "online-lda.bayou").partial_fit(list(texts()))
    new = bayou.load(tmp_path / "n.bayou")
    np.testing.assert_array_equal(new.components_, model.components_)


def test_only_models_of_a_stream_are_updated(invoke, files):
    done = invoke("update", files / "lda.bayou", files / "pets.jsonl", code=2)
    assert "online-lda" in done.stderr


def test_a_report_in_the_same_command(invoke, files, tmp_path):
    pytest.importorskip("bayou.report")
    words = ("fit", files / "pets.csv", "--text", "body", "--label", "class", "-k", "2")
    invoke(*words, "-o", "m.bayou", "--report", "one.html")
    assert "</html>" in (tmp_path / "one.html").read_text()
    invoke("report", "m.bayou", files / "pets.csv", "--text", "body", "-o", "two.html")
    assert "</html>" in (tmp_path / "two.html").read_text()


def test_what_is_handed_to_the_report(invoke, files, tmp_path, monkeypatch):
    seen = {}

    class ReportData:
        @classmethod
        def from_model(cls, model, corpus, *, texts, title, test):
            seen.update(model=model, corpus=corpus, texts=texts, title=title, test=test)
            return cls()

    monkeypatch.setitem(sys.modules, "jinja2", types.ModuleType("jinja2"))
    fake = types.ModuleType("bayou.report")
    fake.ReportData, fake.write = ReportData, lambda path, data: path.write_text("<p>report")
    monkeypatch.setitem(sys.modules, "bayou.report", fake)
    words = ("fit", files / "pets.csv", "--text", "body", "--label", "class", "--time", "day")
    done = invoke(*words, "-k", "2", "-o", "m.bayou", "--report", "r.html")
    assert "Report in r.html" in done.stderr
    assert (tmp_path / "r.html").read_text() == "<p>report"
    assert isinstance(seen["model"], bayou.LDA)
    assert seen["corpus"].label_names == ("beast", "fruit")
    assert seen["corpus"].times is not None
    assert seen["texts"] == list(texts())
    invoke("report", "m.bayou", files / "pets.jsonl", "--title", "Pets", "-o", "s.html")
    assert (seen["title"], seen["test"]) == ("Pets", None)
    words = ("report", "m.bayou", files / "pets.jsonl", "--test", files / "pets.jsonl")
    invoke(*words, "-o", "s.html")
    assert seen["test"].n_docs == 120
    monkeypatch.setitem(sys.modules, "bayou.report", None)
    for words in (("report", "m.bayou"), ("fit", "--report", "r.html")):
        assert "pip install 'bayou[report]'" in invoke(*words, files / "pets.jsonl", code=1).stderr


@pytest.mark.parametrize(
    ("how", "told"),
    [
        (
            ("-m", "online-lda", "--set", "batch_size=5", "--set", "n_passes=2"),
            "in 4 mini-batches, ",
        ),
        (("-m", "lda", "--set", "inference=gibbs", "--set", "n_sweeps=1"), "in 1 pass, "),
    ],
)
def test_what_training_was_made_of(invoke, small, how, told):
    assert told in invoke("fit", small(), "-k", "2", *KEEP_ALL, *how, "-o", "m.bayou").stderr
