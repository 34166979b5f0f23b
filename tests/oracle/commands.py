"""The command line, in this process: the files that it writes, not what it prints."""

import contextlib
import csv
import io
import json
import os
import runpy
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import numpy as np
from tests.oracle import digests, documents

COMMANDS = {}
KEEP = ("--min-df", "1", "--max-df", "1.0", "--stop-words", "none")


def bayou(*words, threads=1, input=""):
    """Run a command as `python -m bayou` would; gives the exit code."""
    spoken = [str(word) for word in words]
    takes_threads = spoken[0] not in ("labels", "topics", "inspect")
    given = ["bayou", *spoken, *(["--threads", str(threads)] if takes_threads else [])]
    said = io.TextIOWrapper(io.BytesIO(), write_through=True)
    code = 0
    with (
        mock.patch.object(sys, "argv", given),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(input.encode()))),
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        try:
            runpy.run_module("bayou", run_name="__main__", alter_sys=False)
        except SystemExit as end:
            code = end.code
    return code


def rows(n_docs=80, seed=1, late=40):
    """Records with everything that a column may hold."""
    data = documents.make(n_docs, seed)
    for i, text in enumerate(documents.texts(n_docs, seed, late)):
        yield {
            "id": f"r{i}",
            "body": text,
            "kind": str(data.targets["classes"][i]),
            "tags": data.targets["labels"][i],
            "size": round(float(data.targets["number"][i]), 3),
        }


