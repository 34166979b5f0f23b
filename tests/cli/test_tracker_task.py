"""``bayou stream`` with a tracker: alerts once each, through interruptions, to files, hooks and figures."""

import json
import sys
from pathlib import Path

import pytest

import bayou
from bayou.datasets import make_news
from bayou.inference.tracking.history import Alert

HOW = ("--time", "when", "--slice", "week", "-k", "6", "--min-df", "2", "--stop-words", "none")


@pytest.fixture(scope="module")
def lines():
    """Eight weeks of news; a topic appears in the fifth."""
    corpus, _ = make_news(8, 40, seed=1)
    out = []
    for d in range(corpus.n_docs):
        row = slice(corpus.counts.indptr[d], corpus.counts.indptr[d + 1])
        pairs = zip(corpus.counts.indices[row], corpus.counts.data[row], strict=True)
        text = " ".join(w for v, n in pairs for w in [corpus.vocabulary[int(v)]] * int(n))
        record = {"id": corpus.ids[d], "text": text, "when": str(corpus.times[d])}
        out.append(json.dumps(record) + "\n")
    return out


@pytest.fixture
def begun(invoke, lines, tmp_path):
    """A tracker that knows the first two weeks, and what `track` would say of all of them."""
    Path("first.jsonl").write_text("".join(lines[:90]))
    Path("all.jsonl").write_text("".join(lines))
    invoke("track", "first.jsonl", *HOW, "-o", "t.bayou", "--keep-open")
    invoke("track", "all.jsonl", *HOW, "-o", "whole.bayou", "--keep-open", "--alerts", "said.jsonl")
    Path("rest.jsonl").write_text("".join(lines[90:]))
    return tmp_path


def command(*more):
    return ("stream", "t.bayou", "rest.jsonl", "--time", "when", "--state", "s", *more)


def alerts(path):
    return [Alert.from_json(line) for line in Path(path).read_text().splitlines()]


def test_a_tracker_on_a_stream_tells_what_track_tells(invoke, begun):
    hook = Path("hook.py")
    hook.write_text("import sys; open('heard.jsonl', 'a').write(sys.stdin.read())")
    done = invoke(
        *command("--alerts", "a.jsonl", "--on-alert", f"{sys.executable} {hook}"),
        "--metrics", "m.prom", "-o", "topics.jsonl", "--block", "50",
    )  # fmt: skip
    expected = alerts("said.jsonl")
    assert any(a.kind == "born" for a in expected)
    assert [str(a) for a in alerts("a.jsonl")] == [str(a) for a in expected]
    assert [str(a) for a in alerts("heard.jsonl")] == [str(a) for a in expected]
    assert f"bayou_stream_alerts_total {len(expected)}" in Path("m.prom").read_text()
    assert "born      topic 6" in done.stderr
    one, other = (bayou.load(path) for path in ("s/model.bayou", "whole.bayou"))
    assert one.estimator_.n_waiting_ == other.estimator_.n_waiting_ > 0
    assert (one.components_ == other.components_).all()
    rows = [json.loads(line) for line in Path("topics.jsonl").read_text().splitlines()]
    assert len(rows) == 230
    assert 6 in {row["topic"] for row in rows[-40:]}
    assert [row["n"] for row in map(json.loads, Path("a.jsonl").read_text().splitlines())] == [
        *range(1, len(expected) + 1)
    ]


def test_a_tracker_remembers_where_its_dates_are(invoke, begun):
    invoke("stream", "t.bayou", "rest.jsonl", "--state", "s", "--alerts", "a.jsonl")
    invoke(
        "track", "rest.jsonl", "--from", "t.bayou", "-o", "u.bayou", "--keep-open", "--alerts", "b"
    )
    expected = [str(a) for a in alerts("said.jsonl")]
    assert [str(a) for a in alerts("a.jsonl")] == expected
    assert [str(a) for a in alerts("b")] == expected
    assert bayou.load("u.bayou").columns_ == {"text": "text", "time": "when"}


def test_alerts_of_a_stream_that_was_interrupted_stand_there_once(invoke, begun, lines):
    how = command("--alerts", "a.jsonl", "--block", "50")
    part = Path("rest.jsonl")
    for end in (170, 290, 320):  # the same command again, after more has come
        part.write_text("".join(lines[90:end]))
        invoke(*how)
    kept = Path("a.jsonl").read_text()
    assert [str(a) for a in alerts("a.jsonl")] == [str(a) for a in alerts("said.jsonl")]
    Path("a.jsonl").write_text(kept + '{"torn')  # what a crash leaves behind the last checkpoint
    invoke(*how)
    assert Path("a.jsonl").read_text() == kept


