"""Benchmarks are run by hand: what they ask of the library must still be there."""

import ast
import importlib
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[1] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_is_imported_is_there(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("bayou"):
            continue
        module = importlib.import_module(node.module)
        for name in node.names:
            if not hasattr(module, name.name):
                importlib.import_module(f"{node.module}.{name.name}")
