"""``bayou track``: files and pipes in; alerts, a report and a model that goes on, out."""

import http.server
import json
import signal
import subprocess
import sys
import threading

import pytest
from typer.testing import CliRunner

import bayou
from bayou.cli import app
from bayou.datasets import make_news
from bayou.inference.tracking.history import Alert

posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
QUICK = ("--min-df", "2", "--stop-words", "none")


@pytest.fixture(scope="module")
def news(tmp_path_factory):
    """Eight weeks of news as JSON lines: a topic appears in the fifth."""
    corpus, _ = make_news(8, 40, seed=1)
    path = tmp_path_factory.mktemp("track") / "news.jsonl"
    with path.open("w") as lines:
        for d in range(corpus.n_docs):
            row = slice(corpus.counts.indptr[d], corpus.counts.indptr[d + 1])
            pairs = zip(corpus.counts.indices[row], corpus.counts.data[row], strict=True)
            text = " ".join(w for v, n in pairs for w in [corpus.vocabulary[int(v)]] * int(n))
            record = {"id": corpus.ids[d], "text": text, "when": str(corpus.times[d])}
            lines.write(json.dumps(record) + "\n")
    return path


def test_from_a_file_to_alerts_a_report_and_a_model(invoke, news, tmp_path):
    done = invoke(
        "track", news, "--time", "when", "--slice", "week", "-k", "6", *QUICK,
        "--alerts", "alerts.jsonl", "--report", "news.html", "-o", "news.bayou",
    )  # fmt: skip
    alerts = [
        Alert.from_json(line) for line in (tmp_path / "alerts.jsonl").read_text().splitlines()
    ]
    told = [line for line in done.stdout.splitlines() if not line.startswith("topic")]
    assert len(told) == len(alerts) >= 1
    born = next(a for a in alerts if a.kind == "born" and a.date == "2024-01-29")
    assert f"{born.date}   born      topic {born.topic}" in done.stdout
    page = (tmp_path / "news.html").read_text()
    assert "Topic shares over time" in page
    assert born.docs[0] in page
    assert done.stderr.startswith(f"320 documents in 8 slices, {len(alerts)} alerts, 7 topics\n")
    model = bayou.load(tmp_path / "news.bayou")
    kept = model.estimator_.alerts()
    assert [a.to_json() for a in kept] == [a.to_json() for a in alerts]
    found = model.transform(["dakime dukatu buniku"]).argmax()
    assert model.estimator_.topic_ids_[found] == born.topic


def test_a_stream_that_is_cut_goes_on_as_if_it_had_not_been(invoke, news, tmp_path):
    how = ("--time", "when", "--slice", "week", "-k", "5", *QUICK)
    lines = news.read_text().splitlines(keepends=True)
    invoke("track", "-", *how, "-o", "whole.bayou", input="".join(lines))
    invoke("track", "-", *how, "-o", "half.bayou", "--keep-open", input="".join(lines[:130]))
    half = bayou.load(tmp_path / "half.bayou").estimator_
    assert half.n_waiting_ == 10
    invoke(
        "track", "-", "--time", "when", "--from", "half.bayou", "-o", "both.bayou",
        input="".join(lines[130:]),
    )  # fmt: skip
    whole, both = (bayou.load(tmp_path / f"{n}.bayou").estimator_ for n in ("whole", "both"))
    assert whole._payload().keys() == both._payload().keys()
    for name, array in whole._payload().items():
        assert array.tobytes() == both._payload()[name].tobytes(), name


def test_documents_that_come_late_are_counted(invoke, news):
    words = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    said = invoke("track", news, *words, "-o", "a.bayou").stderr
    assert "late" not in said
    again = invoke("track", news, "--from", "a.bayou")  # the same file once more
    assert "320 documents came after their slices had ended" in again.stderr


