"""LDA against its peers: time to equal held-out likelihood, samplers, threads, transform, memory, compiling.

    python benchmarks/lda.py                      everything on 20 Newsgroups
    python benchmarks/lda.py --only level --topics 20 --seeds 2
    python benchmarks/lda.py --corpus arxiv_big --topics 100 --seeds 1

Data come from the folder in BAYOU_DATA. All times are CPU seconds of one thread unless a row says wall,
measured in one run, ours and the peer's in turn, evaluation outside the clock, compiling before it. The
level to reach is the mean over seeds of tomotopy's held-out log-likelihood after 200 sweeps. Priors
are the same for all: alpha = min(0.1, 50 / K), beta = 0.01, not learned. Held-out: document completion
on documents that no schedule was chosen on; EM fold-in for the level, Gibbs fold-in as a second opinion.
"""

from __future__ import annotations

import argparse
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bayou import LDA, Corpus, OnlineLDA
from bayou.inference.lda import arrays, documents, fast, fold_in, sampler, schedule
from bayou.results.posterior import proportions
from bayou.run.shards import Workers
from corpora import Bench, load

BETA = 0.01
SWEEPS = 200
TARGETS = {  # to reach, by what it is about
    "level": {20: 0.1, 100: 0.1, 1000: 0.1},
    "speed": {20: 1.0, 100: 1.5, 1000: 5.0},
    "sampler": {100: 0.7, 1000: 0.35},
}


def alpha_of(n_topics: int) -> float:
    return min(0.1, 50.0 / n_topics)


def package_lda() -> Any:
    """The package `lda`, which this file would hide by its name."""
    here = str(Path(__file__).parent)
    path = [place for place in sys.path if Path(place or ".").resolve() != Path(here).resolve()]
    found = importlib.machinery.PathFinder.find_spec("lda", path)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["lda"] = module  # it imports itself by that name
    found.loader.exec_module(module)
    return module


def cpu() -> float:
    return time.process_time()


class Curve:
    """Held-out score against CPU seconds, the clock standing still while it is measured."""

    def __init__(self, bench: Bench, n_topics: int) -> None:
        self.bench, self.alpha = bench, np.full(n_topics, alpha_of(n_topics))
        self.points: list[tuple[float, float]] = []
        self.spent = 0.0
        self.rows: np.ndarray | None = None

    def add(self, seconds: float, rows: np.ndarray | None) -> None:
        self.spent += seconds
        if rows is not None:
            self.rows = rows
            self.points.append((self.spent, self.bench.score(rows, self.alpha)))

    def reach(self, level: float) -> float:
        """Seconds at which the score first passes the level, by linear interpolation."""
        before = (0.0, -np.inf)
        for at, value in self.points:
            if value >= level:
                if not np.isfinite(before[1]):
                    return at
                share = (level - before[1]) / (value - before[1])
                return before[0] + share * (at - before[0])
            before = (at, value)
        return float("nan")

    @property
    def last(self) -> float:
        return self.points[-1][1]


def run_tomotopy(bench: Bench, n_topics: int, seed: int, sweeps: int, every: int) -> Curve:
    import tomotopy as tp

    curve = Curve(bench, n_topics)
    model = tp.LDAModel(k=n_topics, alpha=alpha_of(n_topics), eta=BETA, seed=seed)
    model.optim_interval = 0
    for doc in bench.documents():
        model.add_doc(doc)
    begun = cpu()
    model.train(0)
    curve.add(cpu() - begun, None)
    terms = np.array([int(t) for t in model.used_vocabs])
    for _ in range(0, sweeps, every):
        begun = cpu()
        model.train(every, workers=1, parallel=tp.ParallelScheme.NONE)
        spent = cpu() - begun
        rows = np.full((bench.train.n_terms, n_topics), 1e-12, np.float32)
        for k in range(n_topics):
            rows[terms, k] = model.get_topic_word_dist(k)
        curve.add(spent, rows / rows.sum(axis=0, dtype=np.float64).astype(np.float32))
    return curve


