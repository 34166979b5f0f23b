"""Labels on a stream: curves of what is predicted before it is learned, and test documents afterwards.

    python benchmarks/online_labels.py                                        everything
    python benchmarks/online_labels.py --only curves --data mulan_bibtex
    python benchmarks/online_labels.py --only stacked
    python benchmarks/online_labels.py --only many                            13,000 labels
    python benchmarks/online_labels.py --only topics                          topics of topics, without labels
    python benchmarks/online_labels.py --only curves --data arxiv_big --every 0   only by name

Data come from the folder in BAYOU_DATA, in the split they are published with; documents without labels are
left out of the test part. Training documents come once, in one random order, 256 at a time. Along the stream
every block is scored before it is learned; areas under the curve are of the scores of a stretch of blocks
together (macro: of labels that some of its documents have and some lack). Models have their default settings
but for what stands in its name. Seconds are of CPU; peak memory includes the corpus and compilation.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayou import (
    LDA,
    Corpus,
    LabeledHDP,
    OnlineDependencyLDA,
    OnlineLabeledHDP,
    OnlineLabeledLDA,
    StackedHDP,
    StackedTopics,
)
from bayou.data import Vectorizer
from bayou.data.synthetic_labels import sample_dependency_lda
from bayou.datasets import load_corpus
from bayou.metrics.multilabel import macro_auc, micro_auc, rank_one_error

SETS = ("mulan_bibtex", "mulan_delicious", "reuters21578/modapte90", "eurlex57k_19k")
LARGE = ("arxiv_big",)  # only by name
COUNTS = ("mulan", "arxiv_big")  # sets that hold counts, not texts
BLOCK = 256  # documents between two looks
STRETCHES = 8  # rows of a curve

MODELS: dict[str, Callable[[], Any]] = {
    "SCVB": lambda: OnlineLabeledLDA(prior="flat", random_state=0),
    "SCVB, frequency prior": lambda: OnlineLabeledLDA(random_state=0),
    "hybrid, not greedy": lambda: OnlineLabeledLDA(
        inference="hybrid", greedy=False, prior="flat", random_state=0
    ),
    "hybrid HDP": lambda: OnlineLabeledHDP(random_state=0),
    "SCVB-Dependency": lambda: OnlineDependencyLDA(random_state=0),
    "SCVB-Dependency, joint": lambda: OnlineDependencyLDA(greedy=False, random_state=0),
}


def split_of(name: str) -> tuple[Corpus, Corpus]:
    """Training documents in random order, and test documents that have labels."""
    words = None
    if not name.startswith(COUNTS):
        words = Vectorizer(min_df=5 if "eurlex" in name else 3, stop_words="english")
    train, test = (load_corpus(name, split=part, vectorizer=words) for part in ("train", "test"))
    order = np.random.default_rng(0).permutation(train.n_docs)
    return train[order], test[np.flatnonzero(np.diff(test.labels.indptr) > 0)]


def areas(truth: csr_array, scores: np.ndarray) -> tuple[float, float]:
    """Micro- and macro-AUC."""
    return float(micro_auc(truth, scores)), float(macro_auc(truth, scores).value)


def followed(model: Any, train: Corpus, every: int) -> tuple[list[tuple[int, float, float]], float]:
    """Areas along the stream, scoring one document in ``every``; and seconds of learning."""
    if not every:
        begin = time.process_time()
        model.partial_fit(train)
        return [], time.process_time() - begin
    ends = list(range(0, train.n_docs, BLOCK))
    rows, seconds = [], 0.0
    kept: list[tuple[csr_array, np.ndarray]] = []
    cuts = {int(x) for x in np.linspace(0, len(ends) - 1, STRETCHES + 1)[1:]} - {0}
    for i, lo in enumerate(ends):
        block = train[lo : lo + BLOCK]
        if i:
            some = block[np.flatnonzero(np.diff(block.labels.indptr) > 0)[::every]]
            kept.append((csr_array(some.labels), model.decision_function(some)))
        if i in cuts:
            truth = csr_array(np.vstack([t.toarray() for t, _ in kept]))
            rows.append((lo, *areas(truth, np.vstack([s for _, s in kept]))))
            kept = []
        begin = time.process_time()
        model.partial_fit(block)
        seconds += time.process_time() - begin
    return rows, seconds


def curves(name: str, every: int, models: dict[str, Callable[[], Any]]) -> None:
    """Curves of all models on one set, and the test part after the stream."""
    train, test = split_of(name)
    print(f"\n{name}: {train.n_docs:,} + {test.n_docs:,} documents, {train.n_labels:,} labels")
    found, ends = {}, []
    for title, make in models.items():
        model = make()
        found[title], seconds = followed(model, train, every)
        begin = time.process_time()
        scores = model.decision_function(test)
        asked = time.process_time() - begin
        row = (*areas(test.labels, scores), float(rank_one_error(test.labels, scores)))
        ends.append((title, *row, train.n_docs / seconds, test.n_docs / asked))
        print(f"  {title}: learned in {seconds:.1f} s", flush=True)
    for measure, at in (("micro-AUC", 1), ("macro-AUC", 2)) if every else ():
        print(f"\n| {measure}, seen up to | " + " | ".join(found) + " |")
        print("|" + " ---: |" * (len(found) + 1))
        for i, one in enumerate(next(iter(found.values()))):
            cells = " | ".join(f"{rows[i][at]:.4f}" for rows in found.values())
            print(f"| {one[0]:,} | {cells} |")
    print(
        "\n| test part after one pass | micro-AUC | macro-AUC | rank-one error | learned/s | asked/s |"
    )
    print("| --- |" + " ---: |" * 5)
    for title, micro, macro, rank, learned, asked in ends:
        print(
            f"| {title} | {micro:.4f} | {macro:.4f} | {rank:.4f} | {learned:,.0f} | {asked:,.0f} |"
        )


def stacked(name: str, n_chains: int) -> None:
    """Models with a learned root, on the test part."""
    train, test = split_of(name)
    print(f"\n{name}, models with a learned root")
    print("| model | micro-AUC | macro-AUC | rank-one error | s |")
    print("| --- |" + " ---: |" * 4)
    for title, model in {
        "stacked HDP, 1 chain": StackedHDP(random_state=0),
        f"stacked HDP, {n_chains} chains": StackedHDP(n_chains=n_chains, random_state=0),
        "labelled HDP": LabeledHDP(random_state=0),
        "labelled HDP, not greedy": LabeledHDP(greedy=False, random_state=0),
    }.items():
        begin = time.process_time()
        scores = model.fit(train).decision_function(test)
        seconds = time.process_time() - begin
        row = (*areas(test.labels, scores), float(rank_one_error(test.labels, scores)))
        print(
            f"| {title} | " + " | ".join(f"{x:.4f}" for x in row) + f" | {seconds:.1f} |",
            flush=True,
        )


def many(n_labels: int) -> None:
    """Speed with many labels, on documents drawn from the model; one chain."""
    corpus = sample_dependency_lda(2816, 100, n_labels, 5000, seed=0)[0]
    print(f"\n{n_labels:,} labels, drawn: 2,560 + 256 documents, 60 tokens and 3 labels each")
    print("| model | micro-AUC | learned/s | asked/s |\n| --- | ---: | ---: | ---: |")
    train, test = corpus[:2560], corpus[2560:]
    for title, greedy in (("SCVB-Dependency", True), ("SCVB-Dependency, joint", False)):
        model = OnlineDependencyLDA(greedy=greedy, n_chains=1, random_state=0)
        model.partial_fit(train[:256])  # compiles
        model = OnlineDependencyLDA(greedy=greedy, n_chains=1, random_state=0)
        begin = time.process_time()
        model.partial_fit(train)
        middle = time.process_time()
        area = float(micro_auc(test.labels, model.decision_function(test)))
        rates = 2560 / (middle - begin), 256 / (time.process_time() - middle)
        print(f"| {title} | {area:.4f} | {rates[0]:,.0f} | {rates[1]:,.0f} |", flush=True)


def topics(name: str, n_docs: int) -> None:
    """Held-out perplexity of topics of topics beside plain topics."""
    corpus = load_corpus(name)
    order = np.random.default_rng(0).permutation(corpus.n_docs)[: 3 * n_docs // 2]
    train, test = corpus[order[:n_docs]], corpus[order[n_docs:]]
    print(f"\n{name}, {train.n_docs:,} + {test.n_docs:,} documents")
    print("| model | perplexity | topics used | s |\n| --- | ---: | ---: | ---: |")
    for title, model in {
        "StackedTopics, 20 over 50": StackedTopics(random_state=0),
        "LDA, Gibbs, 20": LDA(n_topics=20, inference="gibbs", random_state=0),
        "LDA, Gibbs, 50": LDA(n_topics=50, inference="gibbs", random_state=0),
    }.items():
        begin = time.process_time()
        model.fit(train)
        seconds = time.process_time() - begin
        used = getattr(model, "n_used_", model.n_topics)
        print(f"| {title} | {model.perplexity(test):.0f} | {used} | {seconds:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=("curves", "stacked", "many", "topics"))
    parser.add_argument("--data", choices=(*SETS, *LARGE))
    parser.add_argument("--model", choices=MODELS, help="curves of one model")
    parser.add_argument("--chains", type=int, default=10)
    parser.add_argument(
        "--every", type=int, default=1, help="score one document in so many; 0: none"
    )
    args = parser.parse_args()
    if args.only in (None, "curves"):
        for name in [args.data] if args.data else SETS:
            curves(name, args.every, {args.model: MODELS[args.model]} if args.model else MODELS)
    if args.only in (None, "stacked"):
        stacked(args.data or "mulan_bibtex", args.chains)
    if args.only in (None, "many"):
        many(13_000)
    if args.only in (None, "topics"):
        topics("uci_kos", 1000)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    print(f"\n{time.process_time():.0f} s of CPU in all, peak memory {peak:,.0f} MB")


if __name__ == "__main__":
    main()
