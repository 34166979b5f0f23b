"""``--set name=value``: hyper-parameters checked against the fields of an estimator."""

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
    """A parameter that has a flag of its own, too."""

    flag: str
    value: Any  # None: it was left out
    said: bool  # on the command line, not by default


def said(ctx: typer.Context, name: str) -> bool:
    """Whether an option was given on the command line itself."""
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def read(
    kind: type[Estimator],
    pairs: Iterable[str],
    table: Mapping[str, Any],
    flags: Mapping[str, Flag],
) -> dict[str, Any]:
    """Hyper-parameters from ``name=value`` words and, below them, from a table of bayou.toml.

    Those of ``flags`` are taken from their flag if that was said, or if nothing else gives them.
    """
    given = {
        name: json.dumps(value, default=str) if isinstance(value, Mapping) else spelled(value)
        for name, value in table.items()
    }
    told: dict[str, str] = {name: flag.flag for name, flag in flags.items() if flag.said}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise typer.BadParameter(f"write name=value, not {pair!r}", param_hint=_HINT)
        name = name.strip().replace("-", "_")
        if name in told:
            raise typer.BadParameter(
                f"{name} is given twice, by {told[name]} and by --set {name}={value.strip()}; leave one out",
                param_hint=_HINT,
            )
        given[name], told[name] = value.strip(), f"--set {name}={value.strip()}"
    hints = get_type_hints(kind)
    out = {name: convert(name, text, _hint_of(kind, hints, name)) for name, text in given.items()}
    for name, flag in flags.items():
        if flag.said or (name not in out and flag.value is not None):
            out[name] = flag.value
    return out


def settable(name: str) -> bool:
    """Whether a field of an estimator is one for ``--set``; the others have flags."""
    return name not in (*_ELSEWHERE, *_NOT_HERE)


def spelled(value: Any) -> str:
    """A value as one would write it after ``--set``."""
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value).lower() if isinstance(value, bool | NoneType) else str(value)


def _hint_of(kind: type[Estimator], hints: Mapping[str, Any], name: str) -> Any:
    known = [f.name for f in fields(kind) if settable(f.name)]
    if name in _ELSEWHERE:
        raise typer.BadParameter(f"{name} has a flag: {_ELSEWHERE[name]}", param_hint=_HINT)
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
            value = _one(text, kind)
            if value is not None:
                return value
    several = _several(text)
    if several is not None and set(kinds) - {bool, int, float, str, NoneType}:
        return several
    if str in kinds:
        return text  # of the words that it may be, the estimator knows
    mappings = [kind for kind in kinds if get_origin(kind) is Mapping]
    if mappings:
        return _mapping(name, text)
    wanted = " or ".join(_wording(kind) for kind in (bool, int, float, NoneType) if kind in kinds)
    raise typer.BadParameter(f"{name} must be {wanted}; got {text!r}", param_hint=_HINT)


def _mapping(name: str, text: str) -> dict[str, Any]:
    """A mapping as JSON, as it stands or in a file."""
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


def _one(text: str, kind: type) -> Any:
    try:
        return _TRUTH.get(text.lower()) if kind is bool else kind(text)
    except ValueError:
        return None


def _several(text: str) -> list[float] | None:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        return None


def _wording(kind: type) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", NoneType: "none"}
    return names[kind]