def run_fast(bench: Bench, n_topics: int, seed: int) -> Curve:
    """What `LDA(inference="fast")` does, with a look at the topics after each pass."""
    curve = Curve(bench, n_topics)
    plan = partial(schedule.make_schedule, n_topics, n_sweeps=None, tol=5e-4, learn=(False, False))
    pairs = documents.pairs_of(bench.train.counts)
    with Workers(1) as workers:
        begun = cpu()
        setup = fast.make_setup(
            pairs, (bench.train.n_terms, n_topics), plan, BETA, seed, workers.each
        )
        state = fast.start(setup, curve.alpha, BETA)
        spent = cpu() - begun
        while state.phase != fast.DONE:
            begun = cpu()
            state = fast.advance(state, setup)
            spent += cpu() - begun
            if not len(state.score_steps) or state.score_steps[-1] != state.step:
                continue  # between two scores of a sampled phase
            counts = state.term_topic
            curve.add(spent, arrays.topic_rows(counts, BETA, workers.each))
            spent = 0.0
        begun = cpu()
        rows = arrays.topic_rows(fast.answer(state, setup)[0], BETA, workers.each)
        curve.add(cpu() - begun, rows)
    return curve


def run_sampler(
    bench: Bench, kind: str, n_topics: int, seed: int, sweeps: int, every: int, threads: int = 1
) -> tuple[Curve, float, float]:
    """A sampler from a random start; its curve, and mean CPU and wall seconds a sweep."""
    curve, all_sweeps = Curve(bench, n_topics), []
    alpha = np.full(n_topics, alpha_of(n_topics))
    with Workers(threads) as workers:
        begun = cpu()
        tokens = documents.Tokens(*bench.train.tokens())
        chain = sampler.make_chain(tokens, bench.train.n_terms, seed)
        state = sampler.start(
            chain, n_topics, sampler.N_PROPOSALS if kind == "mh" else 0, workers.each
        )
        counts = sampler.count_terms(state, chain, n_topics, workers.each)
        curve.add(cpu() - begun, None)
        for step in range(1, sweeps + 1):
            begun, wall = cpu(), time.perf_counter()
            if kind == "gibbs":
                sampler.gibbs(state, counts, chain, alpha, BETA, step)
            else:
                sweep = sampler.snapshot if kind == "snapshot" else sampler.metropolis
                sweep(state, chain, alpha, BETA, step, workers.each)
            took = cpu() - begun, time.perf_counter() - wall
            all_sweeps.append(took)
            rows = None
            if step % every == 0:
                seen = sampler.count_terms(state, chain, n_topics, workers.each)
                rows = arrays.topic_rows(seen, BETA, workers.each)
            curve.add(took[0], rows)
    return curve, *np.mean(np.array(all_sweeps[:SWEEPS]), axis=0)


def warm(bench: Bench) -> None:
    """Compile everything on a corner of the corpus before any clock runs."""
    corner = bench.train[:60]
    for kind in ("fast", "gibbs", "snapshot", "mh"):
        LDA(n_topics=4, inference=kind, n_sweeps=6, random_state=0).fit(corner).transform(corner)
    model = LDA(n_topics=schedule.MANY, n_sweeps=8, random_state=0).fit(corner)
    model.sample(corner, n_samples=1, burn_in=1)
    OnlineLDA(n_topics=4, n_passes=1).fit(corner)


def say(*cells: Any) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def head(title: str, *cells: str) -> None:
    print(f"\n### {title}\n")
    say(*cells)
    say(*["---"] * len(cells))


def verdict(value: float, target: float | None, less: bool = True) -> str:
    if target is None:
        return "-"
    good = value <= target if less else value >= target
    return f"{'met' if good else '**missed**'} ({'≤' if less else '≥'} {target:g})"


def spread(values: list[float], form: str = ".3f") -> str:
    missing = sum(not np.isfinite(v) for v in values)
    if missing:
        return f"not reached by {missing} of {len(values)} seeds"
    return f"{np.mean(values):{form}} ± {np.std(values):{form}}"


