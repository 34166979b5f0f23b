"""HDP against its peers: held-out likelihood at equal time, the number of topics over seeds, alias and dense.

    python benchmarks/hdp.py                               everything on KOS
    python benchmarks/hdp.py --corpus nips --only quality --sweeps 100
    python benchmarks/hdp.py --corpus arxiv_cs --only seeds --seeds 10 --sweeps 40
    python benchmarks/hdp.py --only alias --topics 1000
    python benchmarks/hdp.py --only coverage --corpora 50 --sizes small medium large

Corpora: kos, nips, 20news, arxiv_cs, from the folder in BAYOU_DATA. Times are CPU seconds of one thread,
compiling before the clock, evaluation outside it. Every model has beta = 0.05 and is judged in one way: its
topics and its own prior of a document, EM fold-in on up to 1,000 test documents. ``completion`` scores one
half of a document's tokens after seeing the other; ``same-words`` scores the very tokens that were seen.
tomotopy and gensim get at least the CPU time that HDP took. LDA is ours, its point estimate and its exact
sampler (as many sweeps as HDP), alpha learned, each with several numbers of topics.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

import corpora
import hdp_number
from bayou import HDP, LDA, Corpus
from bayou.data import iter_records, read
from bayou.inference.hdp import chains, franchise
from bayou.inference.lda import arrays, fold_in
from bayou.inference.lda import documents as lda_documents
from bayou.models import hdp
from bayou.run.shards import Workers

BETA = 0.05
GRID = {"kos": (50, 100, 200, 400)}  # numbers of topics of LDA; on the larger corpora three


def load(name: str) -> corpora.Bench | None:
    """A corpus by name with its published split, or every eleventh document for a test."""
    if not os.environ.get("BAYOU_DATA"):
        return None
    folder = Path(os.environ["BAYOU_DATA"])
    if name == "20news":
        return corpora.load(name)
    if name == "kos":
        whole = read(folder / "uci_kos" / "docword.kos.txt.gz")
        order = np.random.default_rng(0).permutation(whole.n_docs)
        return corpora.Bench(name, whole[np.sort(order[343:])], whole[np.sort(order[:343])])
    if name == "nips":
        at = folder / "uci_nips"
        train, test = (read(at / f"{part}.svm.gz") for part in ("train", "test"))
        counts = csr_array(test.counts)
        counts.resize((test.n_docs, train.n_terms))  # the last terms may not occur in the test part
        return corpora.Bench(name, train, Corpus.from_matrix(counts))
    texts: dict[str, list[str]] = {"train": [], "test": []}
    for record in iter_records(folder / "arxiv_cs" / "arxiv_cs.jsonl.gz"):
        texts[record["split"]].append(record["text"])
    how: dict[str, Any] = {"stop_words": "english", "token_pattern": r"[a-z]{3,}"}
    train = Corpus.from_text(texts["train"], min_df=5, **how)
    test = Corpus.from_text(texts["test"], vocabulary=train.vocabulary, **how)
    return corpora.Bench(name, train, test)


def same_words(bench: corpora.Bench, rows: np.ndarray, alpha: np.ndarray) -> float:
    pairs = lda_documents.pairs_of(bench.few.counts)
    with Workers(1) as workers:
        kept = np.ascontiguousarray(rows, np.float32)
        return fold_in.completion(kept, alpha, pairs, pairs, workers.each)


def judged(bench: corpora.Bench, rows: np.ndarray, alpha: np.ndarray) -> tuple[float, float]:
    """Completion and same-words of topics (terms x topics) with a document prior."""
    return bench.score(rows, alpha), same_words(bench, rows, alpha)


def row(name: str, seconds: float, n_topics: str, scores: tuple[float, float]) -> None:
    print(
        f"  {name:<22} {seconds:>8.1f} {n_topics:>18} {scores[0]:>11.4f} {scores[1]:>11.4f}",
        flush=True,
    )


def run_hdp(bench: corpora.Bench, seed: int, sweeps: int, **given: Any) -> tuple[HDP, float]:
    """One chain, which is the model; a default fit also runs a second one to compare with."""
    model = HDP(n_sweeps=sweeps, n_chains=1, random_state=seed, n_threads=1, **given)
    begun = time.process_time()
    model.fit(bench.train)
    return model, time.process_time() - begun


def run_tomotopy(bench: corpora.Bench, seed: int, seconds: float) -> Any:
    import tomotopy as tp

    model = tp.HDPModel(initial_k=2, alpha=0.1, gamma=0.1, eta=BETA, seed=seed)
    for doc in bench.documents():
        model.add_doc(doc)
    begun = time.process_time()
    while time.process_time() - begun < seconds:
        model.train(10, workers=1, parallel=tp.ParallelScheme.NONE)
    spent = time.process_time() - begun
    live = [k for k in range(model.k) if model.is_live_topic(k)]
    terms = np.array([int(t) for t in model.used_vocabs])
    rows = np.full((bench.train.n_terms, len(live)), 1e-12)
    for place, k in enumerate(live):
        rows[terms, place] = model.get_topic_word_dist(k)
    used = np.array(model.get_count_by_topics(), float)[live]
    alpha = np.maximum(model.alpha * used / used.sum(), 1e-6)
    return spent, f"{len(live)}", rows / rows.sum(axis=0), alpha


def run_gensim(bench: corpora.Bench, seed: int, seconds: float) -> Any:
    from gensim.corpora import Dictionary
    from gensim.matutils import Sparse2Corpus
    from gensim.models import HdpModel

    names = Dictionary([[str(v) for v in range(bench.train.n_terms)]])
    names.id2token = {v: str(v) for v in range(bench.train.n_terms)}
    names.token2id = {str(v): v for v in range(bench.train.n_terms)}
    documents = Sparse2Corpus(bench.train.counts.T.tocsc(), documents_columns=True)
    begun = time.process_time()
    model = HdpModel(documents, names, eta=BETA, random_state=seed, max_time=None)
    while time.process_time() - begun < seconds:
        model.update(documents)
    spent = time.process_time() - begun
    alpha, beta = model.hdp_to_lda()
    live = alpha > 1e-3 * alpha.sum()
    return spent, f"{int(live.sum())}", np.ascontiguousarray(beta.T), np.maximum(alpha, 1e-6)


def quality(bench: corpora.Bench, given: argparse.Namespace) -> None:
    """A row a model; ``given.rows`` says which, so that a slow machine can make them one by one."""
    print(f"  {'model':<22} {'CPU s':>8} {'topics':>18} {'completion':>11} {'same-words':>11}")
    spent = given.seconds
    if "hdp" in given.rows:
        model, spent = run_hdp(bench, 0, given.sweeps)
        low, high = model.n_topics_interval(large=True)
        post = model.posterior_
        told = f"{model.n_topics_}, large {low}-{high}"
        row(f"HDP, {given.sweeps} sweeps", spent, told, judged(bench, post.rows, post.alpha))
    for name, run in (("tomotopy", run_tomotopy), ("gensim", run_gensim)):
        if name in given.rows:
            seconds, n_topics, rows, alpha = run(bench, 0, spent)
            row(name, seconds, n_topics, judged(bench, rows, alpha))
    chain = {"inference": "gibbs", "n_sweeps": given.sweeps}
    finite = {"fast": {}, "gibbs": chain, "begun": chain | {"start": "fast"}}
    for name, more in finite.items():
        if name in given.rows:
            for n_topics in given.grid or GRID.get(bench.name, (100, 200, 400)):
                lda = LDA(n_topics=n_topics, beta=BETA, learn_alpha=True, random_state=0,
                          n_threads=1, **more)  # fmt: skip
                begun = time.process_time()
                found = lda.fit(bench.train).posterior_
                seconds = time.process_time() - begun
                scores = judged(bench, found.rows, found.alpha)
                row(f"LDA {name}", seconds, str(n_topics), scores)


def seeds(bench: corpora.Bench, n: int, sweeps: int) -> None:
    """Mean and coefficient of variation of the number of topics over seeds."""
    found = []
    for seed in range(n):
        model, spent = run_hdp(bench, seed, sweeps)
        low, high = model.n_topics_interval(large=True)
        found.append((model.n_topics_, model.n_large_, low, high, model.score(bench.few)))
        print(f"  seed {seed}: {found[-1][0]} topics, {found[-1][1]} large ({low}-{high}), "
              f"completion {found[-1][4]:.4f}, {spent:.0f} s", flush=True)  # fmt: skip
    all_of, large = np.array(found)[:, 0], np.array(found)[:, 1]
    for name, values in (("topics", all_of), ("large topics", large)):
        spread = values.std(ddof=1) / values.mean()
        print(
            f"  {name}: mean {values.mean():.1f}, coefficient of variation {spread:.3f}", flush=True
        )


def starts(bench: corpora.Bench, sweeps: int) -> None:
    """The number of topics of single chains from starts far apart."""
    for n_topics in (20, 320, 1280):
        model, spent = run_hdp(bench, 0, sweeps, n_topics=n_topics)
        low, high = model.n_topics_interval(large=True)
        print(f"  from {n_topics:>4}: {model.n_topics_} topics {model.n_topics_interval()}, "
              f"{model.n_large_} large ({low}-{high}), ln p(w, z) {model.scores_[-1]:.4f}, "
              f"completion {model.score(bench.few):.4f}, {spent:.0f} s", flush=True)  # fmt: skip


def alias(bench: corpora.Bench, n_topics: int, sweeps: int) -> None:
    """Nanoseconds a token of the two table samplers from one state, and the likelihood they reach."""
    begun = HDP(n_topics=n_topics, n_moves=0, start="random", n_sweeps=sweeps, random_state=0)
    p, corpus = begun.resolve(), chains.make_data(bench.train, "alias")
    with Workers(1) as workers:
        state = hdp.init(corpus, p, 0, workers.each)
        for _ in range(sweeps):
            state = hdp.sweep(state, corpus, p, 0, workers.each)
    prior = franchise.FranchisePrior(state.alpha, state.gamma, 0.0, BETA)
    print(f"  after {sweeps} sweeps: {state.sizes[1]} topics")
    time_of_tables = 0.0
    for name, proposals, until in (
        ("tables, six sweeps", 0, 0.0),
        ("alias, six sweeps", 1, 0.0),
        ("alias, two proposals, six sweeps", 2, 0.0),
        ("alias, the time of tables", 1, 1.0),
        ("alias, two proposals, that time", 2, 1.0),
    ):
        chain, spent = _from_there(state, corpus, prior, proposals, until * time_of_tables)
        if proposals == 0:
            time_of_tables = sum(spent)
        live = chain.counts.topic > 0
        rows = np.ascontiguousarray(chain.counts.term_topic[:, live])
        with Workers(1) as workers:
            rows = arrays.topic_rows(rows, BETA, workers.each)
        score = bench.score(rows, franchise.mass_of(chain.counts, prior)[live])
        each = np.median(spent) / len(corpus.tokens.terms) * 1e9
        print(f"  {name:<33} {each:6.0f} ns a token, {len(spent):3d} sweeps, {sum(spent):6.1f} s, "
              f"completion {score:.4f}", flush=True)  # fmt: skip


def _from_there(
    state: hdp.State,
    corpus: franchise.FranchiseData,
    prior: franchise.FranchisePrior,
    proposals: int,
    until: float,
) -> tuple[franchise.FranchiseChain, list[float]]:
    """Six sweeps from a state, or as many as end within so many CPU seconds; the seconds of each."""
    chain = chains.chain_of(state, corpus)
    chain = franchise.FranchiseChain(chain.z.copy(), chain.heads.copy(),
        franchise.FranchiseCounts(*(a.copy() for a in chain.counts)),
        franchise.DrawStore(*(a.copy() for a in chain.store)))  # fmt: skip
    spent: list[float] = []
    while len(spent) < 6 or sum(spent) + np.median(spent) < until:
        t, step = time.process_time(), 1001 + len(spent)
        chain, _ = franchise.sweep_tables(chain, corpus, prior, (proposals, True), 1, step)
        spent.append(time.process_time() - t)
    return chain, spent


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--corpus", default="kos", choices=("kos", "nips", "20news", "arxiv_cs"))
    parser.add_argument(
        "--only", choices=("quality", "seeds", "starts", "alias", "coverage", "ceilings")
    )
    parser.add_argument("--sweeps", type=int, help="default: 200, of coverage the model's own")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--topics", type=int, default=1000)
    rows = [
        "hdp",
        "tomotopy",
        "gensim",
        "fast",
        "gibbs",
        "begun",
    ]  # begun: gibbs from the fast answer
    parser.add_argument("--rows", nargs="*", default=rows)
    parser.add_argument("--grid", nargs="*", type=int, help="topics of finite LDA")
    parser.add_argument(
        "--seconds", type=float, default=20.0, help="for peers where HDP is not run"
    )
    parser.add_argument("--corpora", type=int, default=12, help="of coverage, over all sizes")
    parser.add_argument("--first", type=int, default=0, help="seed of the first corpus of coverage")
    parser.add_argument("--sizes", nargs="*", default=list(hdp_number.SIZES), help="of coverage")
    given = parser.parse_args()
    if given.only == "coverage":
        more = {"n_sweeps": given.sweeps} if given.sweeps else {}
        hdp_number.coverage(given.sizes, given.corpora, given.first, **more)
        return
    given.sweeps = given.sweeps or 200
    if given.only == "ceilings":
        hdp_number.ceilings(2)
        return
    bench = load(given.corpus)
    if bench is None:
        print("BAYOU_DATA is not set or the corpus is not there; nothing is measured")
        return
    HDP(n_sweeps=2, n_chains=1).fit(bench.train[np.arange(20)])
    LDA(n_topics=3, learn_alpha=True).fit(bench.train[np.arange(20)])
    print(bench.describe(), flush=True)
    if given.only in (None, "quality"):
        quality(bench, given)
    if given.only in (None, "seeds"):
        seeds(bench, given.seeds, given.sweeps)
    if given.only in (None, "starts"):
        starts(bench, given.sweeps)
    if given.only in (None, "alias"):
        alias(bench, given.topics, 60)


if __name__ == "__main__":
    main()
