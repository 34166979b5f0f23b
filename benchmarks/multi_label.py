"""Binary relevance, chains, block chains and ensembles of trees on a set of Mulan.

    python benchmarks/multi_label.py                     medical, under a minute
    python benchmarks/multi_label.py --data mulan_enron --chains 20

Data come from the folder in BAYOU_DATA, in the split they are published with. Single chains are the median of
several random orders. Times are wall seconds of fitting and predicting.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from bayou import BlockChainEnsemble, BlockClassifierChain, Corpus, ThresholdedClassifier
from bayou.datasets import load_corpus
from bayou.metrics.multilabel import multilabel_report
from bayou.thresholds import SCut

MEASURES = (
    "micro_auc",
    "macro_auc",
    "example_f1",
    "example_jaccard",
    "micro_f1",
    "macro_present_f1",
    "hamming_loss",
    "rank_one_error",
)


def measured(model: Any, train: Corpus, test: Corpus, Y: Any) -> dict[str, float]:
    """All measures of one model, and its seconds."""
    begin = time.perf_counter()
    model.fit(train.counts, Y)
    scores = model.predict_proba(test.counts)
    found = model.predict(test.counts)
    seconds = time.perf_counter() - begin
    report = multilabel_report(test.labels, scores, predicted=found)
    return {**{name: report[name] for name in MEASURES}, "s": seconds}


def row(name: str, runs: list[dict[str, float]]) -> str:
    """One line of the table: medians over runs."""
    median = {key: float(np.median([run[key] for run in runs])) for key in runs[0]}
    cells = [f"{median[key]:.4f}" for key in MEASURES] + [f"{median['s']:.1f}"]
    return "| " + " | ".join([name, *cells]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="mulan_medical")
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--orders", type=int, default=3)
    parser.add_argument("--block", type=int, default=10)
    args = parser.parse_args()
    train, test = (load_corpus(args.data, split=part) for part in ("train", "test"))
    Y = train.labels  # sparse: documents of which nothing is said have no labels
    tree = DecisionTreeClassifier(min_samples_leaf=2, criterion="entropy")
    print(f"{args.data}: {train.n_docs} + {test.n_docs} documents, {Y.shape[1]} labels, trees")
    print("| model | " + " | ".join([*MEASURES, "s"]) + " |")
    print("|" + " --- |" * (len(MEASURES) + 2))

    def orders(**how: Any) -> list[dict[str, float]]:
        return [
            measured(
                BlockClassifierChain(tree, order="random", random_state=seed, **how), train, test, Y
            )
            for seed in range(args.orders)
        ]

    print(row("binary relevance", orders(block_size=Y.shape[1])), flush=True)
    print(row("chain", orders(block_size=1)), flush=True)
    print(row(f"blocks of {args.block}", orders(block_size=args.block)), flush=True)
    inside_out = orders(block_size=args.block, inside_out=True)
    print(row(f"inside-out blocks of {args.block}", inside_out), flush=True)
    for name, size in (("chains", 1), (f"blocks of {args.block}", args.block)):
        many = BlockChainEnsemble(tree, n_chains=args.chains, block_size=size, random_state=0)
        print(row(f"{args.chains} × {name}", [measured(many, train, test, Y)]), flush=True)
    few = BlockChainEnsemble(tree, n_chains=5, block_size=args.block, random_state=0)
    tuned = ThresholdedClassifier(few, SCut(), cv=3, random_state=0)
    name = f"5 × blocks of {args.block}, SCut"
    print(row(name, [measured(tuned, train, test, Y)]), flush=True)


if __name__ == "__main__":
    main()