def peer_curve(bench: Bench, n_topics: int, seed: int, kept: dict[Any, Curve]) -> Curve:
    """tomotopy's run for a seed, made once and used by every section that compares with it."""
    if (n_topics, seed) not in kept:
        kept[n_topics, seed] = run_tomotopy(bench, n_topics, seed, SWEEPS, 20)
    return kept[n_topics, seed]


def level(bench: Bench, args: argparse.Namespace, kept: dict[Any, Curve]) -> None:
    head(
        f"CPU seconds to tomotopy's held-out likelihood after {SWEEPS} sweeps ({bench.name})",
        "K", "level", "tomotopy s", "bayou s", "ratio", "target", "bayou at the end (s)",
        "Gibbs fold-in: tomotopy / bayou", "NPMI: tomotopy / bayou",
    )  # fmt: skip
    for n_topics in args.topics:
        ours, peers = [], []
        for seed in range(1, args.seeds + 1):
            ours.append(run_fast(bench, n_topics, seed))
            peers.append(peer_curve(bench, n_topics, seed, kept))
        goal = float(np.mean([c.last for c in peers]))
        theirs = [c.reach(min(goal, c.last)) for c in peers]
        mine = [c.reach(goal) for c in ours]
        ratio = np.mean(mine) / np.mean(theirs)
        ends = f"{spread([c.last for c in ours], '.4f')} ({np.mean([c.spent for c in ours]):.1f})"
        second = " / ".join(f"{np.mean([bench.gibbs(c) for c in g]):.4f}" for g in (peers, ours))
        coherence = " / ".join(f"{np.mean([bench.npmi(c) for c in g]):.3f}" for g in (peers, ours))
        say(
            n_topics, f"{goal:.4f}", spread(theirs, ".1f"), spread(mine, ".2f"), f"{ratio:.3f}",
            verdict(ratio, TARGETS["level"].get(n_topics)) if np.isfinite(ratio) else "**missed**",
            ends, second, coherence,
        )  # fmt: skip


def samplers(bench: Bench, args: argparse.Namespace, kept: dict[Any, Curve]) -> None:
    head(
        f"Samplers from a random start ({bench.name})", "K", "sampler", "Mtokens / CPU s", "× tomotopy",
        "speed target", "s to tomotopy's level", "ratio", "target",
    )  # fmt: skip
    for n_topics in args.topics:
        peers = [peer_curve(bench, n_topics, s + 1, kept) for s in range(args.seeds)]
        goal = float(np.mean([c.last for c in peers]))
        theirs = float(np.mean([c.reach(min(goal, c.last)) for c in peers]))
        rate = bench.n_tokens * SWEEPS / np.mean([c.spent for c in peers]) / 1e6
        say(n_topics, "tomotopy", f"{rate:.1f}", "1", "-", f"{theirs:.1f}", "1", "-")
        for kind in ("gibbs", "snapshot", "mh"):
            if kind == "gibbs" and n_topics > 200:
                continue
            sweeps = 3 * SWEEPS if kind == "mh" else 2 * SWEEPS
            runs = []
            for s in range(min(args.seeds, 2)):
                runs.append(run_sampler(bench, kind, n_topics, s + 1, sweeps, 20))
            mine = [c.reach(goal) for c, _, _ in runs]
            speed = bench.n_tokens / np.mean([r[1] for r in runs]) / 1e6
            ratio = float(np.mean(mine)) / theirs
            reached = np.isfinite(ratio)
            say(
                n_topics, kind, f"{speed:.1f}", f"{speed / rate:.2f}",
                verdict(speed / rate, TARGETS["speed"].get(n_topics), less=False),
                spread(mine, ".1f"), f"{ratio:.2f}" if reached else f"not in {sweeps} sweeps",
                verdict(ratio, TARGETS["sampler"].get(n_topics)) if reached else "**missed**",
            )  # fmt: skip


