"""Model files written by earlier versions are read, and mean what they meant."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.golden.make import documents

import bayou
from bayou.data import container

FILES = sorted(Path(__file__).parent.glob("*.bayou"))


def test_there_is_one_of_each():
    assert {f.stem for f in FILES} >= {"lda-v1", "online_lda-v1"}
    assert all(f.stat().st_size < 8_000 for f in FILES)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden(path):
    expected = json.loads(path.with_suffix(".json").read_text())
    model, corpus = bayou.load(path), documents()
    np.testing.assert_allclose(model.transform(corpus), expected["transform"], atol=1e-6)
    np.testing.assert_allclose(model.components_, expected["components"], atol=1e-6)
    assert model.score(corpus) == pytest.approx(expected["score"], abs=1e-6)
    assert model.beta_ == pytest.approx(expected["beta"], abs=1e-6)
    assert list(model.vocabulary_)[3] == "tèrm3"
    assert model.alpha == [0.1, 0.2, 0.3]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden_manifest(path):
    manifest = container.peek(path, verify=True)
    assert manifest["kind"] == "model"
    assert set(manifest["learned"]) >= {"seed", "n_features_in", "n_iter"}


def test_a_golden_stream_goes_on():
    path = next(f for f in FILES if f.stem == "online_lda-v1")
    model = bayou.load(path).partial_fit(documents())
    assert model.state_.n_seen == 60
