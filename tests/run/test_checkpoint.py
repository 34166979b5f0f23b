"""A state goes to a file and comes back the same, or is refused."""

from typing import NamedTuple

import numpy as np
import pytest

from bayou import ModelFileError
from bayou.data import container
from bayou.run import checkpoint
from bayou.testing.cases import same


class State(NamedTuple):
    step: int
    best: float
    done: bool
    counts: np.ndarray
    none: np.ndarray


STATE = State(3, -np.inf, True, np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((0, 4)))
MANIFEST = {"estimator": "X", "parameters": {"a": 1}, "seed": 5}


def test_round_trip_keeps_every_bit_and_type(tmp_path):
    checkpoint.write(tmp_path / "c", STATE, MANIFEST)
    back = checkpoint.read(tmp_path / "c", State, MANIFEST)
    assert same(back, STATE)
    assert [type(v) for v in back] == [int, float, bool, np.ndarray, np.ndarray]


def test_no_file_is_no_state(tmp_path):
    assert checkpoint.read(tmp_path / "c", State, MANIFEST) is None


def test_what_differs_is_named(tmp_path):
    checkpoint.write(tmp_path / "c", STATE, MANIFEST)
    for other, what in (
        ({"seed": 6}, "seed"),
        ({"seed": 6, "parameters": {}}, "parameters, seed"),
        ({"new": 1}, "new"),
    ):
        with pytest.raises(ModelFileError, match=f"written with other {what};"):
            checkpoint.read(tmp_path / "c", State, MANIFEST | other)
    less = {k: v for k, v in MANIFEST.items() if k != "seed"}
    with pytest.raises(ModelFileError, match="written with other seed;"):
        checkpoint.read(tmp_path / "c", State, less)


def test_other_files_are_refused(tmp_path):
    container.save(tmp_path / "m", checkpoint.arrays_of(STATE), {"kind": "model"})
    with pytest.raises(ModelFileError, match="holds 'model', not a checkpoint"):
        checkpoint.read(tmp_path / "m", State, MANIFEST)
    (tmp_path / "text").write_text("not a file of ours")
    with pytest.raises(ModelFileError):
        checkpoint.read(tmp_path / "text", State, MANIFEST)


def test_missing_arrays_are_named():
    arrays = checkpoint.arrays_of(STATE)
    del arrays["state.best"]
    with pytest.raises(ModelFileError, match=r"lacks the array state\.best"):
        checkpoint.state_of(State, arrays)