def threads(bench: Bench, args: argparse.Namespace, _: Any) -> None:
    head(
        f"Two threads against one, wall seconds ({bench.name})",
        "K",
        "what",
        "1",
        "2",
        "×",
        "target",
    )
    for n_topics in args.topics:
        for kind in ("fast", "snapshot", "mh"):
            times = {1: [], 2: []}
            for _round in range(7):
                for n in (1, 2):
                    if kind == "fast":
                        model = LDA(n_topics=n_topics, n_sweeps=6, random_state=1, n_threads=n)
                        begun = time.perf_counter()
                        model.fit(bench.train)
                        times[n].append(time.perf_counter() - begun)
                    else:
                        times[n].append(run_sampler(bench, kind, n_topics, 1, 6, 99, n)[2])
            one, two = min(times[1]), min(times[2])
            say(
                n_topics,
                kind,
                f"{one:.3f}",
                f"{two:.3f}",
                f"{one / two:.2f}",
                verdict(one / two, 1.6, False),
            )


def transform(bench: Bench, args: argparse.Namespace, _: Any) -> None:
    from sklearn.decomposition import LatentDirichletAllocation

    head(
        f"Documents a CPU second in transform ({bench.name}, the same topics for all)",
        "K", "who", "documents / s", "held-out score", "target",
    )  # fmt: skip
    for n_topics in args.topics:
        model = LDA(n_topics=n_topics, random_state=1, n_sweeps=10, n_threads=1).fit(bench.train)
        best = min(_clock(lambda m=model: m.transform(bench.test)) for _ in range(5))
        speed, goal = bench.test.n_docs / best, 30_000 if n_topics == 100 else None
        say(
            n_topics,
            "bayou",
            f"{speed:,.0f}",
            f"{bench.completion(model.transform, model):.4f}",
            verdict(speed, goal, False),
        )
        peer = LatentDirichletAllocation(
            n_topics, doc_topic_prior=alpha_of(n_topics), topic_word_prior=BETA
        )
        few = bench.test[:500]
        peer.partial_fit(bench.train[:10].counts)
        peer.components_ = model.components_ * model.posterior_.topic_tokens[:, None] + BETA
        peer.exp_dirichlet_component_ = np.exp(_expected_log(peer.components_))
        took = _clock(lambda p=peer, f=few: p.transform(f.counts))
        say(
            n_topics,
            "scikit-learn",
            f"{few.n_docs / took:,.0f}",
            f"{bench.completion(lambda c, p=peer: p.transform(c.counts), model):.4f}",
            "-",
        )
        docs, score = tomotopy_transform(bench, n_topics)
        say(n_topics, "tomotopy (its own topics, 100 its)", f"{docs:,.0f}", f"{score}", "-")


def tomotopy_transform(bench: Bench, n_topics: int) -> tuple[float, str]:
    """tomotopy cannot be given topics, so it infers under its own after 50 sweeps."""
    import tomotopy as tp

    model = tp.LDAModel(k=n_topics, alpha=alpha_of(n_topics), eta=BETA, seed=1)
    model.optim_interval = 0
    for doc in bench.documents():
        model.add_doc(doc)
    model.train(50, workers=1)
    terms = np.array([int(t) for t in model.used_vocabs])
    rows = np.full((bench.train.n_terms, n_topics), 1e-12)
    for k in range(n_topics):
        rows[terms, k] = model.get_topic_word_dist(k)
    observed, scored = bench.observed[:300], bench.scored[:300]
    made = [model.make_doc(doc) if doc else None for doc in bench.words(observed)]
    given = [d for d in made if d is not None]
    begun = cpu()
    theta, _ = model.infer(given, iterations=100, workers=1, together=True)
    took = cpu() - begun
    flat = np.full((300, n_topics), 1.0 / n_topics)
    flat[[i for i, d in enumerate(made) if d is not None]] = theta
    theirs = bench.score_theta(flat, rows, scored)
    alpha = np.full(n_topics, alpha_of(n_topics))
    ours = document_completion_rows(rows, alpha, observed, scored, bench)
    return len(given) / took, f"{theirs:.4f} (EM under the same topics {ours:.4f})"


