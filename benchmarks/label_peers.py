"""Other libraries' classifiers of several labels, as functions from corpora to scores."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.svm import LinearSVC

from bayou import BlockClassifierChain, Corpus, LabelStacking, ProbabilisticChain


class Scored:
    """Scores of the test documents, with seconds of CPU for training and for scoring."""

    def __init__(self, scores: Any, train_s: float, test_s: float, given: Any = None) -> None:
        self.scores, self.train_s, self.test_s, self.given = scores, train_s, test_s, given


def words_of(corpus: Corpus) -> Iterator[list[str]]:
    indptr, terms = corpus.tokens()
    for lo, hi in pairwise(indptr):
        yield [str(v) for v in terms[lo:hi]]


def tomotopy(
    train: Corpus, test: Corpus, *, partial: bool = False, n_sweeps: int = 100, n_steps: int = 50
) -> Scored:
    """Labelled LDA, or partially labelled LDA with one topic a label and one latent topic."""
    import tomotopy as tp

    model = tp.PLDAModel(latent_topics=1, seed=1) if partial else tp.LLDAModel(seed=1)
    for d, words in enumerate(words_of(train)):
        own = train.labels[[d]].indices
        if words and len(own):
            model.add_doc(words, labels=[str(y) for y in own])
    begin = time.process_time()
    model.train(n_sweeps, workers=1)
    train_s = time.process_time() - begin
    columns = np.array([int(name) for name in model.topic_label_dict])
    begin = time.process_time()
    docs = [model.make_doc(words or ["0"]) for words in words_of(test)]
    found, _ = model.infer(docs, iterations=n_steps, workers=1)
    test_s = time.process_time() - begin
    scores = np.zeros((test.n_docs, train.n_labels))
    scores[:, columns] = np.array(found)[:, : len(columns)]
    return Scored(scores, train_s, test_s)


def relevance(train: Corpus, test: Corpus, *, kind: str, columns: Any = slice(None)) -> Scored:
    """Binary relevance of linear classifiers on tf-idf; chains and stacking of logistic regressions."""
    tfidf = TfidfTransformer(sublinear_tf=True)
    X, Z = tfidf.fit_transform(train.counts), tfidf.transform(test.counts)
    Y = (
        train.labels[:, columns].toarray().astype(np.int64)
    )  # narrower integers confuse OneVsRestClassifier
    logistic = LogisticRegression(C=10.0, solver="liblinear")
    made: Any = {
        "svc": OneVsRestClassifier(LinearSVC()),
        "logistic": OneVsRestClassifier(logistic),
        "chain": ClassifierChain(logistic, order="random", random_state=0),
        "blocks": BlockClassifierChain(logistic, order="random", random_state=0),
        "joint": ProbabilisticChain(logistic, order="random", random_state=0),
        "stacked": LabelStacking(logistic, random_state=0),
    }[kind]
    begin = time.process_time()
    made.fit(X, Y)
    train_s = time.process_time() - begin
    begin = time.process_time()
    if kind == "svc":
        margin = made.decision_function(Z)
        scores, given = 1.0 / (1.0 + np.exp(-margin)), margin > 0
    else:
        scores = made.predict_proba(Z)
        given = made.predict(Z) if kind == "joint" else np.asarray(scores) > 0.5
    return Scored(scores, train_s, time.process_time() - begin, given)


def omikuji(train: Corpus, test: Corpus) -> Scored:
    """Partitioned label trees (Parabel) with default settings."""
    import omikuji as om

    tfidf = TfidfTransformer(sublinear_tf=True)
    X, Z = (csr_array(tfidf.fit_transform(c.counts)) for c in (train, train))
    Z = csr_array(tfidf.transform(test.counts))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.txt")
        with path.open("w") as file:
            file.write(f"{train.n_docs} {train.n_terms} {train.n_labels}\n")
            for d in range(train.n_docs):
                row, own = X[[d]], train.labels[[d]].indices
                cells = (f"{v}:{w:.6g}" for v, w in zip(row.indices, row.data, strict=True))
                file.write(",".join(map(str, own)) + " " + " ".join(cells) + "\n")
        begin = time.process_time()
        how = om.Model.default_hyper_param()
        model = om.Model.train_on_data(str(path), how, 1)
        train_s = time.process_time() - begin
    scores = np.zeros((test.n_docs, train.n_labels))
    begin = time.process_time()
    for d in range(test.n_docs):
        row = Z[[d]]
        pairs = list(zip(row.indices.tolist(), row.data.tolist(), strict=True))
        for label, score in model.predict(pairs, top_k=min(train.n_labels, 500)):
            scores[d, label] = score
    return Scored(scores, train_s, time.process_time() - begin)
