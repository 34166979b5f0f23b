"""Online HDP: time to the batch sampler's level, batch sizes, ceilings, seeds, gensim, hybrid online LDA.

    python benchmarks/online_hdp.py                          everything
    python benchmarks/online_hdp.py --only level --corpus kos

Data come from the folder in BAYOU_DATA. Times are CPU seconds of one thread, compiling before the clock,
scoring not counted. Scores are nats a token over the whole test part: `completion` (proportions from one half
of a document, the other half scored) and `same words` (proportions from the very tokens that are scored,
which flatters), by expectation-maximisation under the topics held fixed, for every model alike.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from bayou import HDP, Corpus, OnlineHDP, OnlineLDA
from bayou.data import read
from bayou.data.synthetic import sample_lda
from bayou.inference.lda import documents, fold_in
from bayou.run.shards import Workers
from corpora import Bench
from corpora import load as load_bench

FEW = {"n_threads": 1, "random_state": 0}


def cpu() -> float:
    return time.process_time()


def load(name: str) -> Bench:
    """KOS: 2,930 and 500 documents as in the thesis; NIPS as it comes; 20 Newsgroups by date."""
    folder = Path(os.environ["BAYOU_DATA"])
    if name == "kos":
        every = read(folder / "uci_kos" / "docword.kos.txt.gz")
        order = np.random.default_rng(0).permutation(every.n_docs)
        return Bench(name, every[np.sort(order[:2930])], every[np.sort(order[2930:])])
    if name == "nips":
        at = folder / "uci_nips"
        train, test = (read(at / f"{part}.svm.gz") for part in ("train", "test"))
        counts = csr_array(test.counts)
        counts.resize((test.n_docs, train.n_terms))  # the last terms may not occur in the test part
        return Bench(name, train, Corpus.from_matrix(counts))
    return load_bench(name)


def same_words(bench: Bench, rows: np.ndarray, alpha: np.ndarray) -> float:
    """Proportions from the tokens that are scored."""
    pairs = documents.pairs_of(bench.few.counts)
    kept = np.ascontiguousarray(rows, np.float32)
    with Workers(1) as workers:
        return fold_in.completion(kept, alpha, pairs, pairs, workers.each)


def both(bench: Bench, post: Any) -> str:
    return (
        f"{bench.score(post.rows, post.alpha):.4f} | {same_words(bench, post.rows, post.alpha):.4f}"
    )


def head(title: str, *cells: str) -> None:
    print(f"\n### {title}\n")
    say(*cells)
    say(*["---"] * len(cells))


def say(*cells: Any) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def warm(bench: Bench, section: str) -> None:
    """Compile what a section needs on a corner of the corpus before any clock runs."""
    corner = bench.train[:80]
    for how in ("hybrid", "truncation-free"):
        OnlineHDP(n_topics=12, inference=how, n_passes=2, batch_size=40, **FEW).fit(
            corner
        ).transform(corner)
    for how in ("hybrid", "scvb0"):
        OnlineLDA(n_topics=4, n_passes=1, inference=how, **FEW).fit(corner)
    if section == "level":
        batch_model(10, 6).fit(corner)


def batch_model(n_topics: int, n_sweeps: int, **given: Any) -> HDP:
    """The batch sampler to compare with."""
    return HDP(n_topics=n_topics, n_sweeps=n_sweeps, **FEW | given)


def level(bench: Bench, args: argparse.Namespace) -> None:
    """Figure 5.3: CPU time until the online model, fitted in ever more passes, is at the batch level."""
    head(f"CPU seconds to the batch sampler's level, K = {args.topics} ({bench.name})",
         "model", "CPU s", "completion", "same words", "topics", "ratio", "target")  # fmt: skip
    given = {} if args.beta is None else {"beta": args.beta}
    batch = batch_model(args.topics, args.sweeps, start=args.start, **given)
    begun = cpu()
    batch.fit(bench.train)
    spent = cpu() - begun
    goal = bench.score(batch.posterior_.rows, batch.alpha_)
    what = f"HDP, {args.sweeps} sweeps, beta = {batch.beta:g}"
    say(what, f"{spent:.1f}", both(bench, batch.posterior_), batch.posterior_.n_topics, 1, "-")
    for n_passes in range(1, args.passes + 1):
        begun = cpu()
        model = OnlineHDP(n_topics=args.topics, n_passes=n_passes, tol=0.0, **FEW, **given).fit(
            bench.train
        )
        took = cpu() - begun
        there = bench.score(model.posterior_.rows, model.alpha_) >= goal
        met = "" if not there else "met (≤ 0.2)" if took <= 0.2 * spent else "**missed** (≤ 0.2)"
        name = f"OnlineHDP, passes: {n_passes}, beta = {model.beta:g}"
        say(name, f"{took:.1f}", both(bench, model.posterior_), model.n_topics_,
            f"{took / spent:.3f}", met or "-")  # fmt: skip
        if there:
            return
    say("at that level", "-", "not reached", "-", "-", "-", "**missed** (≤ 0.2)")


def varied(bench: Bench, title: str, name: str, values: tuple[int, ...]) -> None:
    head(f"{title}: OnlineHDP, {bench.name}", name, "completion", "same words", "topics in use", "large",
         "CPU s")  # fmt: skip
    for value in values:
        begun = cpu()
        model = OnlineHDP(**FEW | {name: value}).fit(bench.train)
        spent = cpu() - begun
        say(value, both(bench, model.posterior_), model.n_topics_, model.n_large_, f"{spent:.1f}")


def batches(bench: Bench, args: argparse.Namespace) -> None:
    varied(bench, "Documents in a mini-batch (figure 5.1)", "batch_size", (16, 64, 128, 512))


def ceilings(bench: Bench, args: argparse.Namespace) -> None:
    varied(bench, "Ceiling on the topics (figure 5.2)", "n_topics", (50, 100, 300, 1000))
    most = (20, 100, 300)
    head("Topics found where they were planted", "documents", *(f"ceiling {n}" for n in most))
    for n_topics, n_docs in ((3, 300), (10, 500)):
        corpus, _ = sample_lda(n_docs=n_docs, n_topics=n_topics, n_terms=200, seed=1)
        found = [OnlineHDP(**FEW | {"n_topics": n}).fit(corpus).n_topics_ for n in most]
        say(f"{n_docs} of {n_topics} topics", *found)
    found = [OnlineHDP(**FEW | {"n_topics": n}).fit(bench.train[:60]).n_topics_ for n in most]
    say(f"60 of {bench.name}", *found)


def seeds(bench: Bench, args: argparse.Namespace) -> None:
    head(f"Topics in use over {args.seeds} seeds ({bench.name})", "topics", "mean",
         "coefficient of variation", "target", "90 % interval of the first", "completion")  # fmt: skip
    models = [OnlineHDP(n_threads=1, random_state=s).fit(bench.train) for s in range(args.seeds)]
    scores = [bench.score(m.posterior_.rows, m.alpha_) for m in models]
    low, high = models[0].n_topics_interval()
    for what in ("n_topics_", "n_large_"):
        found = np.array([getattr(m, what) for m in models])
        spread = found.std(ddof=1) / found.mean()
        met = "met" if spread <= 0.1 else "**missed**"
        say(f"`{what}`: " + " ".join(map(str, found)), f"{found.mean():.1f}", f"{spread:.3f}",
            f"{met} (≤ 0.10)", f"{low}-{high}", f"{np.mean(scores):.4f} ± {np.std(scores):.4f}")  # fmt: skip


def gensim_rows(bench: Bench, budget: float) -> tuple[np.ndarray, np.ndarray, float]:
    """gensim's mean-field online HDP, passes over the corpus until the CPU time is spent."""
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    words = list(Sparse2Corpus(bench.train.counts.T.tocsc().astype(int)))
    names = {v: str(v) for v in range(bench.train.n_terms)}
    begun = cpu()
    model = HdpModel(words[:256], names, random_state=0)
    at = 256
    while cpu() - begun < budget:
        model.update(words[at : at + 256])
        at = at + 256 if at + 256 < len(words) else 0
    spent = cpu() - begun
    alpha, rows = model.hdp_to_lda()
    rows = rows / rows.sum(axis=1, keepdims=True)
    return np.ascontiguousarray(rows.T), np.asarray(alpha, np.float64), spent


