"""Batch MedHDP: how many topics, resuming, files, and what it learns."""

import numpy as np
import pytest
from sklearn.base import clone
from tests.models.test_online_med_lda import COUNTS, NUMBERS, SEVERAL, TARGETS, THREE

from bayou import MedHDPClassifier, MedHDPRegressor, ModelFileError, load
from bayou.data import container
from bayou.inference.margin.tasks import MarginTask
from bayou.testing.cases import always_threads, file_bytes, reload, same

SHORT = {"n_topics": 3, "random_state": 0, "n_threads": 1, "n_sweeps": 12, "n_kept": 4}


@pytest.mark.parametrize("loss", ["hinge", "logistic", "smooth-hinge"])
@pytest.mark.parametrize("kind", TARGETS)
def test_it_learns(kind, loss):
    y = TARGETS[kind]
    cost = {} if loss == "hinge" else {"cost": 20.0}
    model = MedHDPClassifier(**SHORT, loss=loss, **cost).fit(COUNTS, y)
    base = max(np.unique(y, return_counts=True, axis=0)[1]) / len(y)
    assert model.score(COUNTS, y) > base + 0.1
    assert model.n_topics_ == len(model.topic_ids_) == len(model.components_)
    assert 0 < model.alpha_.sum() < model.alpha
    assert np.allclose(model.components_.sum(axis=1), 1.0)
    assert model.response_.draws.shape == (4, model.n_topics_, model.weights_.shape[1])


def test_how_many_topics_there_are():
    model = MedHDPClassifier(**{**SHORT, "n_sweeps": 30}, gamma=3.0).fit(COUNTS, THREE)
    assert len(model.n_topics_course_) == 30
    assert model.n_topics_course_[-1] == model.n_topics_
    lo, hi = model.n_topics_interval(0.9)
    assert 1 <= lo <= hi
    assert model.n_topics_interval(1.0)[1] == model.n_topics_course_[15:].max()
    again = reload(model)
    assert again.n_topics_interval() == (lo, hi)
    assert again.topic_ids_.tolist() == model.topic_ids_.tolist()
    with pytest.raises(ValueError, match="level must be"):
        model.n_topics_interval(1.5)


def test_it_learns_numbers():
    for extra in ({}, {"refit": False}, {"word_residual": 1.0}):
        model = MedHDPRegressor(**SHORT, **extra).fit(COUNTS, NUMBERS)
        assert model.score(COUNTS, NUMBERS) > 0.4
        assert (model.predict(COUNTS, return_std=True)[1] > 0).all()


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    whole = MedHDPClassifier(**SHORT).fit(COUNTS, THREE)
    path = tmp_path / "half"
    stop = MedHDPClassifier(**SHORT, callbacks=lambda info: info.step == 7)
    stop.fit(COUNTS, THREE, checkpoint=path, checkpoint_every=3)
    assert stop.n_iter_ == 7
    rest = MedHDPClassifier(**SHORT).fit(COUNTS, THREE, checkpoint=path)
    assert file_bytes(rest) == file_bytes(whole)
    with pytest.raises(ModelFileError, match="other"):
        MedHDPClassifier(**SHORT, gamma=2.0).fit(COUNTS, THREE, checkpoint=path)


def test_threads_are_irrelevant():
    model = MedHDPClassifier(**SHORT)
    with always_threads():
        files = {
            file_bytes(clone(model).set_params(n_threads=n).fit(COUNTS, THREE)) for n in (1, 3)
        }
    assert len(files) == 1


def test_odd_documents():
    rows, y = COUNTS.toarray(), THREE.astype(object)
    rows[::5], y[:40] = 0, None
    model = MedHDPClassifier(**SHORT).fit(rows, y)
    assert np.isfinite(model.decision_function(np.zeros((1, 50)))).all()
    nothing = MedHDPClassifier(**SHORT).fit(np.zeros((6, 4)), [0, 1, 0, 1, 0, 1])
    assert nothing.n_topics_ >= 1
    assert np.isfinite(nothing.predict_proba(np.ones((2, 4)))).all()


def test_labels_shape_the_topics_and_several_labels_work():
    several = MedHDPClassifier(**SHORT).fit(COUNTS, SEVERAL)
    assert several.predict(COUNTS).shape == (160, 3)
    assert same(several.predict(COUNTS), reload(several).predict(COUNTS))


def test_ceiling():
    model = MedHDPClassifier(**SHORT, gamma=50.0, max_topics=6).fit(COUNTS, THREE)
    assert model.n_topics_course_.max() <= 6


def test_stopped_before_anything_is_averaged():
    model = MedHDPClassifier(**SHORT, max_time=1e-9).fit(COUNTS, THREE)
    assert model.n_iter_ == 1
    assert np.isfinite(model.decision_function(COUNTS)).all()


@pytest.mark.parametrize("name", ["ids", "course"])
def test_damaged_files(name, tmp_path):
    model = MedHDPClassifier(**SHORT).fit(COUNTS, THREE)
    path = tmp_path / "model.bayou"
    model.save(path)
    arrays, manifest = container.load(path)
    for broken in (arrays[name][None], -1 - arrays[name], arrays[name].astype(np.float64)):
        container.save(path, {**arrays, name: broken}, manifest)
        with pytest.raises(ModelFileError):
            load(path)
    container.save(path, {k: v for k, v in arrays.items() if k != name}, manifest)
    with pytest.raises(ModelFileError):
        load(path)


def test_it_begins_with_as_many_topics_as_labels():
    for kind, n_tasks, ceiling, many in (
        ("multi-label", 30, 400, 30), ("multi-label", 3, 400, 20), ("multi-class", 30, 400, 20),
        ("regression", 2, 400, 10), ("multi-label", 90, 50, 50),
    ):  # fmt: skip
        none = np.zeros((0, n_tasks))
        task = MarginTask(kind, None, none, none, none, None, None, None)
        model = (MedHDPRegressor if kind == "regression" else MedHDPClassifier)(max_topics=ceiling)
        assert model.resolve(task).n_topics == many


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"gamma": "x"}, "gamma must be"),
        ({"n_topics": 20, "max_topics": 1}, "max_topics must be from n_topics = 20"),
        ({"n_kept": 50}, "n_kept must be at most"),
        ({"loss": "square"}, "loss must be one of"),
    ],
)
def test_parameters_that_cannot_be_meant(settings, message):
    with pytest.raises(ValueError, match=message):
        MedHDPClassifier(**settings).fit(COUNTS, THREE)
