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
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayou import Corpus, MedLDAClassifier, OnlineMedLDAClassifier, OnlineMedLDARegressor
from max_margin import Task, cpu, load, measure, truth
from online_peers import BASELINES, batch_model
from online_stream import pipe, stream

KINDS = ("gibbs", "averaging")
PROTOCOLS = ("one-vs-all", "shared")
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
    """One pass and two, K = 40 and 80, both posteriors, and the batch model."""
    task = load("20news_bow")
    warm(task)
    print("\n### 20news_bow, accuracy on the test part, mean ± standard deviation over seeds\n")
    print("| model | K | passes | accuracy | CPU s | target |")
    print("| --- | --- | --- | --- | --- | --- |")
    once: dict[int, list[float]] = {40: [], 80: []}
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
                if n_passes == 1:
                    once[n_topics].append(float(np.mean(found)))
                met = "met" if np.mean(found) >= target else "**missed**"
                print(
                    f"| {kind} | {n_topics} | {n_passes} | {told(found)} | {np.mean(spent):.1f} | "
                    f"{met} (≥ {target}) |",
                    flush=True,
                )
    if not baselines:
        return
    for n_topics in (40, 80):
        begun = cpu()
        batch = measure(task, batch_model(n_topics)(task))["accuracy"]
        near = all(x >= batch - 0.01 for x in once[n_topics])
        met = "met" if near else "**missed**"
        print(
            f"| MedLDA (batch, no refit) | {n_topics} | - | {batch:.4f} | {cpu() - begun:.1f} | "
            f"one pass within 0.01 of it: {met} |",
            flush=True,
        )


def published(n_seeds: int, kinds: tuple[str, ...], protocols: tuple[str, ...]) -> None:
    """The settings of [Shi17], each class with its own topics or all with the same, and both predictions."""
    task = load("20news_bow")
    warm(task)
    print("\n### 20news_bow, settings of [Shi17], K = 40, one pass, accuracy on the test part\n")
    print("| model | topics | sampled prediction | prediction by means | CPU s | target |")
    print("| --- | --- | --- | --- | --- | --- |")
    for kind in kinds:
        for protocol in protocols:
            found: dict[str, list[float]] = {"sampled": [], "mean": []}
            begun = cpu()
            for seed in range(n_seeds):
                model = OnlineMedLDAClassifier.published(
                    kind, multi_class=protocol, random_state=seed, n_threads=1
                ).fit(task.train)
                for how, values in found.items():
                    scores = model.set_params(prediction=how).decision_function(task.test)
                    values.append(measure(task, scores)["accuracy"])
            met = "met" if np.mean(found["sampled"]) >= 0.80 else "**missed**"
            print(
                f"| {kind} | {protocol} | {told(found['sampled'])} | {told(found['mean'])} | "
                f"{(cpu() - begun) / n_seeds:.1f} | {met} (≥ 0.80) |",
                flush=True,
            )


def peers(some: str) -> None:
    """What stands beside it, one seed; all whose names hold ``some``."""
    task = load("20news_bow")
    warm(task)
    print("\n### 20news_bow, accuracy on the test part, one seed\n")
    print("| model | accuracy | CPU s |\n| --- | --- | --- |")
    for name, run in BASELINES.items():
        begun = cpu()
        scores = run(task) if some in name else None
        if scores is not None:
            found = measure(task, scores)["accuracy"]
            print(f"| {name} | {found:.4f} | {cpu() - begun:.1f} |", flush=True)


def tables(kinds: tuple[str, ...]) -> None:
    """Rounds, sweeps, burn-in and batch sizes as in [Shi17] table 3 and figures 6, 8 and 9."""
    task = split(load("20news_bow"))
    warm(task)
    print("\n### Sweeps J (rows) and burn-in (columns), K = 40, one pass, 15 % of training\n")
    for kind in kinds:
        n_rounds = 2 if kind == "averaging" else 1
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
    line = f"{' | '.join(kinds)} |\n|{' --- |' * (len(kinds) + 1)}"
    print(f"### Rounds I, one pass\n\n| I | {line}")
    for n_rounds in (1, 2, 3):
        cells = [_accuracy(task, kind, n_rounds=n_rounds) for kind in kinds]
        print(f"| {n_rounds} | {' | '.join(cells)} |", flush=True)
    print("\n### Documents in a mini-batch: accuracy (CPU s), one pass\n")
    print(f"| size | {line}")
    for size in (1, 8, 64, 256, 512):
        row = []
        for kind in kinds:
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


SECTIONS = ("quality", "published", "peers", "tables", "course", "regression", "stream", "pipe")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--docs", type=int, default=219_621, help="length of the long stream")
    parser.add_argument(
        "--batch", type=int, nargs="*", default=[10_000, 80_000], help="documents of batch models"
    )
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--protocols", nargs="+", choices=PROTOCOLS, default=PROTOCOLS)
    parser.add_argument("--alone", action="store_true", help="quality without the batch model")
    parser.add_argument("--peers", default="", help="only those whose names hold this")
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
    if "published" in given.only:
        published(given.seeds, tuple(given.kinds), tuple(given.protocols))
    if "peers" in given.only:
        peers(given.peers)
    if "tables" in given.only:
        tables(tuple(given.kinds))
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