def peers(bench: Bench, args: argparse.Namespace) -> None:
    """gensim at equal time, and online LDA with as many topics."""
    head(
        f"At equal CPU time ({bench.name})",
        "model",
        "CPU s",
        "completion",
        "same words",
        "topics it reports",
    )
    begun = cpu()
    model = OnlineHDP(**FEW).fit(bench.train)
    spent = cpu() - begun
    say("OnlineHDP", f"{spent:.1f}", both(bench, model.posterior_), model.n_topics_)
    rows, alpha, took = gensim_rows(bench, spent)
    found = f"{bench.score(rows, alpha):.4f} | {same_words(bench, rows, alpha):.4f}"
    say("gensim HdpModel", f"{took:.1f}", found, len(alpha))
    for how in ("hybrid", "scvb0"):
        begun = cpu()
        given = OnlineLDA(n_topics=model.n_topics_, inference=how, n_passes=10, **FEW).fit(
            bench.train
        )
        name = f"OnlineLDA({how}), K = {model.n_topics_}"
        say(name, f"{cpu() - begun:.1f}", both(bench, given.posterior_), "given")


def variants(bench: Bench, args: argparse.Namespace) -> None:
    """Without merging, with alpha given, and truncation-free."""
    head(
        f"Variants ({bench.name})",
        "model",
        "CPU s",
        "completion",
        "same words",
        "topics in use",
        "large",
    )
    for name, given in (
        ("default", {}),
        ("`merge=False`", {"merge": False}),
        ("`learn_alpha=False`", {"learn_alpha": False}),
        (
            '`inference="truncation-free"`, one pass',
            {"inference": "truncation-free", "n_passes": 1},
        ),
    ):
        begun = cpu()
        model = OnlineHDP(**FEW | given).fit(bench.train)
        spent = cpu() - begun
        say(name, f"{spent:.1f}", both(bench, model.posterior_), model.n_topics_, model.n_large_)


