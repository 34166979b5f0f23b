"""Weights of documents in max-margin topic models: 0 leaves one out, others are factors on its cost."""

import numpy as np
import pytest

from bayou import registry
from bayou.data.synthetic import sample_med_lda
from bayou.testing import expected_failures

N_DOCS = 90
BATCH = {"n_topics": 4, "n_sweeps": 4, "n_kept": 2, "random_state": 0}
STREAM = {"n_topics": 4, "batch_size": 8, "random_state": 0}
CHECK = "check_sample_weight_equivalence_on_dense_data"
MODELS = [
    name
    for name, model in registry.MODELS.items()
    if model.task != "wrapper" and CHECK in expected_failures(registry.find_class(name)())
]
STREAMS = [name for name in MODELS if registry.MODELS[name].streaming]


def data(name):
    n_classes = 3 if name.endswith("Classifier") else 0
    corpus, _ = sample_med_lda(
        N_DOCS, n_topics=4, n_terms=40, n_classes=n_classes, doc_length=15, seed=3
    )
    if n_classes:
        return corpus.counts, np.asarray(corpus.labels.argmax(axis=1)).ravel()
    return corpus.counts, np.asarray(corpus.targets)


def new(name, **how):
    plain = STREAM if name in STREAMS else BATCH
    return registry.find_class(name)(**plain | how)


def saved(model, folder, name):
    path = folder / f"{name}.bayou"
    model.save(path)
    return path.read_bytes()


def weights(seed=0):
    return np.random.default_rng(seed).choice([0.0, 1.0, 2.5], N_DOCS, p=[0.3, 0.5, 0.2])


def test_all_margin_models_are_here():
    assert len(MODELS) == 8
    assert len(STREAMS) == 4


@pytest.mark.parametrize("name", MODELS)
def test_weight_zero_leaves_a_document_out(name, tmp_path):
    X, y = data(name)
    weight = weights()
    use = weight > 0
    weighted = new(name).fit(X, y, sample_weight=weight)
    without = new(name).fit(X[use], y[use], sample_weight=weight[use])
    assert saved(weighted, tmp_path, "one") == saved(without, tmp_path, "two")
    every = new(name).fit(X, y)
    assert saved(every, tmp_path, "three") != saved(without, tmp_path, "two")
    assert weighted.predict(X).shape == y.shape  # documents that were left out too


@pytest.mark.parametrize("name", STREAMS)
def test_weight_zero_takes_no_place_in_a_stream(name, tmp_path):
    """Mini-batches hold documents that are learned from, however the stream is cut."""
    X, y = data(name)
    weight = weights(1)
    weight[40:60] = 0.0  # a whole call without a document to learn from
    use = weight > 0
    known = {"classes": [0, 1, 2]} if name.endswith("Classifier") else {}
    cut = new(name)
    for lo in range(0, N_DOCS, 10):
        some = slice(lo, lo + 10)
        cut.partial_fit(X[some], y[some], sample_weight=weight[some], **known)
    once = new(name).partial_fit(X[use], y[use], sample_weight=weight[use], **known)
    assert saved(cut, tmp_path, "one") == saved(once, tmp_path, "two")


@pytest.mark.filterwarnings("ignore::bayou.data.MissingTargetsWarning")
def test_weight_zero_of_label_lists_and_several_targets(tmp_path):
    weight = weights(2)
    use = weight > 0
    X, y = data("MedLDAClassifier")
    lists = [[f"c{a}"] if a else ["c1", "c2"] for a in y]
    some = [labels for labels, u in zip(lists, use, strict=True) if u]
    for name in ("MedLDAClassifier", "OnlineMedLDAClassifier"):
        one = new(name).fit(X, lists, sample_weight=weight)
        two = new(name).fit(X[use], some, sample_weight=weight[use])
        assert saved(one, tmp_path, "one") == saved(two, tmp_path, "two")
    X, y = data("MedLDARegressor")
    two_targets = np.column_stack([y, np.where(np.arange(N_DOCS) % 4, -y, np.nan)])
    one = new("MedLDARegressor").fit(X, two_targets, sample_weight=weight)
    two = new("MedLDARegressor").fit(X[use], two_targets[use], sample_weight=weight[use])
    assert saved(one, tmp_path, "one") == saved(two, tmp_path, "two")


@pytest.mark.parametrize("name", ["MedLDAClassifier", "OnlineMedLDAClassifier"])
def test_a_class_of_weight_zero_is_known_and_never_predicted(name):
    X, y = data(name)
    model = new(name).fit(X, y, sample_weight=(y != 1).astype(float))
    assert model.classes_.tolist() == [0, 1, 2]
    assert 1 not in model.predict(X)


@pytest.mark.parametrize("name", MODELS)
def test_a_sampler_depends_on_the_order_of_documents(name):
    """So scikit-learn's check, which shuffles, fails for any meaning of weights (decision 0021)."""
    X, y = data(name)
    order = np.random.default_rng(0).permutation(N_DOCS)
    one, other = new(name).fit(X, y).transform(X), new(name).fit(X[order], y[order]).transform(X)
    assert one.shape != other.shape or not np.allclose(one, other)
