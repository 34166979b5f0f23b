"""Reports whose words, labels, names and texts contain code."""

import numpy as np

from bayou import LDA, MedLDAClassifier, MedLDARegressor
from bayou.data import Corpus
from bayou.report import ReportData

SUPERVISED = ("binary", "multi-class", "multi-label", "regression")

HOSTILE = (
    "<script>window.hacked = true</script>",
    "</style><script>window.hacked=1</script>",
    "<img src=x onerror=window.hacked=1>",
    "\"quoted\" & 'single' `tick` {{ 7 * 7 }} {% raw %}",
    "שלום עולם مرحبا",
    "\u202eturned\u202c round",
    "🦆👩‍👩‍👧 emoji",
    "nul\x00 bell\x07 half\ud800",
    "</script></svg></title>-->]]>",
)


def hostile_data(*, texts=True, n_docs=90):
    """A small model whose terms, labels, names, texts and title are all hostile."""
    terms = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(27)]
    group = np.arange(n_docs) * 3 // n_docs
    counts = np.array(
        [[3 if v // 9 == group[d] and (v + d) % 2 else (v + d) % 5 == 0 for v in range(27)]
         for d in range(n_docs)]
    )  # fmt: skip
    counts[::17] = 0
    corpus = Corpus.from_matrix(
        counts,
        vocabulary=terms,
        labels=[HOSTILE[g] for g in group],
        times=[f"{1950 + d // 3}-03-01" for d in range(n_docs)],
        ids=[f"{HOSTILE[d % len(HOSTILE)]} {d}" for d in range(n_docs)],
    )
    model = LDA(n_topics=3, random_state=0).fit(corpus)
    begin = ("", HOSTILE[4] + " ")  # every second text is written from right to left
    said = [f"{begin[d % 2]}{HOSTILE[d % 9]} and more, document {d}" for d in range(n_docs)]
    return ReportData.from_model(
        model, corpus, texts=said if texts else None, title=HOSTILE[0], test=corpus[::3]
    )


def supervised_corpus(kind, n_docs=120):
    """Documents of three groups of hostile words, with hostile classes or labels, or numbers."""
    terms = [f"{HOSTILE[i % len(HOSTILE)]}{i}" for i in range(27)]
    n_groups = 2 if kind == "binary" else 3
    group = np.arange(n_docs) % n_groups
    counts = np.array(
        [[3 if v // 9 == group[d] and (v + d) % 2 else (v + d) % 5 == 0 for v in range(27)]
         for d in range(n_docs)]
    )  # fmt: skip
    counts[::17] = 0
    beside = {"labels": [HOSTILE[g] for g in group]}
    if kind == "multi-label":
        beside = {"labels": [[HOSTILE[g], HOSTILE[3 + d % 4]] for d, g in enumerate(group)]}
    elif kind == "regression":
        beside = {"targets": group * 1.5 + np.arange(n_docs) % 7 / 10}
    return Corpus.from_matrix(counts, vocabulary=terms, **beside)


def supervised_data(kind, *, test=True, **how):
    """A report on a small supervised model."""
    corpus = supervised_corpus(kind)
    train, held_out = corpus[: 2 * corpus.n_docs // 3], corpus[2 * corpus.n_docs // 3 :]
    made = MedLDARegressor if kind == "regression" else MedLDAClassifier
    model = made(n_topics=4, n_sweeps=8, n_kept=6, random_state=0, **how).fit(train)
    return ReportData.from_model(model, train, title=kind, test=held_out if test else None)
