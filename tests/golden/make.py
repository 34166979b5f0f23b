"""Write the golden model files: ``python tests/golden/make.py [NAME ...]`` after a change of format version.

Old files stay: every later bayou must read them. A new format version gets new names.
"""

import json
import sys
from pathlib import Path

import numpy as np

from bayou import (
    LDA,
    BayesPAClassifier,
    BayesPARegressor,
    Corpus,
    MedLDAClassifier,
    MedLDARegressor,
    OnlineLDA,
    OnlineMedLDAClassifier,
    OnlineMedLDARegressor,
)

HERE = Path(__file__).parent
VERSION = 1
ROWS = ("transform", "decision_function", "predict_proba", "predict")


def documents():
    """Counts by a formula, so that they are the same under any version of anything."""
    d, v = np.mgrid[0:30, 0:12]
    counts = (d * 7 + v * 5 + d * v) % 4 * ((v // 4) == (d % 3))
    return Corpus.from_matrix(counts, vocabulary=[f"tèrm{i}" for i in range(12)])


def targets(name):
    """What a model of that name learns: a class, several labels or a number a document."""
    d = np.arange(30)
    if "regressor" in name:
        return (d % 3) * 2.0 + d / 10.0
    if "labels" in name:
        return np.column_stack([d % 3 == 0, d % 2 == 0]).astype(np.int64)
    return np.where(d % 3 == 0, "où", "là")


def models():
    shared = {"n_topics": 3, "random_state": 11, "alpha": [0.1, 0.2, 0.3]}
    yield "lda", LDA(inference="gibbs", n_sweeps=20, learn_beta=True, **shared)
    yield "online_lda", OnlineLDA(n_passes=4, batch_size=8, **shared)
    short = {"n_sweeps": 8, "n_kept": 2, "n_topics": 3, "random_state": 11}
    yield "med_lda_classifier", MedLDAClassifier(word_residual=1.0, **short)
    yield "med_lda_regressor", MedLDARegressor(**short)
    stream = {"batch_size": 6, "n_topics": 3, "random_state": 11}  # nothing is left to be drawn
    yield "online_med_lda_classifier", OnlineMedLDAClassifier(**stream)
    yield "online_med_lda_averaging", OnlineMedLDAClassifier(classifier="averaging", **stream)
    yield "online_med_lda_labels", OnlineMedLDAClassifier(**stream)
    yield "online_med_lda_regressor", OnlineMedLDARegressor(**stream)
    yield "bayes_pa_classifier", BayesPAClassifier(classifier="gibbs", random_state=11)
    yield "bayes_pa_regressor", BayesPARegressor(batch_size=4, random_state=11)


def answers(name, model, corpus):
    """Everything that a model says of documents, and what it knows."""
    y = () if name.endswith("lda") else (targets(name),)
    out = {method: getattr(model, method)(corpus) for method in ROWS if hasattr(model, method)}
    if out.get("predict", np.zeros(0)).dtype.kind == "U":
        del out["predict"]
    out["score"] = model.score(corpus, *y)
    if hasattr(model, "components_"):
        out["components"] = model.components_
        out["beta"] = model.posterior_.beta
    return {key: np.round(np.asarray(value, float), 9).tolist() for key, value in out.items()}


def learned(name, model, corpus):
    """The model after the documents; one of a stream in two calls that cut a mini-batch."""
    if name.endswith("lda"):
        return model.fit(corpus)
    y = targets(name)
    if not name.startswith("online"):
        return model.fit(corpus, y)
    for lo, hi in ((0, 13), (13, 30)):
        model.partial_fit(corpus[lo:hi], y[lo:hi])
    return model


def main(names):
    corpus = documents()
    for name, model in models():
        if names and name not in names:
            continue
        path = HERE / f"{name}-v{VERSION}.bayou"
        learned(name, model, corpus).save(path)
        text = json.dumps(answers(name, model, corpus), indent=None)
        path.with_suffix(".json").write_text(text + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
