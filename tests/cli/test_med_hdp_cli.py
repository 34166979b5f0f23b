"""Max-margin topics whose number is found, from the command line and in a report."""

import json

import pytest
from tests.cli.samples import KEEP_ALL, texts

import bayou
from bayou.report import ReportData, render
from bayou.testing.cases import long_corpus, target_of


@pytest.fixture
def animals(tmp_path):
    path = tmp_path / "animals.jsonl"
    rows = [
        {"text": text, "kind": "fruit" if i % 2 else "beast", "n": text.count("wolf")}
        for i, text in enumerate(texts())
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("column", [("--label", "kind"), ("--target", "n")])
def test_a_chain(invoke, animals, column):
    quick = ("-k", 4, "--set", "n_sweeps=5", "--set", "n_kept=2", *KEEP_ALL, "-o", "m.bayou")
    invoke("fit", animals, "-m", "med-hdp", *column, *quick)
    model = bayou.load("m.bayou").estimator_
    low, high = model.n_topics_interval()
    said = f"{model.n_topics_} topics (90 %: {low} to {high})"
    assert said in invoke("topics", "m.bayou").stdout
    assert said in invoke("inspect", "m.bayou").stdout
    rows = [json.loads(line) for line in invoke("predict", "m.bayou", animals).stdout.splitlines()]
    assert len(rows) == 120


def test_a_stream(invoke, animals):
    invoke(
        "fit",
        animals,
        "-m",
        "online-med-hdp",
        "--label",
        "kind",
        "-k",
        3,
        *KEEP_ALL,
        "-o",
        "m.bayou",
    )
    invoke("update", "m.bayou", animals, "--label", "kind")
    model = bayou.load("m.bayou").estimator_
    assert model.state_.n_seen + model.pending_.n_docs == 3 * 120  # two passes of fit, and one
    assert f"{model.n_topics_} topics" in invoke("topics", "m.bayou").stdout


def test_a_report_has_the_number_with_its_interval():
    corpus = long_corpus()
    model = bayou.OnlineMedHDPClassifier(n_topics=3, random_state=0)
    model.fit(corpus, target_of(model, corpus))
    data = ReportData.from_model(model, corpus)
    low, high = model.n_topics_interval()
    first = data.numbers[0]
    assert (first.value, first.low, first.high) == (model.n_topics_, low, high)
    assert f"{model.n_topics_} topics" in render(data)
