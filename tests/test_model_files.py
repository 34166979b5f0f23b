"""Model files: what they hold, and what is refused."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from sklearn.base import clone
from tests.reference.blocks import block_corpus

import bayou
from bayou import LDA, ModelFileError, OnlineLDA
from bayou.data import container
from bayou.estimator import Estimator
from bayou.testing.cases import saved

CORPUS, _ = block_corpus(n_docs=60)
MODELS = [LDA(n_topics=3, random_state=0), OnlineLDA(n_topics=3, random_state=0, n_passes=1)]

each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def fitted(model):
    return clone(model).fit(CORPUS)


@each_model
def test_parameters_of_any_plain_kind_are_kept(model, tmp_path):
    for alpha in (0.5, np.float32(0.5), [0.1, 0.2, 0.3], (1, 2, 3), np.array([0.1, 0.2, 0.3])):
        first = fitted(clone(model).set_params(alpha=alpha, n_topics=np.int64(3)))
        first.save(tmp_path / "m")
        back = bayou.load(tmp_path / "m")
        np.testing.assert_array_equal(np.asarray(back.alpha, float), np.asarray(alpha, float))
        assert back.n_topics == 3
        assert saved(back) == saved(first)


@each_model
def test_the_file_holds_arrays_and_json_and_no_code(model, tmp_path):
    path = tmp_path / "m.bayou"
    fitted(model).save(path)
    raw = path.read_bytes()
    for mark in (b"numpy", b"sklearn", b"bayou.models", b"__reduce__", b"pickle", b"c__builtin__"):
        assert mark not in raw
    with pytest.raises(Exception):  # noqa: B017 - what a foreign reader says is its own affair
        pickle.loads(raw)
    arrays = load_file(path)  # safetensors itself can read it
    assert all(a.dtype.kind in "fiu" for a in arrays.values())
    header = int.from_bytes(raw[:8], "little")
    assert len(raw) == 8 + header + sum(a.nbytes for a in arrays.values())


def test_nothing_in_the_package_loads_pickles():
    source = Path(bayou.__file__).parent
    for path in source.rglob("*.py"):
        if path.parent.name != "testing":
            text = path.read_text()
            assert not re.search(
                r"^\s*(import|from) (pickle|joblib|dill|marshal|shelve)", text, re.M
            )
            assert "allow_pickle=True" not in text


@each_model
def test_how_it_was_run_is_not_in_the_file(model, capfd):
    plain = saved(fitted(model))
    for other in ({"n_threads": 2}, {"progress": True}, {"callbacks": [lambda i: None]}):
        assert saved(fitted(clone(model).set_params(**other))) == plain
    assert b"n_threads" not in plain


@each_model
def test_files_that_are_not_models_are_refused(model, tmp_path):
    path = tmp_path / "m"
    fitted(model).save(path)
    arrays, manifest = container.load(path)

    def refused(match, arrays=arrays, **other):
        container.save(path, arrays, manifest | other)
        with pytest.raises(ModelFileError, match=match):
            bayou.load(path)

    refused("holds a 'Nope', which this bayou does not know", estimator="Nope")
    refused("does not know", estimator=["LDA"])
    refused("holds 'checkpoint', not a model", kind="checkpoint")
    refused("not a model", kind=None)
    refused("parameters are not those", parameters={"no_such": 1})
    refused("parameters are not those", parameters=[1])
    refused("manifest is incomplete", learned={})
    refused("manifest is incomplete", learned={"seed": "x", "n_features_in": 1, "n_iter": 1})
    refused("disagree on the terms", learned=manifest["learned"] | {"n_features_in": 7})
    for name, array in arrays.items():
        if "scores" in name or array.ndim == 0:
            continue
        if not name.endswith("vocabulary"):
            refused("missing|lacks|disagree", {k: v for k, v in arrays.items() if k != name})
        refused(
            "fit the others|list of strings|disagree|names 30 terms", arrays | {name: array[:-1]}
        )
    container.save(path, arrays, manifest)
    assert saved(bayou.load(path)) == path.read_bytes()


def test_a_parameter_that_no_file_can_hold_is_refused(tmp_path):
    model = fitted(MODELS[0])
    model.learn_alpha = object()
    with pytest.raises(ModelFileError, match=r"learn_alpha = .* cannot be written"):
        model.save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_missing_files_are_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        bayou.load(tmp_path / "none")


def test_kinds_are_the_public_models():
    assert Estimator.kinds == {"LDA": LDA, "OnlineLDA": OnlineLDA}
