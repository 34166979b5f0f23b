"""Model files: what they hold, and what is refused."""

import hashlib
import importlib
import json
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
from bayou.api.estimator import Estimator
from bayou.data import container, header
from bayou.registry import HOMES, find_class
from bayou.testing.cases import file_bytes

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
        assert file_bytes(back) == file_bytes(first)


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
            stores = r"pickle|joblib import .*\b(load|dump)\b|dill|marshal|shelve"
            assert not re.search(rf"^\s*(import|from) ({stores})", text, re.M)
            assert "joblib.load" not in text
            assert "allow_pickle=True" not in text


@each_model
def test_how_it_was_run_is_not_in_the_file(model, capfd):
    plain = file_bytes(fitted(model))
    for other in ({"n_threads": 2}, {"progress": True}, {"callbacks": [lambda i: None]}):
        assert file_bytes(fitted(clone(model).set_params(**other))) == plain
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
    refused(
        "disagree on the number of terms|does not fit the others",
        learned=manifest["learned"] | {"n_features_in": 7},
    )
    for name, array in arrays.items():
        if "scores" in name or array.ndim == 0:
            continue
        if not name.endswith("vocabulary"):
            refused("missing|lacks|disagree", {k: v for k, v in arrays.items() if k != name})
        refused(
            "fit the others|list of strings|disagree|names 30 terms", arrays | {name: array[:-1]}
        )
    container.save(path, arrays, manifest)
    assert file_bytes(bayou.load(path)) == path.read_bytes()


def forge(path, arrays, manifest):
    """A file with a right digest, its manifest spelled as given: what `container.save` refuses too."""
    plain = {name: np.asarray(a, order="C") for name, a in arrays.items()}
    entries = header.describe(plain)
    data = b"".join(plain[e.name].tobytes() for e in entries)
    blank = header.Header(entries, manifest, header.NO_DIGEST)
    digest = hashlib.sha256(header.encode(blank) + data).hexdigest()
    path.write_bytes(header.encode(blank._replace(digest=digest)) + data)


IMPOSSIBLE = [
    ('"seed":0', '"seed":1e999'),
    ('"seed":0', '"seed":-1'),
    ('"seed":0', '"seed":' + "9" * 30),
    ('"seed":0', '"seed":[0]'),
    ('"n_iter":', '"n_iter":-'),
    ('"n_features_in":30', '"n_features_in":1e999'),
    ('"n_features_in":30', '"n_features_in":NaN'),
    ('"n_topics":3', '"n_topics":{"a":1}'),
    ('"n_topics":3', '"n_topics":-3'),
    ('"n_topics":3', '"n_topics":1e999'),
    ('"beta":0.01', '"beta":1e999'),
    ('"beta":0.01', '"beta":' + "9" * 400),
    ('"alpha":null', '"alpha":{"a":1}'),
    ('"alpha":null', '"alpha":[1e999,1,1]'),
    ('"alpha":null', '"alpha":' + "9" * 400),
    ('"inference":"', '"inference":"no'),
    ('"tol":0.0005', '"tol":"small"'),
    ('"learned":{', '"learned":{"x":' + "[" * 2000 + "]" * 2000 + ","),
]


@each_model
def test_forged_manifests_are_refused(model, tmp_path):
    path = tmp_path / "m"
    fitted(model).save(path)
    arrays, manifest = container.load(path)
    plain = header.canonical(manifest)
    forge(path, arrays, plain)
    assert file_bytes(bayou.load(path)) == path.read_bytes()
    for old, new in IMPOSSIBLE:
        assert plain.count(old) == 1, old
        forge(path, arrays, plain.replace(old, new))
        with pytest.raises(ModelFileError):
            bayou.load(path)


@each_model
def test_forged_arrays_are_refused(model, tmp_path):
    """Every array in turn in shapes, types and numbers that it cannot have."""
    path = tmp_path / "m"
    fitted(model).save(path)
    arrays, manifest = container.load(path)
    spelled = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    for name, good in arrays.items():
        flat = np.zeros(2, good.dtype)
        forged = [flat, flat[None], flat[:0], flat[:0].reshape(0, 3), good[None], flat[0]]
        forged += [good.astype(np.uint8), np.zeros(good.shape, np.int16)]
        if not name.endswith(("scores", "score_steps", "vocabulary")):
            if good.dtype.kind == "f":
                forged += [np.full_like(good, bad) for bad in (np.nan, np.inf, -1.0)]
            if name.endswith(("alpha", "beta", "scale")):
                forged.append(np.zeros_like(good) * good)
        for array in map(np.asarray, forged):
            if array.tobytes() == good.tobytes() and name.endswith("vocabulary"):
                continue
            if good.ndim == array.ndim == 0 and good.dtype.kind == "i" and array.dtype.kind in "iu":
                continue  # another whole number may be meant
            forge(path, arrays | {name: array}, spelled)
            with pytest.raises(ModelFileError):
                bayou.load(path)


@each_model
def test_no_topics_are_refused(model, tmp_path):
    path = tmp_path / "m"
    fitted(model).save(path)
    arrays, manifest = container.load(path)
    none = {k: a[..., :0] if a.shape[-1:] == (3,) else a for k, a in arrays.items()}
    container.save(path, none, manifest)
    with pytest.raises(ModelFileError):
        bayou.load(path)


