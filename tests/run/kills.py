"""Kill a stream at random moments, begin it again each time, and compare the end with an undisturbed run.

    python -m tests.run.kills FOLDER --kills 20                 files; forks, so a start costs milliseconds
    python -m tests.run.kills FOLDER --kills 200 --real         files; the command line itself
    python -m tests.run.kills FOLDER --kind redis --kills 20    another source and sink, see kill_kinds
    python -m tests.run.kills FOLDER --thousand                 1,000 kills over all kinds

Prints per kind how many documents were lost or counted twice, and whether all files are the same bytes.
"""

import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

from tests.run.kill_kinds import Kind, available

FRUIT = ["apple", "pear", "plum", "cherry", "grape", "melon"]
BEAST = ["wolf", "bear", "lynx", "otter", "fox", "badger"]
SPACE = ["rocket", "moon", "mars", "orbit", "comet", "star"]
KINDS = {"fruit": FRUIT, "beast": BEAST, "space": SPACE}
THOUSAND = {"files": 200, "gzip": 100, "stdin": 100, "folder": 100, "follow": 100, "redis": 150,
            "redis server": 50, "postgresql": 150, "postgresql server": 50}  # fmt: skip


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


def prepare(folder, n_docs):
    """Write the documents and a model to begin with."""
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


def forked(folder, words, feed=None):
    """A child that runs the command without starting Python anew."""
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        os.chdir(folder)
        if feed is not None:
            os.dup2(feed.stdout.fileno(), 0)
            feed.stdout.close()
        sink = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        from bayou.cli import app

        code = app(words, standalone_mode=False) or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def started(folder, words, feed=None):
    """The command line in a process of its own."""
    with open(Path(folder, "log"), "ab") as log:
        made = subprocess.Popen(
            [sys.executable, "-m", "bayou", *words], cwd=folder, stdout=log, stderr=log,
            stdin=None if feed is None else feed.stdout,
        )  # fmt: skip
    return made.pid


class Runner:
    """Starts the command of a kind in a folder."""

    def __init__(self, kind, block, real):
        self.kind, self.block, self.start = kind, block, started if real else forked

    def begin(self, folder, last=True):
        feed = self.kind.stdin(folder)
        pid = self.start(folder, self.kind.words(folder, self.block, last), feed)
        if feed is not None:
            feed.stdout.close()  # so that it ends with its reader
        return pid

    def finish(self, folder):
        """Run to the end; gives the seconds."""
        begun = time.monotonic()
        code = ended(self.begin(folder), 3600.0)
        assert code == 0, Path(folder, "log").read_text()[-2000:]
        return time.monotonic() - begun


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
    until = time.monotonic() + 5.0  # a file that grows may have ended
    while newest(folder) == before and time.monotonic() < until:
        code = ended(pid, 0.0)
        if code is not None:
            return code
        time.sleep(0.002)
    return None


def written(folder):
    """Bytes of what has come out."""
    out = Path(folder, "out.jsonl")
    return out.stat().st_size if out.exists() else 0


def disturbed(folder, runner, n_kills, size, moments, draw):
    """Run through so many kills: a few while it starts, most of them all along.

    However fast the machine is, the documents must last to the end: a child is killed at the latest when more
    than a kill's share of ``size`` bytes has come out, and after much more the next kills come as it starts.
    """
    killed, (idle, step) = 0, moments
    while killed < n_kills:
        before = newest(folder)
        most = (killed + 2) * size / (n_kills + 10)
        pid = runner.begin(folder, last=False)
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
    return killed


def server_disturbed(folder, runner, n_kills, size, draw):
    """Run once while the server is killed and started again so many times."""
    pid, killed = runner.begin(folder), 0
    for k in range(n_kills):
        wanted = draw.uniform(k, k + 1) * size / (n_kills + 1)
        code = ended(pid, 120.0, lambda wanted=wanted: written(folder) >= wanted)
        if code is not None:
            assert code == 0, Path(folder, "log").read_text()[-2000:]
            return killed
        time.sleep(draw.uniform(0.0, 0.02))
        runner.kind.restart()
        killed += 1
    code = ended(pid, 3600.0)
    assert code == 0, Path(folder, "log").read_text()[-2000:]
    return killed


