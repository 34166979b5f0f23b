"""Spectral learning against stepwise EM: synthetic streams, real text, speed, and starts for LDA.

Sections (``--only``): synthetic, regret, real, reservoir, batch, speed, start, drift; all of them by default.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings

import numpy as np
from scipy.sparse import csr_array

from bayou import LDA, Corpus, OnlineLDA, SpectralLDA, SpectralLeader, StepwiseEM
from bayou.data import ENGLISH_STOP_WORDS, DoubtWarning
from bayou.data.synthetic import sample_mixture
from bayou.datasets import load_corpus
from bayou.metrics import matched_l1, moment_regret, recovery_error

warnings.simplefilter("ignore", DoubtWarning)
WEIGHTS = np.array([0.15, 0.35, 0.5])
EXPONENTS = (0.5, 0.7, 0.9)
LEADER = {"n_topics": 5, "burn_in": 500}  # on real text


def table(*columns: str) -> None:
    print("| " + " | ".join(columns) + " |")
    print("|" + " --- |" * len(columns))


def row(*cells: object) -> None:
    print("| " + " | ".join(str(c) for c in cells) + " |", flush=True)


def nll(model, batch: Corpus) -> float:
    return float(-model.score_samples(batch).mean())


def mixture_of(model) -> tuple[np.ndarray, np.ndarray]:
    return model.weights_, model.components_


def spread(values) -> str:
    values = np.asarray(values)
    return f"{values.mean():.4f} ± {values.std(ddof=1) / len(values) ** 0.5:.4f}"


# -- synthetic streams of the paper's sections 7.1 and 7.2 ------------------------------------------


def topics_of(p: float) -> np.ndarray:
    return np.full((3, 3), (1 - p) / 2) + np.eye(3) * (p - (1 - p) / 2)


def synthetic_stream(p: float, n: int, shifting: bool, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three-word documents and their topics, which come 15, 35 and 50 times in a row if shifting."""
    rng = np.random.default_rng(seed)
    topics = topics_of(p)
    drawn = rng.choice(3, n, p=WEIGHTS)
    if shifting:
        drawn = np.searchsorted([15, 50], np.arange(n) % 100, side="right")
    return np.array([rng.multinomial(3, topics[k]) for k in drawn]), drawn


def follow(model, counts: np.ndarray, m: int, truth) -> tuple[float, float]:
    """Average predictive loss of the next batch and recovery error, before each update."""
    losses, errors = [], []
    n = len(counts) // m
    for t in range(n):
        batch = Corpus.from_matrix(counts[t * m : (t + 1) * m])
        if t:
            frozen = model.posterior_
            theta = frozen.alpha / frozen.alpha.sum(), frozen.topics
            loss = -np.logaddexp.reduce(
                np.log(theta[0]) + batch.counts @ np.log(theta[1].T), axis=1
            ).mean()
            losses.append(loss)
            errors.append(recovery_error(truth, theta))
        model.partial_fit(batch)
    return float(np.mean(losses)), float(np.mean(errors))


def synthetic(runs: int) -> None:
    print(
        "\n## Synthetic streams: average loss of the next batch / average squared recovery error\n"
    )
    cases = [
        (p, m, n, shifting)
        for shifting in (False, True)
        for p in (0.9, 0.7)
        for m, n in (((1, 1000), (100, 100)) if not shifting else ((1, 1000),))
    ]
    names = [f"{'7.2' if s else '7.1'} p={p} m={m}" for p, m, n, s in cases]
    table("model", *names)
    pure = {"n_topics": 3, "n_polish": 0, "smoothing": 1.0}
    models = {
        "spectral, all documents kept": lambda: SpectralLeader(mode="history", **pure),
        "spectral, fixed basis": lambda: SpectralLeader(burn_in=50, **pure),
        "spectral, half-life 70 documents": lambda: SpectralLeader(
            burn_in=50, half_life=70, **pure
        ),
        **{
            f"stepwise EM {a}, smoothing {c:g}": lambda a=a, c=c: StepwiseEM(
                n_topics=3, exponent=a, smoothing=c
            )
            for c in (0.0, 1.0)
            for a in EXPONENTS
        },
    }
    for name, make in models.items():
        cells = []
        for p, m, n, shifting in cases:
            out = []
            for run in range(runs):
                counts, _ = synthetic_stream(p, n * m, shifting, run)
                truth = (WEIGHTS, topics_of(p))
                model = make().set_params(random_state=run)
                if isinstance(model, StepwiseEM):
                    model.set_params(batch_size=m)
                out.append(follow(model, counts, m, truth))
            losses, errors = np.array(out).T
            cells.append(f"{spread(losses)} / {errors.mean():.4f}")
        row(name, *cells)