def test_a_tracker_that_goes_on_keeps_its_settings_and_its_file(invoke, news, tmp_path):
    invoke("track", news, "--time", "when", "--slice", "week", "-k", "6", *QUICK, "-o", "a.bayou")
    before = (tmp_path / "a.bayou").read_bytes()
    words = ("track", news, "--from", "a.bayou")
    said = invoke(*words, "-k", "7", "--set", "rho=0.9", "--seed", "9", code=2).stderr
    assert "leave out --topics, --set, --seed" in " ".join(said.split())
    for flag in ("--alerts", "--report"):
        said = invoke(*words, flag, "a.bayou", code=2).stderr
        assert "name another file" in " ".join(said.replace("│", " ").split())
    assert (tmp_path / "a.bayou").read_bytes() == before
    invoke(*words, "-o", "a.bayou")


def test_alerts_on_standard_output_and_a_command(invoke, news, tmp_path):
    seen = tmp_path / "seen.txt"
    code = f"import sys; open({str(seen)!r}, 'a').write(sys.stdin.read())"
    done = invoke(
        "track", news, "--time", "when", "--slice", "week", "-k", "6", *QUICK, "--alerts", "-",
        "--on-alert", f'{sys.executable} -c "{code}"',
    )  # fmt: skip
    lines = done.stdout.splitlines()
    assert all(json.loads(line)["kind"] for line in lines)
    assert seen.read_text().splitlines() == lines


def test_a_webhook_is_told_and_one_that_fails_is_not_fatal(invoke, news):
    got, answers = [], [200]

    class Ear(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers[0])
            self.end_headers()

        def log_message(self, *given):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Ear)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/hook"
    how = ("track", news, "--time", "when", "--slice", "week", "-k", "6", *QUICK, "--webhook", url)
    try:
        done = invoke(*how)
        told = [line for line in done.stdout.splitlines() if not line.startswith("topic")]
        assert len(got) == len(told) >= 1
        answers[0] = 500
        assert "was not delivered: 127.0.0.1" in invoke(*how).stderr
    finally:
        server.shutdown()
        server.server_close()
    assert "could not be reached" in invoke(*how).stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--slice", "fortnight"), "Invalid value for --slice"),
        (("--webhook", "ftp://127.0.0.1/x"), "a webhook must be an address"),
        (("--on-alert", ""), "is empty"),
        (("--set", "no_such=1"), "no_such"),
    ],
)
def test_mistakes_on_the_command_line(invoke, news, words, error):
    assert error in invoke("track", news, "--time", "when", *words, code=2).stderr


def test_topics_are_told_even_if_nothing_happens(invoke, tmp_path):
    path = tmp_path / "quiet.jsonl"
    path.write_text(
        "".join(f'{{"text": "apple pear plum", "date": "2024-01-{d:02d}"}}\n' for d in range(1, 29))
    )
    done = invoke("track", path, "--slice", "month", "-k", "2")
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["topic", "topic"]
    assert set(done.stdout.split()) >= {"apple", "pear", "plum"}
    assert done.stderr == "28 documents in 1 slice, 0 alerts, 2 topics\n"
    assert invoke("track", path, "--slice", "month", "-k", "2", "--alerts", "-").stdout == ""
    path.write_text('{"text": "...", "date": "2024-01-01"}\n')
    assert "there are no words in 1 document;" in invoke("track", path, code=1).stderr


def test_data_without_dates_or_with_too_few_documents(invoke, news, files):
    assert "give --time, or --slice" in invoke("track", files / "pets.jsonl", code=1).stderr
    done = invoke("track", news, "--time", "when", "--slice", "1000", "--keep-open", code=1)
    assert "no slice has ended" in done.stderr
    assert "not a tracker" in invoke("track", news, "--from", files / "lda.bayou", code=2).stderr


def test_slices_by_number_need_no_dates_and_update_sends_back_to_track(invoke, files):
    how = ("--slice", "40", "-k", "2", "--set", "n_sweeps=5", "-o", "pets.bayou")
    done = invoke("track", files / "pets.jsonl", *how)
    assert "120 documents in 3 slices" in done.stderr
    said = invoke("update", "pets.bayou", files / "pets.jsonl", code=2).stderr
    assert "bayou track FILE --from" in " ".join(said.split())
    assert len(invoke("topics", "pets.bayou").stdout.splitlines()) >= 2
    rows = invoke("predict", "pets.bayou", files / "pets.jsonl").stdout.splitlines()
    assert len(rows) == 120


