"""``builtin:docstrings`` in place of a file: the corpus that is on every user's disk."""

from __future__ import annotations

from collections.abc import Iterator

import typer

from bayou.data.errors import did_you_mean
from bayou.data.records import Located

PREFIX = "builtin:"
NAMES = ("docstrings", "docstrings/train", "docstrings/test")


def meant(path: str) -> bool:
    """Whether this is the name of a built-in corpus and not of a file; a wrong one is a usage error."""
    if not path.startswith(PREFIX):
        return False
    name = path.removeprefix(PREFIX)
    if name not in NAMES:
        known = ", ".join(PREFIX + n for n in NAMES)
        raise typer.BadParameter(
            f"there is no {path} (there are: {known}){did_you_mean(name, NAMES)}",
            param_hint="FILE",
        )
    return True


def records(path: str) -> Iterator[Located]:
    """The documents: ``id``, ``text``, ``package``, ``parameters``, ``n_parameters``, ``split``."""
    from bayou.datasets.docstrings import docstring_records

    part = path.removeprefix(PREFIX).partition("/")[2] or "all"
    for record in docstring_records(subset=part):  # type: ignore[arg-type]
        yield Located(f"{path}, {record['id']}", record)
