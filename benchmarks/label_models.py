"""All label models on all label sets: one table, mean ranks, and paired significance tests.

    python benchmarks/label_models.py                        every set, at most 1,500 + 750 documents each
    python benchmarks/label_models.py --data slashdot
    python benchmarks/label_models.py --most 0               whole sets
    python benchmarks/label_models.py --read a.txt b.txt     tables by measure and summary of printed tables

Data come from the folder in BAYOU_DATA, in the split they are published with. Sets without a split are cut at
random, two thirds for training. Of each part at most --most (train) and half as many (test) documents are
taken at random, with labels of at least three training documents and documents that have one; of sets of
counts with more than 10,000 terms, those in five training documents. All models have
their default settings and one thread. Seconds are of CPU, for training and scoring. F1 is of label sets
that each model gives by its own rule, fitted to training documents. macro-F1 is over labels that occur in
the test part. Significance is of differences between each model and the one with the best mean rank, over
sets (Wilcoxon's signed-rank test and paired t-test, corrected by Holm), and of the two best on each set.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import rankdata

from bayou import (
    Corpus,
    DependencyLDA,
    FastDependencyLDA,
    LabeledHDP,
    LabeledLDA,
    OnlineDependencyLDA,
    OnlineLabeledHDP,
    OnlineLabeledLDA,
    StackedHDP,
)
from bayou.data import Vectorizer
from bayou.datasets import load_corpus
from bayou.metrics.multilabel import (
    adjust,
    compare_classifiers,
    compare_pairs,
    multilabel_report,
)

SPLIT = ("mulan_bibtex", "mulan_delicious", "mulan_enron", "mulan_genbase", "mulan_medical",
         "mulan_tmc2007_500", "rcv1_sub1", "reuters21578/modapte90", "arxiv_cs", "eurlex57k_19k")  # fmt: skip
WHOLE = ("slashdot", "langlog", "yahoo_arts", "yahoo_health", "yahoo_science", "stackex_cs",
         "stackex_cooking", "stackex_chemistry", "stackex_chess")  # fmt: skip
TEXTS = ("reuters", "arxiv", "eurlex")
WIDE = 10_000  # terms of a set of counts from which rare terms are left out
MIN_DF = 5
FEWEST = 3  # training documents of a label
SHOWN = ("micro_auc", "macro_auc", "rank_one_error", "micro_f1", "macro_present_f1")
TITLES = ("micro-AUC", "macro-AUC", "rank-one error", "micro-F1", "macro-F1")

MODELS: dict[str, Callable[[], Any]] = {
    kind.__name__: lambda kind=kind: kind(n_threads=1, random_state=0)
    for kind in (LabeledLDA, LabeledHDP, FastDependencyLDA, DependencyLDA, StackedHDP,
                 OnlineLabeledLDA, OnlineLabeledHDP, OnlineDependencyLDA)
}  # fmt: skip


class Parts(NamedTuple):
    """Counts and label indicators of training and test documents."""

    counts: csr_array
    labels: csr_array
    test_counts: csr_array
    test_labels: csr_array


class Row(NamedTuple):
    """One model on one set."""

    measures: list[float]
    seconds: float
    scores: Any
    predicted: Any


def load(name: str, most: int) -> Parts:
    """Training and test documents of a set, not more than ``most`` and half as many."""
    rng = np.random.default_rng(0)
    words = Vectorizer(stop_words="english", min_df=MIN_DF) if name.startswith(TEXTS) else None
    if name in SPLIT:
        train, test = (load_corpus(name, split=s, vectorizer=words) for s in ("train", "test"))
        parts = [some(c, rng, n) for c, n in ((train, most), (test, most // 2))]
    else:
        corpus = load_corpus(name, vectorizer=words)
        order = rng.permutation(np.flatnonzero(np.diff(corpus.labels.indptr) > 0))
        cut = 2 * len(order) // 3
        sizes = (min(cut, most or cut), min(len(order) - cut, most // 2 or len(order)))
        parts = [corpus[np.sort(order[: sizes[0]])], corpus[np.sort(order[cut : cut + sizes[1]])]]
    train, test = parts
    own = np.asarray(csr_array(train.labels).sum(axis=0)).ravel() >= FEWEST
    if name == "rcv1_sub1":
        own[0] = False  # lost in the published test part
    terms = np.arange(train.n_terms)
    if words is None and len(terms) > WIDE:
        there = np.bincount(csr_array(train.counts).indices, minlength=len(terms))
        terms = np.flatnonzero(there >= MIN_DF)
    out = []
    for part in (train, test):
        labels = csr_array(part.labels)[:, np.flatnonzero(own)]
        rows = np.flatnonzero(np.diff(labels.indptr) > 0)
        out += [csr_array(part.counts)[rows][:, terms], csr_array(labels[rows])]
    return Parts(*out)


def some(corpus: Corpus, rng: Any, most: int) -> Corpus:
    """At most N documents with labels, at random."""
    use = np.flatnonzero(np.diff(corpus.labels.indptr) > 0)
    return corpus[np.sort(rng.permutation(use)[: most or len(use)])]


def run(make: Callable[[], Any], data: Parts) -> Row:
    """Fit, score and measure one model."""
    begin = time.process_time()
    model = make().fit(data.counts, data.labels.toarray())
    scores = model.decision_function(data.test_counts)
    seconds = time.process_time() - begin
    predicted = model.predict(data.test_counts)
    report = multilabel_report(data.test_labels, scores, predicted=predicted)
    return Row([float(report[key]) for key in SHOWN], seconds, scores, predicted)


def show_set(name: str, data: Parts, models: dict[str, Callable[[], Any]]) -> dict[str, Row]:
    """Print the rows of one set."""
    n, m = data.labels.shape[0], data.test_labels.shape[0]
    per_doc = f"{data.labels.nnz / n:.2f} labels and {data.counts.sum() / n:.0f} tokens"
    n_labels = data.labels.shape[1]
    print(f"\n{name}: {n:,} + {m:,} documents, {n_labels:,} labels; {per_doc} per document\n")
    print("| model | " + " | ".join(TITLES) + " | CPU s |\n| --- |" + " ---: |" * 6)
    found = {}
    for title, make in models.items():
        found[title] = row = run(make, data)
        cells = " | ".join(f"{x:.4f}" for x in row.measures)
        print(f"| {title} | {cells} | {row.seconds:.1f} |", flush=True)
    return found


def show_pairs(data: Parts, found: dict[str, Row]) -> None:
    """Print the tests of the two models with the best mean rank on one set."""
    ranks = mean_ranks([found])
    one, two = sorted(found, key=lambda title: ranks[title].mean())[:2]
    a, b = found[one], found[two]
    tests = compare_classifiers(data.test_labels, [a.scores, b.scores], [a.predicted, b.predicted])
    cells = (
        f"{m} {t.difference:+.4f} (t {t.t_p:.3g}, ranks {t.rank_p:.3g})" for m, t in tests.items()
    )
    print(f"\n{one} minus {two}: " + "; ".join(cells), flush=True)


def mean_ranks(sets: list[dict[str, Row]]) -> dict[str, np.ndarray]:
    """Rank of each model in each measure (1 is best), averaged over sets."""
    titles = list(sets[0])
    ranks = []
    for found in sets:
        table = np.array([found[t].measures for t in titles])
        table[:, SHOWN.index("rank_one_error")] *= -1.0
        ranks.append(np.column_stack([rankdata(-column) for column in table.T]))
    return dict(zip(titles, np.mean(ranks, axis=0), strict=True))


def read_tables(paths: list[str]) -> dict[str, dict[str, Row]]:
    """The rows of tables that `show_set` printed; of a set that occurs again, the last ones."""
    found: dict[str, dict[str, Row]] = {}
    name = ""
    for line in "\n".join(Path(path).read_text() for path in paths).splitlines():
        if " documents, " in line and line.split(":")[0] in (*SPLIT, *WHOLE):
            name = line.split(":")[0]
            found[name] = {}
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if name and cells[0] in MODELS and len(cells) == len(SHOWN) + 2:
            *measures, seconds = map(float, cells[1:])
            found[name].setdefault(cells[0], Row(measures, seconds, None, None))
    return {name: rows for name, rows in found.items() if len(rows) == len(MODELS)}


def show_measures(sets: dict[str, dict[str, Row]]) -> None:
    """Print one table per measure, sets by models."""
    titles = list(next(iter(sets.values())))
    for j, measure in enumerate(TITLES):
        print(f"\n| {measure} | " + " | ".join(titles) + " |\n| --- |" + " ---: |" * len(titles))
        for name, found in sets.items():
            cells = [found[title].measures[j] for title in titles]
            best = min(cells) if SHOWN[j] == "rank_one_error" else max(cells)
            shown = (f"**{x:.3f}**" if x == best else f"{x:.3f}" for x in cells)
            print(f"| {name} | " + " | ".join(shown) + " |")


def show_summary(sets: list[dict[str, Row]]) -> None:
    """Print mean ranks, and tests over sets against the model with the best mean rank."""
    ranks, seconds = mean_ranks(sets), {t: sum(s[t].seconds for s in sets) for t in sets[0]}
    print(f"\nMean ranks over {len(sets)} sets\n")
    print("| model | " + " | ".join(TITLES) + " | all | CPU s |\n| --- |" + " ---: |" * 7)
    for title in sorted(ranks, key=lambda t: ranks[t].mean()):
        cells = " | ".join(f"{x:.2f}" for x in (*ranks[title], ranks[title].mean()))
        print(f"| {title} | {cells} | {seconds[title]:.0f} |")
    if len(sets) < 2:
        return
    best = min(ranks, key=lambda t: ranks[t].mean())
    others = [t for t in ranks if t != best]
    print(
        f"\n{best} minus each model: mean difference over sets (p of signed ranks / of t, Holm)\n"
    )
    print("| model | " + " | ".join(TITLES) + " |\n| --- |" + " ---: |" * len(TITLES))
    columns = []
    for j in range(len(SHOWN)):
        mine = [s[best].measures[j] for s in sets]
        tests = [compare_pairs(mine, [s[t].measures[j] for s in sets]) for t in others]
        corrected = [adjust([x.rank_p for x in tests]), adjust([x.t_p for x in tests])]
        columns.append([f"{x.difference:+.4f} ({w:.2g} / {t:.2g})"
                        for x, w, t in zip(tests, *corrected, strict=True)])  # fmt: skip
    for title, cells in zip(others, zip(*columns, strict=True), strict=True):
        print(f"| {title} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="*", choices=(*SPLIT, *WHOLE))
    parser.add_argument("--model", nargs="*", choices=MODELS)
    parser.add_argument("--most", type=int, default=1500, help="training documents; 0: all")
    parser.add_argument("--rule", choices=("scut", "cardinality"), help="instead of the default")
    parser.add_argument("--read", nargs="+", help="files with printed tables")
    args = parser.parse_args()
    if args.read:
        sets = read_tables(args.read)
        show_measures(sets)
        show_summary(list(sets.values()))
        return
    models = {t: MODELS[t] for t in args.model or MODELS}
    if args.rule:
        models = {
            t: lambda make=make: make().set_params(rule=args.rule) for t, make in models.items()
        }
    begin, sets = time.process_time(), {}
    for name in args.data or (*SPLIT, *WHOLE):
        data = load(name, args.most)
        sets[name] = show_set(name, data, models)
        if len(models) > 1:
            show_pairs(data, sets[name])
    show_measures(sets)
    show_summary(list(sets.values()))
    print(f"\n{time.process_time() - begin:.0f} s of CPU in all")


if __name__ == "__main__":
    main()
