"""Model files written by earlier versions are read, and mean what they meant."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.golden.make import answers, documents, models, targets

import bayou
from bayou.data import container

FILES = sorted(Path(__file__).parent.glob("*.bayou"))
NEAR = 1e-5  # single precision after some steps, on a machine that adds in another order


def _name(path):
    return path.stem.rpartition("-v")[0]


def test_there_is_one_of_each():
    assert {f.stem for f in FILES} >= {f"{name}-v1" for name, _ in models()}
    assert all(f.stat().st_size < 40_000 for f in FILES)  # 512 scores of a stream are most of it


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model = bayou.load(path)
    found = answers(_name(path), model, documents())
    assert set(found) >= set(expected)
    for what, value in expected.items():
        np.testing.assert_allclose(found[what], value, rtol=NEAR, atol=NEAR, err_msg=what)
    assert list(model.vocabulary_)[3] == "tèrm3"
    if _name(path).endswith("lda"):
        assert model.alpha == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden_manifest(path):
    manifest = container.peek(path, verify=True)
    assert manifest["kind"] == "model"
    assert set(manifest["learned"]) >= {"seed", "n_features_in", "n_iter"}


def test_a_golden_stream_goes_on():
    path = next(f for f in FILES if f.stem == "online_lda-v1")
    model = bayou.load(path).partial_fit(documents())
    assert model.n_seen_ == 60
    assert model.state_.n_seen == 60 - model.pending_.n_docs


@pytest.mark.parametrize(
    "path", [f for f in FILES if f.stem.startswith("online_med")], ids=lambda p: p.stem
)
def test_a_golden_stream_with_answers_goes_on(path):
    model, y = bayou.load(path), targets(_name(path))
    assert (model.state_.n_seen, model.pending_.n_docs) == (30, 0)
    model.partial_fit(documents()[:20], y[:20])
    assert (model.state_.n_seen, model.pending_.n_docs) == (48, 2)
