"""A stream whose model is the digest of all blocks in order: anything lost, doubled or moved changes it."""

import hashlib
import json
from pathlib import Path

import numpy as np

from bayou.data import DataError
from bayou.data.streams.sinks import JsonLines
from bayou.run.ingest import Ingest, IngestWork, Policy
from bayou.run.journal import Journal


class Toy:
    """Learns by hashing."""

    def __init__(self, kept=None):
        self.digest, self.n_learned = "", 0
        if kept is not None:
            self.digest = bytes(kept.arrays["digest"]).decode()
            self.n_learned = kept.manifest["n_learned"]

    def read(self, record):
        if not isinstance(record.get("text"), str):
            raise DataError("no text")
        return record.get("id"), record["text"]

    def answer(self, documents):
        return [{"said": f"{self.digest[:8]} {document}"} for document in documents]

    def learn(self, documents):
        self.digest = hashlib.sha256((self.digest + "|".join(documents)).encode()).hexdigest()
        self.n_learned += len(documents)

    def contents(self):
        array = np.frombuffer(self.digest.encode(), np.uint8)
        return {"digest": array}, {"n_learned": self.n_learned}

    def figures(self, waiting):
        return {"live_topics": 1.0, "vocabulary_terms": 2.0, "unknown_share": 0.5}


def stream(folder, source, *, sinks=None, stopped=lambda: False, told=print, keep=3, **policy):
    """A loop that is open, and its toy; ``sinks`` default to a file."""
    journal = Journal(Path(folder, "state"), keep, told)
    try:
        return opened(folder, source, journal, sinks, stopped, policy)
    except BaseException:
        journal.close()
        raise


def opened(folder, source, journal, sinks, stopped, policy):
    kept = journal.newest()
    toy = Toy(kept)
    sinks = [JsonLines(str(Path(folder, "out.jsonl")))] if sinks is None else list(sinks)
    sinks.append(JsonLines(str(Path(folder, "dead.jsonl"))))
    how = {"block": 4, "every_docs": 4, "every_seconds": None} | policy
    work = IngestWork(toy.read, toy.answer, toy.learn, toy.contents, toy.figures)
    loop = Ingest(source, sinks, journal, work, Policy(**how), {"source": source.name}, stopped)
    loop.open(kept)
    return loop, toy


def run(folder, source, **how):
    """A whole run; gives what came of it."""
    loop, toy = stream(folder, source, **how)
    try:
        loop.run()
    finally:
        loop.journal.close()
        for place in (loop.source, *loop.sinks):
            place.close()
    return toy


def outcome(folder, toy):
    """All that must be the same in the end."""
    files = [Path(folder, name) for name in ("out.jsonl", "dead.jsonl")]
    return toy.digest, toy.n_learned, *(f.read_bytes() for f in files if f.exists())


def rows(folder, name="out.jsonl"):
    return [json.loads(line) for line in Path(folder, name).read_text().splitlines()]


def lines(n, poison=5):
    """Documents and, every so many, something that is none."""
    out = []
    for i in range(n):
        out.append(json.dumps({"id": f"d{i}", "text": f"text {i} é"}))
        if i % poison == 2:
            out.append("{broken")
    return out


class Killed(BaseException):
    """Stands for the end of the process."""


class Clock:
    """Ends the process before or after one of the calls of some functions, given as (owner, name)."""

    def __init__(self, monkeypatch, at, targets):
        self.left = at
        for owner, name in targets:
            monkeypatch.setattr(owner, name, self.wrapped(getattr(owner, name)))

    def tick(self):
        self.left -= 1
        if self.left == 0:
            raise Killed

    def wrapped(self, function):
        def call(*args, **how):
            self.tick()
            result = function(*args, **how)
            self.tick()
            return result

        return call


def interrupted(monkeypatch, draw, most, targets, call):
    """Call until it comes to its end, however often it is killed; gives the result and how often it was."""
    killed = 0
    while True:
        with monkeypatch.context() as patched:
            Clock(patched, draw.randrange(1, most), targets)
            try:
                return call(), killed
            except Killed:
                killed += 1
