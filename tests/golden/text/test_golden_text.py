"""Text models written by earlier versions are read, and mean what they meant."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.golden.text.make_text import texts

import bayou
from bayou.data import ENGLISH_STOP_WORDS

FILES = sorted(Path(__file__).parent.glob("*.bayou"))
NEAR = 1e-5  # single precision after some steps, on a machine that adds in another order


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_golden_text(path):
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = bayou.load(path)
    np.testing.assert_allclose(
        model.transform(texts()), expected["transform"], rtol=NEAR, atol=NEAR
    )
    assert list(model.vocabulary_) == expected["terms"]
    assert model.score(texts()) == pytest.approx(expected["score"], abs=NEAR)
    assert model.vectorizer.ngrams == (1, 2)
    assert "the" in model.vectorizer_.stop_words_
    assert len(model.vectorizer_.stop_words_) > len(ENGLISH_STOP_WORDS) // 2
    assert path.stat().st_size < 8_000


def test_there_is_one():
    assert FILES
