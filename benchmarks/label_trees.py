"""Chains of trees on the sets of Mulan, as in the published tables of block classifier chains."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_files

from bayou import BlockChainEnsemble, BlockClassifierChain
from bayou.metrics.multilabel import multilabel_report
from pruned_tree import PrunedTree

TREE_SETS = tuple(f"mulan_{x}" for x in ("medical", "birds", "enron", "yeast", "genbase", "cal500"))
SHOWN = (
    "micro_auc",
    "example_f1",
    "example_recall",
    "example_precision",
    "example_jaccard",
    "hamming_loss",
)
N_SPLITS = 3  # that ensembles are fitted to


def matrices_of(name: str) -> tuple[Any, Any]:
    """All documents of a set of Mulan, whose features may be any numbers, and their labels."""
    folder = Path(os.environ["BAYOU_DATA"], name)
    files = sorted(folder.glob("*.svm.gz"), reverse=True)
    with gzip.open(folder / "labels.txt.gz") as names:
        n_labels = len(names.read().splitlines())
    loaded = load_svmlight_files([str(f) for f in files], multilabel=True, zero_based=True)
    X = np.vstack([part.toarray() for part in loaded[::2]])
    Y = np.zeros((len(X), n_labels), np.int64)
    for d, own in enumerate(label for part in loaded[1::2] for label in part):
        Y[d, np.array(own, int)] = 1
    return X, Y


def measured(model: Any, X: Any, Y: Any, split: int) -> list[float]:
    """All measures of one chain or ensemble, fitted to two thirds of the documents at random."""
    order, cut = np.random.default_rng(split).permutation(len(X)), 2 * len(X) // 3
    model.fit(X[order[:cut]], Y[order[:cut]])
    Z, truth = X[order[cut:]], Y[order[cut:]]
    report = multilabel_report(truth, model.predict_proba(Z), predicted=model.predict(Z))
    return [report[name] for name in SHOWN]


def trees(name: str, only: str | None, n_chains: int, n_orders: int) -> None:
    """Chains and block chains of trees, and ensembles: the median over splits, each with an order of its own.

    Behind it stands the standard deviation over splits, which is the noise of a published figure too.
    """
    X, Y = matrices_of(name)
    n_labels, tree = Y.shape[1], PrunedTree()
    print(f"\n{name}: {len(X)} documents, {n_labels} labels, trees\n")
    print("| model | " + " | ".join(SHOWN) + " |\n|" + " --- |" * (len(SHOWN) + 1))

    def row(title: str, runs: list[list[float]]) -> None:
        cells = [f"{np.median(v):.3f} ± {np.std(v, ddof=1):.3f}" for v in np.transpose(runs)]
        print("| " + " | ".join([title, *cells]) + " |", flush=True)

    def single(size: int, seed: int) -> Any:
        return BlockClassifierChain(tree, order="random", block_size=size, random_state=seed)

    def many(size: int, seed: int) -> Any:
        return BlockChainEnsemble(
            tree, n_chains=n_chains, block_size=size, bootstrap=True, random_state=seed
        )

    block = max(2, min(10, n_labels // 2))
    for title, size, make, n in (
        ("binary relevance", n_labels, single, n_orders),
        ("CC", 1, single, n_orders),
        (f"BCC, blocks of {block}", block, single, n_orders),
        (f"ECC, {n_chains} chains", 1, many, N_SPLITS),
        (f"EBCC, {n_chains} chains", block, many, N_SPLITS),
    ):
        if not only or only in (title, title.split(",")[0]):
            row(title, [measured(make(size, i), X, Y, i) for i in range(n)])
