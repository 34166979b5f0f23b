"""What ``bayou track`` and its report say alike: shares, doubts, names."""

import json
from types import SimpleNamespace

from tests.cli.test_track import QUICK, news  # noqa: F401

import bayou
from bayou.cli import alerts

HOW = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)


def test_shares_are_the_same_wherever_they_are_shown(invoke, news, tmp_path):  # noqa: F811
    said = invoke("track", news, *HOW, "-o", "a.bayou").stdout
    model = bayou.load(tmp_path / "a.bayou").estimator_
    listed = {
        row["topic"]: row["share"]
        for row in map(json.loads, invoke("topics", "a.bayou", "--json").stdout.splitlines())
    }
    for topic in model.topic_ids_.tolist():
        share = model.course(topic)["share"][-1]
        assert abs(listed[topic] - share) < 1e-6
        assert f"topic {topic:<5} {share:>6.1%}" in said


def test_doubts_stand_in_the_report_too(invoke, news, tmp_path):  # noqa: F811
    rows = news.read_text().splitlines(keepends=True)
    one = json.loads(rows[0])
    first, last = (json.dumps(one | {"when": day}) + "\n" for day in ("2019-05-01", "2124-05-01"))
    (tmp_path / "stray.jsonl").write_text(first + "".join(rows) + last)
    invoke("track", "stray.jsonl", *HOW, "-o", "a.bayou", "--report", "a.html")
    invoke("report", "a.bayou", "-o", "b.html")
    for name in "ab":
        page = (tmp_path / f"{name}.html").read_text()
        assert "only 1 document for 6 topics; longer slices, a later start" in page
        assert "The last slice (2124-05-01) is 5,228 slices after the one before" in page


def test_the_model_of_a_stream_is_called_by_its_folder(invoke, news, tmp_path):  # noqa: F811
    for folder in ("paper.stream", "mail"):
        (tmp_path / folder).mkdir()
        invoke("track", news, *HOW, "-o", f"{folder}/model.bayou")
        invoke("report", f"{folder}/model.bayou", "-o", "a.html")
        page = (tmp_path / "a.html").read_text()
        assert f"<title>{folder.removesuffix('.stream')} · bayou track</title>" in page


def test_documents_that_fit_no_topic_are_named_where_no_words_are_common():
    alert = SimpleNamespace(
        topic=-1, words=(), docs=("a7", "b2"), kind="surprise", other=-1, date="1997-04"
    )
    assert alerts.line(alert).split() == [
        "1997-04", "surprise", "documents", "that", "fit", "no", "topic:", "a7,", "b2",
    ]  # fmt: skip
