"""The models by the names they have on the command line.

What can be told without importing a model is, since that takes seconds.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from bayou.data.errors import did_you_mean
from bayou.homes import HOMES

if TYPE_CHECKING:
    from bayou.api.estimator import Estimator

_MODELS = "bayou.models."
_WITHOUT_TOPICS = (
    "bayou.models.bayes_pa",
    "bayou.models.bayes_pa_regressor",
    "bayou.multilabel.block_chain",
)
_OF_LABELS = tuple(
    _MODELS + name
    for name in (
        "author_topic",
        "dependency_lda",
        "labeled_hdp",
        "labeled_lda",
        "online_dependency_lda",
        "online_labeled_hdp",
        "online_labeled_lda",
        "stacked_hdp",
    )
)
SHORT = {"spectral": "spectral-leader"}  # what a model may be called too
_CLASSIFIER, _REGRESSOR = "-classifier", "-regressor"
_HUMPS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_REFERENCE = re.compile(r"^\[(\w+)\] (.+(?:\n(?!\[|\n).+)*)", re.MULTILINE)


class About(NamedTuple):
    """What is said about a model."""

    line: str  # from its docstring
    paper: str  # the reference that this line names, else the first at the head of its file


def name_of(kind: type | str) -> str:
    """A class's name on the command line.

    Examples
    --------
    >>> [name_of(name) for name in ("LDA", "OnlineLDA", "MedLDAClassifier")]
    ['lda', 'online-lda', 'med-lda-classifier']
    """
    return _HUMPS.sub("-", kind if isinstance(kind, str) else kind.__name__).lower()


def classes() -> dict[str, str]:
    """The class of every topic model of bayou, by the model's name; the verbs are about topics."""
    homes = {c: h for c, h in HOMES.items() if h.startswith(_MODELS) and h not in _WITHOUT_TOPICS}
    mine = sorted((name_of(c), c) for c in homes)
    return dict(mine)


def families() -> dict[str, tuple[str, str]]:
    """The names that stand for a classifier and a regressor, with theirs.

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


def spelled(name: str) -> str:
    """The name of a model, given as such, by a shorter one or by its class.

    Examples
    --------
    >>> spelled("spectral"), spelled("MedLDAClassifier"), spelled("LDA")
    ('spectral-leader', 'med-lda-classifier', 'lda')
    """
    return name_of(name) if name in HOMES else SHORT.get(name, name)


def check(name: str) -> str:
    """The class of that name; a wrong name is a usage error."""
    known = classes()
    name = spelled(name)
    if name not in known:
        every = sorted((*known, *families(), *SHORT))
        raise typer.BadParameter(
            f"there is no model {name!r}, `bayou models` lists all{did_you_mean(name, every)}",
            param_hint="--model",
        )
    return known[name]


def resolved(name: str, label: str | None, target: str | None) -> str:
    """The full name of a model, told by what it is to learn; what it needs must be there."""
    name = spelled(name)
    if name in families():
        if bool(label) == bool(target):
            both = "only one of them" if label else "one of them"
            raise typer.BadParameter(
                f"{name} learns from --label (a class or labels) or from --target (a number); "
                f"give {both}",
                param_hint="--model",
            )
        name = families()[name][0 if label else 1]
    of_labels = HOMES[check(name)] in _OF_LABELS
    needs = {_CLASSIFIER: ("--label", label), _REGRESSOR: ("--target", target)}
    for ending, (flag, column) in needs.items():
        asked = name.endswith(ending) or (ending == _CLASSIFIER and of_labels)
        if asked and not column:
            what = "class or labels" if flag == "--label" else "number"
            raise typer.BadParameter(
                f"{name} needs {flag}, the column of a document's {what}", param_hint=flag
            )
    return name


def find(name: str) -> type[Estimator]:
    """The model of that name, imported."""
    found = check(name)
    kind: type[Estimator] = getattr(importlib.import_module(HOMES[found]), found)
    return kind


def about(name: str) -> About:
    """What the file of a model says about it; the file is read, not run."""
    spec = importlib.util.find_spec(HOMES[check(name)])
    if spec is None or spec.origin is None:
        return About("", "")
    tree = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    docs = [
        ast.get_docstring(node)
        for node in tree.body
        if isinstance(node, ast.ClassDef) and node.name == classes()[name]
    ]
    line = (docs[0] or "").splitlines()[0] if docs else ""
    papers = _REFERENCE.findall(ast.get_docstring(tree) or "")
    named = [paper for key, paper in papers if f"[{key}]" in line]
    first = (named or [paper for _, paper in papers] or [""])[0]
    return About(line, " ".join(first.split()))
