"""Small synthetic data from plain numpy: counts, labels, numbers, dates and texts."""

from functools import cache
from typing import NamedTuple

import numpy as np

import bayou

N_DOCS, N_FRESH, N_TERMS, N_TOPICS = 96, 12, 40, 4
NAMES = [f"term{v:02d}" for v in range(N_TERMS)]
CLASSES = np.array(["zeta", "alpha", "mid"])
LABELS = np.array(["north", "east", "zenith", "south", "axis"])  # not in alphabetical order
START = np.datetime64("2023-11-06")


class Data(NamedTuple):
    """Documents with all kinds of targets."""

    counts: np.ndarray
    shares: np.ndarray
    targets: dict  # by the kind of the target
    times: np.ndarray

    def corpus(self, **beside):
        return bayou.Corpus.from_matrix(self.counts, vocabulary=NAMES, **beside)


@cache
def topics(n_topics=N_TOPICS, n_terms=N_TERMS):
    """Planted topics: each has a block of terms of its own and a share of the others."""
    rng = np.random.default_rng(20)
    rows = rng.dirichlet(np.full(n_terms, 0.1), n_topics)
    blocks = np.repeat(np.eye(n_topics), -(-n_terms // n_topics), axis=1)[:, :n_terms]
    return 0.5 * rows + 0.5 * blocks / blocks.sum(axis=1, keepdims=True)


def drawn(n_docs, seed, n_terms=N_TERMS, length=25):
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(N_TOPICS, 0.3), n_docs)
    lengths = 3 + rng.poisson(length, n_docs)
    words = shares @ topics(N_TOPICS, n_terms)
    words /= words.sum(axis=1, keepdims=True)
    counts = np.stack([rng.multinomial(n, p) for n, p in zip(lengths, words, strict=True)])
    return shares, counts, rng


def make(n_docs, seed):
    shares, counts, rng = drawn(n_docs, seed)
    counts[n_docs // 2] = 0  # a document without words
    counts[n_docs // 2 + 1] = np.eye(1, N_TERMS, 7, dtype=int)  # and one with a single word
    number = 1000.0 + shares @ np.array([310.0, -200.0, 45.0, 7.0]) + rng.normal(0, 9.0, n_docs)
    second = -0.002 * (shares[:, 1] + rng.normal(0, 0.05, n_docs))
    scores = np.column_stack([shares, shares[:, 0] + shares[:, 2]])
    given = scores > np.array([0.35, 0.35, 0.35, 0.35, 0.75])
    given[np.arange(n_docs), scores[:, :4].argmax(axis=1)] = True
    lists = [[str(name) for name in rng.permutation(LABELS[row])] for row in given]
    binary = np.where(shares[:, 0] + shares[:, 1] > 0.5, "yes", "no")
    classes = CLASSES[np.minimum(shares.argmax(axis=1), 2)]
    missing = [None if i % 5 == 3 else str(name) for i, name in enumerate(classes)]
    holes = np.column_stack([number, second])
    holes[2::9, 0], holes[4::11, 1] = np.nan, np.nan
    targets = {
        "none": None,
        "binary": binary,
        "classes": classes,
        "whole": (shares.argmax(axis=1) * 3 - 2).astype(np.int64),
        "missing": missing,
        "labels": lists,
        "some labels": [None if i % 7 == 5 else some for i, some in enumerate(lists)],
        "indicator": given.astype(np.int64),
        "number": number,
        "numbers": np.column_stack([number, second]),
        "holes": holes,
        "authors": lists,
    }
    days = np.sort(rng.integers(0, 56, n_docs))
    return Data(counts, shares, targets, START + days.astype("timedelta64[D]"))


@cache
def train():
    return make(N_DOCS, 1)


@cache
def fresh():
    return make(N_FRESH, 2)


@cache
def fresh_corpus():
    """New documents whose terms stand in another order, with one that no model knows."""
    counts = fresh().counts[:, ::-1]
    extra = np.arange(N_FRESH)[:, None] % 3
    names = [*NAMES[::-1], "unseen"]
    return bayou.Corpus.from_matrix(np.hstack([counts, extra]), vocabulary=names)


@cache
def news():
    """A stream in time: one topic appears, one fades, and words of one change."""
    rng = np.random.default_rng(5)
    rows, times = [], []
    for week in range(8):
        prior = np.array([1.0, 1.0, 0.02 if week < 4 else 2.0, 1.5 if week < 3 else 0.1])
        own = topics().copy()
        if week >= 5:
            own[0] = np.roll(own[0], 3)
        for _ in range(14):
            p = rng.dirichlet(0.4 * prior) @ own
            rows.append(rng.multinomial(30, p / p.sum()))
            times.append(START + np.timedelta64(7 * week + int(rng.integers(0, 7)), "D"))
    order = np.argsort(times, kind="stable")
    ids = [f"d{i}" for i in range(len(rows))]
    return bayou.Corpus.from_matrix(
        np.array(rows)[order], vocabulary=NAMES, times=np.array(times)[order], ids=ids
    )


@cache
def wide():
    """Enough words for the work to be shared between threads."""
    shares, counts, _ = drawn(240, 3, n_terms=300, length=250)
    names = [f"wide{v:03d}" for v in range(300)]
    lists = [[str(LABELS[k]) for k in np.flatnonzero(row > 0.3)] or ["axis"] for row in shares]
    targets = {
        "none": None,
        "classes": CLASSES[np.minimum(shares.argmax(axis=1), 2)],
        "labels": lists,
        "number": 50.0 + 20.0 * shares[:, 0],
        "authors": lists,
    }
    return bayou.Corpus.from_matrix(counts, vocabulary=names), targets


def words_of(counts, names, rng):
    tokens = np.repeat(np.arange(len(names)), counts)
    return " ".join(names[v] for v in rng.permutation(tokens))


@cache
def texts(n_docs=N_DOCS, seed=1, late=30):
    """The documents as texts with common words; some words come only after the first documents."""
    data, rng = make(n_docs, seed), np.random.default_rng(seed + 100)
    out = []
    for i, row in enumerate(data.counts):
        text = words_of(row, NAMES, rng)
        if i >= late:
            text += f" Novel{i % 3} novel{i % 3} rare{i % 8} wave{i // 6} tide{i // 9}"
        out.append(f"The {text}, and of" if i % 2 else text)
    return out