def whitening(truth) -> np.ndarray:
    """Columns in which the second moment of a mixture is the identity."""
    weights, topics = truth
    values, vectors = np.linalg.eigh(topics.T * weights @ topics)
    return vectors / np.sqrt(values)


def regret(runs: int, n: int) -> None:
    print("\n## Regret (eq. 9) of the published algorithm after t documents, third moments, m=1\n")
    cases = [(p, shifting) for shifting in (False, True) for p in (0.9, 0.7)]
    times = [t for t in (10, 30, 100, 300, 1000) if t <= n]
    kinds = {
        "terms, Frobenius, eq. 9": ("frobenius", False, "leader"),
        "whitened, Frobenius, eq. 9": ("frobenius", True, "leader"),
        "whitened, spectral, eq. 9": ("spectral", True, "leader"),
        "terms, Frobenius, against the truth": ("frobenius", False, "truth"),
        "whitened, spectral, against the truth": ("spectral", True, "truth"),
    }
    found: dict = {(kind, case): [] for kind in kinds for case in cases}
    for (p, shifting), run in itertools.product(cases, range(runs)):
        counts, drawn = synthetic_stream(p, n, shifting, run)
        # the topics of the documents are fixed: the expected moment of a step is that of its topic
        truths = [(np.eye(3)[k], topics_of(p)) for k in range(3)]
        model = SpectralLeader.published(n_topics=3, random_state=run)
        answers = [(np.ones(3) / 3, np.ones((3, 3)) / 3)]
        for c in counts:
            answers.append(mixture_of(model.partial_fit(Corpus.from_matrix(c[None]))))
        for kind, (norm, whitened, against) in kinds.items():
            basis = whitening((WEIGHTS, topics_of(p))) if whitened else None
            found[kind, (p, shifting)].append(
                moment_regret(truths, drawn, answers, norm=norm, basis=basis, hindsight=against)
            )
    table(
        "stream", "coordinates, norm, hindsight", *(f"t={t}" for t in times), "last / last but one"
    )
    for p, shifting in cases:
        for kind in kinds:
            mean = np.mean(found[kind, (p, shifting)], axis=0)
            at = [mean[t - 1] for t in times]
            name = f"{'7.2' if shifting else '7.1'} p={p}"
            row(name, kind, *(f"{v:.3f}" for v in at), f"{at[-1] / at[-2]:.2f}")


# -- real text in the paper's setting --------------------------------------------------------------


def load_bench(name: str) -> csr_array:
    """Counts of a corpus in BAYOU_DATA without stop words."""
    corpus = load_corpus(name, time="")
    keep = np.array([w not in ENGLISH_STOP_WORDS for w in corpus.vocabulary])
    return csr_array(corpus.counts[:, np.flatnonzero(keep)])


def real_pool(name: str, length: int = 50, terms: int = 500) -> csr_array:
    """The commonest terms; documents of at least so many tokens, as they are."""
    counts = load_bench(name)
    keep = np.sort(np.argsort(-np.asarray(counts.sum(axis=0)).ravel())[:terms])
    counts = csr_array(counts[:, keep])
    long = np.asarray(counts.sum(axis=1)).ravel() >= length
    return csr_array(counts[long])


def cut(
    pool: csr_array, docs: np.ndarray, rng: np.random.Generator, length: int = 50
) -> np.ndarray:
    """Documents cut to so many of their own tokens."""
    out = np.zeros((len(docs), pool.shape[1]), np.int64)
    for i, d in enumerate(docs):
        lo, hi = pool.indptr[d], pool.indptr[d + 1]
        tokens = np.repeat(pool.indices[lo:hi], pool.data[lo:hi].astype(int))
        np.add.at(out[i], rng.permutation(tokens)[:length], 1)
    return out


