"""MedLDA against its peers: accuracy, regression, labels, seconds a sweep, prediction.

    python benchmarks/max_margin.py                         everything
    python benchmarks/max_margin.py --only quality --data 20news_bow --seeds 5
    python benchmarks/max_margin.py --only sweep

Data come from the folder in BAYOU_DATA. Times are CPU seconds of one thread, compiling before the clock.
Settings are the defaults of the estimators, or were chosen on a part of the training documents; the test part
is scored once a seed. Terms are runs of two letters or more without scikit-learn's English stop list.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.linear_model import Ridge
from sklearn.metrics import f1_score, r2_score
from sklearn.svm import LinearSVC

import labelled_sets
from bayou import LDA, Corpus, MedLDAClassifier, MedLDARegressor, Vectorizer
from bayou.datasets import load_corpus
from bayou.inference.lda.features import inverse_frequency, unit_words

STOP = sorted(ENGLISH_STOP_WORDS)
REUTERS = "reuters21578/modapte90"
LETTERS = r"[^\W\d_]{2,}"


def cpu() -> float:
    return time.process_time()


class Task(NamedTuple):
    """Training and test documents, and what a model is to reach on them."""

    name: str
    train: Corpus
    test: Corpus
    kind: str  # classes, labels or numbers


def _clean(corpus: Corpus) -> Corpus:
    names = list(corpus.vocabulary or ())
    keep = np.flatnonzero([len(t) > 1 and t not in ENGLISH_STOP_WORDS for t in names])
    counts = csr_array(corpus.counts)[:, keep]
    return Corpus.from_matrix(
        counts,
        vocabulary=[names[v] for v in keep],
        labels=corpus.labels,
        label_names=corpus.label_names,
    )


def load(name: str) -> Task:
    """A corpus by name; ``pair`` are two groups of 20news_bow."""
    if name == "pair":
        whole = load("20news_bow")
        two = ("alt.atheism", "talk.religion.misc")
        return Task(name, _only(whole.train, two), _only(whole.test, two), "classes")
    if name == "20news_bow":
        parts = [_clean(load_corpus(name, split=part)) for part in ("train", "test")]
        return Task(name, parts[0], parts[1], "classes")
    vectorizer = Vectorizer(
        token_pattern=LETTERS, stop_words=STOP, min_df=2 if name == REUTERS else 1
    )
    parts = [
        load_corpus(name, split=part, vectorizer=vectorizer, time="") for part in ("train", "test")
    ]
    kind = "labels" if name == REUTERS else "classes"
    return Task(name, parts[0], parts[1], kind if parts[0].targets is None else "numbers")


def _only(corpus: Corpus, classes: tuple[str, ...]) -> Corpus:
    assert corpus.labels is not None
    assert corpus.label_names is not None
    columns = [corpus.label_names.index(name) for name in classes]
    part = csr_array(corpus.labels)[:, columns]
    keep = np.flatnonzero(np.diff(part.indptr))
    return Corpus.from_matrix(
        csr_array(corpus.counts)[keep],
        vocabulary=corpus.vocabulary,
        labels=csr_array(part)[keep],
        label_names=classes,
    )


def words(task: Task) -> tuple[Any, Any]:
    """Sublinear tf-idf of unit length, training and test."""
    idf = inverse_frequency(task.train.counts)
    return unit_words(task.train.counts, idf), unit_words(task.test.counts, idf)


def truth(corpus: Corpus) -> Any:
    if corpus.labels is None:
        assert corpus.targets is not None
        return corpus.targets.ravel()
    dense = corpus.labels.toarray()
    return dense.argmax(axis=1) if (dense.sum(axis=1) == 1).all() else dense


def measure(task: Task, scores: Any) -> dict[str, float]:
    """Accuracy; or R²; or micro-F1 and precision of the first label."""
    want = truth(task.test)
    if task.kind == "numbers":
        return {"R²": r2_score(want, scores)}
    if task.kind == "labels":
        found = scores > 0
        bare = np.flatnonzero(~found.any(axis=1))
        found[bare, scores[bare].argmax(axis=1)] = True
        first = want[np.arange(len(want)), scores.argmax(axis=1)].mean()
        return {"micro-F1": f1_score(want, found, average="micro"), "P@1": float(first)}
    return {"accuracy": float((classes_of(scores) == want).mean())}


def classes_of(scores: Any) -> Any:
    return (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)


# -- ours and the peers: each a function of (task, seed) giving scores and the topics' share ------


def med(**settings: Any) -> Callable[[Task, int], tuple[Any, float]]:
    def run(task: Task, seed: int) -> tuple[Any, float]:
        kind = MedLDARegressor if task.kind == "numbers" else MedLDAClassifier
        model = kind(random_state=seed, n_threads=1, **settings).fit(task.train)
        if task.kind == "numbers":
            return model.predict(task.test), model.response_.share
        scores = model.decision_function(task.test)
        return scores, topics_share(model.response_, task, scores)

    return run


def topics_share(response: Any, task: Task, scores: Any) -> float:
    """The topics' part of the test documents' margins.

    Of classes: of what the winner is ahead of the runner-up; of labels: of the positive scores.
    """
    if response.words is None:
        return 1.0
    direct = unit_words(task.test.counts, response.word_weight) @ response.words
    topic = np.reshape(scores, direct.shape) - direct - response.intercept
    if task.kind == "labels" or scores.ndim == 1:
        return float(topic[scores > 0].sum() / scores[scores > 0].sum())
    best = np.argsort(scores, axis=1)[:, -2:]
    at = np.arange(len(scores))
    lead = scores[at, best[:, 1]] - scores[at, best[:, 0]]
    return float((topic[at, best[:, 1]] - topic[at, best[:, 0]]).sum() / lead.sum())


def linear(task: Task, seed: int) -> tuple[Any, float]:
    train, test = words(task)
    return _linear(train, test, task, seed)


def _linear(train: Any, test: Any, task: Task, seed: int) -> tuple[Any, float]:
    want = truth(task.train)
    if task.kind == "numbers":
        return Ridge(alpha=1.0).fit(train, want).predict(test), 0.0
    if task.kind == "labels":
        made = []
        for i in range(want.shape[1]):
            if want[:, i].min() == want[:, i].max():
                made.append(np.full(test.shape[0], -1.0))
            else:
                machine = LinearSVC(random_state=seed).fit(train, want[:, i])
                made.append(machine.decision_function(test))
        return np.column_stack(made), 0.0
    return LinearSVC(random_state=seed).fit(train, want).decision_function(test), 0.0


def lda_then_linear(n_topics: int) -> Callable[[Task, int], tuple[Any, float]]:
    def run(task: Task, seed: int) -> tuple[Any, float]:
        model = LDA(n_topics=n_topics, random_state=seed, n_threads=1).fit(task.train)
        train, test = model.transform(task.train), model.transform(task.test)
        return _linear(train, test, task, seed)

    return run


def tomotopy_docs(corpus: Corpus) -> Iterator[list[str]]:
    indptr, terms = corpus.tokens()
    for lo, hi in pairwise(indptr):
        yield [str(v) for v in terms[lo:hi]]


def labelled_lda(task: Task, seed: int) -> tuple[Any, float]:
    """tomotopy's Labeled LDA: scores are a document's topic proportions under the labels' topics."""
    import tomotopy as tp

    want = truth(task.train)
    model = tp.LLDAModel(seed=seed)
    for doc, row in zip(tomotopy_docs(task.train), np.atleast_1d(want), strict=True):
        names = [str(i) for i in (np.flatnonzero(row) if np.ndim(row) else [row])]
        if doc:
            model.add_doc(doc, labels=names)
    model.train(200, workers=1)
    order = {name: i for i, name in enumerate(model.topic_label_dict)}
    n_labels = task.train.n_labels
    docs = [model.make_doc(doc, labels=[]) if doc else None for doc in tomotopy_docs(task.test)]
    found = model.infer([d for d in docs if d is not None], iterations=50, workers=1)[0]
    out = np.zeros((len(docs), n_labels))
    at = [i for i, d in enumerate(docs) if d is not None]
    for i, row in zip(at, found, strict=True):
        for name, k in order.items():
            out[i, int(name)] = row[k]
    if task.kind == "labels":  # as many labels in all as the training documents have on average
        return out - np.quantile(out, 1.0 - want.mean()), 1.0
    return (out[:, 1] - out[:, 0] if n_labels == 2 else out), 1.0


