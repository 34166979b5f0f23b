"""``python -m tests.fuzz.run --cases 1000``: try cases in worker processes and print what was found.

Case n of a seed is always the same change of the same file, whatever the number of workers and wherever a
run begins (``--first``). A worker keeps the cases of its files together, so that kernels are loaded once per
file. A worker that crashes or computes for over ten seconds on a case is replaced. The exit code is 1 if
anything was found: a crash, a hang, an allocation over 2 GiB, an untyped error or an answer that is not
finite.
"""

import argparse
import collections
import os
import queue
import select
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.fuzz.blocks import file_of

ROOT = Path(__file__).parents[2]
SECONDS = 10.0  # of computation per case
COMPILING = 600.0  # the first case of a file may compile kernels
WAITING = 12  # times as many seconds by the clock, on a busy machine
CHUNK = 2500  # cases per worker process


def start(folder, seed, cases, bounds):
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fuzz.worker", folder, str(seed), *map(str, cases)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT, env=environment(bounds),
    )  # fmt: skip


def environment(bounds=True):
    """The environment of a worker; with ``bounds``, kernels check every index."""
    if not bounds:
        return os.environ
    cache = os.environ.get("NUMBA_CACHE_DIR", str(ROOT / ".numba_cache" / "fuzz")) + "-bounds"
    paths = [str(ROOT / "src"), str(ROOT)]
    more = {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": cache,
        "PYTHONPATH": os.pathsep.join(paths),
    }
    return {**os.environ, **more, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def cpu_seconds(process):
    """Seconds that a process has computed; 0 where the system does not say."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_for_data(process, limit):
    """Whether data come before the process has computed for ``limit`` seconds."""
    end, most = time.monotonic() + limit, time.monotonic() + WAITING * limit
    first = cpu_seconds(process)
    while time.monotonic() < most:
        if select.select([process.stdout], [], [], 1.0)[0]:
            return True
        computed = cpu_seconds(process) - first
        if time.monotonic() > end and not 0.0 < computed < limit:
            return False
    return False


def lines_of(process):
    """The lines of a worker; None if one takes too long."""
    buffer, limit = b"", COMPILING
    while True:
        if not wait_for_data(process, limit):
            yield None
            return
        data = os.read(process.stdout.fileno(), 65536)
        if not data:
            return
        *lines, buffer = (buffer + data).split(b"\n")
        for line in lines:
            text = line.decode(errors="replace")
            limit = COMPILING if text.endswith(": unchanged") or text.startswith("end") else SECONDS
            yield text


def try_cases(folder, seed, cases, until=float("inf"), bounds=True):
    """Yield the number, the description and the outcome of each case."""
    left = list(cases)
    while left and time.monotonic() < until:
        process = start(folder, seed, left[:CHUNK], bounds)
        told, done = "", set()
        case = left[0]
        try:
            for line in lines_of(process):
                if line is None:
                    process.kill()
                    done.add(case)
                    yield case, told, f"hang over {SECONDS:g} s"
                    break
                word, number, rest = (*line.split(" ", 2), "", "")[:3]
                case = int(number)
                if word == "start":
                    told = rest
                else:
                    done.add(case)
                    yield case, told, rest
                if time.monotonic() > until:
                    return
            else:
                if process.wait() != 0:
                    done.add(case)
                    error = process.stderr.read().decode(errors="replace").strip()[-300:]
                    yield case, told, f"crash {process.returncode} {error}".replace("\n", " ")
        finally:
            process.kill()
            process.wait()
            process.stdout.close()
            process.stderr.close()
        left = [n for n in left if n not in done]


def write_seeds(folder):
    code = "import sys; from tests.fuzz import seeds; seeds.write_all(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, folder],
        cwd=ROOT,
        env=environment(),
        check=True,
    )


def try_in_parallel(folder, seed, cases, workers, until=float("inf")):
    """Yield cases as `try_cases` does, from several workers, each with files of its own."""
    files = sorted(Path(folder).glob("*.bayou"))
    ordered = sorted(cases, key=lambda case: (file_of(case, len(files)), case))
    told = queue.SimpleQueue()

    def work(which):
        mine = [n for n in ordered if file_of(n, len(files)) % workers == which]
        try:
            for one in try_cases(folder, seed, mine, until):
                told.put(one)
        finally:
            told.put(None)

    for which in range(workers):
        threading.Thread(target=work, args=(which,), daemon=True).start()
    left = workers
    while left:
        one = told.get()
        left -= one is None
        if one is not None:
            yield one


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--files", help="a folder with valid files, written if it is empty")
    return parser.parse_args()


def main():
    given = arguments()
    counts, began = collections.Counter(), time.monotonic()
    with tempfile.TemporaryDirectory() as own:
        folder = given.files or own
        Path(folder).mkdir(exist_ok=True, parents=True)
        if not list(Path(folder).glob("*.bayou")):
            write_seeds(folder)
        until = time.monotonic() + given.seconds
        cases = range(given.first, given.first + given.cases)
        for case, told, outcome in try_in_parallel(folder, given.seed, cases, given.workers, until):
            counts[OUTCOMES.get(outcome, "found")] += 1
            if outcome not in OUTCOMES:
                print(f"case {case} {told}\n    {outcome}", flush=True)
            if counts.total() % 1000 == 0:
                print(summary(counts, began), flush=True)
    print(f"seed {given.seed}, first {given.first}: {summary(counts, began)}")
    return 1 if counts["found"] else 0


OUTCOMES = {"typed": "refused", "ok": "loaded"}


def summary(counts, began):
    """One line about the cases so far."""
    return (
        f"{counts.total()} cases: {counts['refused']} refused, {counts['loaded']} loaded and fine, "
        f"{counts['found']} found, {time.monotonic() - began:.0f} s"
    )


if __name__ == "__main__":
    sys.exit(main())
