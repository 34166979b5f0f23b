"""Topics through time: identity, coherence, held-out likelihood and speed; known events as alerts.

    python benchmarks/tracking.py                                   everything
    python benchmarks/tracking.py --only quality --data nyt_headlines
    python benchmarks/tracking.py --only quality --data sotu --small
    python benchmarks/tracking.py --only events
    python benchmarks/tracking.py --only quiet
    python benchmarks/tracking.py --only planted --seed 60

Data come from the folder in BAYOU_DATA. A tenth of every slice's documents is held out and scored by document
completion under the topics of that slice, all models by the same function and with the same alpha. Times are
CPU seconds of one thread for learning all slices, compiling before the clock. TopicTracker has its defaults.
Models of bayou: means over the seeds, ± half the range.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from bayou import LDA, Corpus, OnlineLDA, TopicTracker, Vectorizer
from bayou.data.calendar import parse_width, slice_numbers
from bayou.datasets import load_corpus, make_news
from bayou.inference.lda import documents as lda_documents
from bayou.inference.lda import fold_in
from bayou.metrics import completion_halves, npmi
from bayou.metrics.events import match_events
from bayou.run.shards import Workers

ALPHA = 0.1
WIDTHS = {
    "sotu": "20 years", "newsarticles2017": "2 weeks", "nyt_headlines": "year", "arxiv_cs": "2 years",
}  # fmt: skip
TOPICS = 20


class Stream(NamedTuple):
    name: str
    train: list[Corpus]  # by slice
    test: list[Corpus]
    whole: Corpus  # training documents of all slices
    valid: tuple[Corpus, ...] = ()  # further documents of the slices, to choose settings by


def stream(name: str, max_docs: int) -> Stream:
    """A dated corpus in slices; those of fewer than 50 documents are left out."""
    corpus = load_corpus(name, vectorizer=Vectorizer(stop_words="english", min_df=5, max_df=0.3))
    dated = corpus[np.flatnonzero(~np.isnat(corpus.times) & (corpus.doc_lengths() > 0))]
    rng = np.random.default_rng(0)
    corpus = dated[np.sort(rng.permutation(dated.n_docs)[:max_docs])]
    numbers = slice_numbers(corpus.times, parse_width(WIDTHS[name]))
    train, test = [], []
    for number in np.unique(numbers):
        docs = np.flatnonzero(numbers == number)
        if len(docs) >= 50:
            held = rng.permutation(len(docs)) < max(len(docs) // 10, 5)
            train.append(corpus[docs[~held]])
            test.append(corpus[docs[held]])
    kept = np.concatenate([np.flatnonzero(np.isin(corpus.ids or (), c.ids or ())) for c in train])
    return Stream(name, train, test, corpus[kept])


def tracker(data: Stream, k: int, seed: int, **how: Any) -> Iterator[Any]:
    model = TopicTracker(n_topics=k, alpha=ALPHA, random_state=seed, n_threads=1, **how)
    for corpus in data.train:
        model.partial_fit(corpus)
        yield model.topic_ids_, model.components_


def by_evidence(data: Stream, k: int, seed: int) -> Iterator[Any]:
    return tracker(data, k, seed, strength="estimate")


def chosen(data: Stream, k: int, seed: int) -> Iterator[Any]:
    """Weight and beta by documents that are in neither part; choosing is not on the clock of the others."""
    best, how = -np.inf, {}
    for weight in (0.2, 0.5, 0.8):
        for beta in (0.01, 0.1, 0.3):
            given = {"weight": weight, "beta": beta}
            steps = tracker(data, k, seed, **given)
            found = [
                completion(phi, held) for (_, phi), held in zip(steps, data.valid, strict=True)
            ]
            score = sum(s for s, _ in found) / sum(n for _, n in found)
            if score > best:
                best, how = score, given
    print(f"chosen on validation documents: {how}", file=sys.stderr)
    return tracker(data, k, seed, **how)


def independent(data: Stream, k: int, seed: int) -> Iterator[Any]:
    for t, corpus in enumerate(data.train):
        how = {"inference": "snapshot", "n_sweeps": 100, "burn_in": 50, "n_threads": 1}
        model = LDA(n_topics=k, alpha=ALPHA, random_state=seed + t, **how).fit(corpus)
        yield np.arange(k), model.components_


def online(data: Stream, k: int, seed: int) -> Iterator[Any]:
    n_docs = sum(c.n_docs for c in data.train)
    model = OnlineLDA(
        n_topics=k, alpha=ALPHA, n_docs=n_docs, batch_size=64, random_state=seed, n_threads=1
    )
    for corpus in data.train:
        model.partial_fit(corpus)
        yield np.arange(k), model.components_


def dt_model(data: Stream, k: int, seed: int, sweeps: int = 100) -> Iterator[Any]:
    model, n_terms = dt_begun(data, k, seed)
    model.train(sweeps, workers=1)
    yield from dt_topics(model, len(data.train), n_terms)


def dt_begun(data: Stream, k: int, seed: int) -> tuple[Any, int]:
    """A DTModel that has its documents and has learned nothing yet."""
    import tomotopy

    model = tomotopy.DTModel(k=k, t=len(data.train), seed=seed + 1)
    names = [str(v) for v in range(data.whole.n_terms)]
    for t, corpus in enumerate(data.train):
        for words in documents(corpus, names):
            model.add_doc(words, timepoint=t)
    return model, len(names)


def dt_topics(model: Any, n_slices: int, n_terms: int) -> Iterator[Any]:
    place = np.array([int(w) for w in model.used_vocabs])
    for t in range(n_slices):
        phi = np.full((model.k, n_terms), 1e-9)
        for i in range(model.k):
            phi[i, place] = model.get_topic_word_dist(i, timepoint=t)
        yield np.arange(model.k), phi / phi.sum(axis=1, keepdims=True)


def lda_seq(data: Stream, k: int, seed: int) -> Iterator[Any]:
    from gensim.models import LdaSeqModel

    docs = []
    for corpus in data.train:
        c = corpus.counts
        docs += [
            [(int(v), int(n)) for v, n in zip(c.indices[a:b], c.data[a:b], strict=True)]
            for a, b in zip(c.indptr[:-1], c.indptr[1:], strict=True)
        ]
    names = {v: str(v) for v in range(data.whole.n_terms)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LdaSeqModel(
            corpus=docs, id2word=names, num_topics=k, time_slice=[c.n_docs for c in data.train],
            random_state=seed, alphas=ALPHA, passes=5, em_min_iter=3, em_max_iter=8,
        )  # fmt: skip
    for t in range(len(data.train)):
        phi = np.exp(np.array([chain.e_log_prob[:, t] for chain in model.topic_chains]))
        phi = np.maximum(phi, 1e-12)
        yield np.arange(k), phi / phi.sum(axis=1, keepdims=True)


def documents(corpus: Corpus, names: list[str]) -> Iterator[list[str]]:
    indptr, terms = corpus.tokens()
    for lo, hi in pairwise(indptr):
        if hi > lo:
            yield [names[v] for v in terms[lo:hi]]


MODELS: dict[str, Callable[..., Iterator[Any]]] = {
    "TopicTracker": tracker,
    "the same, strength by evidence": by_evidence,
    "the same, weight and beta by validation": chosen,
    "LDA, each slice alone": independent,
    "OnlineLDA": online,
    "tomotopy DTModel, 100 sweeps": dt_model,
    "tomotopy DTModel, 1,000 sweeps": partial(dt_model, sweeps=1000),
    "gensim LdaSeqModel": lda_seq,
}


def completion(phi: np.ndarray, test: Corpus) -> tuple[float, float]:
    """Sum of ln p of the scored halves, and their tokens."""
    observed, scored = (lda_documents.pairs_of(h) for h in completion_halves(test.counts))
    rows = np.ascontiguousarray(phi.T, np.float32)
    with Workers(1) as workers:
        mean = fold_in.completion(rows, np.full(len(phi), ALPHA), observed, scored, workers.each)
    return mean * scored.n_tokens, scored.n_tokens


def same_index(before: Any, now: Any) -> list[bool]:
    (old_ids, old), (ids, phi) = before, now
    gap = np.sqrt(phi) @ np.sqrt(old).T
    return [old_ids[row.argmax()] == i for i, row in zip(ids, gap, strict=True) if i in old_ids]


def coherence(found: list[Any], data: Stream) -> float:
    """Mean NPMI of the topics of about four slices."""
    looked = found[:: max(len(found) // 4, 1)]
    return float(np.mean([npmi(phi, data.whole.counts, top_n=10).mean() for _, phi in looked]))


def measured(
    data: Stream, run: Callable[..., Iterator[Any]], k: int, seed: int
) -> dict[str, float]:
    spent, found = 0.0, []
    steps, begun = run(data, k, seed), time.process_time()
    for step in steps:
        spent += time.process_time() - begun
        found.append((step[0], step[1].copy()))
        begun = time.process_time()
    scores = [completion(phi, test) for (_, phi), test in zip(found, data.test, strict=True)]
    same = [s for a, b in pairwise(found) for s in same_index(a, b)]
    return {
        "completion": sum(s for s, _ in scores) / sum(n for _, n in scores),
        "identity": float(np.mean(same)), "coherence": coherence(found, data), "seconds": spent,
    }  # fmt: skip


def small(data: Stream) -> Stream:
    """A size that LdaSeqModel can do: 100 documents of each of four slices, the 500 most frequent terms."""
    large = [t for t, corpus in enumerate(data.train) if corpus.n_docs >= 150]
    slices = [large[i] for i in np.linspace(0, len(large) - 1, 4).round().astype(int)]
    terms = np.sort(np.argsort(-data.whole.term_counts(), kind="stable")[:500])

    def cut(corpus: Corpus, n: int) -> Corpus:
        return Corpus.from_matrix(corpus.counts[:n][:, terms], ids=(corpus.ids or ())[:n])

    train = [cut(data.train[t], 100) for t in slices]
    test = [cut(data.test[t], 50) for t in slices]
    valid = tuple(cut(data.train[t][100:], 100) for t in slices)
    return Stream(f"{data.name}, small", train, test, cut(data.whole, data.whole.n_docs), valid)


LARGE = tuple(name for name in MODELS if "validation" not in name and "gensim" not in name)
PEERS = (
    "TopicTracker",
    "the same, strength by evidence",
    "the same, weight and beta by validation",
    "tomotopy DTModel, 1,000 sweeps",
    "gensim LdaSeqModel",
)


PEER = ("tomotopy", "gensim")  # how the names of other libraries' models begin: one seed does


def quality(data: Stream, models: list[str] | None, is_small: bool, seeds: range) -> None:
    warm()
    if is_small:
        table(small(data), 5, seeds, tuple(models or PEERS))
    else:
        table(data, TOPICS, seeds, tuple(models or LARGE))


def table(data: Stream, k: int, seeds: range, models: tuple[str, ...]) -> None:
    n_tokens = sum(c.n_tokens for c in data.train)
    print(
        f"\n### {data.name}: {len(data.train)} slices, {sum(c.n_docs for c in data.train):,} documents, "
        f"{n_tokens:,.0f} tokens, {data.whole.n_terms:,} terms, K = {k}\n"
    )
    print(
        "| model | held-out ln p a token | same topic as before | coherence | CPU s | times as long |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    first = None
    for name in models:
        mine = seeds[:1] if name.startswith(PEER) else seeds
        runs = [measured(data, MODELS[name], k, seed) for seed in mine]
        found = {what: float(np.mean([run[what] for run in runs])) for what in runs[0]}
        spread = np.ptp([run["completion"] for run in runs]) / 2
        first = first or found["seconds"]
        print(
            f"| {name} | {found['completion']:.3f}{f' ± {spread:.3f}' if len(runs) > 1 else ''} | "
            f"{found['identity']:.3f} | {found['coherence']:.3f} | {found['seconds']:.2f} | "
            f"{found['seconds'] / first:.1f} |",
            flush=True,
        )


SWEEPS = (10, 30, 100, 200, 300, 500, 1000)


def sweeps(data: Stream, seed: int, most: int) -> None:
    """How many sweeps DTModel needs: its held-out likelihood along one training."""
    model, n_terms = dt_begun(data, TOPICS, seed)
    print(f"\n### {data.name}: DTModel\n\n| sweeps | held-out ln p a token | coherence | CPU s |")
    print("| --- | --- | --- | --- |")
    spent, done = 0.0, 0
    for n in (n for n in SWEEPS if n <= most):
        begun = time.process_time()
        model.train(n - done, workers=1)
        spent, done = spent + time.process_time() - begun, n
        found = list(dt_topics(model, len(data.train), n_terms))
        scores = [completion(phi, test) for (_, phi), test in zip(found, data.test, strict=True)]
        mean = sum(s for s, _ in scores) / sum(n for _, n in scores)
        print(f"| {n:,} | {mean:.3f} | {coherence(found, data):.3f} | {spent:.1f} |", flush=True)


def warm() -> None:
    counts = np.random.default_rng(0).poisson(np.repeat([0.5, 0.08], [30, 90]), (60, 120))
    counts[:30, :3], counts[30:, :3] = 0, 2  # some words emerge
    few = Corpus.from_matrix(counts)
    tiny = Stream("", [few[:30], few[30:]], [few[:5], few[5:10]], few)
    for run in (tracker, independent, online):
        list(run(tiny, 2, 0))


EVENTS = {
    "sotu": ({"slice_by": "5 years", "n_topics": 20}, [
        ("Mexican War", "1845", {"mexico", "mexican", "california"}),
        ("Kansas", "1855", {"kansas"}),
        ("Civil War and emancipation", "1860", {"slaves", "emancipation", "rebellion", "slavery"}),
        ("Reconstruction", "1865", {"reconstruction", "electors", "freedmen"}),
        ("silver and the gold standard", "1875", {"silver", "coinage"}),
        ("Spanish-American War", "1895", {"cuba", "manila", "philippines", "spanish", "spain"}),
        ("First World War", "1915", {"war", "peace", "german"}),
        ("Great Depression", "1930", {"depression", "banks", "unemployment"}),
        ("Second World War", "1940", {"hitler", "japanese", "axis", "nazis"}),
        ("Cold War, atomic energy", "1950", {"communist", "atomic", "kremlin", "soviet"}),
        ("11 September, Iraq", "2000", {"terrorist", "terrorists", "iraq", "terror"}),
    ]),
    "nyt_headlines": ({"slice_by": "year", "n_topics": 15, "min_tokens": 50}, [  # 150 tokens a topic and year
        ("impeachment", "1998", {"impeachment", "lewinsky", "clinton", "starr"}),
        ("Kosovo", "1999", {"kosovo", "nato", "serb", "serbs"}),
        ("election and recount", "2000", {"florida", "recount", "bush", "gore", "vote", "votes"}),
        ("11 September", "2001", {"attacks", "anthrax", "taliban", "terror", "nation", "challenged"}),
        ("Iraq War", "2003", {"iraq", "baghdad", "war"}),
        ("election of 2004", "2004", {"kerry", "campaign", "election"}),
        ("Katrina", "2005", {"hurricane", "katrina", "orleans", "storm"}),
    ]),
}  # fmt: skip


def events(seed: int) -> None:
    """Events that a reader knows, as alerts in the right slice."""
    for name, (how, known) in EVENTS.items():
        corpus = load_corpus(name, vectorizer=Vectorizer(stop_words="english", min_df=3))
        model = TopicTracker(random_state=seed, **how).fit(corpus)
        print(f"\n### {name}: {model.state_.step} slices, {len(model.alerts())} alerts\n")
        print("| event | slice | alerts |\n| --- | --- | --- |")
        for what, year, words in known:
            hits = [a for a in model.alerts() if a.date.startswith(year) and words & {*a.words}]
            told = "; ".join(f"{a.kind}: {', '.join(a.words[:4])}" for a in hits[:3])
            print(f"| {what} | {year} | {told or '**none**'} |")


def quiet(n_streams: int) -> None:
    """Alarms where nothing changes: simulated streams, and slices of real ones dealt at random."""
    print(
        "\n| slices without change | slices | with any alert | drift | words | rise or fall | surprise |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    streams = [make_news(24, 50, events=False, seed=100 + i)[0] for i in range(n_streams)]
    models = [TopicTracker(n_topics=6, slice_by="week", random_state=i) for i in range(n_streams)]
    print(
        _alarms("simulated", [m.fit(c) for m, c in zip(models, streams, strict=True)]), flush=True
    )
    for name in ("sotu", "newsarticles2017"):
        vectorizer = Vectorizer(stop_words="english", min_df=5, max_df=0.3)
        corpus = load_corpus(name, vectorizer=vectorizer)
        corpus = corpus[np.random.default_rng(0).permutation(corpus.n_docs)[:6000]]
        model = TopicTracker(n_topics=20, slice_by=-(-corpus.n_docs // 12), random_state=0)
        print(_alarms(f"{name}, shuffled", [model.fit(corpus)]), flush=True)
    for name in ("sotu", "newsarticles2017", "nyt_headlines", "arxiv_cs"):
        corpus = load_corpus(name, vectorizer=Vectorizer(stop_words="english", min_df=1))
        models = [_grown(corpus, seed) for seed in range(3)]
        print(_alarms(f"{name}, shuffled, words as they come", models), flush=True)


def _grown(corpus: Corpus, seed: int) -> TopicTracker:
    """A tracker that meets the words of a corpus one after the other, as `bayou track` does."""
    order = np.random.default_rng(seed).permutation(corpus.n_docs)[:6000]
    size = -(-len(order) // 24)
    model = TopicTracker(
        n_topics=10, slice_by=size, min_docs=3, max_terms=50_000, random_state=seed
    )
    for at in range(0, len(order), 256):
        some = corpus[order[at : at + 256]]
        met = np.unique(some.counts.indices)
        words = [some.vocabulary[int(v)] for v in met]
        model.partial_fit(Corpus.from_matrix(some.counts[:, met], vocabulary=words))
    return model.flush()


def planted(first: int, n_streams: int) -> None:
    """Planted events that are found, and alerts that belong to none, on streams drawn from a seed each."""
    found = missed = told = false = 0
    for seed in range(first, first + n_streams):
        corpus, truth = make_news(24, 50, seed=seed)
        model = TopicTracker(n_topics=6, slice_by="week", random_state=seed).fit(corpus)
        matched = match_events(model.alerts(), truth.events)
        found, missed = found + len(matched.found), missed + len(matched.missed)
        told, false = told + len(model.alerts()), false + len(matched.false)
    print(
        f"\n{n_streams} streams from seed {first}: {found} found, {missed} missed; {false} of {told} alerts "
        f"false, {false / n_streams:.2f} a stream"
    )


def _alarms(name: str, models: list[TopicTracker]) -> str:
    kinds = (None, "drift", "words", ("rise", "fall"), "surprise")
    told = [sum(len({a.slice for a in m.alerts(kind)}) for m in models) for kind in kinds]
    return f"| {name} | {sum(m.state_.step - 1 for m in models)} | {' | '.join(map(str, told))} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", choices=("quality", "sweeps", "events", "quiet", "planted"))
    parser.add_argument("--data", action="append", choices=tuple(WIDTHS))
    parser.add_argument(
        "--models", nargs="+", choices=tuple(MODELS), help="of the large tables; else all"
    )
    parser.add_argument(
        "--small", action="store_true", help="the size that LdaSeqModel can do, alone"
    )
    parser.add_argument("--max-docs", type=int, default=3000)
    parser.add_argument("--most-sweeps", type=int, default=1000, help="of --only sweeps")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument("--streams", type=int, default=16, help="of --only planted, a seed each")
    parser.add_argument("--seeds", type=int, default=3, help="how many, of models of bayou")
    given = parser.parse_args()
    seeds = range(given.seed, given.seed + given.seeds)
    if given.only in (None, "quality"):
        for name in given.data or WIDTHS:
            quality(stream(name, given.max_docs), given.models, given.small, seeds)
    if given.only in (None, "sweeps"):
        for name in given.data or WIDTHS:
            sweeps(stream(name, given.max_docs), given.seed, given.most_sweeps)
    if given.only in (None, "events"):
        events(given.seed)
    if given.only in (None, "quiet"):
        quiet(8)
    if given.only in (None, "planted"):
        planted(given.seed, given.streams)


if __name__ == "__main__":
    main()
