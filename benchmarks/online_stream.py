"""Long streams: many labels, documents a second, resident memory; called by `online.py`."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.metrics import f1_score

from bayou import Corpus, MedLDAClassifier, OnlineMedLDAClassifier
from bayou.data import read
from max_margin import cpu


def resident() -> float:
    """Megabytes of this process now, where the system tells; else the most there were."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(t for t in status.read_text().splitlines() if t.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(n_docs: int, kinds: tuple[str, ...], n_batch: list[int]) -> None:
    """arxiv_big, several labels a document: documents a second, micro-F1, resident memory."""
    folder = Path(os.environ["BAYOU_DATA"]) / "arxiv_big"
    train, test = (read(folder / f"{part}.svm.gz") for part in ("train", "test"))
    test = test[np.arange(0, test.n_docs, max(test.n_docs // 5000, 1))]
    width = max(train.n_terms, test.n_terms)
    labels = [np.asarray(c.labels.toarray()) for c in (train, test)]
    n_labels = max(part.shape[1] for part in labels)
    y, want = (np.pad(part, ((0, 0), (0, n_labels - part.shape[1]))) for part in labels)
    counts, few = csr_array(train.counts), csr_array(test.counts)
    counts.resize((counts.shape[0], width))
    few.resize((few.shape[0], width))
    for kind in kinds:  # compile
        model = OnlineMedLDAClassifier(classifier=kind, n_topics=40, n_threads=1)
        model.partial_fit(Corpus.from_matrix(counts[:200]), y[:200], classes=np.arange(n_labels))
        model.predict(Corpus.from_matrix(few[:10]))
    print(f"\n### arxiv_big, {n_labels} labels, {width:,} terms, K = 40, one stream\n")
    print(
        "| model | documents | micro-F1 | documents / CPU s | target | resident MB: start, half, end |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in kinds:
        model = OnlineMedLDAClassifier(classifier=kind, n_topics=40, random_state=0, n_threads=1)
        order, spent, seen, memory = np.random.default_rng(0).permutation(len(y)), 0.0, 0, []
        while seen < n_docs:
            at = order[np.arange(seen, min(seen + 8192, n_docs)) % len(order)]
            part, labels_ = Corpus.from_matrix(counts[at]), y[at]
            begun = cpu()
            model.partial_fit(part, labels_, classes=np.arange(n_labels))
            spent += cpu() - begun
            seen += len(at)
            memory.append(resident())
        f1 = f1_score(want, model.predict(Corpus.from_matrix(few)), average="micro")
        rate = seen / spent
        met = "met" if rate >= 3000 else "**missed**"
        at = [memory[0], memory[len(memory) // 2], memory[-1]]
        print(
            f"| {kind} | {seen:,} | {f1:.4f} | {rate:,.0f} | {met} (≥ 3,000) | "
            f"{', '.join(f'{m:,.0f}' for m in at)} |",
            flush=True,
        )
    for n in n_batch:
        _batch_on_labels(counts, y, few, want, n)


def _batch_on_labels(counts: Any, y: Any, few: Any, want: Any, n_docs: int) -> None:
    """MedLDA on the first documents of the same stream, as many as a batch model is to hold."""
    at = np.random.default_rng(0).permutation(len(y))[:n_docs]
    begun = cpu()
    model = MedLDAClassifier(n_topics=40, n_sweeps=20, n_kept=5, random_state=0, n_threads=1)
    model.fit(Corpus.from_matrix(counts[at]), y[at])
    rate = n_docs / (cpu() - begun)
    f1 = f1_score(want, model.predict(Corpus.from_matrix(few)), average="micro")
    print(
        f"| MedLDA (batch, 20 sweeps) | {n_docs:,} | {f1:.4f} | {rate:,.0f} | - | - |", flush=True
    )


def documents(n: int) -> Iterator[str]:
    """Lines of JSON: twenty words of five thousand, drawn by class."""
    draw = np.random.default_rng(0)
    for _ in range(n):
        label = int(draw.integers(5))
        words = (draw.zipf(1.3, 20) + 37 * label) % 5_000
        yield (
            json.dumps({"text": " ".join(f"w{w}" for w in words), "label": f"class {label}"}) + "\n"
        )


def pipe(n_docs: int) -> None:
    """`bayou fit -` and `bayou update -` on a pipe: resident memory along the way."""
    how = ["-m", "online-med-lda", "--label", "label", "--topics", "40", "--threads", "1", "-q"]
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "m.bayou"))
        _watched(n_docs // 5, ["fit", "-", *how, "-o", model])
        _watched(n_docs, ["update", model, "-", "--label", "label", "--threads", "1", "-q"])


def _watched(n_docs: int, words: list[str]) -> None:
    print(f"\n### {n_docs:,} documents into `bayou {words[0]} -`, resident memory\n")
    print("| documents written | MB |")
    print("| --- | --- |")
    run = [sys.executable, "-m", "bayou", *words]
    with subprocess.Popen(
        run, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
    ) as learner:
        assert learner.stdin is not None
        for i, line in enumerate(documents(n_docs), 1):
            learner.stdin.write(line)
            if i % (n_docs // 10) == 0:
                status = Path(f"/proc/{learner.pid}/status").read_text()
                held = next(x for x in status.splitlines() if x.startswith("VmRSS"))
                print(f"| {i:,} | {int(held.split()[1]) / 1024:.0f} |", flush=True)
        learner.stdin.close()
        learner.wait()
    print(f"\nexit {learner.returncode}")
