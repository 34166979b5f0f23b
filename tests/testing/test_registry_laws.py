"""Laws of supervised models, for every such model of the registry."""

import importlib

import pytest

from bayou.registry import MODELS
from bayou.testing import laws

SMALL = {"n_topics": 4, "n_sweeps": 8, "n_kept": 3, "batch_size": 16}
WITH_TOPICS = ("margin", "labels")


def model_of(name):
    kind = getattr(importlib.import_module(MODELS[name].module), name)
    known = kind().get_params()
    return kind(**{key: value for key, value in SMALL.items() if key in known})


def names(kinds):
    return [n for n, e in MODELS.items() if e.task in WITH_TOPICS and e.labels in kinds]


@pytest.mark.parametrize("name", names(("classes", "labels", "numbers")))
def test_permuted_labels_change_the_topics(name):
    dict(laws(model_of(name)))["labels_shape_topics"]()


@pytest.mark.parametrize("name", names(("numbers",)))
def test_intervals_cover_new_targets(name):
    assert hasattr(model_of(name), "predict_interval")
    dict(laws(model_of(name)))["intervals_cover"]()


def test_the_registry_has_supervised_models_of_every_kind():
    assert len(names(("classes", "labels", "numbers"))) >= 17
    assert len(names(("numbers",))) >= 4