def hybrid(bench: Bench, args: argparse.Namespace) -> None:
    """Conditionals against draws: online LDA by sampling beside the variational passes."""
    head(
        f"OnlineLDA, K = 100, three passes ({bench.name})",
        "inference",
        "CPU s",
        "completion",
        "same words",
    )
    for how in ("scvb0", "hybrid"):
        begun = cpu()
        model = OnlineLDA(n_topics=100, n_passes=3, inference=how, tol=0.0, **FEW).fit(bench.train)
        say(how, f"{cpu() - begun:.1f}", both(bench, model.posterior_))


SECTIONS: dict[str, tuple[Callable[[Bench, argparse.Namespace], None], tuple[str, ...]]] = {
    "level": (level, ("kos", "nips")),
    "batches": (batches, ("kos",)),
    "ceilings": (ceilings, ("kos",)),
    "variants": (variants, ("kos",)),
    "seeds": (seeds, ("kos", "nips")),
    "peers": (peers, ("kos", "20news")),
    "hybrid": (hybrid, ("20news",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=sorted(SECTIONS))
    parser.add_argument("--corpus", choices=("kos", "nips", "20news"))
    parser.add_argument("--topics", type=int, default=1000, help="ceiling in `level`")
    parser.add_argument("--sweeps", type=int, default=200, help="of the batch sampler")
    parser.add_argument("--passes", type=int, default=6, help="of the online model, at most")
    parser.add_argument("--start", choices=("random", "fast"), default="fast", help="of that")
    parser.add_argument(
        "--beta", type=float, help="of both models in `level`; else each has its own"
    )
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    if not os.environ.get("BAYOU_DATA"):
        print("BAYOU_DATA is not set; no corpus to measure on")
        return
    for name, (run, corpora) in SECTIONS.items():
        for corpus in corpora:
            if args.only in (None, name) and args.corpus in (None, corpus):
                bench = load(corpus)
                print(f"\n{bench.describe()}", flush=True)
                warm(bench, name)
                run(bench, args)


if __name__ == "__main__":
    main()
