"""Parameters of estimators: each declares its constraints where it is defined.

`check` compares the values of an estimator with the declarations. An error states the value and the
constraint. Rules about several parameters at once belong to the estimator's `check_params`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from numbers import Real
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args

import numpy as np
from sklearn.utils import check_random_state

from bayou.data import checks

_KEY = "constraint"

# The most that a parameter may ask for if its declaration has no `le`: models come from files, too.
LIMITS = {
    "n_sweeps": 1_000_000,  # a user may leave the end to `max_time`
    **dict.fromkeys(("n_rounds", "n_label_rounds", "n_passes", "n_moves"), 100_000),
    **dict.fromkeys(("n_kept", "n_polish", "n_samples"), 100_000),
    **dict.fromkeys(("n_chains", "n_draws", "n_starts", "window"), 1_000),
    **dict.fromkeys(("n_topics", "max_topics", "n_free_topics", "n_spare"), checks.MAX_TOPICS),
    **dict.fromkeys(("burn_in", "reservoir"), 10_000_000),
}
MOST_WHOLE = 2**53

S = TypeVar("S", bound=tuple[Any, ...])


@dataclass(frozen=True, kw_only=True)
class Constraint:
    """The allowed values of a parameter. None is allowed if its annotation says so."""

    ge: float | None = None
    gt: float | None = None
    le: float | str | None = None
    lt: str | None = None
    choices: tuple[Any, ...] | None = None
    also: tuple[Any, ...] = ()


def param(
    default: Any = MISSING,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | str | None = None,
    lt: str | None = None,
    choices: Sequence[Any] | None = None,
    also: Sequence[Any] = (),
    runtime: bool = False,
) -> Any:
    """A parameter of an estimator with its constraints.

    The annotation decides what is checked: ``int`` is a whole number, ``float`` a real number, ``str`` one of
    `choices`; ``| None`` allows None.

    Parameters
    ----------
    default : any
    ge, gt : float, optional
        The least value, or a bound that is not allowed itself. Positive numbers start at 1e-30, because
        kernels work in single precision.
    le : float or str, optional
        The largest value, or the name of the parameter that has it. Default for numbers: 1e30; for whole
        numbers as in `LIMITS`, or 2**53.
    lt : str, optional
        The name of a parameter that must be larger.
    choices : sequence, optional
        The words that are allowed.
    also : sequence
        Values that are allowed although they are outside the bounds.
    runtime : bool
        Whether the parameter is about one run only and is left out of model files. Threads and progress never
        change a result. `max_time` and callbacks can, by ending training early.
    """
    allowed = None if choices is None else tuple(choices)
    rule = Constraint(ge=ge, gt=gt, le=le, lt=lt, choices=allowed, also=tuple(also))
    return field(default=default, metadata={_KEY: rule, "runtime": runtime})


def settings(kind: type[S], estimator: Any, **resolved: Any) -> S:
    """The settings of one run: the parameters of an estimator by name, with those that were resolved.

    A field with a default may be missing in the estimator.
    """
    defaults: dict[str, Any] = kind._field_defaults  # type: ignore[attr-defined]
    names = [name for name in kind._fields if name not in resolved]  # type: ignore[attr-defined]
    given = {n: getattr(estimator, n) for n in names if n not in defaults or hasattr(estimator, n)}
    return kind(**given, **resolved)


def is_runtime(one: Field[Any]) -> bool:
    """Whether a field is about one run of the training."""
    return bool(one.metadata.get("runtime"))


def check(estimator: Any) -> None:
    """Refuse the first parameter whose value its declaration does not allow."""
    for one in fields(type(estimator)):
        rule = one.metadata.get(_KEY)
        value = getattr(estimator, one.name)
        if isinstance(rule, Constraint):
            _check_value(one, rule, value, estimator)
        elif _kinds(one) <= {"bool", "None"} and "bool" in _kinds(one):
            _check_flag(one, value)


def _check_value(one: Field[Any], rule: Constraint, value: Any, estimator: Any) -> None:
    kinds = _kinds(one)
    if value is None and "None" in kinds:
        return
    if any(
        value is other or (type(value) is type(other) and value == other) for other in rule.also
    ):
        return
    if isinstance(value, str) and "str" in kinds and rule.choices is not None:
        if kinds & {"float", "int"} and value not in rule.choices:
            words = ", ".join(map(repr, rule.choices))
            raise ValueError(f"{one.name} must be a number or one of {words}; got {value!r:.60}")
        return checks.one_of(one.name, value, rule.choices)
    if "float" in kinds or "int" in kinds:
        check = _check_number if "float" in kinds else _check_whole
        check(one.name, rule, value, estimator)
        _check_under(one.name, rule, value, estimator)
    elif rule.choices is not None:
        checks.one_of(one.name, value, rule.choices)


def _check_flag(one: Field[Any], value: Any) -> None:
    if isinstance(value, bool | np.bool_) or (value is None and "None" in _kinds(one)):
        return
    raise ValueError(f"{one.name} must be True or False; got {value!r:.60}")


def _kinds(one: Field[Any]) -> set[str]:
    """The names of the types that an annotation allows."""
    kinds = one.type if isinstance(one.type, str) else _name(one.type)
    return {kind.strip() for kind in kinds.split("|")}


def _name(kind: Any) -> str:
    options = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    return "|".join("None" if o is NoneType else getattr(o, "__name__", str(o)) for o in options)


def _check_whole(name: str, rule: Constraint, value: Any, estimator: Any) -> None:
    if rule.ge is None and rule.gt is None and rule.le is None:
        return
    least = [math.ceil(rule.ge)] if rule.ge is not None else []
    least += [math.floor(rule.gt) + 1] if rule.gt is not None else []
    checks.whole(name, value, max(least, default=-sys.maxsize))
    most = _most(rule, estimator)
    most = LIMITS.get(name, MOST_WHOLE) if most is None else most
    if value > most:
        named = f"{rule.le} = {most}" if isinstance(rule.le, str) else f"{most:.0f}"
        raise ValueError(f"{name} must be at most {named}; got {value}")


def _check_number(name: str, rule: Constraint, value: Any, estimator: Any) -> None:
    if rule.ge is None and rule.gt is None and rule.le is None:
        return
    least = rule.ge if rule.ge is not None else checks.LEAST if rule.gt == 0.0 else rule.gt
    most = _most(rule, estimator)
    least = -checks.MOST if least is None else least
    checks.number(name, value, least, checks.MOST if most is None else most)
    if rule.gt is not None and value <= rule.gt:
        raise ValueError(f"{name} must be above {rule.gt:g}; got {value!r}")


def _check_under(name: str, rule: Constraint, value: Any, estimator: Any) -> None:
    most = None if rule.lt is None else _number_of(estimator, rule.lt)
    if most is not None and value >= most:
        raise ValueError(f"{name} must be under {rule.lt} = {most}; got {value}")


def _most(rule: Constraint, estimator: Any) -> float | None:
    """The largest value, if there is one."""
    return _number_of(estimator, rule.le) if isinstance(rule.le, str) else rule.le


def _number_of(estimator: Any, name: str) -> float | None:
    """The value of another parameter; None if it is None, or not a number and refused by itself."""
    found = getattr(estimator, name)
    is_number = isinstance(found, Real) and not isinstance(found, bool)
    return found if is_number else None


def resolve_seed(random_state: Any) -> int:
    """One integer from a seed, a generator or None. To be called once per fit."""
    if isinstance(random_state, int | np.integer):
        return int(random_state) & 0xFFFFFFFF
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