def supervised_lda(n_topics: int) -> Callable[[Task, int], tuple[Any, float]]:
    """tomotopy's SLDA: a linear or a binary response; of more classes, one response each."""

    def run(task: Task, seed: int) -> tuple[Any, float]:
        import tomotopy as tp

        want = truth(task.train)
        if task.kind == "numbers":
            rows, kinds = want[:, None], "l"
        else:
            rows = (
                np.atleast_2d(want) if task.kind == "labels" else np.eye(task.train.n_labels)[want]
            )
            rows = rows[:, 1:] if task.train.n_labels == 2 else rows
            kinds = "b" * rows.shape[1]
        model = tp.SLDAModel(k=n_topics, vars=kinds, seed=seed)
        for doc, row in zip(tomotopy_docs(task.train), rows, strict=True):
            if doc:
                model.add_doc(doc, y=[float(x) for x in row])
        model.train(200, workers=1)
        docs = [model.make_doc(doc or ["0"]) for doc in tomotopy_docs(task.test)]
        model.infer(docs, iterations=50, workers=1)
        out = np.array([model.estimate(doc) for doc in docs])
        if task.kind == "numbers":
            return out[:, 0], 1.0
        return (out[:, 0] - 0.5 if out.shape[1] == 1 else out - 0.5 * (task.kind == "labels")), 1.0

    return run


