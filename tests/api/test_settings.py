"""The settings of a run: parameters by name, resolved values, and fields that have a default."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from bayou.api.params import settings


class Few(NamedTuple):
    cost: float
    n_sweeps: int
    even: bool = True
    alpha: float | None = None


def test_parameters_and_resolved_values_by_name():
    given = SimpleNamespace(cost=2.0, n_sweeps=7, alpha=0.5, other=1)
    assert settings(Few, given, n_sweeps=3) == Few(2.0, 3, True, 0.5)


def test_a_field_without_a_default_must_be_a_parameter():
    with pytest.raises(AttributeError, match="n_sweeps"):
        settings(Few, SimpleNamespace(cost=2.0))
