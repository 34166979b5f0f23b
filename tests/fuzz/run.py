"""``python -m tests.fuzz.run --cases 1000``: try cases in worker processes and print what was found.

A worker that crashes or takes over ten seconds for a case is replaced. The exit code is 1 if anything was
found: a crash, a hang, an allocation over 2 GiB, an untyped error or an answer that is not finite.
"""

import argparse
import collections
import os
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
SECONDS = 10.0
COMPILING = 600.0  # the first case of a file may compile kernels
CHUNK = 500  # cases per worker


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


def lines_of(process):
    """The lines of a worker with the seconds they took; None if one takes too long."""
    buffer, limit = b"", COMPILING
    while True:
        ready, _, _ = select.select([process.stdout], [], [], limit)
        if not ready:
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--files", help="a folder with valid files, written if it is empty")
    given = parser.parse_args()
    counts, found = collections.Counter(), 0
    with tempfile.TemporaryDirectory() as own:
        folder = given.files or own
        Path(folder).mkdir(exist_ok=True)
        if not list(Path(folder).glob("*.bayou")):
            write_seeds(folder)
        until = time.monotonic() + given.seconds
        cases = range(given.first, given.first + given.cases)
        for case, told, outcome in try_cases(folder, given.seed, cases, until):
            counts[
                "refused" if outcome == "typed" else "loaded" if outcome == "ok" else "found"
            ] += 1
            if outcome not in ("typed", "ok"):
                found += 1
                print(f"case {case} {told}\n    {outcome}", flush=True)
    total = sum(counts.values())
    print(
        f"{total} cases: {counts['refused']} refused, {counts['loaded']} loaded and fine, {found} found"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