def published(task: Task, seed: int) -> tuple[Any, float]:
    model = MedLDAClassifier.published(random_state=seed, n_threads=1).fit(task.train)
    return model.decision_function(task.test), 1.0


class Row(NamedTuple):
    data: str
    label: str
    run: Callable[[Task, int], tuple[Any, float]]
    targets: dict[str, float]
    seeds: int | None = None  # at most


ROWS = [
    Row("20news_bow", "MedLDA (default)", med(), {}),
    Row("20news_raw", "MedLDA (default)", med(), {}),
    Row("pair", "MedLDA (default)", med(), {}),
    Row("tripadvisor5000", "MedLDA (default)", med(), {}),
    Row(REUTERS, "MedLDA (default)", med(), {}),
    Row("20news_bow", "MedLDA, K = 40, topics", med(n_topics=40, word_residual=0.0), {"accuracy": 0.82}),
    Row("20news_bow", "MedLDA, K = 80, topics alone", med(word_residual=0.0), {"accuracy": 0.83}),
    Row("20news_bow", "MedLDA, K = 80, words 2", med(word_residual=2.0), {"accuracy": 0.84, "share": 0.8}),
    Row("20news_bow", "MedLDA, K = 40, as published", published, {}, 3),
    Row("20news_bow", "tf-idf + LinearSVC", linear, {}, 1),
    Row("20news_bow", "LDA + LinearSVC, K = 80", lda_then_linear(80), {}, 2),
    Row("20news_bow", "tomotopy LLDA", labelled_lda, {}, 2),
    Row("20news_bow", "tomotopy SLDA, K = 40", supervised_lda(40), {}, 1),
    Row("20news_raw", "MedLDA, K = 80, topics alone", med(word_residual=0.0), {"accuracy": 0.848}),
    Row("20news_raw", "MedLDA, K = 80, words 2", med(word_residual=2.0), {"accuracy": 0.865, "share": 0.8}),
    Row("20news_raw", "tf-idf + LinearSVC", linear, {}, 1),
    Row("20news_raw", "LDA + LinearSVC, K = 80", lda_then_linear(80), {}, 1),
    Row("20news_raw", "tomotopy LLDA", labelled_lda, {}, 1),
    Row("pair", "MedLDA, K = 10, topics alone", med(n_topics=10, word_residual=0.0), {"accuracy": 0.83}),
    Row("pair", "MedLDA, K = 20, topics alone", med(word_residual=0.0), {"accuracy": 0.83}),
    Row("pair", "MedLDA, K = 30, topics alone", med(n_topics=30, word_residual=0.0), {"accuracy": 0.83}),
    Row("pair", "tf-idf + LinearSVC", linear, {}, 1),
    Row("pair", "LDA + LinearSVC, K = 20", lda_then_linear(20), {}, 5),
    Row("pair", "tomotopy LLDA", labelled_lda, {}, 5),
    Row("pair", "tomotopy SLDA, K = 20", supervised_lda(20), {}, 5),
    Row("tripadvisor5000", "MedLDA, topics alone", med(word_residual=0.0), {"R²": 0.63}),
    Row("tripadvisor5000", "MedLDA, words 1", med(word_residual=1.0), {"R²": 0.655}),
    Row("tripadvisor5000", "tf-idf + ridge", linear, {}, 1),
    Row("tripadvisor5000", "LDA + ridge, K = 20", lda_then_linear(20), {}, 5),
    Row("tripadvisor5000", "tomotopy SLDA, K = 10", supervised_lda(10), {}, 5),
    Row(REUTERS, "MedLDA, topics alone", med(word_residual=0.0), {"micro-F1": 0.82}),
    Row(REUTERS, "MedLDA, words 2", med(word_residual=2.0), {"micro-F1": 0.885, "P@1": 0.93}),
    Row(REUTERS, "tf-idf + LinearSVC", linear, {}, 1),
    Row(REUTERS, "LDA + LinearSVC, K = 80", lda_then_linear(80), {}, 1),
    Row(REUTERS, "tomotopy LLDA", labelled_lda, {}, 1),
]  # fmt: skip