def test_what_does_not_go_together(invoke, begun, lines):
    Path("docs.jsonl").write_text("".join(lines[:60]))
    invoke("fit", "docs.jsonl", "-m", "online-lda", "-k", "2", "-o", "o.bayou", "--min-df", "1")
    said = invoke("stream", "o.bayou", "docs.jsonl", "--alerts", "a.jsonl", code=2).stderr
    assert "has no alerts" in said
    assert "manages its vocabulary itself" in invoke(*command("--max-terms", "9"), code=2).stderr
    bad = json.dumps({"id": "x", "text": "dakime", "when": "no day"}) + "\n"
    Path("rest.jsonl").write_text("".join(lines[90:100]) + bad)
    invoke(*command())
    assert "no day" in Path("s/dead-letters.jsonl").read_text()


def test_every_verb_calls_a_topic_of_a_tracker_by_its_permanent_number(invoke, begun):
    """Rows move when topics end; numbers do not."""
    model = bayou.load("whole.bayou")
    inner = model.estimator_
    inner.state_ = inner.state_._replace(ids=inner.state_.ids + 10)
    model.save("moved.bayou")
    ids = set(inner.topic_ids_.tolist())
    assert min(ids) == 10
    for more in ((), ("--top", "2")):
        done = invoke("predict", "moved.bayou", "first.jsonl", *more).stdout.splitlines()
        for row in map(json.loads, done):
            shares = dict(map(tuple, row["topics"]))
            assert set(shares) <= ids
            assert max(shares, key=shares.get) == row["topic"]
    invoke("predict", "moved.bayou", "first.jsonl", "-o", "t.csv")
    head = Path("t.csv").read_text().splitlines()[0].split(",")
    assert {name for name in head if name.startswith("topic_")} == {f"topic_{i}" for i in ids}
    told = json.loads(invoke("explain", "moved.bayou", "first.jsonl").stdout.splitlines()[0])
    assert {topic["topic"] for topic in told["topics"]} <= ids
    listed = map(json.loads, invoke("topics", "moved.bayou", "--json").stdout.splitlines())
    assert {row["topic"] for row in listed} == ids


def test_a_stream_without_dates_says_which_flag_names_them(invoke, begun, lines):
    undated = [json.dumps({**json.loads(line), "day": 1, "when": None}) for line in lines[90:]]
    without = [json.dumps({k: v for k, v in json.loads(u).items() if k != "when"}) for u in undated]
    how = ("stream", "t.bayou", "rest.jsonl", "--block", "50", "--state")
    Path("rest.jsonl").write_text("\n".join(without))
    said = invoke(*how, "s", code=1).stderr
    assert "no field `when` in the first 50 documents" in said
    assert "--time" in said
    assert "--slice" not in said
    # a block of them in the middle counts to the time before, also where the stream is begun again there
    Path("rest.jsonl").write_text("".join(lines[90:190]))
    invoke(*how, "u")
    Path("rest.jsonl").write_text("".join(lines[90:190]) + "\n".join(without[:60]) + "\n")
    said = invoke(*how, "u", "--time", "when", code=1).stderr
    assert "started with other settings (columns)" in said
    said = invoke(*how, "u").stderr
    assert "60 documents without a date took the time of the previous document" in said
    tracker = bayou.load("u/model.bayou").estimator_
    assert tracker.state_.n_seen + tracker.n_waiting_ == 90 + 160


def test_documents_that_come_late_to_a_stream_are_counted_aloud(invoke, begun, lines):
    Path("rest.jsonl").write_text("".join(lines[90:200] + lines[:7]))
    said = invoke(*command("--metrics", "m.prom")).stderr
    assert "7 documents came late: their slices had ended" in said
    assert "bayou_stream_late_total 7\n" in Path("m.prom").read_text()


def test_dead_letters_speak_of_flags(invoke, begun, lines):
    bad = json.dumps({"id": "x", "text": "dakime", "when": "no day"}) + "\n"
    Path("rest.jsonl").write_text("".join(lines[90:100]) + bad)
    invoke(*command())
    reason = json.loads(Path("s/dead-letters.jsonl").read_text())["reason"]
    assert "or leave it empty" in reason
    assert 'time=""' not in reason