def document_completion_rows(
    rows: Any, alpha: Any, observed: Corpus, scored: Corpus, bench: Bench
) -> float:
    with Workers(1) as workers:
        pairs = documents.pairs_of(observed.counts)
        counts = fold_in.expected_counts(rows.astype(np.float32), alpha, pairs, workers.each)
    return bench.score_theta(proportions(counts, alpha), rows, scored)


def _expected_log(counts: np.ndarray) -> np.ndarray:
    from scipy.special import digamma

    return digamma(counts) - digamma(counts.sum(axis=1, keepdims=True))


def _clock(work: Callable[[], Any]) -> float:
    begun = cpu()
    work()
    return cpu() - begun


def others(bench: Bench, args: argparse.Namespace, _: Any) -> None:
    """Peers of another kind: what they reach with as much CPU time as they are given."""
    head(
        f"Other peers at about {args.budget:g} CPU s ({bench.name})",
        "K",
        "who",
        "CPU s",
        "held-out score",
    )
    from gensim.matutils import Sparse2Corpus
    from gensim.models import LdaModel
    from sklearn.decomposition import LatentDirichletAllocation

    for n_topics in args.topics:
        alpha = np.full(n_topics, alpha_of(n_topics))
        ours = run_fast(bench, n_topics, 1)
        say(n_topics, "bayou", f"{ours.spent:.1f}", f"{ours.last:.4f}")
        peer = LatentDirichletAllocation(
            n_topics, doc_topic_prior=alpha_of(n_topics), topic_word_prior=BETA,
            learning_method="online", total_samples=bench.train.n_docs, random_state=1,
        )  # fmt: skip
        spent = 0.0
        while spent < args.budget:
            spent += _clock(lambda p=peer: p.partial_fit(bench.train.counts))
        rows = (peer.components_ / peer.components_.sum(axis=1, keepdims=True)).T
        say(n_topics, "scikit-learn, online", f"{spent:.1f}", f"{bench.score(rows, alpha):.4f}")
        words = Sparse2Corpus(bench.train.counts.T.tocsc().astype(int))
        names = {v: str(v) for v in range(bench.train.n_terms)}
        begun = cpu()
        model = LdaModel(
            words, n_topics, id2word=names, alpha=list(alpha), eta=BETA, random_state=1
        )
        while cpu() - begun < args.budget:
            model.update(words)
        spent = cpu() - begun
        say(
            n_topics,
            "gensim LdaModel",
            f"{spent:.1f}",
            f"{bench.score(model.get_topics().T, alpha):.4f}",
        )
        if n_topics <= 100:
            lda = package_lda()

            sweeps = max(5, int(args.budget * 0.7e6 / bench.n_tokens))
            slow = lda.LDA(
                n_topics, n_iter=sweeps, alpha=alpha_of(n_topics), eta=BETA, random_state=1
            )
            spent = _clock(lambda m=slow: m.fit(bench.train.counts.astype(np.int64)))
            say(
                n_topics,
                f"lda, {sweeps} sweeps",
                f"{spent:.1f}",
                f"{bench.score(slow.topic_word_.T, alpha):.4f}",
            )


def memory(bench: Bench, args: argparse.Namespace, _: Any) -> None:
    head(
        f"Memory above the loaded corpus, MB ({bench.name}, {bench.n_tokens / 1e6:.2f} M tokens)",
        "K", "inference", "measured", "stated", "beside counts", "bytes a token", "target",
    )  # fmt: skip
    V, D, N, P = (
        bench.train.n_terms,
        bench.train.n_docs,
        bench.n_tokens,
        len(bench.train.counts.data),
    )
    for n_topics in args.topics:
        for kind in ("fast", "gibbs", "snapshot", "mh"):
            if kind == "gibbs" and n_topics > 200:
                continue
            call = [sys.executable, __file__, "--probe", f"{bench.name},{kind},{n_topics}"]
            used = float(subprocess.run(call, capture_output=True, text=True, check=True).stdout)
            stated, beside, each = _stated(kind, V, D, N, P, n_topics)
            say(
                n_topics, kind, f"{used:.0f}", f"{stated / 1e6:.0f}", beside, f"{each:.0f}",
                verdict(each, 8.0),
            )  # fmt: skip