def test_forged_draws_are_refused(tmp_path):
    path = tmp_path / "m"
    model = LDA(n_topics=3, inference="gibbs", n_sweeps=20, burn_in=5, n_draws=2, random_state=0)
    model.fit(CORPUS).save(path)
    arrays, manifest = container.load(path)
    draws = arrays["posterior.draws"]
    assert draws.shape == (2, 30, 3)
    bad = [draws[:0], draws[0], draws[:, :-1], draws.astype(float), -draws, draws * np.nan]
    for forged in bad:
        container.save(path, arrays | {"posterior.draws": forged}, manifest)
        with pytest.raises(ModelFileError):
            bayou.load(path)


def damaged(raw, rng):
    """One byte changed, a piece cut out, put in, moved, or the end cut off."""
    raw, at = bytearray(raw), int(rng.integers(len(raw)))
    n = int(rng.integers(1, 30))
    match int(rng.integers(5)):
        case 0:
            raw[at] ^= int(rng.integers(1, 256))
        case 1:
            del raw[at : at + n]
        case 2:
            raw[at:at] = rng.bytes(n)
        case 3:
            raw = raw[:at]
        case 4:
            head = int(rng.integers(8 + int.from_bytes(raw[:8], "little")))
            raw[head] = int(rng.choice(list(b'0123456789{}[]",:-eE.')))
    return bytes(raw)


@each_model
def test_a_thousand_damaged_models(model, tmp_path):
    path, rng = tmp_path / "m", np.random.default_rng(5)
    fitted(model).save(path)
    original, tried = path.read_bytes(), 0
    for _ in range(1050):
        raw = damaged(original, rng)
        if raw == original:
            continue
        path.write_bytes(raw)
        tried += 1
        with pytest.raises(ModelFileError):
            bayou.load(path)
    assert tried >= 1000


@each_model
def test_a_thousand_manifests_with_a_right_digest(model, tmp_path):
    """Damage that the digest does not show ends in a model that works or in the one error."""
    path, rng = tmp_path / "m", np.random.default_rng(6)
    fitted(model).save(path)
    arrays, manifest = container.load(path)
    plain, opened = header.canonical(manifest), 0
    for _ in range(1000):
        raw = bytearray(plain.encode())
        for _ in range(int(rng.integers(1, 3))):
            raw[int(rng.integers(len(raw)))] = int(rng.choice(list(b'0123456789{}[]",:-eE.tn')))
        forge(path, arrays, raw.decode())
        try:
            back = bayou.load(path)
        except ModelFileError:
            continue
        opened += 1
        assert np.isfinite(back.transform(CORPUS[:2])).all()
        assert np.isfinite(back.sample(CORPUS[:2], n_samples=1, burn_in=1)).all()
    assert 0 < opened < 900


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
    """Nothing but what `bayou` shows under its own name can be named by a model file."""
    for name, home in HOMES.items():
        kind, found = getattr(bayou, name), find_class(name)
        saves = isinstance(kind, type) and issubclass(kind, Estimator)
        assert found is (kind if saves else None), name
        assert not saves or found.__module__ == home


def named(arrays, manifest, name):
    """A file with the contents of another one under the name of some class."""
    return bayou.api.files.estimator_of(arrays, {**manifest, "estimator": name})


def test_abstract_classes_cannot_be_named(tmp_path):
    """Only public estimators: no base class, no wrapper, no private class, nothing else of bayou."""
    fitted(MODELS[0]).save(tmp_path / "m")
    arrays, manifest = container.load(tmp_path / "m")
    assert isinstance(named(arrays, manifest, "LDA"), LDA)
    for path in Path(bayou.api.__file__).parent.glob("*.py"):
        importlib.import_module(f"bayou.api.{path.stem}")
    kinds, below = set(), [Estimator]
    while below:
        kinds |= (more := {kind for one in below for kind in one.__subclasses__()})
        below = list(more)
    ours = {kind.__name__ for kind in kinds if kind.__module__.startswith("bayou.")}
    strange = ours - {*bayou.registry.MODELS}
    mixins = ("Streaming", "Topics", "Classifier", "Tracked", "TrackedTopics")
    for name in (
        *strange,
        *mixins,
        "Estimator",
        "BlockClassifierChain",
        "TextModel",
        "Corpus",
        "load",
    ):
        with pytest.raises(ModelFileError, match=f"holds a '{name}'"):
            named(arrays, manifest, name)


def test_classes_of_others_are_registered(tmp_path, monkeypatch):
    monkeypatch.setattr(bayou.registry, "_registered", {})

    class Own(LDA):
        """A model outside bayou."""

    Own(n_topics=3, random_state=0).fit(CORPUS).save(tmp_path / "m")
    with pytest.raises(ModelFileError, match="holds a 'Own'"):
        bayou.load(tmp_path / "m")
    assert bayou.registry.register(Own) is Own
    assert type(bayou.load(tmp_path / "m")) is Own
    with pytest.raises(ValueError, match="LDA is a model of bayou"):
        bayou.registry.register(type("LDA", (LDA,), {}))
