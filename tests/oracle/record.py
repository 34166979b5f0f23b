"""Hash what every model saves and answers, and compare with what another version has recorded.

``python -m tests.oracle.record OUT.json [--only NAME ...] [--compare OTHER.json]``

Only the public interface is used. A case is a model with a seed and a way to learn, or some
commands. Its values are digests of the saved file, of the arrays and of the manifest in it, and
of all answers; an error is recorded by its type. ``--only`` takes names of cases, or how they
begin up to a ``/``, or patterns with ``*``. Set ``NUMBA_CACHE_DIR`` to a folder that belongs to
the version that runs.
"""

import argparse
import json
import multiprocessing
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

ALONE = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def chosen(names, only):
    """The names that were asked for, in order."""
    if not only:
        return list(names)
    return [name for name in names if any(_fits(name, one) for one in only)]


def _fits(name, one):
    return name == one or name.startswith(one.rstrip("/") + "/") or fnmatchcase(name, one)


def run(names, threads):
    """The values of some cases, and the seconds that each took."""
    from tests.oracle.cases import CASES
    from tests.oracle.digests import failure

    warnings.simplefilter("ignore")
    out = {}
    for name in names:
        begun = time.perf_counter()
        try:
            values = CASES[name](threads)
        except Exception as error:
            values = {"case": failure(error)}
        out[name] = (values, time.perf_counter() - begun)
    return out


def groups(names):
    """Cases of one class together, so that each process compiles or loads its kernels once."""
    out = {}
    for name in names:
        out.setdefault(name.partition("/")[0], []).append(name)
    pieces = [group[i : i + 60] for group in out.values() for i in range(0, len(group), 60)]
    return sorted(pieces, key=len, reverse=True)


def differing(found, other, whole):
    """Names of values that are not the same; of cases that only one side has, if ``whole``."""
    names = {*found, *other} if whole else set(found)
    out = []
    for name in sorted(names):
        one, two = found.get(name), other.get(name)
        if one is None or two is None:
            out.append(f"{name} (in one file only)")
            continue
        values = sorted({*one, *two})
        out += [f"{name}: {v}" for v in values if one.get(v) != two.get(v)]
    return out


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.oracle.record", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--compare", type=Path, metavar="OTHER.json")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--threads", type=int, default=1, help="n_threads of every model")
    parser.add_argument("--slowest", type=int, default=0, metavar="N", help="print so many cases")
    given = parser.parse_args()
    os.environ |= dict.fromkeys(ALONE, "1")
    from tests.oracle.cases import CASES

    names = chosen(CASES, given.only)
    if not names:
        parser.error(f"no case is called {' or '.join(given.only)}")
    found, seconds = {}, {}
    how = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(given.jobs, mp_context=how) as pool:
        jobs = [pool.submit(run, group, given.threads) for group in groups(names)]
        for job in jobs:
            for name, (values, took) in job.result().items():
                found[name], seconds[name] = values, took
    found = {name: dict(sorted(found[name].items())) for name in sorted(found)}
    given.out.write_text(json.dumps(found, indent=1) + "\n")
    for name in sorted(seconds, key=seconds.get, reverse=True)[: given.slowest]:
        print(f"{seconds[name]:7.2f} s  {name}")
    total = f"{len(found)} cases, {sum(map(len, found.values()))} values"
    if given.compare is None:
        print(total)
        return 0
    other = json.loads(given.compare.read_text())
    differs = differing(found, other, whole=not given.only)
    print(f"{total}; differing: {'none' if not differs else len(differs)}")
    for line in differs:
        print(f"  {line}")
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main())