def torn_apart(base, runner, n_kills, size, moments, seed):
    """A folder whose run was killed so many times; with smaller steps if the documents did not last."""
    idle, step = moments
    for attempt in range(20):
        folder = Path(base, f"torn{attempt}")
        folder.mkdir()
        runner.kind.begin(folder)
        draw = random.Random(seed)
        if runner.kind.kills_server:
            killed = server_disturbed(folder, runner, n_kills, size, draw)
        else:
            killed = disturbed(folder, runner, n_kills, size, (idle, step), draw)
        runner.kind.finish(folder)
        runner.finish(folder)
        if killed >= n_kills:
            break
        step *= 0.7
    return folder, killed


def compare(base, n_docs=2400, block=64, n_kills=20, real=False, seed=0, kind="files"):
    """Both runs in a folder; gives the line that says what became of the documents, and the kills made."""
    base = Path(base).absolute()
    base.mkdir(exist_ok=True, parents=True)
    prepare(base, n_docs)
    if not real:
        _warm(base / "warm", block)
    with contextlib.ExitStack() as stack:
        runner = Runner(available()[kind](), block, real)
        runner.kind.open(base, stack)
        whole = base / "whole"
        whole.mkdir()
        runner.kind.begin(whole)
        took = runner.finish(whole)
        one = runner.kind.outcome(whole)
        idle = runner.finish(whole)  # nothing is left: this is how long a start takes
        assert runner.kind.outcome(whole) == one
        moments = idle, max(took - idle, 0.1) / n_kills
        torn, killed = torn_apart(base, runner, n_kills, len(one["out.jsonl"]), moments, seed)
        other, wanted = runner.kind.outcome(torn), runner.kind.wanted(base)
    return f"{kind}: {killed} kills, {verdict(one, other, wanted)}", killed


def verdict(one, other, wanted):
    """What became of the documents."""
    rows = [json.loads(line) for line in other["out.jsonl"].splitlines()]
    count = collections.Counter(row["id"] for row in rows)
    lost = sum(name not in count for name in wanted)
    twice = sum(n > 1 for n in count.values())
    differs = [name for name in one if one[name] != other[name]]
    same = "identical" if not differs else f"different: {', '.join(differs)}"
    return f"{len(rows)} documents: {lost} lost, {twice} twice, {same}"


def _warm(folder, block):
    """Compile what a run needs here, once, for all children."""
    if folder.exists():
        return
    folder.mkdir()
    Path(folder, "docs.jsonl").write_text("\n".join(documents(300)) + "\n")
    kind = Kind()
    kind.source = "docs.jsonl"
    here = os.getcwd()
    os.chdir(folder)
    from bayou.cli import app

    try:
        code = app([*kind.words(folder, block), "-q"], standalone_mode=False)
    finally:
        os.chdir(here)
    assert not code


def run(p, kind, n_kills):
    """Compare one kind; gives whether all is well."""
    n_docs = p.docs or 40 * n_kills
    base = Path(p.folder, kind.replace(" ", "-"))
    said, killed = compare(base, n_docs, p.block, n_kills, p.real, p.seed, kind)
    print(said, flush=True)
    return killed >= n_kills and said.endswith("0 lost, 0 twice, identical")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--kind", default="files", choices=[*available(), "all"])
    parser.add_argument("--kills", type=int, default=20, help="of each kind")
    parser.add_argument("--thousand", action="store_true", help="1,000 kills over all kinds")
    parser.add_argument("--docs", type=int)
    parser.add_argument("--block", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--real", action="store_true")
    p = parser.parse_args()
    wanted = {p.kind: p.kills} if p.kind != "all" else dict.fromkeys(available(), p.kills)
    wanted = THOUSAND if p.thousand else wanted
    good = [run(p, kind, n_kills) for kind, n_kills in wanted.items()]
    if len(good) > 1:
        print(
            f"{sum(wanted.values())} kills in all, {sum(good)} of {len(good)} kinds without a fault"
        )
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
