"""What stands beside online MedLDA on classes: batch models, published settings, linear models of words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import PassiveAggressiveClassifier, SGDClassifier
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from bayou import BayesPAClassifier, Corpus, MedLDAClassifier, OnlineLDA, OnlineMedLDAClassifier
from max_margin import Task, truth


def batch_model(n_topics: int) -> Callable[[Task], Any]:
    def run(task: Task) -> Any:
        model = MedLDAClassifier(n_topics=n_topics, refit=False, random_state=0, n_threads=1)
        return model.fit(task.train).decision_function(task.test)

    return run


def whole_batch(task: Task) -> Any:
    """The corpus as one mini-batch, thirty rounds: MedLDA by collapsed sampling (gMedLDA)."""
    model = OnlineMedLDAClassifier(
        classifier="averaging", n_topics=40, batch_size=task.train.n_docs, n_rounds=30, n_sweeps=1,
        n_passes=1, random_state=0, n_threads=1,
    )  # fmt: skip
    return model.fit(task.train).decision_function(task.test)


def unsupervised(task: Task) -> Any:
    """Topics of a stream without labels, then a linear machine (spLDA + SVM)."""
    model = OnlineLDA(
        n_topics=40, inference="hybrid", n_passes=1, batch_size=64, random_state=0, n_threads=1
    ).fit(task.train)
    machine = LinearSVC(random_state=0).fit(model.transform(task.train), truth(task.train))
    return machine.decision_function(model.transform(task.test))


def published(kind: str) -> Callable[[Task], Any]:
    def run(task: Task) -> Any:
        model = OnlineMedLDAClassifier.published(kind, random_state=0, n_threads=1)
        return model.fit(task.train).decision_function(task.test)

    return run


def hashed(corpus: Corpus) -> Any:
    """Words as a stream has them: hashed, sublinear, of length one, no document frequencies."""
    counts = csr_array(corpus.counts)
    names = [str(v) for v in range(corpus.n_terms)]
    hasher = FeatureHasher(2**18, input_type="pair", alternate_sign=False)
    rows = (
        [
            (names[v], 1.0 + np.log(n))
            for v, n in zip(counts.indices[a:b], counts.data[a:b], strict=True)
        ]
        for a, b in zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    )
    return normalize(hasher.transform(rows))


def linear(make: Callable[[], Any]) -> Callable[[Task], Any]:
    """One pass of `partial_fit` in the order of a stream."""

    def run(task: Task) -> Any:
        train, want = hashed(task.train), truth(task.train)
        order, model = np.random.default_rng(0).permutation(len(want)), make()
        for lo in range(0, len(order), 64):
            at = order[lo : lo + 64]
            model.partial_fit(train[at], want[at], classes=np.unique(want))
        return model.decision_function(hashed(task.test))

    return run


def river_words(task: Task) -> Any:
    """river's passive-aggressive classifier, one task a class, a document at a time."""
    try:
        from river.linear_model import PAClassifier
        from river.multiclass import OneVsRestClassifier
    except ImportError:
        print("river is not installed; its row is left out")
        return None
    model, want = OneVsRestClassifier(PAClassifier(C=1.0)), truth(task.train)
    train, test = (_rows(part) for part in (task.train, task.test))
    for d in np.random.default_rng(0).permutation(len(want)):
        model.learn_one(train[d], int(want[d]))
    found = [model.predict_proba_one(row) for row in test]
    return np.array([[row.get(i, 0.0) for i in range(int(want.max()) + 1)] for row in found])


def _rows(corpus: Corpus) -> list[dict[int, float]]:
    """Words by number, sublinear, of length one: what a model of dictionaries is given."""
    counts = csr_array(corpus.counts)
    counts.data = 1.0 + np.log(counts.data)
    counts = normalize(counts)
    ends = zip(counts.indptr[:-1], counts.indptr[1:], strict=True)
    return [
        dict(zip(counts.indices[a:b].tolist(), counts.data[a:b].tolist(), strict=True))
        for a, b in ends
    ]


BASELINES = {
    "averaging, whole corpus as one batch, 30 rounds": whole_batch,
    "averaging as published": published("averaging"),
    "gibbs as published": published("gibbs"),
    "OnlineLDA (sampled) + LinearSVC, one pass": unsupervised,
    "PassiveAggressiveClassifier, hashed words, one pass": linear(
        lambda: PassiveAggressiveClassifier(random_state=0)
    ),
    "SGDClassifier, hashed words, one pass": linear(lambda: SGDClassifier(random_state=0)),
    "river OneVsRest(PAClassifier), words, one pass": river_words,
    "BayesPAClassifier(gibbs), hashed words, one pass": linear(
        lambda: BayesPAClassifier(classifier="gibbs", random_state=0, n_threads=1)
    ),
}
