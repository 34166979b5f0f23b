"""MedHDP: accuracy beside MedLDA, and how many topics it finds from seed to seed.

    python benchmarks/med_hdp.py                            everything
    python benchmarks/med_hdp.py --only online --seeds 3
    python benchmarks/med_hdp.py --only batch labels

Data come from the folder in BAYOU_DATA. Times are CPU seconds of one thread, compiling before the clock.
Settings are the defaults of the estimators, which were chosen on 15 % of the training documents; the test
part is scored once a seed. MedHDP begins with 20 topics, of numbers with 10, and of several labels a document
with as many as there are labels.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from bayou import (
    MedHDPClassifier,
    MedHDPRegressor,
    MedLDAClassifier,
    MedLDARegressor,
    OnlineMedHDPClassifier,
    OnlineMedHDPRegressor,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
)
from max_margin import REUTERS, Task, cpu, load, measure
from online import KINDS, split, told

WITHIN = 0.01
_COLUMNS = "| model | passes | {} | topics, seed by seed | CPU s | target |"


def scored(task: Task, model: Any) -> float:
    found = (
        model.predict(task.test) if task.kind == "numbers" else model.decision_function(task.test)
    )
    return next(iter(measure(task, found).values()))


def row(task: Task, name: str, make: Any, n_seeds: int, best: float | None = None) -> float:
    """Fit and score once a seed; ``best`` is what the fixed number of topics reaches."""
    values, topics, spent = [], [], []
    for seed in range(n_seeds):
        begun = cpu()
        model = make(random_state=seed, n_threads=1).fit(task.train)
        spent.append(cpu() - begun)
        values.append(scored(task, model))
        topics.append(str(model.posterior_.n_topics))
    mean = float(np.mean(values))
    met = "-"
    if best is not None:
        met = f"{'met' if mean >= best - WITHIN else '**missed**'} (≥ {best - WITHIN:.4f})"
    if len(set(topics)) == 1:
        topics = topics[:1]
    print(
        f"| {name} | {told(values)} | {', '.join(topics)} | {np.mean(spent):.1f} | {met} |",
        flush=True,
    )
    return mean


def maker(kind: Any, **settings: Any) -> Any:
    return lambda **given: kind(**settings, **given)


def warm(task: Task) -> None:
    """Compile everything on a few documents."""
    few = task.train[np.arange(0, task.train.n_docs, 40)]
    if task.kind == "numbers":
        every: list[Any] = [OnlineMedHDPRegressor, OnlineMedLDARegressor]
        batch: list[Any] = [MedHDPRegressor, MedLDARegressor]
        name = "regressor"
    else:
        every = [OnlineMedHDPClassifier, OnlineMedLDAClassifier]
        batch, name = [MedHDPClassifier, MedLDAClassifier], "classifier"
    for kind in every:
        for which in KINDS:
            kind(n_topics=4, n_sweeps=2, n_threads=1, **{name: which}).fit(few).predict(few)
    for kind in batch:
        kind(n_topics=4, n_sweeps=2, n_kept=1, n_threads=1).fit(few).predict(few)


def head(title: str, measured: str) -> None:
    print(f"\n### {title}\n\n{_COLUMNS.format(measured)}\n| --- | --- | --- | --- | --- | --- |")


def online(task: Task, n_seeds: int, title: str) -> None:
    """Both posteriors, one pass and two, beside OnlineMedLDA at 40 and 80 topics."""
    warm(task)
    head(title, "accuracy")
    for n_passes in (1, 2):
        best = 0.0
        for kind in KINDS:
            for n_topics in (40, 80):
                make = maker(
                    OnlineMedLDAClassifier, classifier=kind, n_topics=n_topics, n_passes=n_passes
                )
                name = f"OnlineMedLDA {kind} | {n_passes}"
                best = max(best, row(task, name, make, n_seeds))
        for kind in KINDS:
            make = maker(OnlineMedHDPClassifier, classifier=kind, n_passes=n_passes)
            row(task, f"OnlineMedHDP {kind} | {n_passes}", make, n_seeds, best)


def batch(task: Task, n_seeds: int, title: str) -> None:
    warm(task)
    head(title, "accuracy")
    best = 0.0
    for refit in (False, True):
        name = "refit" if refit else "no refit"
        best = row(task, f"MedLDA, {name} | -", maker(MedLDAClassifier, refit=refit), n_seeds)
        row(task, f"MedHDP, {name} | -", maker(MedHDPClassifier, refit=refit), n_seeds, best)


def sizes(task: Task, n_seeds: int) -> None:
    """Mini-batches of one document, of 16, and of all documents, one pass; and the published settings."""
    warm(task)
    head("20news_bow, test part, sizes of mini-batches", "accuracy")
    best = row(
        task, "OnlineMedLDA averaging | 1", maker(OnlineMedLDAClassifier, n_passes=1), n_seeds
    )
    for kind in KINDS:
        make = maker(OnlineMedHDPClassifier, classifier=kind, n_passes=1, batch_size=1)
        row(task, f"{kind}, batches of 1 | 1", make, n_seeds, best)
        many = {"batch_size": task.train.n_docs, "n_rounds": 30, "n_sweeps": 1}
        make = maker(OnlineMedHDPClassifier, classifier=kind, n_passes=1, **many)
        row(task, f"{kind}, all documents, 30 rounds | 1", make, 1, best)
        make = maker(OnlineMedHDPClassifier.published, classifier=kind)
        row(task, f"{kind}, as published | 1", make, 1, 0.80 + WITHIN)


def starts(task: Task) -> None:
    """Topics to begin with, how readily they are born, batch sizes; 15 % of the training documents."""
    warm(task)
    head("20news_bow, 15 % of the training part, gibbs, two seeds", "accuracy")
    for n_topics in (1, 5, 20, 60):
        make = maker(OnlineMedHDPClassifier, n_topics=n_topics)
        row(task, f"begin with {n_topics} | 2", make, 2)
    for gamma in (0.1, 10.0):
        row(task, f"gamma {gamma:g} | 2", maker(OnlineMedHDPClassifier, gamma=gamma), 2)
    for n_topics in (5, 1):
        make = maker(OnlineMedHDPClassifier, n_topics=n_topics, gamma=20.0)
        row(task, f"begin with {n_topics}, gamma 20 | 2", make, 2)
    for size in (16, 64):
        make = maker(OnlineMedHDPClassifier, batch_size=size, n_passes=1)
        row(task, f"batches of {size} | 1", make, 2)
    for gamma in (1.0, 10.0):
        make = maker(OnlineMedHDPClassifier, classifier="averaging", gamma=gamma, n_passes=1)
        row(task, f"averaging, gamma {gamma:g} | 1", make, 2)


def many(task: Task, n_seeds: int) -> None:
    """How far the number of topics varies."""
    print("\n### 20news_bow, topics of OnlineMedHDP over seeds\n")
    print("| posterior | topics | mean | coefficient of variation |\n| --- | --- | --- | --- |")
    for kind in KINDS:
        found = [
            OnlineMedHDPClassifier(classifier=kind, random_state=seed, n_threads=1)
            .fit(task.train)
            .n_topics_
            for seed in range(n_seeds)
        ]
        spread = np.std(found) / np.mean(found)
        numbers = ", ".join(map(str, found))
        print(f"| {kind} | {numbers} | {np.mean(found):.1f} | {spread:.3f} |", flush=True)


def beside(task: Task, n_seeds: int, which: str, models: tuple[Any, Any]) -> None:
    """OnlineMedLDA with both posteriors, then OnlineMedHDP beside the better of them."""
    best = 0.0
    for kind in KINDS:
        make = maker(models[0], **{which: kind})
        best = max(best, row(task, f"OnlineMedLDA {kind} | 2", make, n_seeds))
    for kind in KINDS:
        row(task, f"OnlineMedHDP {kind} | 2", maker(models[1], **{which: kind}), n_seeds, best)


def labels(n_seeds: int, whole: bool) -> None:
    task = load(REUTERS)
    warm(task)
    head(f"{REUTERS}, several labels a document", "micro-F1")
    if whole:
        best = row(task, "MedLDA | -", MedLDAClassifier, n_seeds)
        row(task, "MedHDP | -", MedHDPClassifier, n_seeds, best)
        return
    beside(task, n_seeds, "classifier", (OnlineMedLDAClassifier, OnlineMedHDPClassifier))
    for name, given in (("begun with 20", {"n_topics": 20}), ("no refit", {"refit": False})):
        make = maker(OnlineMedHDPClassifier, **given)
        row(task, f"OnlineMedHDP gibbs, {name} | 2", make, n_seeds)


def numbers(n_seeds: int) -> None:
    task = load("tripadvisor5000")
    warm(task)
    head("tripadvisor5000, numbers", "R²")
    beside(task, n_seeds, "regressor", (OnlineMedLDARegressor, OnlineMedHDPRegressor))
    make = maker(OnlineMedHDPRegressor, refit=False)
    row(task, "OnlineMedHDP gibbs, no refit | 2", make, n_seeds)
    best = row(task, "MedLDA | -", MedLDARegressor, n_seeds)
    row(task, "MedHDP | -", MedHDPRegressor, n_seeds, best)


SECTIONS = ("online", "sizes", "batch", "labels", "labels_batch", "numbers", "starts", "many")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--many", type=int, default=10, help="seeds of the number of topics")
    given = parser.parse_args()
    if not os.environ.get("BAYOU_DATA") or not Path(os.environ["BAYOU_DATA"]).is_dir():
        print("BAYOU_DATA does not name a folder of corpora; nothing to measure")
        return
    warnings.simplefilter("ignore")
    begun = time.perf_counter()
    if "online" in given.only:
        online(load("20news_bow"), given.seeds, "20news_bow, test part, on a stream")
    if "sizes" in given.only:
        sizes(load("20news_bow"), given.seeds)
    if "batch" in given.only:
        batch(load("20news_bow"), given.seeds, "20news_bow, test part, all documents at once")
    for name in ("labels", "labels_batch"):
        if name in given.only:
            labels(given.seeds, name == "labels_batch")
    if "numbers" in given.only:
        numbers(given.seeds)
    if "starts" in given.only:
        starts(split(load("20news_bow")))
    if "many" in given.only:
        many(load("20news_bow"), given.many)
    print(f"\n{time.perf_counter() - begun:.0f} s in all")


if __name__ == "__main__":
    main()
