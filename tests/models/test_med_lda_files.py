"""Files of supervised models: whatever is wrong with one, the error says that it is the file."""

import json

import numpy as np
import pytest
from tests.api.test_model_files import forge
from tests.data.test_container_damage import _mutations

import bayou
from bayou import MedLDAClassifier, MedLDARegressor, ModelFileError
from bayou.data import container
from bayou.data.synthetic import sample_med_lda

SHORT = {"n_topics": 4, "n_sweeps": 3, "n_kept": 2, "random_state": 0}
CLASSES, _ = sample_med_lda(40, 4, 30, n_classes=3, beta=0.05, seed=1)
NUMBERS, _ = sample_med_lda(40, 4, 30, n_classes=0, beta=0.05, seed=3)
FITTED = {
    "classes": MedLDAClassifier(**SHORT, word_residual=1.0).fit(CLASSES),
    "numbers": MedLDARegressor(**SHORT).fit(NUMBERS),
}
each_model = pytest.mark.parametrize("name", FITTED)


@each_model
def test_damaged_files_are_refused(name, tmp_path):
    path, bad = tmp_path / "m", tmp_path / "bad"
    FITTED[name].save(path)
    tried = 0
    for raw in _mutations(path.read_bytes(), 600):
        bad.write_bytes(raw)
        with pytest.raises(ModelFileError):
            bayou.load(bad)
        tried += 1
    assert tried > 500


SIGNED = ("weights", "intercept", "slope", "offset", "share", "draws", "covariance", "words")


@each_model
def test_forged_arrays_are_refused(name, tmp_path):
    """Every array of the answer in turn in shapes, types and numbers that it cannot have."""
    path = tmp_path / "m"
    FITTED[name].save(path)
    arrays, manifest = container.load(path)
    spelled = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    forge(path, arrays, spelled)
    bayou.load(path)
    for field, good in arrays.items():
        if not field.startswith(("response.", "classes")):
            continue
        flat = np.zeros(2, good.dtype)
        forged = [flat[None], good[None], flat[0], np.zeros(good.shape, np.int16)]
        if good.dtype.kind == "f" and good.size:
            forged += [np.full_like(good, bad) for bad in (np.nan, np.inf)]
            if not field.endswith(SIGNED) and "classes" not in field:
                forged.append(np.full_like(good, -1.0))
        if field.endswith(("kind", "members")):
            forged += [good * 0 + 99, good * 0 - 1]
        for array in map(np.asarray, forged):
            if field == "classes" and array.dtype == np.int16 and good.dtype.kind == "i":
                continue  # classes may be whole numbers of any size
            forge(path, arrays | {field: array}, spelled)
            print(field, array.dtype, array.shape)
            with pytest.raises(ModelFileError):
                bayou.load(path)


@each_model
def test_missing_arrays_are_refused(name, tmp_path):
    path = tmp_path / "m"
    FITTED[name].save(path)
    arrays, manifest = container.load(path)
    spelled = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    for field in arrays:
        if field in ("response.words", "response.power"):
            continue  # a model without words is a model too, and so is one with a softmax
        if field.startswith(("response.", "classes")):
            forge(path, {k: v for k, v in arrays.items() if k != field}, spelled)
            with pytest.raises(ModelFileError):
                bayou.load(path)


def test_classes_that_do_not_fit_are_refused(tmp_path):
    path = tmp_path / "m"
    FITTED["classes"].save(path)
    arrays, manifest = container.load(path)
    spelled = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    for kind in (0, 1, 2, 3):
        forge(path, arrays | {"response.kind": np.array([kind])}, spelled)
        if kind == 0:  # two classes have one task, here are three
            with pytest.raises(ModelFileError, match="do not fit"):
                bayou.load(path)