def test_answers_and_lists_name_topics_by_their_permanent_numbers(invoke, files, tmp_path):
    how = ("--slice", "40", "-k", "3", "--set", "n_sweeps=5", "-o", "pets.bayou")
    invoke("track", files / "pets.jsonl", *how)
    model = bayou.load(tmp_path / "pets.bayou")
    state = model.estimator_.state_
    model.estimator_.state_ = state._replace(ids=3 * state.ids[::-1])  # as after deaths and births
    model.estimator_.set_params(
        fixed={"first": {"cat": 1.0}}
    )  # what is fixed has the first numbers
    model.save(tmp_path / "pets.bayou")
    ids = [int(i) for i in model.estimator_.topic_ids_]
    texts = [json.loads(line)["text"] for line in (files / "pets.jsonl").read_text().splitlines()]
    shares = model.transform(texts)

    def answers(*more):
        lines = invoke("predict", "pets.bayou", files / "pets.jsonl", *more).stdout.splitlines()
        return [json.loads(line) for line in lines]

    for row, share, few in zip(answers(), shares, answers("--top", "1"), strict=True):
        assert row["topic"] == ids[share.argmax()]
        assert row["name"] == ("" if row["topic"] else "first")
        assert [k for k, _ in row["topics"]] == ids
        assert few["topics"] == [[row["topic"], row["share"]]]
    invoke("predict", "pets.bayou", files / "pets.jsonl", "-o", "answers.csv")
    header = (tmp_path / "answers.csv").read_text().splitlines()[0].split(",")
    assert [name for name in header if name.startswith("topic_")] == [f"topic_{i}" for i in ids]
    listed = invoke("topics", "pets.bayou", "--json").stdout.splitlines()
    assert sorted(json.loads(line)["topic"] for line in listed) == sorted(ids)


