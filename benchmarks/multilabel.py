"""Several labels a document: topic models over labels, other libraries, and chains of trees.

    python benchmarks/multilabel.py                                      everything
    python benchmarks/multilabel.py --only topics --data mulan_bibtex
    python benchmarks/multilabel.py --only trees --data mulan_medical
    python benchmarks/multilabel.py --only speed

Data come from the folder in BAYOU_DATA, in the split they are published with (trees: two thirds at random);
documents without labels are left out of the test part. Seconds are of CPU. No setting is chosen on test
documents: how many labels a document gets, and the mixture of scores, are decided with training documents
held out; for scores of other topic models by a Lasso regression on the training documents, and classifiers of
one label give theirs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayou import (
    Corpus,
    DependencyLDA,
    FastDependencyLDA,
    LabeledLDA,
)
from bayou.data import Vectorizer
from bayou.datasets import load_corpus
from bayou.metrics.multilabel import (
    adjust,
    compare_classifiers,
    macro_auc,
    macro_scores,
    multilabel_report,
)
from bayou.multilabel import CardinalityRegression
from label_peers import Scored, omikuji, relevance, tomotopy
from label_trees import TREE_SETS, trees

TOPIC_SETS = ("mulan_bibtex", "mulan_delicious", "reuters21578/modapte90", "eurlex57k_19k")
SHOWN = ("micro_auc", "macro_auc", "rank_one_error", "micro_f1", "macro_present_f1")
RARE = 10  # training documents below which a label is rare
FEW = 200  # labels up to which one classifier a label is fitted here; of more, so many at random
FEWER = 60  # labels up to which probabilistic chains and stacking are fitted
MANY = 2000  # labels from which tomotopy gets fewer sweeps, and no partially labelled model


def split_of(name: str) -> tuple[Corpus, Corpus]:
    """Training and test documents; test documents without labels are left out."""
    words = None
    if not name.startswith("mulan"):
        words = Vectorizer(stop_words="english", min_df=3 if name.startswith("reuters") else 5)
    parts = [load_corpus(name, split=part, vectorizer=words) for part in ("train", "test")]
    train, test = parts
    return train, test[np.flatnonzero(np.diff(test.labels.indptr) > 0)]


def fitted(made: Any) -> Callable[[Corpus, Corpus], Scored]:
    """One of our models as a function of corpora."""

    def run(train: Corpus, test: Corpus) -> Scored:
        begin = time.process_time()
        model = made.fit(train)
        train_s = time.process_time() - begin
        begin = time.process_time()
        scores = model.decision_function(test)
        test_s = time.process_time() - begin
        return Scored(scores, train_s, test_s, model.predict(test))

    return run


def rare_f1(train: Corpus, test: Corpus, given: Any, columns: Any = None) -> float:
    """Macro-F1 over labels with few training documents that occur in the test part."""
    columns = np.arange(train.n_labels) if columns is None else columns
    n_train, n_test = (
        np.bincount(c.labels.indices, minlength=train.n_labels)[columns] for c in (train, test)
    )
    rare = np.flatnonzero((n_train < RARE) & (n_train > 0) & (n_test > 0))
    if not len(rare):
        return float("nan")
    return float(macro_scores(test.labels[:, columns[rare]], np.asarray(given)[:, rare]).f1)


def measures(train: Corpus, test: Corpus, got: Scored, columns: Any = None) -> list[str]:
    """The cells of a row, of all labels or of some."""
    truth = test.labels if columns is None else test.labels[:, columns]
    report = multilabel_report(truth, got.scores, predicted=got.given)
    cells = [f"{report[key]:.4f}" for key in SHOWN]
    cells += [f"{rare_f1(train, test, got.given, columns):.3f}", f"{got.train_s:.1f}"]
    return [*cells, f"{test.n_docs / got.test_s:,.0f}"]


def head(*before: str) -> None:
    print("| " + " | ".join([*before, *SHOWN, "rare F1", "fit s", "docs/s"]) + " |")
    print("|" + " --- |" * (len(SHOWN) + len(before) + 3))


def topics(name: str, only: str | None, n_chains: int) -> None:
    """The table of one set: ours, then others."""
    train, test = split_of(name)
    print(
        f"\n{name}: {train.n_docs:,} + {test.n_docs:,} documents, {train.n_labels:,} labels, "
        f"{train.n_terms:,} terms, {train.n_tokens:,.0f} training tokens\n"
    )
    head("model")
    cardinality, kept = None, {}
    for title, run in rows_of(train.n_labels, n_chains).items():
        if only and only.lower() not in title.lower():
            continue
        try:
            got = run(train, test)
        except ModuleNotFoundError as error:
            print(f"| {title} | {error.name} is not installed |")
            continue
        if got.given is None:
            if cardinality is None:
                cardinality = CardinalityRegression(max_docs=2500).fit(
                    np.zeros(train.labels.shape), train.labels, train.counts
                )
            got.given = cardinality.predict(got.scores, test.counts)
        print("| " + " | ".join([title, *measures(train, test, got)]) + " |", flush=True)
        kept[title] = got
    significance(test, kept)
    if train.n_labels > FEW:
        some_labels(train, test, kept, only)


def significance(test: Corpus, kept: dict[str, Scored]) -> None:
    """Paired tests between the row with the best macro-AUC and every other row, corrected by Holm."""
    if len(kept) < 2:
        return
    best = max(kept, key=lambda title: macro_auc(test.labels, kept[title].scores).value)
    one, others = kept[best], [title for title in kept if title != best]
    found = [
        compare_classifiers(
            test.labels, (one.scores, kept[t].scores), (one.given, np.asarray(kept[t].given))
        )
        for t in others
    ]
    names = list(found[0])
    p = {
        m: [adjust([f[m].t_p for f in found]), adjust([f[m].rank_p for f in found])] for m in names
    }
    print(f"\n{best} minus each row: difference (p of t / of signed ranks, Holm)\n")
    print("| model | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    for i, title in enumerate(others):
        cells = (
            f"{found[i][m].difference:+.4f} ({p[m][0][i]:.2g} / {p[m][1][i]:.2g})" for m in names
        )
        print(f"| {title} | " + " | ".join(cells) + " |", flush=True)


def rows_of(n_labels: int, n_chains: int) -> dict[str, Callable[[Corpus, Corpus], Scored]]:
    """What is compared, as functions of training and test documents."""
    one = {"n_threads": 1, "random_state": 0}
    many = {"n_chains": n_chains, **one}
    rows = {
        "LabeledLDA": fitted(LabeledLDA(**one)),
        "LabeledLDA, Gibbs": fitted(LabeledLDA(inference="gibbs", **one)),
        "FastDependencyLDA, 1 chain": fitted(FastDependencyLDA(**one)),
        f"FastDependencyLDA, {n_chains} chains": fitted(FastDependencyLDA(**many)),
        f"FastDependencyLDA S1, {n_chains} chains": fitted(
            FastDependencyLDA(scoring="tokens", **many)
        ),
        f"FastDependencyLDA S2, {n_chains} chains": fitted(
            FastDependencyLDA(scoring="document", **many)
        ),
        f"DependencyLDA, {n_chains} chains": fitted(DependencyLDA(**many)),
        "omikuji": omikuji,
    }
    if n_labels > MANY:
        rows["tomotopy LLDA, 5 sweeps"] = lambda a, b: tomotopy(a, b, n_sweeps=5, n_steps=5)
        return rows
    rows["tomotopy LLDA"] = tomotopy
    rows["tomotopy PLDA"] = lambda a, b: tomotopy(a, b, partial=True)
    if n_labels <= FEW:
        rows["LinearSVC, one a label"] = lambda a, b: relevance(a, b, kind="svc")
        rows["LogisticRegression, one a label"] = lambda a, b: relevance(a, b, kind="logistic")
        rows["ClassifierChain of those"] = lambda a, b: relevance(a, b, kind="chain")
    if n_labels <= FEWER:
        del rows["ClassifierChain of those"]  # refuses labels that no training document has
        rows["BlockClassifierChain of those"] = lambda a, b: relevance(a, b, kind="blocks")
        rows["ProbabilisticChain of those"] = lambda a, b: relevance(a, b, kind="joint")
        rows["LabelStacking of those"] = lambda a, b: relevance(a, b, kind="stacked")
    return rows


def some_labels(train: Corpus, test: Corpus, kept: dict[str, Scored], only: str | None) -> None:
    """One classifier a label for some labels at random, and the models above on the same ones."""
    there = [np.bincount(c.labels.indices, minlength=train.n_labels) > 0 for c in (train, test)]
    every = np.flatnonzero(there[0] & there[1])
    columns = np.sort(np.random.default_rng(0).permutation(every)[:FEW])
    print(f"\n{len(columns)} labels at random of the {len(every):,} that both parts have\n")
    head("model")
    for title, got in kept.items():
        part = Scored(got.scores[:, columns], got.train_s, got.test_s, got.given[:, columns])
        print("| " + " | ".join([title, *measures(train, test, part, columns)]) + " |", flush=True)
    for kind, name in (("svc", "LinearSVC"), ("logistic", "LogisticRegression")):
        title = f"{name}, one a label"
        if not only or only.lower() in title.lower():
            got = relevance(train, test, kind=kind, columns=columns)
            cells = measures(train, test, got, columns)
            print("| " + " | ".join([title, *cells]) + " |", flush=True)


def speed(only: str | None) -> None:
    """Tokens of training a second of CPU beside tomotopy, and documents scored a second with many labels."""
    print("\n| data | labels | model | sweeps | tokens / CPU s |\n| --- | --- | --- | --- | --- |")
    sets = ("mulan_bibtex", "mulan_delicious", "reuters21578/modapte90")
    for name in [only] if only else sets:
        train, _ = split_of(name)
        few = {"rule": "scut", "validation_share": 0.0, "n_threads": 1, "random_state": 0}
        models = {
            "LabeledLDA, Gibbs": LabeledLDA(inference="gibbs", greedy=False, n_sweeps=100, **few),
            "LabeledLDA, Gibbs, greedy": LabeledLDA(inference="gibbs", n_sweeps=100, **few),
            "LabeledLDA, CVB0": LabeledLDA(**few),
        }
        for title, model in models.items():
            model.fit(train[:200])  # compiles
            ticks: list[float] = []
            model.set_params(callbacks=lambda _, ticks=ticks: ticks.append(time.process_time()))
            model.fit(train)
            rate = train.n_tokens * (len(ticks) - 1) / (ticks[-1] - ticks[0])
            row = (name, train.n_labels, title, len(ticks), f"{rate:,.0f}")
            print("| " + " | ".join(map(str, row)) + " |", flush=True)
        got = tomotopy(train, train[:1], n_sweeps=20)
        rate = train.n_tokens * 20 / got.train_s
        print(f"| {name} | {train.n_labels} | tomotopy LLDA | 20 | {rate:,.0f} |", flush=True)
    if only not in (None, "mulan_delicious"):
        return
    train, test = split_of("mulan_delicious")
    print("\n| model | labels | chains | documents / CPU s |\n| --- | --- | --- | --- |")
    for kind, n in (
        (LabeledLDA, 1),
        (FastDependencyLDA, 1),
        (FastDependencyLDA, 10),
        (DependencyLDA, 1),
    ):
        how = (
            {} if kind is LabeledLDA else {"n_chains": n, "n_sweeps": 20, "n_kept": 10, "mix": 0.7}
        )
        model = kind(n_threads=1, random_state=0, rule="scut", validation_share=0.0, **how).fit(
            train
        )
        model.decision_function(test[:50])
        begin = time.process_time()
        model.decision_function(test)
        rate = test.n_docs / (time.process_time() - begin)
        print(f"| {kind.__name__} | {train.n_labels} | {n} | {rate:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("topics", "trees", "speed"))
    parser.add_argument("--data", help="one set instead of all")
    parser.add_argument("--model", help="rows whose name holds this")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument("--orders", type=int, default=5)
    args = parser.parse_args()
    if args.only in (None, "topics"):
        for name in [args.data] if args.data else TOPIC_SETS:
            topics(name, args.model, args.chains)
    if args.only in (None, "trees"):
        for name in [args.data] if args.data else TREE_SETS:
            trees(name, args.model, 2 * args.chains, args.orders)
    if args.only in (None, "speed"):
        speed(args.data)


if __name__ == "__main__":
    main()