def write_all():
    """train and new as JSON lines and CSV, and the stream of news."""
    for name, some in (("train", list(rows())), ("new", list(rows(16, 2, 4)))):
        lines = "".join(json.dumps(row) + "\n" for row in some)
        Path(f"{name}.jsonl").write_text(lines)
        with open(f"{name}.csv", "w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["id", "body", "kind", "tags", "size"])
            for row in some:
                table.writerow([*list(row.values())[:3], "|".join(row["tags"]), row["size"]])
    lines = Path("train.jsonl").read_text().splitlines(keepends=True)
    Path("head.jsonl").write_text("".join(lines[:45]))
    Path("tail.jsonl").write_text("".join(lines[45:]))
    corpus, rng = documents.news(), np.random.default_rng(9)
    with open("news.jsonl", "w") as file:
        for i, row in enumerate(corpus.counts.toarray().astype(int)):
            text = documents.words_of(row, documents.NAMES, rng)
            record = {"id": corpus.ids[i], "text": text, "when": str(corpus.times[i])[:10]}
            file.write(json.dumps(record) + "\n")
    lines = Path("news.jsonl").read_text().splitlines(keepends=True)
    Path("news1.jsonl").write_text("".join(lines[:60]))
    Path("news2.jsonl").write_text("".join(lines[60:]))


def written(before):
    """Digests of all files that the commands have made."""
    out = {}
    for path in sorted(Path().rglob("*")):
        name = path.as_posix()
        if path.is_dir() or name in before or path.name == "lock":
            continue
        if b'"format":"bayou"' in path.read_bytes()[:4096]:
            out |= {f"{name} {k}": v for k, v in digests.of_file(path).items()}
        else:
            out[f"{name} bytes"] = digests.of_bytes(path.read_bytes())
    return out


def session(steps, seed, threads):
    """Some commands one after the other in a folder of their own."""
    old, out = os.getcwd(), {}
    own = {k: v for k, v in os.environ.items() if not k.startswith("BAYOU_")}
    with TemporaryDirectory() as folder, mock.patch.dict(os.environ, own, clear=True):
        os.chdir(folder)
        try:
            write_all()
            before = {path.as_posix() for path in Path().rglob("*")}
            for i, step in enumerate(steps):
                begins = step[0] in ("fit", "track") and "--from" not in step
                more = ("--seed", seed) if begins else ()
                source = Path(step[-1][1:]).read_text() if step[-1].startswith("<") else ""
                words = step[:-1] if source else step
                try:
                    out[f"code {i} {step[0]}"] = str(
                        bayou(*words, *more, threads=threads, input=source)
                    )
                except Exception as error:
                    out[f"code {i} {step[0]}"] = digests.failure(error)
            return out | written(before)
        finally:
            os.chdir(old)


def add(name, *steps, seeds=(0, 7)):
    for seed in seeds:
        COMMANDS[f"command/{name}/{seed}"] = partial(session, steps, seed)


def fit(model, *more, file="train.jsonl", out="m.bayou"):
    return ("fit", file, "-m", model, "--text", "body", *KEEP, *more, "-o", out)


def sets(**values):
    return tuple(word for k, v in values.items() for word in ("--set", f"{k}={v}"))


ASK = (
    ("predict", "m.bayou", "new.jsonl", "-o", "predicted.jsonl"),
    ("predict", "m.bayou", "new.csv", "-o", "predicted.csv"),
    ("predict", "m.bayou", "new.jsonl", "--top", "2", "-o", "top.tsv"),
    ("explain", "m.bayou", "new.jsonl", "-o", "explained.jsonl"),
    ("explain", "m.bayou", "new.csv", "--top", "2", "-o", "explained.csv"),
)
CLASS, TAGS, SIZE = ("--label", "kind"), ("--label", "tags"), ("--target", "size")
SPLIT = (*TAGS, "--label-separator", "|")
SHORT = sets(n_sweeps=6, n_kept=2)
QUICK = sets(n_sweeps=10, min_tokens=30, warm_up=1)
BATCH = sets(batch_size=16)

add("lda", fit("lda", "-k", "4"), *ASK)
add(
    "lda words", ("fit", "train.csv", "--text", "body", "-k", "3", "--ngrams", "2", "-o", "m.bayou")
)
kept = ("--checkpoint-dir", ".", "-k", "4", *sets(inference="gibbs", n_sweeps=15))
add("lda checkpoint", fit("lda", *kept), *ASK[:1])
add("hdp", fit("hdp", *sets(n_sweeps=8)), *ASK)
add("med-lda class", fit("med-lda", *CLASS, "-k", "6", *SHORT), *ASK)
add("med-lda tags", fit("med-lda", *SPLIT, "-k", "6", *SHORT, file="train.csv"), *ASK)
add("med-lda size", fit("med-lda", *SIZE, "-k", "6", *SHORT), *ASK)
add("med-hdp class", fit("med-hdp", *CLASS, *SHORT), *ASK)
add("labeled-lda", fit("labeled-lda", *TAGS, *SHORT), *ASK)
add("dependency-lda", fit("dependency-lda", *SPLIT, *SHORT, "-k", "3", file="train.csv"), *ASK)
add("author-topic-model", fit("author-topic-model", *TAGS, "-k", "4", *SHORT), *ASK)
add("spectral-lda", fit("spectral-lda", "-k", "3", *sets(burn_in=20)), *ASK)

for _model, _columns, _how in (
    ("online-lda", (), ("-k", "4", *BATCH)),
    ("online-hdp", (), ("-k", "12", *BATCH)),
    ("online-med-lda", CLASS, ("-k", "6", *BATCH)),
    ("online-med-lda", TAGS, ("-k", "6", *BATCH)),
    ("online-med-lda", SIZE, ("-k", "6", *BATCH)),
    ("online-med-hdp", CLASS, BATCH),
    ("online-labeled-lda", TAGS, BATCH),
    ("online-labeled-hdp", TAGS, BATCH),
    ("online-dependency-lda", TAGS, ("-k", "3", *BATCH, *sets(n_chains=2))),
    ("stepwise-em", (), ("-k", "4", *BATCH)),
):
    _title = f"{_model} {' '.join(_columns[1:])}".rstrip()
    _first = fit(_model, *_columns, *_how, file="head.jsonl")
    _closed = ("--closed", "--block", "16", "--state", "closed", "--checkpoint-seconds", "1000")
    _grown = ("--block", "16", "--state", "grown", "--checkpoint-docs", "16", "--min-docs", "2")
    add(
        f"{_title} stream",
        _first,
        ("update", "m.bayou", "tail.jsonl", *_columns, "-o", "u.bayou"),
        ("update", "m.bayou", "train.jsonl", *_columns, "--skip", "60", "-o", "s.bayou"),
        ("stream", "m.bayou", "tail.jsonl", *_columns, *_closed, "-o", "closed.jsonl"),
        ("stream", "m.bayou", "tail.jsonl", *_columns, *_grown, "-o", "grown.jsonl", "--top", "0"),
        *ASK[:4:3],
    )
    add(
        f"{_title} pipe",
        ("fit", "-", "-m", _model, "--text", "body", *KEEP, *_columns, *_how, "--first", "40",
         "-o", "m.bayou", "<train.jsonl"),
        ("update", "m.bayou", "-", *_columns, "-o", "u.bayou", "<tail.jsonl"),
        seeds=(0,),
    )  # fmt: skip

_merge = ("--merge", "north", "--merge", "zenith", "--into", "up")
add(
    "labels",
    fit("online-labeled-lda", *TAGS, *BATCH),
    ("labels", "m.bayou", "--add", "new", "-o", "added.bayou"),
    ("labels", "m.bayou", *_merge, "-o", "merged.bayou"),
    ("labels", "m.bayou", "--split", "east", "--into", "e1", "--into", "e2", "-o", "split.bayou"),
    ("labels", "m.bayou", "--remove", "south", "-o", "removed.bayou"),
)
_track = ("--time", "when", "--slice", "week", "-k", "4", "--min-df", "2", *QUICK)
_alone = ("--stop-words", "none")
add(
    "track",
    ("track", "news.jsonl", *_track, *_alone, "--alerts", "a.jsonl", "-o", "m.bayou"),
    ("predict", "m.bayou", "news2.jsonl", "-o", "predicted.jsonl"),
    ("explain", "m.bayou", "news2.jsonl", "-o", "explained.jsonl"),
)
_from = ("--time", "when", "--from", "half.bayou", "--alerts", "b.jsonl", "-o", "both.bayou")
_state = ("--time", "when", "--state", "tracked", "--checkpoint-seconds", "1000")
add(
    "track in parts",
    ("track", "-", *_track, *_alone, "--keep-open", "-o", "half.bayou", "<news1.jsonl"),
    ("track", "news2.jsonl", *_from),
    ("stream", "half.bayou", "news2.jsonl", *_state, "-o", "s.jsonl", "--alerts", "c.jsonl"),
)
_again = ("--state", "s", "--block", "16", "--checkpoint-seconds", "1000", "-o", "out.jsonl")
add(
    "stream twice",
    fit("online-med-lda", *CLASS, "-k", "6", *BATCH, file="head.jsonl"),
    ("stream", "m.bayou", "tail.jsonl", *CLASS, *_again),
    ("stream", "m.bayou", "tail.jsonl", *CLASS, *_again),
)
_judged = ("--progressive", "-o", "judged.bayou")
add(
    "evaluate",
    fit("online-med-lda", *CLASS, "-k", "6", *BATCH, file="head.jsonl"),
    ("evaluate", "m.bayou", "tail.jsonl", *CLASS, *_judged),
)