@pytest.mark.slow
def test_the_built_in_stream_and_its_planted_events():
    words = ["track", "builtin:news", "--slice", "week", "-k", "6"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0
    assert "5 found, 0 missed of 5 planted events" in done.stdout


def test_a_file_in_any_order_gives_what_the_sorted_one_gives(invoke, news, tmp_path):
    """Exports have their newest row first, and a topic must not be born at its end for that."""
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    whole = invoke("track", news, *how)
    newest_first = tmp_path / "newest.jsonl"
    newest_first.write_text("".join(reversed(news.read_text().splitlines(keepends=True))))
    done = invoke("track", newest_first, *how)
    assert "newest.jsonl is not in order of time" in done.stderr
    assert "late" not in done.stderr
    kinds = [line.split()[:2] for line in whole.stdout.splitlines() if "born" in line]
    assert [line.split()[:2] for line in done.stdout.splitlines() if "born" in line] == kinds != []
    come = invoke("track", "-", *how, input=newest_first.read_text()).stderr  # read only once
    assert "came after their slices had ended (--set grace=1 keeps" in come
    drop = invoke("track", "-", *how, "--set", "late=drop", input=newest_first.read_text()).stderr
    assert "had ended and were dropped" in drop


def test_documents_without_a_date_before_the_first_that_has_one(invoke, news, tmp_path):
    rows = [json.loads(line) for line in news.read_text().splitlines()]
    path = tmp_path / "undated.jsonl"
    path.write_text("".join(json.dumps(row | {"when": None}) + "\n" for row in rows[:300] + rows))
    how = ("--time", "when", "--slice", "week", "-k", "2", *QUICK)
    assert "give --time, or --slice a number" in invoke("track", path, *how, code=1).stderr
    with path.open("a") as more:
        more.write(news.read_text())
    assert "940 documents in 8 slices" in invoke("track", path, *how).stderr
    path.write_text(news.read_text() + json.dumps(rows[0] | {"when": "some day"}) + "\n")
    said = invoke("track", path, *how, code=1)
    assert "or leave it empty: the document then takes the time of the previous one" in said.stderr
    assert said.stdout == ""  # told before anything is learned


def test_a_tracker_that_goes_on_counts_its_own_documents(invoke, news):
    how = ("--time", "when", "--slice", "week", "-k", "2", *QUICK)
    invoke("track", news, *how, "-o", "a.bayou")
    said = invoke("track", news, "--from", "a.bayou", "-o", "a.bayou").stderr
    assert said.startswith("320 documents more; 9 slices, ")
    assert "320 documents came after their slices had ended" in said
    assert "were they learned before?" in said
    assert (
        "; 320 documents came after their slices had ended"
        in invoke("track", news, "--from", "a.bayou").stderr
    )


def test_slices_are_named_in_any_case(invoke, news):
    how = ("--time", "when", "-k", "2", *QUICK)
    assert "320 documents in 2 slices" in invoke("track", news, *how, "--slice", "Month").stderr


def test_every_parameter_can_be_set(invoke, news, tmp_path):
    how = ("--time", "when", "--slice", "week", "-k", "2", *QUICK)
    fixed = {"mine": {"dakime": 3, "dukatu": 1}}
    done = invoke(
        "track", news, *how, "--set", f"fixed={json.dumps(fixed)}", "--set", "strength=estimate"
    )
    mine = next(line for line in done.stdout.splitlines() if "(mine)" in line)
    assert mine.split()[-2:] == ["dakime", "dukatu"]  # and no word that it does not have
    assert mine.split()[-3].endswith("%")
    (tmp_path / "fixed.json").write_text(json.dumps(fixed))
    assert invoke("track", news, *how, "--set", "fixed=fixed.json").stdout.count("(mine)") == 1
    (tmp_path / "bayou.toml").write_text("[track.set.fixed]\nmine = {dakime = 3}\n")
    assert "(mine)" in invoke("track", news, *how).stdout
    (tmp_path / "bayou.toml").write_text("[track.set.fixed]\nmine = {dakime = 2024-05-31}\n")
    assert "the fixed topic 'mine' needs weights" in invoke("track", news, *how, code=2).stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--set", "n_topics=4", "-k", "3"), "n_topics is given twice, by --topics and by --set"),
        (("--set", "min_docs=4", "--min-df", "3"), "min_docs is given twice, by --min-df"),
        (("--set", "max_terms=4", "--max-terms", "3"), "max_terms is given twice, by --max-terms"),
        (("--set", "slice_by=week"), "slice_by is set by the flag --slice"),
        (("--set", "on_alert=x"), "on_alert is set by the flag --on-alert"),
        (("--set", "fixed=x"), "fixed must be JSON such as"),
        (("--set", "strength=some"), "strength must be a number or one of 'estimate'"),
        (("--alerts", "a.csv"), "a.csv would contain JSON lines"),
    ],
)
def test_more_mistakes_on_the_command_line(invoke, news, words, error):
    said = invoke("track", news, "--time", "when", *words, code=2).stderr
    assert error in " ".join(said.replace("│", " ").split())


@posix
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_pipe_is_told_of_at_once_and_what_it_brought_is_kept(process, news, tmp_path, number):
    """Alerts come with the document that ends their slice, and nothing that was read is lost."""
    lines = news.read_text().splitlines(keepends=True)
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK, "-o", "a.bayou")
    started = process("track", "-", *how, "--alerts", "-", stdin=subprocess.PIPE)
    started.stdin.write("".join(lines[:205]))  # five documents of the sixth week
    started.stdin.flush()
    assert any('"kind": "born"' in line for line in started.stdout)  # and no more is sent
    started.send_signal(number)
    _, said = started.communicate(timeout=600)
    assert started.returncode == 130, said
    kept = bayou.load(tmp_path / "a.bayou").estimator_
    assert kept.state_.n_seen == 200
    assert 1 <= kept.n_waiting_ <= 5  # those that were read by then
    n = 200 + kept.n_waiting_
    assert f"continue with the documents after the first {n} and --from a.bayou" in said