def real(names: list[str], runs: int) -> None:
    print("\n## Real text: 500 terms, 50 tokens a document, K = 5")
    print(
        "\nLoss of the next batch in nats / recovery error, unsquared; its truth is the pure spectral"
    )
    print("solution of the whole pool, as in the paper.\n")
    table("corpus", "model", "m=1, n=500", "m=100, n=100")
    for name in names:
        pool = real_pool(name)
        rng = np.random.default_rng(0)
        whole = Corpus.from_matrix(cut(pool, np.arange(min(pool.shape[0], 20000)), rng))
        star = mixture_of(SpectralLeader(n_topics=5, n_polish=0, random_state=0).fit(whole))
        makes = {
            "spectral": lambda: SpectralLeader(n_polish=0, **LEADER),
            "spectral + 3 EM steps": lambda: SpectralLeader(n_polish=3, **LEADER),
            **{
                f"stepwise EM {a}": lambda a=a: StepwiseEM(n_topics=5, exponent=a)
                for a in EXPONENTS
            },
        }
        for label, make in makes.items():
            cells = []
            for m, n in ((1, 500), (100, 100)):
                out = []
                for run in range(runs):
                    draw = np.random.default_rng(run)
                    counts = cut(pool, draw.integers(0, pool.shape[0], m * n), draw)
                    model = make().set_params(random_state=run)
                    if isinstance(model, StepwiseEM):
                        model.set_params(batch_size=m)
                    out.append(_follow_real(model, counts, m, star))
                losses, errors = np.array(out).T
                cells.append(f"{losses.mean():.2f} / {errors.mean():.4f}")
            row(f"{name} ({pool.shape[0]:,} documents)", label, *cells)


