"""``--set name=value``: parameters, checked against the fields of an estimator."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import typer

from bayou.data.errors import did_you_mean

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator

_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_ELSEWHERE = {
    "random_state": "--seed", "n_threads": "--threads", "max_time": "--max-time",
    "on_alert": "--on-alert", "slice_by": "--slice",
}  # fmt: skip
_NOT_HERE = ("progress", "callbacks")
_HINT = "--set"


class Flag(NamedTuple):
    """A parameter that also has its own flag."""

    flag: str
    value: Any  # None: not given
    is_given: bool  # on the command line, not by default


def is_given(ctx: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line itself."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def read(
    kind: type[Estimator],
    pairs: Iterable[str],
    table: Mapping[str, Any],
    flags: Mapping[str, Flag],
) -> dict[str, Any]:
    """Parameters from ``name=value`` words or else from a table of bayou.toml.

    A parameter of ``flags`` is taken from its flag if the flag was given, or if nothing else gives it.
    """
    given = {
        name: json.dumps(value, default=str) if isinstance(value, Mapping) else as_word(value)
        for name, value in table.items()
    }
    used: dict[str, str] = {name: flag.flag for name, flag in flags.items() if flag.is_given}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"expected name=value; got {pair!r}", param_hint=_HINT)
        name = name.strip().replace("-", "_")
        if name in used:
            raise typer.BadParameter(
                f"{name} is given twice, by {used[name]} and by --set {name}={value.strip()}; leave one out",
                param_hint=_HINT,
            )
        given[name], used[name] = value.strip(), f"--set {name}={value.strip()}"
    hints = get_type_hints(kind)
    out = {name: convert(name, text, _hint_of(kind, hints, name)) for name, text in given.items()}
    for name, flag in flags.items():
        if flag.is_given or (name not in out and flag.value is not None):
            out[name] = flag.value
    return out


def is_settable(name: str) -> bool:
    """Whether ``--set`` takes a field of an estimator; the other fields have flags."""
    return name not in (*_ELSEWHERE, *_NOT_HERE)


def as_word(value: Any) -> str:
    """A value as written after ``--set``."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool | NoneType) else str(value)


def _hint_of(kind: type[Estimator], hints: Mapping[str, Any], name: str) -> Any:
    known = [f.name for f in fields(kind) if is_settable(f.name)]
    if name in _ELSEWHERE:
        raise typer.BadParameter(f"{name} is set by the flag {_ELSEWHERE[name]}", param_hint=_HINT)
    if name not in known:
        raise typer.BadParameter(
            f"{kind.__name__} has no {name!r} (it has: {', '.join(known)})"
            f"{did_you_mean(name, known)}",
            param_hint=_HINT,
        )
    return hints[name]


def convert(name: str, text: str, hint: Any) -> Any:
    """Read a value as the type of its field.

    Examples
    --------
    >>> convert("n_sweeps", "none", int | None), convert("beta", "1e-2", float)
    (None, 0.01)
    """
    union = get_origin(hint) in (Union, UnionType)
    kinds = get_args(hint) if union else (hint,)
    if NoneType in kinds and text.lower() == "none":
        return None
    for kind in (bool, int, float):
        if kind in kinds:
            value = _convert_one(text, kind)
            if value is not None:
                return value
    several = _convert_list(text)
    if several is not None and set(kinds) - {bool, int, float, str, NoneType}:
        return several
    if str in kinds:
        return text  # the estimator checks which words are allowed
    mappings = [kind for kind in kinds if get_origin(kind) is Mapping]
    if mappings:
        return _mapping(name, text)
    wanted = " or ".join(_type_name(kind) for kind in (bool, int, float, NoneType) if kind in kinds)
    raise typer.BadParameter(f"{name} must be {wanted}; got {text!r}", param_hint=_HINT)


def _mapping(name: str, text: str) -> dict[str, Any]:
    """A mapping as JSON text or as a file of JSON."""
    with contextlib.suppress(OSError, ValueError):
        text = Path(text).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise typer.BadParameter(
            f'{name} must be JSON such as {{"a name": {{...}}}}, a file of it, or none; got {text!r:.80}',
            param_hint=_HINT,
        )
    return found


def _convert_one(text: str, kind: type) -> Any:
    try:
        return _TRUTH.get(text.lower()) if kind is bool else kind(text)
    except ValueError:
        return None


def _convert_list(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def _type_name(kind: type) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none"}
    return names[kind]
