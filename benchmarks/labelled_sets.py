"""Classifiers with default settings against tf-idf + LinearSVC on labelled sets.

    python benchmarks/labelled_sets.py                      all sets
    python benchmarks/labelled_sets.py --data uscongress slashdot --models default words0

Data come from the folder in BAYOU_DATA; large sets are sub-samples (at most 3,000 training and 2,000 test
documents, fixed random order). A set without a published split is cut at random, three fifths to learn from.
Figures are of the test part: accuracy and macro-F1 of classes, micro-F1 and macro-F1 of labels, and the
expected calibration error in ten bins. CPU seconds are of one thread, training only.
"""

from __future__ import annotations

import argparse
import math
import os
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
from sklearn.metrics import f1_score
from sklearn.svm import LinearSVC

from bayou import (
    BayesPAClassifier,
    LabeledLDA,
    MedHDPClassifier,
    MedLDAClassifier,
    OnlineMedLDAClassifier,
    Vectorizer,
)
from bayou.datasets import load_corpus
from bayou.inference.lda.features import inverse_frequency, unit_words
from bayou.metrics import expected_calibration_error

N_TRAIN, N_TEST = 3000, 2000
LETTERS = r"[^\W\d_]{2,}"


class Source(NamedTuple):
    """Where a set is, and how it is read."""

    corpus: str
    texts: bool  # texts rather than counts
    split: bool  # whether a split is published
    several: bool  # several labels per document
    label: str | None = None
    first: int = 0  # labels before this one are left out


SETS = {
    "20news_bow": Source("20news_bow", False, True, False),
    "20news_raw": Source("20news_raw", True, True, False),
    "poliblog5k": Source("poliblog5k", False, False, False),
    "imdb20k": Source("imdb20k", True, True, False),
    "uscongress": Source("uscongress", True, False, False),
    "nyt_headlines": Source("nyt_headlines", True, False, False),
    "newsarticles2017": Source("newsarticles2017", True, False, False),
    "debian": Source("debian", True, False, False, "section"),
    "reuters21578": Source("reuters21578/modapte90", True, True, True),
    "rcv1_sub1": Source(
        "rcv1_sub1", False, True, True, None, 1
    ),  # label 0 is lost in the test part
    "arxiv_cs": Source("arxiv_cs", True, True, True),
    "stackex_chess": Source("stackex_chess", False, False, True),
    "tmc2007": Source("mulan_tmc2007_500", False, True, True),
    "slashdot": Source("slashdot", False, False, True),
    "medical": Source("mulan_medical", False, True, True),
}


class Part(NamedTuple):
    """Documents and their labels."""

    counts: csr_array
    labels: Any  # documents x labels, 0 and 1


def load(name: str) -> tuple[Part, Part]:
    """Training and test part, with the terms of the training part."""
    source, how = SETS[name], {}
    if source.texts:
        vectorizer = Vectorizer(
            token_pattern=LETTERS, stop_words=sorted(ENGLISH_STOP_WORDS), min_df=2
        )
        how = {"vectorizer": vectorizer, "time": "", "label": source.label}
    rng = np.random.default_rng(0)
    if source.split:
        both = [load_corpus(source.corpus, split=part, **how) for part in ("train", "test")]
        rows = [rng.permutation(c.n_docs)[:n] for c, n in zip(both, (N_TRAIN, N_TEST), strict=True)]
    else:
        whole = load_corpus(source.corpus, **how)
        order, n = rng.permutation(whole.n_docs), min(N_TRAIN, int(0.6 * whole.n_docs))
        both, rows = [whole, whole], [order[:n], order[n : n + N_TEST]]
    train, test = (c[np.sort(r)] for c, r in zip(both, rows, strict=True))
    keep = np.bincount(train.counts.indices, minlength=train.n_terms) > 0
    if name == "20news_bow":
        names = list(train.vocabulary)
        keep &= [len(t) > 1 and t not in ENGLISH_STOP_WORDS for t in names]
    at = np.flatnonzero(keep)
    cut = (csr_array(csr_array(c.counts)[:, at]) for c in (train, test))
    labels = (c.labels.toarray()[:, source.first :] for c in (train, test))
    return Part(next(cut), next(labels)), Part(next(cut), next(labels))