def _stated(kind: str, V: int, D: int, N: float, P: int, K: int) -> tuple[float, str, float]:
    """Bytes by design: arrays of counts, and what is kept for each pair or token."""
    if kind == "fast":
        rest = 24.0 * P
        return 4.0 * K * (5 * V + D + 2 * D / 16) + rest, "24 a distinct pair", rest / N
    rest = {"gibbs": 4 + 4 + 2 * 2, "snapshot": 4 + 4 + 2 * 2, "mh": 4 + 4 + 2 * 4}[kind]
    return 4.0 * K * 3 * V + rest * N, f"{rest} a token", float(rest)


def probe(name: str, kind: str, n_topics: int) -> None:
    """Print the peak memory of one fit above that of the loaded corpus and a tiny fit before it."""
    bench = load(name)
    LDA(n_topics=4, inference=kind, n_sweeps=2, random_state=0).fit(bench.train[:50])
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far was that of reading the corpus
    before = _peak()
    LDA(n_topics=n_topics, inference=kind, n_sweeps=4, random_state=1, n_threads=1).fit(bench.train)
    print((_peak() - before) / 1000.0)


def _peak() -> float:
    """Peak resident memory in kB since it was last cleared (Linux)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def compiling(bench: Bench, args: argparse.Namespace, _: Any) -> None:
    import tempfile

    head("First call in a new process, CPU seconds", "what", "cold", "cached", "targets")
    code = (
        "import time; t = time.process_time()\n"
        "import bayou; i = time.process_time() - t\n"
        "from bayou.data.synthetic import sample_lda; c, _ = sample_lda(60, 3, 40, seed=0)\n"
        "t = time.process_time()\n"
        "for kind in {}:\n"
        "    m = bayou.LDA(n_topics=3, inference=kind).fit(c); m.transform(c); m.score(c)\n"
        "print(i, time.process_time() - t)"
    )
    every = ("fast", "gibbs", "snapshot", "mh")
    for kinds in (*((kind,) for kind in every), every):
        with tempfile.TemporaryDirectory() as folder:
            env = {**os.environ, "NUMBA_CACHE_DIR": folder}
            out = []
            for _round in range(2):
                call = [sys.executable, "-c", code.format(kinds)]
                done = subprocess.run(call, capture_output=True, text=True, check=True, env=env)
                out.append([float(x) for x in done.stdout.split()])
        say(f"LDA: fit, transform, score; {', '.join(kinds)}",
            f"{out[0][1]:.1f} (+ import {out[0][0]:.1f})", f"{out[1][1]:.2f}",
            f"{verdict(out[0][1], 10.0)}, {verdict(out[1][1], 1.0)}")  # fmt: skip


SECTIONS = {
    "compiling": compiling, "level": level, "samplers": samplers, "threads": threads,
    "transform": transform, "others": others, "memory": memory,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", default="20news", choices=["20news", "arxiv_big"])
    parser.add_argument("--topics", type=int, nargs="+", default=[20, 100, 500, 1000])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--budget", type=float, default=40.0)
    parser.add_argument("--only", nargs="+", choices=list(SECTIONS), default=list(SECTIONS))
    parser.add_argument("--probe", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.probe:
        name, kind, n_topics = args.probe.split(",")
        return probe(name, kind, int(n_topics))
    bench = load(args.corpus)
    if bench is None:
        print("no corpora: set BAYOU_DATA to the folder that holds them")
        return None
    print(
        f"{bench.describe()}; command: {' '.join(['python', Path(sys.argv[0]).name, *sys.argv[1:]])}"
    )
    warm(bench)
    kept: dict[Any, Curve] = {}
    for name in args.only:
        SECTIONS[name](bench, args, kept)
    return None


if __name__ == "__main__":
    main()
