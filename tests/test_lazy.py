"""Public names are there when asked for, and cost nothing before."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bayou
import bayou.data
from bayou.homes import HOMES

SLOW = ("numpy", "scipy", "sklearn", "numba", "pandas")


def shown_to_type_checkers(package):
    tree = ast.parse(Path(package.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {alias.name: line.module for line in block.body for alias in line.names}


@pytest.mark.parametrize(("package", "homes"), [(bayou, HOMES), (bayou.data, bayou.data._HOMES)])
def test_types_and_names_agree(package, homes):
    assert shown_to_type_checkers(package) == homes
    assert set(package.__all__) == {*homes} | ({"__version__"} if package is bayou else set())
    assert {*package.__all__} <= {*dir(package)}
    for name, home in homes.items():
        assert getattr(package, name) is getattr(sys.modules[home], name)
    with pytest.raises(AttributeError, match="has no attribute 'LAD'"):
        package.LAD  # noqa: B018


def run(code):
    words = [sys.executable, "-c", code]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def test_the_command_line_starts_without_the_slow_libraries():
    show = f"print([name for name in {SLOW} if name in sys.modules])"
    for words in (["--help"], ["fit", "--help"], ["models"], ["fit", "none.csv"]):
        call = f"import sys; from bayou.cli import app; app({words}, standalone_mode=False); {show}"
        assert run(call).splitlines()[-1] == "[]", words


def test_a_file_names_any_model(tmp_path):
    corpus, _ = bayou.data.sample_lda(n_docs=20, n_topics=2, n_terms=10, seed=0)
    bayou.OnlineLDA(n_topics=2, random_state=0).fit(corpus).save(tmp_path / "m")
    code = f"from bayou.api.files import load; print(type(load({str(tmp_path / 'm')!r})).__name__)"
    assert run(code) == "OnlineLDA\n"
    assert run("import bayou; print(bayou.metrics.npmi.__name__)") == "npmi\n"
