"""Online MedHDP: streams cut anywhere, files, topics that come and go, and what it learns."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from tests.models.test_online_med_lda import (
    CORPUS,
    COUNTS,
    NUMBERS,
    SEVERAL,
    TARGETS,
    THREE,
    streamed,
)

from bayou import ModelFileError, OnlineMedHDPClassifier, OnlineMedHDPRegressor, load
from bayou.data import MissingTargetsWarning, container
from bayou.testing.cases import always_threads, file_bytes, reload, same

SHORT = {"n_topics": 3, "random_state": 0, "n_threads": 1}
CLASSIFIERS = [
    OnlineMedHDPClassifier(**SHORT, batch_size=16, gamma=5.0),
    OnlineMedHDPClassifier(**SHORT, classifier="averaging"),
    OnlineMedHDPClassifier(**SHORT, weight_floor=None, n_sweeps=3, burn_in=1, batch_size=7),
    OnlineMedHDPClassifier(**SHORT, n_rounds=2, ghost_factor=2.0, batch_size=9, decay=0.99),
    OnlineMedHDPClassifier(**SHORT, refit=True, batch_size=16, gamma=5.0, min_tokens=30.0),
]
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)


@each_classifier
@pytest.mark.parametrize("kind", TARGETS)
def test_streams_may_be_cut_anywhere(model, kind):
    y = TARGETS[kind]
    classes = np.arange(3) if kind == "several" else np.unique(y)
    whole = streamed(model, y, [], classes=classes)
    for cuts in ([1], [5, 37, 90]):
        assert file_bytes(streamed(model, y, cuts, classes=classes)) == file_bytes(whole)


@each_classifier
def test_a_stream_through_a_file_in_the_middle_of_a_batch(model):
    whole, cut = clone(model), clone(model)
    for lo, hi in ((0, 45), (45, 103), (103, 160)):
        for one in (whole, cut):
            one.partial_fit(COUNTS[lo:hi], THREE[lo:hi], classes=np.unique(THREE))
        cut = reload(cut)
        assert file_bytes(cut) == file_bytes(whole)
        assert same(cut.predict_proba(COUNTS), whole.predict_proba(COUNTS))


@each_classifier
def test_threads_are_irrelevant(model):
    with always_threads():
        files = {
            file_bytes(clone(model).set_params(n_threads=n).fit(COUNTS, THREE)) for n in (1, 3)
        }
    assert len(files) == 1


def parts(model, path):
    model.save(path)
    return container.load(path)


@each_classifier
def test_classes_may_come_late(model, tmp_path):
    """To rounding: products of matrices of more rows may be added in another order."""
    order = np.argsort(THREE == "cow", kind="stable")
    n = int((THREE != "cow").sum())
    late, early = clone(model), clone(model)
    late.partial_fit(COUNTS[order[:n]], THREE[order[:n]], classes=["ant", "bee", "dog"])
    late.partial_fit(COUNTS[order[n:]], THREE[order[n:]], classes=["cow"])
    early.partial_fit(COUNTS[order], THREE[order], classes=["ant", "bee", "cow", "dog"])
    (arrays, manifest), (wanted, told) = (parts(one, tmp_path / "m") for one in (late, early))
    assert manifest == told
    assert arrays.keys() == wanted.keys()
    for name, array in wanted.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_allclose(arrays[name], array, rtol=1e-6, atol=1e-10, err_msg=name)


@each_classifier
@pytest.mark.parametrize("kind", TARGETS)
def test_it_learns(model, kind):
    y = TARGETS[kind]
    model = clone(model).set_params(n_passes=3).fit(COUNTS, y)
    base = max(np.unique(y, return_counts=True, axis=0)[1]) / len(y)
    assert model.score(COUNTS, y) > base + 0.1
    assert model.n_topics_ == len(model.topic_ids_) == len(model.components_)
    assert 0 < model.alpha_.sum() < model.resolve().growth.alpha
    assert model.weights_.shape[0] == model.n_topics_


@pytest.mark.parametrize("kind", ["gibbs", "averaging"])
def test_it_learns_numbers(kind):
    model = OnlineMedHDPRegressor(**{**SHORT, "n_topics": 6}, regressor=kind, n_passes=3)
    assert model.fit(COUNTS, NUMBERS).score(COUNTS, NUMBERS) > 0.3
    assert (model.predict(COUNTS, return_std=True)[1] > 0).all()
    y = np.column_stack([NUMBERS, -3.0 * NUMBERS])
    y[:10, 1] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MissingTargetsWarning)
        assert clone(model).fit(COUNTS, y).predict(COUNTS).shape == (160, 2)
    first = clone(model).set_params(refit=False).fit(COUNTS, NUMBERS)
    assert first.score(COUNTS, NUMBERS) > 0.3
    assert not len(first.state_.bend)


def test_topics_are_found_from_one():
    """Three themes with terms of their own: one topic is not enough, and hundreds are not wanted."""
    model = OnlineMedHDPClassifier(n_topics=1, random_state=0, gamma=5.0, batch_size=16, n_passes=4)
    model.fit(COUNTS, THREE)
    assert 2 <= model.n_topics_ <= 40
    assert model.score(COUNTS, THREE) > 0.45


def test_numbers_of_topics_are_permanent():
    model, before, known = clone(CLASSIFIERS[0]), None, {}
    for lo in range(0, 160, 16):
        model.partial_fit(COUNTS[lo : lo + 16], THREE[lo : lo + 16], classes=np.unique(THREE))
        ids = model.topic_ids_.tolist()
        assert len(set(ids)) == len(ids)
        if before is not None:
            assert min(set(ids) - before, default=10**9) >= max(known.values(), default=0)
        known[lo] = max(ids)
        before = set(ids) | (before or set())
    low, high = model.n_topics_interval(1.0)
    assert (low, high) == (model.state_.course.min(), model.state_.course.max())
    assert len(model.state_.course) == 10
    assert low <= model.n_topics_ <= high


def test_it_begins_with_as_many_topics_as_labels():
    y = np.random.default_rng(0).integers(0, 2, (160, 30))
    model = OnlineMedHDPClassifier(random_state=0, n_threads=1, min_tokens=0.0)
    assert len(model.partial_fit(COUNTS[:3], y[:3]).state_.topic) == 30
    assert len(clone(model).partial_fit(COUNTS[:3], SEVERAL[:3]).state_.topic) == 20
    assert len(clone(model).partial_fit(COUNTS[:3], THREE[:3]).state_.topic) == 20
    small = clone(model).set_params(max_topics=5).partial_fit(COUNTS[:3], y[:3])
    assert len(small.state_.topic) == 5
    numbers = OnlineMedHDPRegressor(n_threads=1).partial_fit(COUNTS[:3], NUMBERS[:3])
    assert len(numbers.state_.topic) == 10


@pytest.mark.parametrize("kind", ["gibbs", "averaging"])
@pytest.mark.parametrize("size", [1, 16, 160])
def test_topics_of_the_start_wait_for_their_documents(kind, size):
    """They are dropped by their tokens, every 1,024 documents, and not for missing the first mini-batch."""
    model = OnlineMedHDPClassifier(
        n_topics=30, classifier=kind, random_state=0, n_threads=1, batch_size=size
    )
    model.partial_fit(COUNTS, THREE)
    assert set(range(30)) <= set(model.topic_ids_)
    assert (model.state_.tables[:30] >= 1.0).all()
    many = clone(model).set_params(n_topics=5)
    for _ in range(7):
        many.partial_fit(COUNTS, THREE)
    assert (many.state_.topic[many.topic_ids_ < 5] >= 20.0).all()


@pytest.mark.parametrize("kind", ["gibbs", "averaging"])
@pytest.mark.parametrize("size", [1, 16, 160])
def test_it_learns_at_every_batch_size(kind, size):
    rounds = 10 if size == 160 else None
    model = OnlineMedHDPClassifier(
        classifier=kind, random_state=0, n_threads=1, batch_size=size, n_rounds=rounds
    ).fit(COUNTS, THREE)
    assert model.score(COUNTS, THREE) > 0.7


def test_ceiling():
    model = OnlineMedHDPClassifier(**SHORT, gamma=50.0, max_topics=5).fit(COUNTS, THREE)
    assert model.n_topics_ <= 5


def test_documents_without_labels_and_without_tokens():
    y, rows = THREE.astype(object), COUNTS.toarray()
    y[:80] = None
    rows[::7] = 0
    model = OnlineMedHDPClassifier(**SHORT).fit(rows, y)
    empty = model.decision_function(np.zeros((1, 50)))
    assert np.isfinite(empty).all()
    alone = OnlineMedHDPClassifier(**SHORT)
    alone.partial_fit(np.zeros((70, 50)), THREE[:70], classes=["ant", "bee", "cow"])
    assert alone.n_topics_ == 3
    alone.partial_fit(COUNTS[:80], y[:80])
    assert not alone.weights_.any()


def test_the_whole_corpus_as_one_batch():
    model = OnlineMedHDPClassifier(
        **SHORT, classifier="averaging", batch_size=160, n_rounds=20, n_sweeps=1, n_passes=1
    ).fit(COUNTS, THREE)
    assert model.n_iter_ == 1
    assert model.score(COUNTS, THREE) > 0.5


def test_published_settings():
    model = OnlineMedHDPClassifier.published(random_state=0)
    assert (model.alpha, model.gamma, model.beta, model.n_topics) == (5.0, 1.0, 0.5, 20)
    assert model.fit(COUNTS[:40], THREE[:40]).state_.step == 40
    gibbs = OnlineMedHDPClassifier.published("gibbs").fit(COUNTS, THREE)
    assert len(gibbs.state_.precision) == 4


def test_several_labels_and_explanations():
    model = OnlineMedHDPClassifier(**SHORT).fit(CORPUS)
    scores = model.decision_function(CORPUS[:5])
    for one, row in zip(model.explain(CORPUS[:5]), scores, strict=True):
        assert np.allclose(one.scores, row, rtol=1e-4, atol=1e-3)
    several = OnlineMedHDPClassifier(**SHORT).fit(COUNTS, SEVERAL)
    assert several.predict(COUNTS).shape == (160, 3)
    assert np.array_equal(several.weights_.T, several.state_.refitted[:3])


def test_a_second_stage_cannot_come_or_go_within_a_stream():
    model = OnlineMedHDPClassifier(**SHORT).partial_fit(COUNTS, SEVERAL)
    with pytest.raises(ValueError, match="refit"):
        model.set_params(refit=False).partial_fit(COUNTS, SEVERAL)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha must be"),
        ({"alpha": [1.0, 2.0]}, "alpha must be"),
        ({"gamma": 0.0}, "gamma must be"),
        ({"max_topics": 0}, "max_topics must be"),
        ({"n_topics": 20, "max_topics": 10}, "max_topics must be from n_topics = 20"),
        ({"max_topics": 70_000}, "max_topics must be at most 65535"),
        ({"min_tokens": -1.0}, "min_tokens must be"),
        ({"n_topics": 0}, "n_topics must be"),
        ({"classifier": "mean"}, "classifier must be one of"),
    ],
)
def test_parameters_that_cannot_be_meant(settings, message):
    with pytest.raises(ValueError, match=message):
        OnlineMedHDPClassifier(**settings).fit(COUNTS, THREE)


@pytest.mark.parametrize(
    "name", ["state.raw", "state.tables", "state.ids", "state.precision", "state.course"]
)
def test_damaged_files(name, tmp_path):
    model = OnlineMedHDPClassifier(**SHORT).partial_fit(COUNTS, THREE)
    path = tmp_path / "model.bayou"
    model.save(path)
    arrays, manifest = container.load(path)
    for broken in (arrays[name][None], -1 - arrays[name], arrays[name].astype(np.int16)):
        container.save(path, {**arrays, name: broken}, manifest)
        with pytest.raises(ModelFileError):
            load(path)