def answers_of(part: Part, several: bool) -> Any:
    return part.labels if several else part.labels.argmax(axis=1)


def linear(train: Part, test: Part, several: bool) -> tuple[Any, None]:
    """Sublinear tf-idf of unit length, one linear SVM per class or label with C = 1."""
    idf = inverse_frequency(train.counts)
    x, new = unit_words(train.counts, idf), unit_words(test.counts, idf)
    if not several:
        return LinearSVC(random_state=0).fit(x, answers_of(train, False)).predict(new), None
    scores = np.full(test.labels.shape, -1.0)
    for i, column in enumerate(train.labels.T):
        if column.min() < column.max():
            scores[:, i] = LinearSVC(random_state=0).fit(x, column).decision_function(new)
    found = (scores > 0).astype(int)
    bare = np.flatnonzero(found.sum(axis=1) == 0)
    found[bare, scores[bare].argmax(axis=1)] = 1
    return found, None


def ours(kind: Any, **settings: Any) -> Callable[[Part, Part, bool], tuple[Any, Any]]:
    def run(train: Part, test: Part, several: bool) -> tuple[Any, Any]:
        model = kind(random_state=0, n_threads=1, **settings)
        model.fit(train.counts, answers_of(train, several))
        return model.predict(test.counts), (model, test.counts)

    return run


MODELS: dict[str, Callable[[Part, Part, bool], tuple[Any, Any]]] = {
    "default": ours(MedLDAClassifier),
    "words0": ours(MedLDAClassifier, word_residual=0.0),
    "svm": linear,
    "hdp": ours(MedHDPClassifier),
    "online": ours(OnlineMedLDAClassifier),
    "pa": ours(BayesPAClassifier),
    "llda": ours(LabeledLDA),
}
NAMES = {
    "default": "MedLDA (default)", "words0": "MedLDA, `word_residual=0`", "svm": "tf-idf + LinearSVC",
    "hdp": "MedHDP (default)", "online": "online MedLDA (default)", "pa": "BayesPA (default)",
    "llda": "Labeled LDA (default)",
}  # fmt: skip


def measure(found: Any, model: Any, test: Part, several: bool) -> list[str]:
    want = answers_of(test, several)
    macro = f1_score(want, found, average="macro", zero_division=0)
    first = f1_score(want, found, average="micro") if several else (want == found).mean()
    error, share = "-", "-"
    if model is not None:
        one, counts = model
        truth = test.labels > 0
        if not several:  # classes without training documents are not columns of the model
            truth = np.asarray(one.classes_)[None] == want[:, None]
        if hasattr(one, "predict_proba"):
            stated = one.predict_proba(counts)
            error = f"{expected_calibration_error(stated, truth, several=several):.3f}"
        share = f"{getattr(getattr(one, 'response_', None), 'share', math.nan):.2f}"
    return [f"{first:.4f}", f"{macro:.3f}", error, share]


def table(names: list[str], models: list[str]) -> None:
    print(
        "| data | model | accuracy or micro-F1 | macro-F1 | calibration error | topics' share | CPU s |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in names:
        train, test = load(name)
        for key in models:
            begun = time.process_time()
            found, model = MODELS[key](train, test, SETS[name].several)
            spent = time.process_time() - begun
            cells = " | ".join(measure(found, model, test, SETS[name].several))
            print(f"| {name} | {NAMES[key]} | {cells} | {spent:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", choices=tuple(SETS), default=list(SETS))
    parser.add_argument(
        "--models", nargs="+", choices=tuple(MODELS), default=["default", "words0", "svm"]
    )
    given = parser.parse_args()
    if not os.path.isdir(os.environ.get("BAYOU_DATA", "")):
        print("BAYOU_DATA does not name a folder of corpora; nothing to measure")
        return
    warnings.simplefilter("ignore")
    table(given.data, given.models)


if __name__ == "__main__":
    main()
