"""How many topics there are, from the command line and in a report."""

from tests.cli.samples import KEEP_ALL

import bayou
from bayou.report import ReportData, render


def test_topics_inspect_and_report_say_how_many_topics_there_are(invoke, files):
    words = ("-m", "hdp", "-k", 4, "--set", "n_sweeps=20", *KEEP_ALL, "-o", "m.bayou")
    invoke("fit", files / "pets.jsonl", *words)
    model = bayou.load("m.bayou").estimator_
    low, high = model.n_topics_interval()
    said = f"{model.n_topics_} topics (90 %: {low} to {high}), {model.n_large_} of them large"
    assert said in invoke("topics", "m.bayou").stdout
    assert said in invoke("inspect", "m.bayou").stdout
    assert not invoke("topics", "m.bayou", "--json").stdout.startswith(said)
    assert "90 %" not in invoke("topics", files / "lda.bayou").stdout


def test_a_report_has_the_number_with_its_interval():
    corpus = bayou.Corpus.from_matrix([[4, 3, 0, 0], [0, 0, 5, 2]] * 6)
    model = bayou.HDP(n_sweeps=20, random_state=0).fit(corpus)
    data = ReportData.from_model(model, corpus)
    low, high = model.n_topics_interval()
    first = data.numbers[0]
    assert (first.value, first.low, first.high) == (model.n_topics_, low, high)
    assert "Large topics" in render(data)
    plain = bayou.LDA(n_topics=2, random_state=0).fit(corpus)
    assert ReportData.from_model(plain, corpus).numbers == ()


def test_a_warning_is_one_line_without_a_place_in_the_code(process, files):
    words = ("fit", files / "pets.jsonl", "-m", "hdp", "--set", "n_sweeps=2", "-o", "m.bayou")
    run = process(*words)
    _, said = run.communicate(timeout=300)
    assert run.returncode == 0, said
    (line,) = [line for line in said.splitlines() if "warning" in line]
    assert line.startswith("bayou: warning: too few sweeps to compare chains")
    assert ".py" not in said
