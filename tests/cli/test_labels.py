"""Models of labels from the command line: fit, predict, explain, evaluate, report."""

import json

import pytest
from tests.cli.samples import KEEP_ALL, texts

TAGS = ("--label", "tags", "--label-separator", "|")
CASES = {
    "labeled-lda": (*TAGS,),
    "fast-dependency-lda": (*TAGS, "-k", "3", "--set", "n_sweeps=9", "--set", "n_kept=3"),
    "dependency-lda": ("--label", "class", "-k", "3", "--set", "n_sweeps=9", "--set", "n_kept=3"),
}


@pytest.fixture(scope="module")
def animals(tmp_path_factory):
    file = tmp_path_factory.mktemp("labels") / "animals.csv"
    lines = ["text,class,tags"]
    for i, text in enumerate(texts()):
        tags = ["fruit" if i % 2 else "beast"] + ["wolfish"] * ("wolf" in text)
        lines.append(f"{text},{tags[0]},{'|'.join(tags)}")
    file.write_text("\n".join(lines))
    return file


@pytest.mark.parametrize("name", CASES)
def test_from_a_file_to_answers_and_a_report(invoke, animals, tmp_path, name):
    columns = CASES[name][: 4 if "tags" in CASES[name] else 2]
    done = invoke(
        "fit", animals, "-m", name, *CASES[name], *KEEP_ALL, "-o", "m.bayou", "--report", "r.html"
    )
    listed = done.stdout.splitlines()
    assert listed[0].split() == ["label", "share", "terms"]
    assert ("topic  share  labels" in listed) == (name != "labeled-lda")
    assert invoke("topics", "m.bayou").stdout.split()[:4] == ["topic", "share", "weights", "terms"]
    page = (tmp_path / "r.html").read_text()
    assert 'id="classes"' in page
    assert ("Topics over labels" in page) == (name != "labeled-lda")
    rows = [json.loads(line) for line in invoke("predict", "m.bayou", animals).stdout.splitlines()]
    assert len(rows) == 120
    told = [json.loads(line) for line in invoke("explain", "m.bayou", animals).stdout.splitlines()]
    for one, row in zip(told, rows, strict=True):
        said = row["prediction"]
        assert {part["for"] for part in one["explained"]} == {
            *([said] if isinstance(said, str) else said)
        }
        for part in one["explained"]:
            by_term = part["base"] + sum(term["part"] for term in part["terms"])
            assert by_term == pytest.approx(part["score"], abs=1e-4)
            if name != "labeled-lda":
                by_topic = part["base"] + sum(topic["part"] for topic in part["topics"])
                assert by_topic == pytest.approx(part["score"], abs=1e-4)
    found = json.loads(invoke("evaluate", "m.bayou", animals, *columns, "--json").stdout)
    assert 0.5 < found["micro-F1" if "tags" in columns else "accuracy"] <= 1.0


@pytest.mark.parametrize("name", ["dependency-lda", "stacked-hdp", "online-labeled-lda"])
def test_labels_must_be_named(invoke, animals, name):
    assert "needs --label" in invoke("fit", animals, "-m", name, code=2).stderr


def test_long_lists_are_cut_short(invoke, tmp_path):
    rows = [{"text": f"word{i} word{i} common", "tags": [f"label{i}"]} for i in range(30)] * 2
    (tmp_path / "many.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fit = ("fit", "many.jsonl", "-m", "fast-dependency-lda", "--label", "tags", *KEEP_ALL)
    done = invoke(*fit, "--set", "n_sweeps=3", "--set", "n_kept=2", "-o", "m.bayou")
    assert "and 10 more labels: bayou labels m.bayou" in done.stdout
    assert (
        "and 10 more topics: bayou topics m.bayou" in done.stdout
    )  # as many as labels, unless told
    assert "30 labels and 30 topics over them" in done.stderr
