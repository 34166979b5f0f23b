"""Losses of MedLDA compared on held-out training documents: accuracy and seconds of fitting.

    python benchmarks/losses.py --data 20news_bow poliblog5k --docs 5000 --seeds 3

Data come from the folder in BAYOU_DATA. One fifth of the training documents is held out; the test part is not
read. All rows have the default settings of the estimator except the loss. Seconds are CPU seconds of one
thread, compiling before the clock.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

from bayou import Corpus, MedHDPClassifier, MedLDAClassifier
from bayou.datasets import load_corpus

ROWS: dict[str, dict[str, Any]] = {
    "hinge": {"loss": "hinge"},
    "logistic": {"loss": "logistic"},
    "smooth-hinge": {"loss": "smooth-hinge"},
    "logistic 204.8": {"loss": "logistic", "cost": 204.8},
    **{
        f"smooth-hinge {s:g}": {"loss": "smooth-hinge", "smoothing": s}
        for s in (0.01, 0.06, 0.25, 1.0, 4.0)
    },
}
MODELS = {"lda": MedLDAClassifier, "hdp": MedHDPClassifier}


def split(name: str, n_docs: int) -> tuple[Corpus, Corpus]:
    """Documents to learn from, and a fifth held out."""
    whole = load_corpus(name, split="train" if name == "20news_bow" else "all")
    order = np.random.default_rng(7).permutation(whole.n_docs)[:n_docs]
    n_test = len(order) // 5
    return whole[order[n_test:]], whole[order[:n_test]]


def measure(
    kind: Any, settings: Any, train: Corpus, test: Corpus, seed: int
) -> tuple[float, float]:
    """Accuracy on held-out documents, and CPU seconds of `fit`."""
    start = time.process_time()
    own = {
        "word_residual": 0.0,
        **settings,
    }  # topics alone: words would hide what a loss does to them
    model = kind(random_state=seed, n_threads=1, **own).fit(train)
    return float(model.score(test)), time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=["20news_bow", "poliblog5k"])
    parser.add_argument("--model", choices=MODELS, default="lda")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS)[:3])
    parser.add_argument("--docs", type=int, default=5000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    for name in given.data:
        train, test = split(name, given.docs)
        kind = MODELS[given.model]
        print(f"{kind.__name__}, {name}: {train.n_docs:,} documents, {test.n_docs:,} held out")
        for row in given.rows:
            settings = ROWS[row]
            kind(random_state=0, n_sweeps=1, n_kept=1, n_threads=1, **settings).fit(train[:200])
            runs = [measure(kind, settings, train, test, seed) for seed in range(given.seeds)]
            scores, seconds = np.array(runs).T
            error = scores.std(ddof=1) / np.sqrt(len(scores)) if len(scores) > 1 else np.nan
            print(
                f"  {row:18s} accuracy {scores.mean():.4f} ± {error:.4f}  seconds {seconds.mean():.1f}  "
                + " ".join(f"{s:.4f}" for s in scores),
                flush=True,
            )


if __name__ == "__main__":
    main()
