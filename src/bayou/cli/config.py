"""Options from the environment and from ``bayou.toml``.

Order of precedence: flag, ``BAYOU_FIT_SEED``, ``BAYOU_SEED``, the table ``[fit]`` of the file.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import typer

from bayou.data.errors import did_you_mean, reason_of

FILE = "bayou.toml"
_HINT = "--config"
_PREFIX = "BAYOU"
# These have no variable for all verbs: the output of fit is not the output of predict.
_PER_VERB = ("output", "report", "checkpoint_dir", "resume", "dry_run", "set")


class Defaults(NamedTuple):
    """Defaults of every verb: its options, and its table of parameters."""

    options: dict[str, dict[str, Any]]
    settings: dict[str, dict[str, Any]]


def load(
    path: Path | None, verbs: Mapping[str, Any], environ: Mapping[str, str] = os.environ
) -> Defaults:
    """Read a configuration file (None: ``./bayou.toml``, if it exists) and the environment.

    ``verbs`` are the commands by name; unknown options are refused.
    """
    named = path or environ.get(f"{_PREFIX}_CONFIG")
    out = Defaults({}, {})
    if named or Path(FILE).is_file():
        _file_into(out, Path(named or FILE), verbs)
    for verb, command in verbs.items():
        own = out.options.setdefault(verb, {})
        for flag, name in _flags(command).items():
            text = _from_environment(environ, verb, flag)
            if text is not None and flag == "set":
                pairs = (word.partition("=") for word in text.split())
                out.settings.setdefault(verb, {}).update({n: v for n, _, v in pairs})
            elif text is not None:
                own[name] = text
    return out


def _file_into(out: Defaults, source: Path, verbs: Mapping[str, Any]) -> None:
    for verb, table in _read_toml(source).items():
        if verb not in verbs or not isinstance(table, dict):
            raise typer.BadParameter(
                f"{source}: {verb!r} is not a verb with a table of options{did_you_mean(verb, verbs)}",
                param_hint=_HINT,
            )
        out.settings[verb] = _settings(source, verb, table.pop("set", {}))
        out.options[verb] = _options(source, verb, table, verbs[verb])


def _from_environment(environ: Mapping[str, str], verb: str, flag: str) -> str | None:
    own = environ.get(f"{_PREFIX}_{verb}_{flag}".upper())
    if own is not None or flag in _PER_VERB:
        return own
    return environ.get(f"{_PREFIX}_{flag}".upper())


def _flags(command: Any) -> dict[str, str]:
    """Long flags with underscores, and the names of their parameters."""
    return {
        spelling.removeprefix("--").replace("-", "_"): p.name
        for p in command.params
        if p.param_type_name == "option" and p.name != "help"
        for spelling in p.opts
        if spelling.startswith("--")
    }


def _read_toml(source: Path) -> dict[str, Any]:
    try:
        with source.open("rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        text = f"{source} is not valid TOML: {error}"
    except OSError as error:
        text = f"{source} cannot be read: {reason_of(error)}"
    raise typer.BadParameter(text, param_hint=_HINT)


def _settings(source: Path, verb: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise typer.BadParameter(f"{source}: [{verb}.set] must be a table", param_hint=_HINT)
    return {name.replace("-", "_"): value for name, value in table.items()}


def _options(source: Path, verb: str, table: dict[str, Any], command: Any) -> dict[str, Any]:
    names = _flags(command)
    out = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in names:
            raise typer.BadParameter(
                f"{source}: {verb!r} has no option {key!r}{did_you_mean(name, names)}",
                param_hint=_HINT,
            )
        out[names[name]] = value
    return out
