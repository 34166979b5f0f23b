"""The registry agrees with the classes, and what is generated from it is up to date."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import pytest

import bayou
from bayou.api.estimator import Estimator
from bayou.api.topics import Topics
from bayou.registry import LABELS, MODELS, PAPERS, TASKS

ROOT = Path(__file__).parents[1]


def generator():
    spec = importlib.util.spec_from_file_location("from_registry", ROOT / "docs/from_registry.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_text_is_up_to_date():
    for path, text in generator().files().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `make registry`"


def test_generated_text_names_every_model():
    for path, text in generator().files().items():
        missing = [name for name in MODELS if not re.search(rf"\b{name}\b", text)]
        assert not missing, path.name


@pytest.mark.parametrize("name", MODELS)
def test_entry_describes_its_class(name):
    model, kind = MODELS[name], getattr(bayou, name)
    assert kind.__module__ == model.module
    assert model.task in TASKS
    assert model.labels in LABELS
    assert model.streaming == hasattr(kind, "partial_fit")
    assert issubclass(kind, Estimator) == (model.task != "wrapper")
    assert issubclass(kind, Topics) == (model.task not in ("linear", "wrapper"))
    assert (model.labels == "numbers") == name.endswith("Regressor")
    if model.labels == "":
        assert "y" not in inspect.signature(kind.fit).parameters or (
            inspect.signature(kind.fit).parameters["y"].default is None
        )
    assert (ROOT / "docs" / f"{model.page}.md").is_file()
    assert re.fullmatch(r"[A-Z].{10,110}\.", model.description)


@pytest.mark.parametrize("name", [name for name in MODELS if MODELS[name].paper])
def test_paper_is_cited_by_the_model(name):
    model = MODELS[name]
    path = ROOT / "src" / (model.module.replace(".", "/") + ".py")
    text = " ".join(ast.get_docstring(ast.parse(path.read_text("utf-8"))).split())
    assert f"[{model.paper}] {PAPERS[model.paper].split('.')[0]}." in text


def test_every_public_estimator_is_registered():
    """A class in `models` that is not private is public, and the registry lists it."""
    found = set()
    for path in (ROOT / "src/bayou/models").glob("*.py"):
        for node in ast.parse(path.read_text("utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                kind = getattr(importlib.import_module(f"bayou.models.{path.stem}"), node.name)
                if issubclass(kind, Estimator):
                    found.add(node.name)
    assert found == {n for n, m in MODELS.items() if m.module.startswith("bayou.models.")}


def test_no_paper_is_left_over():
    assert {model.paper for model in MODELS.values()} - {""} == {*PAPERS}
