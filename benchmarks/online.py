"""Online MedLDA: accuracy of one pass and two, rounds and batch sizes, time to a level, a long stream.

    python benchmarks/online.py                             everything
    python benchmarks/online.py --only quality --seeds 3
    python benchmarks/online.py --only stream --docs 1000000

Data come from the folder in BAYOU_DATA. Times are CPU seconds of one thread, compiling before the clock.
Settings are the defaults of the estimators, which were chosen on 15 % of the training documents; the test
part is scored once a seed. Tables of settings are on those 15 %.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier
from sklearn.metrics import f1_score
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from bayou import (
    BayesPAClassifier,
    Corpus,
    MedLDAClassifier,
    OnlineLDA,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
)
from bayou.data import read
from max_margin import Task, cpu, load, measure, truth

KINDS = ("gibbs", "averaging")
VALIDATION = 0.15


def split(task: Task) -> Task:
    """Training documents alone, 15 % of them to choose by."""
    order = np.random.default_rng(0).permutation(task.train.n_docs)
    n = int(VALIDATION * len(order))
    train, test = task.train[np.sort(order[n:])], task.train[np.sort(order[:n])]
    return Task(task.name, train, test, task.kind)


def warm(task: Task) -> None:
    """Compile everything on a few documents."""
    for kind in KINDS:
        few = task.train[np.arange(0, task.train.n_docs, 40)]
        model = OnlineMedLDAClassifier(n_topics=4, classifier=kind, n_threads=1, n_sweeps=2)
        model.fit(few).predict(few)


def fitted(task: Task, seed: int, **settings: Any) -> tuple[Any, float]:
    begun = cpu()
    model = OnlineMedLDAClassifier(random_state=seed, n_threads=1, **settings).fit(task.train)
    return model, cpu() - begun


def told(values: list[float]) -> str:
    return (
        f"{np.mean(values):.4f} ± {np.std(values):.4f}" if len(values) > 1 else f"{values[0]:.4f}"
    )


def quality(n_seeds: int, kinds: tuple[str, ...], baselines: bool) -> None:
    """One pass and two, K = 40 and 80, both posteriors, and the baselines."""
    task = load("20news_bow")
    warm(task)
    print("\n### 20news_bow, accuracy on the test part, mean ± standard deviation over seeds\n")
    print("| model | K | passes | accuracy | CPU s | target |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in kinds:
        for n_topics in (40, 80):
            for n_passes, target in ((1, 0.815), (2, 0.82)):
                found, spent = [], []
                for seed in range(n_seeds):
                    model, took = fitted(
                        task, seed, classifier=kind, n_topics=n_topics, n_passes=n_passes
                    )
                    spent.append(took)
                    found.append(measure(task, model.decision_function(task.test))["accuracy"])
                met = "met" if np.mean(found) >= target else "**missed**"
                print(
                    f"| {kind} | {n_topics} | {n_passes} | {told(found)} | {np.mean(spent):.1f} | "
                    f"{met} (≥ {target}) |",
                    flush=True,
                )
    for name, run in BASELINES.items() if baselines else ():
        begun = cpu()
        scores = run(task)
        found = [measure(task, scores)["accuracy"]]
        print(f"| {name} | - | - | {told(found)} | {cpu() - begun:.1f} | - |", flush=True)


def batch_model(task: Task) -> Any:
    model = MedLDAClassifier(n_topics=40, refit=False, random_state=0, n_threads=1)
    return model.fit(task.train).decision_function(task.test)


def whole_batch(task: Task) -> Any:
    """The corpus as one mini-batch, thirty rounds: MedLDA by collapsed sampling (gMedLDA)."""
    model = OnlineMedLDAClassifier(
        classifier="averaging", n_topics=40, batch_size=task.train.n_docs, n_rounds=30, n_sweeps=1,
        n_passes=1, random_state=0, n_threads=1,
    )  # fmt: skip
    return model.fit(task.train).decision_function(task.test)


def unsupervised(task: Task) -> Any:
    """Topics of a stream without labels, then a linear machine (spLDA + SVM)."""
    model = OnlineLDA(
        n_topics=40, inference="hybrid", n_passes=1, batch_size=64, random_state=0, n_threads=1
    ).fit(task.train)
    machine = LinearSVC(random_state=0).fit(model.transform(task.train), truth(task.train))
    return machine.decision_function(model.transform(task.test))


def published(kind: str) -> Callable[[Task], Any]:
    def run(task: Task) -> Any:
        model = OnlineMedLDAClassifier.published(kind, random_state=0, n_threads=1)
        return model.fit(task.train).decision_function(task.test)

    return run


def hashed(corpus: Corpus) -> Any:
    """Words as a stream has them: hashed, sublinear, of length one, no document frequencies."""
    counts = csr_array(corpus.counts)
    names = [str(v) for v in range(corpus.n_terms)]
    hasher = FeatureHasher(2**18, input_type="pair", alternate_sign=False)
    rows = (
        [
            (names[v], 1.0 + np.log(n))
            for v, n in zip(counts.indices[a:b], counts.data[a:b], strict=True)
        ]
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    )
    return normalize(hasher.transform(rows))


def linear(make: Callable[[], Any]) -> Callable[[Task], Any]:
    """One pass of `partial_fit` in the order of a stream."""

    def run(task: Task) -> Any:
        train, want = hashed(task.train), truth(task.train)
        order, model = np.random.default_rng(0).permutation(len(want)), make()
        for lo in range(0, len(order), 64):
            at = order[lo : lo + 64]
            model.partial_fit(train[at], want[at], classes=np.unique(want))
        return model.decision_function(hashed(task.test))

    return run


BASELINES = {
    "MedLDA (batch, no refit, K = 40)": batch_model,
    "averaging, whole corpus as one batch, 30 rounds": whole_batch,
    "averaging as published": published("averaging"),
    "gibbs as published": published("gibbs"),
    "OnlineLDA (sampled) + LinearSVC, one pass": unsupervised,
    "PassiveAggressiveClassifier, hashed words, one pass": linear(
        lambda: PassiveAggressiveClassifier(random_state=0)
    ),
    "SGDClassifier, hashed words, one pass": linear(lambda: SGDClassifier(random_state=0)),
    "BayesPAClassifier(gibbs), hashed words, one pass": linear(
        lambda: BayesPAClassifier(classifier="gibbs", random_state=0, n_threads=1)
    ),
}


def tables() -> None:
    """Rounds, sweeps, burn-in and batch sizes as in [Shi17] table 3 and figures 6, 8 and 9."""
    task = split(load("20news_bow"))
    warm(task)
    print("\n### Sweeps J (rows) and burn-in (columns), K = 40, one pass, 15 % of training\n")
    for kind, n_rounds in (("averaging", 2), ("gibbs", 1)):
        print(f"{kind}, {n_rounds} round(s)\n\n| J | 0 | 2 | 4 |\n| --- | --- | --- | --- |")
        for n_sweeps in (1, 3, 5):
            cells = [
                _accuracy(task, kind, n_rounds=n_rounds, n_sweeps=n_sweeps, burn_in=burn)
                if burn < n_sweeps
                else "-"
                for burn in (0, 2, 4)
            ]
            print(f"| {n_sweeps} | {' | '.join(cells)} |", flush=True)
        print()
    print("### Rounds I, one pass\n\n| I | averaging | gibbs |\n| --- | --- | --- |")
    for n_rounds in (1, 2, 3):
        cells = [_accuracy(task, kind, n_rounds=n_rounds) for kind in ("averaging", "gibbs")]
        print(f"| {n_rounds} | {' | '.join(cells)} |", flush=True)
    print("\n### Documents in a mini-batch: accuracy (CPU s), one pass\n")
    print("| size | averaging | gibbs |\n| --- | --- | --- |")
    for size in (1, 8, 64, 256, 512):
        row = []
        for kind in ("averaging", "gibbs"):
            model, took = fitted(task, 0, classifier=kind, n_topics=40, n_passes=1, batch_size=size)
            row.append(f"{_score(task, model):.4f} ({took:.1f})")
        print(f"| {size} | {' | '.join(row)} |", flush=True)


def _accuracy(task: Task, kind: str, **settings: Any) -> str:
    model, _ = fitted(task, 0, classifier=kind, n_topics=40, n_passes=1, **settings)
    return f"{_score(task, model):.4f}"


def _score(task: Task, model: Any) -> float:
    return measure(task, model.decision_function(task.test))["accuracy"]


def course(level: float) -> None:
    """CPU seconds until the test part is at a level: online against our own batch sampler."""
    task = load("20news_bow")
    warm(task)
    MedLDAClassifier(n_topics=4, n_sweeps=2, n_kept=1, n_threads=1).fit(task.train[:200])
    print(f"\n### CPU seconds to accuracy {level} on the test part, K = 40, seed 0\n")
    print("| model | seconds | documents or sweeps | ratio | target |")
    print("| --- | --- | --- | --- | --- |")
    base, n = _batch_seconds(task, level)
    print(f"| MedLDA (batch) | {base:.1f} | {n} sweeps | 1 | - |", flush=True)
    for kind in KINDS:
        spent, docs = _stream_seconds(task, level, kind)
        ratio = spent / base
        met = "met" if ratio <= 0.25 else "**missed**"
        print(f"| {kind} | {spent:.2f} | {docs:,} | {ratio:.2f} | {met} (≤ 0.25) |", flush=True)


def _batch_seconds(task: Task, level: float) -> tuple[float, int]:
    """By fits of more and more sweeps: what a user would have waited for the shortest that is enough."""
    for n in (5, 8, 12, 16, 20, 25, 30, 40):
        begun = cpu()
        model = MedLDAClassifier(
            n_topics=40, n_sweeps=n, n_kept=min(n, 5), random_state=0, n_threads=1
        ).fit(task.train)
        took = cpu() - begun
        if _score(task, model) >= level:
            return took, n
    return float("nan"), n


def _stream_seconds(task: Task, level: float, kind: str) -> tuple[float, int]:
    model, spent, docs = OnlineMedLDAClassifier(
        classifier=kind, n_topics=40, random_state=0, n_threads=1
    ), 0.0, 0  # fmt: skip
    labels = truth(task.train)
    for n in range(3):
        order = np.random.default_rng(n).permutation(task.train.n_docs)
        for lo in range(0, len(order), 1024):
            at = order[lo : lo + 1024]
            part = Corpus.from_matrix(csr_array(task.train.counts)[at])
            begun = cpu()
            model.partial_fit(part, labels[at], classes=np.arange(20))
            spent += cpu() - begun
            docs += len(at)
            test = Corpus.from_matrix(task.test.counts)
            if (model.predict(test) == truth(task.test)).mean() >= level:
                return spent, docs
    return float("nan"), docs


def regression(n_seeds: int) -> None:
    print("\n### tripadvisor5000, R² on the test part\n")
    print("| model | passes | R² | CPU s |\n| --- | --- | --- | --- |")
    task = load("tripadvisor5000")
    for kind in KINDS:
        for n_passes in (1, 2):
            found, spent = [], []
            for seed in range(n_seeds):
                begun = cpu()
                model = OnlineMedLDARegressor(
                    regressor=kind, n_passes=n_passes, random_state=seed, n_threads=1
                ).fit(task.train)
                spent.append(cpu() - begun)
                found.append(measure(task, model.predict(task.test))["R²"])
            print(f"| {kind} | {n_passes} | {told(found)} | {np.mean(spent):.1f} |", flush=True)


def resident() -> float:
    """Megabytes of this process now, where the system tells; else the most there were."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(t for t in status.read_text().splitlines() if t.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(n_docs: int, kinds: tuple[str, ...], n_batch: int) -> None:
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
    warm(load("20news_bow"))
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
    if n_batch:
        _batch_on_labels(counts, y, few, want, n_batch)


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
    """`bayou update -` on a pipe: resident memory along the way."""
    print(f"\n### {n_docs:,} documents into `bayou update - --label label`, resident memory\n")
    print("| documents written | MB |")
    print("| --- | --- |")
    run = [sys.executable, "-m", "bayou"]
    with tempfile.TemporaryDirectory() as folder:
        first, model = Path(folder, "first.jsonl"), Path(folder, "m.bayou")
        first.write_text("".join(documents(2_000)))
        how = ["-m", "online-med-lda", "--label", "label", "--topics", "40", "-q", "-o", str(model)]
        subprocess.run([*run, "fit", str(first), *how], check=True, stdout=subprocess.DEVNULL)
        told = [*run, "update", str(model), "-", "--label", "label", "--threads", "1", "-q"]
        with subprocess.Popen(told, stdin=subprocess.PIPE, text=True) as learner:
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


SECTIONS = ("quality", "tables", "course", "regression", "stream", "pipe")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--docs", type=int, default=219_621, help="length of the long stream")
    parser.add_argument("--batch", type=int, default=20_000, help="documents of the batch model")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--alone", action="store_true", help="quality without the baselines")
    parser.add_argument("--piped", type=int, default=1_000_000, help="documents of the pipe")
    parser.add_argument("--level", type=float, default=0.8)
    given = parser.parse_args()
    if not os.environ.get("BAYOU_DATA") or not Path(os.environ["BAYOU_DATA"]).is_dir():
        print("BAYOU_DATA does not name a folder of corpora; nothing to measure")
        return
    warnings.simplefilter("ignore")
    begun = time.perf_counter()
    if "quality" in given.only:
        quality(given.seeds, tuple(given.kinds), not given.alone)
    if "tables" in given.only:
        tables()
    if "course" in given.only:
        course(given.level)
    if "regression" in given.only:
        regression(given.seeds)
    if "stream" in given.only:
        stream(given.docs, tuple(given.kinds), given.batch)
    if "pipe" in given.only:
        pipe(given.piped)
    print(f"\n{time.perf_counter() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
