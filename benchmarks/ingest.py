"""bayou stream: documents a second with checkpoints, memory over a million documents, and two hundred kills.

    python benchmarks/ingest.py                                  everything
    python benchmarks/ingest.py --only rate --docs 200000
    python benchmarks/ingest.py --only memory --docs 1000000
    python benchmarks/ingest.py --only kills --kills 200

Documents are sentences of arXiv abstracts (folder in BAYOU_DATA; without one, of the built-in docstrings),
over and over, each ten thousand with a hundred words that were never there before. The command line itself is
run, in a process of its own, with all that it does: reading JSON lines, answering, learning, growing,
checkpoints.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bayou.data import iter_records
from bayou.datasets import iter_docstrings

ROOT = Path(__file__).parents[1]
SENTENCE = re.compile(r"(?<=[.!?])\s+")
PAGE = os.sysconf("SC_PAGE_SIZE")


def sentences() -> list[str]:
    folder = Path(os.environ.get("BAYOU_DATA", "none"), "arxiv_cs")
    files = sorted(folder.glob("*.jsonl.gz"))
    texts = (
        (record["text"] for path in files for record in iter_records(path))
        if files
        else (record.text for record in iter_docstrings())
    )
    found = (part for text in texts for part in SENTENCE.split(text))
    return [part for part in found if 5 <= len(part.split()) <= 40]


def documents(n: int) -> Iterator[str]:
    draw, pool = random.Random(0), sentences()
    draw.shuffle(pool)
    for i, text in zip(range(n), itertools.cycle(pool)):
        new = f" new{i // 10_000}x{draw.randrange(100)}" if draw.random() < 0.2 else ""
        yield json.dumps({"id": i, "text": text + new})


def prepared(folder: Path, n_docs: int, n_topics: int) -> None:
    with (folder / "docs.jsonl").open("w") as file, (folder / "first.jsonl").open("w") as first:
        for i, line in enumerate(documents(n_docs)):
            file.write(line + "\n")
            if i < 5_000:
                first.write(line + "\n")
    words = ["fit", "first.jsonl", "-m", "online-lda", "-k", str(n_topics), "-o", "m.bayou", "-q"]
    subprocess.run([sys.executable, "-m", "bayou", *words], cwd=folder, check=True,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def figure(folder: Path, name: str) -> float:
    try:
        text = (folder / "m.prom").read_text()
    except FileNotFoundError:
        return 0.0
    found = re.search(rf"^bayou_stream_{name}(?:{{.*}})? (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def streamed(
    folder: Path, every: float, *more: str
) -> tuple[list[tuple[float, float]], float, float]:
    """(documents, megabytes) along the way; seconds from the first document on; CPU seconds of all."""
    words = ["stream", "m.bayou", "docs.jsonl", "-o", "out.jsonl", "--metrics", "m.prom", "-q",
             "--report-seconds", str(every), "--checkpoint-seconds", "10", "--threads", "2",
             *more]  # fmt: skip
    process = subprocess.Popen([sys.executable, "-m", "bayou", *words], cwd=folder)
    seen: list[tuple[float, float]] = []
    begun = None
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        if begun is None and (folder / "out.jsonl").exists():
            begun = time.monotonic()
        n = figure(folder, "documents_total")
        if n and (not seen or n > seen[-1][0]):
            resident = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1]) * PAGE
            seen.append((n, resident / 2**20))
        time.sleep(0.2)
    assert os.waitstatus_to_exitcode(status) == 0
    assert begun is not None
    return seen, time.monotonic() - begun, usage.ru_utime + usage.ru_stime


def rate(n_docs: int, n_topics: int) -> None:
    print(f"\n### Documents a second: {n_docs:,} sentences, {n_topics} topics, two threads\n")
    print(
        "| answers | checkpoint | documents a second, wall clock | a CPU second | checkpoints | target |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, n_docs, n_topics)
        _, wall, cpu = streamed(folder, 10.0)
        n_rows = sum(1 for _ in (folder / "out.jsonl").open())
        assert n_rows == n_docs
        speed, made = n_docs / wall, figure(folder, "checkpoints_total")
        met = "met" if speed >= 5_000 else "**missed**"
        print(
            f"| JSON lines, 3 topics each | every 10 s | {speed:,.0f} | {n_docs / cpu:,.0f} | {made:.0f} | "
            f"{met} (≥ 5,000) |",
            flush=True,
        )


def memory(n_docs: int, n_topics: int, max_terms: int) -> None:
    """The words come to the cap while it warms up; until then the matrix of topics grows with them."""
    print(
        f"\n### Memory over {n_docs:,} documents, {n_topics} topics, {max_terms:,} terms at most\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepared(folder, n_docs, n_topics)
        seen, wall, _ = streamed(folder, 1.0, "--max-terms", str(max_terms))
        terms = figure(folder, "vocabulary_terms")
    docs, used = np.array(seen).T
    late = docs > 0.2 * n_docs
    slope = float(np.polyfit(docs[late] / 1e5, used[late], 1)[0])
    print("| documents | MB resident |\n| --- | --- |")
    for part in np.linspace(0.1, 1.0, 10):
        i = int(np.argmin(np.abs(docs - part * n_docs)))
        print(f"| {docs[i]:,.0f} | {used[i]:.1f} |")
    met = "met" if slope < 1.0 else "**missed**"
    print(
        f"\nSlope after the first fifth: {slope:.3f} MB per 100,000 documents, {met} (< 1); {terms:,.0f} "
        f"terms in the end; {n_docs / wall:,.0f} documents a second.",
        flush=True,
    )


def kills(n: int, real: bool) -> None:
    sys.path.insert(0, str(ROOT))
    from tests.run.kills import compare

    how = "the command line started anew each time" if real else "forked, so that a start is quick"
    print(f"\n### SIGKILL at {n} random moments of one run ({how})\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        said, _ = compare(Path(name, "run"), n_docs=60 * n, block=16, n_kills=n, real=real)
    print(said, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", default=["rate", "memory", "kills"])
    parser.add_argument("--docs", type=int)
    parser.add_argument("--topics", type=int, default=50)
    parser.add_argument("--max-terms", type=int, default=20_000)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--real", action="store_true", help="kill the command line, not a fork")
    p = parser.parse_args()
    if "rate" in p.only:
        rate(p.docs or 200_000, p.topics)
    if "memory" in p.only:
        memory(p.docs or 1_000_000, p.topics, p.max_terms)
    if "kills" in p.only:
        kills(p.kills, p.real)


if __name__ == "__main__":
    main()
