"""The models under the names that they have on the command line.

Everything here but `find` reads the registry alone: importing a model takes seconds.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import typer

from bayou.data.errors import did_you_mean
from bayou.registry import MODELS, PAPERS, ModelEntry, find_class

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator

_WITHOUT_TOPICS = ("linear", "wrapper")
_CLASSIFIER, _REGRESSOR = "-classifier", "-regressor"
_NEEDS = {  # kind of labels: the option that names their column, and what the column holds
    "classes": ("--label", "class or labels"),
    "labels": ("--label", "class or labels"),
    "numbers": ("--target", "number"),
}
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class About(NamedTuple):
    """Description of a model for `bayou models`."""

    line: str
    paper: str


def name_of(kind: type | str) -> str:
    """A class's name on the command line.

    Examples
    --------
    >>> [name_of(name) for name in ("LDA", "OnlineLDA", "MedLDAClassifier")]
    ['lda', 'online-lda', 'med-lda-classifier']
    """
    return _HUMPS.sub("-", kind if isinstance(kind, str) else kind.__name__).lower()


def classes() -> dict[str, str]:
    """The classes with topics, by name on the command line: the verbs work on topics."""
    found = (c for c, model in MODELS.items() if model.task not in _WITHOUT_TOPICS)
    return dict(sorted((name_of(c), c) for c in found))


def aliases() -> dict[str, str]:
    """Other names of models, with their full names."""
    return {model.alias: name_of(c) for c, model in MODELS.items() if model.alias}


def families() -> dict[str, tuple[str, str]]:
    """Names that stand for a classifier and a regressor, with the names of both.

    Examples
    --------
    >>> families()["med-lda"]
    ('med-lda-classifier', 'med-lda-regressor')
    """
    known = classes()
    roots = [name.removesuffix(_CLASSIFIER) for name in known if name.endswith(_CLASSIFIER)]
    return {
        root: (root + _CLASSIFIER, root + _REGRESSOR)
        for root in roots
        if root + _REGRESSOR in known
    }


def full_name(name: str) -> str:
    """The name of a model, given by name, alias or class.

    Examples
    --------
    >>> full_name("spectral"), full_name("MedLDAClassifier"), full_name("LDA")
    ('spectral-leader', 'med-lda-classifier', 'lda')
    """
    return name_of(name) if name in MODELS else aliases().get(name, name)


def class_name(name: str) -> str:
    """The class of that name; a wrong name is a usage error."""
    known = classes()
    name = full_name(name)
    if name not in known:
        every = sorted((*known, *families(), *aliases()))
        raise typer.BadParameter(
            f"there is no model {name!r}; `bayou models` lists all{did_you_mean(name, every)}",
            param_hint="--model",
        )
    return known[name]


def entry(name: str) -> ModelEntry:
    """The entry of a model in the registry."""
    return MODELS[class_name(name)]


def choose(name: str, label: str | None, target: str | None) -> str:
    """The full name of a model, by what it is to learn from; checks that its column is given."""
    name = full_name(name)
    if name in families():
        if bool(label) == bool(target):
            both = "only one of them" if label else "one of them"
            raise typer.BadParameter(
                f"{name} learns from --label (a class or labels) or from --target (a number); "
                f"give {both}",
                param_hint="--model",
            )
        name = families()[name][0 if label else 1]
    flag, what = _NEEDS.get(entry(name).labels, ("", ""))
    if flag and not (label if flag == "--label" else target):
        raise typer.BadParameter(
            f"{name} needs {flag}, the column of a document's {what}", param_hint=flag
        )
    return name


def find(name: str) -> type[Estimator]:
    """The model of that name, imported."""
    kind: type[Estimator] = find_class(class_name(name))
    return kind


def about(name: str) -> About:
    """The description and the paper of a model."""
    model = entry(name)
    return About(model.description, PAPERS.get(model.paper, ""))
