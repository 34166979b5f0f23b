"""Declared constraints: each refuses what breaks it and names value and rule."""

import importlib
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import pytest

from bayou import registry
from bayou.api import params
from bayou.api.params import Constraint, param


@dataclass(kw_only=True)
class Sample:
    count: "int" = param(5, ge=1, le=10)
    above: "int" = param(5, gt=2)
    most: "int" = param(5, le=9)
    maybe: "int | None" = param(None, ge=0)
    threads: "int | None" = param(None, ge=1, also=(-1, "all"))
    kept: "int" = param(3, ge=1, le="count")
    burn: "int | None" = param(None, ge=0, lt="count")
    rate: "float" = param(0.5, gt=0.0, le=1.0)
    open: "float" = param(0.7, gt=0.5, le=1.0)
    signed: "float" = param(0.0, le=2.0)
    share: "float | None" = param(None, ge=0.0)
    bound: "float" = param(1.0, ge=0.0, le="count")
    either: "int | float" = param(1.5, ge=0.0)
    how: "str" = param("a", choices=("a", "b"))
    word: "str | None" = param(None, choices=("a", "b"))
    strength: "float | str" = param(1.0, gt=0.0, choices=("auto",))
    free: "Any" = param(None)
    plain: "int" = 3


GOOD = [
    {"count": np.int32(10)}, {"above": 3}, {"most": -100}, {"maybe": 0}, {"threads": -1},
    {"threads": "all"}, {"kept": 5}, {"burn": 4}, {"rate": 1.0}, {"rate": np.float32(0.25)},
    {"rate": 1}, {"open": 0.5001}, {"signed": -1e9}, {"share": 0.0}, {"bound": 5.0}, {"either": 2},
    {"either": 2.5}, {"how": "b"}, {"word": "a"}, {"strength": "auto"}, {"strength": 1e-30},
    {"free": ...}, {"plain": "anything"},
]  # fmt: skip


@pytest.mark.parametrize("given", [{}, *GOOD], ids=str)
def test_what_keeps_the_rules(given):
    params.check(Sample(**given))


BAD = [
    ({"count": 0}, "count must be a whole number of at least 1; got 0"),
    ({"count": 11}, "count must be at most 10; got 11"),
    ({"count": 2.0}, "count must be a whole number"),
    ({"count": True}, "count must be a whole number"),
    ({"count": "5"}, "count must be a whole number"),
    ({"count": None}, "count must be a whole number"),
    ({"count": np.nan}, "count must be a whole number"),
    ({"above": 2}, "above must be a whole number of at least 3"),
    ({"most": 10}, "most must be at most 9"),
    ({"most": "x"}, "most must be a whole number"),
    ({"maybe": -1}, "maybe must be a whole number of at least 0"),
    ({"threads": 0}, "threads must be a whole number of at least 1"),
    ({"threads": -1.0}, "threads must be a whole number"),  # equal to -1, of another type
    ({"threads": "some"}, "threads must be a whole number"),
    ({"kept": 6}, "kept must be at most count = 5; got 6"),
    ({"burn": 5}, "burn must be under count = 5; got 5"),
    ({"burn": -1}, "burn must be a whole number of at least 0"),
    ({"rate": 0.0}, "rate must be a positive number, from 1e-30 to 1; got 0.0"),
    ({"rate": 1.1}, "rate must be a positive number"),
    ({"rate": np.nan}, "rate must be a positive number"),
    ({"rate": np.inf}, "rate must be a positive number"),
    ({"rate": True}, "rate must be a positive number"),
    ({"rate": None}, "rate must be a positive number"),
    ({"rate": "1"}, "rate must be a positive number"),
    ({"rate": [0.5]}, "rate must be a positive number"),
    ({"open": 0.5}, "open must be above 0.5; got 0.5"),
    ({"signed": 2.5}, "signed must be a number, from -1e[+]30 to 2"),
    ({"share": -0.1}, "share must be a number, from 0"),
    ({"share": np.nan}, "share must be a number"),
    ({"bound": 5.5}, "bound must be a number, from 0 to 5"),
    ({"either": -1}, "either must be a number"),
    ({"either": "x"}, "either must be a number"),
    ({"how": "c"}, "how must be one of 'a', 'b'; got 'c'"),
    ({"how": None}, "how must be one of"),
    ({"how": 3}, "how must be one of"),
    ({"how": ["a"]}, "how must be one of"),
    ({"word": "c"}, "word must be one of"),
    ({"strength": "automatic"}, "strength must be a number or one of 'auto'"),
    ({"strength": 0.0}, "strength must be a positive number"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=str)
def test_each_rule_refuses_what_breaks_it(given, message):
    with pytest.raises(ValueError, match=message):
        params.check(Sample(**given))


@pytest.mark.parametrize("other", [None, "ten", np.nan])
def test_a_bound_that_is_no_number_is_refused_by_its_own_rule(other):
    """Not as a comparison of a number with something else."""
    with pytest.raises(ValueError, match="count must be a whole number"):
        params.check(Sample(count=other, kept=3, burn=2, bound=1.0))


def test_annotations_may_be_types():
    @dataclass
    class Typed:
        count: int = param(1, ge=1)
        maybe: int | None = param(None, ge=1)
        rate: float = param(0.5, gt=0.0)

    for one in fields(Typed):
        one.type = {"count": int, "maybe": int | None, "rate": float}[one.name]
    params.check(Typed())
    for given in ({"count": 0}, {"maybe": 0}, {"rate": -1.0}, {"count": None}):
        with pytest.raises(ValueError, match=next(iter(given))):
            params.check(Typed(**given))


class _Settings(NamedTuple):
    count: int
    rate: float
    extra: int = 7


def test_settings_are_the_parameters_and_what_was_resolved():
    found = params.settings(_Settings, Sample(count=4), rate=0.25)
    assert found == (4, 0.25, 7)
    with pytest.raises(AttributeError, match="can't set"):
        found.count = 3
    with pytest.raises(TypeError, match="unknown"):
        params.settings(_Settings, Sample(), unknown=1)


def test_runtime_parameters_are_marked():
    @dataclass
    class Run:
        threads: "int" = param(1, runtime=True)
        count: "int" = param(1)
        plain: "int" = 1

    assert [params.is_runtime(one) for one in fields(Run)] == [True, False, False]


@pytest.mark.parametrize("name", registry.MODELS)
def test_declarations_of_models(name):
    """Bounds name parameters that exist, defaults keep the rules, and each rule is of a checked type."""
    kind = getattr(importlib.import_module(registry.MODELS[name].module), name)
    known = {one.name for one in fields(kind)}
    for one in fields(kind):
        rule = one.metadata.get("constraint")
        if not isinstance(rule, Constraint):
            continue
        bounds = [bound for bound in (rule.le, rule.lt) if isinstance(bound, str)]
        assert set(bounds) <= known, one.name
        if any(bound is not None for bound in (rule.ge, rule.gt, rule.le, rule.lt)):
            assert {"int", "float"} & params._kinds(one), one.name
        if rule.choices is not None:
            assert all(isinstance(choice, str) for choice in rule.choices), one.name
    if not any(one.default is one.default_factory for one in fields(kind)):  # nothing is required
        params.check(kind())
