"""The models by the names they have on the command line."""

from __future__ import annotations

import re
import sys

import typer

from bayou.data.errors import did_you_mean
from bayou.estimator import Estimator
from bayou.topic_estimator import TopicEstimator

_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_REFERENCE = re.compile(r"^\[\w+\] (.+(?:\n(?!\[|\n).+)*)", re.MULTILINE)


def name_of(kind: type) -> str:
    """A class's name on the command line.

    Examples
    --------
    >>> [name_of(type(n, (), {})) for n in ("LDA", "OnlineLDA", "MedLDAClassifier")]
    ['lda', 'online-lda', 'med-lda-classifier']
    """
    return _HUMPS.sub("-", kind.__name__).lower()


def kinds() -> dict[str, type[Estimator]]:
    """Every topic model of bayou, by name; the verbs list, explain and report topics."""
    mine = [
        kind
        for kind in Estimator.kinds.values()
        if kind.__module__.startswith("bayou.models.") and issubclass(kind, TopicEstimator)
    ]
    return {name_of(kind): kind for kind in sorted(mine, key=name_of)}


def find(name: str) -> type[Estimator]:
    """The model of that name; a wrong name is a usage error."""
    known = kinds()
    if name not in known:
        raise typer.BadParameter(
            f"there is no model {name!r} (there are: {', '.join(known)})"
            f"{did_you_mean(name, known)}",
            param_hint="--model",
        )
    return known[name]


def one_line(kind: type[Estimator]) -> str:
    """What the model is, from its docstring."""
    return (kind.__doc__ or "").strip().splitlines()[0]


def paper(kind: type[Estimator]) -> str:
    """The first reference at the head of the model's file."""
    found = _REFERENCE.search(sys.modules[kind.__module__].__doc__ or "")
    return " ".join(found.group(1).split()) if found else ""