def test_a_bad_line_of_a_pipe_ends_it_and_loses_nothing_that_came_before(invoke, news, tmp_path):
    lines = news.read_text().splitlines(keepends=True)
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    torn = "".join(lines[:205]) + '{"text": \n' + "".join(lines[205:])
    done = invoke("track", "-", *how, "-o", "a.bayou", input=torn, code=1)
    assert "line 206" in done.stderr
    assert "continue with the documents after the first 205 and --from a.bayou" in done.stderr
    kept = bayou.load(tmp_path / "a.bayou").estimator_
    assert (kept.state_.n_seen, kept.n_waiting_) == (200, 5)
    (tmp_path / "torn.jsonl").write_text(torn)
    assert "line 206" in invoke("track", "torn.jsonl", *how, "-o", "b.bayou", code=1).stderr
    assert not (tmp_path / "b.bayou").exists()  # a file can be mended and read again
    early = "".join(lines[:3]) + "[]\n"
    assert "line 4" in invoke("track", "-", *how, "-o", "b.bayou", input=early, code=1).stderr


def test_documents_without_names_are_numbered_through_all_files(invoke, news, tmp_path):
    rows = [json.loads(line) for line in news.read_text().splitlines()]
    for name, some in (("one", rows[:120]), ("two", rows[120:])):
        lines = [json.dumps({"text": row["text"], "when": row["when"]}) for row in some]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    invoke("track", "one.jsonl", *how, "-o", "a.bayou")
    invoke("track", "two.jsonl", "--from", "a.bayou", "--alerts", "a.jsonl")
    told = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    named = {int(name) for alert in told for name in alert["docs"]}
    assert named
    assert min(named) > 120


def test_the_report_of_a_tracker_that_was_saved(invoke, news, tmp_path):
    """What has run as a stream for weeks has a report, too, with quotes if the documents are still there."""
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    invoke("track", news, *how, "-o", "a.bayou", "--report", "a.html")
    invoke("report", "a.bayou", "-o", "b.html", "--title", "news")
    invoke("report", "a.bayou", news, "-o", "c.html", "--title", "news")
    first, without, quoted = ((tmp_path / f"{name}.html").read_text() for name in "abc")
    assert first == quoted
    assert "Topic shares over time" in without
    assert "<blockquote" in quoted
    assert "<blockquote" not in without
    said = invoke("report", "a.bayou", news, "--test", news, code=2).stderr
    assert "a tracker has no predictions to measure" in said


def test_a_first_slice_that_is_too_small_is_told(invoke, news, tmp_path):
    rows = news.read_text().splitlines(keepends=True)
    stray = tmp_path / "stray.jsonl"
    stray.write_text(
        json.dumps(json.loads(rows[0]) | {"when": "2019-05-01"}) + "\n" + "".join(rows)
    )
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    said = invoke("track", stray, *how, "-o", "a.bayou").stderr
    assert "the first slice (2019-04-29), which has only 1 document for 6 topics" in said
    assert "first slice" not in invoke("track", news, *how).stderr
    assert "first slice" not in invoke("track", news, "--from", "a.bayou").stderr


def test_a_last_slice_far_after_all_others_is_told(invoke, news, tmp_path):
    rows = news.read_text().splitlines(keepends=True)
    path = tmp_path / "typo.jsonl"
    path.write_text("".join(rows) + json.dumps(json.loads(rows[0]) | {"when": "2124-05-01"}) + "\n")
    how = ("--time", "when", "--slice", "week", "-k", "6", *QUICK)
    said = invoke("track", path, *how).stderr
    assert "The last slice (2124-05-01) is 5,228 slices after the one before" in said
    assert "if its date is wrong" in said
    assert "The last slice" not in invoke("track", news, *how).stderr