def _follow_real(model, counts: np.ndarray, m: int, star) -> tuple[float, float]:
    losses, errors = [], []
    for t in range(len(counts) // m):
        batch = Corpus.from_matrix(counts[t * m : (t + 1) * m])
        if t:
            now = model.posterior_
            theta = now.alpha / now.alpha.sum(), now.topics
            joint = np.log(theta[0]) + batch.counts @ np.log(theta[1].T)
            losses.append(float(-np.logaddexp.reduce(joint, axis=1).mean()))
            errors.append(recovery_error(star, theta, squared=False))
        model.partial_fit(batch)
    return float(np.mean(losses)), float(np.mean(errors))


def reservoir(names: list[str], runs: int, n: int = 100) -> None:
    print(
        f"\n## Reservoir: m = 1,000, R = 10,000, n = {n}; 500 terms, 50 tokens a document, K = 5\n"
    )
    print("Average loss of the next batch up to n / average recovery error up to 10, 30 and n\n")
    table("corpus", "model", f"loss, n={n}", "error, n=10", "n=30", f"n={n}")
    for name in names:
        pool = real_pool(name)
        rng = np.random.default_rng(0)
        whole = Corpus.from_matrix(cut(pool, np.arange(min(pool.shape[0], 20000)), rng))
        star = mixture_of(SpectralLeader(n_topics=5, n_polish=0, random_state=0).fit(whole))
        smooth = float(pool.shape[1])
        makes = {
            "published, reservoir": lambda c=smooth: SpectralLeader.published(
                "reservoir", n_topics=5, smoothing=c
            ),
            "fixed basis, no EM": lambda: SpectralLeader(n_polish=0, **LEADER),
            **{
                f"stepwise EM {a}": lambda a=a: StepwiseEM(n_topics=5, exponent=a, batch_size=1000)
                for a in EXPONENTS
            },
        }
        out = [_follow_together(makes, pool, n, star, run) for run in range(runs)]
        for label in makes:
            losses, errors = np.mean([one[label] for one in out], axis=0).T
            cells = [f"{errors[: k - 1].mean():.5f}" for k in (10, min(30, n), n)]
            row(f"{name} ({pool.shape[0]:,} documents)", label, f"{losses.mean():.2f}", *cells)


def _follow_together(makes: dict, pool: csr_array, n: int, star, run: int) -> dict[str, list]:
    """Loss and recovery error of models before each batch of 1,000 documents but the first."""
    draw = np.random.default_rng(run)
    models = {label: make().set_params(random_state=run) for label, make in makes.items()}
    found: dict[str, list] = {label: [] for label in makes}
    for t in range(n):
        docs = Corpus.from_matrix(cut(pool, draw.integers(0, pool.shape[0], 1000), draw))
        for label, model in models.items():
            if t:
                theta = mixture_of(model)
                joint = np.log(theta[0]) + docs.counts @ np.log(theta[1].T)
                loss = float(-np.logaddexp.reduce(joint, axis=1).mean())
                found[label].append((loss, recovery_error(star, theta, squared=False)))
            model.partial_fit(docs)
    return found


def batch(names: list[str]) -> None:
    print("\n## The whole pool at once: nats a document, in sample, the same smoothing for all\n")
    random = "EM, 50 steps from ten random starts: best / mean / worst"
    table("corpus", "spectral", "+ 10 EM steps", "+ 50 EM steps", random)
    for name in names:
        pool = real_pool(name)
        whole = Corpus.from_matrix(
            cut(pool, np.arange(min(pool.shape[0], 5000)), np.random.default_rng(0))
        )
        cells = [
            f"{nll(SpectralLeader(n_topics=5, n_polish=n, random_state=0).fit(whole), whole):.2f}"
            for n in (0, 10, 50)
        ]
        starts = [random_em(whole, 5, 50, seed) for seed in range(10)]
        row(name, *cells, f"{min(starts):.2f} / {np.mean(starts):.2f} / {max(starts):.2f}")


def random_em(whole: Corpus, k: int, steps: int, seed: int) -> float:
    from bayou.inference.lda import documents
    from bayou.inference.spectral import mixture
    from bayou.run.shards import Workers

    pairs = documents.pairs_of(whole.counts)
    unigram = mixture.unigram_of(np.asarray(whole.counts.sum(axis=0)).ravel(), 0.01)
    rows = 0.5 * mixture.random_start(whole.n_terms, k, seed) + 0.5 * unigram[:, None]
    with Workers(1) as workers:
        rows, weights = mixture.em_steps(
            pairs, rows, np.full(k, 1 / k), steps, unigram, float(whole.n_terms), workers.each
        )
        return float(-mixture.responsibilities(pairs, rows, weights, workers.each)[1].mean())


# -- speed -----------------------------------------------------------------------------------------


def zipf_documents(n: int, d: int, k: int, length: int, seed: int = 0) -> Corpus:
    """Documents of one topic each, terms by a law of Zipf that every topic permutes."""
    rng = np.random.default_rng(seed)
    base = 1.0 / np.arange(1, d + 1) ** 0.9
    tops = [base[rng.permutation(d)] for _ in range(k)]
    ends = [np.cumsum(0.5 * t / t.sum() + 0.5 * base / base.sum()) for t in tops]
    topic = rng.integers(0, k, n)
    terms = np.empty((n, length), np.int64)
    for j in range(k):
        mine = topic == j
        terms[mine] = np.searchsorted(ends[j] / ends[j][-1], rng.random((mine.sum(), length)))
    rows = np.repeat(np.arange(n), length)
    return Corpus.from_matrix(csr_array((np.ones(n * length), (rows, terms.ravel())), shape=(n, d)))


def cpu(run) -> float:
    begun = time.process_time()
    run()
    return time.process_time() - begun


def speed() -> None:
    print("\n## Documents a CPU second\n")
    table(
        "d", "K", "tokens (distinct) a document", "fit", "stream: first half",
        "stream: second half", "stepwise EM, m=100", "target",
    )  # fmt: skip
    for case in ((500, 5, 50, 100_000, 200_000), (50_000, 20, 100, 100_000, 30_000)):
        row(*speeds(*case))


def speeds(d: int, k: int, length: int, n: int, target: int) -> list[str]:
    corpus = zipf_documents(n, d, k, length)
    settings = {"n_topics": k, "n_polish": 0, "max_share": None, "random_state": 0}
    SpectralLeader(**settings).fit(corpus[:2000])  # compiles
    StepwiseEM(n_topics=k, random_state=0).fit(corpus[:200])
    whole = cpu(lambda: SpectralLeader(**settings).fit(corpus))
    stream = SpectralLeader(**settings).partial_fit(corpus[:4000])
    rates, size = [n / whole], 2000
    for lo, hi in ((4000, n // 2), (n // 2, n)):
        pieces = [corpus[i : min(i + size, hi)] for i in range(lo, hi, size)]

        def learn(pieces=pieces) -> None:
            for piece in pieces:
                stream.partial_fit(piece)

        rates.append((hi - lo) / cpu(learn))
    rates.append(n / 4 / cpu(lambda: StepwiseEM(n_topics=k, random_state=0).fit(corpus[: n // 4])))
    met = "met" if rates[0] >= target else "**missed**"
    tokens = f"{length} ({corpus.counts.nnz / n:.0f})"
    return [f"{d:,}", str(k), tokens, *(f"{r:,.0f}" for r in rates), f"{met} (≥ {target:,})"]


# -- LDA -------------------------------------------------------------------------------------------


def start(names: list[str], k: int) -> None:
    print(f"\n## Starts of LDA, K = {k}: held-out log-likelihood a token (document completion)\n")
    passes = (1, 5, 10, 20, 40)
    table(
        "corpus", "model", "start", *(f"{n} passes" for n in passes), "CPU s of 20, with the start"
    )
    for name in names:
        counts = load_bench(name)
        order = np.random.default_rng(0).permutation(counts.shape[0])[:6000]
        n_test = min(500, len(order) // 5)
        train = Corpus.from_matrix(counts[order[n_test:]])
        test = Corpus.from_matrix(counts[order[:n_test]])
        for inference, begin in itertools.product(("snapshot", "fast"), ("random", "spectral")):
            cells, took = [], 0.0
            for n in passes:
                model = LDA(
                    n_topics=k, inference=inference, start=begin, n_sweeps=n, random_state=0,
                    n_threads=1, tol=0.0,
                )  # fmt: skip
                begun = time.process_time()
                model.fit(train)
                if n == 20:
                    took = time.process_time() - begun
                cells.append(f"{model.log_likelihood(test):.4f}")
            row(name, f"LDA({inference})", begin, *cells, f"{took:.1f}")
        for begin in ("noise", "spectral"):
            model = OnlineLDA(n_topics=k, start=begin, n_passes=1, random_state=0, n_threads=1)
            begun = time.process_time()
            value = model.fit(train).log_likelihood(test)
            took = f"{time.process_time() - begun:.1f} (1 pass)"
            row(name, "OnlineLDA", begin, f"{value:.4f}", *"----", took)
        value = SpectralLDA(n_topics=k, random_state=0).fit(train).log_likelihood(test)
        row(name, "SpectralLDA alone", "-", f"{value:.4f}", *"-----")


def drift() -> None:
    print("\n## All topics replaced half-way: L1 error of the topics, d = 500, K = 5\n")
    table("model", "after the first 20,000", "after 20,000 of the others")
    how = {"doc_length": 40, "weights": [0.1, 0.15, 0.2, 0.25, 0.3]}
    one, first = sample_mixture(20_000, 5, 500, seed=1, **how)
    two, second = sample_mixture(20_000, 5, 500, seed=2, **how)
    for name, settings in {
        "no forgetting": {},
        "half-life 2,000, two generations": {"half_life": 2000},
        "all documents kept": {"mode": "history"},
        "reservoir of 10,000": {"mode": "reservoir"},
    }.items():
        pure = {"n_topics": 5, "n_polish": 0, "smoothing": 0.0, "max_share": None}
        model = SpectralLeader(random_state=0, **pure, **settings)
        errors = [
            matched_l1(truth.topics, model.partial_fit(part).components_)
            for part, truth in ((one, first), (two, second))
        ]
        row(name, *(f"{e:.3f}" for e in errors))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    sections = ("synthetic", "regret", "real", "reservoir", "batch", "speed", "start", "drift")
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    parser.add_argument(
        "--corpora", nargs="+", default=["uci_kos", "uci_nips", "20news_bow", "arxiv_big"]
    )
    parser.add_argument("--runs", type=int, default=10, help="of the synthetic streams")
    parser.add_argument("--steps", type=int, default=1000, help="of the streams of regret")
    parser.add_argument("--real-runs", type=int, default=3)
    parser.add_argument("--topics", type=int, default=20, help="of the starts of LDA")
    given = parser.parse_args()
    if "synthetic" in given.only:
        synthetic(given.runs)
    if "real" in given.only:
        real(given.corpora, given.real_runs)
    if "regret" in given.only:
        regret(min(given.runs, 3), given.steps)
    if "reservoir" in given.only:
        reservoir(given.corpora, given.real_runs)
    if "batch" in given.only:
        batch(given.corpora)
    if "speed" in given.only:
        speed()
    if "drift" in given.only:
        drift()
    if "start" in given.only:
        start([c for c in given.corpora if c != "arxiv_big"], given.topics)


if __name__ == "__main__":
    main()