def quality(names: list[str], n_seeds: int, only: str | None) -> None:
    print("\n### Quality on the test part, mean ± standard deviation over seeds\n")
    print("| data | model | measures | seeds | CPU s | topics' share | target |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        task = load(name)
        for row in [r for r in ROWS if r.data == name and (only is None or only in r.label)]:
            found: dict[str, list[float]] = {}
            spent = []
            seeds = range(min(n_seeds, row.seeds or n_seeds))
            for seed in seeds:
                begun = cpu()
                scores, share = row.run(task, seed)
                spent.append(cpu() - begun)
                for key, value in {**measure(task, scores), "share": share}.items():
                    found.setdefault(key, []).append(value)
            share = found.pop("share")
            told = ", ".join(f"{k} {_spread(v)}" for k, v in found.items())
            met = "; ".join(
                f"{'met' if np.mean({**found, 'share': share}[k]) >= t else '**missed**'} ({k} ≥ {t})"
                for k, t in row.targets.items()
            )
            print(
                f"| {name} | {row.label} | {told} | {len(list(seeds))} | {np.mean(spent):.1f} | "
                f"{np.mean(share):.2f} | {met or '-'} |",
                flush=True,
            )


def _spread(values: list[float]) -> str:
    return (
        f"{np.mean(values):.4f} ± {np.std(values):.4f}" if len(values) > 1 else f"{values[0]:.4f}"
    )


REFERENCE = {
    20: (1.33, 0.725),
    40: (1.52, 0.814),
    80: (1.86, 0.810),
    160: (2.44, 0.813),
    400: (3.98, 0.763),
}


def sweeps(n_sweeps: int) -> None:
    """Seconds a sweep of both samplers, next to the reference figures of light_medlda."""
    print("\n### CPU seconds a sweep, 20news_bow, 20 classes (median)\n")
    print("| K | gibbs | light | light_medlda (C++, as measured elsewhere) | times faster |")
    print("| --- | --- | --- | --- | --- |")
    task = load("20news_bow")
    for n_topics in REFERENCE:
        took = [_per_sweep(task, n_topics, kind, n_sweeps) for kind in ("gibbs", "light")]
        other = REFERENCE[n_topics][0]
        print(
            f"| {n_topics} | {took[0]:.3f} | {took[1]:.3f} | {other} | {other / min(took):.1f} |",
            flush=True,
        )


def _per_sweep(task: Task, n_topics: int, sampler: str, n_sweeps: int) -> float:
    marks: list[float] = []

    def mark(info: Any) -> None:
        marks.append(cpu())

    model = MedLDAClassifier(
        n_topics=n_topics, sampler=sampler, n_sweeps=n_sweeps, n_kept=1, random_state=0,
        n_threads=1, refit=False, callbacks=mark,
    )  # fmt: skip
    model.fit(task.train)
    return float(np.median(np.diff(marks)[1:]))


def course() -> None:
    """Accuracy against CPU seconds as sweeps are added."""
    print("\n### Accuracy against training time, 20news_bow, K = 40, whole fit with second stage\n")
    print("| sweeps | CPU s | accuracy |")
    print("| --- | --- | --- |")
    task = load("20news_bow")
    med(n_topics=40, n_sweeps=2, n_kept=1)(task, 9)
    for n_sweeps, n_kept in ((10, 3), (15, 5), (20, 5), (30, 10), (40, 10)):
        begun = cpu()
        model = MedLDAClassifier(
            n_topics=40, n_sweeps=n_sweeps, n_kept=n_kept, random_state=0, n_threads=1
        )
        model.fit(task.train)
        spent = cpu() - begun
        print(f"| {n_sweeps} | {spent:.1f} | {model.score(task.test):.4f} |", flush=True)


def prediction() -> None:
    print("\n### Prediction, 20news_bow test part\n")
    print("| K | documents a CPU second | target |")
    print("| --- | --- | --- |")
    task = load("20news_bow")
    for n_topics in (40, 80):
        model = MedLDAClassifier(n_topics=n_topics, n_sweeps=10, random_state=0, n_threads=1)
        model.fit(task.train)
        model.predict(task.test)
        took = []
        for _ in range(5):
            begun = cpu()
            model.predict(task.test)
            took.append(cpu() - begun)
        rate = task.test.n_docs / float(np.median(took))
        want = "-" if n_topics != 40 else f"{'met' if rate >= 30_000 else '**missed**'} (≥ 30,000)"
        print(f"| {n_topics} | {rate:,.0f} | {want} |", flush=True)


def intervals() -> None:
    print("\n### New numbers inside `predict_interval(level=0.9)`, tripadvisor5000 test part\n")
    print(
        "| documents to learn from | inside, three seeds | deviation said | root mean square error |"
    )
    print("| --- | --- | --- | --- |")
    task = load("tripadvisor5000")
    truth = np.ravel(task.test.targets)
    for n in (400, 800, task.train.n_docs):
        inside, said, missed = [], [], []
        for seed in range(3):
            model = MedLDARegressor(random_state=seed).fit(task.train[np.arange(n)])
            low, high = model.predict_interval(task.test)
            mean, std = model.predict(task.test, return_std=True)
            inside.append(f"{((low <= truth) & (truth <= high)).mean():.2f}")
            said.append(std.mean())
            missed.append(np.sqrt(((truth - mean) ** 2).mean()))
        means = f"{np.mean(said):.2f} | {np.mean(missed):.2f}"
        print(f"| {n:,} | {', '.join(inside)} | {means} |", flush=True)


def threads() -> None:
    print("\n### Two threads, wall seconds of a fit of 10 sweeps, 20news_bow (best of 3)\n")
    print("| K | sampler | 1 thread | 2 threads | ratio |")
    print("| --- | --- | --- | --- | --- |")
    task = load("20news_bow")
    for n_topics, sampler in ((40, "gibbs"), (160, "light")):
        best = []
        for n_threads in (1, 2):
            took = []
            for _ in range(3):
                model = MedLDAClassifier(
                    n_topics=n_topics, sampler=sampler, n_sweeps=10, n_kept=1, refit=False,
                    random_state=0, n_threads=n_threads,
                )  # fmt: skip
                begun = time.perf_counter()
                model.fit(task.train)
                took.append(time.perf_counter() - begun)
            best.append(min(took))
        ratio = best[0] / best[1]
        print(
            f"| {n_topics} | {sampler} | {best[0]:.2f} | {best[1]:.2f} | {ratio:.2f} |", flush=True
        )


SECTIONS = ("quality", "sets", "sweep", "course", "prediction", "intervals", "threads")
DATA = ("20news_bow", "20news_raw", "pair", "tripadvisor5000", REUTERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=SECTIONS)
    parser.add_argument("--data", nargs="+", choices=DATA, default=DATA)
    parser.add_argument("--model", help="only rows whose name contains this")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sweeps", type=int, default=8)
    given = parser.parse_args()
    if not Path(os.environ.get("BAYOU_DATA", "")).is_dir() or not os.environ.get("BAYOU_DATA"):
        print("BAYOU_DATA does not name a folder of corpora; nothing to measure")
        return
    warnings.simplefilter("ignore")
    if "quality" in given.only:
        quality(list(given.data), given.seeds, given.model)
    if "sets" in given.only:
        print("\n### Defaults against tf-idf + LinearSVC on labelled sets, test parts, one seed\n")
        labelled_sets.table(list(labelled_sets.SETS), ["default", "words0", "svm"])
    if "sweep" in given.only:
        sweeps(given.sweeps)
    if "course" in given.only:
        course()
    if "prediction" in given.only:
        prediction()
    if "intervals" in given.only:
        intervals()
    if "threads" in given.only:
        threads()


if __name__ == "__main__":
    main()
