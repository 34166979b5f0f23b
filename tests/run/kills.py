"""Kill a stream at random moments, begin it again each time, and compare the end with an undisturbed run.

    python -m tests.run.kills FOLDER --kills 20            forks, so that a start costs milliseconds
    python -m tests.run.kills FOLDER --kills 200 --real    the command line itself

Prints how many documents were lost or counted twice and whether all files are the same, byte for byte.
"""

import argparse
import collections
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

FRUIT = ["apple", "pear", "plum", "cherry", "grape", "melon"]
BEAST = ["wolf", "bear", "lynx", "otter", "fox", "badger"]
SPACE = ["rocket", "moon", "mars", "orbit", "comet", "star"]
KINDS = {"fruit": FRUIT, "beast": BEAST, "space": SPACE}
FLAGS = ("--label", "label", "--remember", "500", "--min-docs", "3", "--memory", "1024",
         "--checkpoint-docs", "1", "--checkpoint-seconds", "0.03")  # fmt: skip


def documents(n, seed=0):
    """Lines of a stream with all that can be in one: new words, a new label, poison, repeats, no label."""
    draw = random.Random(seed)
    for i in range(n):
        kind = draw.choice(list(KINDS)[: 2 if i < n // 3 else 3])
        words = draw.choices(KINDS[kind], k=8) + [f"w{i // 100}x{draw.randrange(9)}"]
        record = {"id": f"d{i}", "text": " ".join(words), "label": kind if i % 7 else ""}
        yield json.dumps(record)
        if i % 97 == 5:
            yield json.dumps(record)  # told twice
        if i % 131 == 7:
            yield draw.choice(["{not json", "[1, 2]", '{"id": "x", "body": "no text"}', "\ufffe"])


def prepared(folder, n_docs):
    """The documents and a model to begin with; gives the ids that must come out."""
    from typer.testing import CliRunner

    from bayou.cli import app

    lines = list(documents(n_docs))
    Path(folder, "docs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    first = Path(folder, "first.jsonl")
    first.write_text("\n".join(x for x in lines[:200] if x.startswith('{"id": "d')) + "\n")
    words = ["fit", first, "-m", "online-med-lda", "--label", "label", "-k", 6, "-o",
             Path(folder, "m.bayou"), "--min-df", "1", "-q"]  # fmt: skip
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, (done.stderr, done.exception)
    return [f"d{i}" for i in range(n_docs)]


def command(block):
    return ["stream", "../m.bayou", "../docs.jsonl", "-o", "out.jsonl", "-o",
            "sqlite:///out.db#answers", "--state", "state", "--block", str(block), *FLAGS]  # fmt: skip


def forked(folder, words):
    """A child that runs the command without starting Python anew."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.chdir(folder)
        sink = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        from bayou.cli import app

        code = app(words, standalone_mode=False) or 0
    finally:
        sys.stderr.flush()
        os._exit(code)


def started(folder, words):
    """The command line in a process of its own."""
    log = open(Path(folder, "log"), "ab")  # noqa: SIM115 - the child has it
    made = subprocess.Popen(
        [sys.executable, "-m", "bayou", *words], cwd=folder, stdout=log, stderr=log
    )
    log.close()
    return made.pid


def ended(pid, seconds, enough=lambda: False):
    """The exit code of a child that ends within so many seconds and before it has done enough, else None."""
    until = time.monotonic() + seconds
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= until or enough():
            return None
        time.sleep(0.001)


def newest(folder):
    """The last checkpoint."""
    state = Path(folder, "state")
    return max((path.name for path in state.glob("checkpoint-*")), default="")


def alive(pid, folder, before):
    """Wait for the first checkpoint of a run; gives the exit code if it has ended already."""
    while newest(folder) == before:
        code = ended(pid, 0.0)
        if code is not None:
            return code
        time.sleep(0.002)
    return None


def written(folder):
    """Bytes of what has come out."""
    out = Path(folder, "out.jsonl")
    return out.stat().st_size if out.exists() else 0


def disturbed(folder, begin, words, n_kills, size, moments, draw):
    """Run to the end through so many kills: a few while it starts, most of them all along.

    However fast the machine is, the documents must last to the end: a child is killed at the latest when more
    than a kill's share of ``size`` bytes has come out, and after much more the next kills come as it starts.
    """
    killed, (idle, step) = 0, moments
    while killed < n_kills:
        before = newest(folder)
        most = (killed + 2) * size / (n_kills + 10)
        pid = begin(folder, words)
        if written(folder) > most or draw.random() < 0.2:
            code = ended(
                pid, draw.uniform(0.0, 1.2 * idle), lambda before=before: newest(folder) != before
            )
        else:
            code = alive(pid, folder, before)
            if code is None:
                code = ended(
                    pid, draw.uniform(0.0, 1.8 * step), lambda most=most: written(folder) > most
                )
        if code is not None:
            assert code == 0, Path(folder, "log").read_text()[-2000:]
            break
        os.kill(pid, signal.SIGKILL)
        assert ended(pid, 60.0) in (0, -signal.SIGKILL)
        killed += 1
    code = ended(begin(folder, words), 3600.0)
    assert code == 0, Path(folder, "log").read_text()[-2000:]
    return killed


def outcome(folder):
    """Everything that came out."""
    files = {name: Path(folder, name).read_bytes() for name in
             ("out.jsonl", "state/model.bayou", "state/dead-letters.jsonl")}  # fmt: skip
    with sqlite3.connect(Path(folder, "out.db")) as db:
        files["out.db"] = db.execute("SELECT * FROM answers ORDER BY n").fetchall()
    return files


def compare(base, n_docs=2400, block=64, n_kills=20, real=False, seed=0):
    """Both runs in a folder; gives the line that says what became of the documents, and the kills made."""
    Path(base).mkdir(exist_ok=True)
    wanted = prepared(base, n_docs)
    begin, words = (started if real else forked), command(block)
    whole, torn = Path(base, "whole"), Path(base, "torn")
    whole.mkdir()
    if not real:
        warm = Path(base, "warm")
        warm.mkdir()
        _warm(warm, block)
    begun = time.monotonic()
    code = ended(begin(whole, words), 3600.0)
    took = time.monotonic() - begun
    assert code == 0, Path(whole, "log").read_text()[-2000:]
    before = outcome(whole)
    begun = time.monotonic()
    assert (
        ended(begin(whole, words), 3600.0) == 0
    )  # nothing is left: this is how long a start takes
    idle = time.monotonic() - begun
    assert outcome(whole) == before
    step, killed = max(took - idle, 0.1) / n_kills, 0
    while (
        killed < n_kills
    ):  # where the machine was faster than it had been, once more, in smaller steps
        shutil.rmtree(torn, ignore_errors=True)
        torn.mkdir()
        moments = idle, step
        size = len(before["out.jsonl"])
        killed = disturbed(torn, begin, words, n_kills, size, moments, random.Random(seed))
        step *= 0.7
    one, other = outcome(whole), outcome(torn)
    rows = [json.loads(line) for line in other["out.jsonl"].splitlines()]
    count = collections.Counter(row["id"] for row in rows)
    lost = sum(name not in count for name in wanted)
    twice = sum(n > 1 for n in count.values())
    differs = [name for name in one if one[name] != other[name]]
    same = "identical" if not differs else f"different: {', '.join(differs)}"
    said = f"{killed} kills, {len(rows)} documents: {lost} lost, {twice} twice, {same}"
    return said, killed


def _warm(folder, block):
    """Compile what a run needs here, once, for all children."""
    lines = list(documents(300))
    Path(folder, "docs.jsonl").write_text("\n".join(lines) + "\n")
    words = command(block)
    words[2] = "docs.jsonl"
    here = os.getcwd()
    os.chdir(folder)
    from bayou.cli import app

    try:
        code = app([*words, "-q"], standalone_mode=False)
    finally:
        os.chdir(here)
    assert not code


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--docs", type=int, default=2400)
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true")
    p = parser.parse_args()
    said, killed = compare(p.folder, p.docs, p.block, p.kills, p.real, p.seed)
    print(said)
    sys.exit(0 if killed >= p.kills and said.endswith("0 lost, 0 twice, identical") else 1)


if __name__ == "__main__":
    main()
