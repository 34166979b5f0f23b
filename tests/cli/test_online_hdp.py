"""`--model online-hdp`: fit, update, and what is said of its topics."""

import json
import re

from tests.cli.samples import KEEP_ALL

import bayou


def test_fit_update_and_look(invoke, files, tmp_path):
    words = ["fit", files / "pets.jsonl", "-m", "online-hdp", "-k", "8", "--seed", "0", *KEEP_ALL]
    done = invoke(*words, "--set", "n_passes=3", "-o", "m.bayou")
    model = bayou.load(tmp_path / "m.bayou").estimator_
    assert 1 <= model.n_topics_ <= 8
    assert len(done.stdout.strip().splitlines()) >= model.n_topics_
    seen = model.state_.n_seen
    done = invoke("update", "m.bayou", files / "pets.jsonl", "-o", "more.bayou")
    assert "Learned from" in done.stderr
    more = bayou.load(tmp_path / "more.bayou").estimator_
    assert more.state_.n_seen > seen
    assert more.state_.n_born >= model.state_.n_born
    assert "online-hdp" in invoke("models").stdout
    invoke("topics", "more.bayou")
    invoke("evaluate", "more.bayou", files / "pets.jsonl")


def test_topics_are_called_by_their_permanent_numbers(invoke, files, tmp_path):
    """Rows change places while a stream is learned, and answers must mean the same topics for ever."""
    words = ["fit", files / "pets.jsonl", "-m", "online-hdp", "-k", "8", "--seed", "0", *KEEP_ALL]
    invoke(*words, "--set", "n_passes=3", "-o", "m.bayou")
    model = bayou.load("m.bayou")
    inner = model.estimator_
    state = inner.state_
    inner.state_ = state._replace(ids=state.ids + 70, n_born=state.n_born + 70)
    model.save("m.bayou")
    ids = inner.topic_ids_.tolist()
    assert min(ids) >= 70
    listed = [
        json.loads(line) for line in invoke("topics", "m.bayou", "--json").stdout.splitlines()
    ]
    assert {row["topic"] for row in listed} == set(ids)
    row = json.loads(invoke("predict", "m.bayou", files / "pets.jsonl").stdout.splitlines()[0])
    assert [number for number, _ in row["topics"]] == ids
    assert row["topic"] == max(row["topics"], key=lambda pair: pair[1])[0]
    invoke("stream", "m.bayou", files / "pets.jsonl", "-o", "a.jsonl", "--state", "s")
    said = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert {answer["topic"] for answer in said} <= set(ids)
    invoke("report", "m.bayou", files / "pets.jsonl", "-o", "r.html")
    page = (tmp_path / "r.html").read_text()
    assert {int(i) for i in re.findall(r'<article class="topic" id="topic-(\d+)"', page)} == set(
        ids
    )
    assert {int(i) for i in re.findall(r'href="#topic-(\d+)"', page)} <= set(ids)
