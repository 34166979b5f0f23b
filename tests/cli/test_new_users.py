"""What those who have not read the manual run into: each is told, in a line."""

import csv
import json

import pytest
from tests.cli.samples import KEEP_ALL, texts

import bayou
from bayou.cli import advice, predictions
from bayou.data import container

QUICK = ("--set", "n_sweeps=5", "--set", "n_kept=2", *KEEP_ALL)


def table(path, rows, head=("body", "folder", "n", "key")):
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(head)
        out.writerows(rows)
    return path


@pytest.fixture
def mail(tmp_path):
    """A table whose columns are called as those of nobody else."""
    kinds = ("beast", "fruit")
    rows = [(t, kinds[i % 2], t.count("wolf"), f"m{i}") for i, t in enumerate(texts(60))]
    return table(tmp_path / "mail.csv", rows)


def rows_of(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


# -- small corpora -----------------------------------------------------------------------------


def test_topics_without_words_are_counted_not_shown(invoke, small):
    done = invoke("fit", small(), "-k", "40", *KEEP_ALL)
    lines = done.stdout.splitlines()
    assert "topics with fewer than 10 tokens are not shown" in lines[-1]
    n_hidden = int(lines[-1].split()[0])
    assert len(lines) - 2 + n_hidden == 40
    shown = [len(line.split()) - 2 for line in lines[1:-1]]
    rows = rows_of(invoke("topics", "model.bayou", "--json"))
    assert len(rows) == 40
    tokens = sorted((row["tokens"] for row in rows), reverse=True)
    assert all(n <= t for n, t in zip(shown, tokens, strict=False))
    assert "140 tokens for 40 topics" in done.stderr
    assert "-k" in done.stderr
    assert "tokens for" not in invoke("fit", small(), "-k", "1", *KEEP_ALL, "-o", "m").stderr


@pytest.mark.parametrize(
    ("model", "other"),
    [("online-lda", "--model lda, or more passes"), ("stepwise-em", "--model lda")],
)
def test_few_documents_for_a_stream(invoke, mail, model, other):
    words = ("fit", mail, "--text", "body", "-m", model, "-k", "2", *KEEP_ALL)
    err = invoke(*words).stderr
    assert f"{model} is a streaming model, and 60 documents" in err
    assert other in err
    if model == "online-lda":
        more = ("--set", "n_passes=30", "-o", "more.bayou")
        assert "made for streams" not in invoke(*words, *more).stderr


# -- empty texts -------------------------------------------------------------------------------


def test_empty_texts_are_counted(invoke, small):
    file = small(line2='{"text": ""}', line5='{"text": " . "}')
    err = invoke("fit", file, "-k", "2", *KEEP_ALL).stderr
    assert "10 documents (2 without any of the terms), 12 terms" in err
    words = ("fit", file, "-k", "2", "-m", "online-lda", "--first", "4", *KEEP_ALL)
    assert "1 document is empty" in invoke(*words, "-o", "s.bayou").stderr
    strange = '{"text": "wolf wolf zebra"}\n{"text": ""}\n{"text": "zebra"}\n'
    done = invoke("predict", "model.bayou", "-", input=strange)
    assert [row["known_words"] for row in rows_of(done)] == [2, 0, 0]
    assert "2 of 3 documents have no known word" in done.stderr
    done = invoke("predict", "model.bayou", "-", input='{"text": "wolf"}\n')
    assert not done.stderr


# -- labels ------------------------------------------------------------------------------------


def test_a_forgotten_separator_is_asked_about(invoke, tmp_path):
    tags = ["fruit;red", "fruit", "beast;red", "beast"]
    file = table(tmp_path / "t.csv", [(t, tags[i % 4], 0, i) for i, t in enumerate(texts(40))])
    words = ("fit", file, "--text", "body", "--label", "folder", "-k", "2", *QUICK)
    err = invoke(*words, "-m", "med-lda").stderr
    assert "2 of 4 labels contain ';', such as 'beast;red'" in err
    assert "add --label-separator ';'" in err
    done = invoke(*words, "-m", "med-lda", "--label-separator", ";", "-o", "m.bayou")
    assert "contain ';'" not in done.stderr
    stream = ("fit", file, "--text", "body", "--label", "folder", "--first", "20", *KEEP_ALL)
    assert "contain ';'" in invoke(*stream, "-m", "online-med-lda", "-o", "s.bayou").stderr


def test_names_that_only_look_joined():
    class Ear:
        def info(self, text):
            raise AssertionError(text)

    advice.on_labels(("news, sports", "mail", "spam", "ham"), None, Ear())
    advice.on_labels(("a;b", "c;d"), None, Ear())  # nothing is shared: these may be names
    advice.on_labels(("a;b", "a;c"), ";", Ear())
    advice.on_labels(None, None, Ear())


def test_an_empty_label_is_no_class(tmp_path):
    model = bayou.TextModel(estimator=bayou.MedLDAClassifier(n_topics=2, n_sweeps=10))
    y = ["beast", "fruit"] * 19 + ["", " "]
    assert model.fit(list(texts(40)), y).classes_.tolist() == ["beast", "fruit"]


# -- files and names ---------------------------------------------------------------------------


def test_a_table_on_standard_input(invoke, files):
    done = invoke("predict", files / "lda.bayou", "-", input="text\na wolf\n", code=1)
    assert "give --format csv (or tsv) for a table" in done.stderr
    done = invoke("predict", files / "lda.bayou", "-", "--format", "csv", input="text\na wolf\n")
    assert rows_of(done)[0]["known_words"] == 1
    later = '{"text": "wolf"}\n{"text": \n'
    done = invoke("predict", files / "lda.bayou", "-", input=later, code=1)
    assert "--format" not in done.stderr


def test_a_model_is_not_written_over_by_chance(invoke, small, tmp_path):
    words = ("fit", small(), "-k", "2", *KEEP_ALL)
    invoke(*words)
    old = (tmp_path / "model.bayou").read_bytes()
    err = invoke(*words, "--seed", "3", code=2).stderr
    assert "model.bayou already exists; name another file, or give -o model.bayou" in err
    assert (tmp_path / "model.bayou").read_bytes() == old
    invoke(*words, "--seed", "3", "-o", "model.bayou")
    assert (tmp_path / "model.bayou").read_bytes() != old


def test_columns_are_remembered(invoke, mail, tmp_path):
    named = ("--text", "body", "--label", "folder", "--id", "key")
    invoke("fit", mail, "-m", "med-lda", "-k", "2", *QUICK, *named, "-o", "m.bayou")
    kept = {"text": "body", "label": "folder", "id": "key"}
    assert bayou.load(tmp_path / "m.bayou").columns_ == kept
    assert "columns.label" in invoke("inspect", "m.bayou").stdout
    short = invoke("predict", "m.bayou", mail)
    assert rows_of(short)[0]["id"] == "m0"
    long = invoke("predict", "m.bayou", mail, "--text", "body", "--id", "key")
    assert short.stdout == long.stdout
    assert "accuracy" in invoke("evaluate", "m.bayou", mail).stdout
    explained = rows_of(invoke("explain", "m.bayou", mail))
    assert len(explained) == 60
    assert explained[1]["id"] == "m1"
    invoke("report", "m.bayou", mail, "-o", "r.html")
    assert "accuracy" in (tmp_path / "r.html").read_text().lower()


def test_what_is_remembered_need_not_be_there(invoke, mail):
    invoke("fit", mail, "-m", "med-lda", "-k", "2", *QUICK, "--text", "body", "--label", "folder")
    line = '{"text": "wolf and bear"}\n'
    assert rows_of(invoke("predict", "model.bayou", "-", input=line))[0]["known_words"] == 2
    done = invoke("evaluate", "model.bayou", "-", input=line)
    assert "No column `folder`: name it with --label" in done.stderr
    other = '{"body": "wolf", "note": "bear bear"}\n'
    done = invoke("predict", "model.bayou", "-", "--text", "note", input=other)
    assert rows_of(done)[0]["known_words"] == 2
    err = invoke("predict", "model.bayou", "-", "--text", "body", input=line, code=1).stderr
    assert "no field 'body'" in err


def test_update_remembers_labels_and_their_separator(invoke, tmp_path):
    tags = ["fruit|red", "fruit", "beast|red", "beast"]
    rows = [(t, tags[i % 4], t.count("wolf"), i) for i, t in enumerate(texts(40))]
    file = table(tmp_path / "t.csv", rows)
    named = ("--text", "body", "--label", "folder", "--label-separator", "|")
    invoke("fit", file, "-m", "online-med-lda", "-k", "2", *KEEP_ALL, *named, "-o", "m.bayou")
    invoke("update", "m.bayou", file, "-o", "short.bayou")
    invoke("update", "m.bayou", file, *named, "-o", "long.bayou")
    short, long = ((tmp_path / f"{n}.bayou").read_bytes() for n in ("short", "long"))
    assert short == long
    assert bayou.load(tmp_path / "short.bayou").classes_.tolist() == ["beast", "fruit", "red"]
    named = ("--text", "body", "--target", "n")
    invoke("fit", file, "-m", "online-med-lda", "-k", "2", *KEEP_ALL, *named, "-o", "n.bayou")
    invoke("update", "n.bayou", file)


def test_a_model_may_be_named_by_its_class(invoke, small):
    done = invoke("fit", small(), "-m", "LDA", "-k", "2", *KEEP_ALL)
    assert "Fitted 2 topics" in done.stderr
    assert "nan" not in done.stderr
    assert invoke("models", "OnlineLDA").stdout == invoke("models", "online-lda").stdout


def test_texts_where_counts_belong():
    for given, came in ((["a wolf", "a bear"], "2 texts"), ("a wolf", "1 text")):
        with pytest.raises(bayou.DataError, match=rf"X is {came} \(the first begins 'a wolf'\)"):
            bayou.LDA().fit(given)
    with pytest.raises(bayou.DataError, match=r"bayou.TextModel\(estimator=OnlineLDA\(...\)\)"):
        bayou.OnlineLDA().partial_fit(("a wolf",))


def test_columns_of_models_without_topics():
    """Their files are for Python, and what they answer is known all the same."""
    inner = bayou.TextModel(estimator=bayou.BayesPAClassifier())
    model = inner.fit(["red apple", "blue sea"] * 3, ["fruit", "water"] * 3)
    assert predictions.kind_of(model) == "binary"
    assert predictions.columns(model, None, "kind", None).label == "kind"
    model = bayou.TextModel(estimator=bayou.BayesPARegressor())
    model.fit(["red apple", "blue sea"] * 3, [1.0, 2.0] * 3)
    assert predictions.kind_of(model) == "regression"
    assert predictions.columns(model, None, None, "n").target == "n"


@pytest.mark.parametrize("columns", [3, {"text": 3}, {"text": ""}, {"code": "x"}])
def test_a_file_that_remembers_nonsense(invoke, files, tmp_path, columns):
    arrays, manifest = container.load(files / "lda.bayou")
    container.save(tmp_path / "odd.bayou", arrays, {**manifest, "columns": columns})
    assert "columns are not" in invoke("topics", "odd.bayou", code=3).stderr
